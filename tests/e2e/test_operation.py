"""How weir runs as a service: listeners of every kind, who it becomes, limits, signals, its end."""
import os
import pathlib
import random
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time

import pytest

import program
from admin import Admin
from client import Client
from origin import ok
from service_manager import Notified, passing

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
NOBODY, NOGROUP = 65534, 65534


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


def configure(directory, text):
    file = pathlib.Path(directory, "weir.yaml")
    file.write_text(text)
    return str(file)


def serves(address, origin):
    with Client(address) as client:
        return client.ask(get(origin)).status == 200


def refused(address):
    try:
        socket.create_connection(address, 2).close()
    except ConnectionRefusedError:
        return True
    return False


def privileged_port():
    """A port that only root may listen on, and nobody does."""
    return next(port for port in random.sample(range(600, 1000), 400)
                if refused(("127.0.0.1", port)))


def hanging(asked):
    """A handler that never answers."""
    def handler(connection):
        connection.request()
        asked.set()
        connection.wait_end()
    return handler


@pytest.fixture
def listening():
    """Sockets that listen: listening(address) or listening(path)."""
    sockets = []

    def listen(address=("127.0.0.1", 0), family=socket.AF_INET, **options):
        if isinstance(address, str):
            family = socket.AF_UNIX
        sockets.append(socket.socket(family, socket.SOCK_STREAM))
        if options.get("share"):
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sockets[-1].bind(address)
        sockets[-1].listen(64)
        return sockets[-1]

    yield listen
    for opened in sockets:
        opened.close()


