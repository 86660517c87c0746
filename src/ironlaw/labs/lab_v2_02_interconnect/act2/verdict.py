"""Which limit a placement hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import Case
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import significant

TENSOR_MOST, ALL_MOST = 0.50, 0.25  # shares of the step: the tensor group's, and all communication's


def _full(case: Case) -> dict[str, object]:
    placed = case.placed
    parts = placed.memory
    return {
        "needed": kit.amount(float(parts.total), "B"), "usable": kit.amount(placed.usable, "B"),
        "over": kit.amount(float(parts.total) - placed.usable, "B"), "weights": kit.amount(float(parts.weights), "B"),
        "gradients": kit.amount(float(parts.gradients), "B"), "optimiser": kit.amount(float(parts.optimiser), "B"),
        "activations": kit.amount(float(parts.activations), "B"),
    }  # fmt: skip


def _where(case: Case) -> str:
    if not case.crosses:
        return "the slowest wire in its box"
    return f"all {case.nics} NICs of each box" if case.nics == case.box.nics else f"{case.nics} of the {case.box.nics} NICs of each box"


def _cliff(case: Case) -> dict[str, object]:
    step = case.placed.step
    return {
        "share": kit.amount(100 * step.tensor / step.total, "%"), "most": kit.amount(100 * TENSOR_MOST, "%"), "tensor": case.tensor,
        "where": _where(case),
    }  # fmt: skip


def _starved(case: Case) -> dict[str, object]:
    placed = case.placed
    return {
        "sum": kit.amount(placed.sum_s, "s"), "left": kit.amount(placed.step.data, "s"), "backward": kit.amount(placed.backward_s, "s"),
    }  # fmt: skip


def _costly(case: Case) -> dict[str, object]:
    return {"share": kit.amount(100 * case.placed.communication, "%"), "most": kit.amount(100 * ALL_MOST, "%")}


def _works(case: Case) -> dict[str, object]:
    placed = case.placed
    return {
        "share": kit.amount(100 * placed.communication, "%"), "most": kit.amount(100 * ALL_MOST, "%"),
        "room": kit.amount(placed.usable - float(placed.memory.total), "B"), "tokens": significant(placed.tokens_per_s),
    }  # fmt: skip


LIMITS = (
    fail("memory", "It does not fit", lambda case: not case.placed.fits, _full),
    fail(
        "tp_over_cliff", "The group is over the cliff",
        lambda case: case.placed.step.tensor > TENSOR_MOST * case.placed.step.total, _cliff,
    ),
    fail("nic_starved", "The gradients wait for the NICs", lambda case: case.placed.step.data > case.placed.backward_s, _starved),
    warn("costly", "It runs, but it waits too much", lambda case: case.placed.communication > ALL_MOST, _costly),
    good("works", "It works", _works),
)  # fmt: skip
