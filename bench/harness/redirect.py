"""bench redirect: what rules of the plugin redirect cost to load, to hold and to look up"""
import os
import re

from harness import options, report
from harness.lab import Failure, Lab, ROOT

PROGRAM = os.path.join(ROOT, "build", "release", "bench", "redirect")
LINE = re.compile(r"(PASS|FAIL): ([\w ]+?) +([\d.]+) (\w+) \(at most ([\d.]+)\)")


def add_arguments(parser):
    options.add_json(parser)


def run(arguments):
    if not os.path.exists(PROGRAM):
        raise Failure(f"{PROGRAM} is not there: ./dev build bench")
    with Lab() as lab:
        process = lab.start([PROGRAM, lab.path("rules.csv")], lab.proxy_processor)
        process.finish()
        output = process.words()
        if process.returncode not in (0, 1):
            raise process.failure(f"ended with code {process.returncode}")
    print(output)
    figures = {name: {"figure": float(figure), "unit": unit, "budget": float(budget)}
               for _, name, figure, unit, budget in LINE.findall(output)}
    report.write_json(arguments, {}, figures=figures, passed=process.returncode == 0)
    return process.returncode
