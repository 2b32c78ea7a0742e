"""bench attack: what hostile clients of every kind cost an honest one that speaks HTTP/2"""
import os
import re
import shutil
import sys
import time

from harness import options, report
from harness.lab import Failure, Lab, ROOT
from harness.proxies import Origin, Proxy, RECIPES

ATTACKERS = os.path.join(ROOT, "bench", "attackers.py")
GROWTH_MIB_MOST = 32
IN_TIME = 0.9  # of the honest requests: the others had to wait for those before them
COUNTS = re.compile(r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, "
                    r"(\d+) failed, (\d+) errored, (\d+) timeout")


def add_arguments(parser):
    options.add_number(parser, "--seconds", 20, "of honest requests, under attack")
    options.add_number(parser, "--rate", 500, "honest requests a second, over one connection")
    options.add_number(parser, "--slowloris", 2000, "connections that never finish a request")
    options.add_number(parser, "--resets", 2, "clients that reset every stream they open")
    options.add_json(parser)


def attackers(lab, proxy, arguments):
    """Each on the load's processor, and nicer than the honest client."""
    port = str(proxy.port)
    commands = [["rapid-reset", port]] * arguments.resets
    commands += [["slowloris", port, str(arguments.slowloris)], ["zero-window", port, "/large"]]
    return [lab.start(["nice", "-n", "19", sys.executable, ATTACKERS, *command],
                      lab.load_processor) for command in commands]


def honest(lab, proxy, arguments):
    """h2load's counts: total, started, done, succeeded, failed, errored, timeout."""
    if shutil.which("h2load") is None:
        raise Failure("h2load is not there (Debian's nghttp2-client)")
    output = lab.path("h2load.txt")
    with open(output, "w") as file:
        load = lab.start(["h2load", "-c1", "-t1", "-m100", f"--rps={arguments.rate}",
                          f"-D{arguments.seconds}", f"http://127.0.0.1:{proxy.port}/body"],
                         lab.load_processor, stdout=file)
        peak = 0
        while load.poll() is None:
            peak = max(peak, proxy.resident_mib())
            time.sleep(0.05)
    with open(output) as file:
        said = file.read()
    match = COUNTS.search(said)
    if not match:
        raise Failure(f"h2load said: {said[-300:]}")
    latency = re.search(r"time for request:\s+(\S+)\s+(\S+)\s+(\S+)", said)
    return [int(count) for count in match.groups()], latency.group(3) if latency else "?", peak


def run(arguments):
    with Lab() as lab:
        origin = Origin(lab, 128)
        proxy = Proxy(lab, RECIPES["weir-reverse"], origin)
        quiet, quiet_latency, idle = honest(lab, proxy, arguments)
        hostile = attackers(lab, proxy, arguments)
        time.sleep(3)
        counts, latency, peak = honest(lab, proxy, arguments)
        alive = [process.poll() is None for process in hostile]
        ended = [process.words() for process in hostile if process.poll() is not None]
    growth = peak - idle
    total, _, _, succeeded, *_ = counts
    in_time = total >= IN_TIME * arguments.rate * arguments.seconds
    good = in_time and succeeded == total and growth <= GROWTH_MIB_MOST and all(alive)
    print(f"honest requests {total}, answered {succeeded} ({quiet[3]} of {quiet[0]} without "
          f"attackers); mean time {latency} ({quiet_latency})\n"
          f"memory {idle:.1f} MiB under honest load, at most {peak:.1f} MiB under attack: "
          f"+{growth:.1f} of {GROWTH_MIB_MOST} MiB")
    for words in ended:
        print(f"an attacker ended: {words[-300:]}")
    print("PASS" if good else "FAIL")
    report.write_json(arguments, {"weir-reverse": RECIPES["weir-reverse"]}, honest=counts,
                      idle_mib=idle, peak_mib=peak)
    return 0 if good else 1
