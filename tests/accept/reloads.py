#!/usr/bin/env python3
"""Reloads weir ten times under h2load, each time with a changed plugin, and counts every request.

usage: reloads.py [--weir PATH] [--rate N] [--seconds N] [--reloads N]
50 connections ask N times a second each, through weir as a reverse proxy, an nginx behind it: first
for so many seconds, then until a sixth as many requests are answered. What h2load had sent when its
time was over it does not count; the second run has no such rest. Prints what was counted at the three
places; exit status 0 when h2load saw no failure, the three agree, and weir ended well (of a build with
sanitizers: no leak either).
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import program  # noqa: E402
import web_server  # noqa: E402

CONNECTIONS = 50
COUNTS = re.compile(r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, "
                    r"(\d+) errored, (\d+) timeout")
CONFIGURATION = """
workers: 2
listen: [ {{ address: 127.0.0.1:0 }} ]
upstream: {{ app: {{ servers: [ {origin} ] }} }}
fixed_upstream: app
plugins: [ ./live.so ]
filters: [ {{ use: reloaded }} ]
log: {{ access: {{ file: {directory}/weir.log, format: "{{status}} {{why}} {{response:x-version}}" }} }}
"""


def tool():
    """h2load, from the system or as ./dev peers unpacks it."""
    found = shutil.which("h2load")
    if not found:
        peers = subprocess.run([ROOT / "dev", "peers"], capture_output=True, text=True, check=True)
        found = f"{peers.stdout.strip().splitlines()[-1]}/h2load"
    return found


def compile_versions(directory):
    for version in "12":
        subprocess.run(["cc", "-std=c11", "-O2", "-g", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-I", ROOT, f'-DVERSION="{version}"', "-o", directory / f"{version}.so",
                        ROOT / "tests/plugins/reloaded.c"], check=True)


def install(directory, number):
    """Other content each time, as a build would have, in one step."""
    file = directory / f"{number % 2 + 1}.so"
    (directory / "new.so").write_bytes(file.read_bytes() + b"%d" % number)
    os.replace(directory / "new.so", directory / "live.so")


def lines(file):
    return file.read_text().splitlines()


def measure(directory, arguments, amount, seconds):
    """What h2load printed, the lines of weir's log and of the origin's, the plugins that went."""
    origin = web_server.WebServer(directory / "origin")
    compile_versions(directory)
    install(directory, 0)
    (directory / "weir.yaml").write_text(CONFIGURATION.format(origin=origin.authority,
                                                              directory=directory))
    weir = program.Weir("-c", str(directory / "weir.yaml"), program=arguments.weir)
    seen = len(lines(directory / "origin/access.log"))
    begun = time.monotonic()
    load = subprocess.Popen(
        [tool(), "--h1", "-c", str(CONNECTIONS), "-t1", *amount, "--rps", str(arguments.rate),
         f"http://{weir.authority}/target/"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for number in range(1, arguments.reloads + 1):
        until = begun + number * seconds / (arguments.reloads + 1)
        time.sleep(max(0, until - time.monotonic()))
        install(directory, number)
        weir.reload()
    said, _ = load.communicate()
    weir.stop()
    origin.stop()
    unmapped = sum("unmapped" in line for line in weir.lines)
    return said, lines(directory / "weir.log"), lines(directory / "origin/access.log")[seen:], unmapped


def judge(arguments, amount, seconds):
    """One run. True when all is well."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "origin").mkdir()
        said, log, served, unmapped = measure(directory, arguments, amount, seconds)
    counted = COUNTS.search(said)
    if not counted:
        sys.exit(f"h2load said: {said}")
    _, started, done, succeeded, *failures = map(int, counted.groups())
    good = sum(bool(re.fullmatch("200 ok [12]", line)) for line in log)
    print(f"{' '.join(amount)}: {arguments.reloads} reloads, {succeeded} succeeded, {sum(failures)} failed, "
          f"{started - done} begun when it stopped; {good} good of {len(log)} lines in the log; "
          f"{len(served)} at the origin; {unmapped} plugins unmapped", flush=True)
    return (succeeded <= good == len(log) == len(served) <= succeeded + started - done
            and succeeded > 0 and not any(failures) and unmapped == arguments.reloads + 1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].removeprefix("usage: "))
    parser.add_argument("--weir", default=str(ROOT / "build/release/weir"))
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--reloads", type=int, default=10)
    arguments = parser.parse_args()
    seconds = arguments.seconds
    count = CONNECTIONS * arguments.rate * seconds // 6
    fine = [judge(arguments, ["-D", str(seconds)], seconds),
            judge(arguments, ["-n", str(count)], seconds / 6)]
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
