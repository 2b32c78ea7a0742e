"""The client that translates: what it sends is HTTP/2, and what it gives is what was answered."""
import pytest

pytest.importorskip("h2", reason="needs Debian's python3-h2")

from client_over_h2 import ClientOverH2  # noqa: E402
from origin import echo, ok  # noqa: E402


@pytest.fixture
def client(weir):
    with ClientOverH2(weir.address) as client:
        yield client


def post(origin, framing, body):
    return b"POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n%s" % (origin.url().encode(), framing, body)


def test_requests_travel_as_http2_and_are_answered_in_order(client, make_origin):
    def handler(connection):
        while request := connection.request():
            connection.send(ok(request.target))
    origin = make_origin(handler)
    one, two = (b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode() for path in ("/1", "/2"))
    client.send(one + two[:9], two[9:])
    assert client.response().body == b"/1" and client.response().body == b"/2"
    assert all(request.get(b"via").startswith(b"2 ") for request in origin.requests)
    assert client.usable()


def test_bodies_however_they_are_framed_and_cut(client, make_origin):
    origin = make_origin(echo)
    counted = post(origin, b"Content-Length: 5\r\n", b"hello")
    chunked = post(origin, b"Transfer-Encoding: chunked\r\n", b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")
    with_trailers = chunked[:-2] + b"X-Sum: 5\r\n\r\n"
    for text in (counted, chunked, with_trailers):
        assert client.ask(*(text[at:at + 1] for at in range(len(text))), method=b"POST").body == b"hello"
    assert origin.requests[-1].trailers == [(b"x-sum", b"5")]


def test_an_answer_that_breaks_off_is_incomplete(client, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    answer = client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % make_origin(handler).url().encode())
    assert answer.body == b"half" and not answer.complete
    assert client.reader.end == "reset"


def test_a_request_after_a_tunnel_that_was_refused(client, make_origin):
    client.send(b"CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.response().status == 403
    assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % make_origin().url().encode()).status == 200
