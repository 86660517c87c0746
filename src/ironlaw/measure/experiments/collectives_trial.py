"""A real all-reduce: processes that add up their buffers over TCP on this machine, step by step as the engine's schedules say.

Free, the loopback is one wire that all share. Paced, each rank sends and receives at a fixed rate, as if it had a wire of its own;
α and β are then fitted to two algorithms, and the others are predicted.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from ironlaw.engine.cluster.alpha_beta import Timed, Wire, fit, mean_error
from ironlaw.engine.cluster.schedules import Schedule, steps
from ironlaw.errors import BadValue
from ironlaw.measure.clock import Clock, Timing, halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row

FREE, PACED = "free", "paced"
SIZES = {  # bytes of one rank's buffer, by how many ranks take part
    FREE: {2: (1 << 10,), 4: (1 << 10, 1 << 20), 8: (1 << 10, 1 << 22)},
    PACED: {4: (1 << 18, 1 << 21), 8: (1 << 21,)},
}
ALGORITHMS = {"ring": "ring", "binomial": "binomial tree", "recursive_doubling": "recursive doubling", "star": "star"}
FITTED = ("ring", "binomial")
RATE = 50e6  # bytes per second and direction of a paced rank
ROUNDS = 4  # timed, after one that is not
WIDTH = 4  # bytes of one number
PIECE = 1 << 16  # bytes handed to the kernel at once


class Pace:
    """When a rank may send and take in again: bytes so far over the rate, each direction for itself."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self.rate, self.clock = rate, clock
        self.free = {"out": 0.0, "into": 0.0}

    def wait(self, way: str) -> float:
        """Seconds until the next piece."""
        return max(0.0, self.free[way] - self.clock.now())

    def spend(self, way: str, count: int) -> None:
        self.free[way] = max(self.free[way], self.clock.now()) + count / self.rate


class Rank:
    """One process: a socket to every other rank, and its own buffer."""

    def __init__(self, rank: int, peers: dict[int, socket.socket]) -> None:
        self.rank, self.peers = rank, peers
        self.carried: list[int] = []  # bytes of each step, the busier way

    def all_reduce(self, schedule: Schedule, buffer: Any, pace: Pace | None = None) -> None:
        """All-reduces in place; the buffer is as long as a multiple of the schedule's parts."""
        import numpy as np

        parts = np.split(buffer, schedule.parts)
        for step in schedule.steps:
            out: dict[socket.socket, memoryview] = {}
            arriving: list[tuple[Any, Any, bool]] = []
            into: dict[socket.socket, memoryview] = {}
            for send in step:  # at most one between two ranks in each direction
                if send.source == self.rank:
                    out[self.peers[send.target]] = np.concatenate([parts[i] for i in send.parts]).data.cast("B")
                elif send.target == self.rank:
                    taken = np.empty(len(send.parts) * parts[0].size, buffer.dtype)
                    into[self.peers[send.source]] = taken.data.cast("B")
                    arriving.append((taken, send.parts, send.add))
            self.carried.append(max(sum(map(len, lines.values())) for lines in (out, into)))
            exchange(out, into, pace)
            for taken, places, add in arriving:
                for piece, i in zip(np.split(taken, len(places)), places, strict=True):
                    parts[i][:] = parts[i] + piece if add else piece


def exchange(out: dict[socket.socket, memoryview], into: dict[socket.socket, memoryview], pace: Pace | None = None) -> None:
    """Send and receive at the same time, until both are done: two ranks that only sent would wait for each other."""
    while out or into:
        waits = {"out": pace.wait("out") if pace and out else 0.0, "into": pace.wait("into") if pace and into else 0.0}
        sending, taking = (list(lines) if not waits[way] else [] for way, lines in (("out", out), ("into", into)))
        later = [seconds for seconds in waits.values() if seconds]
        readable, writable, _ = select.select(taking, sending, [], min(later) if later else None)
        for line in readable:
            count = line.recv_into(into[line], min(len(into[line]), PIECE))
            if not count:
                raise EOFError("another rank is gone")
            _advance(into, line, count, pace, "into")
        for line in writable:
            _advance(out, line, line.send(out[line][:PIECE]), pace, "out")


def _advance(lines: dict[socket.socket, memoryview], line: socket.socket, count: int, pace: Pace | None, way: str) -> None:
    if pace:
        pace.spend(way, count)
    lines[line] = lines[line][count:]
    if not lines[line]:
        del lines[line]


def _serve(calls: Any, rank: int, ranks: int) -> None:
    """A worker process: joins the others, then times (algorithm, ranks, bytes, rate or 0, rounds) until the one that asks is gone."""
    import numpy as np

    clock = Clock()
    with ExitStack() as held:
        me = Rank(rank, join(calls, rank, ranks, held))
        while True:
            try:
                algorithm, count, size, rate, rounds = calls.recv()
            except (EOFError, OSError):
                return
            schedule = steps(algorithm, count)
            buffer = np.empty(elements(schedule, size), np.float32)
            seconds = []
            for _ in range(rounds + 1):
                buffer.fill(rank + 1)
                me.all_reduce(steps("binomial", count), np.zeros(1, np.float32))  # all are here
                me.carried = []
                begin = clock.now()
                me.all_reduce(schedule, buffer, Pace(rate, clock) if rate else None)
                seconds.append(clock.now() - begin)
            calls.send(Answer(seconds[1:], float(buffer.min()), float(buffer.max()), me.carried))


