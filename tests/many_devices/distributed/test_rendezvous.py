"""The server that processes meet at, talked to by hand."""

import json
import socket
import threading
import time

from tinyjax.many_devices.distributed.rendezvous import Server


class Meeting:
    """A server of `count` processes, in a thread."""

    def __init__(self, count, seconds=20):
        self.listener = socket.create_server(("localhost", 0))
        self.address = self.listener.getsockname()
        self.server = Server(self.listener, count, seconds)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    def connection(self, line):
        made = socket.create_connection(self.address, timeout=10)
        made.sendall(f"{line}\n".encode())
        return made

    def process(self, number, count=2):
        return [self.connection(json.dumps([k, number, count, "here"])) for k in ("watch", "mpi")]

    def has_ended(self):
        self.thread.join(10)
        return not self.thread.is_alive()


def heard(connection):
    return json.loads(connection.makefile().readline())


def test_strangers_are_let_go():
    meeting = Meeting(1)
    silent = socket.create_connection(meeting.address)
    strangers = ["5", "null", "[1]", '["mpi", [], 1, "here"]', "GET / HTTP/1.1", '"\\ud800"']
    for line in strangers:
        assert meeting.connection(line).recv(1) == b""
    began = time.monotonic()
    watch, _ = meeting.process(0, 1)
    assert heard(watch) == "" and time.monotonic() - began < 5
    silent.close()


def test_a_process_that_ends_before_the_others_come_is_named():
    meeting = Meeting(3)
    watch, _ = meeting.process(0, 3)
    for connection in meeting.process(1, 3):
        connection.close()
    assert heard(watch) == "process 1 has ended before all others were there"
    assert meeting.has_ended()


def test_the_port_is_free_again_when_process_0_has_gone():
    meeting = Meeting(2, 300)
    for connection in meeting.process(0):
        connection.close()
    assert meeting.has_ended()
    socket.create_server(meeting.address[:2]).close()
