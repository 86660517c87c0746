"""What `report.report_costs` found, in sentences: for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.units import show, significant

GROUNDS = {"transferred": "all transferred", "bound": "all from their datasheets"}


def lead(about: Mapping[str, Any]) -> str:
    within = f", within {show(about['latency_s'], 's')}" if about["latency_s"] else ""
    grounds = f"; {GROUNDS[about['basis']]}, to compare like with like" if about["basis"] else ""
    return f"a million {about['per']}s on each machine, as cheaply as it can{within}{grounds}"


def verdict(about: Mapping[str, Any]) -> str:
    """One sentence: the cheapest within the latency, or that none is and by how much."""
    best, latency = about["cheapest"], about["latency_s"]
    if best is None:
        return f"No price is known. Give dollars per hour with --price {','.join(f'{slug}=…' for slug in about['unpriced'])}."
    way = f"{best['hardware']}, {best['mode']}" + (f", batch {best['batch']:,}" if best["batch"] is not None else "")
    if best["over_s"]:
        return (
            f"None of these is within {show(latency, 's')}. The quickest, {way}, takes {show(best['seconds'], 's')},"
            f" {show(best['over_s'], 's')} too long; try a smaller --batch, narrower weights or another machine."
        )
    likely = best["likely_within_s"]
    doubt = (
        f" But its likely range reaches {show(likely, 's')}, so measure before you commit."
        if latency and likely and likely > latency
        else ""
    )
    return f"The cheapest is {way}, at ${significant(best['dollars_per_million'])} per million {about['per']}s.{doubt}"


def sources(about: Mapping[str, Any]) -> str:
    """`Prices per hour: h200_sxm $4.59 (RunPod …, 2026-09-25).`"""
    known = [
        f"{slug} ${significant(p['dollars_per_hour'])} ({', '.join(filter(None, (p['vendor'], p['date'])))})"
        for slug, p in about["prices"].items()
    ]
    missing = f" No price is known for {', '.join(about['unpriced'])}; give one with --price." if known and about["unpriced"] else ""
    return (f"Prices per hour: {'; '.join(known)}.{missing}" if known else "").strip()
