"""Group H: plugins are replaced under load. Nothing is dropped, nothing grows, a broken one changes
nothing. RELOADS=1000 makes the long one long: ./dev test does 50."""
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

import pytest

from client_chosen import Client
from plugins import compile_plugin
from program import release_path
from test_reload import Running, get, waiting

RELOADS = int(os.environ.get("RELOADS", "50"))
WORKERS = 2
SETTINGS = "plugins: [ ./live.so ]\nfilters: [ { use: reloaded, with: { %s } } ]\n"


@pytest.fixture(scope="module")
def compiled():
    """version("2", LOAD_MS=9): the file of that version, made once."""
    with tempfile.TemporaryDirectory() as directory:
        made = {}

        def version(name, **defines):
            key = (name, *defines.items())
            if key not in made:
                flags = [f"-D{define}={value}" for define, value in defines.items()]
                made[key] = compile_plugin(pathlib.Path(directory), f"reloaded-{len(made)}",
                                           pathlib.Path(__file__).parents[1] / "plugins/reloaded.c",
                                           f'-DVERSION="{name}"', *flags)
            return made[key]
        yield version


def install(directory, file, more=b""):
    """As a build does: another file takes the place, in one step."""
    (directory / "new.so").write_bytes(file.read_bytes() + more)
    os.replace(directory / "new.so", directory / "live.so")


class Reloadable(Running):
    """A weir with that plugin."""

    def __init__(self, start_weir, directory, file, text="", **options):
        install(directory, file)
        super().__init__(start_weir, directory, SETTINGS % text, WORKERS,
                         **options)

    def install(self, file, more=b""):
        install(self.directory, file, more)

    def reload(self, text="", listen=None):
        super().reload(SETTINGS % text, listen)

    def refuses(self, text=""):
        """Another reload that must fail; what the admin's client is told."""
        self.write(SETTINGS % text)
        answer = self.admin.reload()
        assert answer.status == 422, answer.body
        return answer.body.decode()

    def count(self, version, what):
        return self.weir.lines.count(f"reloaded {version}: {what}")

    def expect(self, version, what, times=1):
        self.weir.settle(lambda: self.count(version, what) >= times, f"{version}: {what}", 10)
        assert self.count(version, what) == times, self.weir.lines

    def maps(self):
        return pathlib.Path(f"/proc/{self.weir.pid}/maps").read_text()

    def copies(self):
        """The files beside those that are mapped."""
        return os.listdir(re.search(r"\S+/weir-plugins-[^/]+", self.maps())[0])

    def version(self, origin):
        with Client(self.weir.address) as client:
            return client.ask(get(origin)).get(b"x-version")


@pytest.fixture
def start(start_weir, tmp_path):
    return lambda file, *text, **options: Reloadable(start_weir, tmp_path, file, *text, **options)


# --- H1, H5: who runs what, and until when

