"""bench mark: user instructions of one mark and step in a turn of its own, counted by callgrind"""
import os

from harness import callgrind, options, report
from harness.lab import Failure, Lab, ROOT

PROGRAM = os.path.join(ROOT, "build", "release", "bench", "mark")
INSTRUCTIONS_MAX = 150
FEW, MANY = 10000, 20000


def add_arguments(parser):
    options.add_json(parser)


def count_instructions(lab, times):
    files = lab.path(f"callgrind-{times}")
    process = lab.start([*callgrind.command(files), PROGRAM, str(times)], lab.proxy_processor)
    process.finish()
    if process.returncode != 0:
        raise process.failure(f"ended with code {process.returncode}")
    own, _ = callgrind.count_by_function(files)
    return sum(own.values())


def run(arguments):
    if not os.path.exists(PROGRAM):
        raise Failure(f"{PROGRAM} is not there: ./dev build bench")
    with Lab() as lab:
        few, many = (count_instructions(lab, times) for times in (FEW, MANY))
    instructions = (many - few) / (MANY - FEW)
    passed = instructions < INSTRUCTIONS_MAX
    print(f"{'PASS' if passed else 'FAIL'}: {instructions:.0f} user instructions per mark and step "
          f"(under {INSTRUCTIONS_MAX})")
    report.write_json(arguments, {}, instructions_per_mark=instructions, passed=passed)
    return 0 if passed else 1
