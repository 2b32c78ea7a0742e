"""HTTP/2 clients with several streams: independence, interim answers, tunnels."""
import threading

import pytest

pytest.importorskip("h2", reason="needs Debian's python3-h2")

from client_h2 import ClientH2  # noqa: E402
from origin import ok  # noqa: E402


@pytest.fixture
def client(weir):
    client = ClientH2(weir.address)
    yield client
    client.close()


def test_a_slow_one_holds_up_no_other(client, make_origin):
    released = threading.Event()

    def handler(connection):
        while request := connection.request():
            if request.target == b"/slow":
                released.wait(5)
            connection.send(ok(request.target))

    origin = make_origin(handler)
    slow = client.get(origin, "/slow")
    for number in range(10):
        assert client.answer(client.get(origin, f"/{number}")).body == b"/%d" % number
    assert not client.streams[slow].ended
    released.set()
    assert client.answer(slow).body == b"/slow"


def test_interim_answers_and_trailers(client, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n")

    answer = client.answer(client.get(make_origin(handler)))
    assert answer.interim == [103]
    assert answer.body == b"ok"
    assert answer.trailers == [(b"x-sum", b"7")]


def test_an_answer_that_breaks_off_comes_as_far_as_it_goes(client, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    answer = client.answer(client.get(make_origin(handler)))
    assert answer.body == b"half"
    assert not answer.ended
    assert answer.reset == 2  # INTERNAL_ERROR
    assert client.answer(client.get(make_origin())).status == 200


def test_each_direction_of_a_tunnel_ends_by_itself(client, make_origin):
    def handler(connection):
        assert connection.reader.take_rest() == b"from the client"
        connection.send(b"from the server")

    origin = make_origin(handler)
    tunnel = client.request([(":method", "CONNECT"), (":authority", origin.authority.decode())],
                            end=False)
    client.wait(lambda: client.streams[tunnel].fields)
    assert client.streams[tunnel].status == 200
    client.send(tunnel, b"from the client", end=True)
    assert client.answer(tunnel).body == b"from the server"
    assert client.streams[tunnel].reset is None


def test_a_tunnel_that_is_not_allowed_leaves_the_connection(client, make_origin):
    tunnel = client.request([(":method", "CONNECT"), (":authority", "127.0.0.1:25")], end=False)
    assert client.answer(tunnel).status == 403
    assert client.answer(client.get(make_origin())).status == 200
