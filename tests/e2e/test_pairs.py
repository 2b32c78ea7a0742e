"""Every behaviour between every two protocols: what one end says, the other one hears, and no more.

Written in legs (speakers.py), so that a protocol that is added there is tested against all others.
"""
import threading
import time

import pytest

from program import Weir
from speakers import configuration, pairs

BYTES = bytes(range(256)) * 3 + bytes(range(255, -1, -1))
LARGE = bytes(number * 7 % 251 for number in range(251 * 64)) * 64  # 1 MB
LARGE_STEP = len(LARGE) // 8
TRAILERS = [(b"X-Sum", b"1"), (b"X-Other", b"two"), (b"x-sum", b"3")]
BODIES = {"empty": b"", "one byte": b"x", "bytes": BYTES, "large": LARGE}


class Pair:
    """A client and an origin with weir in between."""

    def __init__(self, weir, speakers):
        self.weir, (self.one, self.other) = weir, speakers
        self.server = self.other.origin()
        self.client = self.one.client(weir, self.server)

    def ask(self, *arguments, **options):
        """Both legs of a request whose head has arrived."""
        asked = self.client.ask(*arguments, **options)
        return asked, self.server.serve()

    def still_works(self):
        """The pair is good for a plain exchange after whatever happened."""
        asked, served = self.ask(path="/plain")
        served.answer(length=2)
        served.send(b"ok")
        served.end()
        assert asked.head().status == 200
        assert asked.rest() == b"ok" and asked.complete

    def close(self):
        self.client.close()
        self.server.close()


@pytest.fixture
def weir(shared_weirs, tmp_path):
    """As conftest.py's, and it knows which origin speaks what."""
    if not shared_weirs or shared_weirs[-1].process.poll() is not None:
        file = tmp_path / "weir.yaml"
        file.write_text(configuration())
        shared_weirs.append(Weir("-c", str(file)))
    yield shared_weirs[-1]
    shared_weirs[-1].check()


@pytest.fixture
def pair(weir, request):
    made = Pair(weir, request.param)
    yield made
    made.close()


def between(client=(), server=()):
    """For each pair in which they can do that."""
    found = pairs(client, server)
    return pytest.mark.parametrize("pair", found, indirect=True,
                                   ids=[f"{one.name}-{other.name}" for one, other in found])


def in_background(function, *arguments):
    thread = threading.Thread(target=swallow, args=(function, *arguments), daemon=True)
    thread.start()
    return thread


def swallow(function, *arguments):
    """What stops a sender in the background is seen by the other end."""
    try:
        function(*arguments)
    except OSError:
        pass


def send_all(leg, data, pieces=1):
    size = len(data) // pieces + 1
    for at in range(0, len(data), size):
        leg.send(data[at:at + size])
    leg.end()


def framing(how, body):
    return {"length": len(body)} if how == "counted" else {"streamed": True}


# whole messages

@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_upload(pair, how, body):
    asked = pair.client.ask(b"POST", **framing(how, body))
    served = pair.server.serve()
    sender = in_background(send_all, asked, body, 3)
    assert served.rest() == body and served.complete and served.trailers == []
    sender.join()
    if how == "counted":
        assert served.request.get(b"content-length") == b"%d" % len(body)
    served.answer(204)
    served.end()
    assert asked.head().status == 204
    assert asked.usable()


@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_download(pair, how, body):
    for unused in range(2):
        asked, served = pair.ask()
        assert served.complete, "a request without a body got one"
        served.answer(200, [(b"X-Kept", b"As It Was")], **framing(how, body))
        sender = in_background(send_all, served, body, 3)
        head = asked.head()
        assert head.status == 200 and head.get(b"x-kept") == b"As It Was"
        assert asked.rest() == body and asked.complete and asked.trailers == []
        sender.join()
        if how == "counted":
            assert head.get(b"content-length") == b"%d" % len(body)
        assert asked.usable()
        asked.again()


@between()
@pytest.mark.parametrize("status, fields", [(204, []), (304, []), (304, [(b"ETag", b"\"a\"")])])
def test_answer_that_has_no_body(pair, status, fields):
    asked, served = pair.ask()
    served.answer(status, fields)
    served.end()
    head = asked.head()
    assert head.status == status and asked.rest() == b"" and asked.complete
    assert [head.get(name) for name, unused in fields] == [value for unused, value in fields]
    assert asked.usable()
    asked.again()
    pair.still_works()


