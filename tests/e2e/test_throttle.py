"""plugins/throttle: how long bytes take, in both directions, of bodies and tunnels."""
import threading
import time

import pytest

import origin
import socks5
from client import Client

KIB = 1024


@pytest.fixture
def start(start_weir, tmp_path):
    def start(settings, before=""):
        return start_weir("-c", socks5.write_configuration(
            tmp_path, text=f"filters:\n{before}  - use: throttle\n    with: {{ {settings} }}\n"))
    return start


def seconds(action, *arguments):
    begun = time.monotonic()
    action(*arguments)
    return time.monotonic() - begun


def sized(connection):
    """Answers with as many bytes as the path says, behind the body."""
    while request := connection.request():
        connection.send(origin.ok(b"x" * int(request.target[1:])))


def download(weir, authority, size):
    with Client(weir.address) as client:
        body = client.ask(b"GET http://%s/%d HTTP/1.1\r\nHost: a\r\n\r\n" % (authority, size)).body
        assert len(body) == size


def upload(weir, authority, size):
    with Client(weir.address) as client:
        answer = client.ask(b"PUT http://%s/0 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
                            % (authority, size), b"y" * size)
        assert answer.status == 200


def test_responses(start, make_origin):
    """256 KiB at once, then 512 KiB a second."""
    weir = start("response: 512KiB/s, burst: 256KiB")
    authority = make_origin(sized).authority
    assert seconds(download, weir, authority, 200 * KIB) < 0.4
    assert 0.95 < seconds(download, weir, authority, 768 * KIB) < 1.6
    assert seconds(upload, weir, authority, 768 * KIB) < 0.7


def test_requests(start, make_origin):
    weir = start("request: 512KiB/s, burst: 256KiB")
    authority = make_origin(sized).authority
    assert 0.95 < seconds(upload, weir, authority, 768 * KIB) < 1.6
    assert seconds(download, weir, authority, 768 * KIB) < 0.7


def echo(connection):
    while data := connection.socket.recv(65536):
        connection.send(data)


@pytest.mark.parametrize("settings", ["tunnel: 512KiB/s", "request: 512KiB/s",
                                      "response: 512KiB/s"])
def test_tunnels(start, make_origin, settings):
    """Both ways at the same time: the echo takes no longer than one of them."""
    weir = start(settings + ", burst: 128KiB")
    target = make_origin(echo).authority
    size = 640 * KIB
    with Client(weir.address) as client:
        client.send(b"CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n" % target)
        assert client.response(b"CONNECT").status == 200
        sender = threading.Thread(target=client.send, args=[b"z" * size])
        begun = time.monotonic()
        sender.start()
        assert client.reader.take(size) == b"z" * size
        sender.join()
        assert 0.9 < time.monotonic() - begun < 2


@pytest.mark.parametrize("per,slow", [("exchange", False), ("client", True), ("user", True)])
def test_who_shares_the_rate(start, make_origin, per, slow):
    weir = start(f"response: 512KiB/s, burst: 64KiB, per: {per}")
    authority = make_origin(sized).authority
    downloads = [threading.Thread(target=download, args=[weir, authority, 256 * KIB])
                 for _ in range(3)]

    def together():
        for one in downloads:
            one.start()
        for one in downloads:
            one.join()
    low, high = (1.1, 2.5) if slow else (0.2, 0.9)
    assert low < seconds(together) < high


def test_slow_bytes_are_not_piled_up(start, make_origin):
    """A slow body holds back its server, and nobody else."""
    sent = []

    def endless(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while not connection.origin.closing:
            sent.append(connection.socket.send(b"x" * 65536))
    weir = start("response: 16KiB/s, burst: 16KiB")
    slow, fast = make_origin(endless, send_buffer=65536), make_origin(sized)
    with Client(weir.address, receive_buffer=65536) as client:
        client.send(b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n" % slow.authority)
        time.sleep(1)
        assert seconds(download, weir, fast.authority, 10 * KIB) < 0.5
        assert sum(sent) < 8 << 20


def test_an_answer_of_a_filter(start):
    weir = start("response: 512KiB/s, burst: 64KiB", before="  - { use: respond, with: { size: "
                                                          "576KiB } }\n")
    assert 0.95 < seconds(download, weir, b"a.example", 576 * KIB) < 1.6


def test_mistakes(start_weir, tmp_path):
    from program import run
    file = socks5.write_configuration(tmp_path, text="filters: [ { use: throttle, with: { request: "
                                      "10B/s, per: day } } ]\n")
    ended = run("check", "-c", file)
    assert ended.returncode == 78
    assert "request" in ended.stderr and "per" in ended.stderr, ended.stderr
