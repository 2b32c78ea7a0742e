"""Where the bytes of a message are cut makes no difference: every position, and every byte alone."""
import time

import pytest

from message import chunked
from origin import always, ok

CUT_SECONDS = 0.002  # long enough for the first part to be read alone


def in_two(send, data, position):
    if position:
        send(data[:position])
        time.sleep(CUT_SECONDS)
    send(data[position:])


def one_by_one(send, data):
    for position in range(len(data)):
        send(data[position:position + 1])
        time.sleep(0.0005)


def request_of(origin, framing):
    start = b"POST %s HTTP/1.1\r\nHost: %s\r\nX-Case:  Kept \r\n" \
            % (origin.url("/a?b").encode(), origin.authority)
    if framing == "length":
        return start + b"Content-Length: 11\r\n\r\nhello world"
    return start + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"hello", b" world")


def response_of(framing):
    start = b"HTTP/1.1 203 Cut Up\r\nX-Case:  Kept \r\n"
    if framing == "length":
        return start + b"Content-Length: 11\r\n\r\nhello world"
    return start + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"hello", b" world")


def check_request(request, framing):
    assert request.start == b"POST /a?b HTTP/1.1"
    assert request.get(b"X-Case") == b"Kept"
    assert (request.framing, request.body, request.complete) == (framing, b"hello world", True)


def check_response(response):
    assert response.start == b"HTTP/1.1 203 Cut Up"
    assert response.get(b"X-Case") == b"Kept"
    assert (response.body, response.complete) == (b"hello world", True)


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_request_cut_at_every_position(connect, make_origin, framing):
    origin = make_origin(always(ok()))
    client, whole = connect(), request_of(origin, framing)
    for position in range(len(whole)):
        in_two(client.send, whole, position)
        assert client.response(b"POST").status == 200, position
        check_request(origin.requests[-1], framing)
    assert len(origin.requests) == len(whole)
    assert len(origin.connections) == 1


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_response_cut_at_every_position(connect, make_origin, framing):
    whole = response_of(framing)

    def handler(connection):
        for position in range(len(whole)):
            connection.request()
            in_two(connection.send, whole, position)

    origin = make_origin(handler)
    client = connect()
    for position in range(len(whole)):
        response = client.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                              % (origin.url().encode(), origin.authority))
        check_response(response)
    assert len(origin.connections) == 1


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_every_byte_alone_in_both_directions(connect, make_origin, framing):
    def handler(connection):
        while connection.request():
            one_by_one(connection.send, response_of(framing))

    origin = make_origin(handler)
    client = connect()
    for unused in range(2):
        one_by_one(client.send, request_of(origin, framing))
        check_response(client.response(b"POST"))
    for request in origin.requests:
        check_request(request, framing)


def test_chunks_of_one_byte(connect, make_origin):
    body = bytes(range(256)) * 4
    origin = make_origin(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                                chunked(*(body[i:i + 1] for i in range(len(body))))))
    response = connect().ask(b"POST %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
                             % (origin.url().encode(), origin.authority),
                             chunked(*(body[i:i + 1] for i in range(len(body)))))
    assert response.complete and response.body == body
    assert origin.requests[0].complete and origin.requests[0].body == body


@pytest.mark.parametrize("size", [1, 4095, 4096, 16383, 16384, 16385, 65535, 65536, 65537, 300000])
def test_bodies_around_the_sizes_of_buffers(connect, make_origin, size):
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]

    def handler(connection):
        while request := connection.request():
            assert request.body == body
            connection.send(ok(body) if request.framing == "length" else
                            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body))

    origin = make_origin(handler)
    client = connect()
    start = b"POST %s HTTP/1.1\r\nHost: %s\r\n" % (origin.url().encode(), origin.authority)
    for framed in (b"Content-Length: %d\r\n\r\n%s" % (size, body),
                   b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body)):
        response = client.ask(start + framed)
        assert response.complete and response.body == body
    assert len(origin.requests) == 2
