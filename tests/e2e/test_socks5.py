"""SOCKS5: what clients ask for becomes a tunnel like CONNECT's, or a reply that says why not."""
import hashlib
import os
import threading
import time

import pytest

import curl
import socks5
from client import Client
from origin import default
from program import Weir, run
from socks5 import GREETED, GREETING, REPLIES, Socks5Client, request
# A tunnel is a tunnel: these run here with the clients and the weir of the fixtures below.
from test_tunnel import (  # noqa: F401
    accept_and, echo, test_both_directions_at_full_speed,
    test_bytes_that_look_like_requests_are_bytes,
    test_client_ends_first_and_the_origin_answers_afterwards,
    test_last_megabytes_before_an_end_arrive, test_origin_ends_first_and_the_client_goes_on,
    test_origin_speaks_first, test_reset_by_the_client_ends_the_tunnel,
    test_reset_by_the_origin_ends_the_tunnel)


@pytest.fixture
def weir(shared_weirs, tmp_path):
    """The module's proxy, for HTTP and SOCKS5."""
    if not shared_weirs or shared_weirs[-1].process.poll() is not None:
        shared_weirs.append(Weir("-c", socks5.write_configuration(tmp_path)))
    yield shared_weirs[-1]
    shared_weirs[-1].check()


@pytest.fixture
def connect(weir):
    """Opens SOCKS5 connections to the module's proxy, or to another address."""
    clients = []

    def open_client(address=None, **options):
        clients.append(Socks5Client(address or weir.address, **options))
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()


@pytest.fixture
def start(start_weir, tmp_path):
    """Starts a weir of the test's own: start(text="deny_addresses: [...]")."""
    return lambda **options: start_weir("-c", socks5.write_configuration(tmp_path, **options))


def ask(client, authority):
    """The name of the reply, and the end that follows it when it is none of success."""
    code = client.connect(authority).code
    name = next(name for name, number in REPLIES.items() if number == code)
    if code:
        assert client.ended()
        assert client.reader.end == "end", "a reply must not be lost to a reset"
    return name


# --- tunnels

@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_addresses_and_names(connect, make_origin, host):
    origin = make_origin(echo)
    client = connect()
    assert client.connect(b"%s:%d" % (host.encode(), origin.port)).status == 200
    assert client.usable(), "something came that nobody sent"
    client.send(b"ping")
    assert client.reader.take(4) == b"ping"
    assert origin.connection().received == b"ping", "nothing of the request enters the tunnel"


@pytest.mark.parametrize("how", ["address", "name"])
def test_ipv6(connect, make_origin, how):
    origin = make_origin(echo, host="::1")
    client = connect()
    client.greet()
    port = origin.port.to_bytes(2, "big")
    client.send(request(origin.authority) if how == "address" else b"\5\1\0\3\3::1" + port)
    assert client.reply().status == 200
    client.send(b"six")
    assert client.reader.take(3) == b"six"


@pytest.mark.parametrize("size", [1, 5, 16384, 300000])
def test_bytes_sent_early_arrive_first(connect, make_origin, size):
    """In the same packet as greeting and request, before weir has said a word."""
    origin = make_origin(echo)
    client = connect()
    early = bytes(i * 7 % 251 for i in range(size))
    sender = threading.Thread(target=client.send, daemon=True, args=(
        GREETING + request(origin.authority) + early, b"later"))
    sender.start()
    assert client.reader.take(2) == GREETED
    assert client.reply().status == 200
    assert client.reader.take(size + 5) == early + b"later"
    sender.join(5)


def test_early_bytes_and_an_end_in_the_same_packet(connect, make_origin):
    def handler(connection):
        assert connection.reader.take_rest() == b"all"
        connection.send(b"seen")

    origin = make_origin(handler)
    client = connect()
    client.send(GREETING + request(origin.authority) + b"all")
    client.half_close()
    assert client.reader.take(2) == GREETED
    assert client.reply().status == 200
    assert client.reader.take_rest() == b"seen"
    assert client.reader.end == "end"


