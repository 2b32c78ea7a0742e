"""Plugins with threads of their own: posts from eight of them to exchanges that come and go, while
clients vanish and the plugin is replaced. SECONDS_OF_LOAD says for how long; ./dev test tsan runs
this under ThreadSanitizer too."""
import os
import random
import threading
import time

from client_chosen import Client
from origin import ok
from plugins import compile_plugin
from program import path
from test_plugin_reload import install
from test_reload import Running, get

SECONDS = int(os.environ.get("SECONDS_OF_LOAD", "5"))
RELOADS = 20
WORKERS = 4
CLIENTS = 8


def coming_and_going(address, origin, until, seed, answers, problems):
    """Asks; now and then leaves in the middle of it, which ends the exchange at that moment."""
    dice = random.Random(seed)
    while time.monotonic() < until:
        try:
            with Client(address) as client:
                for unused in range(dice.randrange(1, 20)):
                    client.send(get(origin))
                    if dice.random() < 0.2:
                        client.reset()
                        break
                    assert client.response().status == 200
                    answers[seed] += 1
        except Exception as problem:      # noqa: B902 - reported below
            problems.append(problem)
            return


def test_posts_to_dying_exchanges_while_plugins_are_replaced(start_weir, tmp_path, make_origin):
    def answering(connection):
        while connection.request():
            connection.send(ok())

    sanitizer = ["-fsanitize=thread"] if "/tsan/" in path() else []
    plugin = compile_plugin(tmp_path, "poster", None, *sanitizer)
    install(tmp_path, plugin)
    running = Running(start_weir, tmp_path, "plugins: [ ./live.so ]\nfilters: [ { use: poster } ]\n",
                      WORKERS)
    origin = make_origin(answering)
    answers, problems = [0] * CLIENTS, []
    begun = time.monotonic()
    clients = [threading.Thread(target=coming_and_going, args=(
        running.weir.address, origin, begun + SECONDS, seed, answers, problems))
        for seed in range(CLIENTS)]
    for client in clients:
        client.start()
    for number in range(1, RELOADS + 1):
        time.sleep(max(0, begun + number * SECONDS / (RELOADS + 1) - time.monotonic()))
        install(tmp_path, plugin, b"%d" % number)
        running.weir.reload(seconds=30)
    for client in clients:
        client.join()
    running.weir.settle(lambda: running.admin.metric("weir_configurations_in_use") == 1,
                        "the old ones to go")
    running.weir.stop()
    said = [line for line in running.weir.lines if line.startswith("poster")]
    print(f"{sum(answers)} answers", *said[-2:], sep="; ")
    assert not problems, problems
    assert min(answers) > 0
    assert len(said) == RELOADS + 1 and all(line.endswith("each once") for line in said), said
    assert any(", 0 delivered" not in line for line in said)
