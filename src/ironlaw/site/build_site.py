"""The folder of a static site: pages, their scripts, Python for the browser, the licences, and a list of it all for offline use."""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ironlaw.manual import build_docs
from ironlaw.pages import first_picture, glossary_page
from ironlaw.pages.page_templates import STATIC, static, theme
from ironlaw.site import bundle, folder, runtime, shells
from ironlaw.site.listing import MARK, NO_JEKYLL, NOT_FOUND, WORKER, listing
from ironlaw.version import __version__
from ironlaw.widget import assets
from ironlaw.widget.assets import CSS
from ironlaw.widget.glossary_words import explanations

MANUAL = "docs"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Site:
    folder: Path
    files: int
    bytes: int
    gzipped: int  # as a host that compresses sends it


def build(out: Path, given: Path | None = None, docs: bool = False, also: Callable[[dict[str, bytes]], object] | None = None) -> Site:
    """The site at `out`: in a new or empty folder, or over an earlier site, of which only its own files go. `docs`: the manual too;
    `also`: what else is made of its files."""
    out = out.absolute()
    folder.check(out)
    content = _content(given, docs)
    folder.update(out, content)
    if also:
        also(content)
    packed = sum(len(gzip.compress(data, 9)) for data in content.values())
    return Site(out, len(content), sum(map(len, content.values())), packed)


def _content(given: Path | None, docs: bool) -> dict[str, bytes]:
    """Every file of the site by its name."""
    fixed = _assets(given)
    digest = hashlib.sha256(b"".join(name.encode() + fixed[name] for name in sorted(fixed))).hexdigest()[:12]
    content = {f"assets-{digest}/{name}": data for name, data in fixed.items()}
    content |= {f"{static()[1:]}/{path.name}": path.read_bytes() for path in STATIC.iterdir() if path.is_file()}
    content |= {f"{theme()[1:]}/{path.name}": path.read_bytes() for path in CSS.iterdir() if path.is_file()}
    content |= {name: text.encode() for name, text in shells.pages(f"/assets-{digest}", MANUAL if docs else "").items()}
    if docs:
        content |= _manual()
    content["LICENSES.txt"] = licences().encode()
    content[NO_JEKYLL] = b""  # GitHub's pages are served as they are
    content[WORKER] = _service_worker(content).encode()
    content[MARK] = listing({"ironlaw": __version__, "pyodide": runtime.VERSION}, content)
    return content


def _manual() -> dict[str, bytes]:
    """The documentation, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="ironlaw-site-") as place:
        built = build_docs(Path(place) / "docs", home="../index.html")
        return {f"{MANUAL}/{path.relative_to(built).as_posix()}": path.read_bytes() for path in built.rglob("*") if path.is_file()}


def _assets(given: Path | None) -> dict[str, bytes]:
    """What has the site's version in its address: the pages' scripts, Python, and what Python runs."""
    desk, between = _script("desk"), assets.SCRIPTS.index("direct")
    widget = "\n".join((assets.script(assets.SCRIPTS[:between]), desk, assets.script(assets.SCRIPTS[between + 1 :])))
    texts = {
        "lab.js": f"{widget}\n{assets.script(('cells',))}\n{_script('lab')}",
        "explore.js": f"{widget}\n{assets.script(('hosted',))}\n{_script('explore')}",
        "start.js": f"{widget}\n{assets.script(('hosted',))}\n{_script('start')}",
        "roofline.json": first_picture.as_json(),
        "certificate.js": f"{desk}\n{_script('certificate')}",
        "worker.js": _script("worker"),
        **{f"{name}.js": _script(name) for name in ("store", "python", "packed", "image")},
        "glossary.js": f"{{\n{glossary_page.script('GLOSSARY')}\n}}".replace('"GLOSSARY"', "new URL('./glossary.json', HERE)"),
        "glossary.json": json.dumps(explanations(), ensure_ascii=False, separators=(",", ":")),
        "piece.css": assets.style(),
    }
    texts["glossary.js"] = f"const HERE = document.currentScript.src;\n{texts['glossary.js']}"
    python = {f"pyodide/{name}": data for name, data in runtime.files(given).items()}
    return {**{name: text.encode() for name, text in texts.items()}, **python, bundle.NAME: bundle.archive()}


def _script(name: str) -> str:
    return (HERE / "js" / f"{name}.js").read_text("utf-8")


def _service_worker(content: dict[str, bytes]) -> str:
    """The service worker, whose list names a page by its folder, as browsers ask for it."""
    names = sorted(f"./{name.removesuffix('index.html')}" for name in content if name not in (NO_JEKYLL, NOT_FOUND))
    script = _script("sw")
    parts = [script.encode(), *(name.encode() + content[name] for name in sorted(content))]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:12]
    return script.replace("{{ version }}", digest).replace("{{ files }}", json.dumps(names))


def licences() -> str:
    parts = [
        ("ironlaw", f"{__version__}, Apache-2.0: https://www.apache.org/licenses/LICENSE-2.0"),
        (
            f"Pyodide {runtime.VERSION}",
            f"MPL-2.0: https://mozilla.org/MPL/2.0/; its source: {runtime.SOURCE}. It contains CPython (PSF-2.0).",
        ),
        *bundle.licences(),
        ("Inter", (CSS / "inter-licence.txt").read_text("utf-8")),
    ]
    return "\n\n".join(f"{name}\n{'=' * len(name)}\n\n{text}" for name, text in parts)
