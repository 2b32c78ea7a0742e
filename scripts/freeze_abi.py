#!/usr/bin/env python3
"""scripts/freeze_abi.py - keeps the ABI's headers as they are, and where each member of them lies

usage: freeze_abi.py      writes tests/plugins/attic/MAJOR.MINOR/{abi/*.h,offsets.c}

What is kept is never written again, once weir's major is 1: later headers must still agree with it.
While the major is 0, what is kept may be replaced, when a change is meant, by running this again.
"""
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
ABI = ROOT / "abi"
STRUCT = re.compile(r"(?:typedef )?struct (weir_\w+) \{(.*?)\n\}", re.S)
POINTER = re.compile(r"\(\*(?:const )?(\w+)\)")
CONSTANT = re.compile(r"\b(WEIR_\w+)\s*=\s*-?[\w]+")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def members(body):
    """The names that a struct declares, function pointers and `type a, *b, c[2];` included."""
    for declaration in body.split(";"):
        if pointer := POINTER.search(declaration):
            yield pointer[1]
        elif declaration.strip():
            for declarator in declaration.split(","):
                yield re.search(r"(\w+)\s*(?:\[\w+\])?\s*$", declarator)[1]


def measured(text):
    """One C expression for each fact that must stay."""
    for name, body in STRUCT.findall(text):
        for member in members(body):
            yield f"offsetof(struct {name}, {member})"
    for name in CONSTANT.findall(text):
        yield name


def version(text):
    return [re.search(rf"#define WEIR_ABI_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR")]


def evaluate(headers, expressions):
    """What the compiler says they are now."""
    lines = "".join(f'printf("%lld\\n", (long long)({each}));' for each in expressions)
    includes = "".join(f'#include "abi/{header.name}"\n' for header in headers)
    source = f"#include <stdio.h>\n{includes}int main(void) {{ {lines} }}"
    program = ROOT / "build/freeze_abi"
    program.parent.mkdir(exist_ok=True)
    subprocess.run(["cc", "-x", "c", "-", "-I", str(ROOT), "-o", str(program)], input=source,
                   text=True, check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()


def offsets(headers, name):
    texts = [COMMENT.sub("", header.read_text()) for header in headers]
    expressions = [each for text in texts for each in measured(text)]
    lines = [f"/* tests/plugins/attic/{name}/offsets.c - where everything lies, and what it is, since "
             f"ABI {name};\n * made by scripts/freeze_abi.py */"]
    lines += [f'#include "abi/{header.name}"' for header in headers]
    lines += ["", "#define STAYS(fact, value) _Static_assert((fact) == (value), #fact)", ""]
    lines += [f"STAYS({each}, {value});"
              for each, value in zip(expressions, evaluate(headers, expressions))]
    return "\n".join(lines) + "\n"


def main():
    headers = sorted(ABI.glob("*.h"))
    major, minor = version((ABI / "weir.h").read_text())
    kept = ROOT / f"tests/plugins/attic/{major}.{minor}"
    if kept.exists() and major != "0":
        raise SystemExit(f"{kept} is kept already, and major {major} is no draft")
    (kept / "abi").mkdir(parents=True, exist_ok=True)
    for header in headers:
        shutil.copy(header, kept / "abi")
    (kept / "offsets.c").write_text(offsets(headers, kept.name))


if __name__ == "__main__":
    main()
