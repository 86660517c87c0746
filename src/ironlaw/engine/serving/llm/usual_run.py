"""A replica under the policy that engines have by default, with few calls: continuous batches, and who makes room is computed again.

A search for the fewest devices spends most of its time here. What `Replica` does by parts is done here in one place, in the same order and
with the same arithmetic; a test compares the two to the last bit. What else a policy may say (static batches, swapping, shared beginnings,
proposed tokens, prompts that were computed elsewhere) is `Replica`'s.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from ironlaw.engine.serving.llm.batch import Job
from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.outcome import Moment, Outcome, Stay
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request

_moment = tuple.__new__  # what `Moment(…)` calls, without the call


def is_usual(policy: Policy) -> bool:
    return policy.scheduling == "continuous" and policy.preemption == "recompute" and not policy.sharing and policy.speculation is None


def run(requests: Sequence[Request], seconds_of: Callable[..., float], total: int, policy: Policy, patience: Patience | None) -> Outcome:
    """`seconds_of` a step; `total` blocks of the cache."""
    return UsualRun(requests, seconds_of, total, policy, patience).run()


class UsualRun:
    __slots__ = (  # beyond thirty attributes, those of a dictionary are slow to find
        "active", "arrivals", "arrived", "block", "contexts", "ends", "first", "free", "gaps", "gone", "granted", "hopeless",
        "keeps", "lasts", "late", "leave", "longest", "moments", "most", "most_late", "most_wide", "needs", "now", "opened",
        "policy", "preempted", "prompts", "requests", "reserves", "rows", "seconds_of", "stall", "stays", "ticks", "total",
        "upcoming", "wait", "waiting", "whole", "wide", "widest",
    )  # fmt: skip

    def __init__(
        self, requests: Sequence[Request], seconds_of: Callable[..., float], total: int, policy: Policy, patience: Patience | None
    ) -> None:  # fmt: skip
        self.requests, self.seconds_of, self.total, self.policy = requests, seconds_of, total, policy
        self.block, self.reserves, self.whole, self.most = policy.block, policy.reserves, not policy.chunked, policy.most
        self.keeps, self.longest = 0.0 if policy.reserves else policy.kept, policy.piece or policy.budget
        self.wait, self.most_late, self.widest, self.most_wide, _ = patience or Patience(math.inf, len(requests))
        self.arrivals = [r.arrive for r in requests]
        self.first, self.leave = [-1.0] * len(requests), [-1.0] * len(requests)
        self.gaps: list[tuple[float, float]] = []
        self.moments: list[Moment] = []
        self.stays: list[Stay] = []
        self.opened: dict[int, Stay] = {}
        self.waiting: deque[Job] = deque()
        self.active: dict[int, Job] = {}  # in the order in which they were let in
        self.prompts: list[Job] = []  # those of them whose prompt is not done
        self.ends: list[
            tuple[int, int, Job]
        ] = []  # who decodes, by the tick at which it is done; entries of those who were stopped are stale
        self.needs = [0] * policy.block  # of those who decode: how many need a block at a tick, by tick modulo block
        self.now, self.arrived, self.gone, self.upcoming = 0.0, 0, 0, self.arrivals[0] if requests else math.inf
        self.free, self.granted, self.ticks, self.rows, self.lasts, self.contexts = total, 0, 0, 0, 0, 0.0
        self.stall, self.late, self.wide, self.preempted, self.hopeless = 0.0, 0, 0.0, 0, False

    def run(self) -> Outcome:
        count, waiting, active = len(self.requests), self.waiting, self.active
        while self.gone < count and not self.hopeless:
            if self.upcoming <= self.now:
                self._arrive()
            if not waiting and not active:
                self.now = self.upcoming
                continue
            if self.rows and not self.reserves and self.needs[self.ticks % self.block] != self.granted:
                self._make_room()
            chunks = self._plan() if self.prompts or waiting else None
            if chunks:
                self._mixed(chunks)
            elif self.rows:
                self._decode()
        return Outcome(
            tuple(self.requests), tuple(self.first), tuple(self.leave), tuple(self.gaps), tuple(self.moments), self.total, self.preempted,
            stays=tuple(self.stays), hopeless=self.hopeless,
        )  # fmt: skip

    def _arrive(self) -> None:
        begin, self.arrived = self.arrived, bisect_right(self.arrivals, self.now, self.arrived)
        self.upcoming = self.arrivals[self.arrived] if self.arrived < len(self.arrivals) else math.inf
        for place in range(begin, self.arrived):
            r = self.requests[place]
            self.waiting.append(Job(place, r, r.prompt, r.output))

    def _make_room(self) -> None:
        """A block for each sequence that has filled its last one; the youngest make room where there is none."""
        need = self.needs[self.ticks % self.block]
        while need - self.granted > self.free:
            self._stop(self.active.popitem()[1])
            need = self.needs[self.ticks % self.block]
        self.free -= need - self.granted
        self.granted = need

    def _stop(self, job: Job) -> None:
        self.preempted += 1
        job.stopped = self.now
        if job.joined < 0:
            self.prompts.remove(job)
            job.left, job.done = job.left + job.done, 0
            self.free += job.held
        else:
            tokens = job.done + self.ticks - job.joined
            self._leaves(job, tokens)
            job.out, job.joined, job.last = job.last - self.ticks, -1, -1
            self.free += -(-tokens // self.block)
            job.since, job.left, job.done = self.now, tokens + 1, 0
        self.waiting.appendleft(job)

    def _leaves(self, job: Job, tokens: int) -> None:
        """One with so many tokens in the cache decodes no more."""
        self.rows -= 1
        self.lasts -= job.last
        self.contexts -= tokens
        self.needs[(job.joined - job.done) % self.block] -= 1

    def _plan(self) -> list[tuple[int, int]]:
        """Which prompt tokens go into the next step: those under way first, then newcomers in the order of their arrival."""
        longest, waiting = self.longest, self.waiting
        left = self.policy.budget if self.whole else self.policy.budget - self.rows
        chunks: list[tuple[int, int]] = []
        for job in self.prompts:
            if left <= 0:
                break
            count = min(job.left, left, longest)
            chunks.append((count, job.done))
            left -= count
        while waiting and left > 0 and len(self.active) < self.most:
            job = waiting[0]
            if (self.whole and chunks and job.left > left) or not self._admit(job):
                break
            count = job.left if self.whole else min(job.left, left, longest)
            chunks.append((count, 0))
            left -= count
        return chunks

    def _admit(self, job: Job) -> bool:
        """Whether there is room for the prompt of the first who waits; then it is let in."""
        if self.keeps and self.active:
            promised = sum([one.out for one in self.prompts]) + self.keeps * (self.lasts - self.rows * self.ticks)
            if job.left + job.out + promised > self.free * self.block:
                return False
        held = -(-(job.left + (job.out if self.reserves else 0)) // self.block)
        if held > self.free:
            return False
        self.free -= held
        job.held, job.done, place = held, 0, job.place
        self.waiting.popleft()
        self.active[place] = job
        if place in self.opened:
            self.opened[place].end = job.stopped
        self.opened[place] = stay = Stay(place, self.now, held, job.left)
        self.stays.append(stay)
        self.prompts.append(job)
        return True

    def _mixed(self, chunks: list[tuple[int, int]]) -> None:
        """A step with prompt tokens; decoding goes on beside them, or stands still where prompts are not cut."""
        batch, prompt = 0 if self.whole else self.rows, 0
        done: list[Job] = []
        for (count, _), job in zip(chunks, self.prompts, strict=False):  # those at the end may have to wait
            prompt += count
            job.done += count
            job.left -= count
            if not job.left:
                done.append(job)
        seconds = self.seconds_of(batch, self.contexts if batch else 0.0, chunks, len(done))
        self._pass(seconds, 1, batch, prompt)
        if batch:
            self._ran(1, seconds)
        else:
            self.stall += seconds if self.rows else 0.0
        if done:
            self.prompts = [job for job in self.prompts if job.left]
            for job in done:
                self._first_token(job)

    def _decode(self) -> None:
        """Steps without prompt tokens, as many as pass before someone joins, leaves or needs more room than there is."""
        ends, rows, contexts = self.ends, self.rows, self.contexts
        while ends[0][2].last != ends[0][0]:
            heappop(ends)
        steps = ends[0][0] - self.ticks
        if not self.reserves:
            steps = min(steps, 1 + max(0, self.free // rows - 1) * self.block)
        seconds = self.seconds_of(rows, contexts)
        if steps > 1 and self.upcoming < math.inf and not self.waiting and len(self.active) < self.most:
            steps = min(steps, max(1, -int(-(self.upcoming - self.now) // seconds)))
        if steps > 1:
            seconds = self.seconds_of(rows, contexts + float(rows) * (steps - 1) / 2)
        self._pass(seconds * steps, steps, rows, 0)
        self._ran(steps, seconds)

    def _pass(self, taken: float, steps: int, batch: int, prompt: int) -> None:
        """A stretch of steps. Who arrives meanwhile is inside for the rest of it."""
        now, inside = self.now, float(self.arrived - self.gone)
        end = now + taken
        if self.upcoming <= end and taken:
            inside += sum([end - at for at in self.arrivals[self.arrived : bisect_right(self.arrivals, end, self.arrived)]]) / taken
        self.moments.append(_moment(Moment, (now, taken, steps, batch, prompt, self.total - self.free, len(self.waiting), inside)))
        self.now = end

    def _ran(self, steps: int, seconds: float) -> None:
        """So many steps of decoding are done: tokens came out, the cache grew, some are finished."""
        rows, gap = self.rows, seconds + self.stall
        self.stall = 0.0
        self.gaps.append((gap, float(rows)))
        if gap > self.widest:
            self.wide += rows
        self.granted = 0
        if steps > 1:
            self._more(steps - 1, seconds)
        self.hopeless = self.hopeless or self.wide > self.most_wide
        self.ticks += steps
        self.contexts += rows * steps
        ends, ticks = self.ends, self.ticks
        while ends and ends[0][0] <= ticks:
            job = heappop(ends)[2]
            if job.last != ticks or job.joined < 0:
                continue
            tokens = job.done + job.out
            self._leaves(job, tokens)
            job.joined = -1
            self._finish(job, job.held if self.reserves else -(-tokens // self.block))

    def _more(self, steps: int, seconds: float) -> None:
        """Steps after a first one, and blocks for them."""
        rows, needs = self.rows, self.needs
        self.gaps.append((seconds, float(rows * steps)))
        if seconds > self.widest:
            self.wide += rows * steps
        if not self.reserves:
            turns, rest = divmod(steps, self.block)
            begin = (self.ticks + 1) % self.block
            more = turns * rows + sum(needs[begin : begin + rest]) + sum(needs[: max(0, begin + rest - self.block)])
            if more <= self.free:
                self.free -= more

    def _first_token(self, job: Job) -> None:
        """Or, of one that was stopped, the next."""
        place, now = job.place, self.now
        if job.since >= 0:
            self.gaps.append((now - job.since, 1.0))
            if now - job.since > self.widest:
                self.wide += 1.0
            self.hopeless = self.hopeless or self.wide > self.most_wide
            job.since = -1.0
        else:
            self.first[place] = now
            self.late += now - self.arrivals[place] > self.wait
            self.hopeless = self.hopeless or self.late > self.most_late
        job.out -= 1
        if not job.out:
            self._finish(job, job.held)
            return
        self.opened[place].decode = now
        job.joined, job.last = self.ticks, self.ticks + job.out
        self.rows += 1
        self.lasts += job.last
        self.contexts += job.done
        self.needs[(self.ticks - job.done) % self.block] += 1
        heappush(self.ends, (job.last, place, job))

    def _finish(self, job: Job, held: int) -> None:
        del self.active[job.place]
        self.free += held
        self.opened.pop(job.place).end = self.leave[job.place] = self.now
        self.gone += 1
