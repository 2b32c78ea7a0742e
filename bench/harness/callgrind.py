"""valgrind's callgrind: how to run a program under it, and what its files say."""
import collections
import glob
import re

from harness.lab import Failure

# "fn=(7) name" begins a function's costs; "cfn=(8) name" and "calls=..." say that the next cost is
# that of the function it calls. A number's name is given only the first time.
FUNCTION_LINE = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?$")
COST_LINE = re.compile(r"[-+*\d]\S* (\d+)$")


def command(files):
    """To be put before a program's: it and its children each leave a file whose name begins so."""
    return ["valgrind", "--tool=callgrind", "--trace-children=yes",
            f"--callgrind-out-file={files}.%p"]


def count_by_function(files):
    """User instructions of each function itself, and with all that it calls.

    A function's parts may stand apart, one for each file that was inlined into it. What a function
    costs that calls itself is counted once for each level."""
    own, inclusive = collections.Counter(), collections.Counter()
    paths = glob.glob(f"{files}.*")
    if not paths:
        raise Failure("callgrind left no counts")
    for path in paths:
        names, function, callee = {}, None, None
        with open(path) as lines:
            for line in lines:
                if match := FUNCTION_LINE.match(line):
                    called, number, name = match.groups()
                    name = names.setdefault(number, name)
                    function, callee = (function, name) if called else (name, None)
                elif match := COST_LINE.match(line):
                    cost = int(match.group(1))
                    inclusive[function] += cost
                    if callee is None:
                        own[function] += cost
                    callee = None
    return own, inclusive
