"""C: what filters answer and ask for: pauses, resumes, limits, illegal answers, leaving."""
import threading
import time

import pytest

from origin import ok
from probe import Probes, configuration, request
from program import Weir

HOOKS = ["open", "authenticate", "request", "route", "address", "upstream", "interim", "response",
         "request_body", "response_body", "body_full", "trailers"]
ALWAYS = {"continue": 0, "fail": -1}
LEGAL = {
    "open": "detach deny done", "authenticate": "detach accept pause deny done",
    "request": "detach pause buffer deny done", "route": "detach pause deny done",
    "address": "deny", "upstream": "detach pause deny done", "interim": "detach",
    "response": "detach pause buffer done", "request_body": "detach pause take hold done",
    "response_body": "detach pause take hold done", "body_full": "detach take pause deny done",
    "trailers": "detach pause done"}
ANSWERS = ["pause", "buffer", "done", "take", "hold", "detach", "accept", "deny", "forbid",
           "answer 4711", "answer -2147483648", "answer -2", "answer 31", "answer 32"]
ILLEGAL = [(hook, answer) for hook in HOOKS for answer in ANSWERS
           if answer not in LEGAL[hook].split()]


@pytest.fixture
def probes(start_weir, tmp_path):
    return Probes(start_weir, tmp_path)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """One weir for all tests of this module that do not look at what it logs."""
    probes = Probes(Weir, tmp_path_factory.mktemp("probes"))
    yield probes
    probes.weir.stop()


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """Another one, of which it is known how many faults it has seen."""
    probes = Probes(Weir, tmp_path_factory.mktemp("probes"))
    probes.expected_faults = 0
    yield probes
    probes.weir.stop()


def everything(connection):
    """An answer with an interim head, a chunked body and trailers."""
    while connection.request():
        connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"4\r\ngood\r\n0\r\nX-Sum: 1\r\n\r\n")


def ask(probes, origin, *scripts, body=b"1234"):
    key, post = request(origin, *scripts, method=b"POST", body=body, chunked=True)
    with probes.client() as client:
        return key, client.ask(post)


# --- C1, C2: pauses

@pytest.mark.parametrize("hook,direction", [("request", "request"), ("upstream", "request"),
                                            ("response", "response"), ("request_body", "request"),
                                            ("response_body", "response")])
@pytest.mark.parametrize("times", [(100, 300), (300, 100)])
def test_two_pauses_of_one_direction(lasting, make_origin, hook, direction, times):
    """C1: it moves only when both have gone on, in whatever order."""
    origin = make_origin(everything)
    scripts = [f"{name}.{hook}=to_{direction}; timer {ms}; pause" for name, ms in zip("ab", times)]
    scripts += [f"{name}.event_timer=to_{direction}; resume" for name in "ab"]
    started = time.monotonic()
    key, answer = ask(lasting, origin, *scripts)
    assert answer.body == b"good" and answer.complete
    assert time.monotonic() - started >= max(times) / 1000
    lasting.trace.over(key)


@pytest.mark.parametrize("hook", ["request", "response", "body_full", "request_body", "trailers"])
def test_resume_twice(lasting, make_origin, hook):
    """C2: ALREADY."""
    direction = "response" if hook in ("response", "trailers") else "request"
    key, answer = ask(lasting, make_origin(everything),
                      "a.request=buffer" if hook == "body_full" else "a.x=", f"a.{hook}=to_{direction}; timer 30; pause | ",
                      f"a.event_timer=to_{direction}; resume; resume; resume")
    assert answer.body == b"good"
    results = [line for line in lasting.trace.over(key) if "> resume" in line]
    assert results[0].endswith(" 0") and len(set(results[1:])) == 1 and not results[1].endswith(" 0")


def test_resume_in_the_hook_itself_is_too_early(lasting, make_origin):
    key, answer = ask(lasting, make_origin(everything), "a.request=resume; timer 50; pause",
                      "a.event_timer=resume")
    assert answer.status == 200
    assert not [line for line in lasting.trace.over(key) if "resume 0" in line][1:]


@pytest.mark.parametrize("hook,direction,status", [
    ("authenticate", "request", 500), ("request", "request", 500), ("route", "request", 500),
    ("upstream", "request", 500), ("request_body", "request", 500), ("response", "response", 500),
    ("response_body", "response", None), ("body_full", "request", 500)])
