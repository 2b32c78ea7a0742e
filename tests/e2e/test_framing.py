"""Where a message ends: answers without a body, HTTP/1.0, closes, and messages that are cut off."""
import threading

import pytest

from client import Client
from message import Broken, chunked
from origin import always, ok


def get(origin, method=b"GET", version=b"1.1", more=b""):
    return b"%s %s HTTP/%s\r\nHost: %s\r\n%s\r\n" \
        % (method, origin.url().encode(), version, origin.authority, more)


@pytest.mark.parametrize("framing", [b"Content-Length: 1000\r\n", b"Transfer-Encoding: chunked\r\n",
                                     b""])
def test_answer_to_head_has_no_body(connect, make_origin, framing):
    def handler(connection):
        while request := connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\n" + framing + b"X-End: 1\r\n\r\n"
                            if request.method == b"HEAD" else ok(b"next"))

    origin = make_origin(handler)
    client = connect()
    for unused in range(2):
        head = client.ask(get(origin, b"HEAD"))
        assert head.status == 200 and head.get(b"x-end") == b"1"
        if b"Length" in framing:
            assert head.get(b"content-length") == b"1000"
        else:
            assert head.get(b"content-length") is None
        assert client.ask(get(origin)).body == b"next"
    assert len(origin.connections) == 1


@pytest.mark.parametrize("status, more", [
    (b"204 No Content", b""), (b"304 Not Modified", b""),
    (b"304 Not Modified", b"Content-Length: 1000\r\nETag: \"x\"\r\n"),
])
def test_status_without_body(connect, make_origin, status, more):
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 %s\r\n%s\r\n" % (status, more))
            connection.request()
            connection.send(ok(b"next"))

    origin = make_origin(handler)
    client = connect()
    for unused in range(2):
        response = client.ask(get(origin))
        assert response.start == b"HTTP/1.1 " + status
        assert response.all(b"transfer-encoding") == []
        if status.startswith(b"204"):
            assert response.all(b"content-length") == []
        if b"1000" in more:
            assert response.get(b"content-length") == b"1000"
        assert client.ask(get(origin)).body == b"next"
    assert len(origin.connections) == 1


def test_answer_that_ends_with_the_connection(weir, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nX-End: 1\r\n\r\nhello")
        connection.send(b" world")

    origin = make_origin(handler)
    with Client(weir.address) as client:
        for unused in range(2):
            response = client.ask(get(origin))
            assert response.complete and response.body == b"hello world"
            if response.framing == "close":
                assert b"close" in response.items(b"connection")
                break
            assert response.framing == "chunked"
    assert len(origin.connections) == len(origin.requests)


# HTTP/1.0

@pytest.mark.parametrize("answer", [
    ok(b"hello world"), b"HTTP/1.1 200 OK\r\n\r\nhello world",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"hello", b" world"),
])
def test_old_client_gets_no_chunks_and_a_close(weir, make_origin, answer):
    def handler(connection):
        connection.request()
        connection.send(answer)

    origin = make_origin(handler)
    with Client(weir.address) as client:
        response = client.ask(get(origin, version=b"1.0"))
        assert response.all(b"transfer-encoding") == []
        assert response.complete and response.body == b"hello world"
        assert client.ended()


