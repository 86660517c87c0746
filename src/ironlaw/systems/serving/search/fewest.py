"""The fewest replicas of a deployment that meet an SLO: over tokens per step, proposed tokens, and separate pools for prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Answer, fewest
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.systems.serving.deployments import Deployment
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.units import show

BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
TILE, FINEST = 16, 64  # tokens that smaller budgets are multiples of, and the smallest
WIDE_TILE = 128  # that larger ones are
FEW_REPLICAS, FEW_SEQUENCES = 2, 4  # beyond so many replicas pools apart are tried; with so few sequences per step, smaller steps
TYPICAL = 32  # sequences that decode beside a prompt where its pieces are chosen
SAMPLE = 4  # replicas that stand for all while the fewest are looked for
LUCKY = 6  # times that more than the sample says are tried with all replicas, each time a sixteenth more
LONGER = 2  # budgets tried beyond the limit of a step where only a request's mean is promised
ALONE = 200  # requests that are tried one at a time
LASTING = 5.0  # mean times of a request for which requests must keep coming, before a run says whether an SLO is met
LONGER_RUNS, MARGIN = 3, 1.3  # how often a run is made longer, and by how much more than seems to be needed
ALL = 16  # replicas that are simulated at most; more are like them


def best_policy(asked: Demand, rig: Deployment, most: int) -> Choice | None:
    """The fewest replicas, up to `most`; None where none meets the SLO. Of equal numbers, that with the shortest requests."""
    best: Choice | None = None
    for length in asked.lengths or (0,):
        for pieces in asked.pieces:
            choice = _of_length(asked, rig, length, pieces, most if best is None else best.answer.replicas)
            if choice is not None and (best is None or _rank(choice) < _rank(best)):
                best = choice
            if best is not None and best.answer.replicas == 1:
                break
    return best


def _of_length(asked: Demand, rig: Deployment, length: int, pieces: bool, most: int) -> Choice | None:
    """The largest steps that do, unless smaller ones need fewer replicas; and pools apart, unless a replica or two do.

    Where replicas were added until hardly anybody decodes beside a prompt, the step is too long, not the load too large.
    """
    best: Choice | None = None
    for budget in budgets(asked, rig):
        policy = _policy(asked, rig, length, budget, pieces)
        most = most if best is None else best.answer.replicas - 1
        best = (_pools if asked.apart else _together)(asked, rig, policy, most) or best
    if asked.budget or asked.apart or asked.prompts == "whole" or (best is not None and best.answer.replicas <= FEW_REPLICAS):
        return best
    if pieces and best is not None and best.answer.outcome.batch < FEW_SEQUENCES:
        each = best.policy.budget // rig.layout.ways
        for budget in sorted({max(FINEST, each * part // 16 // TILE * TILE) for part in (13, 11, 8)}, reverse=True):
            best = _together(asked, rig, _policy(asked, rig, length, budget, pieces), best.answer.replicas - 1) or best
    if not length and asked.scheduling == "continuous":
        wide = _policy(asked, rig, length, BUDGETS[-1], pieces)
        best = _pools(asked, rig, wide, most if best is None else best.answer.replicas - 1) or best
    return best


def _rank(choice: Choice) -> tuple[int, float]:
    return choice.answer.replicas, choice.answer.outcome.mean_time


def policies(asked: Demand, rig: Deployment) -> Iterator[Policy]:
    """As asked; where nothing was said, tokens per step by what the SLO allows, and proposed tokens from few to many."""
    for length in asked.lengths or (0,):
        for pieces in asked.pieces:
            for budget in budgets(asked, rig):
                yield _policy(asked, rig, length, budget, pieces)


def _policy(asked: Demand, rig: Deployment, length: int, budget: int, pieces: bool) -> Policy:
    """`budget` and the sequences are of each part of a replica, where its stages or groups have batches of their own."""
    ways, most = rig.layout.ways, asked.most_sequences(rig.hardware)
    fitting = most if asked.scheduling == "static" else max(1, min(most, budget // (1 + length)))
    return Policy(
        asked.scheduling, ways * fitting, ways * budget, pieces, preemption=asked.preemption,
        sharing=bool(asked.prefix), speculation=rig.speculation(length, asked.acceptance or 0.0) if length else None,
        piece=budget if ways > 1 else 0, kept=asked.server.kept,
    )  # fmt: skip


def budgets(asked: Demand, rig: Deployment) -> tuple[int, ...]:
    """Tokens per step: as asked; the most there are where nobody decodes beside a prompt; or the most with which a step beside a typical
    batch meets the SLO, by bisection, and fewer."""
    if asked.budget:
        return (asked.budget,)
    if asked.apart:
        return BUDGETS[-1:]
    context = TYPICAL * (asked.about["prompt"] + asked.about["output"] / 2)
    ways = rig.layout.ways

    def does(budget: int) -> bool:
        return rig.table.seconds(TYPICAL * ways, context * ways, [(budget - TYPICAL, 0)], 1) <= asked.promise.step

    able = [b for b in BUDGETS if does(b)]
    if math.isinf(asked.promise.tbt):  # one long step among many short ones hardly moves a mean
        able = [*able, *BUDGETS[len(able) : len(able) + LONGER]]
        return tuple(reversed(able[-2 - LONGER :]))
    if not able:
        most = _most(does, FINEST, BUDGETS[0], TILE)
        return tuple(dict.fromkeys((most, max(FINEST, 3 * most // 4 // TILE * TILE))))
    between = () if able[-1] == BUDGETS[-1] else (_most(does, able[-1], 2 * able[-1], WIDE_TILE),)
    return tuple(dict.fromkeys((*between, *reversed(able[-2:]))))


def _most(does: Callable[[int], bool], low: int, high: int, tile: int) -> int:
    """The most tokens, in whole tiles, that do, where `low` does, perhaps, and `high` does not: by bisection."""
    low, high = low // tile, high // tile
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if does(middle * tile) else (low, middle)
    return low * tile


def _together(asked: Demand, rig: Deployment, policy: Policy, most: int) -> Choice | None:
    """The fewest by a sample of replicas, which are dealt requests alike; then all of them, and more where the sample was lucky."""

    def run(count: int, only_whether: bool = True) -> Outcome:
        return _some(asked, rig, policy, count, SAMPLE, only_whether=only_whether)

    least = _least(asked, rig, policy.budget)
    answer = fewest(run, asked.promise, most, least, partial(run, only_whether=False)) if most else None
    for _ in range(LUCKY):
        if answer is None or answer.replicas <= SAMPLE:
            break
        full = _some(asked, rig, policy, answer.replicas, ALL)
        broken = asked.promise.binds(full)
        if not broken:
            return Choice(rig, policy, replace(answer, outcome=full))
        more = answer.replicas + -(-answer.replicas // 16)
        answer = Answer(min(more, most), full, broken) if answer.replicas < most else None
    return None if answer is None or answer.replicas > SAMPLE else Choice(rig, policy, answer)


def _some(
    asked: Demand, rig: Deployment, policy: Policy, replicas: int, most: int, factor: float = 1.0, whole: bool = False,
    only_whether: bool = False,
) -> Outcome:  # fmt: skip
    """What at most so many of the replicas do, each with its share of all requests. Unless the `whole` run is wanted, it ends once too many
    first tokens are late; where `only_whether` it meets the SLO counts, once too many gaps are too long as well."""
    few = min(replicas, most)

    def run(requests: Sequence[Request]) -> Outcome:
        mine = requests if few == replicas else [r for i, r in enumerate(requests) if i % replicas < few]
        patience = None if whole else _patience(asked, mine, policy, only_whether)
        return rig.run(mine, policy, few, asked.seed, patience)

    return _lasting(asked, replicas, run, factor)


def _patience(asked: Demand, requests: Sequence[Request], policy: Policy, only_whether: bool = False) -> Patience:
    """With one more late first token than these, or one more long gap, the SLO's percentile is missed."""
    promise = asked.promise
    late = len(requests) - max(1, math.ceil(promise.share * len(requests) - 1e-9))
    if not only_whether or policy.speculation is not None:
        return Patience(promise.ttft, late)
    return Patience(promise.ttft, late, promise.tbt, (1 - promise.share) * sum(r.output - 1 for r in requests) + 1e-6, joint=True)


