"""What a million samples or tokens cost on each machine, and the cheapest machine, mode and batch within a latency.

    about = costs(variants, prices_of(slugs, given), latency)

`about["rows"]` has every machine, mode and batch that fits; `about["best"]` the cheapest of each machine, `about["cheapest"]` of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ironlaw.engine.costs import ENERGY, Offer, Pick, cheapest
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.registry.prices import Price
from ironlaw.report.model_variants import Variant, comparable

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import CostsJson, OfferJson


def items(graph: Graph, batch: int | None) -> tuple[float, str]:
    """What a call finishes, and what that is called: tokens of a language model, samples, or the call itself."""
    settings = graph.settings
    count = batch or settings.get("batch")
    if count is None:
        return 1.0, "call"
    if settings.get("phase") == "decode":
        return float(count), "token"
    if settings.get("phase") == "prefill":
        return float(count) * float(settings["seq"]), "prompt token"
    return float(count), "sample"


def costs(variants: Sequence[Variant], prices: Mapping[str, Price], latency: float | None = None) -> CostsJson:
    """As JSON takes it. Machines whose times rest on different grounds are all taken on the same, as the rest of a report compares them."""
    rows: list[tuple[Offer, OfferJson]] = []
    basis = ""
    for variant in variants:
        holding = tuple(p for p in variant.predictions if p.fits)
        predictions, basis = comparable(holding, variant.graph)
        rows += [_row(variant, p, prices.get(p.hardware.slug), latency) for p in predictions]
    slugs = list(dict.fromkeys(row["hardware"] for _, row in rows))
    by_offer = {id(offer): row for offer, row in rows}
    best = [cheapest([offer for offer, _ in rows if offer.name == slug], latency) for slug in slugs]
    overall = cheapest([offer for offer, _ in rows], latency)
    known = {slug: prices[slug] for slug in slugs if slug in prices}
    return {
        "per": items(variants[0].graph, variants[0].batch)[1], "latency_s": latency, "basis": basis or None,
        "rows": [row for _, row in rows], "best": [_picked(pick, by_offer) for pick in best if pick is not None],
        "cheapest": _picked(overall, by_offer) if overall else None,
        "unpriced": [slug for slug in slugs if slug not in prices],
        "prices": {slug: p.as_dict() for slug, p in known.items()},
        "energy": ENERGY,
    }  # fmt: skip


def _row(variant: Variant, p: Prediction, price: Price | None, latency: float | None) -> tuple[Offer, OfferJson]:
    count, _ = items(variant.graph, variant.batch)
    offer = Offer(p.hardware.slug, float(p.seconds), count, float(p.hardware.power), price.per_hour if price else None)
    high = p.interval[1] if p.interval else None
    likely = None if high is None or not math.isfinite(high) else float(high)
    return offer, {
        "hardware": p.hardware.slug, "mode": p.plan.mode, "batch": variant.batch or variant.graph.settings.get("batch"),
        "weights": variant.weights, "basis": p.basis, "seconds": offer.seconds, "likely_within_s": likely,
        "meets": None if latency is None else offer.seconds <= latency, "dollars_per_million": offer.dollars,
        "joules_per_million": offer.joules,
    }  # fmt: skip


def _picked(pick: Pick, rows: Mapping[int, OfferJson]) -> OfferJson:
    """The row, and by how much even the quickest misses the latency: 0 where it does not."""
    return {**rows[id(pick.offer)], "over_s": pick.over}
