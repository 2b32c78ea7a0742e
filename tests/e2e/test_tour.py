"""The tour of one request in docs/architecture.md: what it names exists, and a request goes that way."""
import re

from client import Client
from program import ROOT

PLACE = re.compile(r"`([a-z0-9_/]+\.c):([a-z0-9_]+)(?:\(\))?`")
TRACE = re.compile(r"trace ([a-z0-9_/]+\.c):([a-z0-9_]+)")


def tour(text):
    """The (file, function) pairs of the section whose heading speaks of a tour, in order."""
    sections = re.split(r"^(#+ .*)$", text, flags=re.M)
    for heading, body in zip(sections[1::2], sections[2::2]):
        if "tour" in heading.lower():
            return PLACE.findall(body)
    return []


def defines(source, function):
    """True when that C text defines the function; a call or a declaration is not enough."""
    return re.search(rf"^[A-Za-z_][^\n;{{}}]*\b{function}\([^;{{}}]*\)\s*\n\{{", source, re.M) is not None


def missing(places, read):
    """Those places that are not there; read(file) gives a file's text or None."""
    return [(file, function) for file, function in places
            if (text := read(file)) is None or not defines(text, function)]


def lost(places, trace):
    """The first place of the tour that the trace does not visit after the one before, or None."""
    steps = iter(trace)
    return next((place for place in places if place not in steps), None)


def architecture():
    return (ROOT / "docs/architecture.md").read_text()


def read(file):
    return (ROOT / file).read_text() if (ROOT / file).is_file() else None


def test_tour_names_what_exists():
    places = tour(architecture())
    assert len(places) >= 10, "a tour of one request has more stops than that"
    assert missing(places, read) == []


def test_request_takes_the_tour(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0", "-w", "1", WEIR_TRACE="exchange")
    with Client(weir.address) as client:
        assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode()).status == 200
    weir.stop()
    trace = [found.groups() for line in weir.lines if (found := TRACE.search(line))]
    places = tour(architecture())
    assert places and trace, "nothing to compare"
    assert lost(places, trace) is None, trace
    assert missing(trace, read) == [], "the trace names a function that does not exist"


def test_no_trace_unless_asked_for(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0", "-w", "1")
    with Client(weir.address) as client:
        client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    weir.stop()
    assert not [line for line in weir.lines if TRACE.search(line)]


def test_these_checks_can_fail():
    text = "# A\n`a/x.c:no`\n## The tour\nfrom `a/x.c:first` to `a/x.c:second()`.\n## B\n`a/x.c:no`\n"
    source = "static void first(int a,\n                  int b)\n{\n    second();\n}\n\nint second(void);\n"
    places = tour(text)
    assert places == [("a/x.c", "first"), ("a/x.c", "second")]
    assert missing(places, {"a/x.c": source}.get) == [("a/x.c", "second")]
    assert missing([("b/x.c", "first")], {"a/x.c": source}.get) == [("b/x.c", "first")]
    assert lost(places, [places[0], ("a/x.c", "between"), places[1]]) is None
    assert lost(places, places[::-1]) == places[1]
    assert lost(places, places[1:]) == places[0]
