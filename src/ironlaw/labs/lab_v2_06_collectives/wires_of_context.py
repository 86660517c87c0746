"""What a context stands for: how many ranks, seconds per step and bytes per second; and the wires inside a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.errors import BadValue
from ironlaw.measure.experiments import collectives_trial
from ironlaw.registry.boxes import box
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.timed_wires import step_latency, timed_wire
from ironlaw.systems.fields import among, figure, times, whole

PORTS, NVLINK, SAVED, HERE = "ports", "nvlink", "saved", "here"
LAB_02 = "lab_v2_02_interconnect"
ASKED, ALPHA = 256, 5e-6  # ranks and seconds per step of the question
BOX = "dgx_h100"
ALPHAS, BETAS, RANKS = (1e-7, 1e-3), (1e7, 450e9), (2, 4096)  # what the dials hold


@dataclass(frozen=True)
class Wires:
    """`inner` figures are of the links inside a node."""

    ranks: int = whole(label="Ranks", least=RANKS[0], most=RANKS[1], dial="span", log=True, steps=[2**i for i in range(1, 13)])
    alpha: float = figure(
        label="Latency of a step, α", unit="µs", low=1e6 * ALPHAS[0], high=1e6 * ALPHAS[1], dial="span", log=True, means=times(1e-6)
    )
    beta: float = figure(
        label="Bandwidth of a wire, β", unit="GB/s", low=BETAS[0] / 1e9, high=BETAS[1] / 1e9, dial="span", log=True, means=times(1e9)
    )
    per_node: int = among((1, 2, 4, 8), 1, "Ranks per node")
    alpha_inner: float = 0.0
    beta_inner: float = 0.0


def question() -> Wires:
    """A port for each of 256 GPUs."""
    return Wires(ASKED, ALPHA, interconnect("ndr400").per_direction, box(BOX).devices, step_latency("link"), box(BOX).bus)


def wires_of(lab: kit.Lab) -> Wires:
    """Where the dials begin in the lab's context; the question's own where a context has nothing yet."""
    found = BY_CONTEXT[lab.current_context.slug](lab)
    if found is None:
        return question()
    return replace(found, ranks=_held(found.ranks, RANKS), alpha=_held(found.alpha, ALPHAS), beta=_held(found.beta, BETAS))


def _held(value: Any, ends: tuple[Any, Any]) -> Any:
    return min(max(value, ends[0]), ends[1])


def _nvlink(_: kit.Lab) -> Wires:
    wire = timed_wire(BOX, 8).wire
    return Wires(8, wire.alpha, wire.beta, 1, wire.alpha, wire.beta)


def lab_02(lab: kit.Lab) -> Mapping[str, Any] | None:
    """Lab V2-02's design, where it has ranks and the rate of the slowest edge."""
    design = lab.ledger.design(LAB_02) or {}
    ranks, rate = design.get("ranks"), design.get("beta_bytes_per_s")
    usable = isinstance(ranks, int) and ranks >= RANKS[0] and isinstance(rate, (int, float)) and rate > 0
    return design if usable else None


def _saved(lab: kit.Lab) -> Wires | None:
    """One ring over the cards of Lab V2-02, at its slowest edge, with its α. An older design has none for a step; then it is NCCL's."""
    design = lab_02(lab)
    if design is None:
        return None
    crosses = design["ranks"] > box(BOX).devices
    saved = design.get("alpha_step_s")
    alpha = float(saved) if isinstance(saved, (int, float)) and saved > 0 else step_latency("nic" if crosses else "link")
    beta = float(design["beta_bytes_per_s"])
    return Wires(design["ranks"], alpha, beta, 1, alpha, beta)


def own_fit(lab: kit.Lab) -> tuple[kit.Measured, Any, float, float] | None:
    """(the run, α and β, their error, that of the predicted) of this machine's paced ranks; None until they were measured."""
    run = lab.local_run("collectives")
    if run is None:
        return None
    try:
        wire, seen, predicted = collectives_trial.compare([dict(row) for row in run.rows])
    except BadValue:
        return None
    return run, wire, seen, predicted


def _here(lab: kit.Lab) -> Wires | None:
    fitted = own_fit(lab)
    if fitted is None:
        return None
    wire = fitted[1]
    return Wires(
        max(collectives_trial.SIZES[collectives_trial.PACED]), wire.alpha, min(wire.beta, BETAS[1]), 1, wire.alpha, min(wire.beta, BETAS[1])
    )


BY_CONTEXT = {PORTS: lambda _: question(), NVLINK: _nvlink, SAVED: _saved, HERE: _here}