@pytest.fixture
def open_directory():
    """A directory that everybody may enter, with a weir that everybody may run."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
    directory.chmod(0o755)
    shutil.copy(program.path(), directory / "weir")
    yield directory
    shutil.rmtree(directory)


# --- unix sockets

@pytest.mark.parametrize("mode", ["0600", "0666", "0660"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_unix_socket(start_weir, tmp_path, make_origin, mode, workers):
    origin, path = make_origin(), f"{tmp_path}/proxy.sock"
    before = os.umask(0o077)
    weir = start_weir("-w", workers, "-c", configure(
        tmp_path, f"listen: [ {{ address: 'unix:{path}', mode: '{mode}' }} ]\n"))
    os.umask(before)
    assert weir.addresses == [path]
    assert stat.S_IMODE(os.stat(path).st_mode) == int(mode, 8)
    for unused in range(4):
        assert serves(path, origin)
    with Client(path) as client:
        assert client.connect(origin.authority).status == 200
    weir.stop()
    assert not os.path.exists(path)


def test_mode_changes_by_reload(start_weir, tmp_path):
    path = f"{tmp_path}/proxy.sock"
    text = f"listen: [ {{ address: 'unix:{path}', mode: '0600' }} ]\n"
    weir = start_weir("-c", configure(tmp_path, text))
    configure(tmp_path, text.replace("0600", "0666"))
    weir.reload()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666


def test_stale_socket_is_replaced(start_weir, tmp_path, make_origin):
    path = f"{tmp_path}/proxy.sock"
    killed = start_weir("-l", f"unix:{path}")
    killed.expected_status = -signal.SIGKILL
    killed.kill()
    assert os.path.exists(path)
    weir = start_weir("-l", f"unix:{path}")
    assert serves(path, make_origin())
    weir.stop()


def test_socket_in_use_is_not_replaced(start_weir, tmp_path, make_origin):
    path = f"{tmp_path}/proxy.sock"
    weir = start_weir("-l", f"unix:{path}")
    done = program.run("-l", f"unix:{path}")
    assert done.returncode == 1 and "Address already in use" in done.stderr
    assert serves(path, make_origin())
    weir.check()


def test_other_files_are_not_replaced(tmp_path):
    path = tmp_path / "proxy.sock"
    path.write_text("precious")
    done = program.run("-l", f"unix:{path}")
    assert done.returncode == 1 and "Address already in use" in done.stderr
    assert path.read_text() == "precious"


def test_somebody_elses_socket_is_not_removed(start_weir, tmp_path, listening):
    path = f"{tmp_path}/proxy.sock"
    weir = start_weir("-l", f"unix:{path}")
    os.unlink(path)
    listening(path)
    weir.stop()
    assert os.path.exists(path)


# --- addresses

def test_dual_stack(start_weir, tmp_path, make_origin):
    origin, path = make_origin(), f"{tmp_path}/admin.sock"
    weir = start_weir("-c", configure(
        tmp_path, f"admin: unix:{path}\nlisten: [ {{ address: '[::]:0', allow_clients: "
                  "[ 127.0.0.0/8, '::1' ] } ]\n"))
    port = weir.address[1]
    with Client(("127.0.0.1", port)) as four, Client(("::1", port)) as six:
        assert four.ask(get(origin)).status == six.ask(get(origin)).status == 200
        peers = {found["peer"] for found in Admin(path).connections("client")}
        assert peers == {f"127.0.0.1:{four.port}", f"[::1]:{six.port}"}


def test_v6only(start_weir, tmp_path, make_origin, listening):
    weir = start_weir("-c", configure(
        tmp_path, "listen: [ { address: '[::]:0', v6only: true, open: true } ]\n"))
    port = weir.address[1]
    assert serves(("::1", port), make_origin())
    assert refused(("127.0.0.1", port))
    listening(("127.0.0.1", port))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_port_that_others_would_share_is_taken(listening, workers):
    host, port = listening(share=True).getsockname()
    done = program.run("-w", workers, "-l", f"{host}:{port}")
    assert done.returncode == 1
    assert f"cannot listen on {host}:{port}: Address already in use" in done.stderr


def test_port_of_another_weir_is_taken(start_weir, make_origin):
    weir = start_weir("-l", "127.0.0.1:0", "-w", "2")
    assert program.run("-w", "2", "-l", weir.authority).returncode == 1
    assert serves(weir.address, make_origin())


def test_one_address_that_is_taken_stops_all(listening, tmp_path):
    port = listening().getsockname()[1]
    done = program.run("-l", f"unix:{tmp_path}/a.sock", "-l", f"127.0.0.1:{port}")
    assert done.returncode == 1 and "listening on" not in done.stderr
    assert not os.path.exists(f"{tmp_path}/a.sock")


def test_many_listeners(start_weir, tmp_path, make_origin):
    origin = make_origin()
    options = [word for number in range(40)
               for word in ("-l", f"unix:{tmp_path}/{number}" if number % 2 else "127.0.0.1:0")]
    weir = start_weir(*options, "-w", "2", listeners=40)
    for address in weir.addresses:
        assert serves(address, origin)


def test_workers_share_what_comes(start_weir, tmp_path, make_origin):
    origin = make_origin()
    weir = start_weir("-w", "2", "-c", configure(
        tmp_path, f"admin: unix:{tmp_path}/admin.sock\nlisten: [ {{ address: '127.0.0.1:0' }} ]\n"))
    clients = [Client(weir.address) for unused in range(40)]
    assert all(client.ask(get(origin)).status == 200 for client in clients)
    found = Admin(f"{tmp_path}/admin.sock").connections("client")
    assert {connection["worker"] for connection in found} == {0, 1}
    for client in clients:
        client.close()


# --- sockets from the service manager

@pytest.mark.parametrize("workers", ["1", "2"])
def test_passed_socket_is_used_where_it_is_configured(start_weir, listening, make_origin, workers):
    origin, passed = make_origin(), listening()
    host, port = passed.getsockname()
    with Client((host, port)) as early:  # it waits until somebody serves it
        early.send(get(origin))
        weir = start_weir("-l", f"{host}:{port}", "-w", workers, prefix=passing([passed], "web"),
                          pass_fds=[passed.fileno()])
        assert weir.addresses == [(host, port)]
        assert early.response().status == 200
    for unused in range(4):
        assert serves((host, port), origin)
    weir.stop()
    with Client((host, port)) as late:  # it waits for the next one
        late.send(get(origin))
        next_weir = start_weir("-l", f"{host}:{port}", prefix=passing([passed]),
                               pass_fds=[passed.fileno()])
        assert late.response().status == 200
        next_weir.stop()


def test_passed_sockets_are_all_when_none_is_configured(start_weir, tmp_path, listening,
                                                        make_origin):
    origin, path = make_origin(), f"{tmp_path}/passed.sock"
    passed = [listening(path), listening()]
    weir = start_weir(prefix=passing(passed, "one:two"), listeners=2,
                      pass_fds=[one.fileno() for one in passed])
    assert weir.addresses == [path, passed[1].getsockname()]
    for address in weir.addresses:
        assert serves(address, origin)
    weir.reload()
    for address in weir.addresses:
        assert serves(address, origin)
    weir.stop()
    assert os.path.exists(path), "the service manager's file is not ours"


def test_passed_socket_for_the_admin(start_weir, tmp_path, listening):
    path = f"{tmp_path}/admin.sock"
    passed = [listening(path), listening()]
    weir = start_weir("-c", configure(tmp_path, f"admin: unix:{path}\n"), prefix=passing(passed),
                      pass_fds=[one.fileno() for one in passed])
    assert weir.addresses == [passed[1].getsockname()]
    assert Admin(path).get("/healthz").status == 200


def test_passed_socket_comes_and_goes_with_reloads(start_weir, tmp_path, listening, make_origin):
    origin, passed = make_origin(), listening()
    address = passed.getsockname()
    both = f"listen:\n  - address: unix:{tmp_path}/a\n  - address: 127.0.0.1:{address[1]}\n"
    file = configure(tmp_path, both)
    weir = start_weir("-c", file, prefix=passing([passed]), pass_fds=[passed.fileno()],
                      listeners=2)
    for unused in range(2):
        assert serves(address, origin)
        configure(tmp_path, f"listen:\n  - address: unix:{tmp_path}/a\n")
        weir.reload()
        with Client(address) as waits:
            waits.send(get(origin))
            assert waits.usable(), "nobody serves it now, but it is not refused"
            configure(tmp_path, both)
            weir.reload()
            assert waits.response().status == 200


def test_sockets_of_another_process_are_left_alone(start_weir, listening, make_origin):
    passed = listening()
    weir = start_weir("-l", "127.0.0.1:0", prefix=passing([passed], process="1"),
                      pass_fds=[passed.fileno()])
    assert weir.address != passed.getsockname()
    assert serves(weir.address, make_origin())


def test_passed_descriptor_that_does_not_listen(start_weir, make_origin):
    with socket.socket() as passed:
        weir = start_weir("-l", "127.0.0.1:0", prefix=passing([passed], "odd"),
                          pass_fds=[passed.fileno()])
        assert "descriptor 3 (odd) is no socket that listens" in weir.said()
        assert serves(weir.address, make_origin())


def test_passed_socket_is_no_open_proxy_by_accident(listening):
    passed = listening(("0.0.0.0", 0))
    command = [*passing([passed]), program.path()]
    done = subprocess.run(command, pass_fds=[passed.fileno()], env=program.environment(),
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "would let anybody use this proxy" in done.stderr


# --- who it becomes

def status_of(task):
    lines = (task / "status").read_text().splitlines()
    return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}


@ROOT_ONLY
@pytest.mark.parametrize("group, ids", [("", NOGROUP), ("group: daemon\n", 1), ("group: 7\n", 7)])
def test_becomes_nobody(start_weir, open_directory, make_origin, group, ids):
    origin = make_origin()
    port = privileged_port()
    weir = start_weir("-c", configure(
        open_directory, f"user: nobody\n{group}workers: 2\nadmin: unix:{open_directory}/admin\n"
                        f"pid_file: {open_directory}/pid\nlisten:\n"
                        f"  - address: 127.0.0.1:{port}\n"
                        f"  - address: unix:{open_directory}/proxy\n"),
        program=str(open_directory / "weir"), listeners=2)
    for task in pathlib.Path(f"/proc/{weir.pid}/task").iterdir():
        status = status_of(task)
        assert status["Uid"] == [str(NOBODY)] * 4 and status["Gid"] == [str(ids)] * 4
        assert status["Groups"] == [str(ids)]
        assert {status[name][0] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert serves(("127.0.0.1", port), origin), "a port that only root may listen on"
    found = os.stat(f"{open_directory}/proxy")
    assert (found.st_uid, found.st_gid) == (NOBODY, ids)
    admin = Admin(f"{open_directory}/admin")
    assert admin.metric("process_open_fds") > 5
    assert (open_directory / "pid").read_text() == f"{weir.pid}\n"
    weir.stop()
    assert (open_directory / "pid").read_text() == "", "it may not be removed, but emptied"


@ROOT_ONLY
def test_reload_as_nobody(start_weir, open_directory, make_origin):
    """What only root may do cannot be done any more, and then nothing has changed."""
    file = configure(open_directory, "user: nobody\nlisten: [ { address: '127.0.0.1:0' } ]\n")
    weir = start_weir("-c", file, program=str(open_directory / "weir"))
    weir.reload()
    port = privileged_port()
    configure(open_directory, f"user: nobody\nlisten: [ {{ address: '127.0.0.1:{port}' }} ]\n")
    said = weir.reload("not reloaded")
    assert any("Permission denied" in line for line in said)
    assert serves(weir.address, make_origin())


@pytest.mark.parametrize("text, said", [
    ("user: nobody-of-that-name\n", "there is no user"),
    ("group: nobody-of-that-name\n", "there is no group"),
    ("user: 4000000000\n", "there is no user"), ("user: 1999999999\n", "say its group")])
def test_nobody_of_that_name(tmp_path, text, said):
    done = program.run("-l", "127.0.0.1:0", "-c", configure(tmp_path, text))
    assert done.returncode == 78 and said in done.stderr


@ROOT_ONLY
def test_only_root_becomes_somebody_else(open_directory, make_origin):
    file = configure(open_directory, "user: daemon\nlisten: [ { address: '127.0.0.1:0' } ]\n")
    command = [str(open_directory / "weir"), "-c", file]
    done = subprocess.run(command, env=program.environment(), user=NOBODY, group=NOGROUP,
                          extra_groups=[], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "cannot become user" in done.stderr
    configure(open_directory, "user: nobody\nlisten: [ { address: '127.0.0.1:0' } ]\n")
    with subprocess.Popen(command, env=program.environment(), user=NOBODY, group=NOGROUP,
                          extra_groups=[], stderr=subprocess.PIPE, text=True) as process:
        assert "listening on" in process.stderr.readline(), "it is that user already"
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 0


# --- pid_file

def test_pid_file(start_weir, tmp_path):
    file = configure(tmp_path, f"pid_file: {tmp_path}/pid\n"
                               "listen: [ { address: '127.0.0.1:0' } ]\n")
    (tmp_path / "pid").write_text("123456789 and what a killed process left\n")
    weir = start_weir("-c", file)
    assert (tmp_path / "pid").read_text() == f"{weir.pid}\n"
    second = program.run("-c", file)
    assert second.returncode == 1 and "belongs to a process that runs" in second.stderr
    assert (tmp_path / "pid").read_text() == f"{weir.pid}\n"
    weir.reload()
    weir.stop()
    assert not (tmp_path / "pid").exists()


def test_pid_file_that_cannot_be_written(tmp_path):
    text = "pid_file: /nowhere/pid\nlisten: [ { address: '127.0.0.1:0' } ]\n"
    done = program.run("-c", configure(tmp_path, text))
    assert done.returncode == 1 and "/nowhere/pid: No such file" in done.stderr


# --- telling the service manager

@pytest.mark.parametrize("abstract", [False, True])
def test_service_manager_is_told(start_weir, tmp_path, make_origin, abstract):
    manager = Notified(None if abstract else tmp_path)
    asked = threading.Event()
    origin = make_origin(hanging(asked))
    file = configure(tmp_path, "listen: [ { address: '127.0.0.1:0' } ]\n")
    weir = start_weir("-c", file, NOTIFY_SOCKET=manager.name)
    assert manager.next() == {"READY": "1", "STATUS": "serving"}
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    weir.reload()
    message = manager.next()
    assert message["RELOADING"] == "1"
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert before <= int(message["MONOTONIC_USEC"]) <= now
    assert manager.next()["READY"] == "1"
    configure(tmp_path, "nonsense: 1\n")
    weir.reload("not reloaded")
    assert manager.next()["RELOADING"] == "1"
    message = manager.next()
    assert message["READY"] == "1" and "failed" in message["STATUS"]
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        weir.terminate()
        assert manager.next()["STOPPING"] == "1"
        weir.reload("weir is stopping")
        weir.terminate()
        weir.finish(5)
    assert manager.quiet()
    manager.close()


def test_service_manager_that_is_gone(start_weir, tmp_path, make_origin):
    weir = start_weir("-l", "127.0.0.1:0", NOTIFY_SOCKET=f"{tmp_path}/nobody")
    weir.wait(lambda: "cannot notify" in weir.said(), "its complaint", 5)
    assert serves(weir.address, make_origin())


# --- limits on clients

def limited(start_weir, directory, text, **options):
    weir = start_weir("-w", "1", "-c", configure(
        directory, f"admin: unix:{directory}/admin.sock\n{text}"), **options)
    return weir, Admin(f"{directory}/admin.sock")


def test_clients_that_are_not_allowed(start_weir, tmp_path, make_origin):
    """They are closed before a byte of theirs is read."""
    origin = make_origin()
    weir, admin = limited(start_weir, tmp_path, """listen:
  - { address: '127.0.0.1:0', allow_clients: [ 127.0.0.2, 10.0.0.0/8 ] }
