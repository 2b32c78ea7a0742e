"""E: bodies and tunnels through filters: every byte once, the end once, framing right, memory bounded."""
import random
import threading
import time

import pytest

import message
from origin import echo, ok
from plugins import compile_plugin
from probe import Probes, configuration, request, tunnel
from program import Weir, release_path
from speaker_h1 import WEBSOCKET_KEY, websocket_accept

CREDIT = 61440
TEXT = bytes(b"abcdefghijklmnopqrstuvwxyz"[i * i % 26] for i in range(200000))


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    probes = Probes(Weir, tmp_path_factory.mktemp("probes"))
    yield probes
    probes.weir.check()
    probes.weir.stop()


@pytest.fixture(scope="module")
def same_length(tmp_path_factory):
    """Filters that do not say that they change how long bodies are."""
    directory = tmp_path_factory.mktemp("probes")
    probes = Probes(Weir, directory, configuration(directory / "trace", use="probe_same_length"))
    yield probes
    probes.weir.check()
    probes.weir.stop()


def ends(lines, name, hook):
    return sum(line.startswith(f"{name} {hook}") and line.endswith(" end") for line in lines)


def send_split(client, text, seed):
    """In random pieces."""
    dice = random.Random(seed)
    while text:
        size = dice.choice((1, 2, 7, 100, 5000, 20000, 70000))
        client.send(text[:size])
        text = text[size:]
        if dice.random() < 0.1:
            time.sleep(0.002)


BOTH = ("request_body", "response_body")
MIXTURES = [
    (), ("a=pass",), ("a=pass", "b=pass", "s=pass"), ("a=upper",), ("a=double", "b=upper"),
    ("a=pass | continue | pass | continue", "b=continue | pass | continue")]


def transformed(body, mixture):
    for each in mixture:
        if "upper" in each:
            body = body.upper()
        if "double" in each:
            body = b"".join(bytes([byte, byte]) for byte in body)
    return body


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [0, 1, 15360, 15361, 200000])
def test_bytes_and_ends(probes, make_origin, mixture, chunked, size):
    """E1, E2: through identity, growth, change; in both directions; the end once."""
    origin = make_origin(echo)
    scripts = [each.replace("=", f".{hook}=", 1) for hook in BOTH for each in mixture]
    body = TEXT[:size]
    key, post = request(origin, *scripts, method=b"POST", body=body, chunked=chunked)
    with probes.client() as client:
        sender = threading.Thread(target=send_split, args=(client, post, size))
        sender.start()
        answer = client.response(b"POST")
        sender.join()
        _, again = request(origin, method=b"POST", body=b"again")
        assert answer.complete and client.ask(again).body == b"again"
    assert origin.requests[0].body == transformed(body, mixture)
    assert answer.body == transformed(transformed(body, mixture), mixture[::-1])
    lines = probes.trace.hooks(key)
    for name in "abs":
        assert ends(lines, name, "response_body") == (1 if size or chunked else 0) or size == 0
        assert ends(lines, name, "request_body") <= 1


@pytest.mark.parametrize("script,expected", [
    ("drop", b""), ("if_end; emit tail; pass | pass", None), ("if_more; take", None),
    ("emit_end early; take", b"early"), ("emit head; continue", None), ("emit_end; take", b"")])
@pytest.mark.parametrize("where", BOTH)
def test_shrinking_and_swallowing(probes, make_origin, script, expected, where):
    """E2: framing is right whatever becomes of the length."""
    origin = make_origin(echo)
    for chunked in (False, True):
        key, post = request(origin, f"a.{where}={script}", method=b"POST", body=b"some body",
                            chunked=chunked)
        with probes.client() as client:
            answer = client.ask(post)
            assert answer.complete, answer
            if expected is not None:
                assert answer.body == expected
            _, again = request(origin, method=b"POST", body=b"again")
            assert client.ask(again).body == b"again"
        probes.trace.over(key)


