"""bench scale: resident memory for idle, slow, stalled and busy connections"""
import os
import resource

from harness import options, report
from harness.lab import Failure, Lab
from harness.proxies import WEIR
from scale.ends import Ends
from scale.scenarios import SCENARIOS
from scale.subject import Subject

DESCRIPTORS = 16500  # two for each of 8,000 pairs, on weir's side and on ours
REMAINS_MOST = 1.1   # of what was resident before


def add_arguments(parser):
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", choices=[[], *names],
                        help=f"all of them by default: {', '.join(names)}")
    parser.add_argument("--weir", default=WEIR, metavar="PROGRAM", help="(%(default)s)")
    options.add_number(parser, "--rounds", 1, "times that each is put on the same process")
    options.add_json(parser)


def allow_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS:
        raise Failure(f"this needs {DESCRIPTORS} descriptors, `ulimit -Hn` is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def judge(scenario, idle, used, after):
    figure = (used - idle) / scenario.count if scenario.each else used
    return {"figure": figure, "within": figure <= scenario.budget, "idle": idle, "used": used,
            "after": after, "returned": after <= idle * REMAINS_MOST}


def measure(lab, scenario, arguments):
    """A run for each round."""
    subject = Subject(lab, arguments.weir, scenario.tls)
    if scenario.warm_up:
        with Ends(lab, subject.port) as ends:
            scenario.hold(ends, scenario.warm_up)
    idle = subject.rest()
    runs = []
    for _ in range(arguments.rounds):
        subject.forget_peak()
        with Ends(lab, subject.port) as ends:
            scenario.hold(ends, scenario.count, **scenario.settings)
            subject.expect_connections(scenario.count * scenario.connections)
            used = subject.peak() if scenario.peak else subject.resident()
        runs.append(judge(scenario, idle, used, subject.rest()))
    subject.stop()
    return runs


def amount(scenario, bytes_):
    return f"{bytes_ / 1024:.2f} KiB each" if scenario.each else f"{bytes_ / 2**20:.2f} MiB"


def verdict(run):
    return "PASS" if run["within"] and run["returned"] else "FAIL"


def row(scenario, run):
    return [f"{scenario.count} x {scenario.name}", amount(scenario, run["figure"]),
            amount(scenario, scenario.budget), f"{run['idle'] / 2**20:.2f}",
            f"{run['used'] / 2**20:.2f}", f"{run['after'] / 2**20:.2f}",
            f"{run['after'] / run['idle'] - 1:+.1%}", verdict(run)]


def run(arguments):
    allow_descriptors()
    chosen = [scenario for scenario in SCENARIOS
              if not arguments.scenarios or scenario.name in arguments.scenarios]
    runs, table = {}, [["resident memory", "figure", "budget", "idle MiB", "used", "after", "",
                        ""]]
    with Lab() as lab:
        os.sched_setaffinity(0, {lab.load_processor})
        for scenario in chosen:
            runs[scenario.name] = measure(lab, scenario, arguments)
            for each in runs[scenario.name]:
                print(f"{verdict(each)}: {scenario.name} ({scenario.summary}): "
                      f"{amount(scenario, each['figure'])}, budget "
                      f"{amount(scenario, scenario.budget)}; {each['after'] / 2**20:.2f} MiB "
                      f"afterwards, {each['idle'] / 2**20:.2f} before", flush=True)
                table.append(row(scenario, each))
    print()
    report.print_table(table)
    passed = all(verdict(each) == "PASS" for each in sum(runs.values(), []))
    report.write_json(arguments, {}, runs=runs, passed=passed)
    return 0 if passed else 1
