"""Runs weir (the program that WEIR names, or the newest usual build) and watches how it ends."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTENING = re.compile(
    r": listening on (?:(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d+)|unix:(?P<path>.*))$")
SANITIZER = re.compile(r"Sanitizer|runtime error:")
START_SECONDS = 20
STOP_SECONDS = 15


def path():
    """The program under test."""
    named = os.environ.get("WEIR")
    places = [named] if named else [ROOT / "build/asan/weir", ROOT / "build/release/weir"]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    raise AssertionError(f"no weir to test: {', '.join(map(str, places))} (set WEIR=PATH)")


def release_path():
    """The program whose memory is measured: a sanitizer's says nothing about weir's."""
    place = os.environ.get("WEIR_RELEASE", ROOT / "build/release/weir")
    assert os.access(place, os.X_OK), f"no release build of weir: {place} (set WEIR_RELEASE=PATH)"
    return str(place)


def environment(**more):
    """This environment without proxies of its own; sanitizers stop at the first finding."""
    clean = {name: value for name, value in os.environ.items()
             if not name.lower().endswith("_proxy") and not name.startswith("WEIR_")}
    clean["ASAN_OPTIONS"] = "abort_on_error=0:exitcode=97:detect_stack_use_after_return=1"
    clean["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:exitcode=97"
    clean["TSAN_OPTIONS"] = "halt_on_error=1:exitcode=97"
    return {**clean, **more}


def run(*arguments, seconds=20):
    """Runs weir to its end: for options that print something and mistakes that stop it."""
    return subprocess.run([path(), *arguments], env=environment(), timeout=seconds,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Weir:
    """A running weir."""

    def __init__(self, *arguments, listeners=1, prefix=(), program=None, pass_fds=(), **variables):
        self.process = subprocess.Popen([*prefix, program or path(), *arguments],
                                        env=environment(**variables), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        pass_fds=pass_fds)
        self.lines = []
        self.addresses = []           # (host, port) or path, in the order of the lines
        self.heard = threading.Condition()
        self.closed = False
        self.expected_status = 0
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        self.wait(lambda: len(self.addresses) >= listeners, "its listening lines", START_SECONDS)

    def listen(self):
        for line in self.process.stderr:
            line = line.decode(errors="replace").rstrip("\n")
            with self.heard:
                self.lines.append(line)
                if found := LISTENING.search(line):
                    self.addresses.append(
                        found["path"] or (found[1] or found[2], int(found[3])))
                self.heard.notify_all()
        with self.heard:
            self.closed = True
            self.heard.notify_all()

    def wait(self, condition, what, seconds):
        """Waits until condition() holds; it is asked after every line that weir prints."""
        end = time.monotonic() + seconds
        with self.heard:
            while not condition():
                left = end - time.monotonic()
                if self.closed or left <= 0:
                    self.process.kill()
                    raise AssertionError(f"waited in vain for {what}; weir said:\n{self.said()}")
                self.heard.wait(left)

    def said(self):
        return "\n".join(self.lines)

    @property
    def address(self):
        return self.addresses[0]

    @property
    def authority(self):
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def pid(self):
        return self.process.pid

    def memory(self, what="VmRSS"):
        """Resident memory in bytes; VmHWM is its peak."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+) kB", status)[1]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def settle(self, condition, what, seconds=5):
        """Waits until condition() holds for something seen from outside, like /proc."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what}"
            time.sleep(0.01)

    def check(self):
        """Fails when weir is gone or a sanitizer spoke."""
        assert not SANITIZER.search(self.said()), f"sanitizer report:\n{self.said()}"
        status = self.process.poll()
        assert status is None, f"weir ended with {status}:\n{self.said()}"

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def reload(self, expected="reloaded: configuration", seconds=10):
        """SIGHUP, and waits until weir says what came of it; returns the lines it said."""
        before = len(self.lines)
        self.process.send_signal(signal.SIGHUP)
        self.wait(lambda: any(expected in line for line in self.lines[before:]), expected,
                  seconds)
        return self.lines[before:]

    @contextlib.contextmanager
    def frozen(self):
        """Whatever happens meanwhile weir learns at once, afterwards."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
            time.sleep(0.1)           # it has arrived
        finally:
            self.process.send_signal(signal.SIGCONT)

    def finish(self, seconds=STOP_SECONDS):
        """Waits for the end and checks it."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"weir did not end within {seconds} s:\n{self.said()}") from None
        self.listener.join(5)
        assert not SANITIZER.search(self.said()), f"sanitizer report:\n{self.said()}"
        assert status == self.expected_status, f"weir ended with {status}:\n{self.said()}"

    def stop(self):
        """SIGTERM, and everything that must hold afterwards."""
        if self.process.poll() is None:
            self.terminate()
        self.finish()

    def kill(self):
        self.process.kill()
        self.process.wait()