@pytest.mark.parametrize("where,way", [("request_body", ""), ("response_body", "to_response; ")])
def test_an_end_before_bytes_that_it_paused_on(probes, make_origin, where, way):
    """What waits behind an end that the filter made meanwhile is dropped when it goes on."""
    key, post = request(make_origin(echo), f"a.{where}=timer 20; pause | ",
                        f"a.event_timer={way}emit_end early; resume", method=b"POST", body=b"late")
    with probes.client() as client:
        answer = client.ask(post)
        assert answer.complete and answer.body == b"early"
    probes.trace.over(key)


@pytest.mark.parametrize("method,status", [(b"HEAD", 200), (b"GET", 204), (b"GET", 304)])
@pytest.mark.parametrize("script", [
    "response_body=double", "response=buffer", "response=add 3 X 1", "response=timer 20; pause"])
def test_answers_without_a_body(probes, make_origin, method, status, script):
    """E2: filters neither give HEAD, 204 and 304 a body nor a wrong length."""
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" if status == 200 else
                            b"HTTP/1.1 %d OK\r\n\r\n" % status)
    origin = make_origin(handler)
    for full in ("continue", "emit_many 10; take", "emit_end; take"):
        key, get = request(origin, f"a.{script}", f"a.body_full={full}",
                           "a.event_timer=to_response; resume", method=method)
        _, again = request(origin, method=method)
        with probes.client() as client:
            client.send(get)
            answer = client.response(method)
            assert answer.status == status and answer.complete
            assert not answer.all(b"Content-Length")  # filters might change it: nobody knows
            client.send(again)
            assert client.response(method).status == status
            assert client.usable()
        probes.trace.over(key)


@pytest.mark.parametrize("hook,direction", [("request", "request"), ("response", "response")])
@pytest.mark.parametrize("size", [999, 1000, 1001, 70000])
@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
def test_limits_of_buffering(probes, make_origin, hook, direction, size, truncates, chunked):
    """E3: at the limit, one less, one more; both choices."""
    origin = make_origin(echo)
    limit = "limit 1000; truncates; buffer" if truncates else "limit 1000; buffer"
    key, post = request(origin, f"a.{hook}={limit}", method=b"POST", body=TEXT[:size],
                        chunked=chunked)
    with probes.client() as client:
        sender = threading.Thread(target=send_quietly, args=(client, post))
        sender.start()
        answer = client.response(b"POST")
        sender.join()
    lines = probes.trace.hooks(key)
    shown = [line for line in lines if line.startswith("a body_full")]
    if size <= 1000:
        assert answer.body == TEXT[:size] and shown == [f"a body_full {direction} {size} end"]
    elif truncates:
        assert answer.body == TEXT[:size] and answer.complete
        assert shown == [f"a body_full {direction} 1000 truncated"]
    else:
        assert answer.status == (413 if hook == "request" else 502) and not shown


def send_quietly(client, text):
    try:
        client.send(text)
    except OSError:
        pass


@pytest.mark.parametrize("full,expected", [
    ("continue", b"whole body"), ("emit other; take", b"other"), ("take", b""),
    ("emit_many 100000; take", None), ("set 0 X-Full 1", b"whole body")])
@pytest.mark.parametrize("hook", ["request", "response"])
def test_what_becomes_of_a_whole_body(probes, make_origin, full, expected, hook):
    origin = make_origin(echo)
    key, post = request(origin, f"a.{hook}=buffer", f"a.body_full={full}", method=b"POST",
                        body=b"whole body")
    with probes.client() as client:
        answer = client.ask(post)
        assert answer.complete and answer.status == 200
        if expected is None:
            assert len(answer.body) == 100000
        else:
            assert answer.body == expected
        if hook == "request":
            assert len(origin.requests[0].body) == len(answer.body)
            assert origin.requests[0].get(b"X-Full") == (b"1" if "X-Full" in full else None)


