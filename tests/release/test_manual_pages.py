"""The documentation as pages, built once: whole, with its search and our typeface, and nothing in it is fetched from elsewhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from ironlaw.cli import COMMANDS
from ironlaw.errors import BadRegistry
from ironlaw.manual import build_docs, page_sources


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    return build_docs(tmp_path_factory.mktemp("docs") / "pages", home="../index.html")


class Links(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a":
            self.links.append(given.get("href") or "")
        else:
            self.loads += [value for name in ("src", "href", "srcset") if (value := given.get(name))]


def test_every_link_of_every_page_leads_to_a_file_and_a_heading(out):
    pages = {path.resolve(): Links(path) for path in out.rglob("*.html")}
    assert len(pages) > 25
    for path, page in pages.items():
        for link in page.links:
            target, _, part = unquote(link).partition("#")
            if re.match(r"[a-z]+:", link) or target.endswith("../index.html") or not link:
                continue
            file = (path.parent / target).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), (path.name, link)
            assert not part or file not in pages or part in pages[file].ids | {"__toc"}, (path.name, link)


def test_nothing_is_loaded_from_elsewhere(out):
    for path in out.rglob("*.html"):
        outside = [link for link in Links(path).loads if re.match(r"(https?:)?//", link)]
        assert outside == [], path.name
    style = (out / "assets" / "ironlaw.css").read_text(encoding="utf-8")
    assert "inter.woff2" in style and "http" not in style and (out / "assets" / "inter.woff2").stat().st_size > 10_000
    assert not list(out.rglob("*.map")) and not (out / "404.html").exists()


def test_the_search_has_a_name_for_those_who_hear_the_page(out):
    assert all('role="dialog" aria-label="Search"' in path.read_text(encoding="utf-8") for path in out.rglob("*.html"))


def test_the_search_knows_guides_commands_and_docstrings(out):
    index = json.loads((out / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"] for entry in index}
    assert {f"cli.html#ironlaw-{name}" for name in COMMANDS} <= places
    assert {"reference/ironlaw.html#ironlaw.predict", "reference/ironlaw.kit.html", "accuracy.html", "class.html#2-collect"} <= places


def test_a_fault_in_a_page_stops_the_build(tmp_path, monkeypatch):
    def faulty(folder: Path, out: Path) -> list[str]:
        out.mkdir(parents=True)
        (out / "index.md").write_text("# Home\n\n[gone](nowhere.md) and [no part](#nowhere)\n")
        return ["index.md"]

    monkeypatch.setattr(page_sources, "lay_out", faulty)
    with pytest.raises(BadRegistry, match=r"nowhere\.md.*#nowhere"):
        build_docs(tmp_path / "pages")
