"""The certificate's page: what it says of a full, a small and an empty ledger, and that no text of a ledger is taken as HTML."""

import re

import pytest

from ironlaw.kit.lab import LABS
from ironlaw.kit.question_texts import Asked, asked
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.pages import certificate_page
from ironlaw.pages.calibration_picture import calibration_picture
from ironlaw.pages.certificate_rows import field
from ironlaw.pages.lab_catalogue import catalogue
from ironlaw.recall.certificate_facts import issue

ME = "01234567-89ab-4def-8123-456789abcdef"
LAB = "lab_01_magnitude"
ROW = {"kind": "figure", "name": "a", "value": 2, "low": 1, "high": 3, "samples": 9, "params": {}}


@pytest.fixture
def ledger():
    return Ledger(MemoryStore(ME, "2026-01-05T12:00:00.000000Z"), ME)


def page(ledger):
    return certificate_page.page(issue(ledger.export(), "0.1"), catalogue())


def numbered():
    return sum(lab.slug.startswith("lab_") for lab in catalogue())


def test_an_empty_ledger_says_so_and_offers_the_first_lab(ledger):
    text = page(ledger)
    assert "Nothing has been committed yet" in text and f'href="/lab/{LAB}/"' in text and "certificate.json" not in text


def test_one_lab_is_shown_as_one_of_all(ledger):
    ledger.commit_prediction(LAB, "act1", "e4", 1e4, 5, False)
    text = page(ledger)
    assert f"0 of {numbered()} labs saved" in text and "An unnamed learner" in text
    assert "How much more peak compute does the H100" in text and "10⁴" in text
    assert "not as predicted" in text and "wrong" not in text
    assert "Brier score <b>0.902</b>" in text or "Brier score <b>0.903</b>" in text
    assert "No design is saved yet" in text and "Nothing so far" in text and "There are few answers" in text
    ledger.append(LAB, "design", {"batch": 8, "oom_triggered": False, "act1_correct": False, "dials": {"act1": {}}})
    text = page(ledger)
    assert f"1 of {numbered()} labs saved" in text and "batch <b>8</b>; oom triggered <b>no</b>" in text and "act1 correct" not in text
    assert ledger.export()["chain"]["head"] in text


def test_what_comes_from_a_ledger_is_text(ledger):
    evil = "<script>alert(1)</script>"
    ledger.set_learner_name(evil)
    ledger.commit_prediction("lab_99_elsewhere", "act1", evil, evil, 3, True)
    ledger.append("lab_99_elsewhere", "design", {evil: evil})
    ledger.append(
        "lab_99_elsewhere", "measured",
        {
            "experiment": "x", "machine": {"cpu": evil}, "software": {}, "noise": {"noisy": True}, "library": evil,
            "rows": [ROW | {"label": evil, "unit": evil}],
        },
    )  # fmt: skip
    text = page(ledger)
    assert "<script" not in text and text.count("&lt;script&gt;") >= 7
    assert "Lab 99" in text and "and 1 that this version of ironlaw does not have" in text and "the machine was busy" in text


def test_the_picture_has_a_point_and_an_interval_per_level_with_predictions():
    levels = [
        {"confidence": 4, "stated": 0.8, "predictions": 4, "right": 3, "interval": [0.3, 0.95]},
        {"confidence": 5, "stated": 0.95, "predictions": 0, "right": 0, "interval": None},
    ]
    drawn = calibration_picture(levels)
    assert drawn.count("<circle") == 1 and "confidence 4, 80% stated: 3 of 4 right" in drawn
    ideal = [float(number) for number in re.search(r'class="ideal" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)', drawn).groups()]
    x, y = (float(re.search(rf'{name}="([\d.]+)"', drawn)[1]) for name in ("cx", "cy"))
    along = (x - ideal[0]) / (ideal[2] - ideal[0])
    assert along == pytest.approx(0.8) and (ideal[1] - y) / (ideal[1] - ideal[3]) == pytest.approx(0.75, abs=0.001)


def test_the_fields_of_a_design_read_with_their_units():
    assert field("restart_s", 300) == ("restart", "5 min") and field("gpus", 16_384) == ("gpus", "16,384")
    assert field("host_bytes_per_s", 47.4e9) == ("host", "47.4 GB/s") and field("tokens_per_s", 1310.4) == ("tokens per s", "1,310")
    assert field("shared", True) == ("shared", "yes") and field("model", "llama3_8b") == ("model", "llama3_8b")


@pytest.mark.parametrize(("text", "line"), [
    ("It takes … in INT8. What share is right?", "What share is right?"),
    ("How many requests of … tokens fit?", "How many requests of … tokens fit?"),
])  # fmt: skip
def test_a_question_is_shown_as_it_was_asked(text, line):
    assert Asked(text).line == line


def test_no_question_is_shown_with_a_gap_where_a_figure_was():
    asked_of = {path.parent.name: asked(path.parent) for path in LABS.glob("lab_*/questions.toml")}
    assert len(asked_of) == 20
    gaps = {f"{slug} {name}": one.line for slug, all_of in asked_of.items() for name, one in all_of.items() if "…" in one.line}
    assert gaps == {"lab_07_fusion act2_why": "… because"}  # a part of a sentence with blanks


def test_a_question_is_shown_with_what_it_is_about():
    blanks = {"act2_gain", "act2_why"}  # parts of a sentence with blanks
    lines = {
        f"{path.parent.name} {name}": one.line
        for path in LABS.glob("lab_*/questions.toml")
        for name, one in asked(path.parent).items()
        if name not in blanks
    }
    assert {where: line for where, line in lines.items() if len(line.split()) < 5} == {}
