"""The sequences that decode together. A tick is one step of theirs; what each holds follows from the tick at which it joined."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from ironlaw.engine.serving.llm.requests import Request


@dataclass(slots=True, eq=False)
class Job:
    """A request on its way through."""

    place: int
    request: Request
    left: int  # tokens that are still to be put into the cache before the next one comes out
    out: int  # tokens still to come
    done: int = 0  # tokens in the cache, of those
    held: int = 0  # blocks of its own when it began to decode
    prefix: str = ""
    shared: int = 0  # blocks that it shares
    joined: int = -1  # the tick at which it began to decode; -1: not yet
    last: int = 0  # the tick at which it is done
    since: float = -1.0  # when it was stopped; -1: it was not
    swapped: bool = False
    stopped: float = 0.0  # when it last had to make room


class Batch:
    def __init__(self, block: int) -> None:
        self.block, self.ticks = block, 0
        self.rows = 0  # sequences in a step: in a static batch also those that are done
        self.live = 0  # those that get tokens
        self.lasts = 0  # the sum of their last ticks
        self.contexts, self.growth = 0.0, 0.0  # cached tokens of all rows, and how many a tick adds
        self.ends: list[tuple[int, int, Job]] = []  # a heap; entries of those who were stopped since are stale
        self.needs = [0] * block  # sequences that need a block at a tick, by tick modulo block

    @property
    def need(self) -> int:
        """Blocks for this tick: of those who have filled their last one."""
        return self.needs[self.ticks % self.block]

    @property
    def to_come(self) -> int:
        """Ticks that are left of all sequences."""
        return self.lasts - self.live * self.ticks

    def needs_after(self, count: int) -> int:
        """Blocks for `count` ticks after this one."""
        turns, rest = divmod(count, self.block)
        begin = (self.ticks + 1) % self.block
        return turns * self.live + sum(self.needs[begin : begin + rest]) + sum(self.needs[: max(0, begin + rest - self.block)])

    def tokens(self, job: Job) -> int:
        """A sequence's tokens in the cache, where each tick adds one."""
        return job.done + self.ticks - job.joined

    def join(self, job: Job, ticks: int) -> None:
        """A job joins at the next tick, for `ticks` ticks."""
        job.joined, job.last = self.ticks, self.ticks + ticks
        self.rows += 1
        self.live += 1
        self.lasts += job.last
        self.contexts += job.done
        self.growth += job.out / ticks
        self.needs[(job.joined - job.done) % self.block] += 1
        heappush(self.ends, (job.last, job.place, job))

    def stop(self, job: Job) -> int:
        """Before it is done; the tokens that it had in the cache."""
        tokens = self.tokens(job)
        self.live -= 1
        self.lasts -= job.last
        self.growth -= 1.0
        self._leave(job, tokens)
        job.out, job.joined, job.last = job.last - self.ticks, -1, -1
        return tokens

    def ticks_left(self) -> int:
        """Ticks until the first job is done."""
        while self.ends[0][2].last != self.ends[0][0]:
            heappop(self.ends)
        return self.ends[0][0] - self.ticks

    def advance(self, count: int, static: bool) -> list[Job]:
        """`count` ticks later: who is done. In a static batch they keep their row."""
        self.ticks += count
        self.contexts += self.growth * count
        finished = []
        while self.ends and self.ends[0][0] <= self.ticks:
            _, _, job = heappop(self.ends)
            if job.last != self.ticks or job.joined < 0:
                continue
            self.live -= 1
            self.lasts -= job.last
            self.growth -= job.out / (job.last - job.joined)
            if not static:
                self._leave(job, job.done + job.out)
            job.joined = -1
            finished.append(job)
        return finished

    def _leave(self, job: Job, tokens: int) -> None:
        self.rows -= 1
        self.contexts -= tokens
        self.needs[(job.joined - job.done) % self.block] -= 1

    def clear(self) -> None:
        self.rows, self.contexts, self.growth, self.needs = 0, 0.0, 0.0, [0] * self.block
