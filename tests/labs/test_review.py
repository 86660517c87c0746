"""The review headless: what is on the page, what the ledger holds, and that nothing is given away."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from headless import bare, parts
from ledger_at_hand import open_ledger

from ironlaw.kit import page as plain
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import problems
from ironlaw.labs.review import capture, ladder, loop, review, roof, sections
from ironlaw.recall.card_templates import templates
from ironlaw.recall.card_variants import variant

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Page:
    """The review as a learner meets it: `reload` runs the app anew, `send` is what the browser does to a piece."""

    def __init__(self, ledger):
        self.ledger, self.now = ledger, NOON
        self.reload()

    def reload(self):
        self.lab = review.open(ledger=self.ledger, clock=lambda: self.now)
        self.parts = parts(plain.Page(LABS / "review", self.ledger), self.lab)
        return self

    def piece(self, name):
        return self.lab.elements[name].widget

    def send(self, name, **state):
        piece = self.piece(name)
        piece.state = {**piece.state, **state, "seq": piece.state.get("seq", 0) + 1}
        return piece.view

    def do(self, name, **state):
        return self.send(name, act=self.piece(name).state["act"] + 1, **state)

    def turn(self, name, **dials):
        return self.send(name, dials={**self.piece(name).state["dials"], **dials})

    def answer(self, right=True, sure=5):
        shown = self.lab.desk.variant
        value = float(shown.key) if right else shown.mistakes[0].value
        return self.do("cards", do="answer", answer=f"{value:.12g} {shown.unit}", confidence=sure)

    @property
    def text(self):
        html = " ".join(part.text for part in self.parts.values() if part is not None)
        return bare(html + " " + " ".join(f"{element.widget.spec} {element.widget.view}" for element in self.lab.elements.values()))


@pytest.fixture
def page(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        yield Page(ledger)


def test_the_check_finds_nothing():
    assert problems("review") == []


def test_the_list_of_cells_is_thin_and_free_of_physics():
    text = (LABS / "review" / "cells.py").read_text()
    assert len(text.splitlines()) < 70
    assert not re.search(r"\d\.\d|e\d\d|\* ?1e|engine|bandwidth", text)


def test_every_section_of_the_rail_is_on_the_page(page):
    html = " ".join(part.text for part in page.parts.values() if part is not None)
    for name in sections.RAIL:
        assert f'href="#{name}"' in html and f'id="{name}"' in html


def test_no_key_no_rubric_and_no_ladder_before_an_answer(page):
    shown = page.lab.desk.variant
    assert shown.working not in page.text and shown.answer not in page.text
    for name, card in templates().items():
        if card.kind == "explain":
            assert not any(point in page.text for point in variant(card, 0).rubric), name
    for name in ("ladder", "roof"):
        assert page.piece(name).view["figures"] == [] and page.piece(name).view["cards"] == []
    assert "frozen snapshot" not in page.text and page.piece("spectrum").view["told"] == {}
    assert [step["given"] for step in page.piece("steps").view["steps"]] == [None]
    assert page.piece("walk").view["end"] is None


# --- an answer reaches everything that shows it


def test_a_sure_mistake_reaches_beliefs_map_and_calibration(page):
    concept = page.lab.desk.variant.template.concept
    page.answer(right=False, sure=5)
    assert page.lab.state.held_beliefs
    page.reload()
    assert "But:" in page.parts["beliefs"].text and page.lab.state.held_beliefs[0].says in unescape(page.parts["beliefs"].text)
    assert "0 of 1" in str(page.piece("you").view["figures"])
    assert page.piece("map").view["nodes"][concept]["mastery"] == 0
    assert f"{page.lab.desk.remaining} to go" in page.parts["hud"].text, "as many as the card says"
    page.now += timedelta(minutes=2)
    assert "1 due" in page.reload().parts["hud"].text


def test_a_right_answer_shades_its_concept_at_once_and_undo_takes_it_back(page):
    concept = page.lab.desk.variant.template.concept
    before = page.piece("map").view["nodes"][concept]["mastery"]
    page.answer()
    after = page.piece("map").view["nodes"][concept]["mastery"]
    assert before == 0 < after
    page.do("cards", do="undo")
    assert page.piece("map").view["nodes"][concept]["mastery"] == 0
    assert page.piece("you").view["cards"][0]["value"] == "0"


def test_brier_by_hand(page):
    page.answer(right=False, sure=5)  # (0.95 − 0)²
    page.do("cards", do="next")
    page.lab.ask(["int8_ridge"])
    page.answer(right=True, sure=1)  # (0.25 − 1)²
    card = next(card for card in page.piece("you").view["cards"] if card["label"] == "Brier score")
    assert float(card["value"]) == pytest.approx((0.95**2 + 0.75**2) / 2, rel=5e-3) and card["tone"] == "bad"
    assert page.turn("you", over="labs")["cards"][0]["value"] == "0"


def test_the_map_opens_a_node_and_asks_its_cards(page):
    view = page.send("map", open="registers")
    assert view["opened"]["definition"] and {card["id"] for card in view["opened"]["cards"]}
    page.do("map", open="registers")
    assert page.piece("cards").view["card"] == view["opened"]["cards"][0]["id"]
    view = page.do("map", open="why")
    assert "has cards" in view["error"]["message"]


# --- ticks and texts


def test_ticks_and_texts_are_events(page):
    view = page.do("checklist", statement="derive_ridge", ticked=True)
    assert (view["points"], view["of"], view["label"]) == (1, 10, "Not yet")
    row = next(row for row in view["rows"] if row["id"] == "derive_ridge")
    assert row["ticked"] and "do not back it" in row["gap"] and row["cards"][0]["id"] == "ridge_point"
    assert page.do("writing", prompt="surprise", text="Memory.")["texts"] == {"surprise": "Memory."}
    page.do("writing", prompt="surprise", text="Memory.")
    page.do("writing", prompt="surprise", text="Memory, mostly.")
    assert [event.kind for event in page.ledger.events("review")] == ["opened", "ticked", "written", "written"]
    page.reload()
    assert page.piece("writing").view["texts"] == {"surprise": "Memory, mostly."}
    assert page.piece("checklist").view["points"] == 1
    assert "nothing to save" in page.do("writing", prompt="shaky", text=" ")["error"]["message"]
    assert "known" in page.do("checklist", statement="fly", ticked=True)["error"]["message"]


# --- the models


@pytest.mark.parametrize(("name", "guess"), [("ladder", "l2"), ("roof", "memory-bound")])
def test_a_guess_is_not_an_answer_until_it_is_said_to_be(page, name, guess):
    """An arrow key moves through a menu: passing an option by must not show the key."""
    assert page.turn(name, guess=guess)["figures"] == []
    assert page.turn(name, show=True)["figures"]
    assert page.turn(name, guess="unsaid")["figures"] == []


def test_where_a_tensor_lives(page):
    """4096 × 1024 in FP16 are 8 MiB: registers of an A100 hold it for one kernel, L2 for the next."""
    view = page.turn("ladder", guess="l2", show=True)
    assert view["banner"]["tone"] == "good" and "L2 cache" in view["banner"]["title"]
    assert view["figures"][0]["text"].endswith("It lives in L2 cache.")
    view = page.turn("ladder", use="own")
    assert view["banner"]["tone"] == "warn" and "register file" in view["banner"]["title"]
    view = page.turn("ladder", rows=2**20, columns=65536)
    assert "does not fit" in view["banner"]["title"]


def test_every_device_of_the_ladder_and_the_roof_can_be_drawn(page):
    for name, module in (("ladder", ladder), ("roof", roof)):
        page.turn(name, guess="main" if name == "ladder" else "memory-bound", show=True)
        for slug, _ in module.devices():
            assert page.turn(name, device=slug)["figures"], (name, slug)


def test_attainable_is_the_lower_roof(page):
    """A100, FP16: 312 TFLOP/s and 2,039 GB/s. At 16 FLOP/B 32.6 TFLOP/s, at 1,000 the peak."""
    view = page.turn("roof", guess="memory-bound", intensity=16, show=True)
    assert view["cards"][0]["value"] == "32.6" and view["banner"]["tone"] == "good"
    view = page.turn("roof", intensity=1000)
    assert view["cards"][0]["value"] == "312" and view["banner"]["tone"] == "warn"


WORK = ("matrix", "vector")


def test_element_wise_work_has_a_ridge_of_its_own(page):
    """An A100 in FP16: 312 TFLOP/s over 2.039 TB/s is 153; its vector units, at 78, meet the memory roof at 38."""
    tones = {work: page.turn("roof", guess="memory-bound", show=True, intensity=64, work=work)["banner"]["tone"] for work in WORK}
    assert tones == {"matrix": "good", "vector": "warn"}
    assert page.piece("roof").view["cards"][0]["value"] == "78"


def test_the_loop_asks_and_the_engine_answers(page):
    """A100, keyword spotting at batch 1: 29 launches of 10 µs and hardly any work, so eight times the batch is 8× per item."""
    found = loop.build_case("kws", "a100_80gb_sxm")
    assert found.before.bound == "overhead" and found.gain("batch") == pytest.approx(8, rel=0.01)
    assert found.gain("bandwidth") == pytest.approx(1, abs=0.01)
    view = page.send("steps", job="kws", device="a100_80gb_sxm", answers=[0, 2, 1, 3, 2])
    assert [step["right"] for step in view["steps"]] == [True, True, None, True, True]
    assert "best of the four" in view["after"]
    assert "9 is not an answer to 'Profile'" in page.send("steps", answers=[9])["error"]["message"]


def test_a_faster_memory_helps_what_waits_for_memory():
    found = loop.build_case("resnet64", "a100_80gb_sxm")
    assert found.before.bound == "memory" and 1.4 < found.gain("bandwidth") <= 2.0 and found.gain("peak") < 1.3


def test_the_capture_spectrum_tells_after_a_guess(page):
    view = page.send("spectrum", guesses={"trace": "right", "compile": "right"})
    assert (view["told"]["trace"]["right"], view["told"]["compile"]["right"]) == (False, True)
    assert view["source"].startswith("Recorded, not run here: PyTorch " + capture.recorded_run()["torch"])
    assert "frozen snapshot" in view["told"]["trace"]["about"] and "3" in view["told"]["compile"]["about"]


def test_the_words_of_the_next_phase_are_there(page):
    text = bare(page.parts["what_comes_next"].text)
    for words in ("intermediate representations", "passes", "lowering and code generation", "frontend and backend", "algorithm"):
        assert words in text
