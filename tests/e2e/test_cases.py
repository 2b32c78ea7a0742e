"""Messages that proxies got wrong before, by subject, with the section that says what is right.

What other files here test as a rule is tested there; this is the collection of odd ones.
"""
import re
import resource
import threading
import time

import pytest

from client import Client
from message import chunked
from origin import always, ok

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: b.test\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def request(origin, fields=b"", body=b"", method=b"POST", version=b"1.1", path="/case"):
    return b"%s %s HTTP/%s\r\nHost: %s\r\n%s\r\n%s" % (method, origin.url(path).encode(), version,
                                                      origin.authority, fields, body)


def get(origin, fields=b"", **options):
    return request(origin, fields, method=b"GET", **options)


def by_name(table):
    return pytest.mark.parametrize("case", table.values(), ids=table.keys())


@pytest.fixture
def refuse(weir, make_origin):
    """Sends a request that must be refused: an answer of its own with one of these statuses, the
    end of the connection, and at the server nothing that looks like a whole message."""
    def check(text, statuses):
        origin = make_origin(lambda connection: connection.wait_end())
        with Client(weir.address) as client:
            try:
                client.send(text(origin))
            except ConnectionError:
                pass  # it is long, and weir has seen enough
            response = client.response(re.match(rb"[A-Z]*", text(origin)).group())
            assert response.status in statuses and response.complete, response
            assert b"close" in response.items(b"connection")
            assert client.ended()
        for connection in origin.connections:
            assert connection.finished.wait(5)
            assert not connection.received.endswith(b"0\r\n\r\n"), "completed for the server"
            assert b"hidden" not in connection.received, "read as another request"
    return check


@pytest.fixture
def take(connect, make_origin):
    """Sends a request that is odd and right: the server gets that body, and one request."""
    def check(text, body=b"hello"):
        origin = make_origin()
        client = connect()
        assert client.ask(text(origin)).status == 200
        assert client.usable(), "there was more than one answer to it"
        (received,) = origin.requests
        assert received.complete and received.body == body
        return received
    return check


# where a request ends: RFC 9112 6.1, 6.2, 6.3

TWO_WAYS_TO_END = {
    "count, then coding": (b"Content-Length: 43\r\n" + CHUNKED, b"0\r\n\r\n" + HIDDEN),
    "coding, then count": (CHUNKED + b"Content-Length: 43\r\n", b"0\r\n\r\n" + HIDDEN),
    "count of none, and chunks": (b"Content-Length: 0\r\n" + CHUNKED, chunked(HIDDEN)),
    "coding with an empty element, and count": (b"Transfer-Encoding: chunked,\r\n"
                                                b"Content-Length: 3\r\n", chunked(b"hello")),
    "unknown coding, and count": (b"Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
                                  b"hello"),
    "two counts in one field": (b"Content-Length: 5, 6\r\n", b"hello!"),
    "the second count behind a blank": (b"Content-Length: 5\r\nContent-Length : 50\r\n", b"hello"),
    "count that wraps to five": (b"Content-Length: 18446744073709551621\r\n", b"hello"),
    "count with letters": (b"Content-Length: 5abc\r\n", b"hello"),
    "folded count": (b"Content-Length:\r\n 5\r\n", b"hello"),
}


@by_name(TWO_WAYS_TO_END)
def test_request_with_two_ends(refuse, case):
    refuse(lambda origin: request(origin, *case), (400, 501))


CODINGS = {
    "chunked before another": (b"Transfer-Encoding: chunked, gzip\r\n", b"1.1"),
    "another before chunked": (b"Transfer-Encoding: gzip, chunked\r\n", b"1.1"),
    "one that is none": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"1.1"),
    "HTTP/1.0 knows none": (CHUNKED + b"Connection: keep-alive\r\n", b"1.0"),
}


@by_name(CODINGS)
def test_coding_that_says_nothing_clear(refuse, case):
    fields, version = case
    refuse(lambda origin: request(origin, fields, b"0\r\n\r\n" + HIDDEN, version=version),
           (400, 501))


@pytest.mark.parametrize("value", [b"ChUnKeD", b"chunked\t", b" \tchunked \t"])
def test_coding_in_any_case_and_between_blanks(take, value):
    take(lambda origin: request(origin, b"Transfer-Encoding:" + value + b"\r\n", chunked(b"hello")))


