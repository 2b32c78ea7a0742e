"""Filters that do what a request tells them, and write down what they were asked: tests/plugins/probe.c.

Every test of theirs can so share one weir. The filters are, in the order of requests: "a" and "b",
whose faults fail the exchange, and "s", whose faults are skipped.
"""
import itertools
import time

from client_chosen import Client
from plugins import built

CHAIN = (("a", "fail", ()), ("b", "fail", ()), ("s", "skip", ()))
KEYS = (f"k{number}" for number in itertools.count())
SECONDS = 10


def configuration(trace, chain=CHAIN, use="probe", more="", admin="", plugin=None):
    """Text of a configuration file: one listener, one worker, these filters."""
    filters = "".join(
        f"  - use: {use}\n    on_fault: {fault}\n    with: {{ name: {name}, trace: '{trace}',"
        f" scripts: {list(scripts)} }}\n" for name, fault, scripts in chain)
    return (f"workers: 1\nlisten: [ {{ address: 127.0.0.1:0 }} ]\nplugins: [ {plugin or built('probe')} ]\n"
            f"{admin}filters:\n{filters}{more}")


class Traced:
    """The trace of the filters of one weir."""

    def __init__(self, file):
        self.file = file

    def lines(self, key):
        """What the filters wrote for the exchange with that key, without the key."""
        text = self.file.read_text(errors="replace") if self.file.exists() else ""
        return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{key} ")]

    def wait(self, key, wanted, what="a line of the trace", seconds=SECONDS):
        """Waits until wanted(lines) holds; returns the lines."""
        end = time.monotonic() + seconds
        while True:
            lines = self.lines(key)
            if wanted(lines):
                return lines
            assert time.monotonic() < end, f"waited in vain for {what}; {lines}"
            time.sleep(0.01)

    def over(self, key, filters=3):
        """The lines of an exchange that has ended, with what must hold of every one checked."""
        lines = self.wait(key, lambda seen: sum(line.endswith(" close") for line in seen) >= filters,
                          "the end of the exchange")
        check(lines)
        return lines

    def hooks(self, key, filters=3):
        """Likewise, only the calls: "a request", "b response_body response 5 end"."""
        return [line for line in self.over(key, filters) if "> " not in line]


def check(lines):
    """What must hold of every exchange: each filter opened and closed once, never re-entered."""
    for name in {line.split()[0] for line in lines}:
        own = [line.split(" ", 1)[1] for line in lines if line.split()[0] == name]
        calls = [line for line in own if "> " not in line]
        assert calls[0] == "open" and calls.count("open") == 1, (name, lines)
        assert calls[-1] == "close" and calls.count("close") == 1, (name, lines)
        assert sum(call.startswith("log") for call in calls) <= 1, (name, lines)
    bad = [line for line in lines if "called " in line or "unknown statement" in line or "> its" in line]
    assert not bad, bad


class Probes:
    """A weir whose filters are probes."""

    def __init__(self, start_weir, directory, text=None, arguments=(), **options):
        self.directory = directory
        self.trace = Traced(directory / "trace")
        self.file = directory / "weir.yaml"
        self.write(text or configuration(self.trace.file, **options))
        self.weir = start_weir("-c", str(self.file), *arguments)

    def write(self, text):
        self.file.write_text(text)

    def client(self, **options):
        return Client(self.weir.address, **options)

    def faults(self):
        return [line for line in self.weir.lines if "failed in" in line]


def request(origin, *scripts, method=b"GET", path="/", body=None, fields=b"", chunked=False):
    """A request that carries scripts, and the key of its trace."""
    key = next(KEYS)
    lines = "".join(f"X-Probe: {script}\r\n" for script in scripts).encode()
    target = origin.url(path).encode() if hasattr(origin, "url") else origin
    if body is not None and chunked:
        lines += b"Transfer-Encoding: chunked\r\n"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    elif body is not None:
        lines += b"Content-Length: %d\r\n" % len(body)
    return key, b"%s %s HTTP/1.1\r\nHost: a\r\nX-Key: %s\r\n%s%s\r\n%s" % (
        method, target, key.encode(), lines, fields, body or b"")


def tunnel(origin, *scripts):
    """The head of a CONNECT that carries scripts, and the key of its trace."""
    key = next(KEYS)
    lines = "".join(f"X-Probe: {script}\r\n" for script in scripts).encode()
    return key, b"CONNECT %s HTTP/1.1\r\nHost: %s\r\nX-Key: %s\r\n%s\r\n" % (
        origin.authority, origin.authority, key.encode(), lines)
