"""One HTTP/2 connection at either end, on Debian's hyper-h2: speaker_h2.py is made of it.

A thread reads it and gives each stream what came; the streams are driven from a test's thread.
Whatever is no proper message raises Broken in whoever waits next.
"""
import re
import socket
import struct
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from client import PATIENCE
from message import TOKEN, VALUE, Broken, Message

STREAM_WINDOW = 256 * 1024            # usually; renewed as a test reads
CONNECTION_WINDOW = 4 * 1024 * 1024   # renewed at once, so that no stream holds up another
HEADERS_MAX = 1 << 20                 # of a head
CONNECTION_FIELDS = {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding",
                     b"upgrade"}
QUIET = 0.05                          # seconds: what would come on loopback has come
Code = h2.errors.ErrorCodes
Setting = h2.settings.SettingCodes


class Session(h2.connection.H2Connection):
    """In hyper-h2 nothing may follow GOAWAY; in RFC 9113 6.8 the streams below its number do."""

    def _receive_goaway_frame(self, frame):
        event = h2.events.ConnectionTerminated()
        event.error_code, event.last_stream_id = frame.error_code, frame.last_stream_id
        event.additional_data = frame.additional_data
        return [], [event]


# what a proper message is: RFC 9113 8.2 and 8.3

def check_fields(fields):
    for name, value in fields:
        if not TOKEN.fullmatch(name) or name != name.lower():
            raise Broken(f"not a field name: {name!r}")
        if not VALUE.fullmatch(value) or value != value.strip(b" \t"):
            raise Broken(f"not a value of {name!r}: {value!r}")
        if name in CONNECTION_FIELDS or name == b"te" and value != b"trailers":
            raise Broken(f"a field of HTTP/1.1 connections: {name!r}: {value!r}")


def split_pseudo(headers):
    """The pseudo-fields as a dictionary, and the other fields."""
    count = next((at for at, (name, _) in enumerate(headers) if name[:1] != b":"), len(headers))
    pseudo, fields = dict(headers[:count]), headers[count:]
    if len(pseudo) != count:
        raise Broken(f"a pseudo-field came twice: {headers}")
    check_fields(fields)
    return pseudo, [(bytes(name), bytes(value)) for name, value in fields]


def check_request(pseudo, fields):
    wanted = {b":method", b":scheme", b":path", b":authority"}
    if pseudo.get(b":method") == b"CONNECT":
        wanted = wanted | {b":protocol"} if b":protocol" in pseudo else {b":method", b":authority"}
    if set(pseudo) != wanted or not all(pseudo.values()):
        raise Broken(f"pseudo-fields of a request: {pseudo}")
    for name, value in fields:
        if name == b"host" and value != pseudo[b":authority"]:
            raise Broken(f"Host is {value!r} and :authority {pseudo[b':authority']!r}")


def announced(fields):
    """What Content-Length says, None without one."""
    values = [value for name, value in fields if name == b"content-length"]
    if len(values) > 1 or values and not re.fullmatch(rb"[0-9]+", values[0]):
        raise Broken(f"content length {values}")
    return int(values[0]) if values else None


def request_of(headers):
    pseudo, fields = split_pseudo(headers)
    check_request(pseudo, fields)
    start = b"%s %s HTTP/2" % (pseudo[b":method"], pseudo.get(b":path", pseudo[b":authority"]))
    made = Message(start, fields, b"")
    made.pseudo = pseudo
    return made


def response_of(headers):
    pseudo, fields = split_pseudo(headers)
    if set(pseudo) != {b":status"} or not re.fullmatch(rb"[1-5][0-9][0-9]", pseudo[b":status"]):
        raise Broken(f"pseudo-fields of a response: {pseudo}")
    return Message(b"HTTP/2 %s" % pseudo[b":status"], fields, b"")


