"""docs/writing-plugins.md: its commands and its code do what it says, in its order, and its tables
are those of abi/filter.h."""
import re
import socket
import subprocess

import pytest

from origin import always, ok
from program import ROOT

PAGE = (ROOT / "docs/writing-plugins.md").read_text()
HEADER = (ROOT / "abi/filter.h").read_text()
TABLE = "static const weir_filter filter = {"
FUNCTION = re.compile(r"^static [^;={}]*?\b(\w+)\([^;{}]*\)\n\{\n.*?^\}\n", re.M | re.S)


class Plugin:
    """The file that a reader edits, by what the page says to do with each piece of code."""

    def __init__(self, path):
        self.path = path

    def take(self, code):
        text = self.path.read_text()
        if code.startswith("    ."):
            text = text.replace(TABLE + "\n", TABLE + "\n" + code)
        elif code.startswith("    "):
            last = list(re.finditer(r"^    \w+ = host->query.*\n", text, re.M))[-1].end()
            text = text[:last] + code + text[last:]
        else:
            text = self.put_functions(text, code)
        self.path.write_text(text)

    def put_functions(self, text, code):
        """A function that is there is replaced where it is, what is new comes before the hooks."""
        there = {match[1] for match in FUNCTION.finditer(text)}
        for match in reversed(list(FUNCTION.finditer(code))):
            if match[1] in there:
                old = next(one for one in FUNCTION.finditer(text) if one[1] == match[1])
                text = text.replace(old[0], "")
        includes = "".join(re.findall(r"^#include.*\n", code, re.M))
        rest = re.sub(r"^#include.*\n", "", code, flags=re.M)
        text = text.replace("#include", includes + "#include", 1)
        return text.replace(TABLE, rest + "\n" + TABLE)


class Reader:
    """Goes through the page's blocks with a shell, in one directory."""

    def __init__(self, directory, installed, start_weir, places):
        self.directory = directory
        self.environment = installed.environment()
        self.program = installed.prefix / "bin/weir"
        self.start_weir = start_weir
        self.places = places
        self.said = ""

    def here(self, text):
        for written, found in self.places.items():
            text = text.replace(written, found)
        return text

    def settle_yaml(self):
        for file in self.directory.glob("weir.yaml"):
            file.write_text(self.here(file.read_text()))

    def sh(self, block):
        if block == "weir -c weir.yaml &\n":
            self.settle_yaml()
            self.start_weir("-c", str(self.directory / "weir.yaml"), program=str(self.program))
            return
        done = subprocess.run(["bash", "-ec", self.here(block) + "pwd > \"$PLACE\""], text=True,
                              cwd=self.directory, stdin=subprocess.DEVNULL, timeout=180,
                              env={**self.environment, "PLACE": str(self.directory / "place")},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, block + done.stdout
        self.said = done.stdout
        self.directory = type(self.directory)((self.directory / "place").read_text().strip())

    def text(self, block):
        for line in block.splitlines():
            assert line in self.said, (line, self.said)

    def c(self, block):
        Plugin(self.directory / "hello.c").take(block)

    def yaml(self, block):
        file = self.directory / "weir.yaml"
        begin = file.read_text().index(block.splitlines()[0])
        file.write_text(file.read_text()[:begin] + block)


def free_ports(count):
    """The page has fixed ports, so they are picked before weir starts."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def blocks():
    return re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.M | re.S)


def test_the_page_from_top_to_bottom(tmp_path, installed, start_weir, make_origin):
    assert {kind for kind, _ in blocks()} == {"sh", "text", "c", "yaml"}
    origin = make_origin(always(ok(b"<h1>Example Domain</h1>\n")))
    proxy, admin = free_ports(2)
    reader = Reader(tmp_path, installed, start_weir, {
        "127.0.0.1:3128": f"127.0.0.1:{proxy}", "127.0.0.1:3129": f"127.0.0.1:{admin}",
        "example.com": origin.authority.decode()})
    for kind, block in blocks():
        getattr(reader, kind)(block)
    assert len(origin.requests) >= 4


def hooks():
    """Each hook of the header, and what its comment says that it may answer."""
    table = re.search(r"^typedef struct weir_filter \{(.*?)^\}", HEADER, re.M | re.S)[1]
    words = set(re.findall(r"^    WEIR_(\w+) = ", HEADER[:HEADER.index("weir_data {")], re.M))
    answers = ""
    for comment, kind, name in re.findall(r"/\*((?:(?!\*/).)*)\*/|^    (\w+) \(\*(\w+)\)", table,
                                          re.M | re.S):
        if not name:
            answers = comment
        elif kind == "void":
            yield name, set()
        else:
            first = re.sub(r"no DETACH", "", answers).replace("WEIR_", "").partition(". ")[0]
            yield name, set(re.findall(r"\b[A-Z]+\b", first)) & words


def rows(title):
    table = PAGE[PAGE.index(title):].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()[2:]]


def test_the_table_of_hooks_is_the_header_s():
    written = {name: set(re.findall(r"[A-Z]+", answers))
               for names, _, answers in rows("| hook |") for name in re.findall(r"`(\w+)`", names)}
    found = dict(hooks())
    assert len(found) >= 18 and sum(map(len, found.values())) >= 30
    assert written == found


def test_the_table_of_answers_is_the_header_s():
    answers = re.search(r"typedef int32_t weir_answer;\nenum \{(.*?)^\}", HEADER, re.M | re.S)[1]
    assert [row[0].strip("`") for row in rows("| answer |")] == re.findall(
        r"^    (WEIR_\w+) = ", answers, re.M)


@pytest.mark.parametrize("page", ["writing-plugins.md", "plugins.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / "docs" / page).read_text()
    for target, _, anchor in re.findall(r"\]\(([\w./-]*)(#?)([\w-]*)\)", text):
        file = ROOT / "docs" / (target or page)
        assert file.exists(), target
        titles = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
        assert not anchor or anchor in [title.lower().replace(" ", "-") for title in titles], anchor
