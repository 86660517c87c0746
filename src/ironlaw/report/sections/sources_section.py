"""Where every figure comes from, machine by machine."""

from __future__ import annotations

from ironlaw.report.analysis import Analysis
from ironlaw.report.markup import items, paragraph, text
from ironlaw.widget.quantities import cite, format_quantity

ALSO = {
    "memory": "capacity, for what fits",
    "reserved": "kept by driver, runtime and system",
    "power": "rated power, for the energy estimate",
}


def section(analysis: Analysis) -> str:
    out = ""
    for machine in analysis.machines:
        runs = analysis.on(machine.slug)
        lines = list(dict.fromkeys(line for p in runs for line in p.sources))
        for name, what in ALSO.items():
            figure = machine.figures.get(name)
            if figure is not None:
                lines.append(f"{what}, {format_quantity(figure.value, figure.unit)}: {cite(figure)}")
        out += f"<h3>{text(machine.name)} <span class='il-quiet'>{text(runs[0].label)}</span></h3>" + items(lines)
    out += paragraph(
        "FLOPs and bytes are counted from the shapes of the operators: each reads its inputs and writes its outputs once;"
        " a multiply and an add are two FLOPs."
    )
    return out
