"""Requests of plugins' own: fetch() of weir.asynchronous/0, by tests/plugins/fetch.c."""
import threading
import time
import urllib.parse

import pytest

from certificates import Authority
from client_chosen import Client
from origin import always, ok
from plugins import built
from secure_origins import CountingOrigin
from test_reload import Running, waiting

DNS_ERROR, REFUSED, TERMINATED, NONSENSE = -20, -21, -24, -25
TIMEOUT, PROHIBITED, DENIED, LOOP = -26, -27, -28, -37
TLS_CERTIFICATE = -45
INVALID, TRUNCATED, STOPPING, TOO_MUCH, NOT_FOUND = -1, -7, -9, -12, -14

PLUGIN = f"plugins: [ {built('fetch')} ]\n"
TEXT = PLUGIN + "filters: [ { use: fetch } ]\n"


@pytest.fixture
def start(start_weir, tmp_path):
    def start_with(text="", plugins=TEXT, **options):
        return Running(start_weir, tmp_path, plugins + text, **{"workers": 1, **options})
    return start_with


@pytest.fixture
def running(start):
    return start()


def request(target, url, **wishes):
    fields = "".join(f"x-fetch-{name}: {value}\r\n" for name, value in wishes.items())
    return f"GET {target} HTTP/1.1\r\nHost: a\r\nx-fetch: {url}\r\n{fields}\r\n".encode()


def ask(running, url, **wishes):
    """What has come of each fetch."""
    with Client(running.weir.address) as client:
        answer = client.ask(request("http://a.invalid/", url, **wishes))
        assert answer.status == 200, answer.body
        return answer.body.decode().splitlines()


def settled(running):
    """All of it is over and nothing of it left."""
    running.weir.settle(lambda: running.admin.metric("weir_subrequests_open") == 0, "their end")
    running.weir.check()
    assert not any("inside of a call" in line or "what event" in line
                   for line in running.weir.lines)


# --- answers

def test_an_answer(running, make_origin):
    origin = make_origin()
    assert ask(running, origin.url("/p?q=1")) == ["status 200, 6 bytes: /p?q=1"]
    seen = origin.requests[0]
    assert (seen.method, seen.target) == (b"GET", b"/p?q=1")
    assert seen.items(b"host") == [f"127.0.0.1:{origin.port}".encode()]
    assert seen.items(b"x-own") == [b"yes"] and seen.items(b"via")
    assert running.admin.metric("weir_subrequests_total") == 1
    assert running.admin.metric("weir_subrequests_failed_total") == 0
    assert running.admin.metric("weir_exchanges_total") == 1
    settled(running)


@pytest.mark.parametrize("trusted", [True, False])
def test_https(start, tmp_path, trusted):
    pytest.importorskip("h2", reason="needs Debian's python3-h2")
    authority = Authority(tmp_path)
    origin = CountingOrigin(authority.issue("fetched"))
    running = start(f"server_tls: {{ ca_files: {authority.certificate} }}\n" if trusted else "")
    said = "status 200, 11 bytes: HTTP/2 1 /p" if trusted else f"result {TLS_CERTIFICATE}"
    assert ask(running, f"https://localhost:{origin.port}/p") == [said]
    settled(running)
    origin.stop()


