"""plugins/acl: what rules deny, however it is spelt and whichever way it is asked for."""
import socket

import pytest

import socks5
from client import Client
from message import Reader
from origin import ok
from test_auth_basic import basic, hashed


@pytest.fixture
def start(start_weir, tmp_path):
    def start(rules, otherwise="allow", text="", listener=""):
        lines = "".join(f"        - {rule}\n" for rule in rules)
        return start_weir("-c", socks5.write_configuration(
            tmp_path, listener=listener, text="filters:\n  - use: acl\n    with:\n"
            f"      rules:\n{lines}      otherwise: {otherwise}\n{text}"))
    return start


@pytest.fixture
def echo(make_origin):
    def answer(connection):
        while request := connection.request():
            connection.send(ok(request.target))
    return make_origin(answer)


def get(authority, path=b"/", method=b"GET", host=None):
    return b"%s http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (method, authority, path,
                                                           host or authority)


def statuses(weir, *requests, source=None):
    """Each on a connection of its own."""
    found = []
    for request in requests:
        with from_source(weir, source) if source else Client(weir.address) as client:
            found.append(client.ask(request).status)
    return found


def from_source(weir, source):
    client = Client.__new__(Client)
    client.socket = socket.create_connection(weir.address, 8, (source, 0))
    client.reader = Reader(client.socket)
    return client


def socks(weir, authority):
    with socks5.Socks5Client(weir.address) as client:
        client.greet()
        client.send(socks5.request(authority))
        return client.reply().code


def connect(authority):
    return b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)


def test_the_first_rule_that_fits(start, echo):
    weir = start(["allow: { host: localhost, method: GET }", "deny: { host: localhost }",
                  f"deny: {{ port: [ 1-79, {echo.port} ] }}"])
    assert statuses(weir, get(b"localhost:%d" % echo.port),
                    get(b"localhost:%d" % echo.port, method=b"DELETE"),
                    get(echo.authority)) == [200, 403, 403]
    with Client(weir.address) as client:
        answer = client.ask(get(echo.authority))
        assert answer.status == 403 and b"http_request_denied" in answer.get(b"Proxy-Status")
        assert client.ask(get(b"localhost:%d" % echo.port)).status == 200  # it stays open


@pytest.mark.parametrize("authority", [
    b"localhost", b"LOCALHOST", b"localhost.", b"%6cocalhost", b"127.0.0.1", b"127.0.0.1.",
    b"[::ffff:127.0.0.1]", b"[::FFFF:7f00:1]", b"user@localhost"])
def test_a_host_is_denied_however_it_is_spelt(start, echo, authority):
    weir = start(["deny: { host: [ Localhost., 127.0.0.1 ] }"])
    target = b"%s:%d" % (authority, echo.port)
    assert statuses(weir, get(target), connect(target))[0] in (400, 403)
    assert statuses(weir, connect(target))[0] in (400, 403)
    if b"@" not in authority and b"%" not in authority:
        assert socks(weir, target) == socks5.REPLIES["not allowed"]
    assert not echo.requests


@pytest.mark.parametrize("authority", [
    b"localhost", b"LocalHost.", b"127.0.0.1", b"127.0.0.2", b"127.1", b"[::ffff:127.0.0.1]",
    b"0.0.0.0", b"[::]"])
def test_a_denied_address_is_not_reached(start, echo, authority):
    weir = start(["deny: { address: loopback }"])
    target = b"%s:%d" % (authority, echo.port)
    assert statuses(weir, get(target), connect(target)) in ([403, 403], [502, 502])
    assert socks(weir, target) in (socks5.REPLIES["not allowed"],
                                   socks5.REPLIES["host unreachable"])
    assert not echo.requests