class Stream:
    """One stream: what has come of it, and what may be sent."""

    def __init__(self, connection, number):
        self.connection, self.number = connection, number
        self.request = self.final = None
        self.interim = []
        self.kept = bytearray()       # not read yet
        self.expected = None          # bytes of the body, when that is known
        self.count = 0                # bytes of the body that came
        self.trailers = []
        self.ended = False            # by the peer
        self.sent_end = False         # by us
        self.code = None              # of RST_STREAM, the peer's or ours
        self.unacknowledged = 0       # read, and the window not yet renewed
        self.reset_by_us = False

    # what comes: in the connection's thread

    def on_request(self, headers):
        self.request = request_of(headers)
        if self.request.method != b"CONNECT":
            self.expected = announced(self.request.fields)

    def on_interim(self, headers):
        head = response_of(headers)
        if head.status == 101 or self.final:
            raise Broken(f"an interim answer: {head}")
        self.interim.append(head)

    def on_response(self, headers):
        head = response_of(headers)
        length = announced(head.fields)
        method = self.request.method
        if head.status == 204 and length is not None:
            raise Broken(f"204 has no length: {head}")
        no_body = method == b"HEAD" or head.status in (204, 304)
        tunnel = method == b"CONNECT" and head.status // 100 == 2
        if tunnel and length is not None:
            raise Broken(f"a tunnel has no length: {head}")
        self.expected = 0 if no_body else length
        head.interim = self.interim
        self.final = head

    def on_data(self, data):
        self.kept += data
        self.count += len(data)
        if self.expected is not None and self.count > self.expected:
            raise Broken(f"{self.count} bytes of a body of {self.expected}")

    def on_trailers(self, headers):
        pseudo, self.trailers = split_pseudo(headers)
        if pseudo:
            raise Broken(f"pseudo-fields among trailers: {pseudo}")

    def on_end(self):
        self.ended = True
        if self.expected not in (None, self.count):
            raise Broken(f"{self.count} bytes of a body of {self.expected}")

    # what a test does

    def over(self):
        """Nothing more comes."""
        return self.ended or self.code is not None or self.connection.end is not None

    def wait(self, condition, what, seconds=PATIENCE):
        self.connection.wait(condition, what, seconds)

    def take(self, count):
        """The next bytes, fewer only at their end."""
        taken = bytearray()
        while len(taken) < count:
            piece = self.take_piece(min(count - len(taken), self.connection.window // 4))
            taken += piece
            if not piece:
                break
        return bytes(taken)

    def take_piece(self, count):
        """Likewise, less than a window; renews it."""
        self.wait(lambda: len(self.kept) >= count or self.over(), f"{count} bytes")
        with self.connection.changed:
            taken = bytes(self.kept[:count])
            del self.kept[:count]
            self.unacknowledged += len(taken)
            if self.unacknowledged >= self.connection.window // 4 and not self.over():
                self.connection.session.increment_flow_control_window(self.unacknowledged,
                                                                      self.number)
                self.unacknowledged = 0
        self.connection.flush()
        return taken

    def take_all(self):
        return self.take(1 << 40)

    def send_headers(self, headers, end=False):
        self.sent_end |= end
        self.connection.act(lambda session: session.send_headers(self.number, headers,
                                                                 end_stream=end))

    def send(self, data, end=False, patience=PATIENCE):
        """Waits for the peer's windows; a peer that is gone is an OSError."""
        data = memoryview(data)
        while len(data) or end:
            sent = self.send_some(data, end, patience)
            data = data[sent:]
            if not len(data):
                return

    def send_some(self, data, end, patience):
        window = 0

        def look():
            nonlocal window
            if self.code is not None or self.connection.end is not None:
                return True
            window = self.connection.session.local_flow_control_window(self.number)
            return window > 0 or not len(data)

        with self.connection.changed:
            self.wait(look, "the peer's windows", patience)
            if self.code is not None or self.connection.end is not None:
                raise ConnectionResetError(f"the stream is gone: {self.code}")
            size = min(len(data), window, self.connection.session.max_outbound_frame_size)
            last = end and size == len(data)
            self.connection.session.send_data(self.number, bytes(data[:size]), end_stream=last)
            self.sent_end |= last
        self.connection.flush()
        return size

    def reset(self, code):
        """One that is over cannot be reset."""
        with self.connection.changed:
            if self.code is not None or self.ended and self.sent_end:
                return
            self.code, self.reset_by_us = code, True
            self.connection.act(lambda session: session.reset_stream(self.number, code))
            self.connection.changed.notify_all()


class Connection:
    """Reads and writes one socket; on_stream(stream) is told of requests. Each stream has window."""

    def __init__(self, connected, is_client, on_stream=None, window=STREAM_WINDOW):
        self.socket, self.is_client, self.on_stream = connected, is_client, on_stream
        self.window = window
        self.changed = threading.Condition(threading.RLock())
        self.writing = threading.Lock()
        self.pending = bytearray()    # to be written
        self.streams = {}
        self.end = None               # None while open, then "end", "reset" or "broken"
        self.problem = None           # an exception that somebody must see
        self.going = False            # nothing is begun on it any more
        self.settings = {}            # the peer's, once they came
        self.session = Session(h2.config.H2Configuration(
            client_side=is_client, header_encoding=None, validate_outbound_headers=False,
            normalize_outbound_headers=False, validate_inbound_headers=is_client))
        self.session.decoder.max_header_list_size = HEADERS_MAX  # which it says to nobody
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                               struct.pack("ll", PATIENCE, 0))
        self.greet()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def greet(self):
        values = {Setting.INITIAL_WINDOW_SIZE: self.window, Setting.MAX_CONCURRENT_STREAMS: 100}
        if self.is_client:
            values[Setting.ENABLE_PUSH] = 0
        else:
            values[Setting.ENABLE_CONNECT_PROTOCOL] = 1
        self.session.local_settings = h2.settings.Settings(client=self.is_client,
                                                           initial_values=values)
        self.act(lambda session: session.initiate_connection())
        self.act(lambda session: session.increment_flow_control_window(CONNECTION_WINDOW))

    # writing

    def act(self, action):
        """Does something with the session and sends what it says then."""
        with self.changed:
            if self.end is not None:
                raise ConnectionResetError("the connection is gone")
            result = action(self.session)
        self.flush()
        return result

    def flush(self):
        """Writes in the order of the session; whoever writes already takes this along."""
        with self.changed:
            self.pending += self.session.data_to_send()
        while self.pending and self.writing.acquire(blocking=False):
            try:
                with self.changed:
                    data, self.pending = self.pending, bytearray()
                self.socket.sendall(data)
            except OSError:
                pass                  # the reader learns how it ended
            finally:
                self.writing.release()

    # reading

    def listen(self):
        try:
            while data := self.socket.recv(262144):
                with self.changed:
                    for event in self.session.receive_data(data):
                        self.dispatch(event)
                    self.changed.notify_all()
                self.flush()
            self.finish("end")
        except (h2.exceptions.H2Error, Broken, AssertionError) as problem:
            self.problem = problem if isinstance(problem, Broken) else Broken(repr(problem))
            self.flush()
            self.finish("broken")
            self.shut()
        except OSError:
            self.finish("reset")

    def finish(self, how):
        with self.changed:
            self.end = how
            self.changed.notify_all()

    def dispatch(self, event):
        kind, stream = type(event), self.streams.get(getattr(event, "stream_id", None))
        if kind is h2.events.RequestReceived:
            stream = self.streams[event.stream_id] = Stream(self, event.stream_id)
            stream.on_request(event.headers)
            self.on_stream(stream)
        elif kind is h2.events.RemoteSettingsChanged:
            self.settings.update({code: change.new_value
                                  for code, change in event.changed_settings.items()})
            self.settings.setdefault("came", True)
        elif kind is h2.events.ConnectionTerminated:
            self.going = True
            if event.error_code:
                raise Broken(f"GOAWAY with {event.error_code}: {event.additional_data}")
        elif kind is h2.events.PushedStreamReceived:
            raise Broken("a push that nobody allowed")
        elif stream is not None and not stream.reset_by_us:
            self.dispatch_to(stream, event)

    def dispatch_to(self, stream, event):
        kind = type(event)
        if kind is h2.events.DataReceived:
            if event.flow_controlled_length:
                self.session.increment_flow_control_window(event.flow_controlled_length)
            stream.on_data(event.data)
        elif kind is h2.events.InformationalResponseReceived:
            stream.on_interim(event.headers)
        elif kind is h2.events.ResponseReceived:
            stream.on_response(event.headers)
        elif kind is h2.events.TrailersReceived:
            stream.on_trailers(event.headers)
        elif kind is h2.events.StreamEnded:
            stream.on_end()
        elif kind is h2.events.StreamReset:
            stream.code = event.error_code

    # what a test does

    def wait(self, condition, what, seconds=PATIENCE):
        """Until that holds; raises what was wrong with what came."""
        end = time.monotonic() + seconds
        with self.changed:
            while not condition():
                self.blame()
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"waited in vain for {what}")
                self.changed.wait(left)
        self.blame()

    def blame(self):
        if self.problem:
            raise self.problem

    def wait_settings(self):
        self.wait(lambda: self.settings or self.end is not None, "the peer's SETTINGS")
        return self.settings

    def open(self, headers, end, method):
        """A client's new stream."""
        with self.changed:
            number = self.session.get_next_available_stream_id()
            stream = self.streams[number] = Stream(self, number)
            stream.request = Message(method + b" * HTTP/2", [], b"")
            stream.send_headers(headers, end)
        return stream

    def usable(self):
        """For a while, nothing comes and it stays open."""
        time.sleep(QUIET)
        self.blame()
        return self.end is None and not self.going

    def half_close(self):
        self.going = True             # nothing else is begun on it
        self.socket.shutdown(socket.SHUT_WR)

    def shut(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass                      # it has ended

    def close(self):
        """Ends it; raises what nobody has seen yet."""
        self.shut()
        self.thread.join(PATIENCE)
        self.socket.close()
        self.blame()
