"""What would fit: the largest batch and the longest sequence, machine by machine."""

from __future__ import annotations

from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.systems.largest_sizes import Capacity, words
from ironlaw.units import show_usable


def section(capacities: tuple[Capacity, ...]) -> str:
    if not capacities:
        return ""
    machines = {capacity.machine.slug: capacity.machine for capacity in capacities}
    rows: list[list[Cell]] = []
    for slug, machine in machines.items():
        sizes = "; ".join(words(capacity) for capacity in capacities if capacity.machine.slug == slug)
        rows.append([machine.name, show_usable(float(machine.capacity), float(machine.usable)), sizes])
    out = "<h3>What would fit</h3>" + table(("machine", "memory", "holds, eager"), rows, "The largest batch and the longest sequence", (1,))
    return out + paragraph(
        "This counts weights, caches, the activations alive at once and what PyTorch's allocator can't use between them, within what"
        " driver, runtime and system leave.",
        "il-quiet",
    )
