"""Who the client is and where it may go, by filters: of a listener, of a route, for SOCKS5."""
import base64

import pytest

import socks5
from client import Client
from origin import ok
from plugins import built

PLUGINS = f"plugins: [ {built('gate')} ]\n"


@pytest.fixture
def start(start_weir, tmp_path):
    def start(text, **options):
        file = tmp_path / "weir.yaml"
        file.write_text("workers: 1\n" + PLUGINS + text)
        return start_weir("-c", file, **options)
    return start


LISTEN = "listen: [ { address: 127.0.0.1:0 } ]\n"


def get(url, name=None, secret=None):
    more = b""
    if name:
        token = base64.b64encode(f"{name}:{secret}".encode())
        more = b"Proxy-Authorization: Basic " + token + b"\r\n"
    return b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (url.encode(), more)


def test_a_filter_says_who_the_client_is(start, make_origin):
    origin = make_origin()
    weir = start(LISTEN + "filters: [ { use: gate, with: { secret: open } } ]\n")
    with Client(weir.address) as client:
        assert client.ask(get(origin.url())).status == 403
        assert client.ask(get(origin.url(), "al", "shut")).status == 403
        response = client.ask(get(origin.url(), "al", "open"))
        assert response.status == 200
        assert response.all(b"x-gate") == [b"gate al"]
        assert client.ask(get(origin.url())).status == 403  # each request says it anew
    assert len(origin.requests) == 1
    assert not origin.requests[0].all(b"proxy-authorization")


def test_the_filters_of_a_route_come_behind(start, make_origin):
    origin = make_origin()
    host = "127.0.0.1"
    weir = start(LISTEN + f"""filters: [ {{ use: gate, with: {{ name: first }} }} ]
routes:
  - when: {{ host: {host}, path: /secret/* }}
    to: direct
    filters: [ {{ use: gate, with: {{ name: second, secret: open }} }} ]
""")
    with Client(weir.address) as client:
        plain = client.ask(get(origin.url("/plain")))
        assert plain.all(b"x-gate") == [b"first"]
        assert client.ask(get(origin.url("/secret/a"))).status == 403
        secret = client.ask(get(origin.url("/secret/a"), "al", "open"))
        assert secret.all(b"x-gate") == [b"second al", b"first al"]  # backwards
    assert len(origin.requests) == 2


@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_no_address_is_dialled_that_a_filter_forbids(start, make_origin, method):
    origin = make_origin()
    weir = start(LISTEN + "filters: [ { use: gate, with: { forbids: 127.0.0.1 } } ]\n")
    with Client(weir.address) as client:
        if method == "GET":
            assert client.ask(get(origin.url())).status == 403
        else:
            client.send(b"CONNECT localhost:%d HTTP/1.1\r\nHost: a\r\n\r\n" % origin.port)
            assert client.response().status in (403, 502)  # localhost may be ::1 too
    assert not origin.connections


def test_a_kept_connection_is_judged_anew(start, make_origin):
    origin = make_origin()
    weir = start(LISTEN + f"""routes:
  - when: {{ host: 127.0.0.1, path: /not/* }}
    to: direct
    filters: [ {{ use: gate, with: {{ forbids: 127.0.0.1 }} }} ]
""")
    with Client(weir.address) as client:
        assert client.ask(get(origin.url("/yes"))).status == 200
        assert client.ask(get(origin.url("/not/here"))).status == 403
        assert client.ask(get(origin.url("/yes"))).status == 200
    assert len(origin.connections) == 1


# SOCKS5: who it is is asked before there is a request

@pytest.fixture
def socks(start_weir, tmp_path):
    file = tmp_path / "weir.yaml"
    log = tmp_path / "access.log"
    file.write_text(f"""workers: 1
plugins: [ {built('gate')} ]
plugin_directory: {socks5.plugins()}
listen: [ {{ address: 127.0.0.1:0, protocols: [h1, socks5] }} ]
filters: [ {{ use: gate, with: {{ secret: open }} }} ]
log: {{ access: {{ format: common, file: {log} }} }}
""")
    weir = start_weir("-c", file)
    weir.access_log = log
    return weir


def password(name, secret):
    return bytes([1, len(name)]) + name + bytes([len(secret)]) + secret


def test_socks5_asks_for_the_password(socks, make_origin):
    origin = make_origin()
    with Client(socks.address) as client:
        client.send(b"\x05\x02\x00\x02")
        assert client.reader.take(2) == b"\x05\x02"
        client.send(password(b"al", b"open"))
        assert client.reader.take(2) == b"\x01\x00"
        client.send(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + origin.port.to_bytes(2, "big"))
        assert client.reader.take(10)[:2] == b"\x05\x00"
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 200
    socks.stop()
    assert " al [" in socks.access_log.read_text()


def test_socks5_refuses_who_does_not_know_it(socks):
    with Client(socks.address) as client:
        client.send(b"\x05\x01\x02")
        assert client.reader.take(2) == b"\x05\x02"
        client.send(password(b"al", b"shut"))
        answer = client.reader.take(2)
        assert answer[:1] == b"\x01" and answer[1:] != b"\x00"
    socks.stop()
    assert "AUTHENTICATE" in socks.access_log.read_text()


def test_socks5_without_a_password_is_refused(socks):
    with Client(socks.address) as client:
        client.send(b"\x05\x01\x00")
        assert client.reader.take(2) == b"\x05\xff"