def _lasting(asked: Demand, replicas: int, run: Callable[[Sequence[Request]], Outcome], factor: float = 1.0) -> Outcome:
    """A run that is over before its first requests are answered says nothing of a steady state: then more requests follow. Where answers
    take the longer the longer requests come, the replicas fall behind."""
    requests = asked.load(replicas, factor)
    out = run(requests)
    rate = asked.about["rate"]
    for _ in range(LONGER_RUNS):
        least = math.ceil(LASTING * out.mean_time * rate * factor) if rate else 0
        if least <= len(requests) or asked.promise.broken(out):
            return out
        longer = asked.load(replicas, factor, math.ceil(MARGIN * least))
        if len(longer) <= len(requests):
            return out
        requests, out = longer, run(longer)
    return replace(out, behind=LASTING * out.mean_time * rate * factor > len(requests))


def _pools(asked: Demand, rig: Deployment, policy: Policy, most: int) -> Choice | None:
    """Replicas for prompts, as many as first tokens in time need; then those that decode: the two do not wait for each other."""
    if most < 2:
        return None

    def begun(n: int) -> Outcome:
        return _lasting(asked, n, lambda r: rig.first_tokens(r, policy, n, asked.seed, _patience(asked, r, policy)))

    prompts = fewest(begun, asked.promise, most - 1, _least(asked, rig, policy.budget))
    if prompts is None:
        return None
    count = prompts.replicas

    def run(n: int, only_whether: bool = True) -> Outcome:
        def apart(requests: Sequence[Request]) -> Outcome:
            return rig.run_apart(requests, policy, count, n, asked.seed, _patience(asked, requests, policy, only_whether))

        return _lasting(asked, count + n, apart)

    rest = fewest(run, asked.promise, most - count, explain=partial(run, only_whether=False))
    if rest is None:
        return None
    return Choice(rig, policy, Answer(count + rest.replicas, rest.outcome, rest.binds or prompts.binds or "pools"), count)


