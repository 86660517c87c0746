"""`ironlaw privacy`: the (ε, δ) that a training run with DP-SGD proves, accountant by accountant, and what a budget leaves."""

from __future__ import annotations

import argparse
import math
from typing import Any

from ironlaw.cli import design_file
from ironlaw.cli.design_file import Field, count, figure, read_table, refuse_tables
from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw, private
from ironlaw.engine.privacy.accountants import ACCOUNTANTS, BOUNDS, MOMENTS, RDP, epsilon, sigma_for, steps_for
from ironlaw.engine.privacy.attacks import accuracy, advantage
from ironlaw.engine.privacy.renyi import best_order, moments_conversion, tight_conversion
from ironlaw.errors import BadValue

EXAMPLE = """
ironlaw privacy --example
ironlaw privacy design.toml
"""
DESIGN = """# Training with DP-SGD: batches drawn at random, gradients clipped one by one, noise on their sum.
[data]
records = 60_000

[training]
batch = 256       # the mean of batches whose records are drawn one by one
noise = 1.1       # its deviation over the clip norm; the clip norm itself costs nothing
epochs = 60       # or steps = 14_062
runs = 1          # runs on the same data that chose its settings count, too

[promise]         # may be left out
epsilon = 3.0
delta = 1e-5      # left out: one over ten times the records
"""
TABLES: dict[str, design_file.Table] = {
    "data": {"records": Field(count, example="60_000")},
    "training": {
        "batch": Field(count, example="256"), "noise": Field(figure(example="1.1"), example="1.1"),
        "epochs": Field(figure(example="60"), None), "steps": Field(count, None), "runs": Field(count, 1),
    },
    "promise": {"epsilon": Field(figure(example="3.0"), None), "delta": Field(figure(example="1e-5"), None)},
}  # fmt: skip


def add(parser: Parser) -> None:
    design_file.add(parser, "privacy")


def run(args: argparse.Namespace) -> int:
    if args.example and not args.file:
        print(DESIGN, end="")
        return 0
    data = design_file.raw(args, "privacy")
    refuse_tables(data, TABLES)
    result = answer({name: read_table(name, data.get(name, {} if name == "promise" else None), TABLES[name]) for name in TABLES})
    draw.emit(result, "ironlaw-privacy/1") if args.json else private.report(result)
    return 1 if result["promise"] and not result["promise"]["met"] else 0


def answer(design: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The figures of one design; `promise` is null where it makes none."""
    records, training = design["data"]["records"], design["training"]
    each, q = _steps(training, records), training["batch"] / records
    steps, sigma = each * training["runs"], training["noise"]
    delta = design["promise"]["delta"] or 1 / (10 * records)
    spent = epsilon(q, sigma, steps, delta, RDP, fractional=True)
    rows = [_accountant(name, q, sigma, steps, delta) for name in ACCOUNTANTS]
    return {
        "records": records, "rate": q, "noise": sigma, "steps": steps, "steps_of_one_run": each, "runs": training["runs"], "delta": delta,
        "delta_below_one_record": delta < 1 / records, "epsilon": spent, "accountants": rows,
        "attack": {"advantage": advantage(spent, delta), "accuracy": accuracy(spent, delta)},
        "promise": _promise(design["promise"]["epsilon"], q, sigma, steps, delta, spent),
        "changes": _changes(q, sigma, steps, delta),
    }  # fmt: skip


def _steps(training: dict[str, Any], records: int) -> int:
    if (training["epochs"] is None) == (training["steps"] is None):
        raise BadValue("[training] needs one of epochs and steps; write `epochs = 60` or `steps = 14_062`", "epochs")
    if training["batch"] > records:
        raise BadValue(f"a batch of {training['batch']:,} of {records:,} records; draw at most all of them", "batch")
    return int(training["steps"] or max(1, math.floor(training["epochs"] * records / training["batch"])))


def _accountant(name: str, q: float, sigma: float, steps: int, delta: float) -> dict[str, Any]:
    conversion = {MOMENTS: moments_conversion, RDP: tight_conversion}.get(name)
    if conversion:
        proves, order = best_order(q, sigma, steps, delta, conversion, fractional=True)
        return {"name": name, "epsilon": proves, "bound": True, "order": order}
    return {"name": name, "epsilon": epsilon(q, sigma, steps, delta, name), "bound": name in BOUNDS, "order": None}


def _promise(budget: float | None, q: float, sigma: float, steps: int, delta: float, spent: float) -> dict[str, Any] | None:
    """Whether it is kept, and what would just keep it: so much noise, or so many steps."""
    if budget is None:
        return None
    return {
        "epsilon": budget, "met": spent <= budget, "spent": spent / budget,
        "noise_needed": _noise(budget, q, steps, delta),
        "steps_allowed": steps_for(budget, q, sigma, delta, fractional=True),
    }  # fmt: skip


def _noise(budget: float, q: float, steps: int, delta: float) -> float | None:
    """None where the budget is below what any noise can prove."""
    try:
        return sigma_for(budget, q, steps, delta, fractional=True)
    except BadValue:
        return None


def _changes(q: float, sigma: float, steps: int, delta: float) -> list[dict[str, Any]]:
    """One change at a time, all else as designed: what ε becomes."""
    ways = {
        "twice the noise": (q, 2 * sigma, steps), "half the steps": (q, sigma, max(1, steps // 2)),
        "half the batch, as many steps": (q / 2, sigma, steps), "half the batch, as many epochs": (q / 2, sigma, 2 * steps),
    }  # fmt: skip
    return [{"change": name, "epsilon": epsilon(*way, delta, fractional=True)} for name, way in ways.items()]
