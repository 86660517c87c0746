"""The sections of the page, as its rail calls them."""

from __future__ import annotations

RAIL = {"cards": "Cards"}
