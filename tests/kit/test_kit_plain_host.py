"""The page of a lab: cells in order, states that run them again, pieces that answer; and each lab as a notebook."""

import functools
import importlib
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from how_thorough import RELEASE
from marimo._ast.load import get_notebook_status, load_app

from ironlaw.errors import BadValue
from ironlaw.kit import lab as labs
from ironlaw.kit import notebook, shared_ledger
from ironlaw.kit.goal import Goal
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.kit.notebook import LabWidget
from ironlaw.kit.page import Page
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.pages.lab_catalogue import every_lab

LEARNER, SINCE = "01234567-89ab-4def-8123-456789abcdef", "2026-01-05T12:00:00.000000Z"
PARTS = """
from ironlaw.kit.cell import Cell

class Table:
    def _repr_html_(self):
        return "<b>bold</b>"

def open(folder):
    return Lab()

class Lab:
    number = 2
    def states(self, *names):
        return ()

CELLS = [Cell("total", lambda lab: f"sum {3 * lab.number}"), Cell("table", lambda lab: Table()), Cell("nothing", lambda lab: None)]
"""
STATES = """
from ironlaw.kit import page_host as host
from ironlaw.kit.cell import Cell
from ironlaw.widget.piece import Piece

class Lab:
    def __init__(self, folder):
        self.drawn = 0
        self.get, self.put = host.state(0)
        self.twice, self.put_twice = host.state(0)
        self.piece = host.element(Piece("toggle", {"options": [{"value": 1}]}, lambda state: self.put(state["value"]) or {}))

    def states(self, *names):
        return tuple({"at": self.get, "twice": self.twice}[name] for name in names)

    def value(self, state):
        return self.states(state)[0]()

    def untouched(self):
        self.drawn += 1
        return f"drawn {self.drawn} times"

def shown(lab):
    lab.put_twice(2 * lab.get())
    return f"at {lab.get()}"

open = Lab
CELLS = [
    Cell("element", lambda lab: f"{lab.piece}"),
    Cell("shown", shown, again=("at",)),
    Cell("after", lambda lab: f"twice that: {lab.twice()}", again=("twice",)),
    Cell("gate", lambda lab: "open", opens="at"),
    Cell("untouched", Lab.untouched),
]
"""


def memory() -> Ledger:
    return Ledger(MemoryStore(LEARNER, SINCE), LEARNER)


def page_of(tmp_path, text) -> Page:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "cells.py").write_text(text, "utf-8")
    return Page(tmp_path, memory())


def test_cells_stand_as_listed_and_show_text_or_html_of_their_own(tmp_path):
    cells = page_of(tmp_path, PARTS).open()
    assert cells == {"opened": "", "states": "", "total": "sum 6", "table": "<b>bold</b>", "nothing": ""}
    assert list(cells) == ["opened", "states", "total", "table", "nothing"]


def test_a_state_that_is_set_runs_the_cells_that_name_it_and_those_alone(tmp_path):
    page = page_of(tmp_path, STATES)
    assert page.open()["after"] == "twice that: 2"
    (name,) = page.pieces
    assert page.html_of["element"] == f'<ironlaw-piece data-piece="{name}"></ironlaw-piece>'
    changes = page.act(name, {"value": 4, "seq": 7})
    assert changes == {"cells": {"shown": "at 4", "after": "twice that: 8"}, "pieces": {name: {"view": {"seq": 7}}}, "new": {}}
    assert page.html_of["untouched"] == "drawn 1 times"
    assert page.settle() == {"cells": {}, "pieces": {}}
    with pytest.raises(BadValue, match="load the page again"):
        page.act("p99", {})


def test_a_cell_is_empty_until_its_state_opens_it(tmp_path):
    page = page_of(tmp_path, STATES)
    assert page.open()["gate"] == "open"
    (name,) = page.pieces
    assert page.act(name, {"value": 0})["cells"]["gate"] == ""


def test_pages_in_threads_side_by_side_are_each_their_own(tmp_path):
    """Each page waits for the other in the middle of opening, and finds its own states all the same."""
    meeting = threading.Barrier(2, timeout=60)
    pages = [page_of(tmp_path / name, STATES.replace("self.drawn = 0", "meet(); self.drawn = 0")) for name in "ab"]
    for page in pages:
        page._script.cells[1].show.__globals__["meet"] = meeting.wait
    with ThreadPoolExecutor(2) as pool:
        shown = list(pool.map(lambda page: page.open(), pages))
    assert shown[0] == shown[1] and shown[0]["after"] == "twice that: 2"
    (first,), (second,) = (list(page.pieces) for page in pages)
    assert pages[0].act(first, {"value": 4})["cells"]["shown"] == "at 4"
    assert pages[1].html_of["shown"] == "at 1" and second in pages[1].pieces