def test_same_count_twice_is_one_or_none(connect, make_origin):
    """RFC 9112 6.3 rule 5 leaves the choice; whoever accepts it sends one."""
    origin = make_origin()
    response = connect().ask(request(origin, b"Content-Length: 5\r\n" * 2, b"hello"))
    if response.status == 200:
        assert origin.requests[0].all(b"content-length") == [b"5"]
        assert origin.requests[0].body == b"hello"
    else:
        assert response.status == 400 and not origin.requests


def test_head_with_a_body_hides_nothing(connect, make_origin):
    """RFC 9112 6: the framing of a request does not depend on its method."""
    origin = make_origin()
    client = connect()
    counted = b"Content-Length: %d\r\n" % len(HIDDEN)
    client.send(request(origin, counted, HIDDEN, b"HEAD", path="/1"), get(origin, path="/2"))
    assert client.response(b"HEAD").status == 200
    assert client.response().body == b"/2"
    assert [(received.method, received.target) for received in origin.requests] \
        == [(b"HEAD", b"/1"), (b"GET", b"/2")]
    assert origin.requests[0].body == HIDDEN


def test_body_of_a_refused_request_is_not_the_next_request(weir, make_origin):
    """RFC 9112 9.3: weir answers without having read the body; it must not read it as another."""
    origin = make_origin()
    hidden = get(origin, path="/hidden")
    with Client(weir.address) as client:
        client.send(b"POST ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(hidden), hidden), get(origin, path="/next"))
        assert client.response().status == 501
        following = client.response()
        assert following is None or following.body == b"/next"
    assert b"/hidden" not in [received.target for received in origin.requests]


# chunks: RFC 9112 7.1

BROKEN_CHUNKS = {
    "letters behind the size": b"5junk\r\nhello\r\n0\r\n\r\n",
    "minus": b"-0\r\nhello\r\n0\r\n\r\n",
    "underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "tab before the size": b"\t5\r\nhello\r\n0\r\n\r\n",
    "extension without a size": b";a=b\r\nhello\r\n0\r\n\r\n",
    "LF behind an extension": b"5;a\nhello\r\n0\r\n\r\n",
    "CR within an extension": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "NUL within an extension": b"5;a\0b\r\nhello\r\n0\r\n\r\n",
    "no line end behind the data": b"5\r\nhelloXX0\r\n\r\n",
    "more data than announced": b"3\r\nhello\r\n0\r\n\r\n",
    "no line end behind the last chunk": b"5\r\nhello\r\n0\r\nXX" + HIDDEN,
    "trailer without a colon": b"5\r\nhello\r\n0\r\nno colon here\r\n\r\n",
    "trailer with a blank before its colon": b"5\r\nhello\r\n0\r\nX-A : 1\r\n\r\n",
    "an extension longer than a head": b"1;" + b"e" * 70000 + b"\r\nx\r\n0\r\n\r\n",
    "long extensions before every byte": (b"1;" + b"e" * 4000 + b"\r\nx\r\n") * 200 + b"0\r\n\r\n",
}


@by_name(BROKEN_CHUNKS)
def test_chunks_that_are_none(refuse, case):
    refuse(lambda origin: request(origin, CHUNKED, case), (400, 413))


def test_extension_with_a_quoted_string(take):
    received = take(lambda origin: request(origin, CHUNKED,
                                           b"5;n=\"v;w\"\r\nhello\r\n0;m\r\n\r\n"))
    assert received.framing == "chunked"


def test_trailers_never_become_fields(weir, make_origin):
    """RFC 9110 6.5.1: what frames, routes or authenticates is not taken from trailers."""
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(request(origin, CHUNKED,
                                      b"5\r\nhello\r\n0\r\nContent-Length: 999\r\n"
                                      b"Transfer-Encoding: chunked\r\nHost: evil.test\r\n"
                                      b"Authorization: Basic eDp5\r\nProxy-Authorization: x\r\n"
                                      b"Cookie: a=b\r\nX-Good: 1\r\n\r\n"))
    if response.status != 200:
        assert response.status == 400 and not origin.requests
        return
    (received,) = origin.requests
    assert received.body == b"hello" and received.complete
    for bad in (b"999", b"evil.test", b"Basic", b"roxy-", b"ookie"):
        assert bad not in origin.connections[0].received, bad


# fields: RFC 9112 5, RFC 9110 5

BAD_FIELDS = {
    "tab before the colon": b"X-A\t: 1\r\n", "empty name": b": 1\r\n", "no colon": b"X-A\r\n",
    "separator in the name": b"X(A): 1\r\n", "control in the name": b"X\x01A: 1\r\n",
    "Latin-1 in the name": b"X\xe9: 1\r\n", "folded value": b"X-A: 1\r\n 2\r\n",
    "value folded with a tab": b"X-A: 1\r\n\t2\r\n", "bare CR in the value": b"X-A: a\rb\r\n",
    "bare CR before the line end": b"X-A: a\r\r\n", "NUL in the value": b"X-A: a\0b\r\n",
    "bare LF hides a field": b"X-A: a\nX-Hidden: 1\r\n", "delete in the value": b"X-A: a\x7fb\r\n",
}


@by_name(BAD_FIELDS)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_field_that_is_none(refuse, case, first):
    def text(origin):
        host = b"Host: %s\r\n" % origin.authority
        return b"GET %s HTTP/1.1\r\n%s\r\n" % (origin.url().encode(),
                                               case + host if first else host + case)
    refuse(text, (400,))


# Host: RFC 9112 3.2, RFC 9110 7.2

NO_HOST = {
    "none": b"", "two": b"Host: %s\r\nHost: other.test\r\n", "the same twice": b"Host: %s\r\n" * 2,
}


@by_name(NO_HOST)
def test_host_is_there_once(weir, make_origin, case):
    origin = make_origin()
    fields = case.replace(b"%s", origin.authority)
    with Client(weir.address) as client:
        response = client.ask(b"GET %s HTTP/1.1\r\n%s\r\n" % (origin.url().encode(), fields))
        assert response.status == 400
    assert not origin.connections


ODD_HOSTS = {
    "list": b"a.test, b.test", "blank inside": b"a. test", "user": b"user@a.test",
    "path": b"a.test/x", "port that is none": b"a.test:8x", "empty": b"",
    "scheme": b"http://a.test",
}


@by_name(ODD_HOSTS)
def test_host_that_is_none_is_refused_or_replaced(weir, make_origin, case):
    """The target names the server, so the field may be ignored; it never reaches anybody."""
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                              % (origin.url().encode(), case))
    if response.status == 200:
        assert origin.requests[0].all(b"host") == [origin.authority]
    else:
        assert response.status == 400 and not origin.connections


