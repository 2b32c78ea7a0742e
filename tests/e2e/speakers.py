"""Who plays client or server of an exchange, by protocol: what test_pairs.py is written in.

A speaker is a module with a `name`, its `abilities`, `client(weir, origin)` and `origin(...)`:

    client.ask(method, path, fields, length, streamed)   begins a request and returns its leg
    client.connect(), client.upgrade(protocol)           likewise
    origin.serve()                                       waits for the next request: a leg too

A leg is one end of one exchange. A test drives both of them from one thread, so that each step can
wait until the one before has arrived:

    send(data), end(trailers), reset(), truncate()       the message that this leg sends
    interim(status, fields), switch(protocol), gone()    the server's,
    answer(status, fields, length, streamed, body)       likewise
    head(), wait_interim(status), usable(), ended()      the client's; head() is the final one
    read(count), rest()                                  what it receives; then, of that message,
    complete, trailers, receiving                        whether it was whole; how it was framed

TAKES_TRAILERS are the fields of a request whose answer may have some.
The abilities are what a protocol has and others lack: pairs without them are left out.
"""
import speaker_h1

SPEAKERS = [speaker_h1]


def pairs(client=(), server=()):
    """Every (client's speaker, server's speaker) of which each has those abilities."""
    return [(one, other) for one in SPEAKERS for other in SPEAKERS
            if set(client) <= one.abilities and set(server) <= other.abilities]
