"""What `ironlaw analyze` shows side by side: machines and modes, batches, stored weights, and what would fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.stored_weights import quantised
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work.quantised_work import unpacking
from ironlaw.formats import operation
from ironlaw.report.analysis import Analysis
from ironlaw.report.cost_words import GROUNDS
from ironlaw.report.model_variants import Variant, comparable, lines, matrix
from ironlaw.systems.largest_sizes import together, words
from ironlaw.units import show


def several(analysis: Analysis) -> bool:
    """Whether there are several machines and several modes, so that a table compares them."""
    runs = analysis.predictions
    return len({p.hardware.slug for p in runs}) > 1 and len({p.plan.mode for p in runs}) > 1


def machines(analysis: Analysis) -> None:
    """Every machine against every mode."""
    shown, mixed = comparable(analysis.predictions, analysis.graph)
    modes, rows = matrix(shown)
    first = shown[0]
    by = f"; {GROUNDS[mixed]}, to compare like with like" if mixed else ""
    draw.heading("side by side", f"time, and speed against {first.hardware.slug} {first.plan.mode}{by}")
    cells: list[list[Any]] = [[row[0][0], *(f"{time}  {times:>6}" for time, times in row[1:])] for row in rows]
    draw.table(["machine", *modes], cells, left=("machine",))


def variants(several: tuple[Variant, ...], title: str) -> None:
    if len(several) < 2:
        return
    draw.heading(title, "each machine's fastest mode: time per call, samples per second")
    columns, rows = lines(several)
    cells = [[(cell[0], draw.BAD) if isinstance(cell, tuple) else cell for cell in row] for row in rows]
    draw.table(columns, cells, left=("variant",), text=tuple(columns[2:]))


def fits(analysis: Analysis) -> None:
    """The largest batch and the longest sequence, in a line each where there are several machines."""
    machines = dict.fromkeys(capacity.machine.slug for capacity in analysis.capacities)
    if len(machines) == 1:
        sizes = [words(capacity) for capacity in analysis.capacities]
        draw.say(f"{next(iter(machines))} can hold, in eager mode, {' or '.join(sizes)}{left_free(analysis)}.", draw.DIM)
    for what in dict.fromkeys(capacity.what for capacity in analysis.capacities) if len(machines) > 1 else ():
        alike = [capacity for capacity in analysis.capacities if capacity.what == what]
        draw.say(f"{together(alike)}{left_free(analysis)}.", draw.DIM)
    for line in analysis.unsized:
        draw.say(f"{line[0].upper()}{line[1:]}.", draw.DIM)


def left_free(analysis: Analysis) -> str:
    """What the promise leaves room for."""
    margins = {p.memory.margin for p in analysis.predictions if p.plan.mode == "eager" and p.memory.margin}
    return f", with a margin of {max(margins):.0%}" if margins else ""


def weights(analysis: Analysis, own: Graph) -> None:
    """What storing the weights in fewer bits changes; `own` is the graph with the weights as they are."""
    fmt = analysis.graph.settings.get("weights")
    if not fmt:
        return
    draw.say(stored_words(analysis.graph, own, str(fmt)), draw.DIM)
    p = analysis.predictions[0]
    if p.calibrated and p.plan.mode == "eager":
        torch = predict(quantised(own, str(fmt), kernel="library"), p.hardware, replace(p.plan))
        draw.say(
            f"{p.hardware.slug}: this assumes a kernel as fast as the plain product. With PyTorch's own _weight_{fmt}pack_mm, as measured,"
            f" eager takes {show(torch.seconds, 's')} instead of {show(p.seconds, 's')}.",
            draw.DIM,
        )


def stored_words(graph: Graph, own: Graph, fmt: str) -> str:
    changed = [op for op in graph.ops if op.kind.startswith("quantised_")]
    extra = sum(float(unpacking(op.inputs[1], op.outputs[0].size)) for op in changed)
    text = (
        f"Weights of {draw.plural(len(changed), 'linear layer')} in {fmt}: {show(graph.weight_bytes, 'B')} of weights instead of"
        f" {show(own.weight_bytes, 'B')}, {show(graph.bytes, 'B')} moved instead of {show(own.bytes, 'B')}."
        f" The multiply-adds stay in {graph.dtype}, and unpacking the weights adds {show(extra, operation(graph.dtype))}."
    )
    kept = graph.settings.get("kept")
    return f"{text} Left as they are, because something else reads them too: {', '.join(kept)}." if kept else text
