#!/usr/bin/env python3
"""Counts, under callgrind, the user instructions that filters which do nothing add to a request.

usage: hooks.py
Exit status 0 when a hook that a request does not come to adds none, and an empty one at most 40.
"""
import argparse
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness.instructions import per_request  # noqa: E402
from harness.lab import Lab  # noqa: E402
from harness.proxies import Recipe, WEIR  # noqa: E402

MEASURED = argparse.Namespace(size=128, connections=1, few=1000, many=6000)
HOOK_MOST = 40
NOISE = 0.5  # of an instruction: what happens now and then is not the request's


def instructions(uses):
    """Per request, with these filters in use."""
    with Lab() as lab:
        plugin = lab.path("empty.so")
        subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I", ROOT,
                        "-o", plugin, ROOT / "tests/plugins/empty.c"], check=True)
        filters = ", ".join(f"{{ use: {use} }}" for use in uses)
        file = lab.write("weir.yaml", f"workers: 1\nlisten: [ {{ address: 127.0.0.1:0 }} ]\n"
                                      f"plugins: [ {plugin} ]\nfilters: [ {filters} ]\n")
        recipe = Recipe(lambda *unused: [WEIR, "-c", file], forward=True)
        own, _ = per_request(lab, recipe, MEASURED)
    return sum(own.values())


def main():
    nothing, state, one, two, unused = map(instructions, (
        [], ["no-hook"], ["request"], ["request-response"], ["unused"]))
    figures = {"empty request hook": one - state, "empty response hook": two - one,
               "six unused hooks": unused - one}
    print(f"{nothing:.1f} instructions per request without filters; a filter without hooks "
          f"+{state - nothing:.1f}; " + "; ".join(f"{name} {count:+.1f}"
                                                  for name, count in figures.items()))
    *hooks, no_hooks = figures.values()
    sys.exit(not (all(0 < hook <= HOOK_MOST for hook in hooks) and abs(no_hooks) < NOISE))


if __name__ == "__main__":
    main()
