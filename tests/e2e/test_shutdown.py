"""SIGTERM: what is in progress finishes, what is idle ends, nothing new begins, the status is 0."""
import signal
import socket
import subprocess
import threading
import time

import pytest

import program
from client import Client
from origin import ok


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


def refused(address):
    try:
        socket.create_connection(address, 2).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # it was in the queue of the listener that closed; the next one is refused
    return False


def wait_refused(weir):
    weir.settle(lambda: refused(weir.address), "new connections to be refused")


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_weir_ends_at_once(start_weir, number, workers):
    weir = start_weir("-l", "127.0.0.1:0", "-w", workers)
    begin = time.monotonic()
    weir.process.send_signal(number)
    weir.finish(5)
    assert time.monotonic() - begin < 2
    assert refused(weir.address)


def test_idle_connections_do_not_hold_it_up(start_weir, make_origin):
    """Kept connections on both legs, and clients that have not said a word yet."""
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0")
    clients = [Client(weir.address) for unused in range(10)]
    for client in clients[:5]:
        assert client.ask(get(origin)).status == 200
    begin = time.monotonic()
    weir.terminate()
    weir.finish(5)
    assert time.monotonic() - begin < 2
    for client in clients:
        assert client.ended()
        assert client.reader.end == "end", "an idle connection is closed, not reset"
        client.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_had_come_is_answered(start_weir, make_origin, workers):
    """Weir cannot have read, nor even accepted, when it is told to stop."""
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0", "-w", workers)
    weir.process.send_signal(signal.SIGSTOP)
    clients = [Client(weir.address) for unused in range(30)]
    for client in clients:
        client.send(get(origin))
    weir.terminate()
    weir.process.send_signal(signal.SIGCONT)
    for client in clients:
        assert client.response().status == 200
        assert client.ended()
        client.close()
    weir.finish(5)


def test_request_in_progress_is_finished(start_weir, make_origin):
    asked, go_on = threading.Event(), threading.Event()

    def handler(connection):
        connection.request()
        asked.set()
        assert go_on.wait(8)
        connection.send(ok(b"late"))
        connection.wait_end()

    origin = make_origin(handler)
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        weir.terminate()
        wait_refused(weir)
        assert weir.process.poll() is None, "weir left a request unanswered"
        go_on.set()
        response = client.response()
        assert (response.status, response.body) == (200, b"late")
        assert b"close" in response.items(b"connection")
        assert client.ended()
    weir.finish(5)


def test_download_in_progress_is_finished(start_weir, make_origin):
    size = 20_000_000
    head_sent = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        head_sent.set()
        connection.send(*[b"0123456789" * 100000] * (size // 1000000))

    origin = make_origin(handler)
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        client.send(get(origin))
        assert head_sent.wait(5)
        client.reader.fill()
        weir.terminate()
        wait_refused(weir)
        response = client.response()
        assert response.complete and len(response.body) == size
        assert client.ended()
    weir.finish(5)


def test_upload_in_progress_is_finished(start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        client.send(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
                    % origin.url("/up").encode())
        origin.connection()
        weir.terminate()
        wait_refused(weir)
        client.send(b"world")
        response = client.response()
        assert (response.status, response.body) == (200, b"/up")
        assert b"close" in response.items(b"connection")
    weir.finish(5)
    assert origin.requests[0].body == b"helloworld"


def test_tunnel_in_progress_is_finished(start_weir, make_origin):
    def handler(connection):
        while connection.reader.fill():
            connection.send(connection.reader.take(connection.reader.available()))

    origin = make_origin(handler)
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        assert client.connect(origin.authority, b"one").status == 200
        assert client.reader.take(3) == b"one"
        weir.terminate()
        wait_refused(weir)
        client.send(b"two")
        assert client.reader.take(3) == b"two", "the drain cut a tunnel that was in use"
    weir.finish(5)


def test_second_signal_ends_it_now(start_weir, make_origin):
    asked = threading.Event()

    def handler(connection):
        connection.request()
        asked.set()
        connection.wait_end()

    origin = make_origin(handler)
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        weir.terminate()
        wait_refused(weir)
        begin = time.monotonic()
        weir.terminate()
        weir.finish(5)
        assert time.monotonic() - begin < 2
        answer = client.response()
        assert answer is None or answer.status >= 500


def test_lost_standard_error_does_not_end_it(make_origin):
    """Whoever started weir and read its log may go away; a log line must not kill it."""
    origin = make_origin()
    process = subprocess.Popen([program.path(), "-l", "127.0.0.1:0"], env=program.environment(),
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        found = None
        while not found:
            line = process.stderr.readline()
            assert line, "weir ended before it listened"
            found = program.LISTENING.search(line)
        process.stderr.close()
        with Client((found[2], int(found[3]))) as client:
            assert client.ask(get(origin)).status == 200
            client.send(b"BAD\r\n\r\n")
            assert client.response().status == 400
        process.terminate()
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.wait()
