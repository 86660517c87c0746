"""What the learner measured on this machine, read from the ledger: the newest run of each experiment, and its rows by their fields."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.cards import MINUS
from ironlaw.ledger import Event
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.experiments import (
    batches,
    checkpointing,
    collectives_trial,
    compression,
    energy_trial,
    fan_out,
    kv_decode,
    line_trial,
    memory_trial,
    omission,
    resample,
    stages_trial,
    staircase_trial,
    train_here,
    workers,
)
from ironlaw.measure.experiments.trials import COMPILED_SHAPE, LENGTHS
from ironlaw.measure.software_host import cores, cpu_name, in_browser
from ironlaw.units import significant
from ironlaw.widget.quantities import THIN, format_quantity


@dataclass(frozen=True)
class Measured:
    """One run of one experiment."""

    experiment: str
    library: str
    rows: tuple[Mapping[str, Any], ...]
    machine: Mapping[str, Any]
    software: Mapping[str, Any]
    noise: Mapping[str, Any]
    time: str

    @property
    def source(self) -> str:
        """`measured here, NumPy 2.1.3, 2026-11-15`; in a browser, which can't measure, on what it was measured."""
        where = f"on {self.machine.get('cpu', 'your machine')}" if in_browser() else "here"
        return f"measured {where}, {self.library}, {self.time[:10]}"

    @property
    def noisy(self) -> bool:
        return bool(self.noise.get("noisy"))

    @property
    def verdict(self) -> str:
        """How far the figures can be trusted."""
        reasons = "; ".join(str(reason) for reason in self.noise.get("reasons", ()))
        return f"Noisy: {reasons}. Close other programs and measure again." if self.noisy else "The machine was quiet enough."

    def all(self, **conditions: Any) -> Iterator[Mapping[str, Any]]:
        """The rows whose fields, or fields of `params`, have these values."""
        for row in self.rows:
            fields = {**row.get("params", {}), **row}
            if all(fields.get(key) == value for key, value in conditions.items()):
                yield row

    def row(self, **conditions: Any) -> Mapping[str, Any] | None:
        return next(self.all(**conditions), None)

    def ways(self) -> list[str]:
        """The fused modes, in the order in which they ran."""
        return list(dict.fromkeys(str(row["mode"]) for row in self.rows if row.get("mode", "eager") != "eager"))


def read_event(event: Event) -> Measured:
    payload = event.payload
    return Measured(
        str(payload["experiment"]), str(payload.get("library", "")), tuple(row for row in payload["rows"] if row["kind"] in ROW.kinds),
        payload["machine"], payload["software"], payload["noise"], event.time,
    )  # fmt: skip


def newest(ledger: Any) -> dict[str, Measured]:
    """Experiment -> its newest run on this machine, from any lab; in a browser, on the learner's own, wherever that is. One that lacks
    what its experiment measures is passed over."""
    runs: dict[str, Measured] = {}
    for event in ledger.events(kind="measured"):
        run = read_event(event)
        here = in_browser() or {key: run.machine.get(key) for key in ("cpu", "cores", "architecture")} == same()
        if here and _complete(run):
            runs[run.experiment] = run
    return runs


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
    "energy": tuple({"kind": "case", "name": energy_trial.TIME, "batch": batch} for batch in energy_trial.BATCHES),
    "bits": tuple({"kind": "figure", "bits": b, "scale": str(scale)} for b in compression.BITS for scale, _ in compression.SCALES),
    "formats": tuple({"kind": "case", "name": name, "batch": 1} for name in (compression.PLAIN, "fp16", "int8", "zeros_90", "csr_90")),
}


def _complete(run: Measured) -> bool:
    """Whether the rows are there that the labs speak of."""
    if run.experiment in NEEDED:
        return all(run.row(**wanted) for wanted in NEEDED[run.experiment])
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


def _has_figures(row: Mapping[str, Any] | None, names: Sequence[str]) -> bool:
    """Whether a row's parameters hold these figures, above 0; a ledger may come from anywhere."""
    return row is not None and all(isinstance(row["params"].get(n), (int, float)) and 0 < row["params"][n] < 1e9 for n in names)


def is_curve(values: Any) -> bool:
    """Times above 0 in rising order: what a distribution can be drawn from."""
    if not isinstance(values, (list, tuple)) or len(values) < 2 or not all(isinstance(v, (int, float)) and 0 < v < 1e9 for v in values):
        return False
    return list(values) == sorted(values)


def same() -> dict[str, object]:
    """What identifies this machine: a ledger may come from another."""
    return {"cpu": cpu_name(), "cores": cores(), "architecture": platform.machine()}


def cost(run: Measured, op: str = "add") -> Mapping[str, Any]:
    """The row of one tiny op: `wall_s` queued, `sync_s` waited for."""
    row = run.row(kind="launch", op=op)
    if row is None:
        raise BadValue(f"the measurement of {run.experiment} has no {op!r}; measure it again")
    return row


def span(row: Mapping[str, Any], name: str = "wall_s") -> str:
    """`0.72 to 0.81 µs`: from the tenth percentile to the ninetieth."""
    if name == "value":
        ends = f"{significant(float(row['low']))} to {format_quantity(float(row['high']), str(row['unit']))}"
        return ends.replace("-", MINUS)
    start = "" if name == "wall_s" else name.removesuffix("s")
    low, high = (format_quantity(float(row[f"{start}{end}_s"]), "s") for end in ("low", "high"))
    number, _, unit = low.partition(THIN)
    return f"{number} to {high}" if unit == high.partition(THIN)[2] else f"{low} to {high}"
