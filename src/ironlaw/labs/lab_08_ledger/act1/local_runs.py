"""Act I beside the learner's own process: bytes that were counted, and what the ledger expects of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_08_ledger.step import LAYERS
from ironlaw.measure.experiments import memory_trial
from ironlaw.pictures.ends import up_to
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

CLOSE = 5.0  # percent: what a library may add to a count, its padding and its own small tensors
LAYER = {memory_trial.KEPT: "kept", memory_trial.STATE: "optimiser", memory_trial.WEIGHTS: "weights", memory_trial.GRADIENTS: "gradients"}


def counts(run: kit.Measured) -> list[Mapping[str, Any]]:
    """The rows that the ledger expects something of."""
    return [row for row in run.all(kind="figure") if row["params"].get("expected")]


def percent_off(row: Mapping[str, Any]) -> float:
    return 100 * abs(float(row["value"]) / float(row["params"]["expected"]) - 1)


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"ledger": lambda run: caption(lab, run)}


def caption(lab: kit.Lab, run: kit.Measured) -> str:
    """What was counted, and then what follows from it: the one or the other."""
    rows = counts(run)
    worst = max(rows, key=percent_off)
    off = percent_off(worst)
    said = lab.fill(
        "act1.here", count=str(len(rows)), what=str(worst["label"]), counted=kit.amount(float(worst["value"]), "B"),
        expected=kit.amount(float(worst["params"]["expected"]), "B"),
        off="equal to the byte" if off == 0 else f"{significant(off, 2)}% apart",
    )  # fmt: skip
    return f"{said} {lab.fill('act1.here_close' if off <= CLOSE else 'act1.here_apart')}"


def short(row: Mapping[str, Any]) -> str:
    """`kept, batch 32`: beside its bar the model need not be named."""
    return str(row["label"]).replace(f" of {row['params'].get('model', '')}", "")


def most(run: kit.Measured) -> kit.Markup:
    """The largest count."""
    return kit.amount(max(float(row["value"]) for row in counts(run)), "B")


def picture(run: kit.Measured) -> Figure:
    """Bytes, in the mountain's unit and colours: what the ledger expects of each row, and what was counted. Not on the mountain itself: the
    rows are of several small nets, a thousandth of its height, and nobody counted operator by operator."""
    marks, table = [], []
    for row in counts(run):
        name, value, expected = short(row), float(row["value"]), float(row["params"]["expected"])
        layer = LAYERS[LAYER[row["name"]]]
        marks.append(
            mark("bar", layer.colour, x0=0.0, x1=expected, y=name, id=f"{name}-expected", name=layer.name,
                 hover=[("the ledger expects", exact(expected, "B"))])
        )  # fmt: skip
        marks.append(
            mark("point", "here", x=value, y=name, id=f"{name}-counted", name="counted here", shape="square", size=6,
                 label=format_quantity(value, "B"), hover=[("counted here", exact(value, "B")), run.source])
        )  # fmt: skip
        table.append((name, format_quantity(expected, "B"), format_quantity(value, "B"), f"{significant(percent_off(row), 2)}%"))
    most = max(max(float(row["value"]), float(row["params"]["expected"])) for row in counts(run))
    words = "; ".join(f"{name}: {expected} expected, {counted} counted" for name, expected, counted, _ in table)
    return Figure(
        "here", "What your process held", Axis("linear", "bytes", "B", (0.0, up_to(1.25 * most))),
        Axis("band", names=tuple(map(short, counts(run)))), tuple(marks), f"{words}.",
        Table(("row", "the ledger expects", "counted here", "apart"), tuple(table)), run.source,
        ({"colour": "muted", "label": "the ledger expects"}, {"colour": "here", "shape": "square", "label": "counted here"}),
    )  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("ledger")
    if run is None:
        return {}
    static = (memory_trial.WEIGHTS, memory_trial.GRADIENTS, memory_trial.STATE)
    rows = [r for r in run.all(kind="figure") if r["name"] in static and r["params"].get("optimiser", "adamw") == "adamw"]
    expected = sum(float(r["params"]["expected"]) for r in rows)
    if not expected:
        return {}
    total = sum(float(r["value"]) for r in rows)
    return {"adam_sixteen_bytes": kit.LocalFigure(16.0 * total / expected, "B", f"model states of a small net; {run.source}")}
