"""Time limits: whoever takes too long is told so or dropped, and nobody else is."""
import threading
import time

import pytest

from client import Client
from origin import always, ok

LIMIT = 0.5   # seconds, of every limit tested here
SLACK = 1.5   # how much later than the limit a busy machine may act


@pytest.fixture
def start_with(tmp_path, start_weir):
    """Starts a weir with those timeouts, as written in its file."""
    def start(timeouts):
        file = tmp_path / "weir.yaml"
        file.write_text("listen:\n  - address: 127.0.0.1:0\ntimeouts: { %s }\n" % timeouts)
        return start_weir("-c", str(file))
    return start


class Stopwatch:
    """with Stopwatch(): what happens inside takes the limit, not less and not much more."""

    def __enter__(self):
        self.begin = time.monotonic()

    def __exit__(self, kind, *unused):
        if kind is None:
            took = time.monotonic() - self.begin
            assert 0.8 * LIMIT <= took <= LIMIT + SLACK, f"took {took:.2f} s"


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


def test_head_that_does_not_come_to_an_end(start_with):
    weir = start_with("head: 500ms, idle: 60s")
    with Client(weir.address) as client, Stopwatch():
        client.send(b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHo")
        assert client.response().status == 408
        assert client.ended()


def test_dripping_head_gets_no_more_time(start_with):
    """A byte now and then must not renew the limit: that is the slowloris attack."""
    weir = start_with("head: 500ms, idle: 60s")
    stop = threading.Event()

    def drip(client):
        try:
            client.send(b"GET http://127.0.0.1:1/ HTTP/1.1\r\n")
            while not stop.wait(0.1):
                client.send(b"X: 1\r\n")
        except OSError:
            pass

    with Client(weir.address) as client, Stopwatch():
        dripping = threading.Thread(target=drip, args=(client,), daemon=True)
        dripping.start()
        assert client.response().status == 408
        stop.set()
        dripping.join(5)


def test_idle_client_is_dropped_in_silence(start_with, make_origin):
    origin = make_origin()
    weir = start_with("idle: 500ms")
    with Client(weir.address) as client:
        assert client.ask(get(origin)).status == 200
        with Stopwatch():
            assert client.ended()
        assert client.reader.end == "end"


def test_server_that_does_not_answer(start_with, make_origin):
    origin = make_origin(lambda connection: connection.request() and connection.wait_end())
    weir = start_with("response: 500ms, exchange_idle: 60s")
    with Client(weir.address) as client:
        with Stopwatch():
            response = client.ask(get(origin))
        assert response.status == 504
        assert b"http_response_timeout" in response.get(b"proxy-status")
    assert origin.connection().finished.wait(5), "the silent server's connection was kept"


def test_exchange_in_which_nothing_moves(start_with, make_origin):
    """After the head there is no answer that could say so: the connection ends."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        connection.wait_end()

    origin = make_origin(handler)
    weir = start_with("exchange_idle: 500ms, response: 60s")
    with Client(weir.address) as client:
        client.send(get(origin))
        response = client.response(body=False)
        assert response.status == 200
        with Stopwatch():
            assert client.reader.take_rest() == b"hello"
    assert origin.connection().finished.wait(5)


def test_exchange_in_which_a_little_moves_goes_on(start_with, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for unused in range(8):
            time.sleep(LIMIT * 0.4)
            connection.send(b"x")

    origin = make_origin(handler)
    weir = start_with("exchange_idle: 500ms, response: 500ms, head: 500ms, idle: 500ms")
    with Client(weir.address) as client:
        response = client.ask(get(origin))
        assert response.complete and response.body == b"x" * 8


def test_idle_tunnel(start_with, make_origin):
    def handler(connection):
        connection.send(connection.reader.take(4))
        connection.wait_end()

    origin = make_origin(handler)
    weir = start_with("tunnel_idle: 500ms, exchange_idle: 60s")
    with Client(weir.address) as client:
        client.connect(origin.authority)
        client.send(b"ping")
        assert client.reader.take(4) == b"ping"
        with Stopwatch():
            assert client.ended()
    assert origin.connection().finished.wait(5)


def test_tunnel_is_not_an_idle_exchange(start_with, make_origin):
    origin = make_origin(lambda connection: connection.send(connection.reader.take(4)))
    weir = start_with("tunnel_idle: 60s, exchange_idle: 300ms, response: 300ms, idle: 300ms, "
                      "head: 300ms")
    with Client(weir.address) as client:
        client.connect(origin.authority)
        time.sleep(1)
        client.send(b"ping")
        assert client.reader.take(4) == b"ping"


def test_server_that_accepts_nobody(start_with, make_origin):
    """A listener whose queue is full answers no SYN: the connection cannot be made in time."""
    import socket
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for unused in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        weir = start_with("connect: 500ms")
        with Client(weir.address) as client:
            with Stopwatch():
                response = client.ask(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\n\r\n"
                                      % full.getsockname()[1])
            assert response.status == 504
            assert b"connection_timeout" in response.get(b"proxy-status")
        for filler in fillers:
            filler.close()


def test_limits_begin_anew_with_each_request(start_with, make_origin):
    origin = make_origin(always(ok()))
    weir = start_with("head: 500ms, idle: 500ms, response: 500ms, exchange_idle: 500ms")
    with Client(weir.address) as client:
        for unused in range(6):
            time.sleep(LIMIT * 0.4)
            assert client.ask(get(origin)).status == 200
