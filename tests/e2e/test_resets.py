"""A reset right behind the last bytes: the bytes arrive, and no end that looks like a good one."""
import threading

import pytest


class Script:
    """An origin that reads a byte, waits to be told, sends some bytes and resets."""

    def __init__(self, make_origin, data, begin=b"", wait=lambda connection: connection.reader.take(1)):
        self.data, self.begin, self.wait = data, begin, wait
        self.told, self.done = threading.Event(), threading.Event()
        self.origin = make_origin(self.handler)

    def handler(self, connection):
        self.wait(connection)
        connection.send(self.begin)
        assert self.told.wait(5)
        connection.send(self.data)
        connection.reset()
        self.done.set()

    def finish(self):
        self.told.set()
        assert self.done.wait(5)


@pytest.mark.parametrize("size", [1, 1000, 30000])
def test_of_the_origin_in_a_tunnel(weir, connect, make_origin, size):
    script = Script(make_origin, b"x" * size)
    client = connect()
    client.connect(script.origin.authority)
    client.send(b"?")
    script.origin.wait(lambda: script.origin.connection().received == b"?")
    with weir.frozen():
        script.finish()
    assert client.reader.take_rest() == script.data
    assert client.reader.end == "reset"


def test_of_the_client_in_a_tunnel(weir, connect, make_origin):
    ends = []

    def handler(connection):
        ends.append((connection.reader.take_rest(), connection.reader.end))

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    client.send(b"first")
    origin.wait(lambda: origin.connection().received == b"first")
    with weir.frozen():
        client.send(b", and last")
        client.reset()
    assert origin.connection().finished.wait(5)
    assert ends == [(b"first, and last", "reset")]


def test_of_the_origin_in_a_body_that_ends_with_the_connection(weir, connect, make_origin):
    script = Script(make_origin, b"more", begin=b"HTTP/1.1 200 OK\r\n\r\nsome",
                    wait=lambda connection: connection.request())
    client = connect()
    client.send(b"GET %s HTTP/1.0\r\n\r\n" % script.origin.url().encode())
    while b"some" not in client.reader.received:
        assert client.reader.fill()
    with weir.frozen():
        script.finish()
    assert client.reader.take_rest().endswith(b"\r\n\r\nsomemore")
    assert client.reader.end == "reset"


def test_of_the_origin_behind_a_whole_body(weir, connect, make_origin):
    """Nothing is missing: nobody is told."""
    script = Script(make_origin, b"Content-Length: 2\r\n\r\nok", begin=b"HTTP/1.1 200 OK\r\n",
                    wait=lambda connection: connection.request())
    client = connect()
    client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % script.origin.url().encode())
    script.origin.wait(lambda: script.origin.requests)
    with weir.frozen():
        script.finish()
    response = client.response()
    assert response.status == 200 and response.complete and response.body == b"ok"
    assert client.usable()
