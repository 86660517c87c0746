"""What the ledger keeps of this lab."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.main.act1 import instrument, slots


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    option = lab.choice("act1")
    return {"context": lab.current_context.slug, "act1_prediction": option.value if option else None, "act1_correct": lab.correct("act1")}


def truths(lab: kit.Lab) -> dict[str, tuple[str, str]]:
    """For the receipt: per act, the truth and what was measured."""
    return {"act1": (slots.truth(lab), kit.measured(instrument.CLAIMS[0], "from an A100's memory"))}
