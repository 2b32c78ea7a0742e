"""All of HTTP/1.1 that a proxy must know: order, trailers, interim answers, Upgrade, strictness."""
import threading
import time

import pytest

import program
from client import Client
from message import chunked
from origin import always, ok


def get(origin, path="/", more=b"", method=b"GET"):
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, origin.url(path).encode(),
                                                     origin.authority, more)


# pipelining

def test_pipelined_requests_are_answered_in_order(connect, make_origin):
    def handler(connection):
        while request := connection.request():
            if request.target == b"/0":
                time.sleep(0.2)
            connection.send(ok(request.target))

    origin = make_origin(handler)
    client = connect()
    client.send(b"".join(get(origin, f"/{number}") for number in range(100)))
    assert [client.response().body for unused in range(100)] \
        == [b"/%d" % number for number in range(100)]


def test_body_between_two_pipelined_requests(connect, make_origin):
    origin = make_origin()
    client = connect()
    client.send(get(origin, "/1"), get(origin, "/2", b"Content-Length: 4\r\n", b"POST"), b"GET ",
                get(origin, "/3"))
    assert [client.response().body for unused in range(3)] == [b"/1", b"/2", b"/3"]
    assert [request.body for request in origin.requests] == [b"", b"GET ", b""]


def slow(connection):
    while connection.request():
        time.sleep(0.3)
        connection.send(ok(b"slow"))


