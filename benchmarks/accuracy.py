"""How far predictions are from what the H200 measured, over every model of the open set: the registry's, and those that are captured.

    python benchmarks/accuracy.py [--rows]

Device time and kernels by mode; what compiling brings, eager over compiled; and how many models fall into their interval. Curves are fitted
to single operators, and what an interval adds to its operators' to models of the sealed set that were opened, so every model here is held
out of both. "without its rows" also leaves out the measured operators nearest to the model's own, as if none had been measured for it.
Needs PyTorch and transformers; about two minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import dist
from statistics import mean

from open_set import MACHINE, captured_models

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.scatter import Outcome, by_mode, holds
from ironlaw.compare import Comparison, Speedup, comparisons, speedups
from ironlaw.engine.device.intervals import HOST, judged
from ironlaw.engine.device.machine import CostModel, Hardware
from ironlaw.systems.accuracy.refit import outcomes, registry_models

NEXT = 0.25  # length scales
FEWEST = 4  # rows of a family, for it to say anything


def compared(found: list[tuple[Row, il.Graph]]) -> list[Comparison]:
    """Each captured model's row beside its prediction."""
    machine, out = il.hardware(MACHINE), []
    for row, graph in found:
        plan = il.Plan(mode="eager" if row.mode == "training" else row.mode)
        p = il.predict(graph, machine, plan)
        bound = il.predict(graph, machine, il.Plan(mode=plan.mode, calibrated=False)).busy_s
        name = f"{row.model} (batch {row.params['batch']})"
        out.append(
            Comparison(MACHINE, "model", name, row.mode, p.busy_s, row.busy_s or 0.0, bound, p.kernels, row.kernels, "zoo", row.model)
        )
    return out


def coverage_line(title: str, seen: list[Outcome], model: CostModel) -> None:
    parts = []
    for mode, mine in by_mode(seen).items():
        by = model.scatter[HOST] if mode == HOST else judged(model.scatter, mode)
        inside = sum(holds(one, by, model.common) for one in mine)
        parts.append(f"{mode} {inside} of {len(mine)} ({inside / len(mine):.0%})")
    print(f"{title}: {', '.join(parts)}")


def without_rows(graph: il.Graph, mode: str) -> Hardware:
    """The machine as if no operator of this model had been measured, nor any next to one of them."""
    machine = il.hardware(MACHINE)
    fitted = machine.calibration
    assert isinstance(fitted, Calibration)
    families = dict(fitted.families)
    for row in il.predict(graph, machine, il.Plan(mode=mode)).ops:
        signature = fitted.library.signature(row.op, mode)
        if signature and (family := families.get(signature.family)):
            here = [value / scale for value, scale in zip(signature.place, family.scales, strict=True)]
            kept = [i for i, place in enumerate(family.places) if dist(place, here) > NEXT]
            if len(kept) < FEWEST:
                del families[signature.family]
            elif len(kept) < len(family.places):
                places, residuals = tuple(family.places[i] for i in kept), tuple(family.residuals[i] for i in kept)
                extras = tuple(family.extras[i] for i in kept) if family.extras else ()
                families[signature.family] = replace(family, places=places, residuals=residuals, extras=extras, answers={})
    return replace(machine, calibration=replace(fitted, families=families))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", action="store_true", help="every model too")
    args = parser.parse_args()
    captured = list(captured_models())
    found = [*comparisons(MACHINE, "model"), *compared(captured)]
    print(f"{'mode':10}{'models':>8}{'device time':>14}{'worst':>9}{'kernels':>10}")
    for mode in dict.fromkeys(gap.mode for gap in found):
        mine = [gap for gap in found if gap.mode == mode]
        known = [gap for gap in mine if gap.measured_kernels]
        counts = mean(abs(gap.kernels / float(gap.measured_kernels or 1) - 1) for gap in known) if known else 0.0
        worst = max((gap.error for gap in mine), key=abs)
        print(f"{mode:10}{len(mine):8}{mean(abs(g.error) for g in mine):14.1%}{worst:+9.0%}{counts:10.1%}")
    machine, models = il.hardware(MACHINE), [*registry_models(MACHINE), *captured]
    assert machine.calibration is not None
    print("inside the interval, which should hold four unseen models in five:")
    coverage_line("  device time, and the host's where it is mostly waited for", list(outcomes(machine, models)), machine.calibration)
    fresh = [
        one
        for row, graph in models
        for one in outcomes(without_rows(graph, "eager" if row.mode == "training" else row.mode), [(row, graph)])
        if one.mode != HOST
    ]
    coverage_line("  the same without its rows", fresh, machine.calibration)
    brought: list[Speedup] = speedups(found)
    worst_of = max(brought, key=lambda s: abs(s.error))
    off = mean(abs(one.error) for one in brought)
    print(f"speed-up from compiling, {len(brought)} models: {off:.1%}, worst {worst_of.error:+.0%} {worst_of.name}")
    if args.rows:
        for gap in sorted(found, key=lambda gap: -abs(gap.error)):
            print(f"{gap.name:42}{gap.mode:10}{gap.error:+8.1%}  kernels {gap.kernels:,.0f} of {gap.measured_kernels or 0:,.0f}")
        for one in sorted(brought, key=lambda s: -abs(s.error)):
            print(f"{one.name:42}{'speed-up':10}{one.error:+8.1%}  {one.predicted:.2f}× of {one.measured:.2f}×")


if __name__ == "__main__":
    main()
