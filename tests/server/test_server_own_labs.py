"""An instructor's labs beside ours: from a folder, from a package; a broken one is named and left out, and the others open."""

import os
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ironlaw import own_labs
from ironlaw.cli import main
from ironlaw.kit.lab_check import problems
from ironlaw.pages.lab_catalogue import catalogue, every_lab, find, resolve

OURS = {"origin": "http://127.0.0.1:2718"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is searched, with one lab in it, written as docs/write-a-lab.md says."""
    assert main(["lab", "new", "cache_lines", "--in", str(tmp_path)]) == 0
    monkeypatch.setenv(own_labs.VARIABLE, str(tmp_path))
    return tmp_path


def own() -> dict[str, str]:
    """slug -> why it can't be opened."""
    return {lab.slug: lab.error for lab in every_lab() if lab.own}


def test_it_stands_beside_ours_and_opens(folder: Path, client: TestClient):
    assert own() == {"cache_lines": ""}
    page = client.get("/").text
    assert page.index('id="own-labs"') > page.index('href="/lab/lab_v2_17_synthesis/"') and 'href="/lab/cache_lines/"' in page
    assert "A lab to copy" in client.get("/lab/cache_lines/").text
    with client.websocket_connect("ws://127.0.0.1:2718/lab/cache_lines/ws", headers=OURS) as socket:
        answer = socket.receive_json()
    assert "By what factor does the H100" in str(answer) and not answer["cells"]["opened"]


def test_the_check_takes_its_name_and_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert main(["lab", "check", "cache_lines"]) == 0
    (folder / "cache_lines" / "words.md").write_text("## title\nNothing else\n")
    monkeypatch.setenv(own_labs.VARIABLE, "")
    assert main(["lab", "check", str(folder / "cache_lines")]) == 1
    assert "no section [sentence]" in capsys.readouterr().out


def test_a_lab_with_an_error_is_named_and_the_others_open(folder: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch):
    for name, sheet in (("broken", "[lab\n"), ("lab_01_magnitude", "[lab]\nminutes = 3\n"), ("Not-A-Slug", "")):
        (folder / name).mkdir()
        (folder / name / own_labs.SHEET).write_text(sheet)
        (folder / name / "lab.py").write_text("")
        (folder / name / "words.md").write_text("## title\nX\n\n## sentence\nY\n")
    monkeypatch.setenv(
        own_labs.VARIABLE, os.pathsep.join([str(folder), "/nowhere/at/all", "~nobody-here/labs", str(folder / "cache_lines")])
    )
    faults = [lab for lab in every_lab() if lab.own and lab.error]
    assert [lab.slug for lab in every_lab() if lab.own and lab.ready] == ["cache_lines"]
    said = " ".join(lab.error for lab in faults)
    assert len(faults) == 6
    for part in ("Expected", "so has ironlaw itself", "not a valid name", "/nowhere/at/all", "~nobody-here", "so has IRONLAW_LABS"):
        assert part in said
    assert find("lab_01_magnitude").folder == catalogue()[0].folder and find("cache_lines").ready
    page = client.get("/")
    assert page.status_code == 200 and page.text.count("This lab can’t be opened.") == 6
    assert client.get("/lab/cache_lines/").status_code == 200 and client.get("/lab/broken/").status_code == 500


def test_a_lab_whose_act_fails_says_so_and_the_next_one_opens(folder: Path, client: TestClient):
    (folder / "cache_lines" / "act1.py").write_text("raise RuntimeError('no such machine')\n")
    faults = problems(folder / "cache_lines")
    assert faults
    with client.websocket_connect("ws://127.0.0.1:2718/lab/cache_lines/ws", headers=OURS) as socket:
        socket.receive_json()
    with client.websocket_connect("ws://127.0.0.1:2718/lab/lab_01_magnitude/ws", headers=OURS) as socket:
        assert not socket.receive_json()["cells"]["opened"]


def test_a_package_is_found_by_its_entry_point_and_nothing_of_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    site = tmp_path / "installed"
    information = site / "campus_labs-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: campus-labs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[ironlaw.labs]\ncampus = campus_labs\ngone = no_such_package_here\n")
    assert main(["lab", "new", "cache_rows", "--in", str(site / "campus_labs")]) == 0
    (site / "campus_labs" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delenv(own_labs.VARIABLE, raising=False)
    own_labs._packages.cache_clear()
    try:
        assert own()["cache_rows"] == "" and "no_such_package_here" in own()["gone"]
        assert resolve("cache_rows").folder == site / "campus_labs" / "cache_rows"
        assert problems("cache_rows") == []
    finally:
        monkeypatch.undo()
        own_labs._packages.cache_clear()


def test_a_belief_of_their_own_stands_beside_ours(folder: Path):
    sheet = folder / "cache_lines" / own_labs.SHEET
    sheet.write_text(re.sub('misconception = "scale_underestimated"', 'misconception = "lines_are_bytes"', sheet.read_text()))
    assert any("lines_are_bytes" in fault for fault in problems("cache_lines", run=False))
    (folder / "misconceptions.toml").write_text('lines_are_bytes = "A cache line is a byte."\n')
    assert problems("cache_lines", run=False) == []


def test_where_there_is_none_nothing_changes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(own_labs.VARIABLE, raising=False)
    assert every_lab() == catalogue()
