"""The widget's files at an address that changes with them: our own pages load them, and a lab's page once for all its pieces."""

from __future__ import annotations

import json
from functools import cache

from ironlaw.pages.templates import digest_of
from ironlaw.widget import assets

# marimo puts every piece into a shadow root and parses its style there: one sheet for all of them is parsed once.
SHEET = """import piece from "./piece.js";

const sheet = new CSSStyleSheet();
sheet.replaceSync({style});

function render(given) {{
  const root = given.el.getRootNode();
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  return piece.render(given);
}}

export default {{ render }};
"""


@cache
def texts() -> dict[str, str]:
    style = assets.style()
    return {"piece.js": assets.script(assets.HOSTED), "piece.css": style, "lab.js": SHEET.format(style=json.dumps(style))}


@cache
def address() -> str:
    return f"/widget/{digest_of(*texts().values())}"


def preload() -> str:
    """For the head of a lab's page: its pieces find their module ready."""
    return "".join(f'<link rel="modulepreload" href="{address()}/{name}">' for name in ("piece.js", "lab.js"))
