"""Plugins come from files: which are loaded, which are refused, and what the user is told."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

import pytest

from plugins import BARE, BUILT, built, compile_plugin, filter_source
from program import ROOT, release_path, run

VERSION = (ROOT / "VERSION").read_text().strip()
HEADER = (ROOT / "abi/weir.h").read_text()
MAJOR, MINOR = (int(re.search(rf"#define WEIR_ABI_{part} (\d+)", HEADER)[1])
                for part in ("MAJOR", "MINOR"))
THIS = f"this is weir {VERSION} with ABI {MAJOR}.{MINOR}"
KEPT = sorted((ROOT / "tests/plugins/attic").glob("*/abi"))
COMPILERS = ["", "clang/"] if shutil.which("clang") else [""]


def refused(plugin):
    """What weir says when it does not start with that plugin."""
    result = run("-l", "127.0.0.1:0", "--plugin", str(plugin))
    assert result.returncode == 78, result.stderr
    prefix = f"weir: --plugin {plugin}: "
    lines = [line for line in result.stderr.splitlines() if line.startswith(prefix)]
    assert len(lines) == 1, result.stderr
    return lines[0].removeprefix(prefix), result.stderr


def write(directory, name, text):
    place = directory / name
    place.write_text(text)
    return place


@pytest.fixture
def configure(tmp_path):
    """Writes a configuration of a listener and more."""
    return lambda text: write(tmp_path, "weir.yaml", "listen: [ { address: 127.0.0.1:0 } ]\n" + text)


# A1, A2, A3: what fits

@pytest.mark.parametrize("name", [f"{place}{name}" for place in COMPILERS
                                  for name in ("plain", "newer_minor")]
                         + [f"attic/{headers.parent.name}/plain" for headers in KEPT])
def test_a_plugin_of_another_minor_is_loaded(start_weir, name):
    weir = start_weir("-l", "127.0.0.1:0", "--plugin", str(built(name)))
    weir.check()
    if name.endswith("plain"):
        assert "weir: info: test.plain: plain is loaded" in weir.lines


def test_headers_are_kept_for_this_abi():
    assert f"{MAJOR}.{MINOR}" in [headers.parent.name for headers in KEPT], \
        "scripts/freeze_abi.py keeps them"


def test_what_is_kept_is_checked_by_the_compiler(tmp_path):
    """A10: every member and constant is where it was; one that has moved is seen."""
    for headers in KEPT:
        offsets = headers.parent / "offsets.c"
        compiled = ["cc", "-std=c11", "-fsyntax-only", "-I", ROOT]
        subprocess.run([*compiled, offsets], check=True)
        moved = write(tmp_path, "moved.c", offsets.read_text().replace(
            "offsetof(struct weir_plugin, name), 24", "offsetof(struct weir_plugin, name), 32"))
        assert subprocess.run([*compiled, moved], capture_output=True).returncode != 0


# A4, A5, A6: what does not fit

@pytest.mark.parametrize("place", COMPILERS)
def test_a_plugin_that_needs_a_newer_weir_is_refused(place):
    text, said = refused(built(f"{place}needs_minor"))
    assert text == f"refused: needs weir ABI {MAJOR}.9 or later, {THIS}; upgrade weir"
    assert "constructor ran" not in said


@pytest.mark.parametrize("place", COMPILERS)
def test_a_plugin_of_another_major_is_refused(place):
    text, said = refused(built(f"{place}newer_major"))
    assert text == (f"refused: built for weir ABI 2.0, {THIS}; "
                    f"rebuild it against weir's headers {MAJOR}.x")
    assert "constructor ran" not in said


@pytest.mark.parametrize("place", COMPILERS)
def test_a_plugin_of_a_draft_that_has_changed_is_refused(place):
    text, said = refused(built(f"{place}older_minor"))
    assert text == (f"refused: built for weir ABI 0.2, a draft that has changed since, {THIS}; "
                    "rebuild it against weir's headers")
    assert "constructor ran" not in said


def test_constructors_are_seen_to_run():
    """So that their silence above means something."""
    assert "a constructor ran" in run("-l", "127.0.0.1:0", "--plugin",
                                      str(built("needs_interface"))).stderr


# A7: what is no plugin

def of_machine(plugin, machine):
    return plugin[:18] + struct.pack("<H", machine) + plugin[20:]


def with_magic(plugin, magic):
    note = plugin.index(b"WEIR\0\0\0\0")
    return plugin[:note + 8] + magic + plugin[note + 12:]


@pytest.mark.parametrize("name, damage, expected", [
    ("text", lambda plugin: b"#!/bin/sh\n", "it is no ELF file"),
    ("empty", lambda plugin: b"", "it is no ELF file"),
    ("short", lambda plugin: plugin[:40], "its file is cut short"),
    ("cut", lambda plugin: plugin[:200], "its file is cut short"),
    ("32-bit", lambda plugin: plugin[:4] + b"\x01" + plugin[5:], "it is not a 64-bit object"),
    ("big-endian", lambda plugin: plugin[:5] + b"\x02" + plugin[6:], "it is not little-endian"),
    ("machine", lambda plugin: of_machine(plugin, 243),
     "it is built for another kind of processor"),
    ("magic", lambda plugin: with_magic(plugin, b"RIEW"), "its note is damaged"),
])
def test_what_is_no_plugin_is_refused(tmp_path, name, damage, expected):
    plugin = tmp_path / f"{name}.so"
    original = built("plain").read_bytes()
    damaged = damage(original)
    assert damaged != original
    plugin.write_bytes(damaged)
    assert refused(plugin)[0] == f"not a weir plugin: {expected}"


def test_a_library_is_no_plugin(tmp_path):
    source = write(tmp_path, "library.c", "int answer(void);\nint answer(void) { return 42; }\n")
    text, _ = refused(compile_plugin(tmp_path, "library", source))
    assert text == ("not a weir plugin: it has no note of weir's; "
                    "is WEIR_PLUGIN in one of its files?")


def test_a_program_is_no_plugin():
    text, _ = refused(pathlib.Path("/proc/self/exe").resolve())
    assert text.startswith("not a weir plugin: ")


def test_what_is_not_there_is_said(tmp_path):
    assert refused(tmp_path / "none.so")[0] == "cannot be read: No such file or directory"
    assert refused(tmp_path)[0].startswith("not a weir plugin: it is no file")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.so")
    assert refused(tmp_path / "pipe.so")[0].startswith("not a weir plugin: it is no file")


@pytest.mark.parametrize("place", COMPILERS)
def test_a_mixed_build_is_refused(place):
    assert "corrupt or mixed build" in refused(built(f"{place}mixed"))[0]


def test_a_missing_symbol_is_named():
    text, _ = refused(built("undefined"))
    assert text.startswith("cannot be loaded: undefined symbol: nobody_has_this")


def test_section_headers_are_not_needed(start_weir, tmp_path):
    plugin = bytearray(built("plain").read_bytes())
    plugin[40:48] = bytes(8)          # where they begin,
    plugin[60:64] = bytes(4)          # and how many there are
    (tmp_path / "stripped.so").write_bytes(plugin)
    start_weir("-l", "127.0.0.1:0", "--plugin", str(tmp_path / "stripped.so")).check()


# A8, A9, A12

def test_a_missing_interface_is_named():
    text, said = refused(built("needs_interface"))
    assert text.startswith(f"refused: needs interface weir.teapot/1, which this weir {VERSION}")
    assert "load ran" not in said


def test_a_plugin_that_fails_leaves_nothing_behind(start_weir, configure, tmp_path):
    """half.so registers the filter of plain.so and fails: the name is free afterwards."""
    text, said = refused(built("half"))
    assert text == "refused: its load() failed (-28); see what it says in the log"
    assert "weir: error: test.half: half way: no database" in said
    config = configure("")
    weir = start_weir("-c", str(config))
    configure(f"plugins: [ {built('half')} ]")
    weir.reload("not reloaded")
    configure(f"plugins: [ {built('plain')} ]")
    weir.reload()
    assert "weir: info: test.plain: plain is loaded" in weir.lines


def test_two_filters_of_one_name_are_refused(tmp_path):
    other = tmp_path / "other.so"
    shutil.copy(built("plain"), other)
    result = run("-l", "127.0.0.1:0", "--plugin", str(built("plain")), "--plugin", str(other))
    assert result.returncode == 78
    assert (f'--plugin {other}: refused: the filter "plain" of {other} is one of {built("plain")} '
            "already; remove one of the two") in result.stderr


def test_the_same_plugin_twice_is_loaded_once(start_weir):
    plugin = str(built("plain"))
    weir = start_weir("-l", "127.0.0.1:0", "--plugin", plugin, "--plugin", plugin)
    assert weir.lines.count("weir: info: test.plain: plain is loaded") == 1


def test_a_protocol_must_be_whole():
    assert refused(built("broken_protocol"))[0] == 'refused: the protocol "broken" has no open'


# A11

@pytest.mark.parametrize("plugin", sorted(BUILT.glob("**/*.so")) + sorted(
    BUILT.parents[1].glob("plugins/*.so")), ids=lambda plugin: plugin.name)
def test_plugins_ask_for_no_symbol_of_weir(plugin):
    symbols = subprocess.run(["nm", "-D", "--undefined-only", plugin], capture_output=True,
                             text=True, check=True).stdout
    assert "weir_" not in symbols


# The configuration

def test_the_configuration_names_plugins(start_weir, configure, tmp_path):
    """Relative to the file, or by name in the plugin directory."""
    (tmp_path / "near").mkdir()
    shutil.copy(built("plain"), tmp_path / "near/plain.so")
    weir = start_weir("-c", str(configure("plugins: [ near/plain.so ]")))
    assert "weir: info: test.plain: plain is loaded" in weir.lines
    weir = start_weir("-c", str(configure("plugins: [ plain ]\nplugin_directory: near\n")))
    assert "weir: info: test.plain: plain is loaded" in weir.lines


def test_mistakes_have_their_place(configure):
    config = configure(f"plugins:\n  - {built('plain')}\n  - {built('needs_minor')}\n  - nowhere\n"
                       "plugin_directory: none\n")
    result = run("check", "-c", str(config))
    assert result.returncode == 78
    lines = [line for line in result.stderr.splitlines() if line.startswith(str(config))]
    assert lines == [
        f"{config}:4:5: plugins[1]: {built('needs_minor')}: refused: needs weir ABI {MAJOR}.9 or "
        f"later, {THIS}; upgrade weir",
        f"{config}:5:5: plugins[2]: {config.parent}/none/nowhere.so: cannot be read: "
        "No such file or directory"]


# Reload

def made(directory, word, name="made"):
    source = write(directory, "made.c", filter_source("made", word=word))
    compile_plugin(directory, "new", source)
    os.replace(directory / "new.so", directory / f"{name}.so")


def test_a_new_file_at_the_same_path_is_a_new_plugin(start_weir, configure, tmp_path):
    made(tmp_path, "one")
    config = configure("plugins: [ ./made.so ]")
    weir = start_weir("-c", str(config))
    assert "weir: info: test.made: this is one" in weir.lines
    assert not any("this is" in line for line in weir.reload())  # unchanged: the same
    made(tmp_path, "two")
    assert "weir: info: test.made: this is two" in weir.reload()
    weir.check()


def test_a_broken_new_file_leaves_the_old_in_force(start_weir, configure, tmp_path):
    made(tmp_path, "one")
    weir = start_weir("-c", str(configure("plugins: [ ./made.so ]")))
    (tmp_path / "made.so").write_bytes(b"half an upload")  # in place, while it is mapped
    said = weir.reload("not reloaded")
    assert any("not a weir plugin: it is no ELF file" in line for line in said)
    weir.check()


def test_unloading_is_only_for_who_allows_it(start_weir, configure):
    config = configure(f"plugins: [ {built('unloadable')}, {built('plain')} ]")
    weir = start_weir("-c", str(config))
    config.write_text("listen: [ { address: 127.0.0.1:0 } ]\n")
    weir.reload()
    weir.wait(lambda: "unmapped" in weir.lines, "the plugin to go", 5)
    assert weir.lines.index("unload ran") < weir.lines.index("unmapped")
    maps = pathlib.Path(f"/proc/{weir.pid}/maps")
    weir.settle(lambda: "unloadable.so" not in maps.read_text(), "it to be unmapped")
    assert "plain.so" in maps.read_text()


# Protocols

def test_without_a_protocol_clients_are_let_go(start_weir):
    """A weir that has h1 not built in has it only by its plugin: tests/run.py h1so."""
    weir = start_weir("-l", "127.0.0.1:0", program=str(BARE))
    with socket.create_connection(weir.address, 5) as client:
        client.sendall(b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(100) == b""
    symbols = subprocess.run(["nm", BARE], capture_output=True, text=True, check=True).stdout
    assert "registry_new" in symbols and "llhttp" not in symbols


# Private copies

def test_copies_are_private_and_go_with_the_process(start_weir, tmp_path):
    weir = start_weir("-l", "127.0.0.1:0", "--plugin", str(built("plain")), TMPDIR=str(tmp_path),
                      XDG_RUNTIME_DIR=str(tmp_path))
    maps = pathlib.Path(f"/proc/{weir.pid}/maps").read_text()
    copy = pathlib.Path(re.search(r"\S+/1-plain\.so", maps)[0])
    assert copy.read_bytes() == built("plain").read_bytes()
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    weir.stop()
    assert not copy.exists() and not copy.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_copies_are_made_after_privileges_were_dropped(start_weir):
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        made(place, "one")
        config = write(place, "weir.yaml", "listen: [ { address: 127.0.0.1:0 } ]\nuser: nobody\n"
                                           "plugins: [ ./made.so ]\n")
        weir = start_weir("-c", str(config))
        status = pathlib.Path(f"/proc/{weir.pid}/status").read_text()
        assert not re.search(r"^Uid:\s+0\s", status, re.M)
        made(place, "two")
        assert "weir: info: test.made: this is two" in weir.reload()
        assert not any("this is" in line for line in weir.reload())
        copy = re.search(r"\S+/1-made\.so", pathlib.Path(f"/proc/{weir.pid}/maps").read_text())[0]
        weir.stop()
        assert not os.path.exists(copy)


def test_the_next_one_removes_what_was_left(start_weir):
    def copies(weir):
        maps = pathlib.Path(f"/proc/{weir.pid}/maps").read_text()
        return pathlib.Path(re.search(r"\S+/1-plain\.so", maps)[0])

    arguments = ("-l", "127.0.0.1:0", "--plugin", str(built("plain")))
    other, killed = start_weir(*arguments), start_weir(*arguments)
    kept, left = copies(other), copies(killed)
    killed.process.kill()
    killed.process.wait()
    killed.expected_status = -signal.SIGKILL
    assert left.exists()
    start_weir(*arguments)
    assert not left.parent.exists() and kept.exists()


def test_nothing_is_left_when_it_is_refused(tmp_path):
    result = subprocess.run([os.environ.get("WEIR", str(ROOT / "build/asan/weir")), "--plugin",
                             built("half")], capture_output=True,
                            env={**os.environ, "TMPDIR": str(tmp_path)})
    assert result.returncode == 78
    assert not list(tmp_path.glob("*weir-*"))


# The breadcrumb

@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE,
                                    signal.SIGABRT, None])
def test_a_crash_says_whose_it_was(tmp_path, number):
    """In a build without sanitizers; the signal then does what it would have done."""
    plugin = compile_plugin(tmp_path, "crash")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    if number:
        environment["TEST_SIGNAL"] = str(int(number))
    result = subprocess.run([release_path(), "--plugin", plugin], env=environment, timeout=20,
                            capture_output=True, text=True)
    expected = number or signal.SIGSEGV
    assert result.returncode == -expected
    assert result.stderr.splitlines() == [
        f"weir: error: fatal signal {int(expected)} in plugin test.crash, hook load"]
