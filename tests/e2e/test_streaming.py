"""What has come is passed on at once, in both directions and whatever frames it."""
import threading
import time

import pytest

from message import chunked
from origin import ok

PIECES = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"]
APART = 0.2          # seconds between two pieces
AT_LEAST = 0.12      # seconds between two arrivals, on a busy machine too
HEADS = {
    "chunked": b"Transfer-Encoding: chunked\r\n",
    "length": b"Content-Length: %d\r\n" % len(b"".join(PIECES)),
    "close": b"",
}


def framed(framing):
    return [chunked(piece, last=False) for piece in PIECES] if framing == "chunked" else PIECES


def gaps(reader):
    times = [reader.arrived(piece) for piece in PIECES]
    return [later - earlier for earlier, later in zip(times, times[1:])]


def post(origin, framing):
    return b"POST %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (origin.url().encode(), origin.authority,
                                                       HEADS[framing])


def get(origin):
    return b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (origin.url().encode(), origin.authority)


@pytest.mark.parametrize("framing", HEADS)
def test_pieces_of_a_download_come_one_by_one(connect, make_origin, framing):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + HEADS[framing] + b"\r\n")
        for piece in framed(framing):
            connection.send(piece)
            time.sleep(APART)
        if framing == "chunked":
            connection.send(b"0\r\n\r\n")

    origin = make_origin(handler)
    client = connect()
    response = client.ask(get(origin))
    assert response.complete and response.body == b"".join(PIECES)
    assert min(gaps(client.reader)) >= AT_LEAST, gaps(client.reader)


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_pieces_of_an_upload_come_one_by_one(connect, make_origin, framing):
    origin = make_origin(lambda connection: connection.request() and connection.send(ok()))
    client = connect()
    client.send(post(origin, framing))
    for piece in framed(framing):
        client.send(piece)
        time.sleep(APART)
    if framing == "chunked":
        client.send(b"0\r\n\r\n")
    assert client.response().status == 200
    assert origin.requests[0].body == b"".join(PIECES)
    received = gaps(origin.connections[0].reader)
    assert min(received) >= AT_LEAST, received


# In step: the sender goes on only when the piece before has arrived, so nothing may be held back.

@pytest.mark.parametrize("framing", HEADS)
def test_download_in_step(connect, make_origin, framing):
    arrived = threading.Semaphore(0)

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + HEADS[framing] + b"\r\n")
        assert arrived.acquire(timeout=5), "the head waits for the body"
        for piece in framed(framing):
            connection.send(piece)
            assert arrived.acquire(timeout=5), "a piece waits for the next"

    origin = make_origin(handler)
    client = connect()
    client.send(get(origin))
    assert client.response(body=False).status == 200
    arrived.release()
    for piece in PIECES:
        while piece not in client.reader.received:
            assert client.reader.fill()
        arrived.release()


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_upload_in_step(connect, make_origin, framing):
    arrived = threading.Semaphore(0)

    def handler(connection):
        request = connection.request_head()
        arrived.release()
        for piece in PIECES:
            while piece not in connection.reader.received:
                assert connection.reader.fill()
            arrived.release()
        connection.request_body(request)
        connection.send(ok(b"%d" % len(request.body)))

    origin = make_origin(handler)
    client = connect()
    client.send(post(origin, framing))
    assert arrived.acquire(timeout=5), "the head waits for the body"
    for piece in framed(framing):
        client.send(piece)
        assert arrived.acquire(timeout=5), "a piece waits for the next"
    if framing == "chunked":
        client.send(b"0\r\n\r\n")
    assert client.response().body == b"%d" % len(b"".join(PIECES))


def test_tunnel_in_step(connect, make_origin):
    def handler(connection):
        for unused in range(50):
            connection.send(connection.reader.take(1))

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    for number in range(50):
        client.send(b"%c" % number)
        assert client.reader.take(1) == b"%c" % number


def test_one_exchange_does_not_wait_for_another(connect, make_origin):
    """A stalled download beside many others on the same worker."""
    release = threading.Event()

    def handler(connection):
        while request := connection.request():
            if request.target == b"/slow":
                connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl")
                assert release.wait(8)
                connection.send(b"ow")
            else:
                connection.send(ok(b"fast"))

    origin = make_origin(handler)
    slow, fast = connect(), connect()
    slow.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (origin.url("/slow").encode(),
                                                       origin.authority))
    response = slow.response(body=False)
    for unused in range(100):
        assert fast.ask(get(origin)).body == b"fast"
    release.set()
    assert response.status == 200 and slow.reader.take(4) == b"slow"


def test_hundreds_of_small_answers_are_quick(connect, make_origin):
    """40 ms of delayed acknowledgement per answer would show: head and body leave together."""
    origin = make_origin()
    client = connect()
    begin = time.monotonic()
    for unused in range(300):
        assert client.ask(get(origin)).status == 200
    assert time.monotonic() - begin < 6