def test_a_pause_without_an_end(lasting, make_origin, hook, direction, status):
    """C2: the filter is told, and at fault if it does nothing. In `s` it is skipped."""
    origin = make_origin(everything)
    for name in "as":
        key, answer = ask(lasting, origin, f"{name}.{hook}=to_{direction}; pause_limit 200; pause",
                          *([f"{name}.request=buffer"] if hook == "body_full" else []))
        if name == "s":
            assert answer.body == b"good", (hook, answer)
        elif status:
            assert answer.status == status
        else:
            assert not answer.complete
        lines = lasting.trace.over(key)
        assert f"{name} event_pause_limit {direction}" in lines
        after = lines[lines.index(f"{name} event_pause_limit {direction}") + 1:]
        assert [line for line in after if line.startswith(f"{name} ")] == [f"{name} close"]


@pytest.mark.parametrize("acts,status,rest", [
    ("resume", 200, ""), ("respond 418 x", 418, ""), ("deny", 403, ""), ("abort", None, ""),
    ("detach", 200, ""), ("pause_limit 200 | pause_limit 200 | resume", 200, ""),
    ("pause_limit 100; timer 20", 200, "resume")])
def test_what_ends_a_pause_in_time(lasting, make_origin, acts, status, rest):
    key, answer = ask(lasting, make_origin(everything), "a.request=pause_limit 100; pause",
                      f"a.event_pause_limit={acts}", f"a.event_timer={rest}")
    assert (answer and answer.status) == status
    lasting.trace.over(key)


def test_both_directions_are_told(lasting, make_origin):
    """Pauses of both directions of one filter: each has its own time, each is told."""
    release = threading.Event()

    def early(connection):
        connection.request_head()
        connection.send(ok(b"early"))
        release.wait(5)
    key, post = request(make_origin(early), "a.request_body=pause_limit 700; pause",
                        "a.response=pause_limit 200; pause", "a.event_pause_limit=resume",
                        method=b"POST", body=b"1234")
    with lasting.client() as client:
        assert client.ask(post).body == b"early"
    release.set()
    lines = lasting.trace.over(key)
    assert "a event_pause_limit response" in lines


def test_a_long_pause_is_not_idleness(start_weir, tmp_path, make_origin):
    """What was waited for by a filter is not held against the client, or the server."""
    timeouts = "timeouts: { body: 300ms, exchange_idle: 400ms, response: 300ms }\n"
    probes = Probes(start_weir, tmp_path, configuration(tmp_path / "trace", more=timeouts))
    for hook in ("request", "upstream", "response", "request_body", "response_body"):
        direction = "response" if hook.startswith("response") else "request"
        key, post = request(make_origin(everything), f"a.{hook}=to_{direction}; timer 900; pause",
                            f"a.event_timer=to_{direction}; resume", method=b"POST", body=b"12345")
        with probes.client() as client:
            client.send(post[:-1])
            time.sleep(0.05)
            probes.trace.wait(key, lambda lines: f"a {hook}" in " ".join(lines) or hook.startswith("response"))
            time.sleep(0.8 if not hook.startswith("response") else 0)
            if not hook.startswith("response"):
                time.sleep(0.15)
            client.send(post[-1:])
            answer = client.response(b"POST")
            assert answer.status == 200 and answer.complete, (hook, answer)


def test_a_reply_ends_the_pause_of_its_maker(lasting, make_origin):
    """A streamed answer may last longer than the pause that it ended might have."""
    key, answer = ask(lasting, make_origin(), "a.request=pause_limit 150; timer 30; pause",
                      "a.event_timer=stream 200 x; timer 100 | to_response; emit a; timer 100 |"
                      " to_response; emit b; timer 100 | to_response; emit_end c")
    assert answer.body == b"xabc" and answer.complete
    assert not any("pause_limit" in line for line in lasting.trace.hooks(key))


# --- C4, C5: nothing is acted upon within the hook, nothing after the end

