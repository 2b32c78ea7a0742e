"""bench bulk: bytes of long bodies that proxies relay per second of processor time"""
import time

from harness import options, report
from harness.lab import Lab
from harness.load import ExactLoad
from harness.proxies import Origin, Proxy

PATHS = {"content-length": "/body", "chunked": "/chunked"}
NAMES = ("floor", "haproxy", "haproxy-large", "nginx", "nginx-large", "weir")
COLUMNS = [("GiB/CPU s", "gib_per_cpu_second", "{:.2f}"), ("GiB/s", "gib_per_second", "{:.2f}"),
           ("used", "used", "{:.0%}"), ("load MiB", "load_mib", "{:.1f}")]


def add_arguments(parser):
    options.add_side_by_side(parser, NAMES, rounds=5)
    options.add_number(parser, "--mib", 256, "length of a body in MiB")
    options.add_number(parser, "--bodies", 4, "measured, for each proxy and framing in each round")
    options.add_number(parser, "--connections", 1, "bodies under way at a time")


def measure(lab, recipe, origin, path, arguments):
    proxy = Proxy(lab, recipe, origin)
    load = ExactLoad(lab, proxy, arguments.connections, path)
    load.run(arguments.connections)
    cpu = proxy.cpu_seconds()
    result = load.run(arguments.bodies)
    cpu = proxy.cpu_seconds() - cpu
    load_mib = proxy.resident_mib()
    load.close()
    proxy.kill()
    gib = result["body_bytes"] / 2**30
    return {"gib_per_cpu_second": gib / cpu, "gib_per_second": gib / result["seconds"],
            "used": cpu / result["seconds"], "load_mib": load_mib}


def run(arguments):
    recipes = options.chosen_recipes(arguments)
    runs = {framing: [] for framing in PATHS}
    with Lab() as lab:
        origin = Origin(lab, arguments.mib * 2**20)
        for number, name, recipe in options.turns(recipes, arguments.rounds):
            for framing, path in PATHS.items():
                figures = measure(lab, recipe, origin, path, arguments)
                runs[framing].append({"proxy": name, "round": number, **figures})
                print(f"round {number + 1}/{arguments.rounds}  {name:14} {framing:14} "
                      f"{figures['gib_per_cpu_second']:6.2f} GiB/CPU s", flush=True)
    summary = {framing: report.summarize(framing, runs[framing], COLUMNS) for framing in PATHS}
    report.write_json(arguments, recipes, runs=runs, summary=summary)
    return 0
