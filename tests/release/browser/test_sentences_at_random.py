"""Sentences that code has put together, at ten random settings of each lab's dials: tests/labs reads them at the start alone."""

import random

import pytest
from label_collisions import SLUGS, at_random, completed
from wording import faults, sentences

from ironlaw.widget.dials import settle
from ironlaw.widget.piece import plain

OFTEN = 10
SAID = ("figures", "cards", "banner", "note", "after")  # of a view


@pytest.mark.parametrize("slug", SLUGS)
def test_no_sentence_is_made_badly(slug, tmp_path):
    chance, texts = random.Random(slug), set()
    with completed(slug, tmp_path) as lab:
        for instrument in lab.instruments.values():
            for values in at_random(instrument, chance, OFTEN):
                stand, _ = settle(instrument.dials(values), values)
                view = instrument.compute({**stand, "moving": True})  # a simulation is short then
                texts |= set(sentences(plain({name: getattr(view, name) for name in SAID})))
    assert len(texts) > 50 and [fault for text in texts for fault in faults(text)] == []
