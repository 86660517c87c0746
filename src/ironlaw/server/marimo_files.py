"""marimo's own files: where they are, which of them a lab's page runs, and what they need not bring along.

Some three hundred modules make up marimo's page. A third of them are the languages of its code editor, of which a lab shows none: one
small module stands in for them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from ironlaw.errors import MissingExtra
from ironlaw.pages.templates import static

PRELOADS = re.compile(r"""<(?:script type="module"|link rel="(?:modulepreload|stylesheet)")[^>]*\s(?:src|href)="\./([^"]+)\"""")
RUN_PAGE = "run-page-*.js"
IMPORTS = re.compile(r"""(?:\bfrom|\bimport)\s*["']\./([\w.-]+\.js)["']""")  # those that are run with it, not import(…)
LANGUAGES = re.compile(r"\bz80:\(\)=>.*export\{[\w$]+ as n,[\w$]+ as t\};?\s*\Z", re.DOTALL)  # what finds one by name, and all by name
NO_LANGUAGES = "export const n = () => null;\nexport const t = new Proxy({}, { get: () => () => [] });\n"


def marimo_files() -> tuple[Path, str]:
    """The folder of marimo's own files, and the address where all labs find them; without importing marimo."""
    spec = find_spec("marimo")
    if spec is None or spec.origin is None:
        raise MissingExtra("the labs need marimo; install it with: pip install marimo")
    return Path(spec.origin).parent / "_static", f"/marimo/{version('marimo')}"


@cache
def known_files() -> tuple[str, ...]:
    """What marimo's page names itself."""
    folder, _ = marimo_files()
    return tuple(PRELOADS.findall((folder / "index.html").read_text("utf-8")))


@cache
def stand_ins() -> dict[str, str]:
    """Name of a file -> the text that is served in its place; empty where this marimo has another way to load languages."""
    folder, _ = marimo_files()
    candidates = (path for path in (folder / "assets").glob("esm-*.js") if LANGUAGES.search(path.read_text("utf-8")))
    return {f"assets/{path.name}": NO_LANGUAGES for path in candidates}


@cache
def later_files() -> tuple[str, ...]:
    """What the page of a running app imports beyond that, which a browser finds out only when it has run the rest."""
    folder, _ = marimo_files()
    names = [f"assets/{path.name}" for path in (folder / "assets").glob(RUN_PAGE)]
    for name in names:  # grows meanwhile
        text = stand_ins().get(name) or (folder / name).read_text("utf-8")
        names += sorted({f"assets/{other}" for other in IMPORTS.findall(text)} - {*known_files(), *names})
    return tuple(names)


@cache
def ahead(assets: str) -> str:
    """Lets a browser fetch marimo's files while the start page is read, so that a lab opens from its cache."""
    names = known_files() + later_files()
    return f'<script async src="{static()}/ahead.js" data-assets="{assets}" data-files="{" ".join(names)}"></script>\n'
