"""I: plugins that do what none should: weir says whose they are, or keeps its limits."""
import signal
import subprocess
import time

import pytest

from client_chosen import Client
from origin import echo
from plugins import compile_plugin
from probe import Probes, configuration, request
from program import ROOT, Weir, release_path

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


def test_a_hook_that_sleeps_is_named_while_it_does(start_weir, tmp_path, make_origin):
    """I2: the log says who holds up a worker, and those of the other one go on."""
    text = configuration(tmp_path / "trace").replace("workers: 1", "workers: 2")
    probes = Probes(start_weir, tmp_path, text=text)
    origin = make_origin(echo)
    slow, one = request(origin, "a.request=sleep 2500", method=b"POST", body=b"1")
    said = "held up: plugin test.probe, hook request, exchange"
    with probes.client() as first:
        first.send(one)
        probes.trace.wait(slow, lambda lines: "a request" in lines)
        begin, answered = time.monotonic(), 0
        while time.monotonic() - begin < 1 and answered < 3:
            answered += answers_soon(probes, origin)
        assert answered == 3
        probes.weir.wait(lambda: any(said in line for line in probes.weir.lines), said, 2.4)
        assert time.monotonic() - begin < 2.4
        assert first.response().body == b"1"
    probes.weir.wait(lambda: any("goes on, after about" in line for line in probes.weir.lines),
                     "the end of it", 5)
    assert sum("held up" in line for line in probes.weir.lines) == 1
    probes.trace.over(slow)


def answers_soon(probes, origin):
    """Whether a request of a connection of its own, which is either worker's, is answered now."""
    unused, get = request(origin, method=b"POST", body=b"2")
    with probes.client() as client:
        client.socket.settimeout(0.1)
        client.send(get)
        try:
            return client.response().body == b"2"
        except TimeoutError:
            return False


def test_a_hook_that_sleeps_breaks_nothing_of_its_worker(start_weir, tmp_path, make_origin):
    """I2: the time limits are not those of others."""
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
    assert not any("held up" in line for line in probes.weir.lines)


def test_an_exception_that_leaves_a_hook_ends_weir_with_its_name(tmp_path, make_origin):
    """I5: never silently, and nobody else's handler catches it."""
    plugin = tmp_path / "throws.so"
    subprocess.run(["c++", "-std=c++11", "-g", "-shared", "-fPIC", "-I", ROOT, "-o", plugin,
                    ROOT / "tests/plugins/throws.cpp"], check=True)
    file = tmp_path / "weir.yaml"
    file.write_text(f"listen: [ {{ address: 127.0.0.1:0 }} ]\nplugins: [ {plugin} ]\n"
                    "filters: [ { use: throws } ]\n")
    weir = Weir("-c", str(file), program=release_path())
    with Client(weir.address) as client:
        client.send(request(make_origin(echo))[1])
        client.reader.take_rest()
    assert weir.process.wait(10) == -signal.SIGABRT
    weir.listener.join(5)
    assert "fatal signal 6 in plugin test.throws, hook request, exchange" in weir.said()
    assert "nobody catches this" in weir.said()


@pytest.mark.parametrize("arguments", [(), ("--check-plugins",)])
def test_floods_of_posts_and_timers(start_weir, tmp_path, make_origin, arguments):
    """I6: too many are refused, each is dropped once, and others are served meanwhile."""
    probes = Probes(start_weir, tmp_path, arguments=arguments)
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