""")
    for unused in range(3):
        with Client(weir.address) as client:
            assert client.ended()
    allowed = socket.create_connection(weir.address, 5, source_address=("127.0.0.2", 0))
    allowed.sendall(get(origin))
    assert allowed.recv(100).startswith(b"HTTP/1.1 200")
    allowed.close()
    assert admin.metric("weir_clients_refused_total") == 3
    assert admin.metric("weir_exchanges_total") == 1


def test_allowed_clients_change_by_reload(start_weir, tmp_path, make_origin):
    text = "listen: [ { address: '127.0.0.1:0', allow_clients: [ %s ] } ]\n"
    weir = start_weir("-c", configure(tmp_path, text % "127.0.0.1"))
    assert serves(weir.address, make_origin())
    configure(tmp_path, text % "127.0.0.2")
    weir.reload()
    with Client(weir.address) as client:
        assert client.ended()


def test_connections_of_one_address(start_weir, tmp_path, make_origin):
    origin = make_origin()
    weir, admin = limited(start_weir, tmp_path, """listen: [ { address: '127.0.0.1:0' } ]
limits: { connections_per_address: 3 }
""")
    clients = [Client(weir.address) for unused in range(3)]
    assert all(client.ask(get(origin)).status == 200 for client in clients)
    with Client(weir.address) as fourth:
        assert fourth.ended()
    other = socket.create_connection(weir.address, 5, source_address=("127.0.0.2", 0))
    other.sendall(get(origin))
    assert other.recv(100).startswith(b"HTTP/1.1 200")
    other.close()
    clients.pop().close()
    weir.settle(lambda: admin.metric("weir_client_connections_open") == 2, "one to be gone")
    assert serves(weir.address, origin)
    assert admin.metric("weir_clients_refused_total") == 1
    for client in clients:
        client.close()


@pytest.mark.parametrize("silent", [False, True])
def test_most_connections(start_weir, tmp_path, make_origin, silent):
    """Who comes beyond it waits until somebody goes, also when the others have not spoken; the
    admin's clients do not count."""
    origin = make_origin()
    weir, admin = limited(start_weir, tmp_path, """listen: [ { address: '127.0.0.1:0' } ]
limits: { connections_max: 3 }
""")
    clients = [Client(weir.address) for unused in range(3)]
    assert silent or all(client.ask(get(origin)).status == 200 for client in clients)
    weir.settle(lambda: admin.metric("weir_clients_silent") == 3 * silent, "silent clients")
    weir.settle(lambda: "cannot accept" in weir.said(), "its complaint")
    with Client(weir.address) as fourth:
        fourth.send(get(origin))
        assert fourth.usable()
        assert admin.get("/healthz").status == 200
        clients.pop().close()
        assert fourth.response().status == 200
    for client in clients:
        client.close()


