"""The host without marimo: cells in order, states that run them again, pieces that answer; and the labs as marimo shows them."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from ironlaw import kit
from ironlaw.errors import BadValue
from ironlaw.kit import lab as labs
from ironlaw.kit import review
from ironlaw.kit.host.plain import Page
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory import MemoryStore

LEARNER, SINCE = "01234567-89ab-4def-8123-456789abcdef", "2026-01-05T12:00:00.000000Z"
NOTEBOOK = """
import marimo
app = marimo.App()

@app.cell
def total(double, lab):
    f"sum {double + lab}"

@app.cell
def start():
    lab = 2
    return (lab,)

@app.cell
def twice(lab):
    _local = 2
    double = _local * lab
    return double,

@app.cell
def nothing():
    return
"""
STATES = """
@app.cell
def counter():
    from ironlaw.kit import host as _host
    from ironlaw.widget.piece import Piece as _Piece

    get, put = _host.state(0)
    piece = _host.element(_Piece("toggle", {"options": [{"value": 1}]}, lambda state: put(state["value"]) or {}))
    return (get, piece)

@app.cell
def element(piece):
    f"{piece}"

@app.cell
def shown(get):
    doubled = 2 * get()
    f"at {get()}"
    return (doubled,)

@app.cell
def after(doubled):
    f"twice that: {doubled}"

@app.cell
def untouched():
    untouched_runs = []
    f"{len(untouched_runs)}"
    return (untouched_runs,)
"""


def memory() -> Ledger:
    return Ledger(MemoryStore(LEARNER, SINCE), LEARNER)


def notebook(tmp_path, text) -> Page:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "lab.py").write_text(text, "utf-8")
    return Page(tmp_path, memory())


def test_a_cell_runs_after_those_that_define_what_it_needs(tmp_path):
    assert notebook(tmp_path, NOTEBOOK).open() == {"total": "sum 6", "start": "", "twice": "", "nothing": ""}


def test_a_value_with_html_of_its_own_is_shown_by_that(tmp_path):
    text = """
import marimo
app = marimo.App()

@app.cell
def words():
    import marimo as mo

    mo.md("**bold**")
    return (mo,)
"""
    assert "<strong>bold</strong>" in notebook(tmp_path, text).open()["words"]


def test_what_nothing_defines_is_named(tmp_path):
    with pytest.raises(BadValue, match=r"total.*double"):
        notebook(tmp_path, NOTEBOOK.replace("double = _local", "other = _local").replace("return double,", "return other,"))
    with pytest.raises(BadValue, match="no cell"):
        notebook(tmp_path, "x = 1")
    with pytest.raises(BadValue, match="start"):
        notebook(tmp_path, NOTEBOOK.replace("return (lab,)", "return 2 * lab"))


def test_a_state_that_is_set_runs_the_cells_that_name_it_and_those_that_follow(tmp_path):
    page = notebook(tmp_path, STATES)
    assert page.open()["after"] == "twice that: 2"
    (name,) = page.pieces
    assert page.html_of["element"] == f'<ironlaw-piece data-piece="{name}"></ironlaw-piece>'
    changes = page.act(name, {"value": 4, "seq": 7})
    assert changes == {"cells": {"shown": "at 4", "after": "twice that: 8"}, "pieces": {name: {"view": {"seq": 7}}}, "new": {}}
    assert page.settle() == {"cells": {}, "pieces": {}}
    with pytest.raises(BadValue, match="load the page again"):
        page.act("p99", {})


def test_pages_in_threads_side_by_side_are_each_their_own(tmp_path):
    """Each page's cells wait for the other's in the middle of a run, and find their own states all the same."""
    meeting = threading.Barrier(2, timeout=60)
    pages = [
        notebook(tmp_path / name, STATES.replace("get, put = _host.state(0)", "lab_name()\n    get, put = _host.state(0)")) for name in "ab"
    ]
    for page in pages:
        for cell in page._order:
            cell.body.__globals__["lab_name"] = meeting.wait
    with ThreadPoolExecutor(2) as pool:
        shown = list(pool.map(lambda page: page.open(), pages))
    assert shown[0] == shown[1] and shown[0]["after"] == "twice that: 2"
    (first,), (second,) = (list(page.pieces) for page in pages)
    assert pages[0].act(first, {"value": 4})["cells"]["shown"] == "at 4"
    assert pages[1].html_of["shown"] == "at 1" and second in pages[1].pieces


def test_a_page_that_is_closed_lets_its_pieces_go(tmp_path):
    page = notebook(tmp_path, STATES)
    page.open()
    (shown,) = page.pieces.values()
    page.close()
    assert shown.widget.followers == [] and shown.widget._compute is None


def test_a_cell_that_fails_says_so_and_the_others_are_shown(tmp_path, caplog):
    page = notebook(tmp_path, NOTEBOOK.replace("double = _local * lab", "double = _local / 0"))
    cells = page.open()
    assert "ZeroDivisionError" in cells["twice"] and 'role="alert"' in cells["twice"]
    assert cells["total"] == "" and "could not" not in cells["start"]
    assert "twice" in caplog.text


# --- the same learner on both hosts

PIECE = re.compile(r"<marimo-ui-element.*?</marimo-ui-element>|<ironlaw-piece.*?</ironlaw-piece>", re.DOTALL)


def alike(html: str) -> str:
    """A cell's HTML, with every piece as an empty place."""
    return PIECE.sub("[piece]", html)


def as_marimo_shows_it(slug, lab) -> dict[str, str]:
    app = import_module(f"ironlaw.labs.{slug}.lab").app
    outputs, _ = app.run(defs={"lab": lab})
    names = [cell.name for cell in app._cell_manager.cells()][1:]  # the first, which opens the lab, is replaced
    return {name: alike(part.text) if part is not None else "" for name, part in zip(names, outputs, strict=True)}


class Learner:
    """Does what stands open on a page without marimo, the first option everywhere."""

    def __init__(self, slug: str) -> None:
        self.ledger = memory()
        self.page = Page(labs.folder(slug), self.ledger)
        self.page.open()
        self.lab = self.page._names["lab"]

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
    "slug", ["_template", "lab_01_magnitude", "lab_07_fusion", "lab_08_ledger", "lab_11_roofline", "lab_12_amdahl", "lab_15_parity"]
)
def test_the_same_learner_gives_the_same_page_on_both_hosts(slug):
    """Without marimo the page follows each act; marimo draws it anew from what the ledger holds then."""
    learner = Learner(slug)
    seen = 0
    while done := learner.next():
        seen += 1
        if done.endswith(".next") and not done.startswith("act1.peek"):
            continue  # marimo takes long, and the next step shows the same and more
        plain = {name: alike(html) for name, html in learner.page.html_of.items()}
        theirs = as_marimo_shows_it(slug, kit.open(slug, learner.ledger))
        assert {name: plain[name] for name in theirs} == theirs, done
    assert learner.lab._design is not None and seen >= 6


def test_the_review_is_the_same_on_both_hosts():
    ledger = memory()
    page = Page(labs.folder("review"), ledger)
    plain = {name: alike(html) for name, html in page.open().items()}
    theirs = as_marimo_shows_it("review", review.open(ledger=ledger))
    assert {name: plain[name] for name in theirs} == theirs and len(page.pieces) >= 8
