"""The pages as files: what is there before Python is, so that a page is never empty."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from ironlaw.pages import certificate_page, gallery, glossary_page, lab_page
from ironlaw.pages.explore.explore_page import traits
from ironlaw.pages.lab_catalogue import Lab, every_lab
from ironlaw.pages.no_such_page import no_such_page
from ironlaw.pages.page_templates import STATIC, fill, static
from ironlaw.pages.records import Records
from ironlaw.site.addresses import relative
from ironlaw.site.desk import PLACE
from ironlaw.site.listing import MARK, NOT_FOUND

# nothing from elsewhere, and no script but the site's own files
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' data: blob:; worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'"
)
HEAD = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'


def pages(assets: str, manual: str = "") -> dict[str, str]:
    """Address in the site -> HTML. `assets`: the folder of what changes with the version, from the host on; `manual`: that of the docs."""
    more = f' How to use, teach and extend it is in the <a href="/{manual}/index.html">documentation</a>.' if manual else ""
    browser = gallery.BROWSER._replace(alone=gallery.BROWSER.alone + more)
    labs = [lab for lab in every_lab() if lab.ready]
    empty = Records(where=PLACE)
    scripts = f'<link rel="stylesheet" href="{assets}/piece.css">\n<script type="module" src="{assets}/start.js"></script>'
    start = gallery.gallery(every_lab(), empty, "", place=browser, ahead=scripts, first_picture=f"{assets}/roofline.json")
    listed = {
        "": start,
        "glossary/": glossary_page.page(),
        "explore/": _explore(assets),
        "certificate/": certificate_page.shell(f'<script type="module" src="{assets}/certificate.js"></script>'),
        **{f"lab/{lab.slug}/": _lab(lab, assets) for lab in labs},
    }
    return {**{f"{place}index.html": _placed(text, place) for place, text in listed.items()}, NOT_FOUND: _not_found()}


def _placed(html: str, place: str) -> str:
    root = "../" * place.count("/") or "./"
    html = html.replace('<html lang="en">', f'<html lang="en" data-root="{root}">', 1).replace(
        '<meta charset="utf-8">', f'<meta charset="utf-8">\n{HEAD}', 1
    )
    return relative(html, root)


def _not_found() -> str:
    """A host shows it at any address, at any depth, so it brings its style along and looks for the site's folder itself."""
    script = (Path(__file__).parent / "js" / "not_found.js").read_text("utf-8").replace("{{ mark }}", MARK)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = fill("message.html", **no_such_page())
    style = f"<style>{(STATIC / 'page.css').read_text('utf-8')}</style>"
    html = re.sub(r"<link [^>]*>\n?", "", html).replace("</head>", f"{style}\n<script>{script}</script>\n</head>", 1)
    policy = HEAD.replace("script-src 'self'", f"script-src 'sha256-{digest}'", 1)
    return html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}', 1).replace('href="/', 'data-to="')


def _explore(assets: str) -> str:
    data = json.dumps(traits([]), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    html = fill("explore.html", title="where does the time go?", widget=assets, piece=data)
    return html.replace(f"{assets}/piece.js", f"{assets}/explore.js").replace(
        "It runs only on this machine.", "It runs only in this browser."
    )


def _lab(lab: Lab, assets: str) -> str:
    own = f'<script defer src="{assets}/glossary.js"></script><script type="module" src="{assets}/lab.js"></script>'
    return lab_page.page(lab, f'<script src="{static()}/lab.js"></script>{own}')
