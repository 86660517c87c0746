"""The page of /explore: the piece's traits in it as JSON, so that it draws without another request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from ironlaw.pages import widget
from ironlaw.pages.explore import explore_settings
from ironlaw.pages.explore.view import view
from ironlaw.pages.page_templates import fill
from ironlaw.widget.piece import Piece

NAME = "explore"  # by which the socket knows it
SLOW = "Predicting. A model with thousands of operators takes a few seconds."


@cache
def piece() -> Piece:
    """One for all pages: what it shows follows from the settings alone. It has a name, so a page outlives a server that is started anew."""
    dials = explore_settings.usual()
    spec = {"id": NAME, "title": "", "lead": True, "slow": SLOW, "direct": NAME, "dials": dials}
    return Piece("instrument", spec, view)


def traits(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What the page draws for the settings of an address."""
    _, values = explore_settings.strict(explore_settings.read(query))
    state = {"dials": values}
    return {"kind": "instrument", "spec": piece().spec, "state": state, "view": piece().look(state)}


def page(query: Iterable[tuple[str, str]]) -> str:
    data = json.dumps(traits(query), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return fill("explore.html", title="where does the time go?", widget=widget.address(), piece=data)
