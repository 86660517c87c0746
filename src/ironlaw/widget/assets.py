"""The widget's JavaScript and CSS as text: plain files without imports, joined here, so there is nothing to build and nothing to fetch."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ironlaw.widget.dial_schema import LONGEST_NAME, SCHEMA
from ironlaw.widget.piece_kinds import KINDS

CONTRACT = "contract"  # not a file: written from Python's own tables
# Joined in this order into one module: each file uses only names from those before it. DRAWING alone draws a figure.
DRAWING = (
    "dom", "units", "scale", "labels", "words", "tip", "ends", "axes", "marks", "many", "drag", "targets", "table", "figure", "grid",
)  # fmt: skip
MOVING = ("scene", "player")  # after DRAWING: pictures that move
SCRIPTS = (
    "dom", "units", "scale", "labels", "words", "tip", "ends", "axes", "marks", "many", "contract", "schema", "numbers", "play", "dials",
    "chain", "pins", "drag", "targets", "table", "figure", "grid", *MOVING, "readouts", "export", "permalink", "direct", "pending", "link",
    "tabs", "instrument", "sealed", "lock", "reflect", "small", "card", "sheet", "map", "walk", "questions", "experiment", "flow", "piece",
)  # fmt: skip
HOSTED = (*SCRIPTS, "hosted", "host")  # for a page with one piece
LAB = (*SCRIPTS, "cells", "served")  # for a lab of the labs' server
NOTEBOOK = (*SCRIPTS, "cells", "notebook")  # for a lab in a notebook
DRAWING_STYLES = ("piece", "figure", "motion")
GLOSSARY = ("glossary",)  # script and style of the marked words, for a whole page
STYLES = ("piece", "chain", "pins", "sealed", "figure", "motion", "review", "experiment", "lead", "flow", "glossary")
TOKENS_END = "/* tokens end */"  # theme.css begins with the colours and sizes that widget and page share
CSS = Path(str(files("ironlaw.widget"))) / "css"


@cache
def script(names: Sequence[str] = SCRIPTS) -> str:
    """These files, joined; all of them are one ES module."""
    return "\n".join(contract() if name == CONTRACT else _read(f"js/{name}.js") for name in names)


def contract() -> str:
    """What Python declares and JavaScript goes by, as data: the rules for dials, and which function draws which kind of piece."""
    renderers = ", ".join(f"{kind}: (ctx) => {kind}Piece(ctx)" for kind in KINDS)
    rules = json.dumps(SCHEMA, separators=(",", ":"))
    return f"const DIAL_SCHEMA = {rules};\nconst LONGEST_NAME = {LONGEST_NAME};\nconst RENDERERS = {{ {renderers} }};"


@cache
def style(names: Sequence[str] = STYLES) -> str:
    """These files after the tokens, so that a piece also looks right outside a lab page."""
    return "\n".join([theme().partition(TOKENS_END)[0], *(_read(f"css/{name}.css") for name in names)])


@cache
def theme() -> str:
    """The CSS of a lab page."""
    return _read("css/theme.css")


@cache
def typeface() -> str:
    """The typefaces as CSS with the fonts in it, for a page that is one file."""
    text = _read("css/type.css")
    for name in ("inter.woff2", "math.woff2"):
        text = text.replace(name, f"data:font/woff2;base64,{base64.b64encode((CSS / name).read_bytes()).decode()}", 1)
    return text


def _read(name: str) -> str:
    return (files("ironlaw.widget") / name).read_text(encoding="utf-8")
