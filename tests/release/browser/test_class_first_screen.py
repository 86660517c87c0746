"""What a lecture needs is on one screen, in a class of any size: the report's page and the one that follows the class."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "classroom"))
from made_class import export, plan, text

from ironlaw.classroom import class_live, class_page, collect, count

BOTTOM = "document.querySelector('.lecture').getBoundingClientRect().bottom"
WIDER = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def hand_ins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    for number in range(300):
        (folder / f"{number}.json").write_text(text(export(plan(number))), encoding="utf-8")
    return collect(folder)


def live(hand_ins):
    """The page as it stands once it has asked."""
    following = class_live.Following(type("Given", (), {"hand_ins": lambda self: hand_ins})(), names=True)
    page = class_live.page().replace('<script src="/live.js" defer></script>', "").replace("</main>", f"{following._drawn('')}</main>")
    return page.replace('<link rel="stylesheet" href="/live.css">', f"<style>{class_live.css()}</style>")


@pytest.mark.parametrize("learners", [1, 3, 60, 300])
@pytest.mark.parametrize("draw", [live, lambda hand_ins: class_page.html(count(hand_ins), names=True)], ids=["live", "report"])
def test_the_first_screen_is_one_screen(draw, learners, hand_ins, new_context, tmp_path):
    place = tmp_path / "page.html"
    place.write_text(draw(replace(hand_ins, ledgers=hand_ins.ledgers[:learners])), encoding="utf-8")
    page = new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(place.as_uri())
    assert page.evaluate(BOTTOM) <= 800
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(WIDER) == 0
