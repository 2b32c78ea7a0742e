"""Peers that mean harm or have bad luck: what they send costs weir little, and reaches nobody else."""
import socket
import threading
import time

import message
from client import Client

KIB = 1024


def bulk(connection):
    """A handler that sends without an end."""
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.send(b"x" * 65536)


def read_for_ever(client):
    try:
        while client.socket.recv(1 << 20):
            pass
    except OSError:
        pass


def test_crumbs_that_wait_pin_no_large_buffers(weir_release, make_origin):
    """They come between the reads of a fast download, for a server that has not agreed yet."""
    silent = make_origin(lambda connection: (connection.request_head(), connection.wait_end()))
    busy = make_origin(bulk)
    with Client(weir_release.address) as fast, Client(weir_release.address) as slow:
        fast.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % busy.url().encode())
        reader = threading.Thread(target=read_for_ever, args=(fast,))
        reader.start()
        slow.send(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
                  % silent.url().encode())
        silent.wait(lambda: silent.requests)
        before = weir_release.memory()
        for unused in range(1500):
            slow.send(b"x")
            time.sleep(0.001)
        assert weir_release.memory() - before < 2048 * KIB
        fast.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
        silent.connection().close()


def test_chunks_of_one_byte_for_a_stalled_reader_cost_little(weir_release, make_origin):
    readers = 10
    chunks = message.chunked(*[b"x"] * 10000, last=False)

    def handler(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.send(chunks)

    origin = make_origin(handler, send_buffer=65536)
    before = weir_release.memory()
    clients = [Client(weir_release.address, receive_buffer=4096) for unused in range(readers)]
    for client in clients:
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url().encode())
    time.sleep(3)
    assert (weir_release.memory() - before) / readers < 256 * KIB
    for client in clients:
        client.reset()


def test_servers_that_wait_to_be_asked_again_leave_descriptors_for_others(start_weir, make_origin):
    """One client visits more servers than weir could keep connections to."""
    weir = start_weir("-l", "127.0.0.1:0", "-w", "1", prefix=["prlimit", "--nofile=64:64"])
    origins = [make_origin() for unused in range(60)]
    with Client(weir.address) as client:
        for origin in origins:
            assert client.ask(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
                              % origin.url().encode()).status == 200
        with Client(weir.address) as other:
            assert other.connect(origins[0].authority).status == 200
    assert weir.descriptors() < 40


def test_an_early_answer_does_not_lift_the_limit_of_a_body(start_weir, tmp_path, make_origin):
    def handler(connection):
        request = connection.request_head()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        connection.request_body(request)

    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: '127.0.0.1:0' } ]\n"
                    "limits: { request_body_max: 100KiB }\n")
    origin = make_origin(handler)
    with Client(start_weir("-c", str(file)).address) as client:
        client.send(b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    % origin.url().encode())
        assert client.response(body=False).status == 200
        try:
            for unused in range(50):
                client.send(message.chunked(b"x" * 65536, last=False))
        except ConnectionError:
            pass
        origin.connection().finished.wait(5)
        assert len(origin.connection().received) < 400 * KIB
