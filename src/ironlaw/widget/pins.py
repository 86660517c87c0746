"""Pinned points: a dial whose value is a list of named settings of other dials.

The browser adds one where the dials stand, renames, drags and removes them; Python draws them. Like every dial they are
kept through a reload and go along in a link to the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 8
LONGEST = 40  # letters of a name

Pin = dict[str, Any]


def pins(name: str, label: str, of: Sequence[str], suggest: str = "", most: int = MOST) -> dict[str, Any]:
    """`of`: the dials whose values a pin holds. `suggest`: what a new one is called until the learner names it."""
    return {"id": name, "type": "pins", "label": label, "value": [], "of": list(of), "suggest": suggest, "most": most}


def why_not(dial: Mapping[str, Any], value: Any) -> str | None:
    """Why a list of pins can't be taken; None where it can."""
    if not isinstance(value, (list, tuple)) or len(value) > dial["most"]:
        return f"{dial['label']} holds a list of at most {dial['most']}"
    for pin in value:
        named = isinstance(pin, dict) and isinstance(pin.get("name"), str) and len(pin["name"]) <= LONGEST
        if not named or not isinstance(pin.get("values"), dict) or not set(pin["values"]) <= set(dial["of"]):
            return f"{dial['label']}: a pin has a name of at most {LONGEST} letters and settings of {', '.join(dial['of'])}"
    return None
