"""The clock of a replica, and what it writes down: who came, when tokens did, how far apart they were, every stretch of steps."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ironlaw.engine.serving.llm.batch import Job
from ironlaw.engine.serving.llm.outcome import Moment, Stay
from ironlaw.engine.serving.llm.requests import Request

_moment = tuple.__new__  # what `Moment(…)` calls, without the call


class Patience(NamedTuple):
    """A run that is only to say whether tokens come in time ends once too many do not."""

    seconds: float  # until a first token
    late: int  # requests that may wait longer
    gap: float = math.inf  # seconds between two tokens
    wide: float = math.inf  # gaps that may be longer
    joint: bool = False  # replicas are counted together: what one used up, the next has not

    def after(self, late: int, wide: float) -> Patience:
        """What is left of it for the next replica."""
        return self._replace(late=self.late - late, wide=self.wide - wide)


class Journal:
    def __init__(self, requests: Sequence[Request], patience: Patience | None = None) -> None:
        self.requests = requests
        self.patience, self.late = patience, 0
        self.most_late = patience.late if patience else math.inf
        self.widest, self.most_wide = (patience.gap, patience.wide) if patience else (math.inf, math.inf)
        self.wide = 0.0  # gaps longer than the widest that counts
        self.arrivals = [r.arrive for r in requests]
        self.first, self.leave = [-1.0] * len(requests), [-1.0] * len(requests)
        self.now, self.next, self.gone = 0.0, 0, 0
        self.upcoming = self.arrivals[0] if requests else math.inf  # when the next request arrives
        self.hopeless = False  # too many first tokens were late already, or too many gaps too long
        self.stall = 0.0  # what the next gap is longer by: prompts that went first
        self.returned: list[float] = []  # when those were stopped who decode again from the next step on
        self.gaps: list[tuple[float, float]] = []
        self.moments: list[Moment] = []
        self.stays: list[Stay] = []
        self._open: dict[int, Stay] = {}

    def wait(self) -> None:
        """Moves the clock to the next arrival."""
        self.now = self.upcoming

    def arrived(self) -> list[tuple[int, Request]]:
        """The requests that arrived since the last call, by their index."""
        begin, self.next = self.next, bisect_right(self.arrivals, self.now, self.next)
        self.upcoming = self.arrivals[self.next] if self.next < len(self.arrivals) else math.inf
        return [(i, self.requests[i]) for i in range(begin, self.next)]

    def pass_time(self, seconds: float, steps: int, batch: int, prompt: int, used: int, waiting: int) -> None:
        """A stretch of steps. Who arrives meanwhile is inside for the rest of it."""
        end, inside = self.now + seconds, float(self.next - self.gone)
        if self.upcoming <= end and seconds:
            later = self.arrivals[self.next : bisect_right(self.arrivals, end, self.next)]
            inside += sum(end - at for at in later) / seconds
        self.moments.append(_moment(Moment, (self.now, seconds, steps, batch, prompt, used, waiting, inside)))
        self.now = end

    def tokens(self, count: int, seconds: float, live: int, ahead: float) -> None:
        """`count` steps of `seconds` gave each of `live` sequences a token, and `ahead` more per step that came with those."""
        others = live
        if self.returned:
            end_of_first = self.now - seconds * (count - 1)
            for since in self.returned:
                self._gap(end_of_first - since, 1.0)
            others, self.returned = live - len(self.returned), []
        if others > 0:
            self._gap(seconds + self.stall, float(others))
        if count > 1:
            self._gap(seconds, float(live * (count - 1)))
        if ahead:
            self.gaps.append((0.0, ahead * count))
        self.stall = 0.0

    def _gap(self, seconds: float, count: float) -> None:
        self.gaps.append((seconds, count))
        if seconds > self.widest:
            self.wide += count
            self.hopeless = self.hopeless or self.wide > self.most_wide

    def enter(self, job: Job) -> None:
        """Notes that a request was admitted, with the blocks it holds now."""
        if job.place in self._open:
            self._open[job.place].end = job.stopped
        stay = Stay(job.place, self.now, job.held + job.shared, job.done + job.left)
        self._open[job.place] = stay
        self.stays.append(stay)

    def decodes(self, job: Job) -> None:
        self._open[job.place].decode = self.now

    def empty(self, job: Job) -> None:
        """Notes that a request's blocks are free."""
        self._open.pop(job.place).end = self.now

    def first_token(self, job: Job) -> None:
        """Or, of one that was stopped, the next."""
        if job.since >= 0:
            self._gap(self.now - job.since, 1.0)
            job.since = -1.0
        else:
            self.first[job.place] = self.now
            if self.patience is not None and self.now - self.arrivals[job.place] > self.patience.seconds:
                self.late += 1
                self.hopeless = self.hopeless or self.late > self.most_late

    def finish(self, job: Job) -> None:
        self.leave[job.place] = self.now
        self.gone += 1
