"""Several exchanges on one connection: none disturbs another, and each ends as it should."""
import pytest

from h2_connection import Code
from test_pairs import BYTES, LARGE, between, in_background, pair, send_all, weir  # noqa: F401


def begin(pair, count, **options):  # noqa: F811
    """So many exchanges at a time, by their numbers."""
    asked = [pair.client.ask(b"POST", f"/{number}", streamed=True, **options)
             for number in range(count)]
    served = {leg.request.target: leg for leg in (pair.server.serve() for unused in range(count))}
    return asked, [served[b"/%d" % number] for number in range(count)]


def finish(asked, served, body=BYTES):
    sender = in_background(send_all, asked, body)
    assert served.rest() == body and served.complete
    sender.join()
    served.answer(length=len(body))
    sender = in_background(send_all, served, body)
    assert asked.head().status == 200
    assert asked.rest() == body and asked.complete
    sender.join()


@between(client=["streams"], server=["streams"])
def test_one_connection_for_many(pair):  # noqa: F811
    asked, served = begin(pair, 60)
    for one, other in zip(asked, served):
        finish(one, other)
    assert len(pair.client.connections) == 1
    assert len(pair.server.connections) == 1, "weir opened a connection for each"


@between(server=["streams"])
def test_many_answers_at_once(pair):  # noqa: F811
    asked = [pair.client.ask(path=f"/{number}") for number in range(90)]
    served = [pair.server.serve() for unused in asked]
    for leg in served:
        leg.answer(204)
        leg.end()
    for leg in asked:
        assert leg.head().status == 204


@between(client=["codes"])
@pytest.mark.parametrize("code", [Code.CANCEL, Code.NO_ERROR, Code.PROTOCOL_ERROR])
def test_client_that_resets_one(pair, code):  # noqa: F811
    asked, served = begin(pair, 5)
    asked[2].reset(code)
    assert served[2].rest() == b"" and not served[2].complete
    for number in (0, 1, 3, 4):
        finish(asked[number], served[number])
    assert len(pair.client.connections) == 1


@between(client=["codes"], server=["codes"])
def test_server_that_resets_one(pair):  # noqa: F811
    asked, served = begin(pair, 5)
    served[2].answer(streamed=True)
    served[2].send(BYTES)
    assert asked[2].head().status == 200 and asked[2].read(len(BYTES)) == BYTES
    served[2].reset(Code.INTERNAL_ERROR)
    assert asked[2].rest() == b"" and not asked[2].complete
    assert asked[2].code == Code.INTERNAL_ERROR
    for number in (0, 1, 3, 4):
        finish(asked[number], served[number])


@between(server=["streams"])
def test_more_than_one_connection_may_have(pair):  # noqa: F811
    """The server allows a hundred at a time."""
    asked = [pair.client.ask(path=f"/{number}") for number in range(90)]
    others = pair.one.client(pair.weir, pair.server)
    asked += [others.ask(path=f"/{number}") for number in range(90, 180)]
    served = [pair.server.serve() for unused in asked]
    assert len(pair.server.connections) == 2
    for leg in served:
        leg.answer(204)
        leg.end()
    assert [leg.head().status for leg in asked] == [204] * 180
    others.close()


@between(server=["codes"])
def test_request_that_was_not_processed_is_repeated(pair):  # noqa: F811
    """REFUSED_STREAM: RFC 9113 8.7."""
    asked = pair.client.ask(b"POST", length=0)
    pair.server.serve().reset(Code.REFUSED_STREAM)
    served = pair.server.serve()
    served.answer(200, length=2)
    send_all(served, b"ok")
    assert asked.head().status == 200 and asked.rest() == b"ok"


@between(client=["streams"])
def test_slow_reader_beside_others(pair):  # noqa: F811
    asked, served = begin(pair, 3)
    served[0].answer(streamed=True)
    sender = in_background(send_all, served[0], LARGE * 12, 50)
    assert asked[0].head().status == 200
    for number in (1, 2):
        finish(asked[number], served[number], LARGE)
    assert asked[0].rest() == LARGE * 12 and asked[0].complete
    sender.join()


@between(client=["streams"])
def test_client_that_ends_with_windows_shut(pair):  # noqa: F811
    """Nothing opens them again: its exchange does not wait for that."""
    asked, served = pair.ask()
    served.answer(streamed=True)
    sender = in_background(send_all, served, LARGE * 12, 50)
    assert asked.head().status == 200
    sender.join(0.3)
    asked.truncate()
    assert served.gone()
    sender.join()