def test_one_byte_at_a_time(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    for byte in GREETING + request(b"localhost:%d" % origin.port) + b"x":
        client.send(bytes([byte]))
        time.sleep(0.002)
    assert client.reader.take(2) == GREETED
    assert client.reply().status == 200
    assert client.reader.take(1) == b"x"


def test_no_descriptor_is_left_behind(weir, make_origin, closed_port):
    origin = make_origin(echo)
    before = weir.descriptors()
    clients = [Socks5Client(weir.address) for unused in range(10)]
    for number, client in enumerate(clients):
        client.connect(origin.authority if number % 2 else b"127.0.0.1:%d" % closed_port)
    for number, client in enumerate(clients):
        client.reset() if number % 4 > 1 else client.close()
    weir.settle(lambda: weir.descriptors() <= before, "the descriptors to be closed")


# --- replies

def test_nobody_listens_there(connect, closed_port):
    assert ask(connect(), b"127.0.0.1:%d" % closed_port) == "refused"


def test_a_name_that_nobody_has(connect):
    assert ask(connect(), b"no-such-host.invalid:80") == "host unreachable"


def test_denied_addresses(start, connect, make_origin):
    origin = make_origin()
    weir = start(text="deny_addresses: [ loopback ]\n")
    assert ask(connect(weir.address), origin.authority) == "not allowed"
    assert ask(connect(weir.address), b"localhost:%d" % origin.port) == "not allowed"
    assert ask(connect(weir.address), b"[::ffff:127.0.0.1]:%d" % origin.port) == "not allowed"
    client = connect(weir.address)
    client.greet()
    client.send(b"\5\1\0\3\x09127.0.0.1" + origin.port.to_bytes(2, "big"))
    assert client.reply().code == REPLIES["not allowed"]
    assert not origin.connections


def test_ports_that_may_be_connected_to(start, connect, make_origin):
    origin, other = make_origin(echo), make_origin(echo)
    weir = start(text=f"connect_ports: [ {origin.port} ]\n")
    assert ask(connect(weir.address), origin.authority) == "succeeded"
    assert ask(connect(weir.address), other.authority) == "not allowed"
    assert not other.connections


def test_early_bytes_do_not_cost_the_reply(connect, closed_port):
    client = connect()
    client.send(GREETING + request(b"127.0.0.1:%d" % closed_port) + b"x" * 50000)
    assert client.reader.take(2) == GREETED
    assert client.reply().code == REPLIES["refused"]
    assert client.ended()
    assert client.reader.end == "end"


@pytest.mark.parametrize("bytes_sent, name", [
    (b"\5\2\0\1\x7f\0\0\1\0\x50", "command unsupported"),
    (b"\5\3\0\1\0\0\0\0\0\0", "command unsupported"),
    (b"\5\1\0\2\x7f\0\0\1\0\x50", "address unsupported"),
    (b"\5\1\0\3\0\0\x50", "failure"),
    (b"\5\1\0\3\3a\0b\0\x50", "failure"),
    (b"\5\1\0\3\3a\nb\0\x50", "failure"),
    (b"\5\1\0\3\x05a:1@b\0\x50", "failure"),
    (b"\5\1\0\1\x7f\0\0\1\0\0", "failure"),
    (b"\4\1\0\x50\x7f\0\0\1\0", "failure"),
])
def test_requests_that_are_not_understood(connect, bytes_sent, name):
    client = connect()
    client.greet()
    client.send(bytes_sent)
    assert client.reply().code == REPLIES[name]
    assert client.ended()


@pytest.mark.parametrize("greeting", [b"\5\0", b"\5\1\1", b"\5\1\2", b"\5\3\1\2\xff"])
def test_methods_that_are_not_spoken(connect, greeting):
    client = connect()
    client.send(greeting)
    assert client.reader.take(2) == b"\5\xff"
    assert client.ended()


# --- listeners

def test_http_and_socks5_at_one_address(weir, connect, make_origin):
    origin = make_origin()
    assert connect().connect(origin.authority).status == 200
    with Client(weir.address) as client:
        assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode()).status == 200


def test_nothing_but_socks5(start, connect, make_origin):
    origin = make_origin(echo)
    weir = start(protocols="socks5")
    assert ask(connect(weir.address), origin.authority) == "succeeded"
    with Client(weir.address) as client:
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
        assert client.ended()


def test_socks5_only_where_it_is_named(start, make_origin):
    weir = start(protocols="h1")
    with Client(weir.address) as client:
        client.send(GREETING)
        assert client.response().status == 400


def test_a_protocol_that_nobody_has(tmp_path):
    ended = run("check", "-c", socks5.write_configuration(tmp_path, protocols="h1, sock5"))
    assert ended.returncode != 0
    assert "weir.yaml:3:" in ended.stderr and "sock5" in ended.stderr


