"""The sources of the documentation: every link leads somewhere, and they are laid out as one folder of pages."""

import pytest

from ironlaw.manual import accuracy_page, page_sources, reference
from ironlaw.manual.contents import navigation
from ironlaw.manual.docstrings import fence
from ironlaw.manual.page_links import anchors, broken, turn
from ironlaw.registry.machines import hardware

ROOT = page_sources.root()
PAGES = page_sources.pages(ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    assert list(broken(page)) == []


def test_a_link_to_nowhere_and_a_heading_that_is_not_there_are_noticed(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# Other\n## A `part`, worked\n```\n# not a heading\n```\n")
    page.write_text(
        "[a](other.md) [b](other.md#a-part-worked) [c](https://x.y) `[code](gone.md)`\n```\n[fenced](gone.md)\n```\n"
        "[d](gone.md) [e](other.md#not-a-heading) [f](#no)\n"
    )
    assert [line.rpartition(": ")[2] for line in broken(page)] == [
        "there is no gone.md", "other.md has no heading 'not-a-heading'", "page.md has no heading 'no'",
    ]  # fmt: skip


def test_headings_have_the_ids_that_the_pages_give_them():
    from markdown import Markdown

    headings = ("What the chain proves", "`ironlaw predict`", "1. Hand out", "A backend, worked", "When it says …", "[Linked](x.md) part")
    text = "# Page\n" + "".join(f"\n## {heading}\n" for heading in headings)
    made = Markdown(extensions=["toc"])
    made.convert(text)
    listed = [made.toc_tokens[0], *made.toc_tokens[0]["children"]]
    assert anchors(text) == {token["id"] for token in listed}


def test_links_are_turned_for_one_folder_of_pages():
    readme = ROOT / "README.md"
    places = {ROOT / "docs" / "setup.md": "setup.md", ROOT / "docs" / "images" / "map.webp": "images/map.webp"}
    text = "[s](docs/setup.md#offline) ![p](docs/images/map.webp) [code](src/ironlaw/units.py)"
    text += " [w](https://x.y) `[c](docs/setup.md)` [h](#here)"
    assert turn(text, readme, places.get) == (
        "[s](setup.md#offline) ![p](images/map.webp) code [w](https://x.y) `[c](docs/setup.md)` [h](#here)"
    )


def test_the_pages_are_laid_out_with_the_pictures_they_show(tmp_path):
    names = page_sources.lay_out(ROOT, tmp_path)
    assert {"index.md", "cli.md", "errata.md", "accuracy.md", "CONTRIBUTING.md", "reference/ironlaw.md", "reference/ironlaw.kit.md"} <= set(
        names
    )
    assert "](docs/" not in (tmp_path / "index.md").read_text(encoding="utf-8")
    listed = navigation([*names, "something-new.md"], [])
    groups = {name for entry in listed for value in entry.values() for name in ([value] if isinstance(value, str) else value)}
    assert groups >= {name for name in names if not name.startswith("reference/")} | {"something-new.md"}
    home = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "images/explore-light.webp#only-light" in home and "images/explore-dark.webp#only-dark" in home
    text = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md"))
    assert all(f"images/{path.name}" in text for path in (tmp_path / "images").iterdir())


def test_accuracy_is_a_table_of_the_file():
    page = accuracy_page.tables({"machines": {"h200_sxm": {"gemm": {"bias": -0.014, "count": 2248, "mean": 0.033, "worst": 0.507}}}})
    assert f"### {hardware('h200_sxm').name}" in page and "| gemm | 2,248 | 3.3% | −1.4% | +50.7% |" in page


def test_every_public_package_has_a_page_of_reference():
    names = {name.removeprefix("reference/").removesuffix(".md") for name in reference.pages()}
    assert {"ironlaw", "ironlaw.kit", "ironlaw.ledger", "ironlaw.backends", "ironlaw.tracing", "ironlaw.errors", "ironlaw.units"} <= names
    assert not any("labs" in name for name in names)


def test_examples_of_docstrings_are_code_once():
    text = "What it does.\n\n>>> x = 1\n>>> x\n1\n\nMore."
    assert fence(text) == "What it does.\n\n```pycon\n>>> x = 1\n>>> x\n1\n```\n\nMore." and fence(fence(text)) == fence(text)


def test_without_sources_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(page_sources, "README", "NOT-THERE.md")
    with pytest.raises(LookupError, match="clone"):
        page_sources.root()


def test_a_wheel_carries_every_source():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    place = page_sources.CARRIED.relative_to(page_sources.HERE.parents[1]).as_posix()
    assert {path: target.removeprefix(f"{place}/") for path, target in carried.items()} == {path: path for path in carried}
    assert set(carried) == {"docs", *(str(page.relative_to(ROOT)) for page in PAGES if page.parent == ROOT)}
