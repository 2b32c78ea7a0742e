"""I: plugins that do what none should: weir says whose they are, or keeps its limits."""
import signal
import time

import pytest

from origin import echo
from plugins import compile_plugin
from probe import Probes, request
from program import Weir, release_path

HOOKS = ["open", "authenticate", "request", "route", "address", "upstream", "response",
         "request_body", "response_body", "body_full", "trailers", "interim", "log", "close"]


def everything(connection):
    while connection.request():
        connection.send(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\nX-Sum: 1\r\n\r\n")


@pytest.mark.parametrize("hook", HOOKS)
def test_a_crash_names_the_plugin_and_the_hook(tmp_path, make_origin, hook):
    """I1; of a release build: a sanitizer's would say it in its own words."""
    probes = Probes(lambda *arguments: Weir(*arguments, program=release_path()), tmp_path,
                    plugin=compile_plugin(tmp_path, "probe", None, "-D_GNU_SOURCE", "-pthread"))
    key, post = request(make_origin(everything), f"a.{hook}=crash",
                        *(["a.request=buffer"] if hook == "body_full" else []),
                        method=b"POST", body=b"123", chunked=True)
    with probes.client() as client:
        client.send(post)
        client.reader.take_rest()
    assert probes.weir.process.wait(10) == -signal.SIGSEGV
    probes.weir.listener.join(5)
    said = probes.weir.said()
    assert f"in plugin test.probe, hook {hook}" in said, said


def test_a_hook_that_sleeps_holds_up_its_worker_alone(start_weir, tmp_path, make_origin):
    """I2, as far as it has landed: nothing breaks, and the time limits are not those of others."""
    probes = Probes(start_weir, tmp_path)
    origin = make_origin(echo)
    slow, one = request(origin, "a.request=sleep 700", method=b"POST", body=b"1")
    fast, two = request(origin, method=b"POST", body=b"2")
    with probes.client() as first, probes.client() as second:
        first.send(one)
        time.sleep(0.1)
        second.send(two)
        assert first.response().body == b"1" and second.response().body == b"2"
    probes.trace.over(slow)
    probes.trace.over(fast)


def test_floods_of_posts_and_timers(start_weir, tmp_path, make_origin):
    """I6: too many are refused, each is dropped once, and others are served meanwhile."""
    probes = Probes(start_weir, tmp_path)
    origin = make_origin(echo)
    timers = "; ".join(["timer 1000"] * 100)
    keys = []
    with probes.client() as client:
        for _ in range(5):
            key, post = request(origin, f"a.request=post 0 20000; {timers}; timer 50; pause",
                                "a.event_timer=resume", method=b"POST", body=b"1")
            keys.append(key)
            assert client.ask(post).body == b"1"
    for key in keys:
        probes.trace.over(key)
    time.sleep(0.5)
    probes.weir.stop()
    counts = [line for line in probes.trace.lines("-") if " free " in line][-1].split()
    assert counts[2] == counts[4] == "100000", counts
