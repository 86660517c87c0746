"""The folder of the site: relative addresses, all files listed for offline use, nothing from elsewhere, a runtime that is checked."""

import base64
import hashlib
import io
import json
import re
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile

import pytest

from ironlaw.cli import main
from ironlaw.errors import BadValue
from ironlaw.site import bundle, runtime
from ironlaw.site.build_site import build
from ironlaw.site.listing import MARK


def packed(names=runtime.FILES):
    """A release as npm packs it, with little in it."""
    library = io.BytesIO()
    with zipfile.ZipFile(library, "w") as archive:
        for name in ("json/__init__.py", "pdb.py", "unittest/case.py", "encodings/utf_8.py", "encodings/big5.py"):
            archive.writestr(name, "")
    contents = {"python_stdlib.zip": library.getvalue(), "pyodide-lock.json": b'{"info": {"arch": "wasm32"}, "packages": {"numpy": {}}}'}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in names:
            data = contents.get(name, name.encode())
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def release(tmp_path, monkeypatch):
    data = packed()
    monkeypatch.setattr(runtime, "SHA256", hashlib.sha256(data).hexdigest())
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "home"))
    path = tmp_path / "pyodide.tgz"
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    data = packed()
    (place / "pyodide.tgz").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "SHA256", hashlib.sha256(data).hexdigest())
        return build(place / "out", place / "pyodide.tgz")


SENT = 8.5e6  # bytes that a host sends, gzipped, of the whole site
PYODIDE = 5.45e6  # of those, which the release in these tests lacks


def pages(site):
    return {path.relative_to(site.folder).as_posix(): path.read_text("utf-8") for path in site.folder.rglob("*.html")}


def test_every_lab_has_a_page_and_every_address_leads_to_a_file_of_the_site(site):
    texts = pages(site)
    assert {f"{place}index.html" for place in ("", "explore/", "glossary/", "certificate/", "lab/lab_01_magnitude/", "lab/review/")} <= set(
        texts
    )
    for name, text in texts.items():
        for address in re.findall(r'(?:href|src)="([^"#?]*)', text):
            if not address or address == "./export" or address.startswith("https://"):
                continue  # a place on the page, what a script does, or a source that is cited
            assert not address.startswith("/"), f"{name}: {address}"
            target = (site.folder / name).parent / address
            assert (target / "index.html" if target.is_dir() else target).is_file(), f"{name}: {address}"


def test_the_site_is_small(site):
    """Before a release it is weighed with Pyodide in it (tests/release/test_site_figures.py)."""
    assert 2e6 < site.gzipped <= SENT - PYODIDE, f"{site.gzipped / 1e6:.2f} MB beside Pyodide; bundle.LEFT_OUT says what stays at home"


def test_nothing_is_loaded_from_elsewhere(site):
    for text in pages(site).values():
        assert not re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="(?:https?:)?//', text)
        assert "default-src 'self'" in text


