"""Clients that send a request when they have the answer to the last: a backlog in which as many decode as there are clients."""

from __future__ import annotations

from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.errors import BadValue


def waits(out: Outcome, clients: int) -> tuple[float, ...]:
    """Times to first token of a backlog at time 0 that was served `clients` at once: a request is sent when an answer ends, in that order.

    With no clients, all requests were sent at once.
    """
    if any(r.arrive for r in out.requests):
        raise BadValue("clients take requests from a backlog; let all arrive at 0", "requests")
    ends = sorted(out.leave)
    sent = [0.0 if not clients or i < clients else ends[i - clients] for i in range(len(out.first))]
    return tuple(first - at for first, at in zip(out.first, sent, strict=True))
