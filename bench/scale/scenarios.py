"""What is put on weir, and what it may cost.

Each scenario's hold(ends, count) returns when there is what is to be measured."""
import contextlib
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

from harness.lab import Failure
from scale import ends as peers

KIB, MIB = 1024, 1024 * 1024
BLOCK = bytes(range(256)) * 4096


@dataclass
class Scenario:
    name: str
    summary: str
    hold: Callable
    count: int
    connections: int   # of weir's, for each of `count`, when hold() returns
    warm_up: int       # how many come before, so that what only the first ones need counts as idle
    budget: int        # bytes
    each: bool = True  # the budget is for each of `count`, beside what is resident when idle
    peak: bool = True  # it is for the most that was resident; else for what is when hold() returns
    tls: bool = False  # clients speak TLS
    settings: dict = field(default_factory=dict)  # of hold(), but not of the warm-up's


# --- slow readers

CREDIT = 60 * KIB   # what weir may read before what it read has left
HEADS = 2 * KIB     # which weir writes in its own words


class Reader:
    """A client that reads slowly, and the server that sends to it as fast as it can."""

    def __init__(self, ends, length):
        self.client, self.server = ends.exchange(ends.request(b"GET"))
        self.server.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                            b"Content-Length: %d\r\n\r\n" % length)
        self.ports = self.client.getsockname()[1], self.server.getpeername()[1]
        self.sent = self.read = 0
        self.server.settimeout(3600)  # so that send() returns what the kernel took
        threading.Thread(target=self.send, args=(length,), daemon=True).start()

    def send(self, length):
        with contextlib.suppress(OSError):
            while self.sent < length:
                self.sent += self.server.send(BLOCK[:length - self.sent])

    def receive(self, count):
        peers.read_exactly(self.client, count)
        self.read += count


def most_held(readers):
    """What has left a sender and is neither in the kernel nor with its reader: the most of any."""
    time.sleep(0.5)  # while nobody reads everything stops
    kernel = peers.queued()
    return max(reader.sent - reader.read - sum(kernel[port] for port in reader.ports)
               for reader in readers)


def hold_slow_readers(ends, count, seconds=2, rate=8 * KIB, length=16 * MIB):
    """Each client reads a sixteenth of `rate` sixteen times a second, for so long."""
    readers = [Reader(ends, length) for _ in range(count)]
    begin = time.monotonic()
    for step in range(seconds * 16):
        time.sleep(max(0, begin + step / 16 - time.monotonic()))
        for reader in readers:
            reader.receive(rate // 16)
    held = most_held(readers)
    if held > CREDIT + HEADS:
        raise Failure(f"weir holds {held} bytes for one reader, and was granted {CREDIT}")


# --- slowloris

def hold_partial_heads(ends, count, first=b"", pieces=(), pause=1):
    """Clients that send the beginning of a head, and then pieces of it, one after each pause."""
    first = first.replace(b"ORIGIN", ends.authority)
    clients = [ends.connect() for _ in range(count)]
    for client in clients:
        client.sendall(first)
    for piece in pieces:
        time.sleep(pause)
        for client in clients:
            client.sendall(piece)
    time.sleep(pause)


# --- idle connections

def hold_idle_pairs(ends, count):
    """Every request waits at the origin until all are there, so that each has its connection."""
    pairs = [ends.exchange(ends.request(b"GET")) for _ in range(count)]
    for _, server in pairs:
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 128\r\n\r\n"
                       + BLOCK[:128])
    for client, _ in pairs:
        peers.read_answer(client, body=128)
    time.sleep(3)


def hold_idle_tunnels(ends, count, up=517, down=4000):
    """Tunnels through which a handshake has gone."""
    request = ends.connect_request()
    for _ in range(count):
        client = ends.connect()
        client.sendall(request)
        server = ends.accept()
        peers.read_answer(client)
        client.sendall(BLOCK[:up])
        peers.read_exactly(server, up)
        server.sendall(BLOCK[:down])
        peers.read_exactly(client, down)
    time.sleep(3)


def hold_idle_tls(ends, count, group):
    ends.connect_tls(count, group)
    time.sleep(3)


# --- an event stream that nobody reads

EVENT = b"data: " + b"x" * 92 + b"\n\n"
FEW_EVENTS = 80  # that a full kernel may still take, when it probes whether there is room
CHUNKED_EVENT = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)


def kernel_bytes(sockets):
    """What the kernel has of each of these connections."""
    bytes_of = peers.queued()
    return [bytes_of[connection.getsockname()[1]] for connection in sockets]


def send_to_growing(pairs, piece, pause):
    """Sends a piece to each; returns those of which the kernel then has more than before."""
    clients = [client for client, _ in pairs]
    before = kernel_bytes(clients)
    for _, server in pairs:
        server.sendall(piece)
    time.sleep(pause)
    return [pair for pair, then, now in zip(pairs, before, kernel_bytes(clients)) if now > then]


