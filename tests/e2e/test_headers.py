"""plugins/headers: fields of requests and responses, and who the client was."""
import socket

import pytest

import socks5
from client import Client
from origin import ok


@pytest.fixture
def origin(make_origin):
    def answer(connection):
        while connection.request():
            connection.send(ok(b"x", b"Server: secret\r\nX-One: 1\r\nx-one: 2\r\n"
                               b"X-Powered-By: y\r\nLink: <http://old/a>, <http://old/b>\r\n"))
    return make_origin(answer)


@pytest.fixture
def start(start_weir, tmp_path):
    def start(settings, text="", **options):
        lines = "".join(f"      {line}\n" for line in settings.strip().split("\n"))
        return start_weir("-c", socks5.write_configuration(
            tmp_path, protocols="h1", text=f"filters:\n  - use: headers\n    with:\n{lines}{text}"),
            **options)
    return start


def ask(address, origin, fields=b"", path=b"/", absolute=True):
    """The response, and the fields of the request as the origin has it but for those of the hop."""
    target = b"http://" + origin.authority + path if absolute else path
    with Client(address) as client:
        answer = client.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n"
                            % (target, origin.authority, fields))
    came = origin.requests[-1].fields if origin.requests else []
    return answer, [f"{name.decode()}: {value.decode()}" for name, value in came
                    if name.lower() not in (b"host", b"via")]


def upstream(origin):
    return (f"upstream: {{ app: {{ servers: [ {origin.authority.decode()} ] }} }}\n"
            "fixed_upstream: app\n")


# --- edits

def test_requests(start, origin):
    weir = start("""
request:
  add: { X-Tag: [ one, two ] }
  default: { User-Agent: weir, Accept: "*/*" }
  set: { X-User: "{user}", X-Client: "{client}", X-Method: "{method} {path}", X-Open: "{{" }
  rewrite:
    - { name: Referer, find: "http://old/", replace: "https://new/" }
    - { name: Accept-Language, pattern: "^([a-z]+).*$", replace: "$1" }
  remove: [ X-Debug-*, cookie ]
""")
    answer, came = ask(weir.address, origin,
                       b"Cookie: a\r\nX-Debug-A: 1\r\nx-debug-b: 2\r\nCOOKIE: b\r\n"
                       b"Accept: text/x\r\nX-User: root\r\nReferer: http://old/x\r\nX-Keep: 1\r\n"
                       b"x-keep: 2\r\nAccept-Language: de-DE, en\r\nX-Tag: zero\r\n", b"/p?q")
    assert answer.status == 200
    assert came == ["Accept: text/x", "Referer: https://new/x", "X-Keep: 1", "x-keep: 2",
                    "Accept-Language: de", "X-Tag: zero", "X-Client: 127.0.0.1",
                    "X-Method: GET /p?q", "X-Open: {", "User-Agent: weir", "X-Tag: one",
                    "X-Tag: two"]


def test_responses(start, origin):
    weir = start("""
response:
  remove: [ Server, X-Powered-* ]
  rewrite: [ { name: Link, find: "http://old", replace: "https://new" } ]
  set: { X-One: "{server}", X-Two: two }
""")
    answer, _ = ask(weir.address, origin)
    assert answer.get(b"X-One") == origin.authority and answer.get(b"X-Two") == b"two"
    assert answer.get(b"Server") is None and answer.get(b"X-Powered-By") is None
    assert answer.get(b"Link") == b"<https://new/a>, <https://new/b>"
    assert answer.body == b"x"