def test_calls_after_the_end(lasting, make_origin):
    """C5: in log and close it is over."""
    calls = ("respond 200 x; abort; resume; emit x; release 1; to_response; emit x; resume; "
             "set 0 X y; user z; credit; retarget a:80; timer 1")
    key, answer = ask(lasting, make_origin(), f"a.log={calls}", f"a.close={calls}")
    assert answer.status == 200
    lines = lasting.trace.over(key)
    assert not [line for line in lines if line.startswith(("a log> respond 0", "a close> respond 0",
                                                           "a log> abort 0", "a log> emit 0",
                                                           "a close> emit 0", "a log> set 0"))], lines


def test_posts_to_an_exchange_that_is_over(probes, make_origin):
    """C5, F1: every parcel is dropped once, whatever becomes of it."""
    origin = make_origin()
    for wait in (0, 5, 30, 100):
        key, answer = ask(probes, origin, f"a.request=post {wait} 500; timer 20; pause",
                          "a.event_timer=resume")
        assert answer.status == 200
        probes.trace.over(key)
    time.sleep(0.3)
    probes.weir.stop()
    freed = [line for line in probes.trace.lines("-") if " free " in line]
    counts = freed[-1].split()
    assert counts[2] == counts[4] == "2000", freed


# --- C6, C7: legal and illegal answers

def scripts_for(name, hook, answer):
    needs = [f"{name}.request=buffer"] if hook == "body_full" else []
    return [*needs, f"{name}.{hook}={answer} |"]


@pytest.mark.parametrize("hook,answer", ILLEGAL)
def test_illegal_answers(counting, make_origin, hook, answer):
    """C6, C7, C8: a fault; one line that names plugin and hook; skipped where it may be."""
    lasting, origin = counting, make_origin(everything)
    lasting.weir.settle(lambda: len(lasting.faults()) == lasting.expected_faults, "its last words")
    before = lasting.expected_faults
    lasting.expected_faults += 2
    key, response = ask(lasting, origin, *scripts_for("b", hook, answer))
    if hook in ("response_body", "trailers"):
        assert not response or not response.complete or response.status == 500
    else:
        assert response.status == 500, response
    lines = lasting.trace.over(key)
    lasting.weir.settle(lambda: len(lasting.faults()) > before, "a line of the log")
    said = lasting.faults()[before:]
    assert len(said) == 1 and "plugin test.probe" in said[0] and f"in {hook}" in said[0], said
    own = [line for line in lines if line.startswith("b ")]
    at = next(i for i, line in enumerate(own) if line.startswith(f"b {hook}"))
    assert own[at + 1:] == ["b close"], own
    key, response = ask(lasting, origin, *scripts_for("s", hook, answer))
    assert response.body == b"good" and response.complete and response.trailers, response
    lasting.trace.over(key)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("name,status", [("b", 500), ("s", 200)])
def test_faults_of_every_hook(lasting, make_origin, hook, name, status):
    """C8."""
    key, response = ask(lasting, make_origin(everything), *scripts_for(name, hook, "fail"))
    if status == 200:
        assert response.body == b"good" and response.complete and response.trailers
    else:
        assert (response and response.status) in (500, None) or not response.complete, response
    lasting.trace.over(key)


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if "deny" in LEGAL[hook].split()])
def test_deny(lasting, make_origin, hook):
    key, response = ask(lasting, make_origin(everything), *scripts_for("b", hook, "deny"))
    assert response.status == 403
    lasting.trace.over(key)


def test_late_denials(lasting, make_origin):
    """In event(), where the hook that paused may deny, and nowhere else."""
    for hook, status in (("request", 403), ("upstream", 403), ("authenticate", 403),
                         ("response", 500), ("request_body", 500)):
        direction = "response" if hook == "response" else "request"
        key, response = ask(lasting, make_origin(everything), f"b.{hook}=to_{direction}; timer 20; pause",
                            "b.event_timer=deny")
        assert response.status == status, (hook, response)
        lasting.trace.over(key)


def test_done_without_a_response_and_a_response_without_done(lasting, make_origin):
    for script in ("done", "respond 200 x; continue", "respond 200 x; pause", "abort; continue",
                   "respond 99 x; done"):
        key, response = ask(lasting, make_origin(everything), f"b.request={script}")
        assert response.status == 500, script
        key, response = ask(lasting, make_origin(everything), f"s.request={script}")
        assert response.status == 200, script