@between()
@pytest.mark.parametrize("announced", [{}, {"length": 1000}, {"streamed": True}],
                         ids=["nothing", "counted", "streamed"])
def test_answer_to_head(pair, announced):
    asked, served = pair.ask(b"HEAD")
    served.answer(200, [(b"X-Kept", b"1")], body=False, **announced)
    served.end()
    head = asked.head()
    assert head.status == 200 and head.get(b"x-kept") == b"1"
    assert head.get(b"content-length") == (b"1000" if "length" in announced else None)
    assert asked.rest() == b"" and asked.complete and asked.usable()
    asked.again()
    pair.still_works()


@between()
def test_not_modified_may_say_how_long_it_would_be(pair):
    asked, served = pair.ask()
    served.answer(304, length=1000, body=False)
    served.end()
    assert asked.head().get(b"content-length") == b"1000"
    assert asked.rest() == b"" and asked.usable()
    asked.again()
    pair.still_works()


# trailers

@between()
@pytest.mark.parametrize("body", [b"", BYTES], ids=["empty", "bytes"])
def test_trailers_both_ways(pair, body):
    asked, served = pair.ask(b"POST", fields=pair.one.TAKES_TRAILERS, streamed=True)
    if body:
        asked.send(body)
    asked.end(TRAILERS)
    assert served.rest() == body and served.complete
    assert [(name.lower(), value) for name, value in served.trailers] \
        == [(name.lower(), value) for name, value in TRAILERS]
    assert served.request.get(b"x-sum") is None, "trailers became fields"
    served.answer(streamed=True)
    if body:
        served.send(body[::-1])
    served.end(TRAILERS)
    head = asked.head()
    assert asked.rest() == body[::-1] and asked.complete
    assert [(name.lower(), value) for name, value in asked.trailers] \
        == [(name.lower(), value) for name, value in TRAILERS]
    assert head.get(b"x-sum") is None
    assert asked.usable()


# interim answers

@between()
@pytest.mark.parametrize("statuses", [[103], [102], [100], [103, 102, 103]], ids=str)
def test_interim_answers(pair, statuses):
    asked, served = pair.ask()
    for number, status in enumerate(statuses):
        served.interim(status, [(b"X-Number", b"%d" % number)])
        asked.wait_interim(status)    # at once, not with the final head
    served.answer(length=2)
    served.send(b"ok")
    served.end()
    head = asked.head()
    assert [interim.status for interim in head.interim] == statuses
    assert [interim.get(b"x-number") for interim in head.interim] \
        == [b"%d" % number for number in range(len(statuses))]
    assert head.status == 200 and head.get(b"x-number") is None
    assert asked.rest() == b"ok" and asked.usable()


@between()
def test_client_that_waits_is_told_to_go_on(pair):
    asked, served = pair.ask(b"POST", fields=[(b"Expect", b"100-continue")], length=len(BYTES))
    served.interim(100)
    asked.wait_interim(100)
    asked.send(BYTES)
    asked.end()
    assert served.rest() == BYTES
    served.answer(204)
    served.end()
    assert [interim.status for interim in asked.head().interim] == [100]
    assert asked.usable()


@between()
def test_client_that_waits_in_vain_is_told_by_weir(pair):
    asked, served = pair.ask(b"POST", fields=[(b"Expect", b"100-continue")], length=len(BYTES))
    asked.wait_interim(100)
    asked.send(BYTES)
    asked.end()
    assert served.rest() == BYTES and served.complete
    served.answer(204)
    served.end()
    assert asked.head().status == 204


@between()
def test_client_that_waits_is_refused(pair):
    asked, served = pair.ask(b"POST", fields=[(b"Expect", b"100-continue")], length=len(BYTES))
    served.answer(417, length=2)
    served.send(b"no")
    served.end()
    head = asked.head()
    assert head.status == 417 and head.interim == []
    assert asked.rest() == b"no" and asked.complete
    assert served.rest() == b"" and not served.complete, "a body that was never sent arrived"
    pair.still_works()


# messages that are cut

@between()
@pytest.mark.parametrize("end", ["reset", "truncate"])
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_upload_that_is_cut(pair, how, end):
    asked, served = pair.ask(b"POST", **framing(how, BYTES * 2))
    asked.send(BYTES)
    assert served.read(len(BYTES)) == BYTES
    getattr(asked, end)()
    assert served.rest() == b""
    assert not served.complete, "a cut upload looks whole"
    pair.still_works()


