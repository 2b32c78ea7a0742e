"""B: filters are told of every exchange once, whatever becomes of it, in the order of the contract."""
import time

import pytest

from client_chosen import Client
from origin import ok
from plugins import built
from probe import Probes, configuration, request


@pytest.fixture
def probes(start_weir, tmp_path):
    return Probes(start_weir, tmp_path)


def calls(lines, name):
    return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{name} ")]


def test_order_of_one_exchange(probes, make_origin):
    """B1, B6: request hooks run first to last, response hooks last to first, each once."""
    origin = make_origin()
    key, get = request(origin, method=b"POST", body=b"body")
    with probes.client() as client:
        assert client.ask(get).body == b"/"
    lines = probes.trace.hooks(key)
    assert lines == [f"{name} open" for name in "abs"] + \
        [f"{name} authenticate  " for name in "abs"] + \
        [f"{name} {hook}" for hook in ("request", "route", "address 127.0.0.1", "upstream",
                                  "request_body request 4 end") for name in "abs"] + \
        [f"{name} {hook}" for hook in ("response 200 server", "response_body response 1 end")
         for name in "sba"] + \
        [f"{name} log ok" for name in "abs"] + [f"{name} close" for name in "sba"], lines


@pytest.mark.parametrize("arguments", [(), ("--check-plugins",)])
def test_states_are_zeroed_aligned_and_distinct(start_weir, tmp_path, make_origin, arguments):
    """B2: over all hooks and both chains, of exchanges one after the other and at once."""
    uses = "[ { use: small_state }, { use: large_state }, { use: small_state }, { use: small_state } ]"
    file = tmp_path / "weir.yaml"
    file.write_text(f"workers: 1\nlisten: [ {{ address: 127.0.0.1:0 }} ]\nplugins: [ {built('states')} ]\n"
                    f"filters: {uses}\nroutes: [ {{ to: direct, filters: {uses} }} ]\n")
    weir = start_weir("-c", str(file), *arguments)
    origin = make_origin(trailing)
    unused, post = request(origin, method=b"POST", body=b"123", chunked=True)
    post = post.replace(b"0\r\n\r\n", b"0\r\nX-Sum: 2\r\n\r\n")
    with Client(weir.address) as one, Client(weir.address) as two:
        for _ in range(3):
            one.send(post)
            two.send(post)
            assert one.response().body == b"good" and two.response().body == b"good"

    def closed(size, hooks):
        return sum(f"states: {size} bytes, hooks {hooks:x}" in line for line in weir.lines)
    weir.wait(lambda: closed(33, 0xfff) == 36 and closed(5001, 0xfff) == 12, "the states", 5)


@pytest.mark.parametrize("hook", ["authenticate", "request", "route", "upstream", "response",
                                  "request_body", "response_body", "body_full", "trailers"])
def test_the_client_leaves_during_a_pause(probes, make_origin, hook):
    """B1: the end of a paused exchange is noticed, and told once."""
    origin = make_origin(trailing)
    scripts = [f"b.{hook}=pause"]
    if hook == "body_full":
        scripts += ["b.request=buffer"]
    key, post = request(origin, *scripts, method=b"POST", body=b"x" * 100, chunked=True)
    with probes.client() as client:
        client.send(post)
        probes.trace.wait(key, lambda lines: any(line.startswith(f"b {hook}") for line in lines))
        client.reset()
    probes.trace.over(key)


def trailing(connection):
    while connection.request():
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"4\r\ngood\r\n0\r\nX-Sum: 1\r\n\r\n")


def test_a_request_and_a_reset_at_once(probes, make_origin):
    """B1: whoever was opened is closed; whoever was not is neither asked for the log."""
    key, get = request(make_origin())
    for _ in range(5):
        with probes.weir.frozen():
            client = probes.client()
            client.send(get)
            client.reset()
    time.sleep(0.2)
    probes.weir.check()
    lines = probes.trace.lines(key)
    assert lines.count("a open") == lines.count("a close")


@pytest.mark.parametrize("hook", ["request", "upstream", "response", "response_body"])
def test_the_server_leaves_during_a_pause(probes, make_origin, hook):
    """B1: an answer that broke off under a pause is never shown as whole."""
    def handler(connection):
        if hook == "upstream":
            connection.close()
        elif connection.request_head():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" +
                            (b"12345" if hook == "response_body" else b""))
            time.sleep(0.1)
            connection.reset()
    origin = make_origin(handler)
    key, get = request(origin, f"b.{hook}=timer 500; to_{where(hook)}; timer 500; pause",
                       f"b.event_timer=to_{where(hook)}; resume")
    with probes.client() as client:
        response = client.ask(get)
        assert response is None or response.status == 502 or not response.complete, response
    probes.trace.over(key)


def where(hook):
    return "response" if hook.startswith("response") else "request"


def test_the_servers_end_under_a_paused_head_is_a_502(probes, make_origin):
    """The head waits at a filter and nothing of it is out: the client gets an answer."""
    def handler(connection):
        if connection.request_head():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
            time.sleep(0.1)
            connection.reset()
    key, get = request(make_origin(handler), "b.response=pause")
    with probes.client() as client:
        assert client.ask(get).status == 502
    probes.trace.over(key)


