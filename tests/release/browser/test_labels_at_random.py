"""No two words of a picture lie on each other, at all ends and options of every dial of a lab, and at random settings of all of them; and
there the data fill the plot."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from label_collisions import SLUGS, at_random, at_the_ends, collisions, completed, drawing_page, empty, pictures
from playwright.sync_api import Browser, Page

OFTEN = 60  # settings of a lab, divided among its instruments


@pytest.fixture(scope="module")
def judge(chromium: Browser) -> Iterator[Page]:
    with drawing_page(chromium) as page:
        yield page


@pytest.mark.parametrize("slug", SLUGS)
def test_no_two_words_of_a_picture_lie_on_each_other_anywhere(judge: Page, slug: str, tmp_path: Path) -> None:
    chance = random.Random(slug)
    with completed(slug, tmp_path) as lab:
        often = OFTEN // len(lab.instruments)
        settings = {name: at_random(each, chance, often) for name, each in lab.instruments.items()}
        ends = [text for each in lab.instruments.values() for text in pictures(each, at_the_ends(each))]
        free = [text for name, each in lab.instruments.items() for text in pictures(each, settings[name])]
    drawn = list(dict.fromkeys(ends + free))
    assert len(drawn) > 100
    assert collisions(judge, drawn) == []
    assert empty(judge, slug, free) == [], "less than 60% of a plot is filled"