def test_out_of_descriptors(start_weir, tmp_path, make_origin):
    """Who is there is served, who comes waits, and weir does not spin meanwhile."""
    origin = make_origin()
    weir, admin = limited(start_weir, tmp_path, """listen: [ { address: '127.0.0.1:0' } ]
limits: { connections_max: 1000 }
""", prefix=["bash", "-c", 'ulimit -n 40; exec "$@"', "weir"])
    first = Client(weir.address)
    assert first.ask(get(origin)).status == 200
    crowd = [Client(weir.address) for unused in range(60)]
    weir.settle(lambda: "Too many open files" in weir.said(), "its complaint")
    before = cpu_seconds(weir.pid)
    time.sleep(1)
    assert cpu_seconds(weir.pid) - before < 0.3
    assert first.ask(get(origin)).status == 200, "on connections that are there"
    crowd[-1].send(get(origin))
    assert crowd[-1].usable()
    for client in crowd[:-1]:
        client.close()
    assert crowd[-1].response().status == 200
    assert weir.said().count("Too many open files") == 1, "one complaint is enough"
    assert serves(weir.address, origin)
    assert admin.get("/healthz").status == 200
    first.close()
    crowd[-1].close()


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the end

def test_drain_timeout(start_weir, tmp_path, make_origin):
    asked = threading.Event()
    origin = make_origin(hanging(asked))
    weir = start_weir("-c", configure(
        tmp_path, "drain_timeout: 500ms\nlisten: [ { address: '127.0.0.1:0' } ]\n"))
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        begin = time.monotonic()
        weir.terminate()
        weir.finish(5)
        assert 0.5 <= time.monotonic() - begin < 2
    assert "the drain has taken too long" in weir.said()


