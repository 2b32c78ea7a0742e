"""gRPC, Debian's python3-grpcio, on HTTP/2 without TLS through weir: every kind of call, deadlines, errors."""
import concurrent.futures
import os
import threading
import time

import pytest

from program import Weir

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # weir is started beside its threads
grpc = pytest.importorskip("grpc", reason="there is no python3-grpcio")

SECONDS = 10
SERVICE = "weir.Test"
LARGE = bytes(range(256)) * 8000      # 2 MB
NO_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]


class Service:
    """Its methods, by kind: bytes in, bytes out."""

    def __init__(self):
        self.cancelled = threading.Event()

    def echo(self, request, context):
        context.set_trailing_metadata((("kept", "at the end"),))
        return request

    def fail(self, request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not today: \u00e4")

    def sleep(self, request, context):
        context.add_callback(self.cancelled.set)
        self.cancelled.wait(SECONDS)
        return b""

    def count(self, request, context):
        for number in range(int(request)):
            yield b"%d" % number

    def join(self, requests, context):
        return b",".join(requests)

    def talk(self, requests, context):
        context.send_initial_metadata((("greeting", "first"),))
        for request in requests:
            yield request.upper()

    def fail_in_the_middle(self, request, context):
        yield b"one"
        context.abort(grpc.StatusCode.DATA_LOSS, "broken")

    def handlers(self):
        return {
            "Echo": grpc.unary_unary_rpc_method_handler(self.echo),
            "Fail": grpc.unary_unary_rpc_method_handler(self.fail),
            "Sleep": grpc.unary_unary_rpc_method_handler(self.sleep),
            "Count": grpc.unary_stream_rpc_method_handler(self.count),
            "Middle": grpc.unary_stream_rpc_method_handler(self.fail_in_the_middle),
            "Join": grpc.stream_unary_rpc_method_handler(self.join),
            "Talk": grpc.stream_stream_rpc_method_handler(self.talk),
        }


@pytest.fixture(scope="module")
def service():
    made = Service()
    made.server = grpc.server(concurrent.futures.ThreadPoolExecutor(16), options=NO_LIMIT)
    made.server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, made.handlers()),))
    made.port = made.server.add_insecure_port("127.0.0.1:0")
    made.server.start()
    yield made
    made.server.stop(0).wait(SECONDS)


@pytest.fixture(scope="module")
def reverse(service, tmp_path_factory):
    file = tmp_path_factory.mktemp("grpc") / "weir.yaml"
    file.write_text("workers: 1\nlisten: [ { address: 127.0.0.1:0 } ]\nfixed_upstream: grpc\n"
                    f"upstream: {{ grpc: {{ servers: [ '127.0.0.1:{service.port}' ],"
                    " protocol: h2 } }\n")
    weir = Weir("-c", str(file))
    yield weir
    weir.stop()


@pytest.fixture
def channel(reverse):
    with grpc.insecure_channel(reverse.authority, options=NO_LIMIT) as made:
        yield made
    reverse.check()


def name(method):
    return f"/{SERVICE}/{method}"


@pytest.mark.parametrize("message", [b"", b"hello", LARGE], ids=["empty", "small", "large"])
def test_unary(channel, message):
    answer, call = channel.unary_unary(name("Echo")).with_call(
        message, timeout=SECONDS, metadata=(("kept-too", "yes"),))
    assert answer == message
    assert dict(call.trailing_metadata())["kept"] == "at the end"


def test_server_streams(channel):
    answers = list(channel.unary_stream(name("Count"))(b"2000", timeout=SECONDS))
    assert answers == [b"%d" % number for number in range(2000)]
    assert list(channel.unary_stream(name("Count"))(b"0", timeout=SECONDS)) == []


def test_client_streams(channel):
    pieces = [b"%d" % number for number in range(2000)]
    assert channel.stream_unary(name("Join"))(iter(pieces), timeout=SECONDS) == b",".join(pieces)


def test_both_stream(channel):
    """Each message is asked for when the answer to the one before is there."""
    turn = threading.Semaphore(1)

    def ask():
        for number in range(50):
            assert turn.acquire(timeout=SECONDS)
            yield b"text %d" % number

    call = channel.stream_stream(name("Talk"))(ask(), timeout=SECONDS)
    assert dict(call.initial_metadata())["greeting"] == "first"
    for number in range(50):
        assert next(call) == b"TEXT %d" % number
        turn.release()
    assert list(call) == [] and call.code() == grpc.StatusCode.OK


def test_answer_that_is_only_trailers(channel):
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(name("Fail"))(b"", timeout=SECONDS)
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert caught.value.details() == "not today: \u00e4"


def test_method_that_is_not_there(channel):
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(name("Missing"))(b"", timeout=SECONDS)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_error_behind_messages(channel):
    call = channel.unary_stream(name("Middle"))(b"", timeout=SECONDS)
    assert next(call) == b"one"
    with pytest.raises(grpc.RpcError):
        next(call)
    assert call.code() == grpc.StatusCode.DATA_LOSS and call.details() == "broken"


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_call_that_is_given_up(channel, service, how):
    """The server hears of it."""
    service.cancelled.clear()
    started = time.monotonic()
    call = channel.unary_unary(name("Sleep")).future(
        b"", timeout=0.3 if how == "deadline" else SECONDS)
    if how == "cancel":
        time.sleep(0.2)
        call.cancel()
        assert call.cancelled()
    else:
        assert call.exception(SECONDS).code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert service.cancelled.wait(SECONDS) and time.monotonic() - started < SECONDS / 2


def test_many_calls_at_once(channel):
    calls = [channel.unary_unary(name("Echo")).future(b"%d" % number, timeout=SECONDS)
             for number in range(200)]
    assert [call.result() for call in calls] == [b"%d" % number for number in range(200)]


def test_server_that_is_not_there(start_weir, closed_port, tmp_path):
    """What weir says itself is a status that gRPC understands: RFC 9110's, mapped by the client."""
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: 127.0.0.1:0 } ]\nfixed_upstream: grpc\nupstream:"
                    f" {{ grpc: {{ servers: [ '127.0.0.1:{closed_port}' ], protocol: h2 }} }}\n")
    weir = start_weir("-c", str(file))
    with grpc.insecure_channel(weir.authority, options=NO_LIMIT) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(name("Echo"))(b"", timeout=SECONDS)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