@between()
@pytest.mark.parametrize("end", ["reset", "truncate"])
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_download_that_is_cut(pair, how, end):
    asked, served = pair.ask()
    served.answer(**framing(how, BYTES * 2))
    served.send(BYTES)
    assert asked.head().status == 200
    assert asked.read(len(BYTES)) == BYTES
    getattr(served, end)()
    assert asked.rest() == b""
    assert not asked.complete, "a cut download looks whole"
    pair.still_works()


@between(server=["until close"])
def test_download_without_an_end_of_its_own_that_is_cut(pair):
    asked, served = pair.ask()
    served.answer(until_close=True)
    served.send(BYTES)
    assert asked.head().status == 200
    assert asked.read(len(BYTES)) == BYTES
    served.reset()
    assert asked.rest() == b"" and not asked.complete
    pair.still_works()


@between()
@pytest.mark.parametrize("end", ["reset", "truncate"])
def test_server_that_goes_before_it_answers(pair, end):
    asked, served = pair.ask(b"POST", length=5)
    asked.send(b"hello")
    assert served.rest() == b"hello"
    getattr(served, end)()
    head = asked.head()
    assert head.status == 502 and head.get(b"proxy-status")
    assert asked.rest() and asked.complete
    assert pair.server.quiet(), "what may have had an effect was repeated"
    pair.still_works()


@between()
@pytest.mark.parametrize("when", ["before the answer", "in the answer"])
def test_client_that_goes(pair, when):
    asked, served = pair.ask()
    if when == "in the answer":
        served.answer(streamed=True)
        served.send(BYTES)
        assert asked.head().status == 200
    asked.reset()
    assert served.gone(), "the server still has somebody to answer"
    pair.still_works()


# pauses

@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_client_that_stops_reading_for_a_while(pair, how):
    body = LARGE * 12                 # more than the kernel keeps for weir
    asked, served = pair.ask()
    served.answer(**framing(how, body))
    sender = in_background(send_all, served, body, 50)
    assert asked.head().status == 200
    sender.join(0.4)
    assert sender.is_alive(), "nothing stopped the server"
    pair.still_works()                # meanwhile, on another connection or stream
    assert asked.rest() == body and asked.complete
    sender.join()


@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_server_that_stops_reading_for_a_while(pair, how):
    body = LARGE * 12
    asked, served = pair.ask(b"POST", **framing(how, body))
    sender = in_background(send_all, asked, body, 50)
    sender.join(0.4)
    assert sender.is_alive(), "nothing stopped the client"
    pair.still_works()
    assert served.rest() == body and served.complete
    sender.join()
    served.answer(204)
    served.end()
    assert asked.head().status == 204 and asked.usable()


@between()
def test_senders_that_pause(pair):
    """Each piece arrives although the next is not there: nothing waits for more."""
    asked, served = pair.ask(b"POST", streamed=True)
    for number in range(5):
        asked.send(b"up %d" % number)
        assert served.read(4) == b"up %d" % number
    served.answer(streamed=True)
    assert asked.head().status == 200
    for number in range(5):
        served.send(b"down %d" % number)
        assert asked.read(6) == b"down %d" % number
    asked.end()
    assert served.rest() == b"" and served.complete
    served.end()
    assert asked.rest() == b"" and asked.complete and asked.usable()


# both directions at once

@between()
def test_full_duplex(pair):
    """The answer's body begins first, and each side goes on when it has heard the other."""
    asked, served = pair.ask(b"POST", streamed=True)
    served.answer(streamed=True)
    assert asked.head().status == 200
    for number in range(20):
        asked.send(b"%04d" % number)
        assert served.read(4) == b"%04d" % number
        served.send(b"-%04d" % number)
        assert asked.read(5) == b"-%04d" % number
    asked.end()
    assert served.rest() == b"" and served.complete
    served.send(b"last")
    served.end()
    assert asked.rest() == b"last" and asked.complete and asked.usable()


