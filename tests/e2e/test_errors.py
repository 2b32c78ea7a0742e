"""What weir answers itself: clear, short, with nothing of the request in it, and bounded."""
import time

import pytest

from client import Client
from origin import ok


def absolute(port, host=b"127.0.0.1", more=b""):
    return b"GET http://%s:%d/secret-path HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n" \
        % (host, port, host, port, more)


def check_own_answer(response, status):
    assert response.status == status and response.complete, response
    assert 0 < len(response.body) <= 500, "the body of weir's own answer is short plain text"
    assert response.get(b"content-type").startswith(b"text/plain")
    assert b"secret" not in response.body, "an error must not echo the request"


def proxy_status(response, error):
    value = response.get(b"proxy-status")
    assert value is not None, "weir's own answer says why in Proxy-Status"
    assert b"error=" + error in value.replace(b" ", b""), value


def test_refused_connection(weir, closed_port):
    with Client(weir.address) as client:
        for unused in range(2):
            response = client.ask(absolute(closed_port))
            check_own_answer(response, 502)
            proxy_status(response, b"connection_refused")
        assert client.usable(), "the client's connection is not at fault"


def test_refused_connection_for_an_upload(weir, closed_port):
    """The body that nobody takes must not be read as the next request."""
    hidden = b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\r\n"
    with Client(weir.address) as client:
        response = client.ask(b"POST http://127.0.0.1:%d/secret HTTP/1.1\r\nHost: a\r\n"
                              b"Content-Length: %d\r\n\r\n%s" % (closed_port, len(hidden), hidden))
        check_own_answer(response, 502)
        assert client.ended() if b"close" in response.items(b"connection") else client.usable()


def test_refused_connect(weir, closed_port):
    with Client(weir.address) as client:
        response = client.connect(b"127.0.0.1:%d" % closed_port)
        check_own_answer(response, 502)
        proxy_status(response, b"connection_refused")


def test_name_that_does_not_resolve(weir):
    for ask in (lambda client: client.ask(absolute(80, b"no-such-host.invalid")),
                lambda client: client.connect(b"no-such-host.invalid:443")):
        with Client(weir.address) as client:
            client.socket.settimeout(30)  # a machine whose resolver is silent
            response = ask(client)
            check_own_answer(response, 502)
            proxy_status(response, b"dns_error")


def test_refused_once_does_not_mean_refused_for_ever(connect, make_origin, closed_port):
    client = connect()
    assert client.ask(absolute(closed_port)).status == 502
    assert client.ask(absolute(make_origin().port)).status == 200


MALFORMED = {
    "no request": b"hello\r\n\r\n",
    "one word too many": b"GET http://127.0.0.1:%d/ x HTTP/1.1\r\nHost: a\r\n\r\n",
    "blank before the colon": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost : a\r\n\r\n",
    "no colon": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",
    "empty name": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n",
    "NUL in a value": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
    "no Host": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n",
    "two counts": b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                  b"Content-Length: 2\r\n\r\nab",
    "count and coding": b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "count that is none": b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5x"
                          b"\r\n\r\nhello",
    "count below zero": b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\nContent-Length: -1"
                        b"\r\n\r\nhello",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_request(weir, make_origin, what):
    origin = make_origin()
    request = MALFORMED[what]
    with Client(weir.address) as client:
        response = client.ask(request % origin.port if b"%d" in request else request)
        check_own_answer(response, 400)
        assert b"close" in response.items(b"connection")
        assert client.ended()
    assert not origin.connections


@pytest.mark.parametrize("version", [b"", b" HTTP/1.x", b" HTTP/2.0", b" HTTP/1.10", b" FTP/1.1"])
def test_version_that_is_none_or_another(weir, make_origin, version):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"GET %s%s\r\nHost: a\r\n\r\n" % (origin.url().encode(), version))
        assert response.status in (400, 505) and response.complete
        assert client.ended()
    assert not origin.connections


def test_broken_chunk_of_a_request(weir, make_origin):
    origin = make_origin(lambda connection: connection.wait_end())
    with Client(weir.address) as client:
        client.send(b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"5\r\nhello\r\nxyz\r\n" % origin.url().encode())
        response = client.response(b"POST")
        assert response is None or response.status == 400
        assert client.ended()
    if origin.connections:
        assert origin.connections[0].finished.wait(5)
        assert b"0\r\n\r\n" not in origin.connections[0].received