def fill_kernel(pairs):
    """Sends events until the kernel takes no more of them from weir, which then holds the next."""
    growing = pairs
    for _ in range(2000):
        growing = send_to_growing(growing, CHUNKED_EVENT * 64, 0.01)
        if not growing:  # or weir was late
            growing = send_to_growing(pairs, CHUNKED_EVENT, 1)
        if not growing:
            return
    raise Failure("the kernel takes events without end")


def hold_stalled_events(ends, count, events=50):
    pairs = []
    for _ in range(count):
        client, server = ends.exchange(ends.request(b"GET"), receive_bytes=4 * KIB)
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n")
        pairs.append((client, server))
    fill_kernel(pairs)
    before = kernel_bytes([client for client, _ in pairs])
    for _ in range(events):
        for _, server in pairs:
            server.sendall(CHUNKED_EVENT)
        time.sleep(0.002)
    time.sleep(0.5)
    after = kernel_bytes([client for client, _ in pairs])
    taken = (sum(after) - sum(before)) / count / len(EVENT)
    if taken > FEW_EVENTS:
        raise Failure(f"of {events} events the kernel took {taken:.0f}, weir should hold them")


# --- long bodies

def run_all(calls):
    """Each in a thread; the first failure is raised when all have ended."""
    failures = []

    def guarded(call, arguments):
        try:
            call(*arguments)
        except (OSError, Failure) as failure:
            failures.append(failure)
    threads = [threading.Thread(target=guarded, args=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise Failure(str(failures[0]))


def send_exactly(connection, count):
    while count > 0:
        piece = BLOCK[:count]
        connection.sendall(piece)
        count -= len(piece)


def receive_upload(server, client, length):
    peers.read_exactly(server, length)
    server.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    peers.read_answer(client, status=b"204")


def hold_transfers(ends, count, length=MIB):
    """So many uploads beside as many downloads; they are over when this returns."""
    calls = []
    announced = b"Content-Length: %d\r\n" % length
    for _ in range(count):
        client, server = ends.exchange(ends.request(b"POST", fields=announced))
        calls += [(send_exactly, (client, length)), (receive_upload, (server, client, length))]
        client, server = ends.exchange(ends.request(b"GET"))
        server.sendall(b"HTTP/1.1 200 OK\r\n%s\r\n" % announced)
        calls += [(send_exactly, (server, length)), (peers.read_answer, (client, b"200", length))]
    run_all(calls)


def hold_nothing(ends, count):
    time.sleep(1)


PARTIAL = b"GET http://ORIGIN/ HTTP/1.1\r\nHost: ORIGIN\r\n" + peers.USUAL_FIELDS


def slowloris(name, summary, **settings):
    def hold(ends, count):
        hold_partial_heads(ends, count, **settings)
    return Scenario(name, summary, hold,
                    count=2000, connections=1, warm_up=20, budget=3 * KIB)


def idle_tls(name, group, budget):
    def hold(ends, count):
        hold_idle_tls(ends, count, group)
    return Scenario(name, f"idle connections of TLS after a request, {group}", hold, count=1000,
                    connections=1, warm_up=20, budget=budget, peak=False, tls=True)


SCENARIOS = [
    Scenario("idle", "nothing: the process, one worker", hold_nothing,
             count=1, connections=0, warm_up=0, budget=8 * MIB, each=False),
    slowloris("slowloris-silent", "connections that send nothing", pause=4),
    slowloris("slowloris-line", "half a request line", first=b"GET http://ORIGIN/ind", pause=4),
    slowloris("slowloris-head", "a head without its end", first=PARTIAL, pause=4),
    slowloris("slowloris-bytes", "a head, a byte every two seconds",
              first=PARTIAL + b"X", pieces=[b"-", b"a", b":"], pause=2),
    slowloris("slowloris-fields", "a head, a field every half second",
              first=PARTIAL, pieces=[b"X-%d: a value of usual length\r\n" % i for i in range(14)],
              pause=0.5),
    Scenario("pairs", "idle keep-alive connections, each with a server's", hold_idle_pairs,
             count=8000, connections=2, warm_up=20, budget=3 * KIB, peak=False),
    Scenario("tunnels", "idle CONNECT tunnels", hold_idle_tunnels,
             count=4000, connections=2, warm_up=20, budget=4 * KIB, peak=False),
    Scenario("idle-tls", "nothing: the process, one worker, a listener with TLS", hold_nothing,
             count=1, connections=0, warm_up=0, budget=8.5 * MIB, each=False, tls=True),
    idle_tls("tls", "X25519", 28 * KIB),
    idle_tls("tls-mlkem", "X25519MLKEM768", 34 * KIB),
    Scenario("slow-readers", "clients that read 16 MiB at 8 KiB/s, after 40 s", hold_slow_readers,
             count=200, connections=2, warm_up=4, budget=72 * KIB, settings={"seconds": 40}),
    Scenario("events", "stalled readers of 655 queued events", hold_stalled_events,
             count=20, connections=2, warm_up=2, budget=320 * KIB, settings={"events": 655}),
    Scenario("transfers", "64 MiB, 16 up beside 16 down", hold_transfers,
             count=16, connections=4, warm_up=2, budget=16 * MIB, each=False,
             settings={"length": 64 * MIB}),
]