def test_answers_that_weir_makes(start, origin):
    """Of errors, of what is refused, and of filters in front and behind."""
    weir = start("response: { set: { X-Seen: 'yes' }, remove: [ Proxy-Status ] }",
                 text="  - { use: redirect, with: { rules: [ { path: /old, to: /new } ] } }\n")
    answer, _ = ask(weir.address, origin, path=b"/old")
    assert answer.status == 301 and answer.get(b"X-Seen") == b"yes"
    for request, status in ((b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\r\n", 502),
                            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
                            (b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: a\r\n\r\n", 502)):
        with Client(weir.address) as client:
            answer = client.ask(request)
            assert answer.status == status and answer.get(b"X-Seen") == b"yes", request
            assert answer.get(b"Proxy-Status") is None and answer.body


def test_a_value_that_would_be_too_long(start, origin):
    weir = start('request: { set: { X-Path: "{path}{path}{path}" } }')
    assert ask(weir.address, origin, path=b"/" + b"a" * 7000)[0].status == 500
    assert ask(weir.address, origin)[0].status == 200


def test_on_one_route(start_weir, tmp_path, origin):
    weir = start_weir("-c", socks5.write_configuration(
        tmp_path, protocols="h1", text="routes:\n  - when: { path: /a/* }\n    to: direct\n"
        "    filters: [ { use: headers, with: { request: { set: { X-Route: a } }, "
        "response: { set: { X-Route: b } } } } ]\n"))
    answer, came = ask(weir.address, origin, path=b"/a/")
    assert came == ["X-Route: a"] and answer.get(b"X-Route") == b"b"
    answer, came = ask(weir.address, origin, path=b"/b/")
    assert came == [] and answer.get(b"X-Route") is None


# --- who the client was

CLAIMS = (b"X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\n"
          b"Forwarded: for=203.0.113.9\r\n")


def forwarded(came):
    return {line.split(": ")[0].lower(): line.split(": ")[1] for line in came}


def test_a_forward_proxy_tells_nothing(start, origin):
    weir = start("forwarded: {}")
    assert ask(weir.address, origin)[1] == []
    assert len(ask(weir.address, origin, CLAIMS)[1]) == 4


def test_a_reverse_proxy_says_who_the_client_was(start, origin):
    """Nobody is believed unless it was said."""
    weir = start("forwarded: {}", text=upstream(origin))
    for claims in (b"", CLAIMS):
        came = forwarded(ask(weir.address, origin, claims, absolute=False)[1])
        authority = origin.authority.decode()
        assert came == {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http",
                        "x-forwarded-host": authority,
                        "forwarded": f'for=127.0.0.1;host="{authority}";proto=http'}


@pytest.mark.parametrize("trusted,believed", [("127.0.0.0/8", True), ("10.0.0.0/8", False),
                                              ("10.0.0.0/8, loopback", True)])
def test_trusted_hops(start, origin, trusted, believed):
    weir = start(f"forwarded: {{ forwarded: strip, trusted: [ {trusted} ] }}", upstream(origin))
    came = forwarded(ask(weir.address, origin, CLAIMS + b"X-Forwarded-For: 192.0.2.5\r\n",
                         absolute=False)[1])
    assert came == {
        "x-forwarded-for": "203.0.113.9, 192.0.2.5, 127.0.0.1" if believed else "127.0.0.1",
        "x-forwarded-proto": "https" if believed else "http",
        "x-forwarded-host": "b" if believed else origin.authority.decode()}


@pytest.mark.parametrize("mode,expected", [
    ("append", "127.0.0.1"), ("replace", "127.0.0.1"), ("strip", None), ("keep", "203.0.113.9")])
def test_modes_on_a_forward_proxy(start, origin, mode, expected):
    weir = start(f"forwarded: {{ x_forwarded: {mode} }}")
    assert forwarded(ask(weir.address, origin, CLAIMS)[1]).get("x-forwarded-for") == expected


def test_clients_of_ipv6_and_of_a_socket(start_weir, tmp_path, origin):
    file = tmp_path / "weir.yaml"
    file.write_text(f"plugin_directory: {socks5.plugins()}\nworkers: 1\nlisten:\n"
                    f"  - address: '[::1]:0'\n  - address: unix:{tmp_path}/w\n"
                    "filters: [ { use: headers, with: { forwarded: { client_port: true, trusted: "
                    f"[ unix ] }} }} }} ]\n{upstream(origin)}")
    weir = start_weir("-c", str(file), listeners=2)
    with Client(weir.addresses[0]) as client:
        client.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        came = origin.requests[-1]
        assert came.get(b"X-Forwarded-For") == b"::1"
        assert came.get(b"Forwarded") == b'for="[::1]:%d";host=a;proto=http' % client.port
    ask(str(tmp_path / "w"), origin, CLAIMS, absolute=False)
    came = origin.requests[-1]
    assert came.get(b"X-Forwarded-For") == b"203.0.113.9, unknown"
    assert came.get(b"X-Forwarded-Proto") == b"https"


def test_tunnels_are_left_alone(start, make_origin):
    target = make_origin(lambda connection: connection.send(b"hello"))
    weir = start("forwarded: { x_forwarded: append }")
    with socket.create_connection(weir.address, 5) as client:
        client.sendall(b"CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n" % target.authority)
        assert client.recv(12) == b"HTTP/1.1 200"


# --- mistakes

@pytest.mark.parametrize("settings,says", [
    ("request: { set: { Host: a } }", "Host is weir's own"),
    ("request: { add: { A: '{nobody}' } }", "{nobody} is no placeholder"),
    ("response: { rewrite: [ { name: A, pattern: '(' , replace: b } ] }", "pattern"),
    ("response: { rewrite: [ { name: A, find: b } ] }", '"replace" is missing'),
    ("forwarded: { forwarded: maybe }", "auto"),
    ("forwarded: { trusted: [ 10.0.0.0/99 ] }", "10.0.0.0/99"),
    ("requests: {}", 'did you mean "request"?'),
])
def test_mistakes(tmp_path, settings, says):
    from program import run
    file = socks5.write_configuration(tmp_path, protocols="h1", text="filters:\n  - use: headers\n"
                                      f"    with:\n      {settings}\n")
    ended = run("check", "-c", file)
    assert ended.returncode == 78
    assert f"{file}:7:" in ended.stderr and says in ended.stderr, ended.stderr
