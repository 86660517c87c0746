"""Steps of a script that were run for real, beside what was predicted for the machine that ran them."""

from __future__ import annotations

from collections.abc import Iterable

from ironlaw.calibration.local_machine import SLUG
from ironlaw.cli.show import draw
from ironlaw.engine.device.predict import Prediction
from ironlaw.systems.script_captures import RealSteps
from ironlaw.tracing.scripts.run_script import WARM
from ironlaw.units import show, significant

NOT_HERE = "None of the machines above is this one, so nothing is compared; run `ironlaw measure` once, then ask for --on this."


def report(real: RealSteps, predictions: Iterable[Prediction]) -> None:
    peak = f" PyTorch held {show(real.peak_bytes, 'B')} at most." if real.peak_bytes else ""
    draw.say(
        f"Trained for real on {real.device}: {show(real.seconds, 's')} per step, the mean of {draw.plural(real.steps, 'step')} after {WARM}"
        f" that warmed up.{peak}",
        draw.STRONG,
    )
    here = [p for p in predictions if is_here(p, real.device)]
    for p in here:
        times = significant(float(p.seconds) / real.seconds)
        memory = f"; memory {significant(float(p.memory.total) / real.peak_bytes)} times" if real.peak_bytes else ""
        draw.say(f"Predicted for {p.hardware.slug}, {p.plan.mode}: {show(p.seconds, 's')}, {times} times what it took{memory}.")
    if not here:
        draw.say(NOT_HERE, draw.DIM)


def is_here(p: Prediction, device: str) -> bool:
    """A GPU by its name, such as NVIDIA H200; a processor as the machine that was measured here."""
    on_gpu = device != "cpu"
    measured = p.hardware.slug == SLUG and (p.hardware.dispatch == "queued") == on_gpu
    return measured or (on_gpu and p.hardware.name.startswith(device))