def test_several_filters_want_the_body_whole(probes, make_origin):
    origin = make_origin(echo)
    key, post = request(origin, "a.request=buffer", "b.request=buffer", "s.request=buffer",
                        "a.response=buffer", "s.response=buffer",
                        "a.body_full=emit A; take | emit B; take", method=b"POST", body=b"x")
    with probes.client() as client:
        assert client.ask(post).body == b"B"
    assert origin.requests[0].body == b"A"
    probes.trace.over(key)


@pytest.mark.parametrize("script", ["a.request=buffer", "b.request_body=upper", ""])
def test_expect_100_continue(probes, make_origin, script):
    """E3: the client is told to send what a filter wants to see first."""
    origin = make_origin(echo)
    key, post = request(origin, script or "a.x=", method=b"POST", body=b"abc",
                        fields=b"Expect: 100-continue\r\n")
    with probes.client() as client:
        client.send(post[:-3])
        assert message.read_head(client.reader, message.STATUS_LINE).status == 100
        client.send(post[-3:])
        assert client.response(b"POST").status == 200
    probes.trace.over(key)


def test_expect_100_continue_and_a_refusal(probes, make_origin):
    """The body is not asked for when it is refused."""
    key, post = request(make_origin(echo), "a.request=respond 417 no", method=b"POST", body=b"abc",
                        fields=b"Expect: 100-continue\r\n")
    with probes.client() as client:
        client.send(post[:-3])
        answer = client.response(b"POST")
        assert answer.status == 417 and not answer.interim


@pytest.mark.parametrize("hook,where,name,other", [("request", "request_body", "a", "b"),
                                                   ("response", "response_body", "s", "b")])
def test_a_body_shown_whole_is_shown_to_the_next(probes, make_origin, hook, where, name, other):
    origin = make_origin(echo)
    key, post = request(origin, f"{name}.{hook}=buffer", f"{other}.{where}=upper", method=b"POST",
                        body=b"lower")
    with probes.client() as client:
        assert client.ask(post).body == b"LOWER"
    probes.trace.over(key)


# --- E4: bytes that a filter keeps

@pytest.mark.parametrize("where", BOTH)
def test_bytes_given_back_later(probes, make_origin, where):
    direction = where.split("_")[0]
    key, post = request(make_origin(echo), f"a.{where}=hold; timer 50",
                        f"a.event_timer=to_{direction}; emit later; emit_end; release 9",
                        method=b"POST", body=b"123456789")
    with probes.client() as client:
        answer = client.ask(post)
        assert answer.body == b"later" and answer.complete
    probes.trace.over(key)


@pytest.mark.parametrize("where", BOTH)
def test_what_is_held_holds_back_the_sender(probes, make_origin, where):
    """E4: not a byte more than its credit is taken from the sender, until some is given back."""
    direction = where.split("_")[0]

    def held():
        lines = [line for line in probes.trace.lines(key) if line.startswith(f"a {where}")]
        return sum(int(line.split()[3]) for line in lines)
    key, post = request(make_origin(echo), f"a.{where}=hold", "a.open=timer 700",
                        f"a.event_timer=to_{direction}; release 5000; release 50000; release 70000",
                        method=b"POST", body=TEXT)
    with probes.client() as client:
        sender = threading.Thread(target=send_quietly, args=(client, post))
        sender.start()
        time.sleep(0.5)
        assert held() == CREDIT
        probes.trace.wait(key, lambda lines: held() >= CREDIT + 50000)
        assert held() <= CREDIT + 55000
        client.reset()
        sender.join()
    results = [int(line.split()[-1]) for line in probes.trace.over(key) if "> release" in line]
    assert results[:2] == [0, 0] and results[2] < 0


