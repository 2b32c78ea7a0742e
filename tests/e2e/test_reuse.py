"""Connections are kept on both legs, shared only where that is right, and dropped when they are stale."""
import threading
import time

import pytest

from client import Client
from origin import always, ok


def get(origin, path="/", more=b""):
    return b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (origin.url(path).encode(), origin.authority,
                                                      more)


def test_both_connections_are_kept(connect, make_origin):
    origin = make_origin()
    client = connect()
    for number in range(50):
        path = "/%d" % number
        assert client.ask(get(origin, path)).body == path.encode()
    assert client.usable()
    assert len(origin.connections) == 1


def test_server_connection_serves_client_after_client(weir, make_origin):
    origin = make_origin()
    for unused in range(10):
        with Client(weir.address) as client:
            assert client.ask(get(origin)).status == 200
    assert len(origin.connections) <= 2, "not even one of ten clients was quicker than the pool"


def test_clients_at_the_same_time_get_connections_of_their_own(weir, make_origin):
    """Three requests wait at the origin together, and once more on the same three connections."""
    together = threading.Barrier(3)

    def handler(connection):
        while connection.request():
            together.wait(5)
            connection.send(ok())

    origin = make_origin(handler)
    for unused in range(2):
        clients = [Client(weir.address) for unused in range(3)]
        for client in clients:
            client.send(get(origin))
        for client in clients:
            assert client.response().status == 200
            client.close()
        time.sleep(0.05)
    assert len(origin.connections) == 3


def test_names_do_not_share_a_connection(connect, make_origin):
    """The same port under two names is two origins: neither may get the other's connection."""
    origin = make_origin()
    client = connect()
    names = [b"localhost:%d" % origin.port, origin.authority]
    for name in names * 2:
        assert client.ask(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (name, name)).status == 200
    assert [connection.requests[0].get(b"host") for connection in origin.connections] == names
    assert [len(connection.requests) for connection in origin.connections] == [2, 2]


def test_ports_do_not_share_a_connection(connect, make_origin):
    first, second = make_origin(always(ok(b"1"))), make_origin(always(ok(b"2")))
    client = connect()
    for unused in range(3):
        assert client.ask(get(first)).body == b"1"
        assert client.ask(get(second)).body == b"2"
    assert len(first.connections) == len(second.connections) == 1


def test_misdirected_on_a_kept_connection_is_asked_on_a_fresh_one(connect, make_origin):
    def handler(connection):
        number = len(origin.connections)
        for wrong in (False, number == 1):
            if connection.request():
                connection.send(b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n"
                                if wrong else ok(b"%d" % number))

    origin = make_origin(handler)
    client = connect()
    assert client.ask(get(origin)).body == b"1"
    assert client.ask(get(origin)).body == b"2"
    assert len(origin.connections) == 2


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nConnection: X, Close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    b"0\r\n\r\n",
])
def test_server_that_announces_a_close_is_not_asked_again(connect, make_origin, answer):
    """The origin keeps the connection open all the same, so only the announcement counts."""
    def handler(connection):
        connection.request()
        connection.send(answer)
        connection.wait_end()
        assert len(connection.requests) == 1

    origin = make_origin(handler)
    client = connect()
    for unused in range(3):
        response = client.ask(get(origin))
        assert response.body == b"ok"
        assert b"close" not in [item.lower() for item in response.items(b"connection")]
    assert len(origin.connections) == 3


