"""The staircase of a machine: the same bytes copied in the cache, in memory, to another process by three ways, and to the disk.

A message to another process has arrived when its answer of one byte is back. Files have no name, so none is left behind.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from ironlaw import home
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row

CACHE, MEMORY, SHARED, PIPE, TCP, DISK = "cache", "memory", "shared", "pipe", "tcp", "disk"
# from the fastest step to the slowest: (what it is called, bytes of the message)
STEPS: dict[str, tuple[str, int]] = {
    CACHE: ("copy in the cache", 1 << 15), MEMORY: ("copy in memory", 1 << 26), SHARED: ("shared memory, to another process", 1 << 24),
    PIPE: ("pipe, to another process", 1 << 24), TCP: ("TCP on this machine", 1 << 24), DISK: ("disk, written and synced", 1 << 24),
}  # fmt: skip
SMALL = 1 << 10  # bytes of a message that is nearly all start
BETWEEN = (SHARED, PIPE, TCP)
DONE = b"."


def _take(calls: Any, shared: Any, pipe: Any, port: int) -> None:
    """The other process: takes in (way, bytes) until the one that asks is gone, and answers when all of it is in its own buffer."""
    import numpy as np

    whole = np.frombuffer(shared, np.uint8)
    buffer = np.empty(whole.size, np.uint8)
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                way, size = calls.recv()
                if way == SHARED:
                    buffer[:size] = whole[:size]
                elif way == PIPE:
                    pipe.recv_bytes_into(buffer)
                elif way == TCP:
                    _fill(line, buffer[:size].data)
                calls.send_bytes(DONE)
                if way == "":  # asked what it has
                    calls.send(bytes(buffer[:size]))
            except (EOFError, OSError):
                return


def _fill(line: socket.socket, into: memoryview) -> None:
    while into:
        count = line.recv_into(into)
        if not count:
            raise EOFError("the sender is gone")
        into = into[count:]


class Neighbour:
    """Another process, joined by shared memory, a pipe and a TCP line."""

    def __init__(self, size: int, held: ExitStack) -> None:
        import multiprocessing  # not in a browser, which shows what is measured elsewhere

        import numpy as np

        spawn = multiprocessing.get_context("spawn")  # a fork would copy the library's own threads in whatever state they are
        shared = spawn.RawArray("B", size)  # in a file without a name: gone with the last process that has it
        self.whole = np.frombuffer(shared, np.uint8)
        door = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.calls, theirs = spawn.Pipe()
        end, self.pipe = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_take, args=(theirs, shared, end, door.getsockname()[1]), daemon=True)
        process.start()
        theirs.close()
        end.close()
        held.callback(process.join)
        held.callback(self.pipe.close)
        held.callback(self.calls.close)  # before the join: it is what ends the other
        door.settimeout(60)  # a neighbour that can't start is an error, not a wait without end
        self.line = held.enter_context(door.accept()[0])
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line.settimeout(None)

    def send(self, way: str, message: Any) -> None:
        """Sends the message and waits until the other has all of it."""
        if way == SHARED:
            self.whole[: message.size] = message
        self.calls.send((way, message.size))
        if way == PIPE:
            self.pipe.send_bytes(message.data)
        elif way == TCP:
            self.line.sendall(message.data)
        self.calls.recv_bytes()

    def has(self, size: int) -> bytes:
        """The first bytes that the other took in last."""
        self.calls.send(("", size))
        self.calls.recv_bytes()
        return bytes(self.calls.recv())


def call(way: str, size: int, neighbour: Neighbour, file: int) -> Callable[[], object]:
    """What moves `size` bytes one step."""
    import numpy as np

    message = np.arange(size, dtype=np.uint32).astype(np.uint8)
    if way in (CACHE, MEMORY):
        target = np.empty_like(message)
        return lambda: np.copyto(target, message)
    if way == DISK:
        return lambda: store(file, message.data)
    return lambda: neighbour.send(way, message)


def store(file: int, message: memoryview) -> None:
    """Written from the beginning, and on the disk when it returns."""
    os.lseek(file, 0, os.SEEK_SET)
    while message:
        message = message[os.write(file, message) :]
    os.fsync(file)


def sizes(way: str) -> tuple[int, ...]:
    """The sizes of the messages of a step; a small one is in the cache wherever it is copied."""
    return (STEPS[way][1],) if way == MEMORY else (SMALL, STEPS[way][1])


def rows(bench: Bench) -> Iterator[Draft]:
    cases = [(STEPS[way][0], (way, size)) for way in STEPS for size in sizes(way)]
    with ExitStack() as held:
        bench.progress(0.0, "starting the other process")
        neighbour = Neighbour(max(STEPS[way][1] for way in BETWEEN), held)
        # a disk that keeps things: the folder for temporary files may be memory
        file = held.enter_context(tempfile.TemporaryFile(dir=home.path(), buffering=0)).fileno()
        for way, size in bench.each(cases):
            timing = bench.time(call(way, size, neighbour, file), least=5, warmup=1, batch=None if way in (CACHE, MEMORY) else 1)
            yield case_row(way, f"{STEPS[way][0]}, {size >> 10:,} KiB", {"bytes": size}, timing.row())
