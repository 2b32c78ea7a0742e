"""D3, I3, I4: what --check-plugins tells of plugins that look at, keep or call what they must not."""
import pytest

from origin import echo, ok
from plugins import compile_plugin
from probe import Probes, request
from program import Weir, path, release_path

WRONG_PHASE, INVALID, GONE, WRONG_THREAD = -10, -1, -2, -11
FIELDS = b"X-View: what was read\r\n"
SANITIZED = "/asan/" in path()


@pytest.fixture
def probes(start_weir, tmp_path):
    return Probes(start_weir, tmp_path, arguments=["--check-plugins"])


def result(lines, what):
    found = [line for line in lines if f"> {what} " in line]
    assert found, lines
    return int(found[0].rsplit(" ", 1)[1])


def complaint(probes, text):
    probes.weir.wait(lambda: any(text in line for line in probes.weir.lines), text, 5)
    line, = {line for line in probes.weir.lines if text in line}
    assert "plugin test.probe" in line, line
    return line


# --- D3: views

STALE = [("request", "keep field", "route"), ("request", "keep text", "route"),
         ("request", "variable what was set; keep variable", "route"),
         ("request", "keep path", "response"), ("request_body", "keep data", "response"),
         ("request", "keep field; set 0 X-Other new; look", None)]


@pytest.mark.skipif(not SANITIZED, reason="of a build with AddressSanitizer")
@pytest.mark.parametrize("hook,keep,then", STALE)
def test_a_stale_view_is_a_use_after_free_with_a_name(tmp_path, make_origin, hook, keep, then):
    """D3."""
    probes = Probes(Weir, tmp_path, arguments=["--check-plugins"])
    scripts = [f"a.{hook}={keep}"] + ([f"a.{then}=look"] if then else [])
    _, post = request(make_origin(echo), *scripts, method=b"POST", body=b"x" * 40, fields=FIELDS)
    with probes.client() as client:
        client.send(post)
        client.reader.take_rest()
    assert probes.weir.process.wait(20) == 97
    probes.weir.listener.join(5)
    said = probes.weir.said()
    assert "heap-use-after-free" in said, said
    assert f"a sanitizer ended it in plugin test.probe, hook {then or hook}, exchange" in said, said


@pytest.mark.skipif(not SANITIZED, reason="of a build with AddressSanitizer")
def test_a_head_is_for_one_hook(tmp_path, make_origin):
    """D3."""
    probes = Probes(Weir, tmp_path, arguments=["--check-plugins"])
    _, get = request(make_origin(echo), "a.request=keep_head", "a.route=look_head")
    with probes.client() as client:
        client.send(get)
        client.reader.take_rest()
    assert probes.weir.process.wait(20) == 97
    probes.weir.listener.join(5)
    assert "plugin test.probe, hook route" in probes.weir.said()


@pytest.mark.parametrize("hook,keep,then", STALE)
def test_a_stale_view_is_garbage_without_sanitizer(tmp_path, make_origin, hook, keep, then):
    """D3, although a copy of the same text may have been made since."""
    plugin = compile_plugin(tmp_path, "probe", None, "-D_GNU_SOURCE", "-pthread")
    scripts = [f"a.{hook}={keep}"] + ([f"a.{then}=look"] if then else [])
    for arguments in (["--check-plugins"], []):
        probes = Probes(lambda *given: Weir(*given, program=release_path()), tmp_path, plugin=plugin,
                        arguments=arguments)
        key, post = request(make_origin(echo), *scripts, method=b"POST", body=b"x" * 40,
                            fields=FIELDS)
        with probes.client() as client:
            assert client.ask(post).status == 200
        seen = [line for line in probes.trace.over(key) if "> look" in line]
        garbage = "\ufffd" in seen[0]
        assert garbage or not arguments, seen
        probes.weir.stop()


def test_a_head_shows_changes_of_its_hook(probes, make_origin):
    key, get = request(make_origin(echo), "a.request=keep_head; add 0 X-One 1; look_head")
    with probes.client() as client:
        assert client.ask(get).status == 200
    fields = [line for line in get.decode().split("\r\n") if ":" in line and "://" not in line]
    assert result(probes.trace.over(key), "look_head") == len(fields) + 1


def test_a_slice_with_a_reference_may_be_kept_and_emitted(probes, make_origin):
    """What is right stays right."""
    key, post = request(make_origin(), "a.request_body=hold_slice",
                        "a.response_body=if_end; emit_slice; release_slice; emit_end; take",
                        method=b"POST", body=b"kept bytes")
    with probes.client() as client:
        assert client.ask(post).body == b"kept bytes"
    assert result(probes.trace.over(key), "emit_slice") == 0
    probes.weir.stop()
    assert not [line for line in probes.weir.lines if "error" in line]


# --- I3, I4: buffers and references