def test_the_list_for_offline_use_has_every_file(site):
    listed = json.loads(re.search(r"const FILES = (\[.*?\]);", (site.folder / "sw.js").read_text("utf-8"))[1])
    files = {path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*") if path.is_file()}
    files -= {"sw.js", ".nojekyll", MARK, "404.html"}
    assert {name.removeprefix("./") for name in listed} == {name.removesuffix("index.html") for name in files}


def test_an_address_without_a_page_leads_back_from_any_depth(site):
    """It has no address of its own: no file beside it can be named, and its links are found when it is shown."""
    text = (site.folder / "404.html").read_text("utf-8")
    assert "<title>ironlaw: There is no such page" in text and not re.findall(r'(?:href|src)="', text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text and MARK in script and text.count("data-to=") == 3


def test_the_start_page_has_its_picture(site):
    [address] = re.findall(r'id="roofline"[^>]* data-traits="([^"]+)"', pages(site)["index.html"])
    traits = json.loads((site.folder / address).read_text("utf-8"))
    assert traits["kind"] == "instrument" and len(traits["views"]) == len(traits["spec"]["dials"][0]["steps"])


def test_licences_of_all_that_is_in_it(site):
    text = (site.folder / "LICENSES.txt").read_text("utf-8")
    assert all(name in text for name in ("Pyodide", "MPL-2.0", "Markdown", "fsrs", "typing_extensions", "Inter", "SIL OPEN FONT", "Apache"))


def test_the_standard_library_lacks_what_nothing_imports(site):
    [path] = site.folder.glob("assets-*/pyodide/python_stdlib.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["json/__init__.py", "encodings/utf_8.py"]
    [lock] = site.folder.glob("assets-*/pyodide/pyodide-lock.json")
    assert json.loads(lock.read_text("utf-8")) == {"info": {"arch": "wasm32"}, "packages": {}}


def test_a_newer_site_takes_the_place_of_the_earlier_one_alone(release, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    assert main(["site", str(out), "--no-docs", "--runtime", str(release)]) == 0
    assert "files" in capsys.readouterr().out
    [earlier] = out.glob("assets-*")
    own = {".git": "gitdir: elsewhere", "CNAME": "course.example", "lab/thesis.md": "x"}
    for name, text in own.items():
        (out / name).write_text(text)
    monkeypatch.setattr(bundle, "archive", lambda: b"another version")
    site = build(out, release)
    assert not earlier.exists() and {name: (out / name).read_text() for name in own} == own
    assert site.files + len(own) == sum(path.is_file() for path in out.rglob("*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pyodide.tgz"]


def test_any_other_folder_is_left_alone(release, tmp_path, capsys):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.md").write_text("x")
    assert main(["site", str(mine), "--no-docs", "--runtime", str(release)]) != 0
    assert "an empty folder or a new one" in capsys.readouterr().err and (mine / "thesis.md").read_text() == "x"


def test_the_documentation_is_a_folder_of_the_site_and_the_start_page_leads_there(release, tmp_path, monkeypatch):
    def written(out, home):
        (out / "search").mkdir(parents=True)
        (out / "index.html").write_text(f'<a href="{home}">ironlaw</a>')
        (out / "search" / "search_index.json").write_text("{}")
        return out

    monkeypatch.setattr("ironlaw.site.build_site.build_docs", written)
    out = build(tmp_path / "out", release, docs=True).folder
    assert (out / "docs" / "index.html").read_text() == '<a href="../index.html">ironlaw</a>'
    assert 'href="./docs/index.html"' in (out / "index.html").read_text("utf-8")
    assert '"./docs/search/search_index.json"' in (out / "sw.js").read_text("utf-8")


def test_without_the_generator_of_the_documentation_the_message_says_both_ways(release, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mkdocs.commands.build", None)
    assert main(["site", str(tmp_path / "out"), "--runtime", str(release)]) != 0
    error = capsys.readouterr().err
    assert "pip install 'ironlaw[docs]'" in error and "--no-docs" in error and not (tmp_path / "out").exists()


def test_a_runtime_that_is_another_one_is_refused(release, tmp_path):
    other = tmp_path / "other.tgz"
    other.write_bytes(packed()[:-1] + b"x")
    with pytest.raises(BadValue, match=r"is not Pyodide .* SHA-256"):
        runtime.files(other)
    with pytest.raises(BadValue, match=r"cannot read .*nothing\.tgz"):
        runtime.files(tmp_path / "nothing.tgz")


def test_a_runtime_that_lacks_a_file_is_named(tmp_path, monkeypatch):
    data = packed(runtime.FILES[:-1])
    monkeypatch.setattr(runtime, "SHA256", hashlib.sha256(data).hexdigest())
    path = tmp_path / "some.tgz"
    path.write_bytes(data)
    with pytest.raises(BadValue, match=r"pyodide-lock\.json"):
        runtime.files(path)


def test_a_download_is_kept_and_without_a_network_the_message_says_what_to_do(release, monkeypatch):
    asked = []

    def answer(address, timeout):
        asked.append(address)
        return io.BytesIO(release.read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    assert runtime.files() == runtime.files(release) and runtime.files() == runtime.files(release)
    assert asked == [runtime.ADDRESS]
    monkeypatch.setattr(urllib.request, "urlopen", lambda *a, **k: (_ for _ in ()).throw(urllib.error.URLError("no route")))
    assert runtime.files()  # from the cache
    monkeypatch.setattr(runtime, "VERSION", "0")
    with pytest.raises(BadValue, match=r"no route.*--runtime FILE"):
        runtime.files()
