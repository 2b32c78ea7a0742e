"""bench syscalls: the system calls of one warm keep-alive request"""
import re
import signal

from harness import options, readings, report
from harness.lab import Lab
from harness.load import ExactLoad
from harness.proxies import Origin, Proxy

DATA_CALLS = re.compile(r"(p?(read|write)(64|v|v2)?|p(read|write)v2|recv(from|msg|mmsg)?|"
                        r"send(to|msg|mmsg|file)?|splice)$")
DATA_CALLS_MAX = 4
UNWANTED = re.compile(r"(epoll_ctl|io_uring_\w+|timerfd_\w+|futex(_\w+)?)$")
UNWANTED_MAX = 0.01  # per request: what happens now and then isn't the request's


def add_arguments(parser):
    options.add_number(parser, "--requests", 10000, "requests that are measured", metavar="N")
    options.add_number(parser, "--warm-up", 1000, "requests before them, not counted", metavar="N")
    options.add_load(parser, connections=16)
    options.add_one_proxy(parser)


def count_calls(lab, recipe, arguments):
    """Calls by name, of all threads, between the warm-up and the last answer."""
    origin = Origin(lab, arguments.size)
    proxy = Proxy(lab, recipe, origin)
    root = proxy.process.pid
    load = ExactLoad(lab, proxy, arguments.connections)
    load.run(arguments.warm_up)
    counts = lab.path("strace.txt")
    processes = [word for process in readings.process_tree(root) for word in ("-p", str(process))]
    strace = lab.start(["strace", "-f", "-c", "-U", "calls,name", "-o", counts, *processes],
                       lab.load_processor)
    strace.wait_until(lambda: readings.is_traced(root), "attach")
    load.run(arguments.requests)
    strace.finish(signal.SIGINT)
    load.close()
    proxy.kill()
    with open(counts) as file:
        lines = re.findall(r"^\s*(\d+)\s+([a-z]\w*)$", file.read(), re.MULTILINE)
    return {name: int(calls) for calls, name in lines if name != "total"}


def remark(name, per_request):
    if DATA_CALLS.match(name):
        return "data"
    return "UNWANTED" if UNWANTED.match(name) and per_request > UNWANTED_MAX else ""


def run(arguments):
    recipe = options.one_recipe(arguments)
    with Lab() as lab:
        calls = count_calls(lab, recipe, arguments)
    per_request = {name: count / arguments.requests for name, count in calls.items()}
    remarks = {name: remark(name, count) for name, count in per_request.items()}
    data_calls = sum(count for name, count in per_request.items() if remarks[name] == "data")
    unwanted = sorted(name for name in remarks if remarks[name] == "UNWANTED")
    report.print_table([["system call", "calls", "per request", ""],
                        *([name, str(calls[name]), f"{per_request[name]:.4f}", remarks[name]]
                          for name in sorted(calls, key=calls.get, reverse=True))])
    passed = data_calls <= DATA_CALLS_MAX and not unwanted
    print(f"{'PASS' if passed else 'FAIL'}: {data_calls:.4f} data calls per request "
          f"(at most {DATA_CALLS_MAX}), "
          f"{', '.join(unwanted) or 'nothing unwanted'} per request")
    report.write_json(arguments, {arguments.proxy: recipe}, calls=calls, per_request=per_request,
                      data_calls_per_request=data_calls, unwanted=unwanted, passed=passed)
    return 0 if passed else 1