def test_old_client_needs_no_host_and_its_server_gets_one(connect, make_origin):
    origin = make_origin()
    assert connect().ask(b"GET %s HTTP/1.0\r\n\r\n" % origin.url().encode()).status == 200
    assert origin.requests[0].all(b"host") == [origin.authority]


# Expect: RFC 9110 10.1.1

def expecting(origin, value=b"100-continue", version=b"1.1"):
    return request(origin, b"Expect: %s\r\nContent-Length: 5\r\n" % value, version=version)


@pytest.mark.parametrize("status", [b"417 Expectation Failed", b"403 Forbidden",
                                    b"401 Unauthorized"])
def test_refusal_of_an_expectation_does_not_wait_for_the_body(weir, make_origin, status):
    origin = make_origin(lambda connection: connection.request_head() and connection.send(
        b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno" % status))
    with Client(weir.address) as client:
        begin = time.monotonic()
        response = client.ask(expecting(origin))
        assert time.monotonic() - begin < 0.9, "it came when weir had lost patience"
        assert response.start == b"HTTP/1.1 " + status and response.body == b"no"
        assert response.interim == []


def test_server_that_ignores_an_expectation_gets_the_body(connect, make_origin):
    """The client waits for what the server does not say: weir says it, after a while."""
    origin = make_origin()
    client = connect()
    client.send(expecting(origin))
    while b"100 Continue" not in client.reader.received:
        assert client.reader.fill()
    client.send(b"hello")
    response = client.response(b"POST")
    assert response.status == 200 and [interim.status for interim in response.interim] == [100]
    assert origin.requests[0].body == b"hello"


def test_client_that_goes_on_without_permission(connect, make_origin):
    origin = make_origin()
    client = connect()
    client.send(expecting(origin))
    time.sleep(0.1)
    client.send(b"hello")
    response = client.response(b"POST")
    assert response.status == 200 and response.interim == []
    assert origin.requests[0].body == b"hello"


def test_old_client_is_never_told_to_go_on(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        client.send(expecting(origin, version=b"1.0"))
        assert client.reader.quiet(1.3), "an HTTP/1.0 client knows no interim answers"
        client.send(b"hello")
        response = client.response(b"POST")
        assert response.status == 200 and response.interim == []
    assert origin.requests[0].body == b"hello"


def test_expectation_that_weir_does_not_know(connect, make_origin):
    origin = make_origin()
    response = connect().ask(expecting(origin, b"moon") + b"hello")
    if response.status == 200:
        assert origin.requests[0].body == b"hello"
        assert origin.requests[0].get(b"expect") == b"moon"
    else:
        assert response.status == 417


# interim answers: RFC 9110 15.2, RFC 8297

def test_unknown_interim_answers_are_interim_answers(connect, make_origin):
    origin = make_origin(always(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                                b"HTTP/1.1 102 Processing\r\n\r\n"
                                b"HTTP/1.1 199 Odd\r\nX-Odd: 1\r\n\r\n", ok()))
    client = connect()
    for unused in range(2):
        response = client.ask(get(origin))
        assert [interim.status for interim in response.interim] == [103, 102, 199]
        assert response.get(b"link") is None and response.get(b"x-odd") is None
        assert response.body == b"ok"


@pytest.mark.parametrize("framing", [b"Content-Length: 5\r\n", CHUNKED])
def test_interim_answer_has_no_body_whatever_it_says(connect, make_origin, framing):
    """RFC 9112 6.3 rule 1. What frames it must not reach a client that believes it."""
    origin = make_origin(always(b"HTTP/1.1 103 Early Hints\r\n" + framing + b"\r\n", ok()))
    response = connect().ask(get(origin))
    if response.status == 200:
        assert response.body == b"ok"
        for interim in response.interim:
            assert not interim.all(b"content-length") and not interim.all(b"transfer-encoding")
    else:
        assert response.status == 502


def test_interim_answers_are_bounded(weir, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 10000, ok())
        connection.wait_end()

    origin = make_origin(handler)
    before = weir.memory()
    with Client(weir.address) as client:
        response = client.ask(get(origin))
        assert response.status == 502 and len(response.interim) < 1000
    assert weir.memory() - before < 8 * 1024 * 1024


def test_switch_of_protocols_that_nobody_asked_for(weir, make_origin):
    """RFC 9110 15.2.2: only to what the request's Upgrade names."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                        b"Connection: Upgrade\r\n\r\nbytes")
        connection.wait_end()

    with Client(weir.address) as client:
        assert client.ask(get(make_origin(handler))).status == 502


# answers: RFC 9112 6.3, RFC 9110 15

ODD_ANSWERS = {
    "two counts": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    "count and chunks": b"Content-Length: 2\r\n" + CHUNKED + b"\r\n" + chunked(b"hello"),
    "folded field": b"X-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok",
    "NUL in a field": b"X-A: a\0b\r\nContent-Length: 2\r\n\r\nok",
    "bare LF": b"X-A: a\nX-B: 1\r\nContent-Length: 2\r\n\r\nok",
    "blank before a colon": b"Content-Length : 2\r\n\r\nok",
    "coding that is not chunked": b"Transfer-Encoding: gzip\r\n\r\nok",
}


@by_name(ODD_ANSWERS)
def test_answer_with_two_readings_is_none(weir, make_origin, case):
    """Nothing of it goes on, and the connection that it came on is not used again."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nX-From: server\r\n" + case)
        connection.wait_end()

    origin = make_origin(handler)
    with Client(weir.address) as client:
        for number in range(2):
            response = client.ask(get(origin))
            assert response.status == 502 and response.complete
            assert response.get(b"x-from") is None
    assert len(origin.connections) == 2


@pytest.mark.parametrize("method, body", [(b"GET", b""), (b"POST", b"hello")])
def test_misdirected_request_is_the_clients_to_repeat(connect, make_origin, method, body):
    """RFC 9110 15.5.20: at most one more try, on another connection; here there is no other."""
    origin = make_origin(always(b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 2\r\n\r\nno"))
    fields = b"Content-Length: %d\r\n" % len(body) if body else b""
    response = connect().ask(request(origin, fields, body, method))
    assert response.start == b"HTTP/1.1 421 Misdirected Request" and response.body == b"no"
    assert len(origin.requests) <= (2 if method == b"GET" else 1)


# targets: RFC 9112 3.2, RFC 3986

def test_fragment_is_kept_dropped_or_refused(weir, make_origin):
    """No target has one; none is made up, and none is lost in the middle of something else."""
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(get(origin, path="/a?b#fragment"))
    if response.status == 200:
        assert origin.requests[0].target in (b"/a?b#fragment", b"/a?b")
    else:
        assert response.status == 400 and not origin.requests


def test_empty_port_is_the_standard_one(weir):
    """RFC 3986 3.2.3, 6.2.3. Whether somebody listens on port 80 here is not weir's business."""
    with Client(weir.address) as client:
        response = client.ask(b"GET http://127.0.0.1:/ HTTP/1.1\r\nHost: 127.0.0.1:\r\n\r\n")
        assert response.complete and response.status != 400


@pytest.mark.parametrize("authority", [b"::1:80", b"[::1", b"[::1]80", b"[::g]:80",
                                       b"[127.0.0.1]:80", b"[fe80::1%25lo]:80"])
def test_address_that_is_none(weir, authority):
    for text in (b"CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n"):
        with Client(weir.address) as client:
            response = client.ask(text % authority)
            assert response.status in (400, 502) and response.complete


def test_label_longer_than_a_name_may_have(weir):
    """RFC 1035 2.3.4: no such name; weir says so and nothing else happens."""
    host = b"a" * 70 + b".example.test"
    for text in (b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n",
                 b"CONNECT %s:443 HTTP/1.1\r\nHost: %s\r\n\r\n"):
        with Client(weir.address) as client:
            response = client.ask(text % (host, host))
            assert response.status in (400, 502) and response.complete


def test_one_name_that_is_looked_up_stops_nobody(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as slow, Client(weir.address) as client:
        slow.send(b"GET http://no-such-host.invalid/ HTTP/1.1\r\nHost: a\r\n\r\n")
        begin = time.monotonic()
        assert client.ask(get(origin)).status == 200
        assert time.monotonic() - begin < 1
        slow.socket.settimeout(30)  # a machine whose resolver is silent
        assert slow.response().status == 502


def test_tunnel_by_name_reaches_whichever_address_listens(connect, make_origin):
    """RFC 8305: localhost may have ::1 first, and here only 127.0.0.1 listens."""
    origin = make_origin(lambda connection: connection.send(b"hi"))
    client = connect()
    assert client.connect(b"localhost:%d" % origin.port).status == 200
    assert client.reader.take_rest() == b"hi"


# tunnels: RFC 9110 9.3.6

def test_framing_of_a_connect_request_says_nothing(weir, make_origin):
    """It has no body; the bytes behind its head are the tunnel's, all of them, or it is refused."""
    origin = make_origin(lambda connection: connection.wait_end())
    for fields in (b"Content-Length: 3\r\n", CHUNKED):
        with Client(weir.address) as client:
            response = client.ask(b"CONNECT %s HTTP/1.1\r\nHost: a\r\n%s\r\nabcdef"
                                  % (origin.authority, fields))
            client.half_close()
            if response.status == 200:
                connection = origin.connections[-1]
                assert connection.finished.wait(5)
                assert connection.received == b"abcdef"
            else:
                assert response.status == 400 and not origin.connections


def test_tunnel_to_weir_itself_goes_nowhere(weir):
    """RFC 9110 7.6.3: no loop, whichever name of it the client uses."""
    for authority in (weir.authority.encode(), b"localhost:%d" % weir.address[1]):
        with Client(weir.address) as client:
            assert client.connect(authority).status == 508


def test_options_counts_its_hops(connect, make_origin):
    origin = make_origin()
    assert connect().ask(request(origin, b"Max-Forwards: 1\r\n", method=b"OPTIONS")).status == 200
    assert origin.requests[0].get(b"max-forwards") == b"0"


# descriptors

def test_out_of_descriptors(start_weir, make_origin):
    """No busy loop, nothing that runs is hurt, and afterwards everybody is served."""
    weir = start_weir("-l", "127.0.0.1:0", "-w", "1")
    release = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbe")
        assert release.wait(8)
        connection.send(b"en")

    origin = make_origin(handler)
    with Client(weir.address) as running:
        running.send(get(origin))
        response = running.response(body=False)
        limits = resource.prlimit(weir.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(weir.pid, resource.RLIMIT_NOFILE, (weir.descriptors() + 4, limits[1]))
        others = [Client(weir.address) for unused in range(40)]
        before = cpu_seconds(weir.pid)
        time.sleep(1)
        assert cpu_seconds(weir.pid) - before < 0.4, "it spins while it cannot accept"
        release.set()
        assert response.status == 200 and running.reader.take(4) == b"been"
        resource.prlimit(weir.pid, resource.RLIMIT_NOFILE, limits)
        for other in others:
            other.close()
    with Client(weir.address) as client:
        assert client.ask(get(make_origin())).status == 200


def cpu_seconds(pid):
    columns = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(columns[11]) + int(columns[12])) / 100