def test_an_end_that_is_owed_and_not_paid(start_weir, tmp_path, make_origin):
    """E4: the exchange's own limit ends it."""
    probes = Probes(start_weir, tmp_path, configuration(
        tmp_path / "trace", more="timeouts: { exchange_idle: 400ms }\n"))
    for where, hook in (("request_body", "take"), ("response_body", "take"),
                        ("response_body", "hold"), ("request_body", "hold")):
        key, post = request(make_origin(echo), f"a.{where}={hook}", method=b"POST", body=b"123")
        with probes.client() as client:
            answer = client.ask(post)
            assert answer is None or answer.status == 504 or not answer.complete, (where, answer)
        probes.trace.over(key)


# --- lengths that nobody announced

@pytest.mark.parametrize("where", BOTH)
@pytest.mark.parametrize("script", ["double", "drop", "emit x; continue", "emit_end x; take", "upper"])
def test_a_length_that_changes_unannounced(same_length, make_origin, where, script):
    """The message never becomes another one than its head says: a fault, or the same length."""
    origin = make_origin(echo)
    key, post = request(origin, f"b.{where}={script}", method=b"POST", body=b"body of fixed length")
    with same_length.client() as client:
        answer = client.ask(post)
        if script == "upper":
            assert answer.body == b"BODY OF FIXED LENGTH" and answer.framing == "length"
        elif answer is not None and answer.status == 200:
            assert not answer.complete
        else:
            assert answer is None or answer.status == 500, answer
    same_length.trace.over(key)


@pytest.mark.parametrize("name", ["b", "s"])
@pytest.mark.parametrize("where", BOTH)
@pytest.mark.parametrize("script", ["double", "drop", "emit x; continue", "emit_end x; take"])
def test_who_changed_a_length_is_named(same_length, make_origin, where, script, name):
    """It is that filter's fault, and not skipped: what it has put there or taken is no longer known."""
    before = len(same_length.faults())
    key, post = request(make_origin(echo), f"{name}.{where}={script}", "a.request_body=upper",
                        method=b"POST", body=b"body of fixed length")
    with same_length.client() as client:
        answer = client.ask(post)
        assert answer is None or answer.status == 500 or not answer.complete
    same_length.trace.over(key)
    same_length.weir.settle(lambda: len(same_length.faults()) > before, "a line of the log")
    (said,) = same_length.faults()[before:]
    assert (f"filter probe_same_length (plugin test.probe) failed in {where}: "
            "it changed the length of a body without its flag") in said


# --- E7: an answer before the request is over

def test_an_early_answer_while_the_request_is_held_up(probes, make_origin):
    """Full duplex: the answer goes out beside a paused request, and ends the exchange."""
    def early(connection):
        connection.request_head()
        connection.send(ok(b"early"))
        connection.wait_end()
    for script in ("a.request_body=pause", "a.request_body=hold", "a.request_body=take"):
        key, post = request(make_origin(early), script, method=b"POST", body=b"x" * 1000)
        with probes.client() as client:
            assert client.ask(post).body == b"early"
        probes.trace.over(key)


# --- E8: beyond the credit

@pytest.mark.parametrize("where", BOTH)
def test_emitting_beyond_the_credit(probes, make_origin, where):
    """E8: refused, nothing of it taken, and a fault."""
    for name in "bs":
        key, post = request(make_origin(echo), f"{name}.{where}=emit_many 61441; continue",
                            method=b"POST", body=b"123")
        with probes.client() as client:
            answer = client.ask(post)
            if name == "s":
                assert answer.body == b"123" and answer.complete
            else:
                assert answer is None or answer.status == 500 or not answer.complete
        assert any("emit_many -" in line for line in probes.trace.over(key))


@pytest.mark.parametrize("where", BOTH)
def test_all_the_credit_for_every_call(probes, make_origin, where):
    """E8: who emits no more than that for one call need not ask."""
    key, post = request(make_origin(echo), f"a.{where}=emit_many 61440; if_end; emit_end x; take",
                        method=b"POST", body=b"123")
    with probes.client() as client:
        answer = client.ask(post)
    assert not answer or answer.status == 500 or not answer.complete  # the last byte is beyond it
    key, post = request(make_origin(echo), f"a.{where}=emit_many 61440; if_end; emit_end; take",
                        method=b"POST", body=TEXT)
    with probes.client() as client:
        sender = threading.Thread(target=client.send, args=(post,))
        sender.start()
        answer = client.response(b"POST")
        sender.join()
        assert answer.complete and len(answer.body) >= CREDIT
    probes.trace.over(key)


