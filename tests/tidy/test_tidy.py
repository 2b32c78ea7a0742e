"""The tree is tidy; and whatever tidy.py forbids, it sees when it is planted in a copy."""
import pathlib
import re
import shutil
import sys

import pytest

sys.dont_write_bytecode = True

import tidy  # noqa: E402
from layers import CALLS, CORE, LAYERS, LIBRARIES, PRIVATE  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = [*CORE, "abi", "codecs", "codecs/h1", "codecs/h2", "codecs/h3", "codecs/raw",
           "codecs/tls", "codecs/quic", "plugins", "lua", "bench"]
# The arrows that are allowed, written once more and in another way than in layers.py: from left to
# right, what a folder may include.
ALLOWED = {
    "abi": "", "plugins": "abi", "lua": "abi", "codecs": "abi",
    "codecs/h1": "abi codecs", "codecs/h2": "abi codecs", "codecs/h3": "abi codecs",
    "codecs/raw": "abi codecs",
    "codecs/tls": "abi codecs core/base core/io",
    "codecs/quic": "abi codecs core/base core/io codecs/tls",
    "core/base": "abi",
    "core/io": "abi core/base",
    "core/plugins": "abi core/base core/io",
    "core/connection": "abi core/base core/io core/plugins",
    "core/upstream": "abi core/base core/io core/plugins core/connection",
    "core/exchange": "abi core/base core/io core/plugins core/connection core/upstream",
    "core/host": "abi core/base core/io core/plugins core/connection core/upstream core/exchange",
    "core/edge": "abi core/base core/io core/plugins core/connection core/upstream core/exchange "
                 "core/host",
    "core/process": "abi core/base core/io core/plugins core/connection core/upstream "
                    "core/exchange core/host core/edge",
    "bench": " ".join(["abi", *CORE, "codecs", "codecs/h1", "codecs/h2", "codecs/h3", "codecs/raw",
                       "codecs/tls", "codecs/quic", "plugins"]),
}


class Copy:
    """A copy of the tree's code, or of a part, in which things can be planted."""

    def __init__(self, directory, *parts):
        self.directory = directory
        self.files = [file for file in tidy.tracked(ROOT)
                      if file.endswith((".c", ".h", ".md")) and file.startswith(parts)]
        for file in self.files:
            target = directory / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target)
        self.before = set(tidy.check(directory, self.files))

    def plant(self, file, text, first_line=True):
        target = self.directory / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((f"/* {file} - planted */\n" if first_line else "") + text)
        if file not in self.files:
            self.files.append(file)

    def complaints(self):
        """What is wrong now and was not before; that a planted file is in no README is beside."""
        return [line for line in tidy.check(self.directory, self.files)
                if line not in self.before and "README.md" not in line]


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path, "")


@pytest.fixture
def part(tmp_path):
    """Enough for most rules, and quick."""
    return Copy(tmp_path, "abi/", "core/base/")


def planted(folder):
    return f"{folder}/planted.h"


def plant_header_everywhere(copy):
    for folder in FOLDERS:
        copy.plant(planted(folder), "")


def test_tree_is_tidy():
    wrong = tidy.check(ROOT, tidy.tracked(ROOT))
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_forbidden_arrow_is_seen_and_no_other(copy):
    plant_header_everywhere(copy)
    expected = set()
    for folder in FOLDERS:
        for target in FOLDERS:
            file = f"{folder}/to_{target.replace('/', '_')}.c"
            copy.plant(file, f'#include "{planted(target)}"\n')
            if target != folder and target not in ALLOWED[folder].split():
                expected.add(f"{file}:2: {folder} may not include {planted(target)}")
    assert len(expected) > 200
    assert set(copy.complaints()) == expected


def test_only_builtins_may_include_codecs_and_their_carriers(part):
    plant_header_everywhere(part)
    lines = [f'#include "{planted(folder)}"\n' for folder in FOLDERS]
    part.plant("codecs/builtins.c", "".join(lines))
    allowed = ["abi", "core/io", "core/plugins", "codecs", "codecs/h1", "codecs/h2", "codecs/h3",
               "codecs/raw", "codecs/tls", "codecs/quic"]
    seen = {line.rsplit(" ", 1)[1] for line in part.complaints() if "may not include" in line}
    assert seen == {planted(folder) for folder in FOLDERS if folder not in allowed}


def test_every_library_is_seen_outside_its_home(copy):
    homes = {"uv.h": ["core/io"], "ares.h": [], "libfyaml.h": [], "cmocka.h": [],
             "sanitizer/": [],
             "llhttp.h": ["codecs/h1"], "nghttp2/": ["codecs/h2"], "nghttp3/": ["codecs/h3"],
             "ngtcp2/": ["codecs/quic"], "openssl/": ["codecs/tls", "codecs/quic"],
             "lua.h": ["lua"], "lauxlib.h": ["lua"], "lualib.h": ["lua"],
             "pcre2.h": ["lua", "plugins"], "crypt.h": ["plugins"]}
    assert homes.keys() == LIBRARIES.keys()
    expected = set()
    for number, library in enumerate(LIBRARIES):
        header = f"{library}x.h" if library.endswith("/") else library
        prefix = LIBRARIES[library][0].split()[0]
        for folder in FOLDERS:
            included, named = f"{folder}/include_{number}.c", f"{folder}/name_{number}.c"
            copy.plant(included, f"#include <{header}>\n")
            copy.plant(named, f"int {prefix}x(void);\n")
            if folder not in homes[library]:
                expected.add(f"{included}:2: <{header}> does not belong here, see layers.py")
                expected.add(f"{named}:2: {prefix}x belongs to <{library}>")
    assert set(copy.complaints()) == expected


