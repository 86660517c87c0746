"""One replica of a serving engine, step by step: who joins, what the step takes, who leaves.

Steps between which nobody joins or leaves are taken together: while a batch stays the same, its contexts grow evenly, so the mean of its
steps is the step in the middle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from ironlaw.engine.serving.llm.batch import Batch, Job
from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.load import Request, checked
from ironlaw.engine.serving.llm.outcome import Moment, Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.pool import Pool
from ironlaw.engine.serving.llm.steps import Chunks
from ironlaw.errors import BadValue


class Step(Protocol):
    """What a step takes; `StepTable` is one."""

    def seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0, each: int = 1) -> float: ...


def serve(
    requests: Sequence[Request], step: Step, pool_blocks: int, policy: Policy, *, swap: float = 0.0, seed: int = 0, cached: bool = False
) -> Outcome:
    """`swap`: seconds to move a block to the host or back. `cached`: prompts arrive with their keys and values, computed elsewhere."""
    return _Replica(checked(requests), step, pool_blocks, policy, swap, seed, cached).run()


class _Replica:
    def __init__(
        self, requests: Sequence[Request], step: Step, total: int, policy: Policy, swap: float, seed: int, cached: bool
    ) -> None:  # fmt: skip
        self.requests, self.step, self.policy, self.swap, self.seed, self.cached = requests, step, policy, swap, seed, cached
        self.pool, self.block = Pool(total), policy.block
        for i, r in enumerate(requests):
            if blocks(r.prompt + r.output, self.block) > total:
                raise BadValue(
                    f"request {i + 1} holds {r.prompt + r.output:,} tokens at its end, and the cache has room for {total * self.block:,};"
                    " give it more memory, a narrower cache, or shorter requests",
                    "requests",
                )
        n = len(requests)
        self.arrivals = [r.arrive for r in requests]
        self.first, self.leave = [-1.0] * n, [-1.0] * n
        self.waiting: deque[Job] = deque()
        self.active: list[Job] = []  # in the order in which they were let in
        self.prompts: list[Job] = []  # those of them whose prompt is not done
        self.batch, self.static = Batch(policy.block), policy.scheduling == "static"
        self.now, self.next, self.gone = 0.0, 0, 0
        self.granted = 0  # blocks that were taken for this tick already
        self.stall = 0.0  # what the next gap is longer by: prompts that went first
        self.moving = 0.0  # what the next step is longer by: blocks on their way to the host or back
        self.returned: list[float] = []  # when those were stopped who decode again from the next step on
        self.gaps: list[tuple[float, float]] = []
        self.moments: list[Moment] = []
        self.preempted = self.reused = 0

    def run(self) -> Outcome:
        n = len(self.requests)
        while self.gone < n:
            self._arrive()
            if not self.waiting and not self.active:
                self.now = self.arrivals[self.next]
                continue
            if not self.policy.reserves and self.batch.rows:
                self._make_room()
            chunks = self._plan()
            if chunks:
                self._mixed(chunks)
            elif self.batch.rows:
                self._decode()
        return Outcome(
            tuple(self.requests), tuple(self.first), tuple(self.leave), tuple(self.gaps), tuple(self.moments), self.pool.total,
            self.preempted, self.reused,
        )  # fmt: skip

    def _arrive(self) -> None:
        while self.next < len(self.requests) and self.arrivals[self.next] <= self.now:
            r = self.requests[self.next]
            self.waiting.append(Job(self.next, r, r.prompt, r.output, swapped=self.cached))
            self.next += 1

    # ---- the cache

    def _make_room(self) -> None:
        """A block for each sequence that has filled its last one; the youngest make room where there is none."""
        while self.batch.need - self.granted > self.pool.room:
            self._stop(self.active[-1])
        need = self.batch.need
        if need >= self.granted:
            self.pool.take(need - self.granted)
        else:
            self.pool.give(self.granted - need)
        self.granted = need

    def _stop(self, job: Job) -> None:
        self.active.pop()
        self.preempted += 1
        if job.joined < 0:
            self.prompts.remove(job)
            job.left, job.done = job.left + job.done, 0
            self.pool.give(job.held)
        else:
            tokens = self.batch.stop(job)
            own = blocks(tokens, self.block) - job.shared
            self.pool.give(own)
            job.since, job.swapped = self.now, self.policy.preemption == "swap"
            job.left, job.done = (tokens, 0) if job.swapped else (tokens + 1, 0)
            self.moving += self.swap * own if job.swapped else 0.0
        self._forget_prefix(job)
        self.waiting.appendleft(job)

    def _forget_prefix(self, job: Job) -> None:
        if job.prefix:
            self.pool.leave(job.prefix)
            job.prefix, job.shared = "", 0

    def _admit(self, job: Job) -> bool:
        """Whether there is room for a request's prompt; then it is let in."""
        usable = min(job.request.shared, job.left - 1) // self.block if self.policy.sharing and not job.swapped else 0
        name = job.request.prefix
        if usable and name in self.pool.prefixes and self.pool.prefixes[name].blocks <= usable:
            shared = self.pool.use(name)
        else:
            shared, name = 0, ""
        whole = job.left + (job.out if self.policy.reserves else 0)
        at_once = int(job.swapped and not self.policy.reserves and not job.left % self.block)  # it decodes in the next step already
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

    # ---- a step

    def _plan(self) -> list[tuple[int, int]]:
        """Which prompt tokens go into the next step: those under way first, then newcomers in the order of their arrival."""
        policy = self.policy
        whole = self.static or not policy.chunked
        left = policy.budget - (0 if whole else policy.reach * self.batch.rows)
        chunks = [(min(job.left, left), job.done) for job in self.prompts[:1] if left > 0]  # only the last let in is ever unfinished
        left -= sum(count for count, _ in chunks)
        if self.static and self.active:
            return chunks
        while self.waiting and len(self.active) < policy.most and (left > 0 or self.static):
            job = self.waiting[0]
            if (whole and not self.static and chunks and job.left > left and not job.swapped) or not self._admit(job):
                break
            self.waiting.popleft()
            if job.swapped:
                self._return(job)
                continue
            self.prompts.append(job)
            count = job.left if whole else min(job.left, left)
            chunks.append((count, job.done))
            left -= count
        return chunks

    def _return(self, job: Job) -> None:
        """Its keys and values come back from the host, or arrive from elsewhere; it decodes from the next step on."""
        since = job.since
        job.done, job.left, job.swapped, job.since = job.left, 0, False, -1.0
        if since >= 0:
            self.moving += self.swap * job.held
            self.returned.append(since)
        else:  # computed elsewhere, the first token too
            self.first[job.place] = job.request.arrive
            job.out -= 1
            self.returned.append(job.request.arrive)
        if job.out:
            self._join(job)
        else:
            self.returned.pop()
            self.active.remove(job)
            self._finish(job, self.now)

    def _mixed(self, chunks: list[tuple[int, int]]) -> None:
        """A step with prompt tokens; decoding goes on beside them, or stands still where prompts are not cut."""
        batch = self.batch.rows if self.policy.chunked and not self.static else 0
        ends = sum(count == job.left for (count, _), job in zip(chunks, self.prompts, strict=True))
        seconds = self._seconds(batch, self.batch.contexts if batch else 0.0, chunks, ends) + self._moved()
        self._record(seconds, 1, batch, sum(count for count, _ in chunks))
        finished: list[Job] = []
        for (count, _), job in zip(chunks, self.prompts, strict=True):
            job.done, job.left = job.done + count, job.left - count
            if not job.left:
                finished.append(job)
        self.prompts = [job for job in self.prompts if job.left]
        if batch:
            self._ran(1, seconds)
        else:
            self.stall += seconds if self.batch.live else 0.0
        for job in finished:
            self._first_token(job)
        if self.static:
            self._clear()

    def _first_token(self, job: Job) -> None:
        if self.policy.sharing and not job.prefix and job.request.prefix and job.request.prefix not in self.pool.prefixes:
            usable = min(job.request.shared, job.done - 1) // self.block
            if usable:
                self.pool.keep(job.request.prefix, usable)
                job.prefix, job.shared, job.held = job.request.prefix, usable, job.held - usable
        if job.since >= 0:
            self.gaps.append((self.now - job.since, 1.0))
            job.since = -1.0
        else:
            self.first[job.place] = self.now
        job.out -= 1
        if job.out:
            self._join(job)
        else:
            self.active.remove(job)
            self._finish(job, self.now)

    def _join(self, job: Job) -> None:
        speculation = self.policy.speculation
        self.batch.join(job, speculation.steps(job.out, self.seed, job.place) if speculation else job.out)

    def _decode(self) -> None:
        """Steps without prompt tokens, as many as pass before someone joins, leaves or needs more room than there is."""
        batch, count = self.batch, self.batch.ticks_left()
        if not self.policy.reserves:
            count = min(count, 1 + max(0, (self.pool.room // batch.live - 1)) * self.block)
        moved = self._moved()
        once = self._seconds(batch.rows, batch.contexts) + moved
        may_join = not self.static and len(self.active) < self.policy.most and not self.waiting
        if may_join and self.next < len(self.requests):
            count = min(count, max(1, -int(-(self.arrivals[self.next] - self.now) // once)))
        if moved:
            count = 1
        seconds = once if count == 1 else self._seconds(batch.rows, batch.contexts + batch.growth * (count - 1) / 2)
        self._record(seconds * count, count, batch.live, 0)
        self._ran(count, seconds)

    def _moved(self) -> float:
        seconds, self.moving = self.moving, 0.0
        return seconds

    def _seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0) -> float:
        speculation = self.policy.speculation
        if speculation is None or not batch:
            return self.step.seconds(batch, contexts, chunks, ends)
        proposing = speculation.tokens * speculation.draft.seconds(batch, contexts) if speculation.draft else 0.0
        return proposing + self.step.seconds(batch, contexts, chunks, ends, self.policy.reach)

    def _record(self, seconds: float, steps: int, batch: int, prompt: int) -> None:
        """Time passes. Who arrives meanwhile is inside for the rest of it."""
        end = self.now + seconds
        later = self.arrivals[self.next : bisect_right(self.arrivals, end, self.next)]
        inside = self.next - self.gone + (sum(end - at for at in later) / seconds if later and seconds else 0.0)
        self.moments.append(Moment(self.now, seconds, steps, batch, prompt, self.pool.used, len(self.waiting), inside))
        self.now = end

    def _ran(self, count: int, seconds: float) -> None:
        """`count` steps of decoding are done: tokens came out, the cache grew, some are finished."""
        live, end_of_first = self.batch.live, self.now - seconds * (count - 1)
        self.gaps += [(end_of_first - since, 1.0) for since in self.returned]
        if live > len(self.returned):
            self.gaps.append((seconds + self.stall, float(live - len(self.returned))))
        if count > 1:
            self.gaps.append((seconds, float(live * (count - 1))))
        if self.policy.speculation:
            self.gaps.append((0.0, (self.batch.growth - live) * count))  # tokens beyond one a step come together with it
        self.stall, self.returned, self.granted = 0.0, [], 0
        if not self.policy.reserves:
            self.pool.take(self.batch.needs_after(count - 1))  # `_make_room` took those of the first
        for job in self.batch.advance(count, self.static):
            self._done(job)
        if self.static:
            self._clear()

    def _done(self, job: Job) -> None:
        if self.static:
            self.leave[job.place] = self.now
            self.gone += 1
            return
        if not self.policy.reserves:
            job.held = blocks(job.done + job.out, self.block) - job.shared
        self.active.remove(job)
        self._finish(job, self.now)

    def _clear(self) -> None:
        """A static batch is over when its last request is."""
        if self.batch.live or self.prompts:
            return
        for job in self.active:
            self.pool.give(job.held)
            self._forget_prefix(job)
        self.active = []
        self.batch.clear()

    def _finish(self, job: Job, at: float) -> None:
        """It leaves, and its blocks are free."""
        self.leave[job.place] = at
        self.gone += 1
        self.pool.give(job.held)
        self._forget_prefix(job)
