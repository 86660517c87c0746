"""What `ironlaw privacy` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import significant

NAMES = {
    "basic": "basic composition, budgets added", "advanced": "advanced composition, best split of δ", "moments": "moments accountant, 2016",
    "rdp": "Rényi, tight conversion", "gdp": "Gaussian limit of many steps",
}  # fmt: skip


def report(result: Mapping[str, Any]) -> None:
    draw.say()
    draw.pairs(_head(result))
    draw.heading("what each accountant proves", "for the same noise")
    rows = [(NAMES[row["name"]], _epsilon(row["epsilon"]), _kind(row)) for row in result["accountants"]]
    draw.table(("accountant", "ε", ""), rows, left=("accountant", ""))
    draw.heading("if you change one thing", "and leave the rest as designed")
    draw.table(("change", "ε"), [(row["change"], _epsilon(row["epsilon"])) for row in result["changes"]], left=("change",))
    if not result["delta_below_one_record"]:
        draw.say(
            f"δ = {result['delta']:.3g} is not below one over the {draw.count(result['records'])} records: it would allow a whole record "
            "to be published. Choose a smaller δ.",
            draw.BAD,
        )


def _head(result: Mapping[str, Any]) -> list[tuple[str, Any]]:
    runs = f" in {draw.plural(result['runs'], 'run')}" if result["runs"] > 1 else ""
    attack, drawn = result["attack"], f"sampling rate {significant(result['rate'])}"
    rows: list[tuple[str, Any]] = [
        ("the run", f"{draw.plural(result['steps'], 'step')}{runs}, {drawn}, noise multiplier {result['noise']:g}"),
        ("privacy", (f"ε = {_epsilon(result['epsilon'])} at δ = {result['delta']:.3g}", draw.STRONG)),
        ("any attack", f"is right about at most {draw.percent(attack['accuracy'])} of people, if half of them were in the data"),
    ]  # fmt: skip
    promise = result["promise"]
    if promise is None:
        return rows
    verdict, style = ("met", draw.GOOD) if promise["met"] else ("exceeded", draw.BAD)
    rows.append(("limit", (f"ε ≤ {promise['epsilon']:g} is {verdict}: {draw.percent(promise['spent'])} of it spent", style)))
    allowed, noise = draw.plural(promise["steps_allowed"], "step"), promise["noise_needed"]
    enough = (
        "no noise multiplier is proven to be enough"
        if noise is None
        else f"a noise multiplier of {significant(noise, 4)}, or {allowed} at this one"
    )
    return [*rows, ("just enough", enough)]


def _epsilon(value: float | None) -> str:
    return "no bound" if value is None or value == float("inf") else significant(value, 4) if value < 1e6 else f"{value:.2e}"


def _kind(row: Mapping[str, Any]) -> str:
    if not row["bound"]:
        return "an estimate, not a bound"
    return f"order {row['order']:g}" if row["order"] else ""
