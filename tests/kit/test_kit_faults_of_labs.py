"""What is wrong with a lab of one's own: its folder, its package, its tasks and claims, and a screen that holds too much."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ironlaw import own_labs
from ironlaw.errors import BadRegistry, BadValue
from ironlaw.kit import context, lab_check
from ironlaw.kit.lab_check import MOST_DIALS, MOST_PICTURES
from ironlaw.kit.picture_caption import LONGEST


def listed(text, monkeypatch):
    monkeypatch.setenv(own_labs.VARIABLE, str(text))
    monkeypatch.setattr(own_labs, "_packages", lambda: ())
    return [(lab.slug, lab.fault) for lab in own_labs.found()]


def test_a_folder_that_is_no_lab_and_one_that_can_t_be_read(tmp_path, monkeypatch):
    ((slug, fault),) = listed(tmp_path, monkeypatch)
    assert fault == f"{own_labs.VARIABLE}: {tmp_path} is not a lab and holds none; a lab is a folder with questions.toml"

    def closed(self, pattern):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "glob", closed)
    assert listed(tmp_path, monkeypatch) == [(slug, f"{own_labs.VARIABLE}: {tmp_path} can't be read (Permission denied)")]


def test_an_assignment_whose_lab_can_t_be_written(tmp_path, monkeypatch):
    place = tmp_path / "assignment.json"
    place.write_text('{"questions": {"slug": "own_week", "questions.toml": "", "words.md": ""}}')

    def full(*parts):
        raise OSError(28, "No space left on device", "/home/somebody")

    monkeypatch.setattr(own_labs.home, "path", full)
    ((_, fault),) = listed(place, monkeypatch)
    assert "/home/somebody can't be read or written (No space left on device); correct that, or set IRONLAW_HOME" in fault

    def nowhere(*parts):
        raise BadValue("there is no home folder; set IRONLAW_HOME")

    monkeypatch.setattr(own_labs.home, "path", nowhere)
    assert listed(place, monkeypatch)[0][1].endswith("there is no home folder; set IRONLAW_HOME")


def test_a_package_above_a_lab_that_fails(monkeypatch):
    def broken(name):
        raise RuntimeError("half installed")

    monkeypatch.setattr(own_labs, "find_spec", broken)
    assert own_labs._package_folder("a.b") == "it can't be imported (RuntimeError: half installed); correct that, or uninstall it"


def test_in_a_browser_the_site_brings_its_labs_along(tmp_path, monkeypatch):
    (tmp_path / "course" / "own_week").mkdir(parents=True)
    (tmp_path / "course" / "own_week" / "questions.toml").write_text("")
    monkeypatch.setattr(own_labs, "PACKED", tmp_path)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.delenv(own_labs.VARIABLE, raising=False)
    assert [(lab.slug, lab.fault) for lab in own_labs.found()] == [("own_week", "")] and own_labs._packages.__wrapped__() == ()


def page(figures, dials):
    made = SimpleNamespace(piece=SimpleNamespace(view={"figures": figures}, spec={"dials": dials}))
    return SimpleNamespace(lab=SimpleNamespace(instruments={"act1": made}))


def figure(name, words, **more):
    return {"id": name, "title": name, "caption": " ".join(["word"] * words), **more}


def test_a_screen_that_holds_too_much():
    dials = [{"id": f"d{i}"} for i in range(MOST_DIALS + 1)]
    spare = [{"id": "more", "more": True}, {"id": "hidden", "hidden": True}]
    kept = [figure(f"f{i}", 5) for i in range(MOST_PICTURES)]
    assert list(lab_check._screen("mine", page([*kept, figure("again", 5, tab="f0")], dials[1:] + spare))) == []
    pictures, too_many, silent, long = lab_check._screen("mine", page([*kept[1:], figure("f8", 0), figure("f9", LONGEST + 1)], dials))
    assert pictures == f"mine: act1 has {MOST_PICTURES + 1} pictures; take the {MOST_PICTURES} that decide"
    assert too_many.startswith(f"mine: act1 has {MOST_DIALS + 1} dials in view; name some of d0, d1, ")
    assert "no section [" in silent and "say in one sentence what to notice in that picture" in silent
    assert long.endswith(f"{LONGEST + 1} words; {LONGEST} at most")


def test_a_second_act_without_a_task_and_one_without_a_goal(monkeypatch):
    class Words(set):
        where = "mine/words.md"

    sheet = SimpleNamespace(questions={"act1": None, "act2": None, "act2_cost": None})
    monkeypatch.setattr(lab_check, "LabModule", lambda folder, name: SimpleNamespace(names={"GOAL"} if name == "act2" else {}))
    (missing,) = lab_check._tasks(Words(), Path("mine"), sheet)
    assert missing == "mine/words.md: no section [act2.task]; write what is to be designed, and GOAL in mine/act2/goal.py"
    (goal,) = lab_check._tasks(Words({"act2.task", "act2_cost.task"}), Path("mine"), sheet)
    assert goal == "mine: [act2_cost.task] has no GOAL to be judged by; add one, as docs/write-a-lab.md shows"


def test_a_lab_without_a_context():
    with pytest.raises(BadRegistry, match=r"a lab needs at least one \[\[context\]\] in questions.toml"):
        context.options([])