def test_without_drain_timeout_it_waits(start_weir, tmp_path, make_origin):
    asked, go_on = threading.Event(), threading.Event()

    def handler(connection):
        connection.request()
        asked.set()
        assert go_on.wait(8)
        connection.send(ok(b"late"))

    origin = make_origin(handler)
    weir = start_weir("-c", configure(
        tmp_path, "drain_timeout: none\nlisten: [ { address: '127.0.0.1:0' } ]\n"))
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        weir.terminate()
        time.sleep(1)
        assert weir.process.poll() is None
        go_on.set()
        assert client.response().body == b"late"
    weir.finish(5)


@pytest.mark.parametrize("arguments, status", [
    (["--nonsense"], 2), (["check", "-c", "/nowhere/weir.yaml"], 78), (["-c", "/nowhere/a"], 78),
    (["-l", "unix:/nowhere/a.sock"], 1)])
def test_exit_codes(arguments, status):
    assert program.run(*arguments).returncode == status


def test_it_stays_in_the_foreground(start_weir):
    weir = start_weir("-l", "127.0.0.1:0")
    parent = status_of(pathlib.Path(f"/proc/{weir.pid}"))["PPid"]
    assert parent == [str(os.getpid())]
    weir.process.send_signal(signal.SIGTERM)
    assert weir.process.wait(5) == 0
