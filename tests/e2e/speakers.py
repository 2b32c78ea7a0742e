"""Who plays client or server of an exchange, by protocol: what test_pairs.py is written in.

A speaker is a module with a `name`, its `abilities`, `client(weir, origin)` and `origin(...)`:

    client.ask(method, path, fields, length, streamed)   begins a request and returns its leg
    client.connect(), client.upgrade(protocol)           likewise
    origin.serve()                                       waits for the next request: a leg too

A leg is one end of one exchange. A test drives both of them from one thread, so that each step can
wait until the one before has arrived:

    send(data), end(trailers), reset(), truncate()       the message that this leg sends
    interim(status, fields), switch(protocol), gone()    the server's; protocol: asked for,
    answer(status, fields, length, streamed, body)       likewise
    head(), wait_interim(status), usable(), agreed       the client's; head() is the final one
    read(count), rest()                                  what it receives; then, of that message,
    complete, trailers, receiving                        whether it was whole; how it was framed

TAKES_TRAILERS are the fields of a request whose answer may have some; SWITCHED is the status
that agrees to upgrade().
The abilities are what a protocol has and others lack: pairs without them are left out.
"""
import speaker_h1
import speaker_h2

SPEAKERS = [speaker_h1, speaker_h2]


def configuration(more=""):
    """What weir must be told to be a forward proxy to the origins of each."""
    ports = {speaker: [kept.getsockname()[1] for kept in speaker.kept_ports]
             for speaker in SPEAKERS}
    upstream = "".join(f"  {speaker.name}_{port}: {{ servers: ['127.0.0.1:{port}'],"
                       f" protocol: {speaker.name} }}\n" for speaker in SPEAKERS
                       for port in ports[speaker])
    routes = "".join(f"  - {{ when: {{ port: {port} }}, to: {speaker.name}_{port} }}\n"
                     for speaker in SPEAKERS for port in ports[speaker])
    return ("workers: 1\nlisten: [ { address: 127.0.0.1:0 } ]\n"
            f"upstream:\n{upstream}routes:\n{routes}{more}")


def pairs(client=(), server=()):
    """Every (client's speaker, server's speaker) of which each has those abilities."""
    return [(one, other) for one in SPEAKERS for other in SPEAKERS
            if set(client) <= one.abilities and set(server) <= other.abilities]