def test_exchanges_end_on_the_code_that_they_began_with(start, compiled, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    slow, origin = make_origin(waiting(asked, go_on)), make_origin()
    running = start(compiled("1"))
    with Client(running.weir.address) as client:
        client.send(get(slow))
        assert asked.wait(5)
        running.install(compiled("2"))
        running.reload()
        assert running.version(origin) == b"2"
        running.expect("1", "worker_free", WORKERS - 1)
        assert not running.count("1", "free") and not running.count("1", "unmapped")
        go_on.set()
        assert client.response().get(b"x-version") == b"1"
        assert client.ask(get(origin)).get(b"x-version") == b"2"
    running.expect("1", "unmapped")
    said = [line for line in running.weir.lines if line.startswith("reloaded 1:")]
    assert said[-4:] == [f"reloaded 1: {what}"
                         for what in ("worker_free", "free", "unload", "unmapped")]
    running.weir.settle(lambda: len(running.copies()) == 1, "its copy to go")
    running.weir.stop()
    running.expect("2", "unmapped")


def test_what_may_not_be_unmapped_stays(start, compiled, make_origin):
    origin = make_origin()
    running = start(compiled("1", FLAGS=0))
    for unused in range(3):
        running.install(compiled("2"))
        running.reload()
        assert running.version(origin) == b"2"
        running.install(compiled("1", FLAGS=0))
        running.reload()
        assert running.version(origin) == b"1"
    running.expect("2", "unmapped", 3)
    running.expect("1", "free", 3)
    assert running.count("1", "load") == 1 and not running.count("1", "unload")
    assert re.search(r"1-live\.so$", running.maps(), re.M)
    running.weir.stop()
    running.expect("1", "unload")


def test_a_replaced_plugin_keeps_its_symbols(start, compiled, make_origin):
    """H6: what it is mapped from is there as long as its code runs."""
    asked, go_on = threading.Event(), threading.Event()
    slow, origin = make_origin(waiting(asked, go_on)), make_origin()
    running = start(compiled("1"))
    with Client(running.weir.address) as client:
        code = int(client.ask(get(origin)).get(b"x-code"), 16)
        client.send(get(slow))
        assert asked.wait(5)
        running.install(compiled("2"))
        running.reload()
        file, place = mapped(running.maps(), code)
        named = subprocess.run(["addr2line", "-f", "-e", file, hex(place)], text=True, check=True,
                               capture_output=True).stdout
        assert named.startswith("on_response_of_this_version\n"), named
        go_on.set()
        assert int(client.response().get(b"x-code"), 16) == code


def mapped(maps, address):
    """The file that an address is mapped from, and the place of it in there."""
    first = {}
    for line in maps.splitlines():
        fields = line.split()
        begin, end = (int(number, 16) for number in fields[0].split("-"))
        name = fields[5] if len(fields) > 5 else None
        first.setdefault(name, begin)
        if begin <= address < end:
            return name, address - first[name]
    raise AssertionError(f"{address:x} is not mapped")


# --- H2: a new one that is broken

@pytest.mark.parametrize("break_it,says", [
    (lambda running, compiled: (running.directory / "live.so").write_bytes(b"half an upload"),
     "live.so: not a weir plugin: it is no ELF file"),
    (lambda running, compiled: (running.directory / "live.so").unlink(),
     "live.so: cannot be read: No such file or directory"),
    (lambda running, compiled: running.install(compiled("2", BROKEN=1)),
     "live.so: refused: its load() failed (-38); see what it says in the log"),
    (lambda running, compiled: running.install(compiled("2", FLAGS=0, BROKEN=1)),
     "live.so: refused: its load() failed (-38); see what it says in the log")])
def test_a_broken_plugin_leaves_the_old_one(start, compiled, make_origin, break_it, says):
    origin = make_origin()
    running = start(compiled("1"))
    break_it(running, compiled)
    for times in range(1, 3):
        assert says in running.refuses()
        assert running.version(origin) == b"1"
        running.weir.settle(lambda: len([line for line in running.weir.lines if says in line])
                            == times, "the reason in the log")
    assert running.admin.metric("weir_configurations_in_use") == 1
    running.install(compiled("3"))
    running.reload()
    assert running.version(origin) == b"3"


def test_one_worker_that_refuses_is_enough(start, compiled, make_origin):
    """The other has made its state: that goes again, there."""
    origin = make_origin()
    running = start(compiled("1"))
    running.install(compiled("2"))
    said = running.refuses("refuses_on: 2")
    assert re.fullmatch(r"worker \d: filter reloaded refuses the configuration; .*\n?", said), said
    running.expect("2", "worker_free", WORKERS - 1)
    running.expect("2", "unmapped")
    assert running.version(origin) == b"1"
    running.reload("refuses_on: 3")
    assert running.version(origin) == b"2"


# --- slow ones

def test_a_slow_load_holds_up_no_request(start, compiled, make_origin):
    origin = make_origin()
    running = start(compiled("1"))
    running.install(compiled("2", LOAD_MS=1500))
    reloading = threading.Thread(target=running.reload)
    reloading.start()
    answered = 0
    while reloading.is_alive():
        begun = time.monotonic()
        version = running.version(origin)
        assert time.monotonic() - begun < 1
        answered += version == b"1"
        time.sleep(0.02)
    reloading.join()
    assert answered > 10
    assert running.version(origin) == b"2"


def test_a_reload_while_workers_still_prepare_for_another(start, compiled, make_origin):
    """They take longer than weir waits, which gives that one up; the next one comes in force."""
    origin = make_origin()
    running = start(compiled("1"))
    running.install(compiled("2"))
    running.write(SETTINGS % "sleeps_ms: 11000")
    said = running.weir.reload("not reloaded", seconds=20)
    assert any("too busy" in line for line in said)
    running.install(compiled("3"))
    running.write(SETTINGS % "")
    running.weir.reload(seconds=20)
    assert running.version(origin) == b"3"
    running.expect("2", "worker_free", WORKERS)
    for version in "12":
        running.expect(version, "unmapped")


def test_a_reload_while_weir_stops_changes_nothing(start, compiled, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    running = start(compiled("1"))
    with Client(running.weir.address) as client:
        client.send(get(make_origin(waiting(asked, go_on))))
        assert asked.wait(5)
        running.weir.terminate()
        running.weir.settle(lambda: "stopping on" in running.weir.said(), "it to begin to stop")
        running.install(compiled("2"))
        running.weir.reload("not reloaded: weir is stopping")
        go_on.set()
        assert client.response().get(b"x-version") == b"1"
    running.weir.finish()
    assert not running.count("2", "load")
    running.expect("1", "unmapped")


# --- H3: many, under load

class Load:
    """Clients that ask without a pause; each answer must be a good one of some version."""

    def __init__(self, running, origin, clients=4):
        self.running, self.origin = running, origin
        self.stops = False
        self.answers, self.problems = 0, []
        self.threads = [threading.Thread(target=self.ask) for unused in range(clients)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        try:
            with Client(self.running.weir.address) as client:
                while not self.stops:
                    answer = client.ask(get(self.origin))
                    assert answer.status == 200 and answer.get(b"x-version") in (b"1", b"2")
                    self.answers += 1
        except Exception as problem:      # noqa: B902 - reported by end()
            self.problems.append(problem)

    def end(self):
        self.stops = True
        for thread in self.threads:
            thread.join()
        assert not self.problems, self.problems
        return self.answers


@pytest.mark.parametrize("same", [True, False], ids=["same-files", "new-files"])
def test_many_reloads_under_load(start, compiled, make_origin, same):
    """Memory, descriptors, mappings and copies are as after the first ones."""
    running = start(compiled("1"), program=release_path())
    load = Load(running, make_origin())

    def reload(number):
        running.install(compiled(str(number % 2 + 1)), b"" if same else b"%d" % number)
        running.reload()

    def sizes():
        running.weir.settle(lambda: running.admin.metric("weir_configurations_in_use") == 1
                            and len(running.copies()) == 1, "the old ones to go", 20)
        return (running.weir.memory(), running.weir.descriptors(),
                len(running.maps().splitlines()))

    warm = min(RELOADS, 100)
    for number in range(warm):
        reload(number)
    memory, descriptors, maps = sizes()
    for number in range(warm, RELOADS + warm):
        reload(number)
    memory_after, descriptors_after, maps_after = sizes()
    answers = load.end()
    print(f"{RELOADS} reloads, {answers} answers: {memory >> 10} KiB, then {memory_after >> 10}")
    assert answers > RELOADS
    assert abs(descriptors_after - descriptors) <= 2
    assert abs(maps_after - maps) <= 16
    assert memory_after - memory < 2 << 20, (memory, memory_after)