def test_old_client_needs_no_host(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        assert client.ask(b"GET %s HTTP/1.0\r\n\r\n" % origin.url("/old").encode()).body == b"/old"
    assert origin.requests[0].get(b"host") == origin.authority
    assert origin.requests[0].version == b"1.1"


def test_new_client_needs_host(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        assert client.ask(b"GET %s HTTP/1.1\r\n\r\n" % origin.url().encode()).status == 400
    assert not origin.connections


def test_old_client_cut_off_sees_the_cut(weir, make_origin):
    """Without chunks a close is the end, so only the length or a reset can tell."""
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + chunked(b"hello", last=False))

    origin = make_origin(handler)
    with Client(weir.address) as client:
        response = client.ask(get(origin, version=b"1.0"))
        assert response.body in (b"", b"hello")
        assert not response.complete and client.reader.end == "reset"


def test_old_origin(connect, make_origin):
    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.0 200 Old\r\nContent-Length: 3\r\n\r\nold")
        assert connection.wait_end() == "end", "an old origin's connection is not kept"
        assert len(connection.requests) == 1

    origin = make_origin(handler)
    client = connect()
    for unused in range(3):
        response = client.ask(get(origin))
        assert (response.status, response.body) == (200, b"old")
        assert response.version == b"1.1"
    assert len(origin.connections) == 3


# messages that are cut off

CUTS = {
    "short length": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "within a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello",
    "between chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "within the last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
                             b"0\r\n",
}


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("cut", CUTS)
def test_cut_answer_is_never_completed(weir, make_origin, cut, end):
    client_saw_head = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(CUTS[cut])
        assert client_saw_head.wait(5), "the head was not passed on"
        getattr(connection, end)()

    origin = make_origin(handler)
    with Client(weir.address) as client:
        client.send(get(origin))
        response = client.response(body=False)
        client_saw_head.set()
        assert response.status == 200
        rest = client.reader.take_rest()
        assert client.reader.end, "after a cut the connection ends"
    assert b"0\r\n\r\n" not in rest, "a cut answer was completed"
    if cut == "short length":
        assert response.get(b"content-length") == b"50" and rest == b"hello"


def test_close_delimited_answer_that_is_reset_is_not_completed(weir, make_origin):
    client_saw_head = threading.Event()

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
        assert client_saw_head.wait(5), "the head was not passed on"
        connection.reset()

    origin = make_origin(handler)
    with Client(weir.address) as client:
        client.send(get(origin))
        response = client.response(body=False)
        client_saw_head.set()
        rest = client.reader.take_rest()
        if b"chunked" in response.items(b"transfer-encoding"):
            assert b"0\r\n\r\n" not in rest
        else:
            assert client.reader.end == "reset"


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 20",
                                  b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"])
@pytest.mark.parametrize("end", ["close", "reset"])
def test_answer_cut_in_its_head_is_a_502(weir, make_origin, sent, end):
    def handler(connection):
        connection.request()
        connection.send(sent)
        getattr(connection, end)()

    origin = make_origin(handler)
    with Client(weir.address) as client:
        response = client.ask(get(origin))
        assert response.status == 502 and response.complete
    assert len(origin.requests) == 1, "a fresh connection that fails is not tried again"


NONSENSE = {
    "no status line": b"hello\r\n\r\n", "NULs": b"\0" * 100 + b"\r\n\r\n",
    "status of four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "another version": b"HTTP/2.0 200 OK\r\n\r\n",
    "two counts": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "no count": b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
    "no field name": b"HTTP/1.1 200 OK\r\nX Y: 1\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("what", NONSENSE)
def test_answer_that_is_none_is_a_502(weir, make_origin, what):
    def handler(connection):
        connection.request()
        connection.send(NONSENSE[what])
        connection.wait_end()

    origin = make_origin(handler)
    with Client(weir.address) as client:
        response = client.ask(get(origin))
        assert response.status == 502 and response.complete


UPLOADS = {
    "length": b"Content-Length: 100\r\n\r\nhello",
    "chunked": b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "within a chunk": b"Transfer-Encoding: chunked\r\n\r\n64\r\nhello",
}


@pytest.mark.parametrize("end", ["close", "reset", "half_close"])
@pytest.mark.parametrize("upload", UPLOADS)
def test_cut_upload_is_never_completed(weir, make_origin, upload, end):
    body_began = threading.Event()

    def handler(connection):
        request = connection.request_head()
        connection.reader.take(1)
        connection.reader.position -= 1
        body_began.set()
        try:
            connection.request_body(request)
        except Broken:
            pass  # cut within the line of a size, which is not completed either

    origin = make_origin(handler)
    client = Client(weir.address)
    client.send(b"POST %s HTTP/1.1\r\nHost: %s\r\n" % (origin.url().encode(), origin.authority),
                UPLOADS[upload])
    assert body_began.wait(5), "the upload was held back"
    getattr(client, end)()
    connection = origin.connection()
    assert connection.finished.wait(5), "the server's connection was left open"
    assert connection.reader.end
    assert not origin.requests[0].complete
    assert b"0\r\n\r\n" not in connection.received[len(origin.requests[0].raw_head):]
    client.close()
    assert len(origin.connections) == 1, "half an upload was tried again"
