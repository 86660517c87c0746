"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import show, significant

FIELDS = (
    "model", "bits", "scheme", "sparsity", "width", "bytes", "kl", "accuracy", "flips", "seconds", "on_frontier", "verdict",
    "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: what was chosen in Act II, and what Act I's net went through."""
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **{name: two.get(name) for name in FIELDS},
        "act1_bits": one.get("bits"),
        "act1_scheme": one.get("scheme"),
        "act1_kl": one.get("kl"),
        **lab.outcomes("act1", "act2"),
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    net = f"{one['bits']} bits, {significant(one['accuracy'])}%" if one else "open"
    if not two:
        return [("Classifier", net, ""), ("File", "open", ""), ("Frontier", "open", "")]
    return [
        ("Classifier", net, ""),
        ("File", show(float(two["bytes"]), "B"), ""),
        ("Frontier", "on it" if two["on_frontier"] else "off", "good" if two["on_frontier"] else "warn"),
    ]
