"""A fixed upstream makes weir a reverse proxy; listeners, workers and address families."""
import time

import pytest

from client import Client
from origin import always, ok


def origin_form(path=b"/", host=b"site.example.test", method=b"GET", more=b""):
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, path, host, more)


@pytest.fixture
def reverse(start_weir, make_origin):
    """(weir, origin): that weir hands everything to that origin."""
    origin = make_origin()
    return start_weir("-l", "127.0.0.1:0", "-w", "1", "-u", origin.authority.decode()), origin


def test_origin_form_goes_to_the_upstream(reverse):
    weir, origin = reverse
    with Client(weir.address) as client:
        for path in (b"/", b"/a%2Fb//../c?d=e//f", b"/x?"):
            assert client.ask(origin_form(path)).body == path
    assert [request.target for request in origin.requests] == [b"/", b"/a%2Fb//../c?d=e//f", b"/x?"]
    assert {request.get(b"host") for request in origin.requests} == {b"site.example.test"}
    assert len(origin.connections) == 1


def test_body_goes_to_the_upstream(reverse):
    weir, origin = reverse
    with Client(weir.address) as client:
        client.ask(origin_form(method=b"POST", more=b"Content-Length: 5\r\n") + b"hello")
        client.ask(origin_form(method=b"PUT", more=b"Transfer-Encoding: chunked\r\n")
                   + b"5\r\nworld\r\n0\r\n\r\n")
    assert [request.body for request in origin.requests] == [b"hello", b"world"]


def test_absolute_form_goes_to_the_upstream_too(reverse, make_origin):
    weir, origin = reverse
    other = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"GET %s HTTP/1.1\r\nHost: other.test\r\n\r\n"
                              % other.url("/a?b").encode())
        assert response.body == b"/a?b"
    assert not other.connections, "a reverse proxy must not go where clients say"
    assert origin.requests[0].target == b"/a?b"


def test_upstream_by_name(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0", "-u", f"localhost:{origin.port}")
    with Client(weir.address) as client:
        assert client.ask(origin_form(b"/named")).body == b"/named"


def test_upstream_by_ipv6_literal(start_weir, make_origin):
    origin = make_origin(host="::1")
    weir = start_weir("-l", "127.0.0.1:0", "-u", origin.authority.decode())
    with Client(weir.address) as client:
        assert client.ask(origin_form(b"/six")).body == b"/six"


def test_upstream_that_is_down_is_a_502_and_may_come_up(start_weir, closed_port):
    weir = start_weir("-l", "127.0.0.1:0", "-u", f"127.0.0.1:{closed_port}")
    with Client(weir.address) as client:
        for unused in range(2):
            assert client.ask(origin_form()).status == 502


def test_two_listeners(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0", "-l", "127.0.0.1:0", listeners=2)
    first, second = weir.addresses
    assert first != second
    for address in (first, second, first):
        with Client(address) as client:
            assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
                              % origin.url("/x").encode()).body == b"/x"
    assert weir.process.poll() is None


def test_ipv6_listener(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "[::1]:0")
    assert weir.address[0] == "::1"
    with Client(weir.address) as client:
        assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
                          % origin.url("/six").encode()).body == b"/six"


def thread_times(weir):
    """Processor time of each thread, from schedstat, in nanoseconds."""
    import pathlib
    return {task.name: int((task / "schedstat").read_text().split()[0])
            for task in pathlib.Path(f"/proc/{weir.pid}/task").iterdir()}


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_share_the_connections(start_weir, make_origin, workers):
    """With two workers two threads do work, with one only one; every answer is right."""
    origin = make_origin(always(ok(b"x")))
    weir = start_weir("-l", "127.0.0.1:0", "-w", str(workers))
    time.sleep(0.1)
    before = thread_times(weir)
    clients = [Client(weir.address) for unused in range(32)]
    for unused in range(10):
        for client in clients:
            client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
        for client in clients:
            assert client.response().body == b"x"
    for client in clients:
        client.close()
    after = thread_times(weir)
    worked = [name for name in after if after[name] - before.get(name, 0) > 1_000_000]
    assert len(worked) == workers, (before, after)
    assert len(origin.requests) == 320
