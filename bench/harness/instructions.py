"""bench instructions: user instructions of one warm keep-alive request, counted by callgrind"""
import json
import os
import signal

from harness import callgrind, options, proxies, report
from harness.lab import Failure, Lab, ROOT
from harness.load import ExactLoad, ExactLoadH2
from harness.proxies import Origin, Proxy

RECORDS = os.path.join(ROOT, "bench", "records", "instructions.jsonl")


def add_arguments(parser):
    options.add_number(parser, "--few", 2000, "requests of the first run", metavar="N")
    options.add_number(parser, "--many", 12000, "requests of the second run", metavar="N")
    options.add_number(parser, "--functions", 25, "how many functions are listed", metavar="N")
    options.add_load(parser, connections=1)
    options.add_one_proxy(parser)
    parser.add_argument("--h2c", action="store_true", help="clients that begin with HTTP/2, "
                        "8 streams at once (h2load; take weir-reverse)")
    parser.add_argument("--record", action="store_true",
                        help="appends the figure to bench/records/instructions.jsonl")


def profile(lab, recipe, origin, connections, requests, loader=ExactLoad):
    """The counts of a proxy's whole life with so many requests: itself, with what it calls."""
    files = lab.path(f"callgrind-{requests}")
    proxy = Proxy(lab, recipe, origin, callgrind.command(files))
    load = loader(lab, proxy, connections)
    load.run(requests)
    load.close()
    proxy.process.finish(signal.SIGTERM)
    return callgrind.count_by_function(files)


def per_request(lab, recipe, arguments):
    """The difference of two runs: start, connections and end are in both, and so cancel out."""
    origin = Origin(lab, arguments.size)
    loader = ExactLoadH2 if getattr(arguments, "h2c", False) else ExactLoad
    few, many = (profile(lab, recipe, origin, arguments.connections, requests, loader)
                 for requests in (arguments.few, arguments.many))
    requests = arguments.many - arguments.few
    return ({name: (count - fewer[name]) / requests for name, count in more.items()}
            for fewer, more in zip(few, many))


def record(arguments, instructions):
    entry = {"commit": report.commit(), "compiler": report.compiler(proxies.WEIR),
             "instructions": round(instructions), "connections": arguments.connections,
             "size": arguments.size}
    os.makedirs(os.path.dirname(RECORDS), exist_ok=True)
    with open(RECORDS, "a") as file:
        file.write(json.dumps(entry) + "\n")
    print(f"recorded {json.dumps(entry)}")


def run(arguments):
    if arguments.many <= arguments.few:
        raise Failure("--many must be more than --few")
    if arguments.record and (arguments.proxy != "weir" or arguments.proxy_command):
        raise Failure("only weir as built in this checkout is recorded")
    recipe = options.one_recipe(arguments)
    with Lab() as lab:
        own, inclusive = per_request(lab, recipe, arguments)
    total = sum(own.values())
    # What contains everything, as main and the loop do, tells nothing.
    names = sorted((name for name, count in inclusive.items() if 0.5 <= count < 0.995 * total),
                   key=inclusive.get, reverse=True)[:arguments.functions]
    functions = {name: {"inclusive": inclusive[name], "itself": own.get(name, 0)}
                 for name in names}
    report.print_table([["function", "with what it calls", "itself"],
                        *([name, f"{function['inclusive']:.0f}", f"{function['itself']:.0f}"]
                          for name, function in functions.items())])
    print(f"{total:.0f} user instructions per request")
    report.write_json(arguments, {arguments.proxy: recipe}, instructions_per_request=total,
                      functions=functions)
    if arguments.record:
        record(arguments, total)
    return 0
