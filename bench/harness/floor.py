"""bench floor: processor time per request of proxies side by side, against the least possible"""
import time

from harness import options, readings, report
from harness.lab import Lab
from harness.load import ExactLoad, TimedLoad
from harness.proxies import Origin, Proxy

WARM_UP_REQUESTS = 5000
FOREIGN_MAX = 0.05
COLUMNS = [("us/request", "cpu_us", "{:.2f}"), ("requests/s", "rate", "{:.0f}"),
           ("p99 ms", "p99_ms", "{:.2f}"), ("used", "used", "{:.0%}"),
           ("foreign", "foreign", "{:.0%}"), ("idle MiB", "idle_mib", "{:.1f}"),
           ("load MiB", "load_mib", "{:.1f}")]


def add_arguments(parser):
    options.add_side_by_side(parser, ("floor", "haproxy", "nginx", "weir"), rounds=9)
    options.add_number(parser, "--seconds", 6, "measured, for each proxy in each round")
    options.add_load(parser, connections=64)


def warm_up(lab, proxy, connections):
    """Also the check that it answers what it should, before anything is timed."""
    load = ExactLoad(lab, proxy, connections)
    load.run(WARM_UP_REQUESTS)
    load.close()


def measure(lab, recipe, origin, arguments):
    proxy = Proxy(lab, recipe, origin)
    idle_mib = proxy.resident_mib()
    warm_up(lab, proxy, arguments.connections)
    start, cpu = time.monotonic(), proxy.cpu_seconds()
    busy = readings.busy_seconds(lab.proxy_processor)
    load = TimedLoad(lab, proxy, arguments.connections, arguments.seconds)
    time.sleep(arguments.seconds / 2)
    load_mib = proxy.resident_mib()
    result = load.result()
    seconds, cpu = time.monotonic() - start, proxy.cpu_seconds() - cpu
    busy = readings.busy_seconds(lab.proxy_processor) - busy
    proxy.kill()
    return {"requests": result["requests"], "errors": result["errors"],
            "rate": result["requests"] / result["seconds"], "p99_ms": result["p99_us"] / 1000,
            "cpu_us": cpu / max(result["requests"], 1) * 1e6, "used": cpu / seconds,
            "foreign": max(busy - cpu, 0) / seconds, "idle_mib": idle_mib, "load_mib": load_mib}


def run(arguments):
    recipes = options.chosen_recipes(arguments)
    runs = []
    with Lab() as lab:
        origin = Origin(lab, arguments.size)
        for number, name, recipe in options.turns(recipes, arguments.rounds):
            figures = measure(lab, recipe, origin, arguments)
            runs.append({"proxy": name, "round": number, **figures})
            print(f"round {number + 1}/{arguments.rounds}  {name:14} {figures['cpu_us']:7.2f} "
                  f"us/request  {figures['errors']} errors", flush=True)
    summary = report.summarize("proxy", runs, COLUMNS)
    for name, figures in summary.items():
        figures["errors"] = sum(run["errors"] for run in runs if run["proxy"] == name)
    if any(figures["foreign"] > FOREIGN_MAX for figures in summary.values()):
        print("Other programs used the proxy's processor: wait until it is quiet.")
    errors = sum(figures["errors"] for figures in summary.values())
    print(f"{errors} errors: answers that were not 2xx or 3xx, lost connections, timeouts")
    report.write_json(arguments, recipes, runs=runs, summary=summary)
    return 1 if errors else 0