def test_client_that_announces_a_close_gets_one(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        client.send(get(origin, "/1", b"Connection: close\r\n") + get(origin, "/2"))
        response = client.response()
        assert response.body == b"/1" and b"close" in response.items(b"connection")
        assert client.ended()
    time.sleep(0.05)
    assert [request.target for request in origin.requests] == [b"/1"], "run after a close"


def test_connection_closed_while_idle_is_not_used(connect, make_origin):
    """The origin closes between requests: the next one, of any method, gets a new connection."""
    closed = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(ok())
        connection.close()
        closed.set()

    origin = make_origin(handler)
    client = connect()
    for method in (b"GET", b"POST", b"DELETE", b"GET"):
        closed.clear()
        response = client.ask(b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n"
                              % (method, origin.url().encode(), origin.authority))
        assert response.status == 200, method
        assert closed.wait(5)
        time.sleep(0.05)
    assert len(origin.connections) == 4


@pytest.mark.parametrize("end", ["close", "reset"])
def test_kept_connection_that_dies_under_a_get_is_replaced(connect, make_origin, end):
    """The close crosses the request: the origin read it, answered nothing and went away."""
    def handler(connection):
        while connection.request():
            if connection.number == 0 and len(connection.requests) == 2:
                getattr(connection, end)()
                return
            connection.send(ok(b"connection %d" % connection.number))

    origin = make_origin(handler)
    client = connect()
    assert client.ask(get(origin)).body == b"connection 0"
    assert client.ask(get(origin, "/again")).body == b"connection 1"
    assert [request.target for request in origin.requests] == [b"/", b"/again", b"/again"]
    assert client.usable()


def test_retries_end(connect, make_origin):
    """An origin that always dies under the second request is not asked for ever."""
    def handler(connection):
        connection.request()
        if connection.number == 0:
            connection.send(ok())
            connection.request()

    origin = make_origin(handler)
    client = connect()
    assert client.ask(get(origin)).status == 200
    assert client.ask(get(origin, "/again")).status == 502
    assert 2 <= len(origin.connections) <= 4


def test_request_whose_answer_began_is_not_repeated(connect, make_origin):
    def handler(connection):
        while connection.request():
            if len(connection.requests) == 2:
                connection.send(b"HTTP/1.1 200 OK\r\nContent-Le")
                return
            connection.send(ok())

    origin = make_origin(handler)
    client = connect()
    assert client.ask(get(origin)).status == 200
    assert client.ask(get(origin, "/again")).status == 502
    assert [request.target for request in origin.requests] == [b"/", b"/again"]


@pytest.mark.parametrize("method, size", [(b"POST", 0), (b"POST", 5), (b"PATCH", 0), (b"PUT", 5),
                                          (b"PUT", 200000), (b"GET", 5), (b"POST", 200000)])
def test_request_that_may_have_had_an_effect_is_not_repeated(weir, make_origin, method, size):
    """Another POST may buy twice; and a body of which something was sent is not there any more."""
    def handler(connection):
        while connection.request():
            if connection.number == 0 and len(connection.requests) == 2:
                return
            connection.send(ok())

    origin = make_origin(handler)
    with Client(weir.address) as client:
        assert client.ask(get(origin)).status == 200
        body = b"x" * size
        response = client.ask(b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s"
                              % (method, origin.url("/up").encode(), origin.authority, size, body))
        assert response.status == 502
    assert [request.target for request in origin.requests] == [b"/", b"/up"]


@pytest.mark.parametrize("method", [b"PUT", b"DELETE", b"OPTIONS", b"HEAD"])
def test_request_that_may_be_made_twice_is_repeated(weir, make_origin, method):
    def handler(connection):
        while request := connection.request():
            if connection.number == 0 and len(connection.requests) == 2:
                return
            connection.send(ok(b"" if request.method == b"HEAD" else b"done"))

    origin = make_origin(handler)
    with Client(weir.address) as client:
        assert client.ask(get(origin)).status == 200
        response = client.ask(b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n"
                              % (method, origin.url("/up").encode(), origin.authority))
        assert response.status == 200
    assert [request.target for request in origin.requests] == [b"/", b"/up", b"/up"]


def test_idle_client_connections_cost_a_descriptor_each_and_no_more(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        client.ask(get(origin))
        before = weir.descriptors()
        others = [Client(weir.address) for unused in range(20)]
        weir.settle(lambda: weir.descriptors() == before + 20, "20 more descriptors")
        for other in others:
            other.close()
        weir.settle(lambda: weir.descriptors() == before, "as many descriptors as before")
