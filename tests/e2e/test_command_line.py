"""The command line: what it prints, how it fails, and what it says then."""
import re
import shutil
import socket
import subprocess

import pytest

import program
from client import Client


def test_version():
    done = program.run("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"weir \d+\.\d+\.\d+\S*\n(.*\n)*", done.stdout), done.stdout
    assert done.stderr == ""


def test_help_names_every_option():
    done = program.run("--help")
    assert done.returncode == 0 and done.stderr == ""
    for word in ("-l", "-c", "-w", "-u", "check", "--version", "--help", "127.0.0.1:3128"):
        assert word in done.stdout, word
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("arguments, named", [
    (["--nonsense"], "nonsense"), (["-x"], "x"), (["nonsense"], "nonsense"), (["-l"], "-l"),
    (["-l", "nonsense"], "nonsense"), (["-l", "127.0.0.1:65536"], "65536"),
    (["-l", "127.0.0.1:"], "127.0.0.1:"), (["-l", "127.0.0.1"], "127.0.0.1"),
    (["-l", "::1:80"], "::1:80"), (["-w", "0"], "0"), (["-w", "-1"], "-1"), (["-w", "x"], "x"),
    (["-w", "1x"], "1x"), (["-w", "100000"], "100000"), (["-u", "nonsense"], "nonsense"),
    (["-u", "127.0.0.1:0"], "127.0.0.1:0"), (["-u", "http://127.0.0.1:80"], "http"),
    (["check"], "-c"), (["check", "nonsense"], "nonsense"),
])
def test_mistakes_are_named_and_end_with_2(arguments, named):
    done = program.run(*arguments)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert named in done.stderr and "weir" in done.stderr
    assert "listening" not in done.stderr
    assert len(done.stderr.splitlines()) <= 5, "a mistake is no reason to print a manual"


def test_port_that_is_taken_by_another_program():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        done = program.run("-l", address)
    assert done.returncode == 1, done.stderr
    assert address in done.stderr and "in use" in done.stderr
    assert "listening on" not in done.stderr


def test_port_that_is_taken_by_another_weir(start_weir, make_origin):
    """SO_REUSEPORT would allow it, and two proxies would then share the clients by chance."""
    first = start_weir("-l", "127.0.0.1:0", "-w", "2")
    done = program.run("-l", first.authority, "-w", "2")
    assert done.returncode == 1, done.stderr
    assert first.authority in done.stderr and "in use" in done.stderr
    origin = make_origin()
    for unused in range(8):
        with Client(first.address) as client:
            assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
                              % origin.url().encode()).status == 200


def test_one_of_two_ports_taken_starts_none(start_weir):
    first = start_weir("-l", "127.0.0.1:0")
    done = program.run("-l", "127.0.0.1:0", "-l", first.authority)
    assert done.returncode == 1, done.stderr
    assert first.authority in done.stderr


def test_port_of_a_weir_that_has_ended_is_free_again(start_weir, make_origin):
    """Connections in TIME_WAIT must not keep an operator from starting again."""
    origin = make_origin()
    first = start_weir("-l", "127.0.0.1:0")
    with Client(first.address) as client:
        client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
        first.stop()
        assert client.ended()
    second = start_weir("-l", first.authority)
    assert second.address == first.address


def test_address_that_is_not_here():
    done = program.run("-l", "192.0.2.1:0", "--open")
    assert done.returncode == 1, done.stderr
    assert "192.0.2.1" in done.stderr


def own_network():
    """A command prefix that gives a program a loopback of its own, None where that is not allowed."""
    for options in (["-n"], ["-rn"]):
        prefix = ["unshare", *options, "sh", "-c", 'ip link set lo up && exec "$0" "$@"']
        if shutil.which("unshare") and not subprocess.run([*prefix, "true"],
                                                          capture_output=True).returncode:
            return prefix
    return None


def test_without_arguments_it_is_a_proxy_on_3128_and_says_how_to_try_it(start_weir):
    prefix = own_network()
    if not prefix:
        pytest.skip("no network namespaces here, and port 3128 may be taken")
    weir = start_weir(prefix=prefix)
    assert weir.addresses == [("127.0.0.1", 3128)]
    weir.wait(lambda: re.search(r"curl (-x|--proxy) \S*127\.0\.0\.1:3128 http://\S+", weir.said()),
              "a curl line", 5)
    asked = subprocess.run(["nsenter", "-t", str(weir.pid), "-n", "curl", "-sS", "-m", "10",
                            "http://127.0.0.1:3128/"], env=program.environment(),
                           capture_output=True, text=True)
    if asked.returncode == 0:  # entering a namespace wants more rights than making one
        assert "proxy" in asked.stdout.lower()