class Answer(NamedTuple):
    """What one rank says: seconds of each round, its smallest and largest sum, and bytes of each step, the busier way."""

    seconds: list[float]
    low: float
    high: float
    carried: list[int]


def elements(schedule: Schedule, size: int) -> int:
    """Numbers of a buffer of about `size` bytes that cuts into the schedule's parts."""
    return -(-size // WIDTH // schedule.parts) * schedule.parts


def join(calls: Any, rank: int, ranks: int, held: ExitStack) -> dict[int, socket.socket]:
    """Listen, say where, and connect: the higher rank calls the lower."""
    door = held.enter_context(socket.create_server(("127.0.0.1", 0)))
    calls.send(door.getsockname()[1])
    ports = calls.recv()
    peers: dict[int, socket.socket] = {}
    for other in range(rank):
        line = held.enter_context(socket.create_connection(("127.0.0.1", ports[other])))
        line.sendall(bytes([rank]))
        peers[other] = line
    while len(peers) < ranks - 1:
        line = held.enter_context(door.accept()[0])
        peers[line.recv(1)[0]] = line
    for line in peers.values():
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setblocking(False)  # a send takes what there is room for
    return peers


class Ranks:
    """The processes, started once and joined. `serve`: what each does, given its line, its rank and their number."""

    def __init__(self, count: int, held: ExitStack, serve: Callable[[Any, int, int], None] = _serve) -> None:
        import multiprocessing  # not in a browser, which shows what is measured elsewhere

        spawn = multiprocessing.get_context("spawn")  # a fork would copy the library's own threads in whatever state they are
        self.lines: list[Any] = []
        for rank in range(count):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=serve, args=(theirs, rank, count), daemon=True)
            process.start()
            theirs.close()
            held.callback(process.join)
            held.callback(mine.close)  # before the join: it is what ends the rank
            self.lines.append(mine)
        ports = [line.recv() for line in self.lines]
        for line in self.lines:
            line.send(ports)

    def time(self, algorithm: str, count: int, size: int, rate: float, rounds: int) -> tuple[list[float], int]:
        """(seconds of each round, until the last of `count` ranks had the sum; bytes of the busiest rank, step by step), sums checked."""
        lines = self.lines[:count]
        for line in lines:
            line.send((algorithm, count, size, rate, rounds))
        answers: list[Answer] = [line.recv() for line in lines]
        expected = count * (count + 1) / 2
        if any((answer.low, answer.high) != (expected, expected) for answer in answers):
            raise BadValue(f"{algorithm} over {count} ranks did not give the sum {expected:g} on each; please report it")
        seconds = [max(times) for times in zip(*(answer.seconds for answer in answers), strict=True)]
        return seconds, sum(max(each) for each in zip(*(answer.carried for answer in answers), strict=True))


def rows(bench: Bench) -> Iterator[Draft]:
    cases = [
        (f"{ALGORITHMS[name]}, {way}", (way, name, count, size))
        for way, by_ranks in SIZES.items() for count, sizes in by_ranks.items() for size in sizes for name in ALGORITHMS
    ]  # fmt: skip
    with ExitStack() as held:
        bench.progress(0.0, "starting the ranks")
        ranks = Ranks(max(max(by_ranks) for by_ranks in SIZES.values()), held)
        for way, name, count, size in bench.each(cases):
            halt(bench.stop)
            seconds, carried = ranks.time(name, count, size, RATE if way == PACED else 0.0, ROUNDS)
            params = {"algorithm": name, "ranks": count, "bytes": size, "steps": len(steps(name, count).steps), "busiest_bytes": carried}
            title = f"{ALGORITHMS[name]}, {count} ranks, {way}, {size >> 10:,} KiB"
            yield case_row(way, title, params, Timing.of(seconds).row())


def smallest() -> tuple[dict[str, Any], ...]:
    """What identifies the free rows of most ranks and fewest bytes, one of each algorithm: there only steps count."""
    most = max(SIZES[FREE])
    return tuple({"algorithm": name, "ranks": most, "bytes": min(SIZES[FREE][most])} for name in ALGORITHMS)


def paced() -> tuple[dict[str, Any], ...]:
    """What identifies each paced row."""
    return tuple(
        {"name": PACED, "algorithm": name, "ranks": count, "bytes": size}
        for count, sizes in SIZES[PACED].items() for size in sizes for name in ALGORITHMS
    )  # fmt: skip


def compare(measured: Sequence[Draft]) -> tuple[Wire, float, float]:
    """α and β of paced ranks from two algorithms; their mean error, and that of the others, which were predicted."""
    timed = [
        (row["params"]["algorithm"], Timed(row["params"]["steps"], row["params"]["busiest_bytes"], row["wall_s"]))
        for row in measured
        if row["name"] == PACED
    ]
    seen = [row for name, row in timed if name in FITTED]
    wire = fit(seen)
    return wire, mean_error(wire, seen), mean_error(wire, [row for name, row in timed if name not in FITTED])