def test_accept(lasting, make_origin):
    """Who is accepted by one filter is not asked for by the next; accepted is who has a name."""
    origin = make_origin(everything)
    basic = b"Proxy-Authorization: Basic dTpw\r\n"
    key, post = request(origin, "a.authenticate=user u; accept", "b.request=text 7", fields=basic)
    with lasting.client() as client:
        assert client.ask(post).status == 200
    lines = lasting.trace.over(key)
    assert "a authenticate basic u" in lines and "b request> text 0 u" in lines
    assert not any(line.startswith("b authenticate") for line in lines)
    key, response = ask(lasting, origin, "a.authenticate=accept")
    assert response.status == 500
    key, response = ask(lasting, origin, "a.authenticate=timer 20; pause",
                        "a.event_timer=user late; resume", "b.request=text 7")
    assert response.status == 200
    lines = lasting.trace.over(key)
    assert "b request> text 0 late" in lines
    assert not any(line.startswith("b authenticate") for line in lines), lines
    key, response = ask(lasting, origin, "a.authenticate=timer 20; pause",
                        "a.event_timer=user late; timer 200 | resume", "b.request=text 7")
    assert response.status == 200
    lines = lasting.trace.over(key)
    assert lines.index("b request") > lines.index("a event_timer> resume 0"), lines


# --- C9: leaving

@pytest.mark.parametrize("hook", [hook for hook in HOOKS if "detach" in LEGAL[hook].split()])
def test_detach(lasting, make_origin, hook):
    """C9: nothing of the filter is called any more but close()."""
    key, response = ask(lasting, make_origin(everything), *scripts_for("b", hook, "detach"))
    assert response.body == b"good" and response.complete and response.trailers
    lines = [line for line in lasting.trace.over(key) if line.startswith("b ")]
    at = next(i for i, line in enumerate(lines) if line.startswith(f"b {hook}"))
    assert lines[at + 1:] == ["b close"], lines


@pytest.mark.parametrize("hook,direction", [("request", "request"), ("upstream", "request"),
                                            ("response", "response"), ("request_body", "request"),
                                            ("response_body", "response")])
@pytest.mark.parametrize("leaves", ["detach", "fail"])
def test_leaving_ends_the_pause(lasting, make_origin, hook, direction, leaves):
    key, response = ask(lasting, make_origin(everything), f"s.{hook}=to_{direction}; timer 30; pause",
                        f"s.event_timer={leaves}")
    assert response.body == b"good" and response.complete
    lasting.trace.over(key)


@pytest.mark.parametrize("leaves", ["detach", "fail"])
@pytest.mark.parametrize("hook,direction", [("request", "request"), ("response", "response")])
def test_leaving_while_a_body_is_collected(lasting, make_origin, hook, direction, leaves):
    """What was collected goes on; the next filter's pause is its own."""
    go_on = threading.Event()

    def slow(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nfour")
            go_on.wait(5)
            connection.send(b"more")
    scripts = [f"s.{hook}=timer 60; buffer", f"s.event_timer={leaves}"]
    other = "b" if hook == "response" else "r"
    if other == "b":
        scripts += ["b.response=to_response; timer 60; pause", "b.event_timer=to_response; resume"]
    key, post = request(make_origin(slow), *scripts, method=b"POST", body=b"x" * 50)
    with lasting.client() as client:
        client.send(post[:-20])
        time.sleep(0.01 if hook == "response" else 0.3)
        client.send(post[-20:])
        time.sleep(0.3 if hook == "response" else 0.05)
        go_on.set()
        answer = client.response(b"POST")
    assert answer.body == b"fourmore" and answer.complete
    lasting.trace.over(key)


def test_leaving_with_debts_is_a_fault(lasting, make_origin):
    for leave in ("detach", "fail"):
        for hook in ("response_body", "request_body"):
            key, response = ask(lasting, make_origin(everything), f"s.{hook}=hold; timer 50",
                                f"s.event_timer={leave}")
            assert response is None or response.status == 500 or not response.complete
            lasting.trace.over(key)


def test_leaving_with_half_an_answer_is_a_fault(lasting, make_origin):
    for leave in ("detach", "fail"):
        key, response = ask(lasting, make_origin(), "s.request=stream 200 half; timer 50",
                            f"s.event_timer={leave}")
        assert not response.complete and response.body == b"half"
        lasting.trace.over(key)
