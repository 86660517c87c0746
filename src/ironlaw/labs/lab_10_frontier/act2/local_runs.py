"""Act II beside the learner's own machine: one matrix in many formats."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.units import significant

SHOWN = {"fp16": "FP16 here", "int8": "INT8 here", "zeros_90": "90% zeros, dense, here", "csr_90": "90% zeros, compressed rows, here"}
PLAIN = "fp32"


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"formats": lambda run: kit.caption(lab, "act2.here", slots(run), shows(run))}


def shows(run: kit.Measured) -> bool:
    """Whether fewer bits brought no speed."""
    return min(ratio(run, "fp16"), ratio(run, "int8")) >= 1


def ratio(run: kit.Measured, name: str, batch: int = 1) -> float:
    """How long a product takes, against the plain one at the same batch."""
    row, plain = run.row(name=name, batch=batch), run.row(name=PLAIN, batch=batch)
    assert row is not None and plain is not None
    return float(row["wall_s"]) / float(plain["wall_s"])


def slots(run: kit.Measured) -> dict[str, object]:
    return {
        "fp16": _times(ratio(run, "fp16")), "int8": _times(ratio(run, "int8")), "zeros": _times(ratio(run, "zeros_90")),
        "csr": _times(ratio(run, "csr_90")), "csr_bytes": _bytes(run, "csr_90"), "int8_bytes": _bytes(run, "int8"),
    }  # fmt: skip


def _times(value: float) -> str:
    return kit.times(value)


def _bytes(run: kit.Measured, name: str) -> str:
    row, plain = run.row(name=name, batch=1), run.row(name=PLAIN, batch=1)
    assert row is not None and plain is not None
    return kit.share(float(row["params"]["bytes"]), float(plain["params"]["bytes"]))


def beside(lab: kit.Lab) -> dict[str, tuple[str, float, str]]:
    """Bars of what was measured here: name -> colour, time in % of the plain product, source."""
    run = lab.local_run("formats")
    if run is None:
        return {}
    return {label: ("here", 100 * ratio(run, name), f"of FP32's time at batch 1; {run.source}") for name, label in SHOWN.items()}


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    run = lab.local_run("formats")
    if run is None:
        return {}
    source = f"NumPy, batch 1; {run.source}"
    return {
        "half_the_bits_twice_the_speed": kit.LocalFigure(1 / ratio(run, "int8"), "×", f"INT8 against FP32, {source}"),
        "pruning_no_speedup": kit.LocalFigure(1 / ratio(run, "csr_90"), "×", f"compressed rows with {significant(90)}% zeros, {source}"),
    }
