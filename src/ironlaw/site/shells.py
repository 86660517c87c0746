"""The pages as files: what is there before Python is, so that a page is never empty."""

from __future__ import annotations

import json
from html import escape

from ironlaw.kit.host.notebook import read
from ironlaw.pages import gallery, glossary
from ironlaw.pages.catalogue import Lab, catalogue
from ironlaw.pages.explore.page import traits
from ironlaw.pages.records import Records
from ironlaw.pages.templates import fill, static, theme
from ironlaw.site.addresses import relative
from ironlaw.site.desk import PLACE

# nothing from elsewhere, and no script but the site's own files
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' data: blob:; worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'"
)
HEAD = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
LAB = """<!doctype html>
<html lang="en">
<head>
{head}
<link rel="stylesheet" href="{theme}/theme.css"><link rel="stylesheet" href="{theme}/glossary.css">
<link rel="stylesheet" href="{static}/opening.css"><link rel="stylesheet" href="{static}/flow.css">
<link rel="stylesheet" href="{assets}/site.css">
<script src="{static}/fold.js"></script><script src="{static}/lab.js"></script>
<script defer src="{assets}/glossary.js"></script><script type="module" src="{assets}/lab.js"></script>
</head>
<body>
{opening}
</body>
</html>
"""


def pages(assets: str, manual: str = "") -> dict[str, str]:
    """Address in the site -> HTML. `assets`: the folder of what changes with the version, from the host on; `manual`: that of the docs."""
    more = f' How to use, teach and extend it is in the <a href="/{manual}/index.html">documentation</a>.' if manual else ""
    browser = gallery.BROWSER._replace(alone=gallery.BROWSER.alone + more)
    labs = [lab for lab in catalogue() if lab.ready]
    empty = Records(where=PLACE)
    start = gallery.gallery(catalogue(), empty, "", place=browser, ahead=f'<script type="module" src="{assets}/start.js"></script>')
    listed = {
        "": start,
        "glossary/": glossary.page(),
        "explore/": _explore(assets),
        **{f"lab/{lab.slug}/": _lab(lab, assets) for lab in labs},
    }
    return {f"{place}index.html": _placed(text, place) for place, text in listed.items()}


def _placed(html: str, place: str) -> str:
    root = "../" * place.count("/") or "./"
    html = html.replace('<html lang="en">', f'<html lang="en" data-root="{root}">', 1).replace(
        '<meta charset="utf-8">', f'<meta charset="utf-8">\n{HEAD}', 1
    )
    return relative(html, root)


def _explore(assets: str) -> str:
    data = json.dumps(traits([]), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    html = fill("explore.html", title="where does the time go?", widget=assets, piece=data)
    return html.replace(f"{assets}/piece.js", f"{assets}/explore.js").replace(
        "It runs on this machine alone", "It runs in this browser alone"
    )


def _lab(lab: Lab, assets: str) -> str:
    texts = {"name": lab.name, "title": lab.title, "teaches": lab.teaches, "minutes": str(lab.minutes)}
    opening = fill("opening.html", **{slot: escape(text) for slot, text in texts.items()})
    cells = "".join(f'<div class="marimo-cell output-area" id="cell-{cell.name}"></div>' for cell in read(lab.folder / "lab.py"))
    opening = opening.replace('<div class="il-opening">', '<div class="il-opening" id="opening">', 1)
    app = f'<div id="App" data-lab="{escape(lab.slug)}"><div><div><div class="flex-col">{cells}</div></div></div></div>'
    opening = opening.replace("</main>", f"{app}</main>")
    head = fill("head.html", title=escape(f"{lab.name} · {lab.title}")).replace(f'<link rel="stylesheet" href="{static()}/page.css">', "")
    return LAB.format(head=head, theme=theme(), static=static(), assets=assets, opening=opening)
