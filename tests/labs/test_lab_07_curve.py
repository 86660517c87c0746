"""Lab 07's drawn curve: sealed with the prediction, laid under the true one, restored on reload."""

import pytest
from headless import Page, bare
from ledger_at_hand import open_ledger

from ironlaw.errors import BadValue
from ironlaw.kit.sealed import sealed_part
from ironlaw.labs.lab_07_fusion.act1 import curve

SLUG = "lab_07_fusion"
DRAWN = [0.0, 10.0, 30.0, 40.0, 80.0, 95.0, 100.0]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with open_ledger(tmp_path_factory.mktemp("curve") / "ledger.db") as ledger:
        page = Page(ledger, SLUG)
        asked = page.piece("act1").spec["sketch"]
        assert [point["x"] for point in asked["points"]] == list(curve.LENGTHS) and all(point["name"] for point in asked["points"])
        assert "it is" not in str(asked["figure"])  # the plot is empty: nothing of the truth is on the page
        page.predict("act1", "p50", 3, sketch=DRAWN)
        yield page.reload(onward=False)


def figure(page):
    return next(each for each in page.piece("act1.instrument").view["figures"] if each["id"] == "curve")


def test_the_true_curve_by_hand():
    """A kernel of t seconds behind a launch of 10 µs computes t of t + 10 µs."""
    for at in curve.LENGTHS:
        assert curve.true(at) == pytest.approx(100 * at / (at + 10e-6))


def test_it_is_sealed_and_restored(page):
    assert page.ledger.prediction(SLUG, "act1").payload["sketch"] == DRAWN
    assert page.piece("act1").view["committed"]["sketch"] == DRAWN
    drawn = figure(page)
    lines = {mark["id"]: mark["points"] for mark in drawn["marks"] if mark["type"] == "line"}
    assert lines["mine"] == [[at, height] for at, height in zip(curve.LENGTHS, DRAWN, strict=True)]
    assert [y for _, y in lines["true"]] == sorted(y for _, y in lines["true"]) and drawn["tab"] == "Your curve"
    assert page.piece("act1.instrument").view["figures"][0]["id"] == "curve"  # it is what the learner sees first


def test_the_gap_is_one_sentence(page):
    """Furthest off at 15 µs: 40 was drawn, 60 is true."""
    told = "Your curve is furthest off at kernels of 15 µs, where you drew 40% and it is 60%. That is 20 points too low."
    assert curve.gap(DRAWN) == figure(page)["foot"] == told
    assert bare(told) in bare(page.parts["act1_reveal"].text)
    near = [round(curve.true(at)) for at in curve.LENGTHS]
    assert curve.gap(near).startswith("Your curve is nowhere more than 0.")


def test_a_point_moves_along_the_curve_with_the_dials(page):
    def at(id):
        return next((mark["x"], mark["y"]) for mark in figure(page)["marks"] if mark.get("id") == id)

    assert at("truth") == (pytest.approx(5e-6), pytest.approx(curve.true(5e-6)))
    assert "now" not in [mark.get("id") for mark in figure(page)["marks"]]  # the dials stand at the question's case, which is marked
    axes = figure(page)["x"], figure(page)["y"]
    page.turn("act1", kernels_kws=100)
    assert at("now") == (pytest.approx(5e-5), pytest.approx(curve.true(5e-5))) and (figure(page)["x"], figure(page)["y"]) == axes


@pytest.mark.parametrize("value", [DRAWN[:-1], [*DRAWN[:-1], 101], [*DRAWN[:-1], "high"], [*DRAWN[:-1], float("nan")], {"0": 1}, 7])
def test_a_curve_that_nobody_can_draw_is_refused(page, value):
    with pytest.raises(BadValue, match="7 points"):
        sealed_part(curve.sealed(page.lab), {"sketch": value})
    assert sealed_part(curve.sealed(page.lab), {"sketch": None}) == {}
