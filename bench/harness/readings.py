"""What the kernel says about running processes."""
import contextlib
import os
import re


def process_tree(root):
    found, pending = [], [root]
    while pending:
        process = pending.pop()
        found.append(process)
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{process}/children") as file:
            pending += [int(child) for child in file.read().split()]
    return found


def threads(process):
    with contextlib.suppress(OSError):
        return [int(thread) for thread in os.listdir(f"/proc/{process}/task")]
    return []


def cpu_seconds(root):
    """Time on a processor, user and system, of every thread of a process and its children.

    From schedstat, which counts nanoseconds; the times in stat are ticks of 10 ms."""
    total = 0
    for process in process_tree(root):
        for thread in threads(process):
            path = f"/proc/{process}/task/{thread}/schedstat"
            with contextlib.suppress(OSError), open(path) as file:
                total += int(file.read().split()[0])
    return total / 1e9


def status_number(process, thread, name):
    """A number from the status of a thread, 0 if it has none or the thread is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/status") as file:
        match = re.search(rf"^{name}:\s+(\d+)", file.read(), re.MULTILINE)
        return int(match.group(1)) if match else 0
    return 0


def resident_mib(root):
    """Resident memory of a process and its children; a page that they share counts for each."""
    return sum(status_number(process, process, "VmRSS") for process in process_tree(root)) / 1024


def is_traced(root):
    """Whether every thread of a process and its children has a tracer."""
    return all(status_number(process, thread, "TracerPid")
               for process in process_tree(root) for thread in threads(process))


def busy_seconds(processor):
    """Time that a processor has not been idle, whoever used it: in ticks, so good to 10 ms."""
    with open("/proc/stat") as file:
        fields = next(line for line in file if line.startswith(f"cpu{processor} ")).split()
    user, nice, system, _, _, hard, soft, stolen = (int(field) for field in fields[1:9])
    return (user + nice + system + hard + soft + stolen) / os.sysconf("SC_CLK_TCK")