def test_what_is_never_given_back_is_listed_at_exit(probes, make_origin):
    """I3."""
    key, post = request(make_origin(echo), "a.request_body=hold_slice", "b.request=leak 5000",
                        method=b"POST", body=b"x" * 100)
    with probes.client() as client:
        assert client.ask(post).status == 200
    probes.trace.over(key)
    probes.weir.stop()
    line = complaint_at_end(probes)
    assert "2 buffers of 5100 bytes" in line and "with 2 references" in line, line


def complaint_at_end(probes):
    line, = [line for line in probes.weir.lines if "never given back" in line]
    assert "plugin test.probe, worker 0" in line, line
    return line


def test_a_double_release(probes, make_origin):
    """I4: the second one does nothing but say so."""
    key, post = request(make_origin(echo), "a.request_body=hold_slice; release_slice; release_slice",
                        method=b"POST", body=b"x" * 100)
    with probes.client() as client:
        assert client.ask(post).body == b"x" * 100
    probes.trace.over(key)
    assert "hook request_body" in complaint(probes, "buffer_release() of")


def test_a_slice_kept_without_a_reference_cannot_be_emitted(probes, make_origin):
    """I4, D3."""
    key, post = request(make_origin(echo), "a.request_body=hold_slice without",
                        "a.response_body=emit_slice", method=b"POST", body=b"x" * 100)
    with probes.client() as client:
        assert client.ask(post).body == b"x" * 100
    assert result(probes.trace.over(key), "emit_slice") == INVALID
    assert "hook response_body" in complaint(probes, "a slice of buffer")


def test_a_foreign_buffer(probes, make_origin):
    """I4."""
    key, post = request(make_origin(echo), "a.request_body=foreign", method=b"POST", body=b"x")
    with probes.client() as client:
        assert client.ask(post).body == b"x"
    assert result(probes.trace.over(key), "foreign") == INVALID
    for call in ("buffer_reference() of", "buffer_release() of", "a slice of buffer"):
        assert "hook request_body" in complaint(probes, call)


@pytest.mark.parametrize("arguments", [(), ("--check-plugins",)])
@pytest.mark.parametrize("number", ["0", "1", "0xffffffffffffffff", "0x00003fffffffffff",
                                    "0x123456789abcdef", "0xdeadbeef"])
def test_wild_references_name_nothing(start_weir, tmp_path, make_origin, number, arguments):
    """I4, also without the checking mode: any number at all may be passed."""
    probes = Probes(start_weir, tmp_path, arguments=arguments)
    key, get = request(make_origin(echo), f"a.request=wild {number}")
    with probes.client() as client:
        assert client.ask(get).status == 200
    lines = probes.trace.over(key)
    for call in ("timer", "work", "post", "cancel"):
        allowed = (GONE, WRONG_THREAD, 0) if call == "post" else (GONE, WRONG_THREAD)  # found out later
        assert result(lines, f"wild_{call}") in allowed, lines


# --- phases and threads

def test_calls_in_a_wrong_phase_are_told(probes, make_origin):
    key, get = request(make_origin(echo), "a.response=set 0 X-Late yes")
    with probes.client() as client:
        assert client.ask(get).status == 200
    assert result(probes.trace.over(key), "set") == WRONG_PHASE
    assert "hook response" in complaint(probes, "set_field() is too early or too late here")


def test_calls_on_an_exchange_without_a_hook(probes, make_origin):
    """Of another exchange, whether it still is or not, and of this one on another thread."""
    origin = make_origin(echo)
    first, waits = request(origin, "a.request=be_stranger; timer 500; pause",
                           "a.event_timer=resume")
    second, asks = request(origin, "a.request=ask_stranger")
    third, asks_late = request(origin, "a.request=ask_stranger")
    with probes.client() as one, probes.client() as two:
        one.send(waits)
        probes.trace.wait(first, lambda lines: "a request" in lines)
        assert two.ask(asks).status == 200
        assert one.response().status == 200
        probes.trace.over(first)
        assert two.ask(asks_late).status == 200
    for key in (second, third):
        assert result(probes.trace.over(key), "ask_stranger") == WRONG_PHASE
    probes.weir.check()
    assert any("abort() on an exchange none of whose hooks runs" in line for line in probes.weir.lines)


def test_calls_on_another_thread(probes, make_origin):
    key, get = request(make_origin(echo), "a.request=ask_thread")
    with probes.client() as client:
        assert client.ask(get).status == 200
    assert result(probes.trace.over(key), "ask_thread") == WRONG_THREAD
    probes.weir.wait(lambda: any("abort() is called on a thread" in line for line in probes.weir.lines),
                     "the complaint", 5)


def test_a_good_filter_is_not_complained_about(probes, make_origin):
    key, post = request(make_origin(lambda connection: [connection.send(ok(b"body"))
                                                        for _ in iter(connection.request, None)]),
                        "a.request=buffer", "b.response_body=upper", "s.request_body=pass",
                        "a.request_body=pass", method=b"POST", body=b"x" * 50000, chunked=True)
    with probes.client() as client:
        assert client.ask(post).body == b"BODY"
    probes.trace.over(key)
    probes.weir.stop()
    assert not [line for line in probes.weir.lines if "error" in line or "warning" in line]
