"""SIGHUP: another configuration comes in force, nothing is dropped, mistakes change nothing."""
import signal
import socket
import threading
import time

import pytest

from admin import Admin
from client import Client
from origin import ok


class Running:
    """A weir, its configuration file and its admin."""

    def __init__(self, start_weir, directory, text="", workers=2, listen=("127.0.0.1:0",),
                 **options):
        self.directory = directory
        self.file = directory / "weir.yaml"
        self.workers = workers
        self.listen = listen
        self.write(text, listen)
        self.weir = start_weir("-c", str(self.file), listeners=len(listen), **options)
        self.admin = Admin(str(directory / "admin.sock"))

    def write(self, text="", listen=None):
        addresses = "".join(f"  - address: '{address}'\n" for address in listen or self.listen)
        self.file.write_text(f"workers: {self.workers}\nadmin: unix:{self.directory}/admin.sock\n"
                             f"listen:\n{addresses}{text}")

    def reload(self, text="", listen=None):
        self.write(text, listen)
        answer = self.admin.reload()
        assert answer.status == 200, answer.body


@pytest.fixture
def running(start_weir, tmp_path):
    return Running(start_weir, tmp_path)


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def refused(address):
    try:
        socket.create_connection(address, 2).close()
    except ConnectionRefusedError:
        return True
    return False


def waiting(asked, go_on, answer=ok(b"late")):
    """A handler that answers when it is told to; without an answer it closes then."""
    def handler(connection):
        while connection.request():
            asked.set()
            assert go_on.wait(8)
            if not answer:
                return
            connection.send(answer)
    return handler


# --- what comes in force, and when

def test_signal_and_log(running):
    running.write("log: { level: debug }\n")
    said = running.weir.reload()
    assert any("configuration 2 is in force" in line for line in said)
    assert running.admin.metric("weir_configuration_generation") == 2


def test_next_request_of_an_open_connection_sees_it(running, make_origin):
    origin = make_origin()
    fields = b"".join(b"X-%d: 1\r\n" % number for number in range(20))
    asked = b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (origin.url().encode(), fields)
    with Client(running.weir.address) as client:
        assert client.ask(asked).status == 200
        running.reload("limits: { fields: 10 }\n")
        assert client.ask(asked).status == 431


def test_exchange_keeps_what_it_began_with(running, make_origin):
    """It fails after the reload: with the text that was configured when it began."""
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on, answer=None))
    running.reload('error_bodies: "old {status}"\n')
    with Client(running.weir.address) as client, Client(running.weir.address) as other:
        client.send(get(origin))
        assert asked.wait(5)
        running.reload('error_bodies: "new {status}"\n')
        assert running.admin.metric("weir_configurations_in_use") == 2
        assert other.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").body == b"new 400"
        go_on.set()
        assert client.response().body == b"old 502"
    running.weir.settle(lambda: running.admin.metric("weir_configurations_in_use") == 1,
                        "the old configuration to go")


def test_tunnel_outlives_many_reloads(running, make_origin):
    def echo(connection):
        while connection.reader.fill():
            connection.send(connection.reader.take(connection.reader.available()))

    origin = make_origin(echo)
    with Client(running.weir.address) as client:
        assert client.connect(origin.authority, b"one").status == 200
        assert client.reader.take(3) == b"one"
        for unused in range(5):
            running.reload()
        client.send(b"two")
        assert client.reader.take(3) == b"two"
        assert running.admin.metric("weir_configurations_in_use") == 2, "those between have gone"


def test_restart_is_said_to_be_needed(running):
    running.workers = 3
    running.write("user: root\n")
    said = "\n".join(running.weir.reload())
    assert "workers has changed: that needs a restart" in said
    assert "user has changed: that needs a restart" in said
    assert running.admin.metric("weir_workers") == 2


def test_without_a_file_nothing_happens(start_weir):
    weir = start_weir("-l", "127.0.0.1:0")
    weir.reload()
    with Client(weir.address) as client:
        assert client.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 400


