#!/usr/bin/env python3
"""tidy.py - checks of the tree that no compiler makes: arrows, libraries, first lines, documents.

usage: tidy.py [--sizes] [ROOT]   prints what is wrong, or how large files and functions are.
"""
import fnmatch
import os
import re
import statistics
import subprocess
import sys

from layers import CALLS, LAYERS, LIBRARIES, PRIVATE, SYSTEM, SYSTEM_FOLDERS

COLUMNS = 100
KEPT = "tests/plugins/attic/"  # copies of headers as they were
DOCUMENTED = ("abi/", "core/", "codecs/", "plugins/", "lua/", "bench/", "scripts/", "tests/tidy/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
NOT_CODE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
TOUR = re.compile(r"\b([\w/]+\.[ch]):([a-z_]\w*)")
# Put together here, so that this file does not contain what it forbids.
REGISTRIES = [".".join(parts) for parts in (
    ("deb", "debian", "org"), ("security", "debian", "org"), ("snapshot", "debian", "org"),
    ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("crates", "io"),
    ("proxy", "golang", "org"), ("maven", "org"), ("maven", "apache", "org"))]
MACHINE_PATH = re.compile("(?<![\\w./-])/" + "(?:work|root|home/[a-z]\\w*|tmp/brief)(?=/)")
UNFINISHED = re.compile("\\b(?:" + "TO" + "DO|FIX" + "ME|XX" + "X)\\b")


class Tree:
    """The files of a checkout and what is wrong with them."""

    def __init__(self, root, files):
        self.texts = {}
        self.wrong = []
        for file in sorted(files):
            with open(os.path.join(root, file), "rb") as stream:
                content = stream.read()
            if b"\0" not in content:
                self.texts[file] = content.decode(errors="replace")

    def say(self, file, line, text):
        self.wrong.append(f"{file}:{line}: {text}")

    def code(self):
        return {file: text for file, text in self.texts.items()
                if file.endswith((".c", ".h")) and "/" in file and not file.startswith(KEPT)}


def tracked(root):
    """What git has or would take."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [file for file in listed.split("\0")
            if file and os.path.isfile(os.path.join(root, file))]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_comments_and_strings(text):
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def matches(file, patterns):
    return any(fnmatch.fnmatch(file, pattern) for pattern in patterns)


def layer(file):
    """The layer that a file is in: the folder closest to it that has a row, by itself or a star."""
    folder = os.path.dirname(file)
    while folder:
        if folder in LAYERS or f"{os.path.dirname(folder)}/*" in LAYERS:
            return folder
        folder = os.path.dirname(folder)
    return None


def row(file):
    home = layer(file)
    return LAYERS.get(file) or LAYERS.get(home, LAYERS.get(f"{os.path.dirname(home)}/*"))


def may_include(file, header):
    home, target = layer(file), layer(header)
    if header in PRIVATE:
        return home == target
    return target == home or target in row(file) or f"{os.path.dirname(target)}/*" in row(file)


def may_use(file, library):
    return file.startswith("tests/") or matches(file, LIBRARIES[library][1])


def check_weir_include(tree, file, line, name):
    if layer(file) == "abi" and "/" not in name:
        name = f"abi/{name}"  # installed headers name their neighbours
    if name not in tree.texts or layer(name) is None:
        tree.say(file, line, f'"{name}" is no path from the root of the tree')
    elif not may_include(file, name):
        tree.say(file, line, f"{layer(file)} may not include {name}")


def check_library_include(tree, file, line, name):
    libraries = [library for library in LIBRARIES if name.startswith(library)]
    if libraries and not may_use(file, libraries[0]):
        tree.say(file, line, f"<{name}> does not belong here, see layers.py")
    elif not libraries and not name.startswith(tuple(SYSTEM_FOLDERS)) and name[:-2] not in SYSTEM:
        tree.say(file, line, f"<{name}> is not in layers.py")


def check_includes(tree):
    for file, text in tree.code().items():
        if layer(file) is None:
            tree.say(file, 1, "no row of layers.py says what this may include")
            continue
        found = list(INCLUDE.finditer(text))
        own = f"{file[:-2]}.h"
        if file.endswith(".c") and own in tree.texts and (not found or found[0].group(2) != own):
            tree.say(file, 1, f'its own header comes first: "{own}"')
        for include in found:
            check = check_weir_include if include.group(1) == '"' else check_library_include
            check(tree, file, line_of(text, include.start(1)), include.group(2))


def check_names(tree):
    """Names of a library where it does not live, however they got there, and calls not allowed."""
    prefixes = {prefix: library for library, (names, _) in LIBRARIES.items()
                for prefix in names.split()}
    libraries = re.compile(rf"(?<![\w.>])(struct\s+)?({'|'.join(prefixes)})\w+")
    homes = {name: home for names, home in CALLS.items() for name in names.split()}
    calls = re.compile(rf"(?<![\w.>])({'|'.join(homes)})\s*\(")
    for file, text in tree.code().items():
        code = without_comments_and_strings(text)
        for match in libraries.finditer(code):
            if not may_use(file, prefixes[match.group(2)]):
                tree.say(file, line_of(code, match.start(2)),
                         f"{match.group()} belongs to <{prefixes[match.group(2)]}>")
        for match in calls.finditer(code):
            if not file.startswith(("tests/", "bench/")) and not matches(file, homes[match[1]]):
                tree.say(file, line_of(code, match.start(1)), f"{match[1]}() may not be called here")


def check_cycles(tree):
    """Headers that include one another."""
    headers = {file: [f"abi/{name}" if file.startswith("abi/") and "/" not in name else name
                      for kind, name in INCLUDE.findall(text) if kind == '"']
               for file, text in tree.code().items() if file.endswith(".h")}
    done, path = set(), []

    def walk(header):
        if header in path:
            tree.say(header, 1, "includes itself: " + " > ".join(path[path.index(header):]))
        elif header in headers and header not in done:
            path.append(header)
            for included in headers[header]:
                walk(included)
            done.add(path.pop())

    for header in headers:
        walk(header)


def check_lines(tree):
    for file, text in tree.code().items():
        lines = text.split("\n")
        if not re.match(rf"/\* {re.escape(file)} - \S", lines[0]):
            tree.say(file, 1, f'line 1 must be "/* {file} - what it is for */"')
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                tree.say(file, number, f"{len(line)} columns, more than {COLUMNS}")
            if line != line.rstrip() or "\t" in line:
                tree.say(file, number, "a blank at the end or a tab")


def check_texts(tree):
    for file, text in tree.texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            for host in REGISTRIES:
                if host in line:
                    tree.say(file, number, f"{host}: a registry's name; the system's setup knows it")
            if MACHINE_PATH.search(line):
                tree.say(file, number, "a path of one machine")
            if UNFINISHED.search(line):
                tree.say(file, number, "unfinished")


def readme_of(tree, file):
    """The README.md of the file's folder, or of the closest folder above that has one."""
    folder = os.path.dirname(file)
    while folder and f"{folder}/README.md" not in tree.texts:
        folder = os.path.dirname(folder)
    return f"{folder}/README.md" if folder else None


def check_readmes(tree):
    for file in tree.texts:
        name = os.path.basename(file)
        if not file.startswith(DOCUMENTED) or name.startswith((".", "__")) or name == "README.md":
            continue
        readme = readme_of(tree, file)
        stem = os.path.splitext(name)[0]
        if not readme:
            tree.say(file, 1, "no README.md says what this is for")
        elif not re.search(rf"(?<!\w){re.escape(stem)}(?!\w)", tree.texts[readme]):
            tree.say(readme, 1, f"does not mention {file}")


def check_tours(tree):
    """A document that names path.c:function names one that is defined there."""
    for file, text in tree.texts.items():
        if not file.endswith(".md"):
            continue
        for match in TOUR.finditer(text):
            path, name = match.groups()
            defined = rf"^(?![ \t#}}])[^;=\n]*\b{name}\(|^#\s*define\s+{name}\b"
            if not re.search(defined, tree.texts.get(path, ""), re.M):
                tree.say(file, line_of(text, match.start()), f"{path} has no {name}()")


CHECKS = [check_includes, check_names, check_cycles, check_lines, check_texts, check_readmes,
          check_tours]


def check(root, files):
    """Everything that is wrong with these files under root, a line each."""
    tree = Tree(root, files)
    for one in CHECKS:
        one(tree)
    return tree.wrong


def functions(text):
    """(name, lines) of each function: { and } alone in the first column, as clang-format puts."""
    lines = without_comments_and_strings(text).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = start - 1
            while head > 0 and lines[head].startswith(" "):
                head -= 1
            name = re.search(r"(\w+)\(", lines[head])
            yield name.group(1) if name else "?", number - start + 1
            start = None


def sizes(root, files):
    """Where files and functions are; nothing depends on it."""
    code = {file: text for file, text in Tree(root, files).code().items()
            if not file.startswith("tests/")}
    if not code:
        return "sizes: no code"
    lengths = {file: text.count("\n") for file, text in code.items()}
    found = sorted((lines, f"{file}:{name}") for file, text in code.items()
                   for name, lines in functions(text)) or [(0, "none")]
    longest = max(lengths, key=lengths.get)
    return (f"sizes: {len(code)} files, {sum(lengths.values())} lines, "
            f"median file {statistics.median(lengths.values()):.0f}, "
            f"longest {longest} {lengths[longest]}; {len(found)} functions, "
            f"median {statistics.median(lines for lines, _ in found):.0f}, "
            f"p90 {found[int(0.9 * (len(found) - 1))][0]}, "
            f"longest {found[-1][1]} {found[-1][0]}")


def main(arguments):
    roots = [argument for argument in arguments if argument != "--sizes"]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    if "--sizes" in arguments:
        print(sizes(root, tracked(root)))
        return 0
    wrong = check(root, tracked(root))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
