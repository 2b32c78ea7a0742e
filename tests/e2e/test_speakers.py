"""The speakers of test_pairs.py without weir in between: they understand one another, and nothing that is wrong."""
import types

import pytest

import speaker_h2
from h2_connection import Code
from message import Broken


@pytest.fixture
def ends():
    """A client and an origin of HTTP/2 on one connection."""
    server = speaker_h2.origin()
    direct = types.SimpleNamespace(address=server.listener.getsockname())
    client = speaker_h2.client(direct, server)
    yield client, server
    for end in (client, server):
        try:
            end.close()
        except Broken:
            pass                      # the test has seen it


def test_exchange_with_everything(ends):
    client, server = ends
    asked = client.ask(b"POST", "/x?y", [(b"X-Kept", b"1")], streamed=True)
    served = server.serve()
    assert served.request.method == b"POST" and served.request.target == b"/x?y"
    assert served.request.get(b"x-kept") == b"1"
    served.interim(103, [(b"Link", b"</a>")])
    asked.wait_interim(103)
    asked.send(b"up" * 100000)
    asked.end([(b"X-Sum", b"2")])
    assert served.rest() == b"up" * 100000 and served.complete
    assert served.trailers == [(b"x-sum", b"2")]
    served.answer(200, length=4)
    served.send(b"down")
    head = asked.head()
    assert head.status == 200 and [each.status for each in head.interim] == [103]
    assert asked.rest() == b"down" and asked.complete and asked.usable()
    assert len(server.connections) == 1


def test_many_streams_and_a_reset(ends):
    client, server = ends
    asked = [client.ask(path=f"/{number}") for number in range(20)]
    served = [server.serve() for unused in asked]
    served[3].reset(Code.REFUSED_STREAM)
    assert asked[3].head() is None and asked[3].code == Code.REFUSED_STREAM
    asked[4].reset()
    assert served[4].gone() and served[4].code == Code.CANCEL
    for number in set(range(20)) - {3, 4}:
        served[number].answer(200, length=0)
        assert asked[number].head().status == 200 and asked[number].complete
    assert len(server.connections) == 1


def test_websocket(ends):
    client, server = ends
    asked = client.upgrade(b"websocket")
    served = server.serve()
    assert served.protocol == b"websocket"
    served.switch(b"websocket")
    assert asked.head().status == 200 and asked.agreed
    for one, other in ((asked, served), (served, asked)):
        one.send(b"bytes")
        assert other.read(5) == b"bytes"
        one.end()
        assert other.rest() == b"" and other.complete


def test_cut_body_is_not_whole(ends):
    client, server = ends
    asked = client.ask(b"POST", streamed=True)
    served = server.serve()
    asked.send(b"half")
    assert served.read(4) == b"half"
    asked.truncate()
    assert served.rest() == b"" and not served.complete


# what is no message

PSEUDO = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/")]
REQUESTS = {
    "upper case": [*PSEUDO, (b"X-Upper", b"1")],
    "connection": [*PSEUDO, (b"connection", b"close")],
    "keep-alive": [*PSEUDO, (b"keep-alive", b"1")],
    "transfer-encoding": [*PSEUDO, (b"transfer-encoding", b"chunked")],
    "upgrade": [*PSEUDO, (b"upgrade", b"websocket")],
    "te": [*PSEUDO, (b"te", b"gzip")],
    "order": [*PSEUDO[:3], (b"x", b"1"), PSEUDO[3]],
    "twice": [*PSEUDO, (b":path", b"/")],
    "unknown": [*PSEUDO, (b":x", b"/")],
    "status": [*PSEUDO, (b":status", b"200")],
    "no method": PSEUDO[1:],
    "no scheme": [PSEUDO[0], *PSEUDO[2:]],
    "no authority": [*PSEUDO[:2], PSEUDO[3]],
    "no path": PSEUDO[:3],
    "empty path": [*PSEUDO[:3], (b":path", b"")],
    "other host": [*PSEUDO, (b"host", b"b")],
    "space before": [*PSEUDO, (b"x", b" 1")],
    "line end": [*PSEUDO, (b"x", b"1\r\ny: 2")],
    "nul": [*PSEUDO, (b"x", b"1\0")],
    "space in a name": [*PSEUDO, (b"x y", b"1")],
    "empty name": [*PSEUDO, (b"", b"1")],
    "two lengths": [*PSEUDO, (b"content-length", b"0"), (b"content-length", b"0")],
    "length with nothing": [*PSEUDO, (b"content-length", b"5")],
    "no number": [*PSEUDO, (b"content-length", b"+0")],
    "path of connect": [(b":method", b"CONNECT"), *PSEUDO[1:]],
    "protocol without connect": [*PSEUDO, (b":protocol", b"websocket")],
}


@pytest.mark.parametrize("headers", REQUESTS.values(), ids=REQUESTS.keys())
def test_no_request(ends, headers):
    client, server = ends
    client.connection().open(headers, True, b"GET")
    with pytest.raises(Broken):
        server.serve().rest()


STATUS = (b":status", b"200")
RESPONSES = {
    "upper case": [STATUS, (b"X-Upper", b"1")],
    "connection": [STATUS, (b"connection", b"close")],
    "transfer-encoding": [STATUS, (b"transfer-encoding", b"chunked")],
    "order": [(b"x", b"1"), STATUS],
    "none": [(b"x", b"1")],
    "twice": [STATUS, STATUS],
    "path": [STATUS, (b":path", b"/")],
    "no number": [(b":status", b"20")],
    "switching": [(b":status", b"101")],
    "length with nothing": [STATUS, (b"content-length", b"5")],
    "length of 204": [(b":status", b"204"), (b"content-length", b"0")],
    "line end": [STATUS, (b"x", b"1\ny: 2")],
}


@pytest.mark.parametrize("headers", RESPONSES.values(), ids=RESPONSES.keys())
def test_no_response(ends, headers):
    client, server = ends
    asked = client.ask()
    server.serve().stream.send_headers(headers, end=dict(headers).get(b":status") != b"101")
    with pytest.raises(Broken):
        asked.head()
        asked.rest()


@pytest.mark.parametrize("trailers", [[(b":status", b"200")], [(b"connection", b"close")],
                                      [(b"X", b"1")]])
def test_no_trailers(ends, trailers):
    client, server = ends
    asked = client.ask()
    served = server.serve()
    served.answer(streamed=True)
    assert asked.head().status == 200
    served.stream.send_headers(trailers, end=True)
    with pytest.raises(Broken):
        asked.rest()


@pytest.mark.parametrize("method, status, length, data", [
    (b"GET", 200, 5, b"less"), (b"GET", 200, 3, b"more"), (b"HEAD", 200, None, b"x"),
    (b"GET", 204, None, b"x"), (b"GET", 304, None, b"x")])
def test_body_that_does_not_fit(ends, method, status, length, data):
    client, server = ends
    asked = client.ask(method)
    served = server.serve()
    served.answer(status, length=length, streamed=length is None)
    served.stream.send(data, end=True)
    with pytest.raises(Broken):
        asked.head()
        asked.rest()