def test_a_page_that_is_closed_lets_its_pieces_go(tmp_path):
    page = page_of(tmp_path, STATES)
    page.open()
    (shown,) = page.pieces.values()
    page.close()
    assert shown.widget.followers == [] and shown.widget._compute is None


def test_a_cell_that_fails_says_so_and_the_others_are_shown(tmp_path, caplog):
    page = page_of(tmp_path, PARTS.replace("3 * lab.number", "1 / 0"))
    cells = page.open()
    assert "ZeroDivisionError" in cells["total"] and 'role="alert"' in cells["total"]
    assert cells["table"] == "<b>bold</b>" and list(page.failed) == ["total"]
    assert "total" in caplog.text


def test_a_lab_that_can_t_be_opened_says_so_on_its_page(tmp_path, caplog):
    cells = page_of(tmp_path, PARTS.replace("return Lab()", "return 1 / 0")).open()
    assert "ZeroDivisionError" in cells["opened"] and cells["total"] == ""


def test_a_lab_without_its_modules_says_which_is_missing(tmp_path):
    (tmp_path / "questions.toml").write_text("[lab]\nnumber = 1\nminutes = 5\n")
    with pytest.raises(BadValue, match=r"no design\.py"):
        Page(tmp_path, memory())


# --- each lab as a notebook

SLUGS = sorted(path.parent.name for path in LABS.glob("*/lab.py"))


def in_marimo(slug, ledger, monkeypatch) -> Page:
    """The page that the lab's notebook shows; `marimo run` reads the file as `load_app` does."""
    monkeypatch.setattr(shared_ledger, "shared_ledger", lambda: ledger)
    assert get_notebook_status(str(LABS / slug / "lab.py")).status != "has_errors"
    app = load_app(LABS / slug / "lab.py")
    (widget,), _ = app.run()
    assert app._config.app_title
    return widget.widget.page


@pytest.mark.parametrize("slug", SLUGS if RELEASE else SLUGS[1::4])
def test_each_notebook_shows_its_lab_locked_and_complete(slug, monkeypatch):
    """Every fourth, and all before a release: they are the same but for slug and title, and tests/labs opens each lab's page."""
    ledger = memory()
    page = in_marimo(slug, ledger, monkeypatch)
    assert not page.failed and page.html_of["header"]
    if slug == "review":
        return
    assert page.html_of["receipt"] == ""
    complete(page.lab)
    page = in_marimo(slug, ledger, monkeypatch)
    assert not page.failed and page.html_of["receipt"]
    assert not [name for name, element in page.lab.elements.items() if element.widget.view.get("error")]


@functools.cache
def titles() -> dict[str, str]:
    return {lab.slug: f"{lab.name} · {lab.title}" for lab in every_lab()}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebook_is_the_same_for_all_labs_but_slug_and_title(slug, monkeypatch):
    """Its title is the lab's, and its one cell shows the page of that lab."""
    lines = (LABS / slug / "lab.py").read_text("utf-8").splitlines()
    title, first = re.search(r'app_title="(.*)"', "\n".join(lines))[1], (LABS / SLUGS[0] / "lab.py").read_text("utf-8")
    other = re.search(r'app_title="(.*)"', first)[1]
    assert len(lines) <= 15 and first.replace(other, title).replace(f'"{SLUGS[0]}"', f'"{slug}"').splitlines() == lines
    opened = importlib.import_module(f"ironlaw.labs.{slug}.lab")
    assert opened.app._config.app_title == title == titles().get(slug, "A lab to copy")
    monkeypatch.setattr(notebook, "show", lambda name: f"the page of {name}")
    assert opened.page.run() == (f"the page of {slug}", {"show": notebook.show})


def test_what_the_widget_is_asked_it_answers(monkeypatch):
    widget = LabWidget(in_marimo("_template", memory(), monkeypatch))
    assert json.loads(widget.answer) == json.loads(json.dumps(widget.page.shown()))
    lock = widget.page.lab.elements["act1"]
    state = {**lock.widget.state, "choice": 0, "confidence": 3, "commit": 1}
    widget.set_state({"asked": json.dumps({"piece": lock.name, "state": state, "number": 2})})  # as a message of the browser does
    answer = json.loads(widget.answer)
    assert answer["number"] == 2 and "il-reveal" in answer["cells"]["act1_reveal"]
    widget.set_state({"asked": json.dumps({"piece": "", "number": 3})})
    assert json.loads(widget.answer)["cells"]["act1_reveal"] == answer["cells"]["act1_reveal"]
    widget.close()
    assert not lock.widget.followers


def test_without_marimo_a_notebook_says_what_to_install():
    code = "import sys, runpy; sys.modules['marimo'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", code, LABS / "_template" / "lab.py"], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "pip install 'ironlaw[notebook]'" in run.stderr  # Python shows the line


