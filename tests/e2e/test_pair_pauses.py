"""Between every two protocols: a filter that pauses, in each hook, holds up its exchange and no other."""
import threading
import time

import pytest

from plugins import built
from program import Weir
from speakers import configuration
from test_pairs import LARGE, Pair, between, in_background, send_all

PAUSE = 0.2                           # seconds


@pytest.fixture(scope="module")
def weir(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pauses")
    file = directory / "weir.yaml"
    file.write_text(configuration(f"plugins: [ {built('probe')} ]\nfilters:\n  - use: probe\n"
                                  f"    with: {{ name: a, trace: '{directory / 'trace'}' }}\n"))
    weir = Weir("-c", str(file))
    yield weir
    weir.stop()


@pytest.fixture
def pair(weir, request):
    made = Pair(weir, request.param)
    yield made
    made.close()
    weir.check()


def paused(hook):
    """The fields of a request that a filter pauses once in that hook."""
    once = f"timer {int(PAUSE * 1000)}; pause | continue"
    return [(b"X-Key", b"k"), (b"X-Probe", f"a.{hook}={once}".encode()),
            (b"X-Probe", b"a.event_timer=resume")]


@between()
@pytest.mark.parametrize("how", ["counted", "streamed"])
@pytest.mark.parametrize("hook", ["request", "request_body", "response", "response_body"])
def test_paused_exchange(pair, hook, how):
    body, started = LARGE * 2, time.monotonic()
    framing = {"length": len(body)} if how == "counted" else {"streamed": True}
    asked = pair.client.ask(b"POST", "/paused", paused(hook), **framing)
    sending = in_background(send_all, asked, body, 5)
    other = pair.client.ask(path="/other")
    legs = {}
    for unused in range(2):
        leg = pair.server.serve()
        legs[leg.request.target] = leg
        if leg.request.target == b"/other":
            leg.answer(length=2)
            leg.send(b"ok")
            leg.end()
            assert other.head().status == 200 and other.rest() == b"ok"
            assert time.monotonic() - started < PAUSE, "another exchange was held up"
    served = legs[b"/paused"]
    assert served.rest() == body and served.complete
    sending.join()
    served.answer(**framing)
    answering = in_background(send_all, served, body, 5)
    assert asked.head().status == 200
    assert asked.rest() == body and asked.complete
    answering.join()
    assert time.monotonic() - started >= PAUSE, "nothing paused"


@between(client=["upgrade"], server=["upgrade"])
def test_paused_tunnel(pair):
    asked = pair.client.upgrade(b"websocket", paused("tunnel"))
    served = pair.server.serve()
    served.switch(b"websocket")
    assert asked.head() and asked.agreed
    started = time.monotonic()
    sending = threading.Thread(target=asked.send, args=(LARGE,))
    sending.start()
    assert served.read(len(LARGE)) == LARGE
    assert time.monotonic() - started >= PAUSE, "nothing paused"
    sending.join()
    asked.end()
    assert served.rest() == b"" and served.complete
    served.send(b"still")
    served.end()
    assert asked.rest() == b"still" and asked.complete
