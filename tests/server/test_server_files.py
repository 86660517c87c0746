"""Files that never change: each is held once, whatever it was asked for as, and no name is an error of the server."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from ironlaw.pages.page_templates import STATIC
from ironlaw.server.app import announcement
from ironlaw.server.static_files import Immutable
from ironlaw.widget.assets import CSS, script, theme, typeface


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    for name in "abcd":
        (tmp_path / "assets" / f"{name}.js").write_text(name * 1000)
    return tmp_path


def at(files: Immutable) -> TestClient:
    return TestClient(Starlette(routes=[Mount("/kept", files)]), base_url="http://127.0.0.1:2718")


def test_a_file_is_held_once_however_it_is_asked_for(folder: Path):
    files = Immutable(folder)
    client = at(files)
    names = [f"assets{'/' * n}a.js" for n in range(1, 60)] + [f"{'assets/../' * n}assets/a.js" for n in range(60)]
    for name in names:
        assert files.find(name)[1] == b"a" * 1000
    assert client.get("/kept/assets/a.js").text == "a" * 1000
    assert (list(files.cache), files.size) == (["assets/a.js"], 1000)


def test_what_is_longest_unused_makes_room(folder: Path):
    files = Immutable(folder, most=2500)
    for name in ("a", "b", "a", "c"):
        assert files.find(f"assets/{name}.js")[1] == name.encode() * 1000
    assert (list(files.cache), files.size) == (["assets/a.js", "assets/c.js"], 2000)
    assert files.find("assets/b.js")[1] == b"b" * 1000


@pytest.mark.parametrize(
    "name", ["%00", "a%00.js", "assets/a.js%00", "x" * 300, "x/" * 3000, "assets", "..", "%2e%2e/%2e%2e/etc/passwd", "%ff"]
)
@pytest.mark.parametrize("mount", ["static", "theme"])
def test_a_name_that_no_file_has_is_404(client: TestClient, mount: str, name: str):
    place = next(route.path for route in client.app.routes if route.path.startswith(f"/{mount}/"))
    assert client.get(f"{place}/{name}").status_code == 404


@pytest.mark.parametrize("count", ["9" * 4400, "-1", "٣", "1.5", "1e3", "", "x", "0x10"])
def test_an_odd_count_in_the_address_says_nothing(client: TestClient, count: str):
    assert announcement("imported", count) == ""
    assert client.get("/", params={"said": "imported", "n": count}).status_code == 200


def test_deeply_nested_json_is_no_export(client: TestClient):
    import re

    token = re.search(r'name="token" value="([^"]+)"', client.get("/").text)[1]
    origin = {"origin": "http://127.0.0.1:2718"}
    response = client.post("/do/import", data={"token": token}, files={"file": ("x.json", b"[" * 200_000)}, headers=origin)
    assert response.status_code == 400 and "read as JSON" in response.text


def test_every_page_has_the_same_typeface_and_its_licence_comes_along():
    """The font that type.css names is served beside it, and theme, start page and pictures name that family first."""
    type_css = (CSS / "type.css").read_text(encoding="utf-8")
    fonts = re.findall(r'font-family: "([^"]+)"; src: url\("([^"]+)"\)', type_css)
    assert len(fonts) == type_css.count("@font-face") == 2
    for _, file in fonts:
        served = Immutable(CSS).find(file)
        assert served is not None and served[1][:4] == b"wOF2" and len(served[1]) < 60_000
        assert "SIL Open Font License" in (CSS / file.replace(".woff2", "-licence.txt")).read_text(encoding="utf-8")
        assert file not in typeface()  # a page that is one file has them in it
    family = fonts[0][0]
    for text in (
        theme(),
        script(),
        (STATIC / "page.css").read_text(encoding="utf-8"),
        (STATIC / "opening.css").read_text(encoding="utf-8"),
    ):
        assert f'"{family}", system-ui, sans-serif' in text
    for page in ("gallery.html", "explore.html", "message.html", "lab.html"):
        assert "{{ head }}" in (STATIC.parent / page).read_text(encoding="utf-8")
    assert "{{ theme }}/type.css" in (STATIC.parent / "head.html").read_text(encoding="utf-8")
