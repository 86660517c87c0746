"""One schema, two interpreters: Python and JavaScript take and refuse the same values for every type of dial."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ironlaw.errors import BadValue
from ironlaw.recall import card_answers
from ironlaw.widget import dials
from ironlaw.widget.assets import script
from ironlaw.widget.dial_schema import LONGEST_NAME, SCHEMA, conforms

OPTIONS = [("a", "A"), ("b", "B"), (1, "one"), (False, "no")]
DIALS = {
    "choice": dials.choice("c", "Choice", OPTIONS, "a", {"b": "not on this machine"}),
    "select": dials.select("s", "Select", OPTIONS, "a"),
    "switch": dials.switch("w", "Switch"),
    "range": dials.span("r", "Range", 0, 1, 0.5, step=0.1),
    "log": dials.span("l", "Log", 1, 4096, 1, log=True, whole=True),
    "chain": dials.chain("ch", "Chain", [("relu", "ReLU"), ("add", "add")], ["relu"], most=3),
    "pins": dials.pins("p", "Pins", ("n", "device"), most=2),
}
PIN = {"name": "x", "values": {"n": 1}}
# what JSON can carry; every value goes to every dial
VALUES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 0.5, 1.0, 1.5, 4096, 4097, 1e308, "", "a", "b", "c", "1", "relu",
    [], ["relu"], ["relu", "add", "relu"], ["relu"] * 4, ["tanh"], [1], [None], {}, {"a": 1},
    [PIN], [PIN, PIN], [PIN] * 3, [{}], [{"name": "x"}], [{"name": 3, "values": {}}], [{"name": "x", "values": {"other": 1}}],
    [{"name": "x", "values": {}}], [{"name": "x", "values": []}], [{"name": "µ" * LONGEST_NAME, "values": {}}],
    [{"name": "µ" * (LONGEST_NAME + 1), "values": {}}], [PIN, {"name": "x"}],
]  # fmt: skip


@pytest.fixture(scope="module")
def blank(chromium: Browser) -> Iterator[Page]:
    with chromium.new_page() as page:
        page.set_content("<main></main>")
        page.add_script_tag(content=script(("contract", "schema", "numbers")))
        yield page


def test_every_type_of_dial_is_tried():
    assert set(DIALS) == set(SCHEMA)


@pytest.mark.parametrize("kind", SCHEMA)
def test_both_sides_take_and_refuse_the_same(blank: Page, kind: str):
    dial = DIALS[kind]
    here = [conforms(SCHEMA[kind], dial, value) for value in VALUES]
    there = blank.evaluate("([dial, values]) => values.map((value) => allowed(dial, value))", [dial, VALUES])
    assert [value for value, one, other in zip(VALUES, here, there, strict=True) if one != other] == []
    assert {True, False} == set(here), "a schema that takes everything, or nothing, checks nothing"
    for value, taken in zip(VALUES, here, strict=True):
        assert (dials.why_not(dial, value) is None) == taken


TYPED = [
    "4,8",
    "4.8",
    "48",
    "1,024",
    "1.024",
    "12,5",
    "100 000",
    "100,000,000",
    "1.024,5",
    "1,024.5",
    "0,125",
    "1e6",
    "-3",
    "abc",
    "4,8,",
    "",
]


def test_a_dial_and_a_card_of_the_review_read_a_number_alike(blank: Page):
    """The decimal comma too: a browser's own number field would make 48 of 4,8."""

    def read(text: str) -> list[float]:
        try:
            return list(card_answers.read(text, ""))
        except BadValue:
            return []

    there = blank.evaluate("(texts) => texts.map(readNumber)", TYPED)
    assert dict(zip(TYPED, there, strict=True)) == {text: read(text) for text in TYPED}
    assert read("4,8") == [4.8] and read("1,024") == [1024, 1.024]