def _least(asked: Demand, rig: Deployment, budget: int) -> int:
    """Replicas without which not even the prompts could be computed, were nothing else to do; what is shared is computed once."""
    if not asked.about["rate"]:
        return 1
    prompt = max(1.0, asked.about["prompt"] - (asked.prefix or 0))
    each = budget // rig.layout.ways
    return max(1, math.ceil(0.95 * float(asked.about["rate"] * prompt) / budget * rig.part.factor * rig.part.dense.at(each)))


class Slow(NamedTuple):
    """How many times as long as promised a request takes that is alone, and the words for that."""

    times: float
    why: str


def too_slow(asked: Demand, rig: Deployment) -> Slow | None:
    """Which part of the SLO even requests with a replica to themselves miss, under the nearest policy; None where they meet it."""
    requests = [r._replace(arrive=1e4 * i) for i, r in enumerate(asked.load(1)[:ALONE])]
    misses: list[Slow] = []
    for policy in policies(asked, rig):
        alone = replace(policy, most=1)
        out = rig.run_apart(requests, alone, 1, 1) if asked.apart else rig.run(requests, alone)
        broken = asked.promise.broken(out)
        if not broken:
            return None
        times = asked.promise.beside(out)
        parts = " and ".join(f"{show(times[key][0], 's')} {WAITS[key]}" for key in broken)
        over = max(times[key][0] / times[key][1] for key in broken)
        times_over = f"{over:,.0f}" if over >= 100 else f"{over:.3g}"
        misses.append(Slow(over, f"{name(rig)} takes {parts} even for a request that is alone, {times_over}× the SLO; {ADVICE}"))
    return min(misses)


WAITS = {"ttft": "to the first token", "tbt": "between tokens", "tpot": "per token"}
ADVICE = "allow more time, or take a faster machine, more devices per replica or narrower weights"


def name(rig: Deployment) -> str:
    return f"{rig.devices} × {rig.hardware.slug}" if rig.devices > 1 else rig.hardware.slug


def meets(asked: Demand, choice: Choice, factor: float = 1.0, most: int = SAMPLE) -> bool:
    """Whether the same deployment meets the SLO under its requests, which come `factor` times as fast. Asked again, it is not run again."""
    rig, policy = choice.deployment, choice.policy
    all_of_them = bool(choice.prompts) or choice.answer.replicas <= most
    key = id(rig), policy, choice.answer.replicas, choice.prompts, factor, 0 if all_of_them else most
    if key not in asked.tried:
        asked.tried[key] = rig, not asked.promise.broken(trial(asked, choice, factor, most, only_whether=True))
    return asked.tried[key][1]


def trial(
    asked: Demand, choice: Choice, factor: float = 1.0, most: int = SAMPLE, whole: bool = False, only_whether: bool = False
) -> Outcome:
    """The same deployment under its requests, which come `factor` times as fast; a sample of its replicas where it has many.

    `whole`: to its end, even where it misses the SLO.
    """
    rig, policy, count = choice.deployment, choice.policy, choice.answer.replicas
    if not choice.prompts:
        return _some(asked, rig, policy, count, most, factor, whole, only_whether)

    def run(requests: Sequence[Request]) -> Outcome:
        patience = None if whole else _patience(asked, requests, policy, only_whether)
        return rig.run_apart(requests, policy, choice.prompts, count - choice.prompts, asked.seed, patience)

    return _lasting(asked, count, run, factor)
