"""Ratios, tables, and the facts without which a figure means nothing."""
import json
import os
import platform
import re
import statistics
import subprocess

from harness.lab import ROOT


def paired_ratios(runs, name, base, key):
    """For each round, a proxy's figure divided by another's of the same round.

    The machine's speed drifts from round to round by more than proxies differ; within a round it
    hardly does."""
    figures = {run["round"]: run[key] for run in runs if run["proxy"] == base}
    return [run[key] / figures[run["round"]] for run in runs
            if run["proxy"] == name and run["round"] in figures]


def spread(ratios):
    if not ratios:
        return None
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def spread_text(spread):
    return "{median:.2f} ({min:.2f}-{max:.2f})".format(**spread) if spread else "-"


def summarize(title, runs, columns):
    """Prints a line for each proxy: the medians of its runs, and the ratios of the first column.

    columns: (heading, key, format). Returns the same as numbers."""
    (heading, key, form), others = columns[0], columns[1:]
    table = [[title, heading, "x floor (min-max)", "x haproxy (min-max)",
              *(heading for heading, _, _ in others)]]
    summary = {}
    for name in dict.fromkeys(run["proxy"] for run in runs):
        figures = {key: statistics.median(run[key] for run in runs if run["proxy"] == name)
                   for _, key, _ in columns}
        ratios = {base: spread(paired_ratios(runs, name, base, key))
                  for base in ("floor", "haproxy")}
        summary[name] = {**figures, "to_floor": ratios["floor"],
                         "to_haproxy": ratios["haproxy"]}
        table.append([name, form.format(figures[key]), spread_text(ratios["floor"]),
                      spread_text(ratios["haproxy"]),
                      *(form.format(figures[key]) for _, key, form in others)])
    print()
    print_table(table)
    return summary


def print_table(rows):
    """The first column is text and stands left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def commit():
    """The checkout's commit, with -dirty when its tracked files differ from it."""
    described = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


def compiler(binary):
    """What the compilers of a binary wrote about themselves into it."""
    dump = subprocess.run(["readelf", "--string-dump=.comment", binary], capture_output=True,
                          text=True, check=False).stdout
    return "; ".join(re.findall(r"^\s*\[\s*\w+\]\s+(.*)$", dump, re.MULTILINE)) or "unknown"


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return {"processor": model.group(1) if model else platform.machine(),
            "processors": os.cpu_count(), "kernel": platform.release()}


def write_json(arguments, recipes, **figures):
    if not arguments.json:
        return
    settings = {name: value for name, value in vars(arguments).items()
                if name not in ("measurement", "names", "proxy_command", "json")}
    content = {"measurement": arguments.measurement, "commit": commit(), "machine": machine(),
               "proxies": {name: recipe.describe() for name, recipe in recipes.items()},
               "settings": settings, **figures}
    with open(arguments.json, "w") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