def test_command_line_still_wins(start_weir, tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: '127.0.0.1:0' } ]\n")
    weir = start_weir("-c", str(file), "-l", "127.0.0.1:0")
    file.write_text(f"listen: [ {{ address: '127.0.0.1:{free_port()}' }} ]\n")
    weir.reload()
    assert len(weir.addresses) == 1 and "no longer" not in weir.said()


# --- mistakes

def test_mistakes_leave_the_old_one_in_force(running, make_origin):
    origin = make_origin()
    with Client(running.weir.address) as client:
        running.write("limits: { fields: many }\n")
        said = "\n".join(running.weir.reload("not reloaded"))
        assert f"{running.file}:5:" in said and "limits.fields" in said
        assert client.ask(get(origin)).status == 200
    running.file.unlink()
    running.weir.reload("not reloaded")
    running.file.write_text("\0")
    running.weir.reload("not reloaded")
    with Client(running.weir.address) as client:
        assert client.ask(get(origin)).status == 200
    running.reload()


def test_access_log_that_cannot_be_opened_is_a_mistake(running):
    """Together with a new listener: all of it or nothing."""
    port = free_port()
    running.write("log: { access: { file: /nowhere/access.log } }\n",
                  [*running.listen, f"127.0.0.1:{port}"])
    answer = running.admin.reload()
    assert answer.status == 422 and b"access log" in answer.body
    assert refused(("127.0.0.1", port))
    assert running.admin.metric("weir_configuration_generation") == 1


def test_all_new_listeners_or_none(running):
    free = free_port()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        addresses = [f"127.0.0.1:{free}", f"unix:{running.directory}/new.sock",
                     f"127.0.0.1:{taken.getsockname()[1]}"]
        running.write("", [*running.listen, *addresses])
        answer = running.admin.reload()
        assert answer.status == 422 and b"Address already in use" in answer.body
        assert refused(("127.0.0.1", free))
        assert not (running.directory / "new.sock").exists()
    descriptors = running.weir.descriptors()
    running.reload("", [*running.listen, *addresses])
    assert not refused(("127.0.0.1", free))
    assert running.weir.descriptors() > descriptors


# --- listeners

def test_port_of_the_system_stays(running):
    running.reload()
    running.reload()
    assert len(running.weir.addresses) == 1 and not refused(running.weir.address)


def test_listeners_come_and_go(running, make_origin):
    origin = make_origin()
    port, path = free_port(), f"{running.directory}/proxy.sock"
    running.reload("", [*running.listen, f"127.0.0.1:{port}", f"unix:{path}"])
    for address in [("127.0.0.1", port), path]:
        with Client(address) as client:
            assert client.ask(get(origin)).status == 200
    running.reload()
    assert refused(("127.0.0.1", port))
    with pytest.raises(FileNotFoundError):
        Client(path)
    line = f"no longer listening on 127.0.0.1:{port}"
    running.weir.wait(lambda: line in running.weir.said(), line, 5)
    with Client(running.weir.address) as client:
        assert client.ask(get(origin)).status == 200
    running.reload("", [*running.listen, f"127.0.0.1:{port}"])
    assert not refused(("127.0.0.1", port))


