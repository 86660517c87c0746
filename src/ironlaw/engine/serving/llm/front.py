"""What stands before a replica: one process takes requests in, and their prompts become tokens there.

All that are there at once share it, so a burst of n requests reaches the device together, n times a request's time after it came. Requests
that come one by one hardly meet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive


@dataclass(frozen=True, slots=True)
class Front:
    """`each`: seconds of the process for a request; `latency`: what a request's tokens take beside it and beside all steps."""

    each: float = 0.0
    latency: float = 0.0

    def __post_init__(self) -> None:
        check_positive("each", self.each, zero=True)
        check_positive("latency", self.latency, zero=True)

    def ready(self, arrivals: Sequence[float]) -> list[float]:
        """When each is ready for the device: a server that is shared evenly by all who are there, each with the same work."""
        if not self.each:
            return list(arrivals)
        done: list[float] = []
        inside: deque[float] = deque()  # how much work each had to see done when it came, in the order of coming
        now, seen = 0.0, 0.0  # work that each one inside has had, since the beginning
        for at in (*arrivals, float("inf")):
            while inside:
                leave = now + (inside[0] - seen) * len(inside)
                if leave > at:
                    break
                seen, now = inside.popleft(), leave
                done.append(now)
            if at == float("inf"):
                break
            seen += (at - now) / len(inside) if inside else 0.0
            now = at
            inside.append(seen + self.each)
        return done
