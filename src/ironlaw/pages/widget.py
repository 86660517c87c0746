"""The widget's files at an address that changes with them: our own pages load them."""

from __future__ import annotations

import json
from functools import cache

from ironlaw.pages.page_templates import digest_of
from ironlaw.widget import assets


@cache
def texts() -> dict[str, str]:
    style = assets.style()
    lab = f"const STYLE = {json.dumps(style)};\n{assets.script(assets.LAB)}"
    return {"piece.js": assets.script(assets.HOSTED), "piece.css": style, "lab.js": lab}


@cache
def address() -> str:
    return f"/widget/{digest_of(*texts().values())}"
