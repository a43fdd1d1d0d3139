"""The rendezvous of processes that were started one by one: replaces `mpiexec` for MPI, on one port.

Each process gets its number, writes its address into a table, waits at a barrier for all others, and reads
their entries. From then on they communicate directly, and the launcher only has to detect the end of a
process. MPICH makes these requests by lines of text, such as `cmd=put kvsname=processes key=P0 value=...`;
the protocol is called PMI-1.

Process 0 starts the server, which is this file as a script, in a separate process, because a process that
waits in MPI_Init can't answer. A process has two connections: `mpi`, which MPICH uses, and `watch`, for its
own and the others' error messages.

Source: https://github.com/pmodels/mpich/blob/main/src/pmi/doc/pmi-v1.txt
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
import uuid

# ---- the server ----


class Member:
    """A connection of a process: its number, and the part of a line received so far."""

    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.process, self.host = -1, ""  # until it is known
        self.rest = b""
        self.has_finished = False

    def say(self, line: str) -> None:
        try:
            self.connection.sendall(f"{line}\n".encode())
        except OSError:
            pass  # it has disconnected, which the next read will detect

    def lines(self) -> list[str] | None:
        """The received lines; None at the end of the connection."""
        try:
            received = self.connection.recv(65536)
        except OSError:
            return None
        *lines, self.rest = (self.rest + received).split(b"\n")
        return [line.decode(errors="replace") for line in lines] if received else None


class Server:
    """Waits for all processes, answers MPICH's requests, and tells all when one has failed."""

    def __init__(self, listener: socket.socket, count: int, seconds: float):
        self.listener, self.count, self.seconds = listener, count, seconds
        self.mpi: dict[int, Member] = {}
        self.watch: dict[int, Member] = {}
        self.table: dict[str, str] = {}
        # MPICH uses it to name the processes' shared memory: it must be unique among programs.
        self.name = f"tinyjax-{os.getpid()}-{time.time_ns()}"
        self.at_barrier: list[Member] = []

    def run(self) -> None:
        error = self._gather()
        self.listener.close()
        for member in self.watch.values():
            member.say(json.dumps(error))
        if not error:
            self._serve()

    def _gather(self) -> str:
        """Wait for all processes; return an error message, or "". Also notices processes that end meanwhile;
        `strangers` are connections without a number yet."""
        ends, error = time.monotonic() + self.seconds, ""
        strangers: dict[socket.socket, Member] = {}
        while len(self.mpi) + len(self.watch) < 2 * self.count:
            known = {m.connection: m for m in [*self.mpi.values(), *self.watch.values()]}
            rest = max(0.0, ends - time.monotonic())
            ready = select.select([self.listener, *strangers, *known], [], [], rest)[0]
            if not ready:
                missing = sorted({*range(self.count)} - self.mpi.keys())
                return error or (
                    f"after {self.seconds:g} s, of {self.count} processes these have not called "
                    f"jax.distributed.initialize: {missing}"
                )
            wrong = ""
            for connection in ready:
                if connection is self.listener:
                    stranger = Member(self.listener.accept()[0])
                    strangers[stranger.connection] = stranger
                elif connection in strangers:
                    lines = strangers[connection].lines()
                    if lines is None or lines:
                        wrong = wrong or self._welcome(strangers.pop(connection), lines or [""])
                else:  # no member sends more before it gets an answer
                    failed = known[connection].process
                    wrong = wrong or f"process {failed} has ended before all others were there"
                    self.mpi.pop(failed, None)
                    self.watch.pop(failed, None)
            if wrong:
                if not self.watch:
                    return wrong
                # others get the error too
                error, ends = error or wrong, min(ends, time.monotonic() + 1)
        return error

    def _welcome(self, member: Member, lines: list[str]) -> str:
        """Register a connection's process; return an error message, or "". Connections from outside the
        program are closed."""
        try:
            kind, process, count, host = json.loads(lines[0])
        except (ValueError, TypeError):
            kind = process = count = host = None
        members = {"mpi": self.mpi, "watch": self.watch}.get(str(kind))
        if members is None or type(process) is not int or type(count) is not int:
            member.connection.close()
            return ""
        is_new = process not in members
        member.process, member.host = process, str(host)
        members[process if is_new else -1 - len(members)] = member
        if count != self.count or not 0 <= process < count:
            return f"process {process} says num_processes={count}, process 0 {self.count}"
        return "" if is_new else f"two processes say process_id={process}"

    def _serve(self) -> None:
        """Answer requests until all have finished, or one has failed."""
        members = {m.connection: m for m in [*self.mpi.values(), *self.watch.values()]}
        while any(not m.has_finished for m in self.mpi.values()):
            for connection in select.select(list(members), [], [])[0]:
                member = members[connection]
                lines = member.lines()
                if lines is None:
                    del members[connection]
                is_mpi = member is self.mpi[member.process]
                if not is_mpi and lines:
                    return self._tell_of_failure(member.process, json.loads(lines[0]))
                if is_mpi and lines is None and not member.has_finished:
                    return self._tell_of_failure(member.process, self._last_words(member.process))
                for line in lines or ():
                    self._answer(member, line)

    def _last_words(self, process: int) -> str:
        """The error message of a process that has ended, if it had time to send one."""
        watch = self.watch[process]
        lines = watch.lines() if select.select([watch.connection], [], [], 0.5)[0] else None
        return json.loads(lines[0]) if lines else "it was killed, or ended before shutdown()"

    def _tell_of_failure(self, failed: int, why: str) -> None:
        for process, member in self.watch.items():
            if process != failed:
                member.say(json.dumps(f"process {failed} failed: {why}"))

    def _answer(self, member: Member, line: str) -> None:
        """Answer a line of PMI-1."""
        asked = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        match asked.get("cmd"):
            case "init":
                member.say("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
            case "get_maxes":
                member.say("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024")
            case "get_appnum":
                member.say("cmd=appnum appnum=0")
            case "get_my_kvsname":
                member.say(f"cmd=my_kvsname kvsname={self.name}")
            case "get_universe_size":
                member.say(f"cmd=universe_size size={self.count}")
            case "put":
                self.table[asked["key"]] = line.split("value=", 1)[1]
                member.say("cmd=put_result rc=0 msg=success")
            case "get":
                value = self._value(asked["key"])
                found = f"rc=0 msg=success value={value}" if value else "rc=-1 msg=key_not_found"
                member.say(f"cmd=get_result {found}")
            case "barrier_in":
                self.at_barrier.append(member)
                if len(self.at_barrier) == self.count:
                    for each in self.at_barrier:
                        each.say("cmd=barrier_out rc=0")
                    self.at_barrier = []
            case "finalize":
                member.has_finished = True
                member.say("cmd=finalize_ack rc=0")

    def _value(self, key: str) -> str | None:
        """An entry of the table. The hosts' entry defines which processes share memory, which is four times
        as fast: a block (number of the host, 1 host, 1 process on it) for each process."""
        if key != "PMI_process_mapping":
            return self.table.get(key)
        hosts = [self.mpi[process].host for process in range(self.count)]
        return f"(vector,{','.join(f'({hosts.index(host)},1,1)' for host in hosts)})"


# ---- a process that joins ----


def join(
    address: str, count: int, process: int, seconds: float, bind_address: str | None = None
) -> socket.socket:
    """Meet the other processes at `address` ("host:port"), so that MPI can start; return the connection
    `watch`.

    Raises RuntimeError if a process is missing after the timeout or they disagree on their number, OSError if
    process 0 can't use the port."""
    ends = time.monotonic() + seconds
    if process == 0:
        _start_server(bind_address or address, count, seconds)
    watch, mpi = (_connection(address, ends) for _ in range(2))
    for kind, connection in (("watch", watch), ("mpi", mpi)):
        hello = [kind, process, count, this_host()]
        connection.sendall(f"{json.dumps(hello)}\n".encode())
    # the server gives up first, with the reason
    watch.settimeout(max(1.0, ends - time.monotonic()) + 5)
    error = json.loads(watch.makefile().readline() or '"the server at the address has ended"')
    if error:
        raise RuntimeError(f"jax.distributed.initialize, at {address}: {error}")
    for connection in (watch, mpi):
        connection.settimeout(None)
    place = {"PMI_FD": mpi.detach(), "PMI_RANK": process, "PMI_SIZE": count}
    os.environ.update({name: str(value) for name, value in place.items()})
    return watch


def this_host() -> str:
    """A text that is equal for processes that can share memory: this machine, since its start, and its folder
    for shared memory. Names alone are not enough: containers on several machines may all be called
    "localhost"."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            machine = file.read().strip()
        folder = os.stat("/dev/shm").st_dev
    except OSError:  # not Linux
        machine, folder = f"{uuid.getnode():x}", 0
    return f"{socket.gethostname()} {machine} {folder}"


def host_and_port(address: str, argument: str = "coordinator_address") -> tuple[str, int]:
    """The parts of "host:port"; errors name the `argument`. Raises ValueError for anything else."""
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(
            f"{argument} must be 'host:port', such as 'localhost:10000', got {address!r}"
        )
    return host.strip("[]"), int(port)


def _start_server(address: str, count: int, seconds: float) -> None:
    if not hasattr(os, "fork"):
        raise NotImplementedError(
            "jax.distributed.initialize with an address starts a server by os.fork, which this system lacks: "
            "start the processes by `mpiexec -n 2 python program.py`, and call initialize()"
        )
    host, port = host_and_port(address)
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    with socket.create_server((host, port), family=family) as listener:
        command = [sys.executable, "-I", __file__, listener.fileno(), family, count, seconds]
        subprocess.run(  # the server continues in a detached process
            list(map(str, command)),
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # so that readers of this process's output don't wait for the server
            stderr=subprocess.DEVNULL,
            # Ctrl-C should only stop the processes: the server reports their end
            start_new_session=True,
            check=True,
        )


def _connection(address: str, ends: float) -> socket.socket:
    """A connection to the server, which may still have to start. Raises RuntimeError."""
    while True:
        try:
            return socket.create_connection(host_and_port(address), timeout=5)
        except OSError as error:
            if time.monotonic() > ends:
                raise RuntimeError(
                    f"jax.distributed.initialize found nobody at {address}: {error}. Process 0 has that "
                    "address, and must be started too"
                ) from error
            time.sleep(0.02)


if __name__ == "__main__":
    _fd, _family, _count, _seconds = sys.argv[1:]
    _listener = socket.socket(int(_family), socket.SOCK_STREAM, fileno=int(_fd))
    if os.fork():
        os._exit(0)
    Server(_listener, int(_count), float(_seconds)).run()