@between()
def test_both_bodies_at_full_speed(pair):
    asked, served = pair.ask(b"POST", streamed=True)
    served.answer(streamed=True)
    senders = [in_background(send_all, asked, LARGE, 20), in_background(served.send, LARGE[::-1])]
    received = []
    reader = in_background(lambda: received.append(served.rest()))
    assert asked.head().status == 200
    assert asked.read(len(LARGE)) == LARGE[::-1]
    for thread in [*senders, reader]:
        thread.join()
    assert received == [LARGE] and served.complete
    served.end()                      # not before: an answer that is over ends the request
    assert asked.rest() == b"" and asked.complete and asked.usable()


@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_early_answer_to_a_large_upload(pair, how):
    """The final answer is there, complete, while the client still sends; it is not lost."""
    body = LARGE * 8
    asked, served = pair.ask(b"POST", **framing(how, body))
    sender = in_background(send_all, asked, body[:len(LARGE) // 2], 4)
    assert served.read(1000) == body[:1000]
    served.answer(413, length=4)
    served.send(b"much")
    served.end()
    assert asked.head().status == 413
    assert asked.rest() == b"much" and asked.complete
    sender.join()
    received = served.rest()
    assert body.startswith(received, 1000)
    assert how == "streamed" or not served.complete, "half an upload looks whole"
    pair.still_works()


# messages that last until the end of the connection, HTTP/1.0

@between(server=["until close"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_download_that_ends_with_the_connection(pair, body):
    asked, served = pair.ask()
    served.answer(until_close=True)
    sender = in_background(send_all, served, body, 3)
    assert asked.head().status == 200
    assert asked.rest() == body and asked.complete
    sender.join()
    assert asked.usable(), "the end of the server's connection is not the client's"


@between(server=["old"])
@pytest.mark.parametrize("how", ["counted", "until close"])
def test_old_server(pair, how):
    asked, served = pair.ask(b"POST", length=len(BYTES))
    asked.send(BYTES)
    assert served.rest() == BYTES and served.complete
    served.answer(old=True, **({"length": len(BYTES)} if how == "counted"
                               else {"until_close": True}))
    send_all(served, BYTES)
    assert asked.head().status == 200
    assert asked.rest() == BYTES and asked.complete and asked.usable()
    pair.still_works()
    assert len(pair.server.connections) == 2, "an old server's connection was used again"


@between(client=["old"])
@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_old_client(pair, how):
    asked, served = pair.ask(old=True)
    served.interim(103)               # which it would not understand
    served.answer(**framing(how, BYTES))
    send_all(served, BYTES)
    head = asked.head()
    assert head.status == 200 and head.interim == []
    assert asked.receiving == ("length" if how == "counted" else "close")
    assert asked.rest() == BYTES and asked.complete
    assert asked.ended()


@between(client=["old"])
def test_old_client_is_not_told_that_a_cut_answer_is_whole(pair):
    asked, served = pair.ask(old=True)
    served.answer(streamed=True)
    served.send(BYTES)
    assert asked.head().status == 200
    served.truncate()
    assert BYTES.startswith(asked.rest()) and not asked.complete


# tunnels

def check_tunnel(asked, served):
    """Bytes both ways that look like anything but what they are."""
    for data in (BYTES, b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n"):
        asked.send(data)
        assert served.read(len(data)) == data
        served.send(data[::-1])
        assert asked.read(len(data)) == data[::-1]


@pytest.fixture
def tunnel(pair, kind):
    """Both legs of a tunnel."""
    asked = pair.client.connect() if kind == "connect" else pair.client.upgrade(b"websocket")
    served = pair.server.serve()
    if kind == "upgrade":
        assert served.protocol == b"websocket"
        served.switch(b"websocket")
    assert asked.head().status == (pair.one.SWITCHED if kind == "upgrade" else 200)
    assert asked.agreed
    check_tunnel(asked, served)
    return asked, served


KINDS = pytest.mark.parametrize("kind", ["connect", "upgrade"])


@between(client=["upgrade"], server=["upgrade"])
@KINDS
def test_tunnel_that_the_client_ends(tunnel):
    asked, served = tunnel
    asked.send(b"last words")
    asked.end()
    assert served.rest() == b"last words" and served.complete
    for number in range(3):
        served.send(b"reply")
        assert asked.read(5) == b"reply"
    served.end()
    assert asked.rest() == b"" and asked.complete


@between(client=["upgrade"], server=["upgrade"])
@KINDS
def test_tunnel_that_the_server_ends(tunnel):
    asked, served = tunnel
    served.send(b"last words")
    served.end()
    assert asked.rest() == b"last words" and asked.complete
    for number in range(3):
        asked.send(b"reply")
        assert served.read(5) == b"reply"
    asked.end()
    assert served.rest() == b"" and served.complete


@between(client=["upgrade"], server=["upgrade"])
@KINDS
@pytest.mark.parametrize("who", [0, 1], ids=["client", "server"])
def test_last_bytes_for_a_slow_reader(tunnel, who):
    """When both directions have ended, weir is done before its last bytes have left."""
    body = LARGE * 12
    sending, reading = tunnel[who], tunnel[1 - who]
    reading.end()
    assert sending.rest() == b"" and sending.complete
    sender = in_background(send_all, sending, body)
    sender.join(0.3)
    received = bytearray()
    while piece := reading.read(LARGE_STEP):
        received += piece
        time.sleep(0.002)
    assert received == body and reading.complete
    sender.join()


@between(client=["upgrade"], server=["upgrade"])
@KINDS
@pytest.mark.parametrize("who", [0, 1], ids=["client", "server"])
def test_tunnel_that_is_cut(tunnel, who):
    tunnel[who].reset()
    other = tunnel[1 - who]
    assert other.rest() == b"" and not other.complete, "an abort looks like an end"


@between(client=["upgrade"], server=["upgrade"])
@KINDS
def test_tunnel_at_full_speed_both_ways(tunnel):
    asked, served = tunnel
    senders = [in_background(send_all, asked, LARGE * 4),
               in_background(send_all, served, LARGE * 5)]
    received = []
    reader = in_background(lambda: received.append(served.rest()))
    assert asked.rest() == LARGE * 5 and asked.complete
    for thread in [*senders, reader]:
        thread.join()
    assert received == [LARGE * 4] and served.complete


@between(client=["upgrade"], server=["upgrade"])
def test_upgrade_that_is_refused(pair):
    asked = pair.client.upgrade(b"websocket")
    served = pair.server.serve()
    served.answer(426, length=2)
    send_all(served, b"no")
    assert asked.head().status == 426
    assert asked.rest() == b"no" and asked.usable()
    asked.again()
    pair.still_works()


# many

@between(client=["pipelining"])
def test_pipelining(pair):
    """The answers come in the order of the requests, however long each takes."""
    paths = [f"/{number}" for number in range(20)]
    asked = pair.client.pipeline(paths)
    for number, path in enumerate(paths):
        served = pair.server.serve()
        assert served.request.target == path.encode()
        served.answer(**framing("counted" if number % 2 else "streamed", path))
        send_all(served, path.encode())
        assert asked[number].head().status == 200
        assert asked[number].rest() == path.encode() and asked[number].complete
    assert asked[-1].usable()


@between(client=["pipelining"])
def test_pipelining_behind_an_answer_that_is_cut(pair):
    """What follows is not answered: nobody could tell to which request it belongs."""
    first, second = pair.client.pipeline(["/1", "/2"])
    served = pair.server.serve()
    served.answer(length=10)
    served.send(b"half")
    assert first.head().status == 200
    served.truncate()
    assert first.rest() == b"half" and not first.complete
    assert second.head() is None
    assert pair.server.quiet(), "a request was run whose answer cannot be given"


@between()
def test_many_at_the_same_time(pair):
    """Each gets its own bytes, however they overtake one another."""
    count = 48
    asked = [pair.client.ask(b"POST", path=f"/{number}", streamed=True) for number in range(count)]
    served = {leg.request.target: leg for leg in (pair.server.serve() for unused in range(count))}
    assert len(served) == count
    for number in reversed(range(count)):
        asked[number].send(b"%d:" % number + BYTES)
        asked[number].end()
    for number in range(count):
        leg = served[b"/%d" % number]
        assert leg.rest() == b"%d:" % number + BYTES and leg.complete
    for number in range(0, count, 2):
        answer_with_number(served[b"/%d" % number], number)
    for number in range(1, count, 2):
        answer_with_number(served[b"/%d" % number], number)
    for number in range(count):
        assert asked[number].head().get(b"x-number") == b"%d" % number
        assert asked[number].rest() == BYTES * (number % 5) and asked[number].complete


def answer_with_number(leg, number):
    body = BYTES * (number % 5)
    leg.answer(200, [(b"X-Number", b"%d" % number)],
               **framing("counted" if number % 3 else "streamed", body))
    send_all(leg, body)
