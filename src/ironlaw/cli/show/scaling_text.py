"""What `ironlaw scale` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import significant


def report(result: Mapping[str, Any]) -> None:
    draw.say()
    draw.pairs(_head(result))
    if result["points"]:
        draw.heading("measured", "and the serial share each point implies (Karp and Flatt)")
        draw.table(("workers", "speed-up", "model", "serial share"), [_measured(point) for point in result["points"]])
    draw.heading("predicted")
    beyond = any(row["extrapolated"] for row in result["workers"])
    names = ("workers", "speed-up", "efficiency", *(("within measurements",) if beyond else ()))
    draw.table(names, [_predicted(row)[: len(names)] for row in result["workers"]])
    if "target" in result:
        draw.pairs(_target(result["target"]))


def _head(result: Mapping[str, Any]) -> list[tuple[str, Any]]:
    basis = {"given": "as given", "one point": "from one measured number of workers", "fit": "fitted"}[result["basis"]]
    rows: list[tuple[str, Any]] = [("serial share σ", f"{draw.percent(result['sigma'])}{_between(result, 'sigma', draw.percent)}, {basis}")]
    if result["kappa"] or result["basis"] == "fit":
        rows.append(("crosstalk κ", f"{significant(result['kappa'])}{_between(result, 'kappa', significant)}"))
    if result["basis"] == "fit" and result["sigma_interval"] is None:
        rows.append(("", ("two points fix two parameters exactly; a third would show how far to trust them", draw.DIM)))
    best, ceiling = result["best_workers"], result["ceiling"]
    if best is not None:
        fastest = f"{draw.plural(int(best), 'worker')}, {significant(result['best_speedup'])}× as fast; more workers are slower"
        return [*rows, ("fastest with", (fastest, draw.STRONG))]
    return [*rows, ("ceiling", "none, because nothing is serial" if ceiling is None else f"{significant(ceiling)}×, however many workers")]


def _between(result: Mapping[str, Any], name: str, write: Any) -> str:
    interval = result[f"{name}_interval"]
    return f" ({write(interval[0])} to {write(interval[1])}, 95%)" if interval else ""


def _measured(point: Mapping[str, Any]) -> tuple[str, ...]:
    share = point["karp_flatt"]
    return (
        draw.count(point["workers"]), f"{significant(point['speedup'])}×", f"{significant(point['model'])}×",
        "–" if share is None else "better than linear" if share < 0 else draw.percent(share),
    )  # fmt: skip


def _predicted(row: Mapping[str, Any]) -> tuple[Any, ...]:
    note = "no" if row["extrapolated"] else "yes"
    style = draw.GOOD if row["efficiency"] >= 0.7 else draw.BAD if row["efficiency"] < 0.4 else ""
    return (draw.count(row["workers"]), f"{significant(row['speedup'])}×", (draw.percent(row["efficiency"]), style), note)


def _target(target: Mapping[str, Any]) -> list[tuple[str, Any]]:
    asked = f"for {significant(target['speedup'])}×"
    if target["workers"] is not None:
        return [(asked, (f"{draw.plural(int(target['workers']), 'worker')}", draw.STRONG))]
    if target["halvings"] is None:
        return [(asked, (f"out of reach: on {target['at']:,} workers no serial share is small enough", draw.BAD))]
    times = "once" if target["halvings"] == 1 else f"{target['halvings']:.0f} times"
    return [(asked, (f"no number of workers is enough. Halve the serial share {times}, and {target['at']:,} workers will do.", draw.BAD))]