def test_libraries_of_one_file_are_allowed_there(part):
    part.plant("core/io/dns.c", '#include "core/io/dns.h"\n#include <ares.h>\n')
    part.plant("core/io/dns.h", "")
    part.plant("core/process/yaml.c", '#include "core/process/yaml.h"\n#include <libfyaml.h>\n')
    part.plant("core/process/yaml.h", "")
    assert part.complaints() == []


@pytest.mark.parametrize("file, text, complaint", [
    ("core/io/planted.h", "#include <uv.h>\n", "does not belong here"),
    ("core/base/planted.h", "#include <zlib.h>\n", "is not in layers.py"),
    ("core/base/planted.h", '#include "memory.h"\n', "is no path from the root"),
    ("core/base/planted.h", '#include "core/base/nothing.h"\n', "is no path from the root"),
    ("core/new/planted.c", "", "no row of layers.py"),
    ("core/base/memory.c", "#include <stdio.h>\n", "its own header comes first"),
    ("core/base/planted.h", '#include "core/base/planted.h"\n', "includes itself"),
    ("core/base/planted.c", "char *a = strdup(b);\n", "strdup() may not be called here"),
    ("core/edge/planted.c", "int a = time(0);\n", "time() may not be called here"),
    ("core/process/planted.c", "int a = atoi(b);\n", "atoi() may not be called here"),
    ("core/base/planted.c", "x" * 101 + "\n", "101 columns, more than 100"),
    ("core/base/planted.c", "int a; \n", "a blank at the end"),
    ("core/base/planted.c", "\tint a;\n", "a tab"),
    ("docs/planted.md", "see http://" + "pypi" + ".org/x\n", "a registry's name"),
    ("docs/planted.md", "see " + "/home" + "/someone/x\n", "a path of one machine"),
    ("core/base/planted.c", "/* " + "TO" + "DO: more */\n", "unfinished"),
    ("docs/planted.md", "`core/base/memory.c:no_such_function` does it\n", "has no no_such"),
    ("docs/planted.md", "`core/base/no_such_file.c:main` does it\n", "has no main"),
])
def test_each_rule_is_seen(part, file, text, complaint):
    part.plant(file, text)
    assert any(line.startswith(file) and complaint in line for line in part.complaints())


def test_first_line_is_seen(part):
    part.plant("core/base/planted.c", "/* core/base/other.c - planted */\n", first_line=False)
    assert any("line 1 must be" in line for line in part.complaints())


def test_private_headers_are_seen_elsewhere(part):
    for header in PRIVATE:
        part.plant(header, "")
        part.plant("core/plugins/planted.c", f'#include "{header}"\n')
        assert any(f"may not include {header}" in line for line in part.complaints())


def test_readme_must_mention_each_file(part):
    part.plant("core/base/README.md", "# core/base\n\n- `first` does it\n", first_line=False)
    part.plant("core/base/first.c", "")
    part.plant("core/base/second.c", "")
    wrong = tidy.check(part.directory, part.files)
    assert "core/base/README.md:1: does not mention core/base/second.c" in wrong
    assert "core/base/README.md:1: does not mention core/base/first.c" not in wrong


def test_comments_and_strings_are_no_calls(part):
    part.plant("core/base/planted.c", '/* free(x), uv_run() */ const char *a = "free(x) uv_run";\n')
    part.plant("core/base/other.c", "int a = table->free(x) + table.uv_run;\n")
    assert part.complaints() == []


def test_tours_find_what_is_there(part):
    part.plant("core/base/planted.c", "static int\nplanted_there(int a,\n    int b)\n{\n}\n"
               "int planted_here(int a)\n{\n}\n")
    part.plant("docs/planted.md", "core/base/planted.c:planted_here core/base/planted.c:"
               "planted_there", first_line=False)
    assert part.complaints() == []


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_man_page_has_the_options_of_the_program():
    program = options_of((ROOT / "core/process/options.c").read_text())
    page = (ROOT / "docs/weir.1").read_text()
    page = options_of(re.sub(r"\\f.", "", page).replace("\\-", "-"))
    assert len(program) > 5 and page == program


def test_every_row_is_tested():
    assert set(LAYERS) == {*FOLDERS, "codecs/*", "codecs/builtins.c", "tests"} - {
        "codecs/h1", "codecs/h2", "codecs/h3", "codecs/raw"}  # these are under the star


@pytest.mark.parametrize("name", " ".join(CALLS).split())
def test_every_call_is_seen_where_it_may_not_be(part, name):
    part.plant("core/upstream/planted.c", f"int a = {name}(b);\n")
    assert part.complaints() == [f"core/upstream/planted.c:2: {name}() may not be called here"]
