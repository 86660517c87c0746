"""Act I beside the learner's own machine: matrix products that were measured there, as points under its own roof where that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.kit.context import LOCAL, pick
from ironlaw.kit.local_runs import span
from ironlaw.labs.lab_11_roofline.act1 import gemm
from ironlaw.labs.lab_11_roofline.act1.gemm import Case
from ironlaw.labs.lab_11_roofline.machines import MEASURED_MACHINE
from ironlaw.pictures.roofs import Dot
from ironlaw.registry.machines import hardware
from ironlaw.units import significant
from ironlaw.widget.quantities import format_quantity

SMALL = gemm.MEASURED_N


@dataclass(frozen=True)
class Product:
    """One measured product. `case` has this machine's roof, or that of the machine it is drawn beside."""

    case: Case
    seconds: float
    span: str

    @property
    def rate(self) -> float:
        return float(self.case.work.flops) / self.seconds


def own_machine(lab: kit.Lab, fmt: str) -> bool:
    """Whether this machine is one of the contexts and has a rate for the format."""
    return any(context.slug == LOCAL and fmt in context.hardware.peaks for context in lab.contexts)


def products(lab: kit.Lab, run: kit.Measured, default: Any = None) -> list[Product]:
    measured = []
    for row in run.all(kind="op", op="matmul"):
        n, fmt = int(row["params"]["n"]), str(row["params"]["dtype"])
        machine = pick(lab.contexts, LOCAL).hardware if own_machine(lab, fmt) else default or hardware(MEASURED_MACHINE)
        measured.append(Product(Case(machine, n, n, n, fmt), float(row["wall_s"]), span(row)))
    return measured


def dots(lab: kit.Lab, case: Case) -> list[Dot]:
    """The points of the picture; the fastest is named."""
    run = lab.local_run("gemm_sweep")
    if run is None:
        return []
    measured = products(lab, run, case.hardware)
    best = max(measured, key=lambda product: product.rate)
    return [
        Dot(
            f"here-{p.case.fmt}-{p.case.n}", f"this machine measured, {p.case.fmt.upper()}, N = {p.case.n:,}", float(p.case.work.flops),
            float(p.case.work.bytes), p.case.roof, p.rate, f"here: {format_quantity(p.rate, p.case.unit)}" if p is best else "", "here",
            "square", 6,
            source=run.source, seconds=p.seconds, apart=not own_machine(lab, p.case.fmt),
        )
        for p in measured
    ]  # fmt: skip


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"gemm_sweep": lambda run: lab.fill("act1.here", **slots(lab, run)) + " " + roof(lab, run)}


def slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    measured = products(lab, run)
    best, least = max(measured, key=lambda p: p.rate), min(measured, key=lambda p: p.case.n)
    recorded = [run for run in gemm.runs(best.case.fmt) if not run.replayed]
    fastest, first = max(recorded, key=lambda run: run.rate), min(recorded, key=lambda run: run.case.n)
    return {
        "best": kit.amount(best.rate, best.case.unit), "best_n": f"{best.case.n:,}", "format": best.case.fmt.upper(),
        "least_n": f"{least.case.n:,}", "least": kit.amount(least.rate, least.case.unit),
        "times": kit.dress(significant(best.rate / least.rate)),
        "recorded": kit.amount(fastest.rate, fastest.case.unit), "recorded_n": f"{fastest.case.n:,}", "first_n": f"{first.case.n:,}",
        "first": kit.amount(first.rate, first.case.unit), "recorded_times": kit.dress(significant(fastest.rate / first.rate)),
    }  # fmt: skip


def roof(lab: kit.Lab, run: kit.Measured) -> str:
    """How the fastest product stands to this machine's own roof; or that it is not known yet."""
    best = max(products(lab, run), key=lambda p: p.rate)
    if not own_machine(lab, best.case.fmt):
        return lab.fill("act1.here_no_roof")
    at = best.case.at
    return lab.fill(
        "act1.here_roof", roof=kit.amount(float(at.attainable), best.case.unit), share=kit.share(best.rate, float(at.attainable))
    )


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("gemm_sweep")
    if run is None:
        return {}
    measured = products(lab, run)
    best = max(measured, key=lambda p: p.rate)
    small = next((p for p in measured if p.case.n == SMALL and p.case.fmt == best.case.fmt), None)
    figures = {"gemm_16384_at_peak": kit.LocalFigure(best.rate, best.case.unit, f"the best here, {best.case.size}; {run.source}")}
    if small is not None:
        about = f"{small.case.size}, {small.case.fmt.upper()}; {run.source}"
        figures["h200_n512_python"] = kit.LocalFigure(small.rate, small.case.unit, about)
    return figures
