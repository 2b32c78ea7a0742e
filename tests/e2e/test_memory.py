"""What weir needed for many clients goes back to the system when they are gone.

How much it may need meanwhile is what bench/scale measures.
"""
import socket
import time

import pytest

from client import Client

FEW, MANY = 20, 1000
KEPT = 384 * 1024   # bytes: code that was not used before, and what is not worth giving back
NEEDED = 512 * 1024
QUIET = 3           # seconds: weir does it after two in which nothing happens
PATIENCE = 10


def silent(clients, origin):
    pass


def partial_heads(clients, origin):
    for client in clients:
        client.send(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 2000)


def waiting_requests(clients, origin):
    for client in clients:
        client.send(b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n" % origin)


def memory_once_at_most(weir, enough):
    """The resident memory when it is not more than that any more, or when patience is over."""
    end = time.monotonic() + PATIENCE
    while (now := weir.memory()) > enough and time.monotonic() < end:
        time.sleep(0.1)
    return now


def hold(weir, use, count):
    """Lets so many clients do it, waits until weir has them all, and returns what it uses."""
    before = weir.descriptors()
    with socket.create_server(("127.0.0.1", 0), backlog=MANY) as listener:
        clients = [Client(weir.address) for unused in range(count)]
        use(clients, b"127.0.0.1:%d" % listener.getsockname()[1])
        expected = before + count * (2 if use is waiting_requests else 1)
        weir.settle(lambda: weir.descriptors() >= expected, "all connections")
        used = weir.memory()
        for client in clients:
            client.close()
    return used


@pytest.mark.parametrize("use", [silent, partial_heads, waiting_requests])
def test_goes_back_when_they_are_gone(weir_release, use):
    hold(weir_release, use, FEW)
    time.sleep(QUIET)
    idle = weir_release.memory()
    used = hold(weir_release, use, MANY)
    assert used >= idle + NEEDED, (idle, used)
    after = memory_once_at_most(weir_release, idle + KEPT)
    assert after <= idle + KEPT, (idle, used, after)
