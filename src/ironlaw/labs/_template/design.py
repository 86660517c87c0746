"""What the ledger keeps of this lab."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs._template import act1


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return {"context": lab.current_context.slug, **lab.outcomes("act1")}


def measured(lab: kit.Lab) -> dict[str, str]:
    """For the receipt: per act, what was measured."""
    return {"act1": kit.measured(act1.CLAIMS[0], "from an A100's memory")}
