"""The documentation's pages, built on settings that MkDocs reads for real, by a builder that writes two pages."""

import logging
import sys
from pathlib import Path

import pytest

from ironlaw.errors import BadRegistry, MissingExtra
from ironlaw.manual import build_manual
from ironlaw.widget import assets

PAGE = f'<div class="md-search" {build_manual.UNNAMED}></div><div {build_manual.UNNAMED}></div>'
LEFT = ("index.html", "cli.html", "assets/main.js")
REMOVED = ("404.html", "sitemap.xml", "objects.inv", "assets/main.js.map", "assets/javascripts/lunr/lunr.de.js")


@pytest.fixture
def built(monkeypatch):
    """What MkDocs is given; `says`: what it warns of."""
    commands = pytest.importorskip("mkdocs.commands.build")
    seen = {}

    def build(config):
        seen["site"], seen["docs"] = Path(config["site_dir"]), Path(config["docs_dir"])
        seen["pages"] = {path.name for path in seen["docs"].glob("*.md")}
        seen["style"] = (seen["docs"] / "assets" / "ironlaw.css").read_text("utf-8")
        seen["assets"] = {path.name for path in (seen["docs"] / "assets").iterdir()}
        for name in (*LEFT, *REMOVED):
            (seen["site"] / name).parent.mkdir(parents=True, exist_ok=True)
            (seen["site"] / name).write_text(PAGE, "utf-8")
        logging.getLogger("mkdocs.structure").info("built")
        for line in seen.get("says", ()):
            logging.getLogger("mkdocs.structure").warning(line)

    monkeypatch.setattr(commands, "build", build)
    return seen


def test_pages_are_dressed_built_and_cleared_of_addresses(built, tmp_path):
    assert build_manual.build_docs(tmp_path / "out", home="../index.html") == tmp_path / "out"
    assert {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()} == set(LEFT)
    page = (tmp_path / "out" / "cli.html").read_text("utf-8")
    assert page.count(f'{build_manual.UNNAMED} aria-label="Search"') == 1 == page.count("aria-label")
    assert built["pages"] >= {"index.md", "cli.md", "accuracy.md", "CONTRIBUTING.md"} and built["site"] == tmp_path / "out"
    assert {"ironlaw.css", "inter.woff2", "inter-licence.txt", "math.woff2", "theme-licence.txt"} <= built["assets"]
    assert assets.style(()) in built["style"] and not built["docs"].exists()  # what it was made of is gone


def one_page(root, out):
    (out / "assets").mkdir(parents=True)
    (out / "index.md").write_text("# ironlaw", "utf-8")
    return ["index.md"]


def test_a_fault_of_a_page_stops_it(built, monkeypatch, tmp_path):
    built["says"] = ["Doc file 'cli.md' contains a link\n  'nowhere.md'", "and another"]
    message = (
        "the documentation has faults: Doc file 'cli.md' contains a link 'nowhere.md'; and another; correct the page, then build again"
    )
    with pytest.raises(BadRegistry, match=message):
        build_manual.build_docs(tmp_path / "out")
    assert not [one for one in logging.getLogger("mkdocs").handlers if isinstance(one, build_manual.Complaints)]


def test_without_mkdocs_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mkdocs.commands.build", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ironlaw\[docs\]' \(`ironlaw site --no-docs` goes without\)"):
        build_manual.build_docs(tmp_path)