def test_a_collected_answer_that_breaks_off_is_a_502(probes, make_origin):
    def handler(connection):
        if connection.request_head():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            time.sleep(0.1)
            connection.reset()
    key, get = request(make_origin(handler), "b.response=buffer")
    with probes.client() as client:
        assert client.ask(get).status == 502
    probes.trace.over(key)


@pytest.mark.parametrize("hook", ["open", "authenticate", "request", "route", "upstream",
                                  "response", "request_body", "response_body", "trailers"])
def test_own_reply_in_every_hook(probes, make_origin, hook):
    """B5: the others see the reply as theirs, its maker does not."""
    origin = make_origin(trailing)
    key, post = request(origin, f"b.{hook}=respond 418 short", method=b"POST", body=b"1234",
                        chunked=True)
    with probes.client() as client:
        answer = client.ask(post)
        lines = probes.trace.hooks(key)
        late = hook in ("response_body",)
        if answer is not None and answer.status == 418:
            assert answer.body == b"short" and answer.get(b"X-Answer") == b"b"
            assert "a response 418 probe" in lines
            assert not any(line.startswith("b response 418") for line in lines)
        else:
            assert late or hook == "trailers", (answer, lines)


def test_a_reply_shows_its_bytes_only_to_those_after_its_maker(probes, make_origin):
    """Those nearer to the server saw the server's answer; the reply never passes them."""
    origin = make_origin()
    key, get = request(origin, "b.response=respond 418 short")
    with probes.client() as client:
        assert client.ask(get).body == b"short"
    lines = probes.trace.hooks(key)
    assert "a response_body response 5 end" in lines
    assert not any(line.startswith(("s response_body", "b response_body")) for line in lines), lines


def test_cores_own_answers_pass_all(probes, closed_port):
    """B5."""
    key, get = request(b"http://127.0.0.1:%d/" % closed_port)
    with probes.client() as client:
        assert client.ask(get).status == 502
    lines = probes.trace.hooks(key)
    for name in "abs":
        assert f"{name} response 502 weir" in lines and any(
            line.startswith(f"{name} upstream_error") for line in lines), lines


@pytest.mark.http1("what is malformed in HTTP/2 ends at the codec: RFC 9113 8.1.1")
def test_a_malformed_request_is_opened_and_closed(probes):
    with probes.client() as client:
        client.send(b"GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Key: bad\r\nContent-Length: x\r\n\r\n")
        assert client.response().status == 400
    lines = probes.trace.wait("-", lambda lines: lines.count("a close") >= 1)
    assert "a response 400 weir" in lines


@pytest.mark.parametrize("answers", [("respond 418 mine", ""), ("respond 418 mine", "respond 419 x"),
                                     ("deny", "respond 419 x"), ("respond 418 mine", "deny"),
                                     ("respond 418 mine", "abort"), ("", "respond 418 mine")])
def test_open_of_every_filter_whatever_one_answers(probes, make_origin, answers):
    """B1: open() is called of all, the first answer counts, and nobody is blamed for it."""
    key, get = request(make_origin(), *(f"{name}.open={answer}"
                                        for name, answer in zip("ab", answers) if answer))
    with probes.client() as client:
        assert client.ask(get).status == (403 if answers[0] == "deny" else 418)
    lines = probes.trace.hooks(key)
    assert [line for line in lines if line.endswith(" open")] == ["a open", "b open", "s open"]
    assert not probes.faults(), probes.faults()


def test_interim_heads(probes, make_origin):
    """B6: 103 is shown, last filter first; fields may be changed; a fault there is a fault."""
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", ok())
    origin = make_origin(handler)
    key, get = request(origin, "b.interim=set 4 X-Seen yes")
    with probes.client() as client:
        response = client.ask(get)
        assert [(one.status, one.get(b"X-Seen")) for one in response.interim] == [(103, b"yes")]
        assert [line for line in probes.trace.hooks(key) if "interim" in line] == [
            "s interim 103", "b interim 103", "a interim 103"]
    for answer, status in (("fail", 500), ("answer 4711", 500)):
        key, get = request(origin, f"b.interim={answer}")
        with probes.client() as client:
            assert client.ask(get).status == status
        probes.trace.over(key)
    key, get = request(origin, "s.interim=fail")
    with probes.client() as client:
        assert client.ask(get).status == 200


def test_upstream_once_per_attempt(probes, make_origin):
    """B6: a repeat on another connection is another attempt; request() is once."""
    def handler(connection):
        if connection.number == 0:
            connection.request()
            connection.send(ok())
            connection.request()
            return
        while connection.request():
            connection.send(ok(b"second"))
    origin = make_origin(handler)
    _, first = request(origin)
    key, get = request(origin)
    with probes.client() as client:
        assert client.ask(first).status == 200
        assert client.ask(get).body == b"second"
    lines = probes.trace.hooks(key)
    assert calls(lines, "a").count("upstream") == 2 and calls(lines, "a").count("request") == 1
    assert any(line.startswith("a upstream_error") and line.endswith(" 1") for line in lines), lines


