"""CONNECT: a tunnel carries bytes, each direction by itself, and ends as its ends do."""
import threading

import pytest

from client import Client


def accept_and(*script):
    """A handler made of steps, each a function of the connection."""
    def handler(connection):
        for step in script:
            step(connection)
    return handler


def echo(connection):
    while connection.reader.fill():
        connection.send(connection.reader.take(connection.reader.available()))


def test_answer_is_a_head_and_nothing_else(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    response = client.connect(origin.authority)
    assert response.status == 200
    assert response.all(b"content-length") == response.all(b"transfer-encoding") == []
    assert client.usable(), "something came that nobody sent"
    client.send(b"ping")
    assert client.reader.take(4) == b"ping"


def test_nothing_of_the_request_enters_the_tunnel(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    response = client.ask(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: probe\r\n"
                          b"Proxy-Connection: keep-alive\r\nX-Secret: 1\r\n\r\n"
                          % (origin.authority, origin.authority))
    assert response.status == 200
    client.send(b"x")
    assert client.reader.take(1) == b"x"
    assert origin.connection().received == b"x"


def test_old_client_without_host(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    assert client.ask(b"CONNECT %s HTTP/1.0\r\n\r\n" % origin.authority).status == 200
    client.send(b"old")
    assert client.reader.take(3) == b"old"


def test_new_client_without_host_is_refused(weir, make_origin):
    origin = make_origin(echo)
    with Client(weir.address) as client:
        assert client.ask(b"CONNECT %s HTTP/1.1\r\n\r\n" % origin.authority).status == 400
    assert not origin.connections


@pytest.mark.parametrize("size", [1, 5, 16384, 300000])
def test_bytes_sent_early_arrive_first(connect, make_origin, size):
    """In the same packet as the request, before weir knows whether there is a server at all."""
    origin = make_origin(echo)
    client = connect()
    early = bytes(i * 7 % 251 for i in range(size))
    sender = threading.Thread(target=client.send, daemon=True, args=(
        b"CONNECT %s HTTP/1.1\r\nHost: a.test\r\n\r\n%s" % (origin.authority, early), b"later"))
    sender.start()
    assert client.response(b"CONNECT").status == 200
    assert client.reader.take(size + 5) == early + b"later"
    sender.join(5)


def test_bytes_that_look_like_requests_are_bytes(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    inside = b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\r\n\0\xff\r\n0\r\n\r\n"
    assert client.connect(origin.authority, inside).status == 200
    assert client.reader.take(len(inside)) == inside
    client.send(inside)
    assert client.reader.take(len(inside)) == inside


def test_origin_speaks_first(connect, make_origin):
    origin = make_origin(accept_and(lambda c: c.send(b"220 banner\r\n"), echo))
    client = connect()
    assert client.connect(origin.authority).status == 200
    assert client.reader.take(12) == b"220 banner\r\n"
    client.send(b"EHLO")
    assert client.reader.take(4) == b"EHLO"


def test_client_ends_first_and_the_origin_answers_afterwards(connect, make_origin):
    def handler(connection):
        assert connection.reader.take_rest() == b"request"
        assert connection.reader.end == "end"
        connection.send(b"late ")
        assert ended_seen.wait(5)
        connection.send(b"answer")

    ended_seen = threading.Event()
    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    client.send(b"request")
    client.half_close()
    assert client.reader.take(5) == b"late "
    ended_seen.set()
    assert client.reader.take_rest() == b"answer"
    assert client.reader.end == "end"


def test_origin_ends_first_and_the_client_goes_on(connect, make_origin):
    def handler(connection):
        connection.send(b"bye")
        connection.half_close()
        assert connection.reader.take_rest() == b"more data, and more"
        assert connection.reader.end == "end"

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    assert client.reader.take_rest() == b"bye"
    client.send(b"more data")
    client.send(b", and more")
    client.half_close()
    assert origin.connection().finished.wait(5)


def test_early_bytes_and_an_end_in_the_same_packet(connect, make_origin):
    def handler(connection):
        assert connection.reader.take_rest() == b"all"
        connection.send(b"seen")

    origin = make_origin(handler)
    client = connect()
    client.send(b"CONNECT %s HTTP/1.1\r\nHost: a.test\r\n\r\nall" % origin.authority)
    client.half_close()
    assert client.response(b"CONNECT").status == 200
    assert client.reader.take_rest() == b"seen"


@pytest.mark.parametrize("who", ["client", "origin"])
def test_last_megabytes_before_an_end_arrive(connect, make_origin, who):
    data = bytes(range(251)) * 20000

    def handler(connection):
        if who == "origin":
            connection.send(data)
            connection.half_close()
            assert connection.reader.take_rest() == b""
        else:
            assert connection.reader.take_rest() == data

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    if who == "client":
        client.send(data)
        client.half_close()
    assert client.reader.take_rest() == (data if who == "origin" else b"")
    assert client.reader.end == "end"
    client.close()
    assert origin.connection().finished.wait(5)


def test_both_directions_at_full_speed(connect, make_origin):
    there, back = bytes(range(241)) * 40000, bytes(range(239)) * 40000

    def handler(connection):
        sender = threading.Thread(target=connection.send, args=(back,), daemon=True)
        sender.start()
        assert connection.reader.take(len(there)) == there
        sender.join(5)

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    sender = threading.Thread(target=client.send, args=(there,), daemon=True)
    sender.start()
    assert client.reader.take(len(back)) == back
    sender.join(5)
    assert client.ended()


def test_reset_by_the_origin_ends_the_tunnel(connect, make_origin):
    origin = make_origin(accept_and(lambda c: c.reader.take(1), lambda c: c.reset()))
    client = connect()
    client.connect(origin.authority)
    client.send(b"x")
    assert client.ended()
    assert client.reader.end == "reset", "an abort must not look like an end"


def test_reset_by_the_client_ends_the_tunnel(connect, make_origin):
    def handler(connection):
        connection.reader.take(1)
        assert connection.wait_end() == "reset", "an abort must not look like an end"

    origin = make_origin(handler)
    client = connect()
    client.connect(origin.authority)
    client.send(b"x")
    origin.wait(lambda: origin.connection().received == b"x")
    client.reset()
    assert origin.connection().finished.wait(5)


def test_tunnel_leaves_no_descriptor_behind(weir, make_origin):
    origin = make_origin(echo)
    before = weir.descriptors()
    clients = [Client(weir.address) for unused in range(10)]
    for client in clients:
        client.connect(origin.authority)
    assert weir.descriptors() >= before + 20
    for number, client in enumerate(clients):
        if number % 2:
            client.reset()
        else:
            client.close()
    weir.settle(lambda: weir.descriptors() <= before, "the tunnels' descriptors to be closed")


def test_failed_connect_is_an_answer_like_any_other(weir, closed_port):
    with Client(weir.address) as client:
        response = client.connect(b"127.0.0.1:%d" % closed_port)
        assert response.status == 502 and response.complete
        assert response.framing in ("length", "chunked", "close")
