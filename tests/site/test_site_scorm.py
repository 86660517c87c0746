"""The package for a course system: what is in it, and the copy of a ledger that a course system keeps. A browser and an independent course
system are in tests/release/browser/test_scorm.py."""

import io
import json
import xml.etree.ElementTree as ET
import zipfile

import pytest

from ironlaw import kit
from ironlaw.cli import main
from ironlaw.errors import BadValue
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.site import ledger_copy, scorm
from ironlaw.site.desk import Desk, new_learner

LAB = "lab_01_magnitude"
SITE = {
    "index.html": b'<html lang="en"><head></head>', "lab/x/index.html": b'<html lang="en"><head></head>', "sw.js": b"x",
    "ironlaw-site.json": b"{}", "docs/index.html": b"", "a/pyodide/pyodide.mjs": b"`pyodide.asm.mjs`", "a/python.js": b'"./pyodide.mjs"',
}  # fmt: skip


@pytest.mark.parametrize("version", scorm.VERSIONS)
def test_the_manifest_names_one_unit_and_every_file(version):
    archive = scorm.package(SITE, scorm.chosen(["7", "lab_07", "01"]), version)
    assert archive == scorm.package(SITE, scorm.chosen(["7", "01"]), version)
    with zipfile.ZipFile(io.BytesIO(archive)) as package:
        names = package.namelist()
        root = ET.fromstring(package.read("imsmanifest.xml"))
        page = package.read("course.html").decode()
        assert package.read("a/pyodide/pyodide.js") == b"`pyodide.asm.js`" and package.read("a/python.js") == b'"./pyodide.js"'
        assert b'src="../../course-' in package.read("lab/x/index.html") and b"data-course" in package.read("index.html")
    space = root.tag.partition("}")[0] + "}"
    [resource] = root.iter(f"{space}resource")
    assert {file.get("href") for file in resource} == set(names) - {"imsmanifest.xml"} and "sw.js" not in names
    assert resource.get("href") == "course.html" and "docs/index.html" not in names and not any(name.endswith(".mjs") for name in names)
    [item] = root.iter(f"{space}item")
    assert item.get("identifierref") == resource.get("identifier")
    data = json.loads(page.partition('id="course">')[2].partition("</script>")[0])
    assert data["version"] == version and [lab["slug"] for lab in data["labs"]] == ["lab_07_fusion", LAB]


def finished():
    owner = new_learner()
    about = json.loads(owner)
    store = MemoryStore(about["learner"], about["since"])
    ledger = Ledger(store, about["learner"])
    complete(kit.open(LAB, ledger))
    ledger.append(LAB, "design", {})
    return owner, store


def test_another_browser_goes_on_from_the_copy_and_a_third_merges_it():
    owner, store = finished()
    text = ledger_copy.copy(store, owner)
    assert len(text) < 2000 and new_learner(text) == owner
    desk = Desk(new_learner(text), "[]", "./")
    answer = json.loads(desk.ask(json.dumps({"do": "restore", "copy": text})))
    rows = json.loads(desk.unsaved())
    assert answer == {"events": len(store.rows)} and rows == [list(row) for row in store.rows]  # to the last hash
    desk.saved()
    told = json.loads(desk.ask(json.dumps({"do": "progress", "room": 4096})))
    assert told["labs"] == {LAB: scorm.DONE} and told["copy"] == text
    assert json.loads(told["export"]["text"])["chain"]["head"] == rows[-1][-1]
    assert json.loads(desk.ask(json.dumps({"do": "progress", "room": len(text) - 1})))["copy"] == ""
    assert json.loads(desk.ask(json.dumps({"do": "restore", "copy": text}))) == {"events": 0}
    other = Desk(new_learner(), "[]", "./")
    other.ask(json.dumps({"do": "name", "name": "Ada"}))
    assert json.loads(other.ask(json.dumps({"do": "restore", "copy": text}))) == {"events": len(store.rows)}


def test_a_copy_that_is_damaged_or_hostile_changes_nothing():
    owner, store = finished()
    text = ledger_copy.copy(store, owner)
    bomb = ledger_copy.base64.b64encode(ledger_copy.zlib.compress(b"[" * 50_000_000)).decode()
    shaped = [ledger_copy.base64.b64encode(ledger_copy.zlib.compress(json.dumps(data).encode())).decode() for data in (
        [], [owner, 7], [owner, [[1]]], [owner, [[None] * 9]], ["{}", [["x"] * 9]], [owner, [["x"] * 6 + ["{}", "x", None]]],
    )]  # fmt: skip
    for wrong in ("", "!", text[:-30], "A" + text[1:], bomb, *shaped):
        desk = Desk(new_learner(wrong), "[]", "./")
        assert "error" in json.loads(desk.ask(json.dumps({"do": "restore", "copy": wrong}))) and desk.unsaved() == "[]"


def test_what_is_wrong_with_a_package_is_said_before_the_site_is_built(tmp_path, capsys):
    for given, words in (
        (["--scorm", "x.zip", "--lab", "99"], "--lab 99"), (["--scorm", "x.zip", "--lab", "review"], "no end"),
        (["--scorm", "x.zip", "--scorm-version", "3"], "1.2 or 2004"), (["--lab", "01"], "--scorm"), (["--scorm", str(tmp_path)], "folder"),
    ):  # fmt: skip
        assert main(["site", str(tmp_path / "out"), *given]) == 2 and words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(BadValue):
        scorm.chosen(["nothing"])


def test_a_package_asks_for_what_an_assignment_does(tmp_path):
    (tmp_path / "a.toml").write_text('title = "x"\n[[lab]]\nname = "lab_07"\nacts = [1]\n[[lab]]\nname = "lab_01"\n')
    assert [(one.lab.slug, one.stage) for one in scorm.assigned(tmp_path / "a.toml")] == [("lab_07_fusion", 2), (LAB, 3)]
