"""One replica of a serving engine, step by step: who joins, what the step takes, who leaves.

Steps between which nobody joins or leaves are taken together: while a batch stays the same, its contexts grow evenly, so the mean of its
steps is the step in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ironlaw.engine.serving.llm.admission import Admission
from ironlaw.engine.serving.llm.batch import Batch, Job
from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.front import Front
from ironlaw.engine.serving.llm.journal import Journal, Patience
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request, checked
from ironlaw.engine.serving.llm.step_times import Chunks
from ironlaw.errors import BadValue


class Step(Protocol):
    """What a step takes; `StepTable` is one."""

    def seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0, each: int = 1) -> float: ...


def serve(
    requests: Sequence[Request], step: Step, pool_blocks: int, policy: Policy, *, swap: float = 0.0, seed: int = 0, cached: bool = False,
    front: Front | None = None, patience: Patience | None = None,
) -> Outcome:  # fmt: skip
    """`swap`: seconds to move a block to the host or back. `cached`: prompts arrive with their keys and values, computed elsewhere.
    `front`: what requests pass before they reach the replica, and their tokens after it. `patience`: where the run may end sooner."""
    if front is None:
        return Replica(checked(requests), step, pool_blocks, policy, swap, seed, cached, patience).run()
    ready = front.ready([r.arrive for r in checked(requests)])
    out = Replica(
        [r._replace(arrive=at) for r, at in zip(requests, ready, strict=True)], step, pool_blocks, policy, swap, seed, cached, patience
    ).run()
    return replace(
        out, requests=tuple(requests), first=tuple(t + front.latency for t in out.first), leave=tuple(t + front.latency for t in out.leave)
    )


class Replica:
    def __init__(
        self, requests: Sequence[Request], step: Step, total: int, policy: Policy, swap: float, seed: int, cached: bool,
        patience: Patience | None = None,
    ) -> None:  # fmt: skip
        for i, r in enumerate(requests):
            if blocks(r.prompt + r.output, policy.block) > total:
                raise BadValue(
                    f"request {i + 1} holds {r.prompt + r.output:,} tokens at its end, and the cache has room for {total * policy.block:,};"
                    " give it more memory, a narrower cache, or shorter requests",
                    "requests",
                )
        self.step, self.policy, self.seed, self.cached = step, policy, seed, cached
        self.static, self.reserves = policy.scheduling == "static", policy.reserves
        self.batch = Batch(policy.block)
        self.room, self.journal = Admission(total, policy, self.batch, swap), Journal(requests, patience)

    def run(self) -> Outcome:
        room, journal = self.room, self.journal
        arrivals, count = journal.arrivals, len(journal.requests)
        while journal.gone < count and not journal.hopeless:
            if journal.next < count and arrivals[journal.next] <= journal.now:
                for place, r in journal.arrived():
                    room.waiting.append(Job(place, r, r.prompt, r.output, swapped=self.cached))
            if not room.waiting and not room.active:
                journal.wait()
                continue
            if not self.reserves and self.batch.rows:
                room.make_room(journal.now)
            chunks = self._plan()
            if chunks:
                self._mixed(chunks)
            elif self.batch.rows:
                self._decode()
        return Outcome(
            tuple(journal.requests), tuple(journal.first), tuple(journal.leave), tuple(journal.gaps), tuple(journal.moments),
            room.pool.total, room.preempted, room.reused, stays=tuple(journal.stays), hopeless=journal.hopeless,
        )  # fmt: skip

    def _plan(self) -> list[tuple[int, int]]:
        """Which prompt tokens go into the next step: those under way first, then newcomers in the order of their arrival."""
        policy, room = self.policy, self.room
        whole = self.static or not policy.chunked
        left = policy.budget - (0 if whole else policy.reach * self.batch.rows)
        longest = policy.piece or policy.budget
        chunks: list[tuple[int, int]] = []
        for job in room.prompts:
            if left <= 0:
                break
            chunks.append((min(job.left, left, longest), job.done))
            left -= chunks[-1][0]
        if self.static and room.active:
            return chunks
        while room.waiting and len(room.active) < policy.most and (left > 0 or self.static):
            job = room.waiting[0]
            if (whole and not self.static and chunks and job.left > left and not job.swapped) or not room.admit(job):
                break
            room.waiting.popleft()
            self.journal.enter(job)
            if job.swapped:
                self._return(job)
                continue
            room.prompts.append(job)
            count = job.left if whole else min(job.left, left, longest)
            chunks.append((count, job.done))
            left -= count
        return chunks

    def _return(self, job: Job) -> None:
        """Its keys and values come back from the host, or arrive from elsewhere; it decodes from the next step on."""
        since = job.since
        job.done, job.left, job.swapped, job.since = job.left, 0, False, -1.0
        if since >= 0:
            self.room.moving += self.room.swap * job.held
        else:  # computed elsewhere, the first token too
            since = job.request.arrive
            self.journal.first[job.place] = since
            job.out -= 1
        if job.out:
            self.journal.returned.append(since)
            self._join(job)
        else:
            self._finish(job)

    def _mixed(self, chunks: list[tuple[int, int]]) -> None:
        """A step with prompt tokens; decoding goes on beside them, or stands still where prompts are not cut."""
        room = self.room
        batch = self.batch.rows if self.policy.chunked and not self.static else 0
        prompt = ends = 0
        for (count, _), job in zip(chunks, room.prompts, strict=False):  # those at the end may have to wait
            prompt += count
            ends += count == job.left
        seconds = self._seconds(batch, self.batch.contexts if batch else 0.0, chunks, ends) + room.swap_seconds()
        self._pass_time(seconds, 1, batch, prompt)
        done: list[Job] = []
        for (count, _), job in zip(chunks, room.prompts, strict=False):
            job.done, job.left = job.done + count, job.left - count
            if not job.left:
                done.append(job)
        if done:
            room.prompts = [job for job in room.prompts if job.left]
        if batch:
            self._ran(1, seconds)
        else:
            self.journal.stall += seconds if self.batch.live else 0.0
        for job in done:
            self._first_token(job)
        self._clear()

    def _first_token(self, job: Job) -> None:
        self.room.keep_beginning(job)
        self.journal.first_token(job)
        job.out -= 1
        if job.out:
            self._join(job)
        else:
            self._finish(job)

    def _join(self, job: Job) -> None:
        self.journal.decodes(job)
        speculation = self.policy.speculation
        self.batch.join(job, speculation.steps(job.out, self.seed, job.place) if speculation else job.out)

    def _decode(self) -> None:
        """Steps without prompt tokens, as many as pass before someone joins, leaves or needs more room than there is."""
        batch, room, journal, count = self.batch, self.room, self.journal, self.batch.ticks_left()
        if not self.reserves:
            count = min(count, 1 + max(0, (room.pool.room // batch.live - 1)) * room.block)
        moved = room.swap_seconds()
        once = self._seconds(batch.rows, batch.contexts) + moved
        may_join = not self.static and len(room.active) < self.policy.most and not room.waiting
        if may_join and journal.expects:
            count = min(count, max(1, -int(-(journal.arrivals[journal.next] - journal.now) // once)))
        if moved:
            count = 1
        seconds = once if count == 1 else self._seconds(batch.rows, batch.contexts + batch.growth * (count - 1) / 2)
        self._pass_time(seconds * count, count, batch.live, 0)
        self._ran(count, seconds)

    def _seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0) -> float:
        speculation = self.policy.speculation
        if speculation is None or not batch:
            return self.step.seconds(batch, contexts, chunks, ends)
        proposing = speculation.tokens * speculation.draft.seconds(batch, contexts) if speculation.draft else 0.0
        return proposing + self.step.seconds(batch, contexts, chunks, ends, self.policy.reach)

    def _pass_time(self, seconds: float, steps: int, batch: int, prompt: int) -> None:
        self.journal.pass_time(seconds, steps, batch, prompt, self.room.pool.used, len(self.room.waiting))

    def _ran(self, count: int, seconds: float) -> None:
        """`count` steps of decoding are done: tokens came out, the cache grew, some are finished."""
        live = self.batch.live
        self.journal.tokens(count, seconds, live, self.batch.growth - live if self.policy.speculation else 0.0)
        self.room.grow(count)
        for job in self.batch.advance(count, self.static):
            if self.static:
                self.journal.finish(job)  # its row and its blocks stay until the batch is over
                continue
            if not self.reserves:
                job.held = blocks(job.done + job.out, self.room.block) - job.shared
            self._finish(job)
        self._clear()

    def _finish(self, job: Job) -> None:
        self.room.release(job)
        self.journal.empty(job)
        self.journal.finish(job)

    def _clear(self) -> None:
        """A static batch is over when its last request is."""
        if self.static and not self.batch.live and not self.room.prompts:
            for job in self.room.active:
                self.journal.empty(job)
            self.room.release_all()