# --- a learner on the page


PIECE = re.compile(r"<ironlaw-piece.*?</ironlaw-piece>")


def alike(html: str) -> str:
    """A cell's HTML, with every piece as an empty place."""
    return PIECE.sub("[piece]", html)


class Learner:
    """Does what stands open on a page, the first option everywhere."""

    def __init__(self, slug: str) -> None:
        self.ledger = memory()
        self.page = Page(labs.folder(slug), self.ledger)
        self.page.open()
        self.lab = self.page.lab

    def do(self, element: str, **state) -> None:
        shown = self.lab.elements[element]
        before = shown.widget.state
        self.page.act(shown.name, {**before, **state, "seq": before.get("seq", 0) + 1})
        assert not shown.widget.view.get("error"), (element, shown.widget.view)

    def next(self) -> str:
        """One thing that is open is done; its name, or nothing at the end."""
        for name, element in self.lab.elements.items():
            piece = element.widget
            if piece.kind not in ACTS or any(piece.view.get(done) for done in ("committed", "answered", "done", "saved")):
                continue
            count, state = ACTS[piece.kind]
            if "blanks" in piece.spec:
                state = {"choice": [0] * len(piece.spec["blanks"])}
            if "sketch" in piece.spec:
                state = {**state, "sketch": [50.0] * len(piece.spec["sketch"]["points"])}
            if "estimate" in piece.spec:
                state = {**state, "estimate": piece.spec["estimate"]["min"]}
            self.do(name, **state, **{count: piece.state.get(count, 0) + 1})
            return name
        return ""


# kind -> what counts its presses, and what is chosen before
ACTS = {
    "lock": ("commit", {"choice": 0, "confidence": 3}), "reflect": ("answer", {"choice": 0}), "number": ("commit", {"value": 2.0}),
    "next": ("act", {}), "save": ("act", {}),
}  # fmt: skip


@pytest.mark.parametrize(
    "slug",
    [
        "_template",
        "lab_01_magnitude",
        "lab_07_fusion",
        "lab_12_amdahl",
        *(("lab_08_ledger", "lab_11_roofline", "lab_15_parity") if RELEASE else ()),
    ],
)
def test_a_page_that_followed_each_act_is_the_page_that_is_loaded_again(slug):
    learner = Learner(slug)
    seen = 0
    while done := learner.next():
        seen += 1
        again = Page(labs.folder(slug), learner.ledger)
        assert {name: alike(html) for name, html in again.open().items()} == {
            name: alike(html) for name, html in learner.page.html_of.items()
        }, done
    assert learner.lab.progress.design is not None and seen >= 6


class Counted:
    """A ledger that counts what it is asked."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.asked = ledger, []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.ledger, name)


def test_a_dial_runs_the_hud_alone_and_reads_nothing_of_the_ledger():
    """Act II is not predicted yet: that too is known without asking again."""
    ledger = Counted(memory())
    page = Page(labs.folder("lab_v2_05_parallelism"), ledger)
    page.open()
    lock = page.lab.elements["act1"]
    page.act(lock.name, {**lock.widget.state, "choice": 0, "confidence": 3, "commit": 1})
    instrument = page.lab.elements["act1.instrument"]
    ran, before = dict(page._ran), instrument.widget.state
    ledger.asked.clear()
    dial = next(dial for dial in instrument.widget.spec["dials"] if "options" in dial)
    other = next(option["value"] for option in dial["options"] if option["value"] != before["dials"].get(dial["id"], dial["value"]))
    changes = page.act(instrument.name, {**before, "dials": {**before["dials"], dial["id"]: other}, "seq": 1})
    assert changes["pieces"] and set(ledger.asked) == {"where"}  # the name of its file
    assert [name for name, number in page._ran.items() if number != ran[name]] == ["hud"]


def test_a_dial_at_rest_is_held_against_each_goal_once(monkeypatch):
    """The HUD, the receipt and the button that saves show the same designs."""
    ledger, slug = memory(), "lab_12_amdahl"
    complete(labs.open(slug, ledger))
    page = Page(labs.folder(slug), ledger)
    page.open()
    asked, broken = [], Goal.broken
    monkeypatch.setattr(Goal, "broken", lambda goal, lab, values: asked.append(goal) or broken(goal, lab, values))
    instrument = page.lab.elements["act2.instrument"]
    before = instrument.widget.state
    dial = next(dial for dial in instrument.widget.spec["dials"] if dial["type"] in ("range", "log"))
    page.act(instrument.name, {**before, "dials": {**before["dials"], dial["id"]: dial["max"]}, "seq": 1})
    assert asked == [aim.goal for aim in page.lab.aims.values()] != []
    assert page.lab.built_now is None
