"""HTTP/2 from clients: by prior knowledge on the port of HTTP/1.1, to servers that speak that."""
import subprocess
import threading

import pytest

from message import chunked
from origin import always, ok


def command(weir, origin, path, *arguments):
    """weir is asked as if it were the server: what :authority names is where it goes."""
    return ["curl", "-sS", "--max-time", "10", "--http2-prior-knowledge", "--connect-to",
            f"::{weir.authority}", *arguments, origin.url(path)]


def curl(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, check=True).stdout


def test_get_and_post(weir, make_origin):
    def handler(connection):
        while request := connection.request():
            connection.send(ok(request.method + b" " + request.target + b" " + request.body))

    origin = make_origin(handler)
    assert curl(weir, origin, "/a?b") == b"GET /a?b "
    assert curl(weir, origin, "/", "-d", "some=form") == b"POST / some=form"
    assert curl(weir, origin, "/", "-w", "%{http_version}") == b"GET / 2"


def test_what_the_server_sees(weir, make_origin):
    origin = make_origin()
    curl(weir, origin, "/", "-H", "Cookie: a=1; b=2", "-H", "X-Case: Kept")
    request = origin.requests[0]
    fields = [(name.lower(), value) for name, value in request.fields]
    assert (b"host", origin.authority) in fields
    assert (b"x-case", b"Kept") in fields
    assert (b"cookie", b"a=1; b=2") in fields
    assert [value for name, value in fields if name == b"via"][0].startswith(b"2 weir")


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 3_000_000])
def test_bodies_both_ways(weir, make_origin, tmp_path, size):
    def handler(connection):
        while request := connection.request():
            connection.send(ok(request.body))

    body = tmp_path / "body"
    body.write_bytes(b"0123456789abcdef" * (size // 16) + b"x" * (size % 16))
    answer = curl(weir, make_origin(handler), "/", "--data-binary", f"@{body}")
    assert answer == body.read_bytes()


def test_a_body_without_a_length(weir, make_origin):
    origin = make_origin(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                + chunked(b"in ", b"chunks")))
    assert curl(weir, origin, "/") == b"in chunks"


def test_an_answer_that_breaks_off_is_no_answer(weir, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with pytest.raises(subprocess.CalledProcessError) as failed:
        curl(weir, make_origin(handler), "/")
    assert failed.value.returncode == 92  # the stream was reset


def test_weirs_own_answers(weir, closed_port):
    class Nowhere:
        def url(self, path):
            return f"http://127.0.0.1:{closed_port}{path}"

    assert b"refused" in curl(weir, Nowhere(), "/")


def test_drain_lets_what_runs_end(start_weir, make_origin):
    released = threading.Event()

    def handler(connection):
        connection.request()
        released.wait(5)
        connection.send(ok(b"late"))

    weir = start_weir("-l", "127.0.0.1:0", "-w", "1")
    origin = make_origin(handler)
    client = subprocess.Popen(command(weir, origin, "/"), stdout=subprocess.PIPE)
    origin.wait(lambda: origin.requests)
    weir.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        client.wait(0.3)
    released.set()
    assert client.communicate()[0] == b"late"
    weir.finish()
