"""The plugins of tests/plugins, as the build made them and as an outsider would."""
import pathlib
import subprocess

from program import ROOT, path

BUILT = pathlib.Path(path()).resolve().parent / "tests/plugins"
BARE = BUILT.parents[1] / "weir-bare"


def built(name):
    """tests/plugins/NAME.c, or clang/NAME or attic/MAJOR.MINOR/NAME."""
    place = BUILT / f"{name}.so"
    assert place.exists(), f"{place} is not there: ./dev build asan-unit makes it"
    return place


def compile_plugin(directory, name, source=None, *flags):
    """Compiles one as somebody outside would: with the headers and nothing else of weir."""
    place = directory / f"{name}.so"
    source = source or ROOT / f"tests/plugins/{name}.c"
    subprocess.run(["cc", "-std=c11", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden",
                    "-I", ROOT, *flags, "-o", place, source], check=True)
    return place


def filter_source(filter_name, plugin="test.made", word="one"):
    """A plugin that says a word when it is loaded, and has a filter of that name."""
    return f"""
#include "abi/filter.h"
static weir_result load(const weir_host *host)
{{
    static const weir_filter filter = {{.size = sizeof filter, .name = "{filter_name}"}};
    host->log(host, WEIR_LOG_INFO, WEIR_STRING("this is {word}"));
    return host->register_filter(host, &filter);
}}
WEIR_PLUGIN(0, 0, 1, "{plugin}", "1", "MIT", "weir.filter/0", load, NULL);
"""
