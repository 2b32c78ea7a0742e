#!/usr/bin/env python3
"""Judges the figures of bench/run against what the first step promises.

usage: figures.py FOLDER   (with mark.json, syscalls.json, instructions.json and floor.json)
Prints a line for each figure; exit status 1 when one is missing or too high.
"""
import json
import pathlib
import re
import sys

DATA_CALLS_MOST = 4
UNWANTED = re.compile(r"epoll_ctl|timerfd_\w+|futex")
UNWANTED_MOST = 0.01       # per request: what happens now and then is not the request's
FLOOR_RATIO_MOST = 1.35
MARK_INSTRUCTIONS_MOST = 150


def syscalls(text):
    measured = json.loads(text)
    calls = measured["data_calls_per_request"]
    unwanted = {name: count for name, count in measured["per_request"].items()
                if UNWANTED.fullmatch(name) and count > UNWANTED_MOST}
    return calls <= DATA_CALLS_MOST and not unwanted, \
        f"{calls:.3f} data calls per request, unwanted: {unwanted or 'none'}"


def floor(text):
    weir = json.loads(text)["summary"]["weir"]
    to_floor, to_haproxy = weir["to_floor"]["median"], weir["to_haproxy"]["median"]
    return to_floor <= FLOOR_RATIO_MOST and to_haproxy < 1 and not weir["errors"], \
        f"{to_floor:.2f} x floor, {to_haproxy:.2f} x HAProxy, {weir['cpu_us']:.1f} us, " \
        f"{weir['errors']} errors"


def instructions(text):
    """Recorded, not judged."""
    return True, f"{json.loads(text)['instructions_per_request']:.0f} instructions per request"


def mark(text):
    count = json.loads(text)["instructions_per_mark"]
    return count < MARK_INSTRUCTIONS_MOST, f"{count:g} instructions per mark and step"


FIGURES = {"mark.json": mark, "syscalls.json": syscalls, "instructions.json": instructions,
           "floor.json": floor}


def judge(folder, name, judgement):
    try:
        return judgement((folder / name).read_text())
    except (OSError, ValueError, KeyError, TypeError) as problem:
        output = (folder / name).with_suffix(".txt")
        said = output.read_text().strip().splitlines()[-1:] if output.exists() else []
        return False, f"no figure ({problem}) {' '.join(said)}"


def main():
    folder, good = pathlib.Path(sys.argv[1]), True
    for name, judgement in FIGURES.items():
        passed, evidence = judge(folder, name, judgement)
        good = good and passed
        print(f"{name.partition('.')[0]} {'PASS' if passed else 'FAIL'}: {evidence}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
