"""A filter that wants bodies whole and changes them: tests/plugins/rewrite.c."""
import pytest

from client_chosen import Client
from message import chunked
from plugins import built

ANSWERS = {
    b"/counted": b"Content-Length: 11\r\nETag: \"a\"\r\nContent-MD5: x\r\n\r\nhello hello",
    b"/chunked": b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"he", b"llo"),
    b"/none": b"Content-Length: 0\r\n\r\n",
    b"/coded": b"Content-Encoding: x\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.fixture
def ask(start_weir, make_origin, tmp_path):
    def answer(connection):
        while request := connection.request():
            said = b"HTTP/1.1 200 OK\r\n" + ANSWERS[request.target]
            head = said[:said.index(b"\r\n\r\n") + 4]
            connection.send(head if request.method == b"HEAD" else said)
    origin = make_origin(answer)
    file = tmp_path / "weir.yaml"
    file.write_text(f"workers: 1\nplugins: [ {built('rewrite')} ]\n"
                    "listen: [ { address: 127.0.0.1:0 } ]\nfilters: [ { use: rewrite-bodies } ]\n")
    weir = start_weir("-c", str(file))

    def ask(path, method=b"GET"):
        with Client(weir.address) as client:
            found = client.ask(b"%s http://%s%s HTTP/1.1\r\nHost: a\r\nAccept-Encoding: x\r\n\r\n"
                               % (method, origin.authority, path))
            assert origin.requests[-1].get(b"Accept-Encoding") is None
            return found
    return ask


@pytest.mark.parametrize("path,body", [
    (b"/counted", b"HELLO-WORLD HELLO-WORLD"), (b"/chunked", b"HELLO-WORLD"), (b"/none", b"")])
def test_whole_bodies(ask, path, body):
    answer = ask(path)
    assert answer.body == body and answer.get(b"Content-Length") == b"%d" % len(body)
    assert answer.get(b"ETag") is None and answer.get(b"Content-MD5") is None


def test_what_it_leaves_alone(ask):
    answer = ask(b"/coded")
    assert answer.body == b"hello" and answer.get(b"Content-Encoding") == b"x"


def test_head_does_not_have_the_old_length(ask):
    assert ask(b"/counted", b"HEAD").get(b"Content-Length") is None
    assert ask(b"/coded", b"HEAD").get(b"Content-Length") == b"5"