def test_the_request_goes_on_or_does_not(running, make_origin):
    judge, origin = make_origin(), make_origin()
    forbids = make_origin(always(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"))
    with Client(running.weir.address) as client:
        answer = client.ask(request(origin.url("/wanted"), judge.url("/may"), then="pass"))
        assert (answer.status, answer.body) == (200, b"/wanted")
        answer = client.ask(request(origin.url("/wanted"), forbids.url("/may"), then="pass"))
        assert answer.status == 403
    assert len(origin.requests) == 1
    settled(running)


def test_connections_are_kept(running, make_origin):
    origin = make_origin()
    for unused in range(3):
        assert ask(running, origin.url()) == ["status 200, 1 bytes: /"]
    assert len(origin.connections) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD", "DELETE"])
def test_methods(running, make_origin, method):
    origin = make_origin()
    assert ask(running, origin.url(), method=method) == [
        f"status 200, {0 if method == 'HEAD' else 1} bytes: {'' if method == 'HEAD' else '/'}"]
    assert origin.requests[0].method == method.encode() and origin.requests[0].body == b""


@pytest.mark.parametrize("size", [1, 70_000, 1 << 20])
def test_a_body_is_sent(running, make_origin, size):
    origin = make_origin()
    assert ask(running, origin.url(), method="POST", send=size) == ["status 200, 1 bytes: /"]
    assert origin.requests[0].body == bytes(size)
    assert origin.requests[0].framing == "length"
    settled(running)


def test_limits_of_clients_are_not_theirs(start, make_origin):
    origin = make_origin()
    running = start("limits: { request_body_max: 10B, requests_per_connection: 1 }\n")
    assert ask(running, origin.url(), method="POST", send=100) == ["status 200, 1 bytes: /"]


@pytest.mark.parametrize("most,kept", [(10, 10), (0, 65536), (200_000, 200_000)])
def test_a_long_answer_is_cut(running, make_origin, most, kept):
    origin = make_origin(always(ok(bytes([65]) * 5_000_000)))
    lines = ask(running, origin.url(), most=most)
    assert lines[0].startswith(f"status 200, {kept} bytes of more: AAAAAAAAAA")
    settled(running)


def test_an_answer_that_fits_just_so_is_whole(running, make_origin):
    origin = make_origin(always(ok(b"A" * 10)))
    assert ask(running, origin.url(), most=10) == ["status 200, 10 bytes: AAAAAAAAAA"]


def test_chunks_and_trailers(running, make_origin):
    origin = make_origin(always(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
                                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"))
    assert ask(running, origin.url()) == ["status 200, 5 bytes: abcde"]


# --- failures

def cut(connection):
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


def nonsense(connection):
    connection.request()
    connection.send(b"what?\r\n\r\n")


def silent(connection):
    connection.request()


@pytest.mark.parametrize("handler,result", [(cut, TRUNCATED), (nonsense, NONSENSE),
                                            (silent, TERMINATED)])
def test_what_is_no_answer(running, make_origin, handler, result):
    assert ask(running, make_origin(handler).url(), method="POST") == [f"result {result}"]
    assert running.admin.metric("weir_subrequests_failed_total") == 1
    assert running.admin.metric("weir_exchanges_failed_total") == 0
    settled(running)


def test_nobody_there(running, closed_port):
    assert ask(running, f"http://127.0.0.1:{closed_port}/") == [f"result {REFUSED}"]
    assert ask(running, "http://nobody.invalid/") == [f"result {DNS_ERROR}"]
    settled(running)


def test_time_is_over(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=b""))
    begin = time.monotonic()
    assert ask(running, origin.url(), timeout=200) == [f"result {TIMEOUT}"]
    assert 0.2 <= time.monotonic() - begin < 2
    go_on.set()
    settled(running)


def test_an_answer_that_takes_too_long_is_none(running, make_origin):
    def drip(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        try:
            for unused in range(100):
                connection.send(b".")
                time.sleep(0.05)
        except OSError:
            pass
    assert ask(running, make_origin(drip).url(), timeout=300) == [f"result {TIMEOUT}"]
    settled(running)


@pytest.mark.parametrize("url,result", [
    ("https://", INVALID), ("ftp://a.invalid/", INVALID), ("/path", INVALID),
    ("http://", INVALID), ("http://user@a.invalid/", INVALID), ("http://a.invalid:0/", INVALID),
    ("http://a.invalid?q", INVALID), ("http://a.invalid/#part", INVALID),
    ("http://a.invalid/a b", INVALID)])
def test_bad_urls(running, url, result):
    assert ask(running, url) == [f"refused {result}"]


def test_other_mistakes(running, make_origin):
    origin = make_origin()
    assert ask(running, origin.url(), method="CONNECT") == [f"refused {INVALID}"]
    assert ask(running, origin.url(), method="G,T") == [f"refused {INVALID}"]
    assert ask(running, origin.url(), upstream="nobody") == [f"refused {NOT_FOUND}"]
    assert ask(running, origin.url(), send=(1 << 20) + 1) == [f"refused {TOO_MUCH}"]
    assert not origin.requests
    assert running.admin.metric("weir_subrequests_total") == 0


BAD_NAMES = ["", "%0d", "%0a", "%00", "a%0d%0ab", "a%00b", "a b", "a:", ":path", "a%7f", "%e9", "%20a",
             "a%09", "(a)"]
BAD_VALUES = ["%0d", "%0a", "%00", "a%0d%0aInjected: 1", "a%0aInjected: 1", "a%0dInjected: 1",
              "a%00b", "a%0d%0a%0d%0aGET / HTTP/1.1", "%01", "a%7f"]
OF_THE_HOST = ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
               "Transfer-Encoding", "Upgrade", "Content-Length", "Host", "Expect", "cOnNeCtIoN"]


@pytest.mark.parametrize("name,value", [
    *((name, "1") for name in BAD_NAMES), *(("X-Bad", value) for value in BAD_VALUES),
    *((name, "1") for name in OF_THE_HOST)])
def test_bad_fields(running, make_origin, name, value):
    """Refused at the call, and nobody is even connected to."""
    origin = make_origin()
    assert ask(running, origin.url(), name=name, value=value) == [f"refused {INVALID}"]
    assert running.admin.metric("weir_subrequests_total") == 0
    assert not origin.requests and not origin.connections
    assert ask(running, origin.url()) == ["status 200, 1 bytes: /"]
    settled(running)


@pytest.mark.parametrize("value", ["", "a", "%e9", "a%09b", "a%20b", "%ff"])
def test_good_fields(running, make_origin, value):
    origin = make_origin()
    assert ask(running, origin.url(), name="X-Good", value=value) == ["status 200, 1 bytes: /"]
    assert origin.requests[0].get(b"x-good") == urllib.parse.unquote_to_bytes(value)


# --- where they may go

def test_prohibited_addresses(start, make_origin):
    origin = make_origin()
    running = start("deny_addresses: [ loopback ]\n"
                    f"upstream: {{ judge: {{ servers: [ '127.0.0.1:{origin.port}' ] }} }}\n"
                    "routes: [ { when: { host: never.invalid }, to: judge } ]\n")
    assert ask(running, origin.url()) == [f"result {PROHIBITED}"]
    assert ask(running, f"http://localhost:{origin.port}/") == [f"result {PROHIBITED}"]
    assert not origin.requests
    assert ask(running, "/may", upstream="judge") == ["status 200, 4 bytes: /may"]
    assert origin.requests[0].items(b"host") == [b"judge"]
    assert ask(running, "http://other.example/may", upstream="judge") == [
        "status 200, 4 bytes: /may"]
    assert origin.requests[1].items(b"host") == [b"other.example"]


def test_filters_judge_addresses_for_them_too(running, make_origin):
    origin = make_origin(host="127.0.0.66")
    assert ask(running, origin.url()) == [f"result {DENIED}"]
    assert not origin.requests


def test_routes_are_not_for_them(start, make_origin):
    origin, routed = make_origin(), make_origin()
    running = start(f"upstream: {{ app: {{ servers: [ '127.0.0.1:{routed.port}' ] }} }}\n"
                    "routes: [ { to: app } ]\n")
    assert ask(running, origin.url("/own")) == ["status 200, 4 bytes: /own"]
    assert not routed.requests


def test_to_weir_itself(running):
    host, port = running.weir.address
    assert ask(running, f"http://{host}:{port}/") == [f"result {LOOP}"]
    settled(running)


def test_back_to_weir_by_another_way(running, make_origin):
    """What weir cannot know before comes to an end by its Via."""
    def forward(connection):
        seen = connection.request_head()
        with Client(running.weir.address) as client:
            via = b"".join(b"Via: %s\r\n" % value for value in seen.items(b"via"))
            again = client.ask(b"GET http://a.invalid/ HTTP/1.1\r\nHost: a\r\n%s\r\n" % via)
        connection.send(b"HTTP/1.1 %d Loop\r\nContent-Length: 0\r\n\r\n" % again.status)
    assert ask(running, make_origin(forward).url()) == ["status 508, 0 bytes: "]


# --- many

def test_a_hundred_clients(running, make_origin):
    origin = make_origin()
    clients = [Client(running.weir.address) for unused in range(100)]
    for number, client in enumerate(clients):
        client.send(request("http://a.invalid/", origin.url(f"/{number:03}")))
    for number, client in enumerate(clients):
        assert client.response().body == f"status 200, 4 bytes: /{number:03}\n".encode()
        client.close()
    settled(running)


def test_no_more_than_so_many_of_one_owner(running, make_origin):
    lines = ask(running, make_origin().url(), count=40)
    assert lines == [f"refused {TOO_MUCH}"] * 8 + ["status 200, 1 bytes: /"] * 32
    settled(running)


# --- their end before the answer

def test_cancelled(running, make_origin):
    origin = make_origin()
    assert ask(running, origin.url(), then="cancel") == ["cancel 0"]
    settled(running)


def test_the_owner_ends_first(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=b""))
    assert ask(running, origin.url(), then="wait") == []
    settled(running)
    go_on.set()


def test_the_client_goes_away(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=b""))
    with Client(running.weir.address) as client:
        client.send(request("http://a.invalid/", origin.url()))
        assert asked.wait(5)
        client.reset()
    settled(running)
    assert running.admin.metric("weir_exchanges_open") == 0
    go_on.set()


def test_a_reload_in_between(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    with Client(running.weir.address) as client:
        client.send(request("http://a.invalid/", origin.url()))
        assert asked.wait(5)
        running.reload(TEXT)
        running.reload(TEXT)
        go_on.set()
        assert client.response().body == b"status 200, 4 bytes: late\n"
    settled(running)


def test_a_request_in_progress_is_finished_when_weir_stops(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    with Client(running.weir.address) as client:
        client.send(request("http://a.invalid/", origin.url()))
        assert asked.wait(5)
        running.weir.terminate()
        time.sleep(0.2)
        go_on.set()
        assert client.response().body == b"status 200, 4 bytes: late\n"
    running.weir.finish(5)


@pytest.mark.parametrize("target", ["silent", "unreachable"])
def test_it_does_not_hold_up_the_end(start, make_origin, target):
    """Whether it waits for an answer or for a connection."""
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=b""))
    running = start("drain_timeout: 500ms\n")
    url = origin.url() if target == "silent" else "http://192.0.2.1/"
    with Client(running.weir.address) as client:
        client.send(request("http://a.invalid/", url))
        assert asked.wait(5 if target == "silent" else 0.5) == (target == "silent")
        begin = time.monotonic()
        running.weir.terminate()
        running.weir.finish(5)
        assert time.monotonic() - begin < 2
    go_on.set()


# --- of workers

def worker(origin, path="/"):
    return PLUGIN + f"filters: [ {{ use: fetch, with: {{ url: '{origin.url(path)}' }} }} ]\n"


def said(weir, line):
    return lambda: line in weir.lines


def test_a_worker_asks_again_and_again(start, make_origin):
    origin = make_origin()
    running = start(plugins=worker(origin, "/of-worker"))
    running.weir.settle(lambda: len(origin.requests) > 5, "some requests")
    running.weir.wait(said(running.weir, "fetch: worker: status 200, 10 bytes: /of-worker"),
                      "an answer", 5)
    begin = time.monotonic()
    running.weir.terminate()
    running.weir.finish(5)
    assert time.monotonic() - begin < 2


def test_an_instance_that_is_not_in_force_any_more_ends(start, make_origin):
    """Although it asks for something new in each answer."""
    origin, other = make_origin(), make_origin()
    running = start(plugins=worker(origin))
    running.weir.settle(lambda: len(origin.requests) > 5, "some requests")
    running.reload(worker(other))
    running.weir.wait(said(running.weir, "fetch: worker_free"), "the end of the instance", 5)
    before = len(origin.requests)
    running.weir.settle(lambda: len(other.requests) > 5, "requests of the new one")
    assert len(origin.requests) == before
    running.weir.check()


def test_an_instance_that_has_work_done_ends_too(start, make_origin):
    """Although it wants more in each event."""
    running = start(plugins=PLUGIN + "filters: [ { use: fetch, with: { work: true } } ]\n")
    running.weir.wait(said(running.weir, "fetch: worker: work is done"), "some work", 5)
    running.reload(worker(make_origin()))
    running.weir.wait(said(running.weir, "fetch: worker_free"), "the end of the instance", 5)
    assert f"fetch: refused {STOPPING}" in running.weir.lines
    running.weir.check()


def test_a_worker_that_waits_does_not_hold_up_the_end(start, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=b""))
    running = start(plugins=worker(origin))
    assert asked.wait(5)
    begin = time.monotonic()
    running.weir.terminate()
    running.weir.finish(5)
    assert time.monotonic() - begin < 2
    assert f"fetch: worker: result {STOPPING}" in running.weir.lines
    assert f"fetch: refused {STOPPING}" in running.weir.lines
    go_on.set()
