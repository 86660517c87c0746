"""What a page does first, done ahead: every lab opened once for nobody. An image of the memory then holds what was read and compiled."""

from __future__ import annotations

import gc

from ironlaw.pages.lab_catalogue import every_lab
from ironlaw.site.desk import Desk, new_learner
from ironlaw.widget import direct_answers


def warm() -> None:
    for lab in every_lab():
        Desk(new_learner(), "[]", "../../").ask(f'{{"do":"open","lab":"{lab.slug}"}}')
    Desk(new_learner(), "[]", "./").ask('{"do":"start"}')
    Desk(new_learner(), "[]", "../").ask('{"do":"certificate"}')
    Desk(new_learner(), "[]", "../").ask('{"do":"explore","query":[]}')
    direct_answers.PIECES.clear()
    gc.collect()
    direct_answers.spare_collector()
