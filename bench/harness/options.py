"""The options that measurements share, and what follows from them."""
import argparse

from harness import proxies
from harness.lab import Failure


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def add_number(parser, name, default, text, **options):
    parser.add_argument(name, type=positive, default=default, help=f"{text} (%(default)s)",
                        **options)


def add_load(parser, connections):
    add_number(parser, "--connections", connections, "keep-alive connections")
    add_number(parser, "--size", 128, "length of an answer's body", metavar="BYTES")


def add_json(parser):
    parser.add_argument("--json", metavar="FILE", help="writes every figure to FILE")


def add_common(parser):
    parser.add_argument(
        "--proxy-command", metavar="NAME=COMMAND", action="append", default=[],
        type=proxies.recipe_from_option,
        help="adds a forward proxy that COMMAND starts, with {port} and {origin} replaced by port "
             "numbers; without {port} it must say `listening on 127.0.0.1:PORT`. A known name gets "
             "another meaning. Repeatable: --proxy-command 'before=/old/weir -l 127.0.0.1:0 -w 1'")
    add_json(parser)


def add_one_proxy(parser):
    parser.add_argument("--proxy", default="weir", metavar="NAME",
                        help=f"what is measured (%(default)s): {', '.join(proxies.RECIPES)}")
    add_common(parser)


def add_side_by_side(parser, names, rounds):
    parser.set_defaults(names=names)
    add_number(parser, "--rounds", rounds, "rounds, in each of which every proxy has its turn")
    parser.add_argument("--only", metavar="A,B",
                        help=f"these proxies instead of {','.join(names)} and those added; "
                             f"there are {', '.join(proxies.RECIPES)}")
    add_common(parser)


def one_recipe(arguments):
    recipe = proxies.find_recipe(arguments.proxy, arguments.proxy_command)
    if not recipe.installed():
        raise Failure(f"{arguments.proxy} can't be measured: {recipe.version[0]} is not there")
    return recipe


def chosen_recipes(arguments):
    """By name. What isn't installed is left out, and said so."""
    added = arguments.proxy_command
    if arguments.only:
        names = arguments.only.split(",")
    else:
        names = [*arguments.names, *(name for name, _ in added)]
    recipes = {name: proxies.find_recipe(name, added) for name in names}
    for name, recipe in list(recipes.items()):
        if not recipe.installed():
            print(f"{name} is left out: {recipe.version[0]} is not there")
            del recipes[name]
    if not recipes:
        raise Failure("none of these proxies is there")
    return recipes


def turns(recipes, rounds):
    """(round, name, recipe), in every round beginning with another proxy."""
    entries = list(recipes.items())
    for number in range(rounds):
        start = number % len(entries)
        for name, recipe in entries[start:] + entries[:start]:
            yield number, name, recipe
