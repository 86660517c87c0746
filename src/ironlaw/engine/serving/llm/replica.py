"""One replica of a serving engine, step by step: who joins, what the step takes, who leaves.

Steps between which nobody joins or leaves are taken together: while a batch stays the same, its contexts grow evenly, so the mean of its
steps is the step in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ironlaw.engine.serving.llm import usual_run
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

    def run(ready: Sequence[Request]) -> Outcome:
        if cached or not usual_run.is_usual(policy):
            return Replica(ready, step, pool_blocks, policy, swap, seed, cached, patience).run()
        check_room(ready, pool_blocks * policy.block)
        return usual_run.run(ready, step.seconds, pool_blocks, policy, patience)

    if front is None:
        return run(checked(requests))
    ready = front.ready([r.arrive for r in checked(requests)])
    out = run([r._replace(arrive=at) for r, at in zip(requests, ready, strict=True)])
    return replace(
        out, requests=tuple(requests), first=tuple(t + front.latency for t in out.first), leave=tuple(t + front.latency for t in out.leave)
    )


def check_room(requests: Sequence[Request], room: int) -> None:
    """Refuses what the cache, with room for so many tokens, can't hold even when it is alone."""
    if max([r.prompt + r.output for r in requests]) > room:
        i, r = next((i, r) for i, r in enumerate(requests) if r.prompt + r.output > room)
        raise BadValue(
            f"request {i + 1} holds {r.prompt + r.output:,} tokens at its end, and the cache has room for {room:,};"
            " give it more memory, a narrower cache, or shorter requests",
            "requests",
        )


class Replica:
    def __init__(
        self, requests: Sequence[Request], step: Step, total: int, policy: Policy, swap: float, seed: int, cached: bool,
        patience: Patience | None = None,
    ) -> None:  # fmt: skip
        check_room(requests, total * policy.block)
        self.step, self.policy, self.seed, self.cached = step, policy, seed, cached
        self._seconds: Callable[..., float] = step.seconds if policy.speculation is None else self._speculated
        self.whole = policy.scheduling == "static" or not policy.chunked
        self.static, self.reserves = policy.scheduling == "static", policy.reserves
        self.batch = Batch(policy.block)
        self.room, self.journal = Admission(total, policy, self.batch, swap), Journal(requests, patience)

    def run(self) -> Outcome:
        room, journal, batch, waiting, reserves = self.room, self.journal, self.batch, self.room.waiting, self.reserves
        count = len(journal.requests)
        while journal.gone < count and not journal.hopeless:
            if journal.upcoming <= journal.now:
                for place, r in journal.arrived():
                    waiting.append(Job(place, r, r.prompt, r.output, swapped=self.cached))
            if not waiting and not room.active:
                journal.wait()
                continue
            if batch.rows and not reserves:
                room.make_room(journal.now)
            chunks = self._plan() if room.prompts or waiting else None
            if chunks:
                self._mixed(chunks)
            elif batch.rows:
                self._decode()
        return Outcome(
            tuple(journal.requests), tuple(journal.first), tuple(journal.leave), tuple(journal.gaps), tuple(journal.moments),
            room.pool.total, room.preempted, room.reused, stays=tuple(journal.stays), hopeless=journal.hopeless,
        )  # fmt: skip

    def _plan(self) -> list[tuple[int, int]]:
        """Which prompt tokens go into the next step: those under way first, then newcomers in the order of their arrival."""
        policy, room, whole = self.policy, self.room, self.whole
        left = policy.budget - (0 if whole else policy.reach * self.batch.rows)
        longest = policy.piece or policy.budget
        chunks: list[tuple[int, int]] = []
        for job in room.prompts:
            if left <= 0:
                break
            count = min(job.left, left, longest)
            chunks.append((count, job.done))
            left -= count
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
        batch = 0 if self.whole else self.batch.rows
        prompt = 0
        done: list[Job] = []
        for (count, _), job in zip(chunks, room.prompts, strict=False):  # those at the end may have to wait
            prompt += count
            job.done, job.left = job.done + count, job.left - count
            if not job.left:
                done.append(job)
        seconds = self._seconds(batch, self.batch.contexts if batch else 0.0, chunks, len(done))
        if room.moving:
            seconds += room.swap_seconds()
        self.journal.pass_time(seconds, 1, batch, prompt, room.pool.total - room.pool.free, len(room.waiting))
        if done:
            room.prompts = [job for job in room.prompts if job.left]
        if batch:
            self._ran(1, seconds)
        else:
            self.journal.stall += seconds if self.batch.live else 0.0
        for job in done:
            self._first_token(job)
        if self.static:
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
        moved = room.swap_seconds() if room.moving else 0.0
        once = self._seconds(batch.rows, batch.contexts) + moved
        if count > 1 and journal.upcoming < math.inf and not room.waiting and not self.static and len(room.active) < self.policy.most:
            count = min(count, max(1, -int(-(journal.upcoming - journal.now) // once)))
        if moved:
            count = 1
        seconds = once if count == 1 else self._seconds(batch.rows, batch.contexts + batch.growth * (count - 1) / 2)
        journal.pass_time(seconds * count, count, batch.live, 0, room.pool.total - room.pool.free, len(room.waiting))
        self._ran(count, seconds)

    def _speculated(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0) -> float:
        speculation = self.policy.speculation
        if speculation is None or not batch:
            return self.step.seconds(batch, contexts, chunks, ends)
        proposing = speculation.tokens * speculation.draft.seconds(batch, contexts) if speculation.draft else 0.0
        return proposing + self.step.seconds(batch, contexts, chunks, ends, self.policy.reach)

    def _ran(self, count: int, seconds: float) -> None:
        """`count` steps of decoding are done: tokens came out, the cache grew, some are finished."""
        live = self.batch.live
        self.journal.tokens(count, seconds, live, self.batch.growth - live if self.policy.speculation else 0.0)
        self.room.grow(count)
        finished = self.batch.advance(count, self.static)
        if not finished:
            return
        for job in finished:
            if self.static:
                self.journal.finish(job)  # its row and its blocks stay until the batch is over
                continue
            if not self.reserves:
                job.held = blocks(job.done + job.out, self.room.block) - job.shared
            self._finish(job)
        if self.static:
            self._clear()

    def _finish(self, job: Job) -> None:
        self.room.release(job)
        self.journal.empty(job)
        self.journal.finish(job)

    def _clear(self) -> None:
        """A static batch is over when its last request is."""
        if not self.batch.live and not self.room.prompts:
            for job in self.room.active:
                self.journal.empty(job)
            self.room.release_all()