def test_origin_form_says_that_this_is_a_proxy(weir):
    for target in (b"/", b"/some/secret?query"):
        with Client(weir.address) as client:
            response = client.ask(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % target)
            check_own_answer(response, 400)
            assert b"proxy" in response.body.lower()


def test_schemes_that_are_not_spoken(weir):
    for target in (b"ftp://127.0.0.1/", b"gopher://127.0.0.1/", b"xyz://127.0.0.1:80/"):
        with Client(weir.address) as client:
            response = client.ask(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % target)
            assert response.status in (400, 501)


# limits

def filled(length, before, after):
    return before + b"a" * (length - len(before) - len(after)) + after


def test_request_line_up_to_8_kib(weir, make_origin):
    origin = make_origin()
    start = b"GET %s" % origin.url("/secret").encode()
    with Client(weir.address) as client:
        response = client.ask(filled(8192, start, b" HTTP/1.1\r\n") + b"Host: a\r\n\r\n")
        assert response.status == 200
    with Client(weir.address) as client:
        response = client.ask(filled(8400, start, b" HTTP/1.1\r\n") + b"Host: a\r\n\r\n")
        check_own_answer(response, 414)
        assert client.ended()
    assert len(origin.requests) == 1


def test_request_line_without_an_end(weir):
    """Refused when the limit is reached, not when the client has had enough."""
    with Client(weir.address) as client:
        client.send(b"GET http://127.0.0.1/" + b"a" * 9000)
        assert client.response().status == 414
        assert client.ended()


def section(length):
    """Field lines of that many bytes in all, in few and long fields."""
    lines = b"Host: a\r\n"
    number = 0
    while length - len(lines) > 8000:
        number += 1
        lines += filled(6000, b"X-%d: " % number, b"\r\n")
    return lines + filled(length - len(lines), b"X-Last: ", b"\r\n")


def test_header_section_up_to_64_kib(weir, make_origin):
    origin = make_origin()
    start = b"GET %s HTTP/1.1\r\n" % origin.url().encode()
    with Client(weir.address) as client:
        response = client.ask(start + section(65000) + b"\r\n")
        assert response.status == 200
    assert len(origin.requests[0].raw_head) >= 65000
    with Client(weir.address) as client:
        response = client.ask(start + section(66000) + b"\r\n")
        check_own_answer(response, 431)
        assert client.ended()
    assert len(origin.requests) == 1


def test_header_section_without_an_end(weir, closed_port):
    with Client(weir.address) as client:
        client.send(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n" % closed_port + section(80000))
        assert client.response().status == 431
        assert client.ended()


def test_header_section_of_an_answer_is_limited_too(weir, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n", section(length) + b"Connection: close\r\n"
                        b"Content-Length: 2\r\n\r\nok")
        connection.wait_end()

    length = 60000
    origin = make_origin(handler)
    with Client(weir.address) as client:
        assert client.ask(absolute(origin.port)).status == 200
    length = 1000000
    with Client(weir.address) as client:
        check_own_answer(client.ask(absolute(origin.port)), 502)


def test_errors_do_not_pile_up(weir, closed_port):
    """Two hundred bad requests leave neither descriptors nor a slower proxy behind."""
    before = weir.descriptors()
    for number in range(200):
        with Client(weir.address) as client:
            client.send(b"BAD\r\n\r\n" if number % 2 else absolute(closed_port))
            assert client.response().status in (400, 502)
    weir.settle(lambda: weir.descriptors() <= before, "the descriptors of 200 errors")


def test_empty_lines_before_a_request_are_forgiven(connect, make_origin):
    """RFC 9112 2.2 asks for it, for at least one."""
    origin = make_origin()
    assert connect().ask(b"\r\n", absolute(origin.port), method=b"GET").status == 200
    client = connect()
    for piece in (b"\r", b"\n\r", b"\n"):
        client.send(piece)
        time.sleep(0.05)
    assert client.ask(absolute(origin.port)).status == 200


@pytest.mark.parametrize("start", [b"\n", b"\r", b"\r\n\n", b"\r\r\n", b"\n\r\n"])
def test_half_a_line_end_before_a_request_is_not(weir, make_origin, start):
    origin = make_origin()
    with Client(weir.address) as client:
        assert client.ask(start, absolute(origin.port), method=b"GET").status == 400
        assert client.ended()
    assert not origin.connections
