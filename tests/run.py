#!/usr/bin/env python3
"""tests/run.py - runs the suites and ends with one line, `N passed, N failed`.

usage: run.py [SUITE...]   suites: tidy, unit, tsan, sim, e2e, h1so, h2 (all of them). ./dev test
builds first.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
ASAN = ROOT / "build/asan"
RELEASE = ROOT / "build/release"
TSAN = ROOT / "build/tsan"
UNIT_SECONDS = 120
SIMULATOR_SECONDS = 120
PYTEST_SECONDS = 1500

# What is run once more with h1 as a plugin: everything that h1 itself could do otherwise.
H1SO = ROOT / "tests/e2e/weir_h1so"
H1SO_TESTS = "errors fields framing hostile http1 reload requests reuse splits tunnel".split()

# What is run once more with clients that speak HTTP/2: plugins, whatever HTTP it is. The longest first.
H2_TESTS = ("filter_bodies filter_decisions plugin_reload filter_life filter_heads filter_hostile fetch "
            "plugin_threads filters body_full").split()


class Outcome:
    """How many tests passed and failed, and what the failed ones said."""

    def __init__(self, name, passed, failed, output, seconds):
        self.name = name
        self.passed = passed
        # a program that did nothing has not passed
        self.failed = failed if passed or failed else 1
        self.output = output
        self.seconds = seconds


def environment(**more):
    sanitizers = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
                  "UBSAN_OPTIONS": "print_stacktrace=1",
                  "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
    return {**os.environ, **sanitizers, "PYTHONDONTWRITEBYTECODE": "1", **more}


def execute(command, seconds, **variables):
    """Runs a program to its end or for so long; its status (None: too long), output, duration."""
    start = time.monotonic()
    if not os.access(command[0], os.X_OK):
        return None, f"{command[0]} is not there\n", 0
    process = subprocess.Popen([str(part) for part in command], cwd=ROOT, text=True,
                               errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment(**variables),
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        output += f"\nstopped: took longer than {seconds} s\n"
        status = None
    return status, output, time.monotonic() - start


def unit_test(suite, program):
    """One cmocka program, which counts in TAP."""
    status, output, seconds = execute([program], UNIT_SECONDS, CMOCKA_MESSAGE_OUTPUT="TAP")
    passed = len(re.findall(r"^ok ", output, re.M))
    failed = len(re.findall(r"^not ok ", output, re.M))
    if status != 0:
        failed = max(failed, 1)
    name = str(program).partition("/tests/unit/")[2]
    return Outcome(f"{suite} {name}", passed, failed, output, seconds)


def unit_tests(suite, build, sources):
    programs = [build / source.relative_to(ROOT).with_suffix("") for source in sorted(sources)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda program: unit_test(suite, program), programs)


def unit():
    yield from unit_tests("unit", ASAN, (ROOT / "tests/unit").glob("**/*_test.c"))


def threads():
    """The unit tests that start threads, and the program with a plugin that does, again under
    ThreadSanitizer."""
    sources = (ROOT / "tests/unit").glob("**/*_test.c")
    yield from unit_tests("tsan", TSAN, [source for source in sources
                                         if "pthread_create" in source.read_text()])
    yield pytest("tsan e2e", ROOT / "tests/e2e/test_plugin_threads.py", WEIR=str(TSAN / "weir"),
                 SECONDS_OF_LOAD="20")


def simulation(name, program, *arguments, broken=None):
    """One run of the simulator; with an invariant broken on purpose, it must say that one."""
    status, output, seconds = execute([program, *arguments], SIMULATOR_SECONDS)
    if broken:
        good = status == 1 and f"violated: {broken}" in output
    else:
        good = status == 0
    return Outcome(f"sim {name}", int(good), int(not good), output, seconds)


def simulator():
    """Fixed seeds under the sanitizers, a new one without, and every invariant seen to fail."""
    checked, fast = ASAN / "sim", RELEASE / "sim"
    runs = [(f"seed {seed}", checked, "--seed", str(seed), "--exchanges", "5000")
            for seed in range(1, 5)]
    runs += [(f"filters, seed {seed}", checked, "--filters", "--seed", str(seed),
              "--exchanges", "3000") for seed in range(1, 5)]
    runs.append(("new seed", fast, "--exchanges", "50000"))
    runs.append(("filters, new seed", fast, "--filters", "--exchanges", "50000"))
    _, listed, _ = execute([fast, "--list-invariants"], SIMULATOR_SECONDS)
    broken = [line.split()[0] for line in listed.splitlines() if line]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda run: simulation(*run), runs)
        yield from pool.map(lambda run: simulation(
            f"{run[0]} without {run[1]}", fast, "--seed", "1", "--exchanges", "30000",
            "--pair", run[0], "--break", run[1], broken=run[1]),
            itertools.product(("all", "h1-h1", "h2-h2"), broken))


def pytest(name, *paths, **variables):
    """Folders and files of Python tests, counted by pytest's own report."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short",
                   f"--junitxml={report}", *paths]
        programs = {"WEIR": os.environ.get("WEIR", str(ASAN / "weir")),
                    "WEIR_RELEASE": os.environ.get("WEIR_RELEASE", str(RELEASE / "weir"))}
        status, output, seconds = execute(command, PYTEST_SECONDS, **{**programs, **variables})
        cases = failed = skipped = 0
        if report.exists():
            for suite in xml.etree.ElementTree.parse(report).iter("testsuite"):
                cases += int(suite.get("tests"))
                failed += int(suite.get("failures")) + int(suite.get("errors"))
                skipped += int(suite.get("skipped"))
    passed = cases - failed - skipped
    if status != 0:
        failed = max(failed, 1)
    return Outcome(name, passed, failed, output, seconds)


def tidy():
    yield pytest("tidy", ROOT / "tests/tidy")
    _, text, _ = execute([sys.executable, ROOT / "tests/tidy/tidy.py", "--sizes"], PYTEST_SECONDS)
    print(text, end="")


def end_to_end():
    if any((ROOT / "tests/e2e").glob("test_*.py")):
        yield pytest("e2e", ROOT / "tests/e2e")


def h1_as_plugin():
    files = [ROOT / f"tests/e2e/test_{name}.py" for name in H1SO_TESTS]
    yield pytest("e2e with h1.so", *files, WEIR=str(H1SO))


def over_h2():
    """Two files at a time: most of these tests wait."""
    def run(name):
        return pytest(f"e2e over h2, {name}", ROOT / f"tests/e2e/test_{name}.py", WEIR_CLIENT="h2")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from pool.map(run, H2_TESTS)


SUITES = {"tidy": tidy, "unit": unit, "tsan": threads, "sim": simulator, "e2e": end_to_end,
          "h1so": h1_as_plugin, "h2": over_h2}


def main(names):
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        sys.exit(f"no suite {', '.join(unknown)}; these are there: {', '.join(SUITES)}")
    passed = failed = 0
    for name in names or SUITES:
        for outcome in SUITES[name]():
            passed += outcome.passed
            failed += outcome.failed
            if outcome.failed:
                print(outcome.output)
            print(f"{outcome.name}: {outcome.passed} passed, {outcome.failed} failed, "
                  f"{outcome.seconds:.1f} s", flush=True)
    failed += passed + failed == 0  # a run of no test has not passed
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(sys.argv[1:])