@pytest.mark.parametrize("script,status,attempts", [("forbid", 502, 1), ("respond 418 x", 418, 1),
                                                    ("fail", 500, 1), ("", 200, 2)])
def test_a_repeat_can_be_forbidden(probes, make_origin, script, status, attempts):
    """C10."""
    origin = make_origin(dies_when_reused)
    _, first = request(origin)
    key, get = request(origin, f"a.upstream_error={script}")
    with probes.client() as client:
        assert client.ask(first).status == 200
        assert client.ask(get).status == status
    lines = probes.trace.hooks(key)
    assert calls(lines, "a").count("upstream") == attempts
    if script == "forbid":
        assert any(line.startswith("s upstream_error") for line in lines), lines


def dies_when_reused(connection):
    connection.request()
    connection.send(ok())
    if connection.number == 0:
        connection.request()
    else:
        connection.wait_end()


def test_a_repeat_can_be_sent_elsewhere(probes, make_origin):
    """C10."""
    origin, other = make_origin(dies_when_reused), make_origin()
    _, first = request(origin)
    key, get = request(origin, f"a.upstream_error=retarget {other.authority.decode()}")
    with probes.client() as client:
        assert client.ask(first).status == 200
        assert client.ask(get).body == b"/"
    assert len(other.requests) == 1
    probes.trace.over(key)


def test_what_reached_nobody_can_be_sent_elsewhere(probes, make_origin, closed_port):
    other = make_origin()
    key, get = request(other, f"a.upstream_error=retarget {other.authority.decode()}")
    get = get.replace(other.authority, b"127.0.0.1:%d" % closed_port, 1)
    with probes.client() as client:
        assert client.ask(get).body == b"/"
    assert calls(probes.trace.hooks(key), "a").count("upstream_error -21 0") == 1


def test_a_repeat_cannot_be_caused(probes, make_origin, closed_port):
    """C10: what has been processed is not sent again, whatever a filter says."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 nonsense\r\n\r\n")
    other = make_origin()
    key, post = request(make_origin(handler), method=b"POST", body=b"1",
                        *[f"a.upstream_error=retarget {other.authority.decode()}"])
    with probes.client() as client:
        assert client.ask(post).status == 502
    assert not other.requests
    probes.trace.over(key)


@pytest.mark.parametrize("hook", ["request", "response", "response_body", "upstream"])
def test_weir_stops_during_a_pause(probes, make_origin, hook):
    """A drain waits for it; the second signal does not."""
    key, get = request(make_origin(), f"b.{hook}=pause")
    with probes.client() as client:
        client.send(get)
        probes.trace.wait(key, lambda lines: any(line.startswith(f"b {hook}") for line in lines))
        probes.weir.terminate()
        time.sleep(0.2)
        assert probes.weir.process.poll() is None
        probes.weir.terminate()
        probes.weir.finish()
    probes.trace.over(key)


def test_a_drain_lets_a_pause_end(probes, make_origin):
    key, get = request(make_origin(), "b.request=timer 500; pause", "b.event_timer=resume")
    with probes.client() as client:
        client.send(get)
        probes.trace.wait(key, lambda lines: "b request" in lines)
        probes.weir.terminate()
        assert client.response().status == 200
    probes.weir.finish()
    probes.trace.over(key)
    assert probes.trace.lines("-")[-1].startswith("a free") or any(
        "free" in line for line in probes.trace.lines("-"))


def test_an_instance_is_freed_after_its_last_close(probes, make_origin):
    """B3, and H1 as far as exchanges go: a paused one ends on the instance that it began with."""
    key, get = request(make_origin(), "b.request=timer 600; pause", "b.event_timer=resume")
    with probes.client() as client:
        client.send(get)
        probes.trace.wait(key, lambda lines: "b request" in lines)
        probes.write(configuration(probes.trace.file, chain=(("n", "fail", ()),)))
        probes.weir.reload()
        assert not any(" free" in line for line in probes.trace.lines("-"))
        assert client.response().status == 200
    probes.trace.over(key)
    text = probes.trace.wait("-", lambda lines: sum(" free" in line for line in lines) == 3)
    assert all(f"{name} worker_free" in text for name in "abs")


def test_signals_and_pipelines(probes, make_origin):
    """Pipelined requests: each of its own, in order, also when the first one pauses."""
    origin = make_origin()
    first, one = request(origin, "b.request=timer 200; pause", "b.event_timer=resume", path="/1")
    second, two = request(origin, "b.response=to_response; timer 100; pause",
                          "b.event_timer=resume", path="/2")
    third, three = request(origin, "a.request=respond 418 own", path="/3")
    with probes.client() as client:
        client.send(one + two + three)
        assert client.response().body == b"/1"
        assert client.response().body == b"/2"
        assert client.response().body == b"own"
    for key in (first, second, third):
        probes.trace.over(key)
