"""Act II's words: truth, distance and slots, for the prediction's own start."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.training.checkpointing import best_checkpoints, checkpoint_bytes, continuous_checkpoints
from ironlaw.engine.training.setup import Setup
from ironlaw.engine.training.training_ledger import ROWS
from ironlaw.labs.lab_08_ledger.act1 import slots as first
from ironlaw.labs.lab_08_ledger.act1.instrument import PREMISE
from ironlaw.labs.lab_08_ledger.act2 import instrument
from ironlaw.labs.lab_08_ledger.act2.instrument import CHANGES, START
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.systems.training.ledger_cases import LedgerCase as Case
from ironlaw.units import significant

WORDS = {
    "checkpoint": "recomputing", "adam8bit": "an eight-bit optimiser", "loss_chunks": "chunking the loss",
    "batch": "dropping one sequence",
}  # fmt: skip


def gigabytes(value: float) -> str:
    return kit.amount(float(value), "B")


def freed(name: str) -> float:
    return START.peak - START.with_(**CHANGES[name]).peak


def message() -> dict[str, object]:
    return {"model": START.name, "tokens": f"{START.seq:,}", "card": kit.dress(kit.capacity(float(hardware("rtx_4090").capacity)))}


def lock() -> dict[str, object]:
    return {"model": START.name, "micro": str(START.setup.batch), "tokens": f"{START.seq:,}"}


def truth(lab: kit.Lab) -> str:
    right = lab.question("act2").right
    return f"{kit.inline(right.label)} It frees {gigabytes(freed(right.id))}"


def distance(lab: kit.Lab) -> str:
    option, right = lab.choice("act2"), lab.question("act2").right
    if option is None:
        return ""
    if option.id == right.id:
        rest = max(freed(name) for name in CHANGES if name != right.id)
        return f"right, and the next best frees {gigabytes(rest)}"
    factor = kit.dress(significant(freed(right.id) / freed(option.id)))
    return f"off by a factor of {factor}, because {WORDS[option.id]} frees only {gigabytes(freed(option.id))}"


def reveal() -> dict[str, object]:
    now = START.ledger
    every = START.with_(checkpoint=16)
    both = every.with_(loss_chunks=8)
    row = first.measured_row(workload="llama3_2_1b", batch=4, recipe="mixed", optimiser="adamw", checkpoint=0)
    again = first.measured_row(workload="llama3_2_1b", batch=4, recipe="mixed", optimiser="adamw", checkpoint=1)
    once = Case(START.model, START.seq, Setup("mixed", "adamw", 4))
    return {
        **{name: gigabytes(freed(name)) for name in CHANGES}, "peak": gigabytes(now.peak), "static": gigabytes(now.static.total),
        "after": gigabytes(every.peak), "both": gigabytes(both.peak), "usable": gigabytes(hardware("rtx_4090").usable),
        "kept": gigabytes(now.at_peak("kept")), "head": gigabytes(now.at_peak("head")),
        "vocab": f"{about(START.model)['params']['vocab']:,}",
        "model_once": gigabytes(once.peak), "measured": gigabytes(row.value("allocated_peak_bytes")),
        "model_again": gigabytes(once.with_(checkpoint=16).peak), "measured_again": gigabytes(again.value("allocated_peak_bytes")),
        "slower": kit.times(again.value("wall_s") / row.value("wall_s")), "flops": kit.times(1 + instrument.again(every)),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    one, many = (Case("gpt2", 512, Setup("mixed", "adamw", 4, accumulate=n)).ledger for n in (1, 16))
    assert one.rows["kept"] == many.rows["kept"]
    return {
        "gradients": gigabytes(one.rows["gradients"]), "kept": gigabytes(one.rows["kept"]), "optimiser": gigabytes(one.rows["optimiser"]),
        "weights": gigabytes(one.rows["weights"]), "early": gigabytes(many.profile[0].bytes[ROWS.index("gradients")]),
    }  # fmt: skip


def peek() -> dict[str, object]:
    layers, boundary, layer = 48, 2.0, 34.0
    best = best_checkpoints(layers, boundary, layer)
    count, least = continuous_checkpoints(layers, boundary, layer)
    root = round(layers**0.5)
    return {
        "layers": str(layers), "boundary": significant(boundary), "layer": significant(layer), "best": str(best),
        "best_bytes": significant(checkpoint_bytes(layers, boundary, layer, best)), "count": significant(count),
        "least": significant(least),
        "root": str(root), "root_bytes": significant(checkpoint_bytes(layers, boundary, layer, root)),
        "every_bytes": significant(checkpoint_bytes(layers, boundary, layer, layers)),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {
        "times": kit.times(PREMISE.peak / float(PREMISE.ledger.static.weights)), "head": gigabytes(PREMISE.ledger.at_peak("head")),
        "kept_before": gigabytes(PREMISE.ledger.kept), "kept_after": gigabytes(PREMISE.with_(recipe="mixed").ledger.kept),
    }  # fmt: skip
