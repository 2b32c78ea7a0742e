"""A client that speaks HTTP/2 by prior knowledge, many streams at a time; needs Debian's python3-h2."""
import socket

import h2.config
import h2.connection
import h2.events

from client import PATIENCE


class Stream:
    def __init__(self):
        self.fields = []      # of the final head
        self.interim = []     # status of each interim head
        self.trailers = None
        self.body = b""
        self.ended = False
        self.reset = None     # the code

    @property
    def status(self):
        return int(dict(self.fields)[b":status"])


class ClientH2:
    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, validate_outbound_headers=False))
        self.streams = {}
        self.over = False
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def request(self, fields, end=True):
        stream = self.h2.get_next_available_stream_id()
        self.streams[stream] = Stream()
        self.h2.send_headers(stream, fields, end_stream=end)
        self.flush()
        return stream

    def get(self, origin, path="/"):
        return self.request([(":method", "GET"), (":scheme", "http"),
                             (":authority", origin.authority.decode()), (":path", path)])

    def send(self, stream, data, end=False):
        self.h2.send_data(stream, data, end_stream=end)
        self.flush()

    def wait(self, condition):
        """Takes what comes until that holds; what then is not there never comes."""
        while not condition() and not self.over:
            received = self.socket.recv(65536)
            self.over = not received
            for event in self.h2.receive_data(received) if received else ():
                self.on_event(event)
            self.flush()
        assert condition()

    def on_event(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ResponseReceived):
            stream.fields = [(bytes(name), bytes(value)) for name, value in event.headers]
        elif isinstance(event, h2.events.InformationalResponseReceived):
            stream.interim.append(int(dict(event.headers)[b":status"]))
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = event.headers
        elif isinstance(event, h2.events.DataReceived):
            stream.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.reset = event.error_code

    def answer(self, stream):
        self.wait(lambda: self.streams[stream].ended or self.streams[stream].reset is not None)
        return self.streams[stream]

    def close(self):
        self.socket.close()
