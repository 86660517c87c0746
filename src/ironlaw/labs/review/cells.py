"""The review's page: sections, of which it shows one at a time, the cards first.

The words are in words.md, the cards in recall/questions/.
"""

from __future__ import annotations

from typing import Any

from ironlaw.kit.cell import Cell
from ironlaw.labs.review import capture, ladder, learner, loop, roof, sections
from ironlaw.labs.review.review import Review, open

__all__ = ["CELLS", "open"]


def _section(name: str) -> Any:
    return lambda lab: lab.section(name)


def _instrument(name: str, module: Any, follows: bool = False) -> Any:
    return lambda lab: lab.instrument(name, module.dials(lab), lambda values: module.view(lab, values), follows=follows)


CELLS = (
    Cell("header", Review.header),
    Cell("rail", lambda lab: lab.rail(sections.RAIL)),
    Cell("cards_about", _section("cards")),
    Cell("cards", Review.cards),
    Cell("you_about", _section("you")),
    Cell("calibration", _instrument("you", learner, follows=True)),
    Cell("beliefs_about", _section("beliefs")),
    Cell("beliefs", learner.held_beliefs, again=("count",)),
    Cell("map_about", _section("map")),
    Cell("concept_map", Review.map),
    Cell("models_about", _section("models")),
    Cell("memory_ladder", _instrument("ladder", ladder)),
    Cell("roofline", _instrument("roof", roof)),
    Cell("capture_about", _section("capture")),
    Cell("capture_spectrum", lambda lab: lab.show("spectrum", capture.piece(lab))),
    Cell("loop_about", _section("loop")),
    Cell("optimisation_loop", lambda lab: lab.show("steps", loop.piece(lab))),
    Cell("tree_about", _section("tree")),
    Cell("fusion_tree", Review.walker),
    Cell("checklist_about", _section("checklist")),
    Cell("checklist", Review.checklist),
    Cell("writing_about", _section("writing")),
    Cell("writing", Review.writing),
    Cell("what_comes_next", _section("next")),
    Cell("hud", Review.hud, again=("count",)),
)
