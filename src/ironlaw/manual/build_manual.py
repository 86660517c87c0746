"""MkDocs, set up and run: a link to nowhere, an anchor that isn't there or a docstring that can't be read stops it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from importlib.metadata import files
from pathlib import Path

from ironlaw.errors import BadRegistry, MissingExtra
from ironlaw.manual import page_sources
from ironlaw.manual.manual_settings import settings
from ironlaw.widget import assets

UNNAMED = 'data-md-component="search" role="dialog"'  # the theme's dialog, which a screen reader could not announce
UNWANTED = ("404.html", "sitemap.xml", "sitemap.xml.gz", "objects.inv")  # they would name an address of their own


def build_docs(out: Path, home: str = "") -> Path:
    """Write the pages into the folder `out`, which is emptied before. `home`: where the name at the top leads, seen from `out`."""
    try:
        from mkdocs.commands.build import build
        from mkdocs.config import load_config
    except ImportError as error:
        raise MissingExtra(
            f"the documentation needs {error.name}; install it with: pip install 'ironlaw[docs]' (`ironlaw site --no-docs` goes without)"
        ) from None
    os.environ.setdefault("DISABLE_MKDOCS_2_WARNING", "true")  # an advertisement on every run
    with tempfile.TemporaryDirectory(prefix="ironlaw-docs-") as folder:
        work = Path(folder)
        pages = page_sources.lay_out(page_sources.root(), work / "docs")
        dress(work / "docs" / "assets")
        (work / "mkdocs.yml").write_text(json.dumps(settings(pages, home)), encoding="utf-8")
        complaints = Complaints()
        logger = logging.getLogger("mkdocs")
        logger.addHandler(complaints)
        try:
            build(load_config(str(work / "mkdocs.yml"), site_dir=str(out.resolve())))
        finally:
            logger.removeHandler(complaints)
    if complaints.lines:
        raise BadRegistry(f"the documentation has faults: {'; '.join(complaints.lines)}; correct the page, then build again")
    for page in out.rglob("*.html"):
        page.write_text(page.read_text(encoding="utf-8").replace(UNNAMED, f'{UNNAMED} aria-label="Search"', 1), encoding="utf-8")
    for name in UNWANTED:
        (out / name).unlink(missing_ok=True)
    for path in out.rglob("*.map"):
        path.unlink()
    shutil.rmtree(out / "assets" / "javascripts" / "lunr", ignore_errors=True)  # other languages than English
    return out


class Complaints(logging.Handler):
    """What MkDocs warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(" ".join(record.getMessage().split()))


def dress(folder: Path) -> None:
    """Our typeface and colours beside the theme's."""
    folder.mkdir(parents=True, exist_ok=True)
    own = (Path(__file__).parent / "manual.css").read_text(encoding="utf-8")
    (folder / "ironlaw.css").write_text(
        "\n".join([(assets.CSS / "type.css").read_text(encoding="utf-8"), assets.style(()), own]), encoding="utf-8"
    )
    for name in ("inter.woff2", "inter-licence.txt", "math.woff2", "math-licence.txt"):
        shutil.copyfile(assets.CSS / name, folder / name)
    licence = next(path for path in files("mkdocs-material") or () if path.name == "LICENSE")
    (folder / "theme-licence.txt").write_text(licence.read_text(encoding="utf-8"), encoding="utf-8")
