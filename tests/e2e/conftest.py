"""Fixtures: a weir that is checked after every test, scripted origins, clients and a real nginx."""
import socket
import sys

sys.dont_write_bytecode = True

import pytest  # noqa: E402

from client_chosen import OVER_H2, Client  # noqa: E402
from installation import Installation  # noqa: E402
from origin import Origin, default  # noqa: E402
from program import Weir, path, release_path  # noqa: E402
from web_server import WebServer  # noqa: E402


def pytest_sessionstart():
    """Without a program there is nothing to test, and one message says so."""
    try:
        path()
    except AssertionError as problem:
        pytest.exit(str(problem), returncode=1)


def pytest_collection_modifyitems(items):
    """What is about HTTP/1.1 alone is left out where clients speak HTTP/2, and says why."""
    for item in items if OVER_H2 else ():
        if marker := item.get_closest_marker("http1"):
            item.add_marker(pytest.mark.skip(reason=f"HTTP/1.1 alone: {marker.args[0]}"))


@pytest.fixture(scope="module")
def shared_weirs():
    """The forward proxies of a module, in fact one: a second only after the first has died."""
    weirs = []
    yield weirs
    if weirs:
        weirs[-1].stop()


@pytest.fixture
def weir(shared_weirs):
    """The module's proxy, one worker so that its pool is one. The test fails when weir crashed
    or a sanitizer spoke meanwhile; the next test then gets a new one."""
    if not shared_weirs or shared_weirs[-1].process.poll() is not None:
        shared_weirs.append(Weir("-l", "127.0.0.1:0", "-w", "1"))
    yield shared_weirs[-1]
    shared_weirs[-1].check()


@pytest.fixture
def weir_release():
    """A release build of weir, for tests that measure its memory."""
    weir = Weir("-l", "127.0.0.1:0", "-w", "1", program=release_path())
    yield weir
    weir.stop()


@pytest.fixture
def start_weir():
    """Starts a weir of the test's own: start_weir("-u", ...). It must end well on SIGTERM."""
    started = []

    def start(*arguments, **options):
        weir = Weir(*arguments, **options)
        started.append(weir)
        return weir

    yield start
    problems = []
    for weir in started:
        try:
            weir.stop()
        except AssertionError as problem:
            problems.append(problem)
    assert not problems, problems


@pytest.fixture
def weir_release_of(start_weir):
    """Starts a release build of weir, as start_weir() does."""
    return lambda *arguments, **options: start_weir(*arguments, program=release_path(), **options)


@pytest.fixture
def make_origin():
    """Makes scripted origins: make_origin(handler, host=...)."""
    origins = []

    def make(handler=default, **options):
        origins.append(Origin(handler, **options))
        return origins[-1]

    yield make
    for origin in origins:
        origin.close()


@pytest.fixture
def connect(weir):
    """Opens client connections to the module's proxy, or to another address."""
    clients = []

    def open_client(address=None, **options):
        clients.append(Client(address or weir.address, **options))
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def web_server(tmp_path_factory):
    server = WebServer(tmp_path_factory.mktemp("nginx"))
    yield server
    server.stop()


@pytest.fixture
def closed_port():
    """A port that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("installed"))
