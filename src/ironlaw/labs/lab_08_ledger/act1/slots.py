"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.backends.rows import Row
from ironlaw.labs.lab_08_ledger.act1.instrument import PREMISE
from ironlaw.registry import evidence
from ironlaw.registry.workloads import about
from ironlaw.units import significant

CARD = 8e9  # the researcher's card
MILLIONS = f"{significant(float(PREMISE.graph.params) / 1e6)} million"
SOURCE = "h200_sxm/training_memory"


def gigabytes(value: float) -> str:
    return kit.amount(float(value), "B")


def message() -> dict[str, object]:
    """The researcher's own figures: they are the question, not the answer."""
    weights = float(PREMISE.graph.weight_bytes)
    return {"size": gigabytes(weights)}


def lock() -> dict[str, object]:
    return {"batch": str(PREMISE.setup.batch), "tokens": f"{PREMISE.seq:,}", "count": MILLIONS}


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def measured_row(**wanted: object) -> Row:
    rows = [r for r in evidence.file(SOURCE).rows if all(r.get(key) == value for key, value in wanted.items())]
    return rows[0]


def reveal() -> dict[str, object]:
    now = PREMISE.ledger
    row = measured_row(workload="gpt2", batch=8, recipe="fp32", optimiser="adamw", checkpoint=0)
    logits = 4.0 * PREMISE.setup.batch * PREMISE.seq * about("gpt2")["params"]["vocab"]
    held = PREMISE.with_(batch=1).peak / float(now.static.weights)
    return {
        "peak": gigabytes(now.peak), "weights": gigabytes(now.static.weights), "moments": gigabytes(now.static.optimiser),
        "kept": gigabytes(float(now.kept) - logits), "head": gigabytes(now.at_peak("head")), "logits": gigabytes(logits),
        "times": kit.times(float(now.peak / now.static.weights)), "one": kit.times(held), "vocab": f"{about('gpt2')['params']['vocab']:,}",
        "measured": gigabytes(row.value("allocated_peak_bytes")), "extra": gigabytes(row.value("allocated_peak_bytes") - float(now.peak)),
        "reserved": gigabytes(row.value("reserved_bytes")), "context": gigabytes(row.value("context_bytes")),
        "source": evidence.file(SOURCE).source, "card": gigabytes(CARD),
        "update": gigabytes(now.profile[-1].total), "static": gigabytes(now.static.total),
        "update_measured": gigabytes(row.value("update_peak_bytes")),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    split = replace(PREMISE.with_(batch=2 * PREMISE.setup.batch), seq=PREMISE.seq // 2)
    stored = [one.with_(attention="three_kernels").peak for one in (PREMISE, split)]
    return {
        "peak_before": gigabytes(PREMISE.peak), "peak_after": gigabytes(split.peak),
        "stored_before": gigabytes(stored[0]), "stored_after": gigabytes(stored[1]),
    }  # fmt: skip


def peek() -> dict[str, object]:
    now = PREMISE.ledger
    double = PREMISE.with_(batch=2 * PREMISE.setup.batch)
    wide, heads, tokens = 12288, 96, 2048  # GPT-3, as the paper takes it
    scores = 5 * heads * tokens / wide
    return {
        "count": MILLIONS, "static": gigabytes(now.static.total), "kept": gigabytes(now.kept),
        "peak": gigabytes(now.peak), "layer": "34", "scores": significant(scores), "freed": kit.share(scores, 34 + scores),
        "double": kit.times(double.peak / PREMISE.peak), "batch": str(PREMISE.setup.batch), "twice": str(2 * PREMISE.setup.batch),
    }  # fmt: skip
