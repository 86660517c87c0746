"""What Act II will ask for first, computed in the background while the learner looks at Act I."""

from __future__ import annotations

from functools import partial

from ironlaw.kit import background
from ironlaw.systems.whole import Design, evaluate
from ironlaw.systems.whole.whole_levers import tornado
from ironlaw.systems.whole.whole_search import nearest


def warm(design: Design) -> None:
    background.begin(__name__, partial(fill, design))


def fill(design: Design) -> None:
    if not evaluate(design).refusal:
        tornado(design)
        nearest(design)
