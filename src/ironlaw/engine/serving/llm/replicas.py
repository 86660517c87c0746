"""Several replicas side by side, and prompts computed by other devices than those that decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.llm.cache import whole
from ironlaw.engine.serving.llm.front import Front
from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.outcome import Outcome, joined
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.replica import Step, serve
from ironlaw.engine.serving.llm.requests import Request, checked


def side_by_side(
    requests: Sequence[Request], step: Step, pool_blocks: int, policy: Policy, replicas: int, *, swap: float = 0.0, seed: int = 0,
    cached: bool = False, front: Front | None = None, patience: Patience | None = None,
) -> Outcome:  # fmt: skip
    """Requests are dealt to the replicas in turn; `pool_blocks` is the cache of each. `patience`: for all of them together."""
    count = min(whole("replicas", replicas), len(requests))
    places = [range(k, len(requests), count) for k in range(count)]
    parts: list[Outcome] = []
    for k in range(count):
        mine = requests[k::count]
        parts.append(serve(mine, step, pool_blocks, policy, swap=swap, seed=seed + k, cached=cached, front=front, patience=patience))
        if parts[-1].hopeless:
            return parts[-1]
        if patience is not None and patience.joint:
            patience = patience.after(*parts[-1].beyond(patience.seconds, patience.gap))
    outcome = parts[0] if count == 1 else joined(parts, places)
    return outcome if count == replicas else replace(outcome, replicas=replicas, blocks=replicas * pool_blocks)


def first_tokens(
    requests: Sequence[Request], step: Step, pool_blocks: int, policy: Policy, prompts: int, seed: int = 0, front: Front | None = None,
    patience: Patience | None = None,
) -> Outcome:  # fmt: skip
    """`prompts` replicas that compute prompts and the first token, and nothing else."""
    short = [r._replace(output=1) for r in checked(requests)]
    return side_by_side(short, step, pool_blocks, policy, prompts, seed=seed, front=front, patience=patience)


def apart(
    requests: Sequence[Request], step: Step, pool_blocks: int, policy: Policy, *, prompts: int, decoders: int, move: float, seed: int = 0,
    swap: float = 0.0, front: Front | None = None, patience: Patience | None = None,
) -> Outcome:  # fmt: skip
    """`prompts` replicas compute prompts and the first token, `decoders` the rest; `move`: seconds to move a token's cache."""
    check_positive("move", move, zero=True)
    begun = first_tokens(requests, step, pool_blocks, policy, prompts, seed, front, patience)
    if begun.hopeless:
        return begun
    ready = sorted((first + move * r.prompt, i) for i, (r, first) in enumerate(zip(requests, begun.first, strict=True)))
    moved = [requests[i]._replace(arrive=at) for at, i in ready]
    gaps = patience._replace(late=len(requests)) if patience is not None and patience.joint else None
    rest = side_by_side(moved, step, pool_blocks, policy, decoders, swap=swap, seed=seed, cached=True, patience=gaps)
    if rest.hopeless:
        return rest
    leave = [0.0] * len(requests)
    for (_, i), at in zip(ready, rest.leave, strict=True):
        leave[i] = at if requests[i].output > 1 else begun.leave[i]
    return Outcome(
        tuple(requests), begun.first, tuple(leave), rest.gaps, tuple(sorted((*begun.moments, *rest.moments))), begun.blocks + rest.blocks,
        rest.preempted, begun.reused, prompts + decoders,
    )  # fmt: skip
