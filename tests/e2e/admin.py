"""The admin listener as its clients see it, and a strict reader of Prometheus' text format."""
import json
import re

from client import Client

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP ({NAME}) (\S.*)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram|summary|untyped)")
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{{LABEL}(?:,{LABEL})*\}})? "
                    r"([+-]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Inf|NaN))")


class Family:
    """One metric: what is said about it, and its samples by their labels."""

    def __init__(self, help_text, kind):
        self.help = help_text
        self.kind = kind
        self.samples = {}


def parse(text):
    """Format 0.0.4, of which only what one exporter would write is taken: every metric has HELP,
    TYPE and samples, in this order and in one place, and counters are called so."""
    assert text.endswith("\n"), "the last line has no end"
    families, name, help_text = {}, None, None
    for line in text[:-1].split("\n"):
        if found := HELP.fullmatch(line):
            assert help_text is None, f"{name} has no samples"
            name, help_text = found.groups()
            assert name not in families, f"{name} comes twice"
        elif found := TYPE.fullmatch(line):
            assert found[1] == name and help_text is not None, f"no HELP before {line}"
            assert (found[2] == "counter") == name.endswith("_total"), line
            families[name], help_text = Family(help_text, found[2]), None
        else:
            found = SAMPLE.fullmatch(line)
            assert found, f"not a line of the format: {line!r}"
            assert found[1] == name and help_text is None, f"out of place: {line}"
            labels = found[2] or ""
            assert labels not in families[name].samples, f"twice: {line}"
            families[name].samples[labels] = float(found[3])
    assert help_text is None and all(family.samples for family in families.values())
    return families


class Admin:
    """Asks at an address or a path; a connection for each question."""

    def __init__(self, address):
        self.address = address

    def ask(self, method, target, fields=b""):
        with Client(self.address) as client:
            return client.ask(b"%s %s HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n%s\r\n"
                              % (method.encode(), target.encode(), fields))

    def get(self, target):
        return self.ask("GET", target)

    def reload(self):
        return self.ask("POST", "/reload")

    def families(self):
        answer = self.get("/metrics")
        assert answer.status == 200
        assert answer.get(b"content-type") == b"text/plain; version=0.0.4; charset=utf-8"
        return parse(answer.body.decode())

    def metric(self, name):
        """Of a metric without labels."""
        return self.families()[name].samples[""]

    def connections(self, side=None):
        answer = self.get("/connections")
        assert answer.status == 200 and answer.get(b"content-type") == b"application/json"
        everything = json.loads(answer.body)
        assert everything["listed"] == len(everything["connections"]) <= everything["open"]
        return [connection for connection in everything["connections"]
                if side in (None, connection["side"])]
