"""A replica under the policy that engines have by default, in one loop: continuous batches, and the youngest computed again.

A search for the fewest devices spends most of its time here. What `Replica` does by parts is done in place, in the same order and with the
same arithmetic; a test compares the two to the last bit. What else a policy may say (static batches, swapping, shared beginnings, proposed
tokens, prompts that were computed elsewhere) is `Replica`'s.
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


def run(requests: Sequence[Request], seconds_of: Callable[..., float], total: int, policy: Policy, patience: Patience | None) -> Outcome:  # noqa: C901  one loop, because calls would take most of its time
    """`seconds_of` a step; `total` blocks of the cache."""
    count, block, reserves, whole = len(requests), policy.block, policy.reserves, not policy.chunked
    keeps, budget, most, longest = 0.0 if reserves else policy.kept, policy.budget, policy.most, policy.piece or policy.budget
    wait, most_late, widest, most_wide = math.inf, math.inf, math.inf, math.inf
    if patience is not None:
        wait, most_late, widest, most_wide = patience.seconds, patience.late, patience.gap, patience.wide
    arrivals = [r.arrive for r in requests]
    first, leave = [-1.0] * count, [-1.0] * count
    gaps: list[tuple[float, float]] = []
    moments: list[Moment] = []
    stays: list[Stay] = []
    opened: dict[int, Stay] = {}
    waiting: deque[Job] = deque()
    active: dict[int, Job] = {}  # in the order in which they were let in
    prompts: list[Job] = []  # those of them whose prompt is not done
    ends: list[tuple[int, int, Job]] = []  # of those who decode, by the tick at which they are done; those who were stopped are stale
    needs = [0] * block  # of those who decode: how many need a block at a tick, by tick modulo block
    now, arrived, gone, upcoming = 0.0, 0, 0, arrivals[0] if requests else math.inf
    free, granted, ticks, rows, lasts, contexts = total, 0, 0, 0, 0, 0.0
    stall, late, wide, preempted, hopeless = 0.0, 0, 0.0, 0, False
    while gone < count and not hopeless:
        if upcoming <= now:
            begin, arrived = arrived, bisect_right(arrivals, now, arrived)
            upcoming = arrivals[arrived] if arrived < count else math.inf
            for place in range(begin, arrived):
                r = requests[place]
                waiting.append(Job(place, r, r.prompt, r.output))
        if not waiting and not active:
            now = upcoming
            continue
        if rows and not reserves and (need := needs[ticks % block]) != granted:
            while need - granted > free:  # the youngest makes room
                job = active.popitem()[1]
                preempted += 1
                job.stopped = now
                if job.joined < 0:
                    prompts.remove(job)
                    job.left, job.done = job.left + job.done, 0
                    free += job.held
                else:
                    tokens = job.done + ticks - job.joined
                    rows, lasts, contexts = rows - 1, lasts - job.last, contexts - tokens
                    needs[(job.joined - job.done) % block] -= 1
                    job.out, job.joined, job.last = job.last - ticks, -1, -1
                    free += -(-tokens // block)
                    job.since, job.left, job.done = now, tokens + 1, 0
                waiting.appendleft(job)
                need = needs[ticks % block]
            free -= need - granted
            granted = need
        chunks: list[tuple[int, int]] = []
        if prompts or waiting:
            left = budget if whole else budget - rows
            for job in prompts:
                if left <= 0:
                    break
                piece = min(job.left, left, longest)
                chunks.append((piece, job.done))
                left -= piece
            while waiting and left > 0 and len(active) < most:
                job = waiting[0]
                if whole and chunks and job.left > left:
                    break
                if keeps and active:
                    promised = sum([one.out for one in prompts]) + keeps * (lasts - rows * ticks)
                    if job.left + job.out + promised > free * block:
                        break
                held = -(-(job.left + (job.out if reserves else 0)) // block)
                if held > free:
                    break
                free -= held
                job.held, job.done = held, 0
                waiting.popleft()
                place = job.place
                active[place] = job
                if place in opened:
                    opened[place].end = job.stopped
                opened[place] = stay = Stay(place, now, held, job.left)
                stays.append(stay)
                prompts.append(job)
                piece = job.left if whole else min(job.left, left, longest)
                chunks.append((piece, 0))
                left -= piece
        steps, batch, prompt = 1, rows, 0
        done: list[Job] = []
        if chunks:
            if whole:
                batch = 0
            for (piece, _), job in zip(chunks, prompts, strict=False):  # those at the end may have to wait
                prompt += piece
                job.done += piece
                job.left -= piece
                if not job.left:
                    done.append(job)
            taken = seconds = seconds_of(batch, contexts if batch else 0.0, chunks, len(done))
        elif rows:  # nothing but decoding, until someone joins, leaves or needs more room than there is
            while ends[0][2].last != ends[0][0]:
                heappop(ends)
            steps = ends[0][0] - ticks
            if not reserves:
                steps = min(steps, 1 + max(0, free // rows - 1) * block)
            seconds = seconds_of(rows, contexts)
            if steps > 1:
                if upcoming < math.inf and not waiting and len(active) < most:
                    steps = min(steps, max(1, -int(-(upcoming - now) // seconds)))
                if steps > 1:
                    seconds = seconds_of(rows, contexts + float(rows) * (steps - 1) / 2)
            taken = seconds * steps
        else:
            continue
        end, inside = now + taken, float(arrived - gone)
        if upcoming <= end and taken:
            inside += sum([end - at for at in arrivals[arrived : bisect_right(arrivals, end, arrived)]]) / taken
        moments.append(_moment(Moment, (now, taken, steps, batch, prompt, total - free, len(waiting), inside)))
        now = end
        if done:
            prompts = [job for job in prompts if job.left]
        if not batch:
            stall += seconds if rows else 0.0
        else:
            gap = seconds + stall
            stall = 0.0
            gaps.append((gap, float(rows)))
            if gap > widest:
                wide += rows
            granted = 0
            if steps > 1:
                gaps.append((seconds, float(rows * (steps - 1))))
                if seconds > widest:
                    wide += rows * (steps - 1)
                if not reserves:
                    turns, rest = divmod(steps - 1, block)
                    begin = (ticks + 1) % block
                    more = turns * rows + sum(needs[begin : begin + rest]) + sum(needs[: max(0, begin + rest - block)])
                    if more <= free:
                        free -= more
            hopeless = hopeless or wide > most_wide
            ticks += steps
            contexts += rows * steps
            while ends and ends[0][0] <= ticks:
                job = heappop(ends)[2]
                if job.last != ticks or job.joined < 0:
                    continue
                tokens = job.done + job.out
                rows, lasts, contexts = rows - 1, lasts - job.last, contexts - tokens
                needs[(job.joined - job.done) % block] -= 1
                job.joined = -1
                free += job.held if reserves else -(-tokens // block)
                del active[job.place]
                opened.pop(job.place).end = leave[job.place] = now
                gone += 1
        for job in done:
            place = job.place
            if job.since >= 0:  # it was stopped: this is its next token
                gaps.append((now - job.since, 1.0))
                if now - job.since > widest:
                    wide += 1.0
                    hopeless = hopeless or wide > most_wide
                job.since = -1.0
            else:
                first[place] = now
                if now - arrivals[place] > wait:
                    late += 1
                    hopeless = hopeless or late > most_late
            job.out -= 1
            if job.out:
                opened[place].decode = now
                job.joined, job.last = ticks, ticks + job.out
                rows, lasts, contexts = rows + 1, lasts + job.last, contexts + job.done
                needs[(ticks - job.done) % block] += 1
                heappush(ends, (job.last, place, job))
            else:
                del active[place]
                free += job.held
                opened.pop(place).end = leave[place] = now
                gone += 1
    return Outcome(
        tuple(requests), tuple(first), tuple(leave), tuple(gaps), tuple(moments), total, preempted, stays=tuple(stays), hopeless=hopeless,
    )  # fmt: skip