def test_a_streamed_answer_at_the_clients_pace(probes, make_origin):
    """Credit for an answer of its own: asked for its first bytes, and when there is some again."""
    rounds = 30
    more = " | ".join(["credit; emit_many 60000; credit"] * rounds + ["emit_end"])
    key, get = request(make_origin(), "a.request=stream 200 ", f"a.event_credit={more}")
    with probes.client(receive_buffer=4096) as client:
        client.send(get)
        time.sleep(0.3)
        answer = client.response()
    assert answer.complete and len(answer.body) == 60000 * rounds
    probes.trace.over(key)


def test_a_streamed_answer_that_another_filter_fails_on(probes, make_origin):
    """Nobody is told any more that there is credit for it."""
    key, get = request(make_origin(), "b.request=stream 200 x", "b.event_credit=emit_end",
                       "a.response=fail")
    with probes.client() as client:
        assert client.ask(get).status == 500
    probes.trace.over(key)


# --- memory

@pytest.mark.parametrize("hook", ["request", "upstream", "request_body"])
def test_a_gibibyte_under_a_pause(tmp_path, make_origin, hook):
    """C3: weir holds no more than the credit of each hop, however much the client would send. That
    a client has gone which is not read from shows when the pause is over."""
    probes = Probes(lambda *arguments: Weir(*arguments, program=release_path()), tmp_path,
                    plugin=compile_plugin(tmp_path, "probe", None, "-D_GNU_SOURCE", "-pthread"))
    key, post = request(make_origin(), f"b.{hook}=pause_limit 5000; pause", method=b"POST",
                        fields=b"Content-Length: %d\r\n" % (1 << 30))
    try:
        with probes.client() as client:
            client.send(post)
            probes.trace.wait(key, lambda lines: f"b {hook}" in lines or hook == "request_body")
            before = probes.weir.memory()
            sent = client.push(bytes(1 << 20), 1 << 30, still=0.5)
            assert sent < 64 << 20, sent
            assert probes.weir.memory() - before < 1 << 20
            client.reset()
        probes.trace.over(key)
    finally:
        probes.weir.kill()


# --- tunnels

def echo_tunnel(connection):
    while connection.reader.fill():
        connection.send(connection.reader.take(connection.reader.available()))
    try:
        connection.half_close()
    except OSError:
        pass                          # it was reset


@pytest.mark.parametrize("scripts,expected", [
    ((), b"hello"), (("a.tunnel=pass",), b"hello"), (("a.tunnel=upper",), b"HELLO"),
    (("a.tunnel=if_request; double",), b"hheelllloo"), (("a.tunnel=if_response; double",), b"hheelllloo"),
    (("a.tunnel=if_request; timer 50; pause | ", "a.event_timer=resume"), b"hello"),
    (("a.tunnel=if_response; timer 50; pause | ", "a.event_timer=to_response; resume"), b"hello"),
    (("s.tunnel=detach",), b"hello"), (("s.tunnel=fail",), b"hello"),
    (("a.tunnel=if_request; if_more; hold; timer 30",
      "a.event_timer=emit late; release 5"), b"late")])
@pytest.mark.parametrize("eager", [False, True])
def test_tunnels(probes, make_origin, scripts, expected, eager):
    """Both directions, half-closed by the client: everything arrives, and the end."""
    origin = make_origin(echo_tunnel)
    key, head = tunnel(origin, *scripts)
    with probes.client() as client:
        client.send(head + (b"hello" if eager else b""))
        assert client.response(b"CONNECT").status == 200
        if not eager:
            client.send(b"hello")
        if "late" in str(scripts):
            assert client.reader.take(4) == b"late"
        client.half_close()
        assert client.reader.take_rest() == (b"" if "late" in str(scripts) else expected)
        assert client.reader.end == "end"
    lines = probes.trace.over(key)
    assert ends(lines, "a", "tunnel request") == 1 or scripts


