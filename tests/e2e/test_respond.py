"""plugins/respond: fixed answers, those that the request asks for, late ones and long ones."""
import time

import pytest

import socks5
from client import Client, reset


@pytest.fixture
def start(start_weir, tmp_path):
    def start(settings, text="", **options):
        return start_weir("-c", socks5.write_configuration(
            tmp_path, protocols="h1", text="filters:\n  - use: respond\n    with: { "
            f"{settings} }}\n{text}"), **options)
    return start


def ask(weir, path=b"/", method=b"GET", fields=b""):
    with Client(weir.address) as client:
        return client.ask(request(path, method, fields))


def request(path=b"/", method=b"GET", fields=b""):
    return b"%s http://a.example%s HTTP/1.1\r\nHost: a.example\r\n%s\r\n" % (method, path, fields)


def test_a_fixed_answer(start):
    weir = start('status: 418, fields: { X-One: [ a, b ], content-type: text/x }, body: "short"')
    with Client(weir.address) as client:
        for _ in range(3):
            answer = client.ask(request())
            assert answer.status == 418 and answer.body == b"short"
            assert answer.all(b"X-One") == [b"a", b"b"]
            assert answer.get(b"Content-Type") == b"text/x"
            assert answer.get(b"Content-Length") == b"5"
        head = client.ask(request(method=b"HEAD"))
        assert head.get(b"Content-Length") == b"5" and not head.body
        assert client.ask(request(method=b"POST", fields=b"Content-Length: 3\r\n"), b"abc"
                          ).status == 418
        assert client.ask(request()).body == b"short"


def test_nothing_written(start):
    answer = ask(start(""))
    assert answer.status == 200 and not answer.body
    assert answer.get(b"Content-Length") == b"0"


def test_a_file(start, tmp_path):
    content = bytes(range(256)) * 3000
    (tmp_path / "body.bin").write_bytes(content)
    weir = start("file: body.bin")
    assert ask(weir).body == content
    assert ask(weir, method=b"HEAD").get(b"Content-Length") == str(len(content)).encode()


def test_on_request(start):
    weir = start("on_request: true, size_most: 100MiB, delay_most: 1s, status: 203")
    with Client(weir.address) as client:
        for size in (0, 1, 100, 65535, 65536, 65537, 300000):
            answer = client.ask(request(b"/x?size=%d" % size))
            assert answer.status == 203 and len(answer.body) == size, size
        answer = client.ask(request(b"/?status=404&size=3"))
        assert answer.status == 404 and len(answer.body) == 3
        for status in (204, 304):
            assert client.ask(request(b"/?size=9&status=%d" % status)).status == status
        for wrong in (b"size=x", b"size=104857601", b"status=101", b"delay=1001"):
            assert client.ask(request(b"/?" + wrong)).status == 400
        for size in (10, 100000):
            head = client.ask(request(b"/?size=%d" % size, b"HEAD"))
            assert head.status == 203 and not head.body
        assert client.ask(request(b"/?size=1")).status == 203


def test_long_bodies_take_little_memory(start):
    weir = start("on_request: true")
    before = weir.memory()
    with Client(weir.address, receive_buffer=4096) as stalled:
        stalled.send(request(b"/?size=1073741824"))
        size = 200 << 20
        with Client(weir.address) as client:
            client.send(request(b"/?size=%d" % size))
            assert len(client.response().body) == size
        assert weir.memory() - before < 64 << 20


def test_late_answers(start):
    weir = start("delay: 150ms, body: late")
    begun = time.monotonic()
    assert ask(weir).body == b"late"
    assert 0.14 < time.monotonic() - begun < 2


def test_a_client_that_is_gone(start):
    """Nothing waits for its answer: weir ends at once (start_weir)."""
    weir = start("delay: 20s, body: late")
    client = Client(weir.address)
    client.send(request())
    time.sleep(0.1)
    reset(client.socket)


def test_piece_by_piece(start):
    weir = start("body: abcdefghij, piece: 4B, every: 60ms")
    with Client(weir.address) as client:
        begun = time.monotonic()
        answer = client.ask(request())
        assert answer.body == b"abcdefghij" and answer.chunks == [4, 4, 2]
        assert 0.1 < time.monotonic() - begun < 2
        assert not client.ask(request(method=b"HEAD")).body
        assert client.ask(request()).body == b"abcdefghij"


def test_tunnels(start):
    connect = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"
    for settings, status in (("body: x", 403), ("status: 503, body: no", 503)):
        with Client(start(settings).address) as client:
            assert client.ask(connect).status == status


def test_on_one_route(start_weir, tmp_path, make_origin):
    origin = make_origin()
    weir = start_weir("-c", socks5.write_configuration(
        tmp_path, protocols="h1", text="routes:\n  - when: { path: /health }\n    to: direct\n"
        "    filters: [ { use: respond, with: { body: fine } } ]\n"))
    with Client(weir.address) as client:
        assert client.ask(request(b"/health")).body == b"fine"
        assert client.ask(b"GET http://%s/x HTTP/1.1\r\nHost: a\r\n\r\n" % origin.authority
                          ).body == b"/x"


@pytest.mark.parametrize("settings,says", [
    ("body: a, size: 1B", "body, file and size are three ways to say the same"),
    ("on_request: true, body: a", "the query would say another size"),
    ("every: 1s", "needs a piece"),
    ("fields: { Content-Length: 1 }", "is no field that an answer may be given"),
    ('fields: { A: "a\\nb" }', "has a control character"),
    ("file: missing.bin", "missing.bin"),
    ("status: 199", "status"),
])
def test_mistakes(start_weir, tmp_path, settings, says):
    from program import run
    file = socks5.write_configuration(
        tmp_path, protocols="h1", text=f"filters: [ {{ use: respond, with: {{ {settings} }} }} ]\n")
    ended = run("check", "-c", file)
    assert ended.returncode == 78 and says in ended.stderr and f"{file}:4:" in ended.stderr
