"""Where samples and stored weights come from: the only place here that names a room's inside."""

from __future__ import annotations

from collections import defaultdict

from ironlaw.backends import require
from ironlaw.engine.device.stored_weights import quantised
from ironlaw.registry.evidence import evidence
from ironlaw.registry.machines import hardware

__all__ = ["of_machine", "quantised"]
RENAMED = {"fused_transcendental": "fused_dear"}  # as it was written down


def of_machine(slug: str) -> dict[str, list[float]]:
    """By curve: how many samples, and sums in which each place counts otherwise."""
    rows = [row for file in evidence(slug) if any(row.kind in ("op", "launch") for row in file.rows) for row in file.rows]
    found: dict[str, list[float]] = defaultdict(lambda: [0.0] * 7)
    machine = hardware(slug)
    for s in require(machine.backend).samples(rows, machine):
        k, sums = s.kernel, found[RENAMED.get(s.kernel.curve, s.kernel.curve)]
        sums[0] += 1.0
        for i, value in enumerate((k.data, k.flops, k.rows, k.depth, k.count, s.seconds)):
            sums[i + 1] += (1.0 + sums[0] % 97) * float(value)
    return dict(sorted(found.items()))