def test_a_reverse_proxy_has_no_tunnels(start, connect, make_origin):
    origin = make_origin(echo)
    weir = start(text=f"upstream: {{ app: {{ servers: [ {origin.authority.decode()} ] }} }}\n"
                      "fixed_upstream: app\n")
    assert ask(connect(weir.address), origin.authority) == "not allowed"


# --- time, and the end

@pytest.mark.parametrize("begun", [b"\5", b"\5\2\0", GREETING, GREETING + b"\5\1\0\3\x09loc"])
def test_slow_clients(start, connect, begun):
    weir = start(text="timeouts: { head: 300ms }\n")
    client = connect(weir.address)
    begin = time.monotonic()
    client.send(begun)
    rest = client.reader.take_rest()
    assert 0.25 < time.monotonic() - begin < 5
    assert client.reader.end == "end"
    if begun.startswith(GREETING):
        assert rest == GREETED + b"\5\1\0\1\0\0\0\0\0\0"
    else:
        assert not rest


def test_bytes_now_and_then_do_not_buy_time(start, connect):
    weir = start(text="timeouts: { head: 500ms }\n")
    client = connect(weir.address)
    begin = time.monotonic()
    try:
        for byte in b"\5\xc8" + bytes(200):
            client.send(bytes([byte]))
            time.sleep(0.02)
    except ConnectionError:
        pass
    assert time.monotonic() - begin < 3, "it went on as long as bytes came"


def test_tunnels_end_by_themselves_when_weir_stops(start, connect, make_origin):
    origin = make_origin(echo)
    weir = start()
    client = connect(weir.address)
    client.connect(origin.authority)
    weir.terminate()
    weir.wait(lambda: "stopping" in weir.said(), "the end to begin", 5)
    client.send(b"still there")
    assert client.reader.take(11) == b"still there"
    client.half_close()
    assert client.reader.take_rest() == b""
    weir.finish(5)


def test_idle_tunnels_end(start, connect, make_origin):
    origin = make_origin(echo)
    weir = start(text="timeouts: { tunnel_idle: 300ms }\n")
    client = connect(weir.address)
    client.connect(origin.authority)
    begin = time.monotonic()
    assert client.ended()
    assert time.monotonic() - begin < 5


# --- what is written about it

def test_access_log(start, connect, make_origin, closed_port, tmp_path):
    origin = make_origin(echo)
    file = tmp_path / "access.log"
    weir = start(text=f"log: {{ access: {{ file: {file}, "
                      f"format: '{{request_line}} {{status}} {{why}}' }} }}\n")
    client = connect(weir.address)
    client.connect(origin.authority)
    client.close()
    ask(connect(weir.address), b"127.0.0.1:%d" % closed_port)
    client = connect(weir.address)
    client.greet()
    client.send(b"\5\2\0\1\x7f\0\0\1\0\x50")
    client.reply()
    weir.settle(lambda: file.read_text().count("\n") == 3, "three lines")
    assert sorted(file.read_text().splitlines()) == sorted([
        f"CONNECT\\x20{origin.authority.decode()}\\x20SOCKS/5 200 ok",
        f"CONNECT\\x20127.0.0.1:{closed_port}\\x20SOCKS/5 502 connection_refused",
        "- 501 not_implemented"])


# --- the real curl

@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_curl(weir, web_server, scheme):
    content = os.urandom(3_000_001)
    web_server.file("socks5", content)
    host = "localhost" if scheme == "socks5h" else "127.0.0.1"
    done = curl.run("-x", f"{scheme}://{weir.authority}", f"http://{host}:{web_server.port}/socks5")
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(content).digest()


def test_curl_uploads(weir, web_server, tmp_path):
    content = os.urandom(5_000_003)
    (tmp_path / "file").write_bytes(content)
    target = f"http://localhost:{web_server.port}/upload/socks5"
    curl.run("-x", f"socks5h://{weir.authority}", "-T", str(tmp_path / "file"), target)
    assert (web_server.directory / "www/upload/socks5").read_bytes() == content


def test_curl_is_told_why_not(weir, closed_port):
    done = curl.run("-x", f"socks5h://{weir.authority}", f"http://127.0.0.1:{closed_port}/",
                    expect=97)
    assert b"(5)" in done.stderr


def test_curl_over_one_connection(weir, make_origin):
    origin = make_origin(default)
    done = curl.run("-x", f"socks5h://{weir.authority}", origin.url("/1"), origin.url("/2"))
    assert done.stdout == b"/1/2"
    assert len(origin.connections) == 1
