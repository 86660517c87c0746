"""The search behind `ironlaw capacity`: machines, layouts of a replica's devices, and the fewest replicas of each.

Of two that take equally many devices, the one that could take the larger rate is better. Where the devices are given, the largest rate is
all that counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ironlaw.engine.costs import ENERGY
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Answer
from ironlaw.errors import BadValue, IronlawError
from ironlaw.systems.serving.deployments import Deployment, TooSmall
from ironlaw.systems.serving.search.alike import alike
from ironlaw.systems.serving.search.bet import bet
from ironlaw.systems.serving.search.choice_rows import Found, engine_row, frontier_rows, row, slices
from ironlaw.systems.serving.search.cliffs import cliff
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.doubts import doubts
from ironlaw.systems.serving.search.fewest import BUDGETS, Slow, best_policy, name, policies, too_slow
from ironlaw.systems.serving.search.largest_rate import at_rate, by_work, headroom, largest, seen
from ironlaw.systems.serving.search.layouts import layouts
from ironlaw.systems.serving.search.pareto import pareto
from ironlaw.systems.serving.search.rig import rig_of
from ironlaw.units import counted

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import RefusalJson
    from ironlaw.outputs.serving_output import CapacityJson

ROUGH = 1.15  # of two rates, where deployments are compared
DESCRIBED = 0.5  # of a machine's time, until its best deployment is known
Progress = Callable[[float, str], None]


def search(asked: Demand, progress: Progress | None = None) -> CapacityJson:
    """Every machine's best choice, the fewest devices of all, the cheapest, and the frontier of speed against throughput. `progress` hears
    which share of the machines is done, and what is being tried."""
    found: list[Found] = []
    refused: list[RefusalJson] = []
    tables: list[Deployment] = []
    faults = 0  # machines that can't serve it at all, whatever is promised
    for i, machine in enumerate(asked.on):

        def doing(part: float, what: str, done: int = i, slug: str = machine.slug) -> None:
            if progress is not None:
                progress((done + part) / len(asked.on), f"{slug}: {what}")

        try:
            best = (_of_fleet if asked.fleet else _best)(asked, machine, tables, doing)
        except IronlawError as error:
            faults += not isinstance(error, TooSmall)
            refused.append({"hardware": machine.slug, "reason": str(error)})
            continue
        if isinstance(best, str):
            refused.append({"hardware": machine.slug, "reason": best})
        else:
            doing(DESCRIBED, "how sure the answer is, and the largest rate")
            found.append(_described(asked, best))
    if not found and faults == len(asked.on):
        raise BadValue("; ".join(dict.fromkeys(one["reason"] for one in refused)))
    same = alike([one.choice.deployment for one in found])
    rows = [row(asked, one, same_s) for one, same_s in zip(found, same, strict=True)]
    priced = [one for one in rows if one["dollars_per_million_tokens"] is not None]
    result: CapacityJson = {
        "model": asked.decoder.name, "load": dict(asked.about), "fleet": asked.fleet, "engine": engine_row(asked),
        "promise": {
            "ttft_s": asked.promise.ttft, "tbt_s": None if math.isinf(asked.promise.tbt) else asked.promise.tbt, "tpot_s": asked.tpot,
            "share": asked.promise.share,
        },
        "answer": bet(rows, asked.fleet is not None) if rows else None, "choices": rows, "refused": refused,
        "fewest": min(rows, key=lambda one: (one["devices"], one["dollars_per_hour"] or 0.0))["hardware"] if rows else None,
        "cheapest": min(priced, key=lambda one: one["dollars_per_million_tokens" if asked.fleet else "dollars_per_hour"] or 0.0)["hardware"]
        if priced else None,
        "unpriced": [m.slug for m in asked.on if m.slug not in asked.prices],
        "prices": {slug: price.as_dict() for slug, price in asked.prices.items()}, "energy": ENERGY,
        "frontier": frontier_rows(asked, tables), "pareto": pareto(asked, tables),
    }  # fmt: skip
    if asked.simulate and found:
        chosen = next(one.choice for one in found if one.choice.deployment.hardware.slug == (result["cheapest"] or result["fewest"]))
        result["run"] = {"hardware": chosen.deployment.hardware.slug, "slices": slices(chosen.answer.outcome)}
    return result


def _described(asked: Demand, choice: Choice) -> Found:
    """With the largest rate that it takes, how sure all that is, and why so many devices are needed."""
    room = largest(asked, choice) if asked.about["rate"] else None
    if asked.fleet and room:
        choice = at_rate(asked, choice, room)
    between, sure = doubts(asked, choice, room)
    return Found(choice, room, between, sure, None if asked.fleet else cliff(asked, choice))


def _best(asked: Demand, machine: Hardware, tables: list[Deployment], doing: Progress) -> Choice | str:
    """The fewest devices on one machine; of equally many, those that take the largest rate. Or why there is no choice."""
    best: Choice | None = None
    room: float | None = None  # of the best, where it was asked for
    slow: list[Slow] = []
    many = ""  # which layout is fast enough, but not often enough there
    ways = layouts(asked, machine)
    for i, layout in enumerate(ways):
        if best is not None and layout.devices > best.devices:
            break
        doing(DESCRIBED * i / len(ways), f"{counted(layout.devices, 'device')} per replica")
        rig = rig_of(asked, machine, layout)
        tables.append(rig)
        alone = too_slow(asked, rig)
        choice = None if alone else best_policy(asked, rig, asked.most if best is None else best.devices // layout.devices)
        if alone:
            slow.append(alone)
        elif choice is None:
            many = (
                many or f"not even {counted(asked.most, 'replica')} of {name(rig)} {'meets' if asked.most == 1 else 'meet'} the SLO; {MORE}"
            )
        elif best is None or choice.devices < best.devices:
            best, room = choice, None
        elif asked.about["rate"]:
            room = headroom(asked, best, near=ROUGH, known=seen(asked, best)) if room is None else room
            other = headroom(asked, choice, near=ROUGH, least=room, known=seen(asked, choice))
            best, room = (choice, other) if other > room else (best, room)
    return best or many or min(slow).why


MORE = "allow more replicas or more time"


def _of_fleet(asked: Demand, machine: Hardware, tables: list[Deployment], doing: Progress) -> Choice | str:
    """The layout that a fleet is best cut into: the one that takes the largest rate; or why none takes any."""
    count = asked.fleet or 1
    best: Choice | None = None
    most, why = 0.0, ""
    slow: list[Slow] = []
    ways = layouts(asked, machine)
    for i, layout in enumerate(ways):
        if count < layout.devices:
            continue
        doing(DESCRIBED * i / len(ways), f"{counted(layout.devices, 'device')} per replica")
        rig = rig_of(asked, machine, layout)
        tables.append(rig)
        alone = too_slow(asked, rig)
        if alone:
            slow.append(alone)
            continue
        why = why or f"{count} × {machine.slug} meet the SLO at no rate that was tried; allow more time"
        for choice in _cuts(asked, rig, count // layout.devices):
            rate = headroom(asked, choice, by_work(asked, choice) / 4, ROUGH, least=most)
            if rate > most:
                best, most = choice, rate
    if best is None and not why and not slow:
        return f"{count} × {machine.slug} can't be cut into replicas that hold {asked.decoder.name}; give a larger number"
    return best or why or min(slow).why


def _cuts(asked: Demand, rig: Deployment, replicas: int) -> list[Choice]:
    """Replicas that do both, and shares of them that only prefill."""
    empty = rig.run(asked.load(1)[:1], next(iter(policies(asked, rig))))
    together = [] if asked.apart else [Choice(rig, policy, Answer(replicas, empty)) for policy in policies(asked, rig)]
    if replicas < 2 or asked.scheduling == "static" or (asked.lengths and not asked.apart):
        return together
    policy = next(iter(policies(asked, rig)))
    wide = max(policy.budget, BUDGETS[-1] * rig.layout.ways) if not asked.budget else policy.budget
    apart = [prompts for prompts in sorted({round(part * replicas / 8) for part in (1, 2, 3, 4)}) if 0 < prompts < replicas]
    return together + [Choice(rig, _wider(policy, wide), Answer(replicas, empty), prompts) for prompts in apart]


def _wider(policy: Policy, budget: int) -> Policy:
    return replace(policy, budget=budget)