def test_of_several_addresses_those_allowed_are_reached(start, make_origin):
    """localhost is both 127.0.0.1 and ::1."""
    try:
        six = make_origin(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    weir = start(["deny: { address: '::1' }"])
    four = make_origin(host="127.0.0.1")
    assert statuses(weir, get(b"localhost:%d" % four.port), get(b"localhost:%d" % six.port),
                    connect(b"localhost:%d" % six.port)) == [200, 403, 403]
    assert not six.requests


def test_a_kept_connection_of_somebody_else(start, echo):
    """The first client's request opened it; the second may not reach that address."""
    weir = start(["deny: { client: 127.0.0.2, address: 127.0.0.1 }"])
    request = get(b"localhost:%d" % echo.port)
    assert statuses(weir, request, request) == [200, 200]
    assert statuses(weir, request, source="127.0.0.2") == [403]
    assert statuses(weir, request) == [200]
    assert len(echo.requests) == 3


def test_users(start_weir, tmp_path, echo):
    """A kept connection of one user is of no use to another; SOCKS clients are users too."""
    users = ", ".join(f"{name}: '{hashed('x')}'" for name in ("ann", "bob"))
    weir = start_weir("-c", socks5.write_configuration(
        tmp_path, text=f"filters:\n  - use: auth-basic\n    with: {{ users: {{ {users} }} }}\n"
        "  - use: acl\n    with:\n      rules:\n        - allow: { user: ann }\n"
        "        - deny: { user: '*', address: loopback }\n      otherwise: deny\n"))
    ask = get(b"localhost:%d" % echo.port)[:-2]
    requests = {name: ask + basic(name, "x") + b"\r\n" for name in ("ann", "bob")}
    assert statuses(weir, ask + b"\r\n", requests["ann"], requests["bob"],
                    requests["ann"]) == [407, 200, 403, 200]
    for name, code in (("ann", "succeeded"), ("bob", "not allowed")):
        with socks5.Socks5Client(weir.address) as client:
            client.send(socks5.PASSWORD_OFFER)
            assert client.reader.take(2) == b"\5\2"
            client.send(b"\1\3" + name.encode() + b"\1x")
            assert client.reader.take(2) == b"\1\0"
            client.send(socks5.request(echo.authority))
            assert client.reply().code == socks5.REPLIES[code]


def test_rules_behind_those_with_addresses(start, echo):
    weir = start(["allow: { address: 127.0.0.1, path: /a }", "deny: { path: /b }"],
                 otherwise="deny")
    assert statuses(weir, get(echo.authority, b"/a"), get(echo.authority, b"/b"),
                    get(echo.authority, b"/c"), get(b"[::1]:1", b"/a")) == [200, 403, 403, 403]


@pytest.mark.parametrize("path,status", [
    (b"/x/a", 403), (b"/%78/a", 403), (b"//x/a", 403), (b"/a/../x/a", 403), (b"/x%2fa", 403),
    (b"/a/..;v/x/a", 403), (b"/%2578/a", 403), (b"/x;v/a", 403), (b"/x/a?b", 403),
    (b"/X/a", 200), (b"/x", 200), (b"/?/x/a", 200)])
def test_a_path_is_denied_however_it_is_spelt(start, echo, path, status):
    weir = start(["deny: { path: /x/* }"])
    assert statuses(weir, get(echo.authority, path)) == [status]
    assert [request.target for request in echo.requests] == ([path] if status == 200 else [])


def test_upstreams_have_no_address(start, echo):
    text = (f"upstream: {{ app: {{ servers: [ {echo.authority.decode()} ] }} }}\n"
            "fixed_upstream: app\n")
    request = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    assert statuses(start(["deny: { address: loopback }"], text=text), request) == [200]
    assert statuses(start(["allow: { address: loopback }"], "deny", text=text), request) == [403]
    assert len(echo.requests) == 1


def test_on_one_route_alone(start_weir, tmp_path, echo):
    text = ("routes:\n  - when: { host: localhost }\n    to: direct\n    filters:\n"
            "      - { use: acl, with: { rules: [ deny: { address: loopback } ], "
            "otherwise: allow } }\n")
    weir = start_weir("-c", socks5.write_configuration(tmp_path, text=text))
    assert statuses(weir, get(b"localhost:%d" % echo.port), get(echo.authority)) == [403, 200]


def test_it_may_guard_a_listener(start_weir, tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text(f"plugin_directory: {socks5.plugins()}\nworkers: 1\n"
                    "listen: [ { address: '0.0.0.0:0' } ]\n"
                    "filters: [ { use: acl, with: { otherwise: deny } } ]\n")
    assert statuses(start_weir("-c", str(file)), get(b"127.0.0.1:1")) == [403]