def test_connections_of_a_listener_that_goes_end_well(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin, other = make_origin(waiting(asked, go_on)), make_origin()
    port = free_port()
    running.reload("", [*running.listen, f"127.0.0.1:{port}"])
    gone = ("127.0.0.1", port)
    with Client(gone) as busy, Client(gone) as idle, Client(gone) as silent, \
            Client(running.weir.address) as kept:
        assert idle.ask(get(other)).status == kept.ask(get(other)).status == 200
        busy.send(get(origin))
        assert asked.wait(5)
        running.weir.settle(lambda: running.admin.metric("weir_client_connections_open") == 3,
                            "three clients that spoke")
        running.reload()
        assert idle.ended() and idle.reader.end == "end"
        assert silent.ask(get(other)).status == 200, "it came before: it is served"
        assert silent.ended()
        go_on.set()
        answer = busy.response()
        assert answer.body == b"late" and b"close" in answer.items(b"connection")
        assert busy.ended()
        assert kept.ask(get(other)).status == 200
    running.weir.settle(lambda: running.admin.metric("weir_configurations_in_use") == 1,
                        "the old configuration to go")


def test_admin_moves(running):
    running.file.write_text(running.file.read_text().replace("admin.sock", "elsewhere.sock"))
    assert running.admin.reload().status == 200, "the answer comes where it was asked for"
    with pytest.raises(FileNotFoundError):
        running.admin.get("/healthz")
    moved = Admin(f"{running.directory}/elsewhere.sock")
    assert moved.metric("weir_configuration_generation") == 2


# --- under load, and often

class Load:
    """Clients that ask without pause, on kept and on new connections, and count what went wrong."""

    def __init__(self, address, origin, threads):
        self.address, self.origin = address, origin
        self.stop = threading.Event()
        self.answers, self.wrong = [0] * threads, []
        self.threads = [threading.Thread(target=self.run, args=(number,))
                        for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        try:
            while not self.stop.is_set():
                with Client(self.address) as client:
                    for request in range(1 + number % 2 * 20):
                        answer = client.ask(get(self.origin, f"/{number}-{request}"))
                        assert answer.body == b"/%d-%d" % (number, request), answer
                        self.answers[number] += 1
        except Exception as problem:  # noqa: B902 - reported by finish()
            self.wrong.append(repr(problem))

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(20)
        assert not self.wrong, self.wrong
        return sum(self.answers)


def test_nothing_is_lost_under_load(start_weir, tmp_path, make_origin):
    """Each reload opens and closes a second listener, and every client keeps asking the first."""
    origin = make_origin()
    running = Running(start_weir, tmp_path)
    second = f"127.0.0.1:{free_port()}"
    load = Load(running.weir.address, origin, 6)
    for number in range(20):
        running.reload(f"limits: {{ fields: {20 + number} }}\n",
                       [*running.listen, second] if number % 2 else None)
        time.sleep(0.05)
    answers = load.finish()
    assert answers > 100
    families = running.admin.families()
    assert families["weir_exchanges_total"].samples[""] == answers
    assert families["weir_exchanges_failed_total"].samples[""] == 0
    assert families["weir_configuration_generation"].samples[""] == 21


def test_no_connection_is_lost_when_its_listener_goes(start_weir, tmp_path, make_origin):
    """Who had connected before the listener went is served, also who was not accepted yet."""
    origin = make_origin()
    running = Running(start_weir, tmp_path)
    for unused in range(5):
        port = free_port()
        running.reload("", [*running.listen, f"127.0.0.1:{port}"])
        clients = [Client(("127.0.0.1", port)) for unused in range(40)]
        running.reload()
        for client in clients:
            assert client.ask(get(origin)).status == 200
            client.close()


def test_hundred_reloads_leave_nothing_behind(tmp_path, weir_release_of):
    running = Running(weir_release_of, tmp_path)
    for unused in range(20):
        running.reload()
    running.weir.settle(lambda: running.admin.metric("weir_configurations_in_use") == 1, "one")
    time.sleep(0.2)  # the admin's connections are gone
    memory, descriptors = running.weir.memory(), running.weir.descriptors()
    other = f"127.0.0.1:{free_port()}"
    for number in range(100):
        running.reload("", [*running.listen, other] if number % 2 else None)
    running.reload()
    assert running.admin.metric("weir_configurations_in_use") == 1
    assert running.weir.memory() - memory < 256 * 1024
    running.weir.settle(lambda: running.weir.descriptors() == descriptors, "descriptors to close")


def test_signals_in_a_row(running):
    for unused in range(50):
        running.weir.process.send_signal(signal.SIGHUP)
    running.weir.settle(lambda: running.admin.metric("weir_configuration_generation") > 1, "one")
    running.weir.check()
