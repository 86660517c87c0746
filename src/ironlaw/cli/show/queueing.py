"""What `ironlaw queue` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import show, significant

POLICIES = {
    "waiting": "a free server picks up everyone waiting", "fixed": "a free server waits for a full batch",
    "timeout": "a free server waits for a full batch until a timeout",
}  # fmt: skip
METHODS = {
    "exact": "exact, Poisson arrivals", "exact mean": "exact mean, Poisson arrivals; P99 would need the whole distribution",
    "simulated": "simulated request by request, Poisson arrivals",
}  # fmt: skip


def report(result: Mapping[str, Any]) -> None:
    taken = f"at most {result['batch']:,} at once: {POLICIES[result['policy']]}" if result["policy"] else "one request at a time"
    draw.say()
    draw.pairs([
        ("served by", f"{draw.plural(result['servers'], 'server')}, {taken}"),
        ("capacity", f"{significant(result['capacity'])} requests/s"),
        ("figures", METHODS[result["method"]]),
    ])  # fmt: skip
    draw.say()
    batches = result["policy"] is not None
    names = ("requests/s", "load", *(("busy", "batch size") if batches else ()), "mean", "P99", "in flight")
    draw.table(names, [_row(row, batches) for row in result["rates"]])
    endless = [row for row in result["rates"] if row["load"] >= 1]
    for row in endless:
        draw.say(f"At {significant(row['rate'])}/s {_grows(row)}", draw.BAD)
    if "target" in result:
        draw.pairs([_target(result["target"])])


def _row(row: Mapping[str, Any], batches: bool) -> tuple[Any, ...]:
    load = (draw.percent(row["load"]), draw.BAD if row["load"] >= 1 else "")
    middle = (draw.percent(row["busy"]), significant(row["batch"])) if batches else ()
    p99 = "–" if row["p99_s"] is None else show(row["p99_s"], "s")
    if row["mean_s"] is None:
        return (significant(row["rate"]), load, *middle, "unbounded", "unbounded", "unbounded")
    return (significant(row["rate"]), load, *middle, show(row["mean_s"], "s"), (p99, draw.STRONG), significant(row["in_flight"]))


def _grows(row: Mapping[str, Any]) -> str:
    if not row["growth_per_s"]:
        return "requests arrive exactly as fast as they are served, so the queue grows without end. Lower the rate or add a server."
    return f"the queue grows by {significant(row['growth_per_s'])} requests per second. Lower the rate, batch more, or add servers."


def _target(target: Mapping[str, Any]) -> tuple[str, Any]:
    asked = f"P99 within {show(target['p99_s'], 's')}"
    if not target["rate"]:
        return asked, ("out of reach at any rate: shorten the service, or wait less for a full batch", draw.BAD)
    return asked, (f"up to {significant(target['rate'])} requests/s", draw.STRONG)
