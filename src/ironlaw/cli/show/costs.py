"""What a million samples or tokens cost, in the terminal: the best of each machine, the cheapest of all, and whose prices these are."""

from __future__ import annotations

from typing import Any

from ironlaw.cli.show import draw
from ironlaw.report.model_variants import OWN
from ironlaw.units import show, significant

GROUNDS = {"transferred": "all transferred", "bound": "all by their datasheets"}


def report(about: dict[str, Any]) -> None:
    unit, latency = about["per"], about["latency_s"]
    within = f", within {show(latency, 's')}" if latency else ""
    grounds = f"; {GROUNDS[about['basis']]}, since they rest on different grounds" if about["basis"] else ""
    draw.heading("costs", f"a million {unit}s, the cheapest way of each machine{within}{grounds}")
    rows = about["best"] or about["rows"]
    if not rows:
        draw.say("No machine holds it, so none has a price; see above for how many of them would.", draw.BAD)
        return
    draw.table(("machine", "mode", "batch", "a call", "dollars", "energy ≤"), [_cells(row) for row in rows], left=("machine", "mode"))
    draw.say(verdict(about), draw.BAD if about["cheapest"] and about["cheapest"]["over_s"] else draw.GOOD)
    draw.say(" ".join((sources(about), f"Energy: {about['energy']}.")), draw.DIM)


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    dollars, late = row["dollars_per_million"], row["meets"] is False
    batch = "–" if row["batch"] is None else f"{row['batch']:,}"
    stored = "" if row["weights"] == OWN else f", {row['weights']}"
    return (
        row["hardware"], row["mode"] + stored, batch, (f"{show(row['seconds'], 's')} ✗", draw.BAD) if late else show(row["seconds"], "s"),
        "–" if dollars is None else (f"${significant(dollars)}", draw.STRONG), show(row["joules_per_million"], "J"),
    )  # fmt: skip


def verdict(about: dict[str, Any]) -> str:
    """One sentence: the cheapest within the latency, or that none is and by how much."""
    best, latency = about["cheapest"], about["latency_s"]
    if best is None:
        return f"No price is known: say what an hour costs, --price {','.join(f'{slug}=…' for slug in about['unpriced'])}."
    way = f"{best['hardware']}, {best['mode']}" + (f", batch {best['batch']:,}" if best["batch"] is not None else "")
    if best["over_s"]:
        return (
            f"None of these is within {show(latency, 's')}: the quickest, {way}, takes {show(best['seconds'], 's')},"
            f" {show(best['over_s'], 's')} more; try a smaller --batch, narrower weights or another machine."
        )
    likely = best["likely_within_s"]
    doubt = f" Its interval reaches {show(likely, 's')}: measure before you promise." if latency and likely and likely > latency else ""
    return f"Cheapest: {way}, ${significant(best['dollars_per_million'])} a million {about['per']}s.{doubt}"


def sources(about: dict[str, Any]) -> str:
    """`Prices an hour: h200_sxm $4.59 (RunPod …, 2026-09-25).`"""
    known = [
        f"{slug} ${significant(p['dollars_per_hour'])} ({', '.join(filter(None, (p['vendor'], p['date'])))})"
        for slug, p in about["prices"].items()
    ]
    missing = f" No price is known for {', '.join(about['unpriced'])}: give --price." if known and about["unpriced"] else ""
    return (f"Prices an hour: {'; '.join(known)}.{missing}" if known else "").strip()
