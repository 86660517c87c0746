"""Who is let into a replica, and who has to make room: the cache's blocks, beginnings that are shared, and who is stopped."""

from __future__ import annotations

from collections import deque

from ironlaw.engine.serving.llm.batch import Batch, Job
from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.pool import Pool


class Admission:
    """`swap`: seconds to move a block to the host or back."""

    def __init__(self, total: int, policy: Policy, batch: Batch, swap: float) -> None:
        self.pool, self.policy, self.batch, self.swap = Pool(total), policy, batch, swap
        self.block, self.reserves, self.kept = policy.block, policy.reserves, 0.0 if policy.reserves else policy.kept
        self.waiting: deque[Job] = deque()
        self.active: list[Job] = []  # in the order in which they were let in
        self.prompts: list[Job] = []  # those of them whose prompt is not done
        self.granted = 0  # blocks that were taken for this tick already
        self.moving = 0.0  # what the next step is longer by: blocks on their way to the host or back
        self.preempted = self.reused = 0

    def make_room(self, now: float) -> None:
        """A block for each sequence that has filled its last one; the youngest make room where there is none."""
        need = self.batch.need
        if need == self.granted:
            return
        while need - self.granted > self.pool.room:
            self._stop(self.active[-1], now)
            need = self.batch.need
        if need >= self.granted:
            self.pool.take(need - self.granted)
        else:
            self.pool.give(self.granted - need)
        self.granted = need

    def _stop(self, job: Job, now: float) -> None:
        self.active.pop()
        self.preempted += 1
        job.stopped = now
        if job.joined < 0:
            self.prompts.remove(job)
            job.left, job.done = job.left + job.done, 0
            self.pool.give(job.held)
        else:
            tokens = self.batch.stop(job)
            own = blocks(tokens, self.block) - job.shared
            self.pool.give(own)
            job.since, job.swapped = now, self.policy.preemption == "swap"
            job.left, job.done = (tokens, 0) if job.swapped else (tokens + 1, 0)
            self.moving += self.swap * own if job.swapped else 0.0
        self._forget_prefix(job)
        self.waiting.appendleft(job)

    def admit(self, job: Job) -> bool:
        """Whether there is room for a request's prompt; then it is let in."""
        if self.kept and self.active and job.left + job.out + self._promised() > self.pool.room * self.block:
            return False
        usable = min(job.request.shared, job.left - 1) // self.block if self.policy.sharing and not job.swapped else 0
        name = job.request.prefix
        if usable and name in self.pool.prefixes and self.pool.prefixes[name].blocks <= usable:
            shared = self.pool.use(name)
        else:
            shared, name = 0, ""
        whole = job.left + (job.out if self.reserves else 0)
        at_once = int(job.swapped and not self.reserves and not job.left % self.block)  # it decodes in the next step already
        if not self.pool.take(blocks(whole, self.block) - shared + at_once):
            if name:
                self.pool.leave(name)
            return False
        self.granted += at_once
        job.held, job.prefix, job.shared = blocks(whole, self.block) - shared, name, shared
        job.done, job.left = shared * self.block, job.left - shared * self.block
        self.reused += job.done
        self.active.append(job)
        return True

    def _promised(self) -> float:
        """Tokens of the cache that a newcomer leaves to the others: whole answers of those who came just now, and some of the rest."""
        return sum(job.out for job in self.prompts) + self.kept * self.batch.to_come

    def keep_beginning(self, job: Job) -> None:
        """A prompt is done: its common beginning is there for others from now on."""
        request = job.request
        if self.policy.sharing and not job.prefix and request.prefix and request.prefix not in self.pool.prefixes:
            usable = min(request.shared, job.done - 1) // self.block
            if usable:
                self.pool.keep(request.prefix, usable)
                job.prefix, job.shared, job.held = request.prefix, usable, job.held - usable

    def grow(self, count: int) -> None:
        """Blocks for `count` ticks of decoding, of which `make_room` took those of the first."""
        self.granted = 0
        if count > 1 and not self.reserves:
            self.pool.take(self.batch.needs_after(count - 1))

    def release(self, job: Job) -> None:
        """Frees the blocks of a request that leaves."""
        self.active.remove(job)
        self._give_back(job)

    def release_all(self) -> None:
        """A static batch is over."""
        for job in self.active:
            self._give_back(job)
        self.active = []
        self.batch.clear()

    def _give_back(self, job: Job) -> None:
        self.pool.give(job.held)
        self._forget_prefix(job)

    def _forget_prefix(self, job: Job) -> None:
        if job.prefix:
            self.pool.leave(job.prefix)
            job.prefix, job.shared = "", 0

    def swap_seconds(self) -> float:
        """What the next step is longer by; asked once."""
        seconds, self.moving = self.moving, 0.0
        return seconds
