"""Runs the real curl."""
import subprocess

import program


def run(*arguments, proxy=None, expect=0):
    """curl's CompletedProcess; proxy is a Weir. expect: its exit status, None for any."""
    command = ["curl", "--silent", "--show-error", "--max-time", "20"]
    if proxy:
        command += ["--proxy", f"http://{proxy.authority}"]
    done = subprocess.run([*command, *arguments], env=program.environment(), timeout=30,
                          stdin=subprocess.DEVNULL, capture_output=True)
    assert expect is None or done.returncode == expect, (done.returncode, done.stderr)
    return done
