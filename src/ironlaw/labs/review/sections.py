"""The sections of the page, as its rail calls them."""

from __future__ import annotations

RAIL = {
    "cards": "Cards", "you": "You", "beliefs": "Beliefs", "map": "Map", "models": "Models", "tree": "Tree", "checklist": "Checklist",
    "writing": "Write", "next": "Next",
}  # fmt: skip
