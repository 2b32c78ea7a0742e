"""Credit end to end: whoever does not read stops the sender, and weir holds 64 KiB of it at most.

What weir holds is counted to the byte: what the sender's kernel took, less what still lies in the
four socket buffers between the two ends.
"""
import socket
import threading
import time

import pytest

import kernel
from client import Client
from message import chunked
from origin import ok

CREDIT = 64 * 1024
FRAMING = 8 * 1024       # heads and chunk sizes on the way
BLOCK = bytes(range(251)) * 261
SMALL = 16 * 1024        # socket buffers of the two ends
PATIENCE = 30            # seconds: full buffers that empty by a few bytes now and then take time


def push(connection, most, still=0.5):
    """Sends as much as is taken until nothing is taken for a while; returns the bytes taken."""
    connection.settimeout(still)
    taken = 0
    try:
        while taken < most:
            at = taken % len(BLOCK)
            taken += connection.send(BLOCK[at:])
    except socket.timeout:
        pass
    finally:
        connection.settimeout(8)
    return taken


def blocks(begin, count):
    """count bytes of the endless repetition of BLOCK from position begin."""
    at = begin % len(BLOCK)
    return (BLOCK * (count // len(BLOCK) + 2))[at:at + count]


def between(first, second):
    """Bytes in both buffers of one connection, seen from both ends' ports."""
    there, back = kernel.queues(first, second), kernel.queues(second, first)
    return there[0] + back[1]


def held(taken, sender, weir_in, weir_out, receiver):
    """What weir holds of taken bytes, given the ports along the way; waits for late counts."""
    counts = []
    for unused in range(20):
        counts.append(taken - between(sender, weir_in) - between(weir_out, receiver))
        if len(counts) > 2 and counts[-1] == counts[-2] == counts[-3]:
            break
        time.sleep(0.05)
    return counts[-1]


MOST = 96 * 1024 * 1024  # far more than all socket buffers together


@pytest.mark.parametrize("framing", ["length", "chunked", "close", "tunnel"])
def test_client_that_does_not_read_stops_the_origin(weir_release, make_origin, framing):
    weir = weir_release
    stalled, resume = threading.Event(), threading.Event()
    taken = []

    def handler(connection):
        if framing != "tunnel":
            connection.request()
        connection.send({
            "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MOST,
            "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % MOST,
            "close": b"HTTP/1.1 200 OK\r\n\r\n", "tunnel": b""}[framing])
        taken.append(push(connection.socket, MOST))
        stalled.set()
        assert resume.wait(PATIENCE)

    origin = make_origin(handler, send_buffer=SMALL)
    before = weir.memory()
    with Client(weir.address, receive_buffer=SMALL) as client:
        if framing == "tunnel":
            assert client.connect(origin.authority).status == 200
        else:
            client.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (origin.url().encode(),
                                                                 origin.authority))
        assert stalled.wait(PATIENCE)
        server_leg = origin.connections[0].socket.getpeername()[1]
        count = held(taken[0], origin.port, server_leg, weir.address[1], client.port)
        count -= client.reader.available()  # tunnel bytes that came with the head
        growth = weir.memory() - before
        assert taken[0] < MOST, "nothing stopped the origin"
        assert -FRAMING <= count <= CREDIT + FRAMING, count
        assert growth < 512 * 1024, growth
        if framing == "length":
            begin = client.response(body=False)
            assert begin.status == 200
            part = client.reader.take(taken[0])
            assert part == blocks(0, taken[0]), "what was stalled came out different"
        resume.set()


@pytest.mark.parametrize("framing", ["length", "chunked", "tunnel"])
def test_origin_that_does_not_read_stops_the_client(weir_release, make_origin, framing):
    weir = weir_release
    begun, resume = threading.Event(), threading.Event()
    got = []

    def handler(connection):
        if framing != "tunnel":
            connection.request_head()
        begun.set()
        assert resume.wait(PATIENCE)
        if framing != "chunked":
            got.append(connection.reader.take(expected[0]))

    expected = []
    origin = make_origin(handler, receive_buffer=SMALL)
    before = weir.memory()
    with Client(weir.address) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        if framing == "tunnel":
            assert client.connect(origin.authority).status == 200
        else:
            client.send(b"POST %s HTTP/1.1\r\nHost: %s\r\n" % (origin.url().encode(),
                                                              origin.authority))
            client.send(b"Content-Length: %d\r\n\r\n" % MOST if framing == "length" else
                        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % MOST)
        assert begun.wait(PATIENCE)
        taken = push(client.socket, MOST)
        expected.append(taken)
        connection = origin.connections[0]
        server_leg = connection.socket.getpeername()[1]
        early = max(len(connection.received) - len(origin.requests[0].raw_head), 0) \
            if origin.requests else 0  # body bytes that came with the head
        count = held(taken, client.port, weir.address[1], server_leg, origin.port) - early
        growth = weir.memory() - before
        assert taken < MOST, "nothing stopped the client"
        assert -FRAMING <= count <= CREDIT + FRAMING, count
        assert growth < 512 * 1024, growth
        resume.set()
        if framing != "chunked":
            assert connection.finished.wait(PATIENCE)
            assert got == [blocks(0, taken)], "what was stalled came out different"


def test_slow_reader_costs_its_credit_and_little_more(weir_release, make_origin):
    weir = weir_release
    readers = 24
    stalled = threading.Barrier(readers + 1)

    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MOST)
            push(connection.socket, MOST, still=0.3)
            stalled.wait(PATIENCE)
            connection.wait_end()

    origin = make_origin(handler, send_buffer=SMALL)
    with Client(weir.address) as client:
        other = make_origin()
        client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % other.url().encode())
        before = weir.memory()
        clients = [Client(weir.address, receive_buffer=SMALL) for unused in range(readers)]
        for slow in clients:
            slow.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
        stalled.wait(PATIENCE)
        growth = (weir.memory() - before) / readers
        answer = client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % other.url().encode())
        assert answer.status == 200, "stalled readers stop their neighbours"
        for slow in clients:
            slow.close()
    assert growth <= 96 * 1024, f"{growth:.0f} bytes for each slow reader"


