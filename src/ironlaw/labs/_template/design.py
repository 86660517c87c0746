"""What the ledger keeps of this lab."""

from __future__ import annotations

from typing import Any

from ironlaw import kit


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    option = lab.choice("act1")
    return {"context": lab.current_context.slug, "act1_prediction": option.value if option else None, "act1_correct": lab.correct("act1")}