@pytest.mark.parametrize("script", ["pass", "hold; timer 30", "timer 30; pause", "continue"])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_client_that_ends_before_the_tunnel_is_open(probes, make_origin, script, name):
    key, head = tunnel(make_origin(echo_tunnel), "a.tunnel=pass", "s.tunnel=pass",
                       f"{name}.tunnel=if_request; {script}" + (" | " if "pause" in script else ""),
                       f"{name}.event_timer=" + ("emit hello; emit_end; release 5 | "
                                                 if "hold" in script else "resume"))
    with probes.client() as client:
        client.send(head + b"hello")
        client.half_close()
        assert client.response(b"CONNECT").status == 200
        assert client.reader.take_rest() == b"hello"
    probes.trace.over(key)


@pytest.mark.parametrize("half", ["client", "server"])
def test_half_closed_tunnels_with_pauses(probes, make_origin, half):
    """An end waits its turn behind bytes that are paused, and the other direction goes on."""
    def server(connection):
        if half == "server":
            connection.send(b"bye")
            connection.half_close()
            assert connection.reader.take_rest() == b"abc"
        else:
            assert connection.reader.take_rest() == b"abc"
            connection.send(b"bye")
    direction = "request" if half == "client" else "response"
    key, head = tunnel(make_origin(server), f"a.tunnel=if_{direction}; timer 100; pause | if_{direction}; timer 100; pause | ",
                       f"a.event_timer=to_{direction}; resume")
    with probes.client() as client:
        client.send(head)
        assert client.response(b"CONNECT").status == 200
        if half == "client":
            client.send(b"abc")
            client.half_close()
            assert client.reader.take_rest() == b"bye"
        else:
            assert client.reader.take(3) == b"bye"
            assert not client.reader.fill()
            client.send(b"abc")
            client.half_close()
    probes.trace.over(key)


def test_tunnel_abort_and_deny_later(probes, make_origin):
    for script in ("abort", "fail", "respond 200 x", "deny"):
        key, head = tunnel(make_origin(echo_tunnel), f"a.tunnel={script}")
        with probes.client() as client:
            client.send(head)
            assert client.response(b"CONNECT").status == 200
            client.send(b"x")
            client.reader.take_rest()
            assert client.reader.end == "reset", script
        probes.trace.over(key)


@pytest.mark.parametrize("hook", ["request", "response"])
def test_buffering_a_tunnel_waits_for_nothing(probes, make_origin, hook):
    key, head = tunnel(make_origin(echo_tunnel), f"a.{hook}=buffer")
    with probes.client() as client:
        client.send(head)
        assert client.response(b"CONNECT").status == 200
        client.send(b"hi")
        assert client.reader.take(2) == b"hi"
    probes.trace.over(key)


def test_upgrades(probes, make_origin):
    """What is sent ahead of 101 reaches tunnel hooks only, whole."""
    def server(connection):
        key = connection.request_head().get(b"sec-websocket-key")
        time.sleep(0.1)
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                        b"Upgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n"
                        % websocket_accept(key))
        echo_tunnel(connection)
    for script in ("a.x=", "a.request=buffer", "a.request_body=upper"):
        key, get = request(make_origin(server), script,
                           fields=b"Connection: upgrade\r\nUpgrade: websocket\r\n"
                                  b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                                  % WEBSOCKET_KEY[1])
        with probes.client() as client:
            client.send(get + b"ahead")
            assert message.read_head(client.reader, message.STATUS_LINE).status == 101
            assert client.reader.take(5) == b"ahead"
            client.half_close()
            client.reader.take_rest()
        lines = probes.trace.over(key)
        assert not any("request_body" in line for line in lines), lines
