"""Which services a context stands for, and where a model's first token comes from."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw import kit
from ironlaw.registry.publications import published

CHAIN, PAGES, ANSWER, HERE = "chain", "pages", "answer", "here"
SERVING = "lab_v2_10_kv_serving"
FIRST_TOKEN = 2.0  # seconds at P99: what Lab V2-10 promises, where no design of it was saved
LAYERS = {CHAIN: 5, PAGES: 2, ANSWER: 3, HERE: 5}
EXPONENTIAL, LOGNORMAL, PARETO, MEASURED = "exponential", "lognormal", "pareto", "measured"
LAWS = {EXPONENTIAL: "exponential", LOGNORMAL: "log-normal", PARETO: "Pareto", MEASURED: "as measured here"}


@dataclass(frozen=True)
class Story:
    """Where the dials of Act I begin: services in a row, calls at once in each, the law of a call, its P99 in seconds."""

    steps: int
    calls: int
    law: str
    p99: float


def leaf_p99() -> float:
    """The P99 of one leaf of the tree that Dean and Barroso measured."""
    return published("tail_at_scale").value("latency", case="one leaf", percentile=99.0)


def story(slug: str, measured: bool) -> Story:
    if slug == PAGES:
        return Story(1, 100, EXPONENTIAL, leaf_p99())
    if slug == ANSWER:
        return Story(1, 20, LOGNORMAL, 0.1)
    return Story(5, 1, MEASURED if slug == HERE and measured else EXPONENTIAL, 0.1)


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The first token of the server that Lab V2-10 saved."""
    saved = (lab.ledger.design(SERVING) or {}).get("ttft_p99_s")
    return [kit.Offer(SERVING, "server", {"first": saved})] if isinstance(saved, (int, float)) and saved > 0 else []