def test_end_behind_a_pipelined_tunnel_that_has_not_begun(connect, make_origin):
    """What came with the end, before CONNECT could be looked at, is followed by it."""
    def behind(connection):
        assert connection.reader.take_rest() == b"early"
        connection.send(b"bye")

    origin, tunnelled = make_origin(slow), make_origin(behind)
    client = connect()
    authority = tunnelled.authority
    client.send(get(origin) + b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nearly" % (authority, authority))
    client.half_close()
    assert client.response().body == b"slow"
    assert client.response(b"CONNECT").status == 200
    assert client.reader.take_rest() == b"bye"


def test_end_in_a_pipelined_body_that_has_not_begun(connect, make_origin):
    origin = make_origin(slow)
    client = connect()
    client.send(get(origin) + get(origin, "/2", b"Content-Length: 4\r\n", b"POST") + b"ab")
    client.half_close()
    assert client.response().body == b"slow"
    assert client.response(b"POST").status == 400


def test_second_pipelined_request_malformed(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        client.send(get(origin), b"BAD\r\n\r\n")
        assert [client.response().status for unused in range(2)] == [200, 400]
        assert client.ended()


# trailers

def test_trailers_travel_both_ways(connect, make_origin):
    origin = make_origin(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"
                                b"\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n"))
    response = connect().ask(get(origin, more=b"TE: trailers\r\nConnection: TE\r\n"
                                 b"Transfer-Encoding: chunked\r\n", method=b"POST"),
                             b"2\r\nup\r\n0\r\nX-Up: a\r\nx-up: b\r\n\r\n")
    assert response.body == b"hello"
    assert response.trailers == [(b"X-Sum", b"1"), (b"X-Two", b"2")]
    assert origin.requests[0].trailers == [(b"X-Up", b"a"), (b"x-up", b"b")]


def test_trailers_that_frame_or_route_are_dropped_or_refused(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(get(origin, more=b"Transfer-Encoding: chunked\r\n", method=b"POST"),
                              b"2\r\nup\r\n0\r\nContent-Length: 999\r\nHost: evil.test\r\n"
                              b"Transfer-Encoding: chunked\r\nX-Good: 1\r\n\r\n")
    if response.status == 200:
        assert origin.requests[0].trailers == [(b"X-Good", b"1")]
    else:
        assert response.status == 400


# 1xx

def test_permission_to_go_on_comes_from_the_origin(connect, make_origin):
    def handler(connection):
        request = connection.request_head()
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.request_body(request)
        connection.send(ok(request.body))

    origin = make_origin(handler)
    client = connect()
    client.send(get(origin, more=b"Expect: 100-continue\r\nContent-Length: 5\r\n", method=b"POST"))
    while b"100 Continue" not in client.reader.received:
        assert client.reader.fill()
    client.send(b"hello")
    response = client.response()
    assert [interim.status for interim in response.interim] == [100]
    assert response.body == b"hello"


def test_refusal_comes_without_waiting_for_the_body(weir, make_origin):
    origin = make_origin(lambda connection: connection.request_head() and connection.send(
        b"HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
    with Client(weir.address) as client:
        response = client.ask(get(origin, more=b"Expect: 100-continue\r\nContent-Length: 5\r\n",
                                  method=b"POST"))
        assert response.status == 417


def test_old_client_gets_no_interim_answer(weir, make_origin):
    origin = make_origin(always(b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n", ok()))
    with Client(weir.address) as client:
        response = client.ask(b"GET %s HTTP/1.0\r\n\r\n" % origin.url().encode())
        assert response.status == 200 and response.interim == []


def test_interim_answers_travel(connect, make_origin):
    origin = make_origin(always(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
                                b"HTTP/1.1 102 Processing\r\n\r\n", ok()))
    client = connect()
    for unused in range(2):
        response = client.ask(get(origin))
        assert [interim.status for interim in response.interim] == [103, 102]
        assert response.interim[0].get(b"link") == b"</a>"
    assert len(origin.connections) == 1


# early answers, full duplex

def test_early_answer_to_a_large_upload(weir, make_origin):
    """The client still sends when the final answer is there; it reads it after all."""
    origin = make_origin(lambda connection: connection.request_head() and connection.send(
        b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"))
    with Client(weir.address) as client:
        client.send(get(origin, more=b"Content-Length: 900000\r\n", method=b"POST"))
        time.sleep(0.2)
        client.send(b"x" * 900000)
        response = client.response()
        assert (response.status, response.body) == (413, b"no")


def test_both_bodies_at_the_same_time(connect, make_origin):
    def handler(connection):
        connection.request_head()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(10):
            while b"up %d" % number not in connection.received:
                assert connection.reader.fill()
            connection.send(chunked(b"down %d" % number, last=False))
        while not connection.received.endswith(b"0\r\n\r\n"):
            assert connection.reader.fill()
        connection.send(b"0\r\n\r\n")

    origin = make_origin(handler)
    client = connect()
    client.send(get(origin, more=b"Transfer-Encoding: chunked\r\n", method=b"POST"))
    assert client.response(body=False).status == 200
    for number in range(10):
        client.send(chunked(b"up %d" % number, last=False))
        while b"down %d" % number not in client.reader.received:
            assert client.reader.fill()
    client.send(b"0\r\n\r\n")
    while not client.reader.received.endswith(b"0\r\n\r\n"):
        assert client.reader.fill()
    client.reader.take(client.reader.available())
    assert client.usable()


# Upgrade

def test_websocket_passes(connect, make_origin):
    def handler(connection):
        request = connection.request()
        assert request.get(b"upgrade") == b"websocket"
        assert b"upgrade" in [item.lower() for item in request.items(b"connection")]
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                        b"Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nfirst")
        connection.send(connection.reader.take(4)[::-1])

    origin = make_origin(handler)
    client = connect()
    response = client.ask(get(origin, more=b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                              b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"))
    assert response.status == 101 and response.get(b"upgrade") == b"websocket"
    client.send(b"ping")
    assert client.reader.take_rest() == b"firstgnip"


def test_refused_upgrade_is_a_plain_answer(connect, make_origin):
    origin = make_origin()
    client = connect()
    for unused in range(2):
        assert client.ask(get(origin, more=b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                              b"Sec-WebSocket-Key: x\r\n")).status == 200


# TRACE, OPTIONS, loops, schemes

def test_max_forwards(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        assert client.ask(get(origin, more=b"Max-Forwards: 0\r\n", method=b"TRACE")).status in (200,
                                                                                             405)
        assert client.ask(get(origin, more=b"Max-Forwards: 0\r\n", method=b"OPTIONS")).status == 200
        assert not origin.connections
        client.ask(get(origin, more=b"Max-Forwards: 3\r\n", method=b"OPTIONS"))
        client.ask(get(origin, more=b"Max-Forwards: 3\r\n"))
    assert [request.get(b"max-forwards") for request in origin.requests] == [b"2", b"3"]


def test_options_of_the_whole_server(connect, make_origin):
    origin = make_origin()
    client = connect()
    client.ask(b"OPTIONS http://%s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.authority)
    assert origin.requests[0].target == b"*"


def test_loops_end(weir, make_origin):
    with Client(weir.address) as client:
        for host in (weir.authority, f"localhost:{weir.address[1]}"):
            response = client.ask(b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n" % host.encode())
            assert response.status == 508
            assert b"proxy_loop_detected" in response.get(b"proxy-status")
    for host in (b"127.0.0.1", b"0.0.0.0", b"[::ffff:127.0.0.1]", b"[::ffff:0:0]", b"a.localhost."):
        with Client(weir.address) as client:
            assert client.connect(b"%s:%d" % (host, weir.address[1])).status == 508
    origin = make_origin()
    with Client(weir.address) as client:
        client.ask(get(origin))
        via = origin.requests[0].get(b"via")
        assert client.ask(get(origin, more=b"Via: 1.1 other, %s\r\n" % via)).status == 508
    assert len(origin.requests) == 1


def test_scheme_that_weir_does_not_do(weir, make_origin):
    origin = make_origin()
    for scheme in (b"ftp", b"ws"):
        with Client(weir.address) as client:
            response = client.ask(b"GET %s://%s/ HTTP/1.1\r\nHost: a\r\n\r\n"
                                  % (scheme, origin.authority))
            assert response.status == 501
    assert not origin.connections


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/1.2", b"HTTP/0.9", b"HTTP/9.9"])
def test_version_that_weir_does_not_do(weir, make_origin, version):
    origin = make_origin()
    with Client(weir.address) as client:
        assert client.ask(b"GET %s %s\r\nHost: a\r\n\r\n"
                          % (origin.url().encode(), version)).status == 505
    assert not origin.connections


# old protocol

def test_old_client_may_keep_its_connection(connect, make_origin):
    origin = make_origin()
    client = connect()
    for unused in range(3):
        response = client.ask(b"GET %s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                              % origin.url("/x").encode())
        assert response.body == b"/x"
        assert b"keep-alive" in [item.lower() for item in response.items(b"connection")]


def test_old_origin_may_keep_its_connection(connect, make_origin):
    origin = make_origin(always(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
                                b"Content-Length: 2\r\n\r\nok"))
    client = connect()
    for unused in range(3):
        assert client.ask(get(origin)).body == b"ok"
    assert len(origin.connections) == 1


# strict parsing

@pytest.mark.parametrize("request_text", [
    b"GET %s HTTP/1.1\nHost: a\n\n", b"GET %s HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: a\r\n X: y\r\n\r\n", b"GET %s HTTP/1.1\r\n Host: a\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", b"GET  %s HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET %s HTTP/1.1 \r\nHost: a\r\n\r\n", b"GET\t%s HTTP/1.1\r\nHost: a\r\n\r\n",
    b"G(T %s HTTP/1.1\r\nHost: a\r\n\r\n", b"GET %s http/1.1\r\nHost: a\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"GET %s HTTP/1.1\r\nHost: a b\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: a\r\nX\x01Y: 1\r\n\r\n", b"GET %s HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"
    b"\r\n0\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    b"POST %s HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
    b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
])
def test_one_way_to_read_a_request_or_none(weir, make_origin, request_text):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(request_text % origin.url().encode(), method=b"GET")
        assert response.status in (400, 501, 505)
        assert client.ended()
    assert not origin.requests


@pytest.mark.parametrize("body", [
    b"5\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhelloX\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n", b"+5\r\nhello\r\n0\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n", b"\r\nhello\r\n0\r\n\r\n", b"5;\n\r\nhello\r\n0\r\n\r\n",
    b"10000000000000005\r\nhello\r\n0\r\n\r\n", b"8000000000000000\r\nhello\r\n0\r\n\r\n",
    b"5_0\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
])
def test_one_way_to_read_chunks_or_none(weir, make_origin, body):
    origin = make_origin(lambda connection: connection.wait_end())
    with Client(weir.address) as client:
        client.send(get(origin, more=b"Transfer-Encoding: chunked\r\n", method=b"POST"), body)
        response = client.response()
        assert response is None or response.status == 400
        assert client.ended()
    for connection in origin.connections:
        assert connection.finished.wait(5)
        assert not connection.received.endswith(b"0\r\n\r\n")


def test_chunk_extensions_are_dropped(connect, make_origin):
    coded = b"5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n"
    origin = make_origin(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + coded))
    response = connect().ask(get(origin, more=b"Transfer-Encoding: chunked\r\n", method=b"POST"),
                             coded)
    assert response.body == b"hello" == origin.requests[0].body


def test_chunk_extensions_are_bounded(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(get(origin, more=b"Transfer-Encoding: chunked\r\n", method=b"POST"),
                              b"1;" + b"a" * 40000 + b"\r\nx\r\n0\r\n\r\n")
        assert response.status == 400


# answers with more than they announce

@pytest.mark.parametrize("pause", [0, 0.1])
@pytest.mark.parametrize("surplus", [b"EXTRA", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"])
def test_surplus_of_an_answer_poisons_nobody(connect, make_origin, surplus, pause):
    def handler(connection):
        connection.request()
        if connection.number:
            connection.send(ok(b"clean"))
            return
        if pause:
            connection.send(ok(b"hello"))
            time.sleep(pause)
            connection.send(surplus)
        else:  # at once, for behind the next request it would be that one's answer
            connection.send(ok(b"hello") + surplus)
        connection.wait_end()

    origin = make_origin(handler)
    client = connect()
    assert client.ask(get(origin)).body == b"hello"
    time.sleep(2 * pause)
    assert client.ask(get(origin)).body == b"clean"
    assert len(origin.connections) == 2


# limits, lingering close

@pytest.mark.parametrize("request_text, status", [
    (b"GET http://127.0.0.1:1/" + b"a" * 20000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    (b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n" + b"X: %s\r\n" % (b"a" * 6000) * 30
     + b"\r\n", 431),
    (b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 128 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900000, 400),
])
def test_answer_is_not_lost_when_much_is_still_sent(weir, request_text, status):
    with Client(weir.address) as client:
        client.send(request_text)
        response = client.response()
        assert response.status == status and response.complete
        assert client.ended() and client.reader.end == "end"


def test_discarding_has_an_end(weir):
    """Behind its last answer weir reads on, so that a reset does not destroy it: 2 s or 1 MiB."""
    head = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n"
    with Client(weir.address) as client:
        client.send(head)
        assert client.response().status == 400
        assert client.ended()
        client.send(b"x" * 500000)
        time.sleep(3)
        with pytest.raises(ConnectionError):
            for unused in range(20):
                client.send(b"x")
                time.sleep(0.05)
    with Client(weir.address) as client:
        client.send(head)
        with pytest.raises(ConnectionError):
            client.send(b"x" * 100000000)


# errors and access

def test_every_error_of_its_own_has_a_proxy_status(weir, make_origin, closed_port):
    origin = make_origin(lambda connection: connection.request())
    expected = [
        (b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\n\r\n" % closed_port, 502,
         b"connection_refused"),
        (b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode(), 502,
         b"connection_terminated"),
        (b"BAD\r\n\r\n", 400, b"http_request_error"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, b"http_request_error"),
        (b"GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 501, b"http_request_error"),
        (b"CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: a\r\n\r\n", 403, b"http_request_denied"),
    ]
    for request_text, status, error in expected:
        with Client(weir.address) as client:
            response = client.ask(request_text)
            assert response.status == status
            assert b"error=" + error in response.get(b"proxy-status").replace(b" ", b"")


# half-closed clients

def test_client_that_ends_its_direction_after_the_request_gets_its_answer(weir, make_origin):
    """Such clients exist (printf ... | nc); whoever wants no answer closes or resets."""
    answered = threading.Event()

    def handler(connection):
        connection.request()
        assert answered.wait(5)
        connection.send(ok(b"late"))

    origin = make_origin(handler)
    with Client(weir.address) as client:
        client.send(get(origin))
        client.half_close()
        time.sleep(0.1)
        answered.set()
        assert client.response().body == b"late"
        assert client.ended()
