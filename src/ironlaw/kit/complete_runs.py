"""Whether a run on this machine has the rows that the labs speak of; a ledger may come from anywhere.

Apart from local_runs.py, since it brings every experiment, and a learner who has measured nothing needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.kit.measured_run import Measured
from ironlaw.measure.experiments import (
    batches,
    checkpointing,
    collectives_trial,
    compression,
    dp_sgd,
    energy_trial,
    fan_out,
    kv_decode,
    line_trial,
    memory_trial,
    omission,
    pgd,
    resample,
    scaling_trial,
    stages_trial,
    staircase_trial,
    tails_trial,
    train_here,
    workers,
)
from ironlaw.measure.experiments.trials import COMPILED_SHAPE, LENGTHS

# experiment -> what rows it must have, each as its fields
NEEDED: dict[str, tuple[dict[str, Any], ...]] = {
    "tiny_ops": tuple({"kind": "launch", "op": op} for op in ("nothing", "add")),
    "ds_cnn": ({"kind": "model", "batch": 1, "mode": "eager"},),
    "gemm_sweep": ({"kind": "op", "op": "matmul"},),
    "resample": tuple({"kind": "figure", "name": f"{rate}_gap"} for rate in resample.NAMES),
    "train_here": tuple({"kind": "figure", "name": "precision", "people": people} for people in train_here.SIZES),
    "stages": tuple({"kind": "case", "name": name, "variant": variant} for name in ("model", "whole") for variant in stages_trial.VARIANTS),
    "workers": tuple({"kind": "case", "name": way, "workers": n} for way in workers.WAYS for n in (1, 2)),
    "omission": tuple({"kind": "figure", "name": way, "p": 0.99} for way in (omission.CLOSED, omission.OPEN)),
    "staircase": tuple({"kind": "case", "name": way, "bytes": size} for way, (_, size) in staircase_trial.STEPS.items()),
    "kv_decode": tuple({"kind": "case", "way": way, "tokens": n} for way in kv_decode.WAYS for n in kv_decode.LENGTHS),
    "checkpointing": (
        *({"kind": "case", "name": name} for name in (checkpointing.SAVE, checkpointing.RESTART)),
        *({"kind": "figure", "name": checkpointing.GOODPUT, "factor": factor} for factor in checkpointing.FACTORS),
    ),
    "tails": tuple(
        {"kind": "case", "name": name, "neighbours": n} for name in ("one", "chain", "independent") for n in (0, tails_trial.NEIGHBOURS)
    ),
    "dp_sgd": tuple({"kind": "figure", "name": "accuracy", "records": records, "noise": noise} for records, noise in dp_sgd.CASES),
    "pgd": (
        *({"kind": "case", "name": name} for name in ("step", "forward")),
        *({"kind": "figure", "name": "attacked", "attack": attack, "epsilon": e} for attack in pgd.ATTACKS for e in pgd.EPSILONS),
    ),
    "energy": tuple({"kind": "case", "name": energy_trial.TIME, "batch": batch} for batch in energy_trial.BATCHES),
    "bits": tuple({"kind": "figure", "bits": b, "scale": str(scale)} for b in compression.BITS for scale, _ in compression.SCALES),
    "formats": tuple({"kind": "case", "name": name, "batch": 1} for name in (compression.PLAIN, "fp16", "int8", "zeros_90", "csr_90")),
}


# experiment -> figures that the parameters of these rows must hold
FIGURES = {"tails": ("p99_s",), "dp_sgd": ("epsilon",)}


def complete(run: Measured) -> bool:
    """Whether the rows are there that the labs speak of."""
    if run.experiment in NEEDED:
        rows = [run.row(**wanted) for wanted in NEEDED[run.experiment]]
        return all(row is not None and _has_figures(row, FIGURES.get(run.experiment, ()), zero=True) for row in rows)
    if run.experiment == "scaling":
        return _computes(lambda: scaling_trial.compare(run.rows))
    if run.experiment == "fan_out":
        leaf, last = run.row(kind="case", name=fan_out.LEAF), fan_out.JOINED[-1]
        pages = all(run.row(kind="case", name=name, k=last) for name in (fan_out.PAGE, fan_out.INDEPENDENT))
        return pages and leaf is not None and is_curve(leaf["params"].get("quantiles"))
    if run.experiment == "collectives":
        small = all(run.row(kind="case", name=collectives_trial.FREE, **case) for case in collectives_trial.smallest())
        return small and all(
            _has_figures(row, ("steps", "busiest_bytes")) for row in (run.row(**case) for case in collectives_trial.paced())
        )
    if run.experiment == "ledger":
        return _has_figures(run.row(kind="figure", name=memory_trial.KEPT), ("expected",))
    if run.experiment == "line":
        return all(_has_figures(run.row(kind="case", load=load), line_trial.FIGURES) for load in line_trial.LOADS)
    if run.experiment == "batches":
        streams = [run.row(kind="case", name=name, load=load) for name, load, _ in batches.STREAMS]
        return all(_has_figures(stream, (*line_trial.FIGURES, "batch")) for stream in streams)
    chains: dict[str, dict[str, Any]] = {"three_op_chain": {"shape": list(COMPILED_SHAPE)}, "pointwise_chain": {"ops": LENGTHS[-1]}}
    if run.experiment not in chains:
        return True
    modes = {row["mode"] for row in run.all(kind="function", **chains[run.experiment])}
    return "eager" in modes and len(modes) > 1


def _computes(act: Callable[[], object]) -> bool:
    try:
        act()
    except Exception:  # whatever rows from elsewhere lack
        return False
    return True


def _has_figures(row: Mapping[str, Any] | None, names: Sequence[str], zero: bool = False) -> bool:
    """Whether a row's parameters hold these figures, above 0 or from 0 on; a ledger may come from anywhere."""
    if row is None:
        return False
    params = row.get("params", {})
    return all(isinstance(params.get(n), (int, float)) and (0 < params[n] < 1e9 or (zero and params[n] == 0)) for n in names)


def is_curve(values: Any) -> bool:
    """Times above 0 in rising order: what a distribution can be drawn from."""
    if not isinstance(values, (list, tuple)) or len(values) < 2 or not all(isinstance(v, (int, float)) and 0 < v < 1e9 for v in values):
        return False
    return list(values) == sorted(values)