# a peer that goes away

@pytest.mark.parametrize("end", ["reset", "close"])
def test_client_that_leaves_during_a_download_ends_the_server_leg(weir, make_origin, end):
    """The origin sends without a pause; the client takes a little and goes."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MOST)
        try:
            connection.send(*[BLOCK] * (MOST // len(BLOCK)))
        finally:
            gone.set()

    gone = threading.Event()
    origin = make_origin(handler)
    client = Client(weir.address)
    client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    client.reader.take(1000)
    getattr(client, end)()
    assert gone.wait(5), "the origin still sends"
    assert isinstance(origin.connection().problem, ConnectionError)


@pytest.mark.parametrize("body", [b"", b"some"])
def test_client_that_leaves_while_the_origin_is_silent_ends_the_server_leg(weir, make_origin, body):
    def handler(connection):
        connection.request()
        if body:
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + body)
        asked.set()
        connection.wait_end()

    asked = threading.Event()
    origin = make_origin(handler)
    client = Client(weir.address)
    client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    assert asked.wait(5)
    if body:
        client.reader.take(10)
    client.reset()
    assert origin.connection().finished.wait(3), "nobody told the origin that its client left"


def test_stalled_client_that_leaves_ends_the_server_leg(weir, make_origin):
    """Nothing moves in either direction when the reset comes; it must be noticed all the same."""
    stalled = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MOST)
        push(connection.socket, MOST, still=0.3)
        stalled.set()
        connection.wait_end()

    origin = make_origin(handler, send_buffer=SMALL)
    client = Client(weir.address, receive_buffer=SMALL)
    client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    assert stalled.wait(PATIENCE)
    client.reset()
    assert origin.connection().finished.wait(3), "the stalled exchange was kept"


def test_memory_of_abandoned_exchanges_returns(weir, make_origin):
    """Downloads broken off half way leave neither descriptors nor exchanges behind."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                        chunked(BLOCK, last=False))
        connection.wait_end()

    origin = make_origin(handler)
    before = weir.descriptors()
    for unused in range(30):
        client = Client(weir.address)
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
        client.reader.take(100)
        client.reset()
    weir.settle(lambda: weir.descriptors() <= before, "the descriptors of 30 broken downloads")


def test_fast_client_after_a_stall_gets_everything(connect, make_origin):
    """Stall, go on, stall, go on: the credit is renewed and nothing is lost or doubled."""
    total = 3000000

    def handler(connection):
        connection.request()
        connection.send(ok(blocks(0, total)))

    origin = make_origin(handler)
    client = connect(receive_buffer=SMALL)
    client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    assert client.response(body=False).status == 200
    body = b""
    while len(body) < total:
        time.sleep(0.02)
        piece = client.reader.take(min(200000, total - len(body)))
        assert piece
        body += piece
    assert body == blocks(0, total)
