"""`weir plugin new` and `weir plugin check`: what somebody outside gets builds, passes its own test
with an installed weir, and is judged as the loader does."""
import os
import re
import shutil
import subprocess

import pytest

import plugins
import program
from program import ROOT


@pytest.fixture(scope="module")
def make(installed):
    """make in a plugin's directory, as its author calls it: with weir installed somewhere."""
    def run(directory, *arguments):
        return subprocess.run(["make", *arguments], cwd=directory, env=installed.environment(),
                              capture_output=True, text=True, timeout=120)
    return run


def new(tmp_path, *arguments):
    done = subprocess.run([os.path.abspath(program.path()), "plugin", "new", *arguments], cwd=tmp_path,
                          env=program.environment(), capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["--filter", "--protocol"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_is_new_passes_its_own_test(tmp_path, make, kind, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    status, said = new(tmp_path, "acme-trace", kind)
    assert status == 0 and "make test" in said, said
    done = make(tmp_path / "acme-trace", "test", f"CC={compiler}", "WARNINGS=-Wall -Wextra "
                "-Wpedantic -Wconversion -Wshadow -Werror")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok:") >= 4 and "NOT OK" not in done.stdout


@pytest.mark.parametrize("kind", ["--filter", "--protocol"])
def test_it_has_no_fault_that_a_sanitizer_finds(tmp_path, make, kind):
    assert new(tmp_path, "trace", kind)[0] == 0
    done = make(tmp_path / "trace", "asan")
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_test_and_its_sanitizers_find_mistakes(tmp_path, make):
    new(tmp_path, "trace")
    source = tmp_path / "trace/trace.c"
    fine = source.read_text()
    source.write_text(fine.replace('"X-Filter"', '"X-Other"'))
    done = make(tmp_path / "trace", "test")
    assert done.returncode != 0 and "NOT OK: it has the field" in done.stdout
    source.write_text(fine.replace("{\n    (void)exchange;", "{\n    volatile char *bytes = "
                                   "malloc(8);\n    free((void *)bytes);\n    bytes[0] = 1;\n"
                                   "    (void)exchange;").replace("#include", "#include "
                                   "<stdlib.h>\n#include", 1))
    done = make(tmp_path / "trace", "asan")
    assert done.returncode != 0 and "heap-use-after-free" in done.stderr, done.stderr


def test_its_files_stay_out_of_the_way(tmp_path, make):
    """What is built and tried is nothing that git would take."""
    new(tmp_path, "trace")
    here = tmp_path / "trace"
    git = ["git", "-C", here]
    subprocess.run([*git, "init", "-q"], check=True)
    before = subprocess.run([*git, "status", "--short", "-uall"], capture_output=True, text=True)
    assert make(here, "test").returncode == 0
    after = subprocess.run([*git, "status", "--short", "-uall"], capture_output=True, text=True)
    assert "trace.c" in before.stdout and after.stdout == before.stdout


@pytest.mark.parametrize("name", ["", "1x", "-x", "a b", "a/b", "..", "a.b", "ä", "a" * 65])
def test_names_that_are_none(tmp_path, name):
    assert new(tmp_path, *([name] if not name.startswith("-") else ["--", name]))[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path):
    (tmp_path / "trace").mkdir()
    status, said = new(tmp_path, "trace")
    assert status == 1 and "trace: is there already" in said
    assert list((tmp_path / "trace").iterdir()) == []
    status, said = new(tmp_path, "trace", "missing/trace")
    assert status == 1 and "No such file or directory" in said
    assert new(tmp_path, "trace", "elsewhere")[0] == 0
    assert (tmp_path / "elsewhere/trace.c").exists()


def check(*files):
    done = program.run("plugin", "check", *map(str, files))
    return done.returncode, done.stdout, done.stderr


def test_check_says_what_a_plugin_is():
    status, said, _ = check(plugins.built("plain"), plugins.BUILT.parents[1] / "plugins/socks5.so")
    assert status == 0
    assert re.search(r"plain\.so: can be loaded\n  name      test\.plain\n  version   1\n"
                     r"  license   MIT\n  ABI       0\.\d+, needs 0\.0 or later\n"
                     r"  needs     weir\.filter/0\n  filter    plain\n", said), said
    assert "  protocol  socks5, with clients\n" in said


@pytest.mark.parametrize("name, why", [
    ("needs_minor", "needs weir ABI"), ("newer_major", "built for weir ABI"),
    ("needs_interface", "needs interface"), ("undefined", "undefined symbol"),
    ("mixed", "its note and its entry differ"), ("half", "its load() failed"),
    ("life", "the schema of filter odd is wrong")])
def test_check_says_why_one_is_refused(name, why):
    status, _, said = check(plugins.built("plain"), plugins.built(name))
    assert status == 1 and f"{name}.so" in said and why in said


def test_check_of_what_is_no_plugin(tmp_path):
    assert check(tmp_path / "missing.so")[0] == 1
    assert "not a weir plugin" in check(ROOT / "README.md")[2]


# --- the headers, as they are installed

ALL = "".join(f"#include <weir/{path.name}>\n" for path in sorted((ROOT / "abi").glob("*.h")))
PLUGIN = ALL + """
static const char *last;
static weir_result load(const weir_host *host)
{
    weir_string text = WEIR_STRING("loaded");
    host->log(host, WEIR_LOG_INFO, text);
    last = text.bytes;
    return WEIR_HAS(weir_host, host, register_filter) && last ? WEIR_OK : WEIR_INVALID;
}
WEIR_PLUGIN(WEIR_ABI_MINOR, 0, 1, "test.outside", "1", "MIT", "", load, 0);
"""
STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -shared -fPIC".split()


@pytest.mark.parametrize("compiler, standard", [
    ("gcc", "c11"), ("clang", "c11"), ("gcc", "c17"), ("g++", "c++11"), ("g++", "c++17"),
    ("g++", "c++20"), ("clang++", "c++17"), ("clang++", "c++20")])
def test_headers_are_clean_in_c_and_in_cpp(installed, tmp_path, compiler, standard):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    source = tmp_path / ("plugin.cc" if "++" in compiler else "plugin.c")
    source.write_text(PLUGIN)
    done = subprocess.run([compiler, f"-std={standard}", *STRICT, *installed.flags(), source, "-o",
                           tmp_path / "plugin.so"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert check(tmp_path / "plugin.so")[0] == 0


@pytest.mark.parametrize("header", sorted(path.name for path in (ROOT / "abi").glob("*.h")))
def test_each_header_can_be_the_only_one(installed, tmp_path, header):
    source = tmp_path / "one.c"
    source.write_text(f"#include <weir/{header}>\n#include <weir/{header}>\nint unused;\n")
    done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c",
                           *installed.flags(), source, "-o", tmp_path / "one.o"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_plugins_of_the_tree_are_built_with_what_is_installed(installed, tmp_path):
    """They say abi/filter.h where others say weir/filter.h: the same files."""
    (tmp_path / "abi").symlink_to(installed.prefix / "include/weir")
    (tmp_path / "plugins").symlink_to(ROOT / "plugins")
    sources = sorted((ROOT / "plugins/socks5").glob("*.c"))
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-I", tmp_path,
                    *sources, "-o", tmp_path / "socks5.so"], check=True, timeout=60)
    assert check(tmp_path / "socks5.so")[0] == 0


def test_weir_finds_plugins_beside_itself(installed):
    done = subprocess.run([installed.prefix / "bin/weir", "plugin", "check", "headers", "socks5"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert str(installed.prefix / "bin/../lib/weir/plugins/headers.so") in done.stdout
    said = subprocess.run(["pkg-config", "--variable=abi", "weir"], env=installed.environment(),
                          capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"\d+\.\d+\n", said)
