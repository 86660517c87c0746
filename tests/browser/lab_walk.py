"""A whole lab, by mouse from the lock to the receipt and then on a phone at night, or by keyboard alone.

tests/browser walks so through three labs, tests/release/browser through all others.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lab_steps import (
    answer,
    as_on_a_phone,
    changes,
    commit,
    commit_by_keyboard,
    expect_readable,
    expect_short,
    first_label,
    go_on,
    instrument,
    label,
    measure,
    payloads,
    press_on,
    question,
    tab_to,
    to_claims,
    to_reflection,
    unfold,
)
from playwright.sync_api import Locator, Page, expect

from ironlaw.ledger import Ledger

Act = Callable[[Page, Locator], None]


@dataclass(frozen=True)
class Walk:
    """By mouse: what may not be read before the first lock, the ids of what is chosen, the first act's experiment, both acts, the design
    that is saved, and at the end one control of each kind that the instruments have."""

    sealed: tuple[str, ...]
    choices: tuple[str, str, str, str]  # first lock, first reflection, second lock, second reflection
    experiment: str  # empty where the lab has none
    first: Act
    second: Act
    saved: Callable[[dict], bool]
    controls: Callable[[Page, Locator, Locator], None]


def banner(where: Locator) -> Locator:
    return where.locator(".il-banner-title")


def number(where: Locator, name: str, value: str) -> None:
    where.get_by_role("spinbutton", name=re.compile(f"^{name}")).fill(value)


def pick(where: Locator, *options: str) -> None:
    for option in options:
        where.locator(".il-dials").get_by_text(option, exact=True).and_(where.page.locator(":not(option)")).click()


def hud(page: Page) -> Locator:
    return page.locator(".il-hud")


def walk_by_mouse(page: Page, server: str, ledger: Ledger, slug: str, walk: Walk) -> None:
    first_choice, first_answer, second_choice, second_answer = walk.choices
    page.goto(f"{server}/lab/{slug}/")
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    assert [words for words in walk.sealed if words in before] == []
    expect(page.locator("svg[role=img]")).to_have_count(0)
    commit(page, label(slug, "act1", first_choice), "fairly sure")
    first = instrument(page, "act1")
    walk.first(page, first)
    go_on(page, to_claims(page))
    if walk.experiment:
        measure(page, "act1", walk.experiment)
    go_on(page, "Check yourself")
    answer(page, label(slug, "act1_reflection", first_answer))
    go_on(page, "Go on to Act II")
    commit(page, label(slug, "act2", second_choice), "4 sure")
    second = instrument(page, "act2")
    walk.second(page, second)
    stood = banner(second).inner_text()
    page.reload()
    expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
    expect(banner(second)).to_have_text(stood)  # the dials came back
    to_reflection(page)
    answer(page, label(slug, "act2_reflection", second_answer))
    go_on(page, "Finish", "Save my design")
    expect(hud(page)).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    asked = [question(slug, act).option(choice).value for act, choice in (("act1", first_choice), ("act2", second_choice))]
    assert [each["value"] for each in payloads(ledger, "prediction")] == asked
    assert [each["experiment"] for each in payloads(ledger, "measured")] == ([walk.experiment] if walk.experiment else [])
    (design,) = payloads(ledger, "design")
    assert walk.saved(design), design

    as_on_a_phone(page)
    expect_short(page)
    unfold(page)
    walk.controls(page, instrument(page, "act1"), instrument(page, "act2"))
    expect_readable(page)


def walk_by_keyboard(page: Page, server: str, slug: str) -> None:
    page.goto(f"{server}/lab/{slug}/")
    for act in ("act1", "act2"):
        commit_by_keyboard(page, first_label(slug, act))
        place, shown = page.locator(f"#{act}-instrument"), page.locator(f"#{act}-instrument .il-instrument")
        expect(shown.locator(".il-drawing").first).to_be_visible()
        expect(place).to_be_focused()  # the next place, so that Tab goes on from there
        if shown.locator(".il-rest").count():
            tab_to(page, "summary", "More dials")
            page.keyboard.press("Enter")
            expect(shown.locator(".il-rest")).to_have_attribute("open", "")
            place.focus()
        for _, kind, name, key in (each for each in KEYS.get(slug, ()) if each[0] == act):
            tab_to(page, kind, name, most=160)
            changes(page, shown, lambda key=key: page.keyboard.press(key))
        if act == "act1":
            press_on(page, to_claims(page), "Check yourself")
            expect(page.locator("#act1-reflect")).to_be_focused()
            tab_to(page, "radio", first_label(slug, "act1_reflection"))
            page.keyboard.press("ArrowDown")
            tab_to(page, "button", "Answer")
            page.keyboard.press("Enter")
            press_on(page, "Go on to Act II")


# Dials of an act's instrument as (act, kind, name, key); each press changes what the instrument shows.
KEYS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "lab_07_fusion": (("act1", "radio", "eager", "ArrowRight"),),
    "lab_08_ledger": (("act2", "radio", "nothing", "ArrowRight"),),
    "lab_10_frontier": (("act1", "radio", "8", "ArrowLeft"), ("act1", "button", "Right answers", "ArrowRight")),
    "lab_12_amdahl": (("act2", "range", "Workers", "ArrowRight"),),
    "lab_13_line": (("act1", "radio", "columns", "ArrowRight"), ("act2", "range", "Requests per second", "ArrowRight")),
    "lab_14_tail": (("act1", "range", "Connections", "End"),),
    "lab_15_parity": (("act2", "range", "Repayment", "ArrowRight"),),
    "lab_v2_15_jevons": (("act1", "radio", "by hand", "ArrowRight"), ("act2", "range", "Number of servers", "ArrowRight")),
    "lab_v2_05_parallelism": (
        ("act1", "range", "Replicas of the pipeline", "ArrowLeft"),
        ("act2", "range", "Highlight GPU number", "ArrowRight"),
    ),
    "lab_v2_03_fabric": (("act1", "range", "Oversubscription", "ArrowRight"), ("act2", "radio", "64", "ArrowRight")),
    "lab_v2_02_interconnect": (("act1", "range", "Progress of the step", "ArrowRight"), ("act2", "radio", "16", "ArrowLeft")),
    "lab_v2_06_collectives": (("act1", "range", "Progress of the sum", "ArrowRight"), ("act2", "range", "Bucket", "ArrowRight")),
    "lab_v2_10_kv_serving": (("act1", "range", "Devices", "ArrowLeft"), ("act2", "range", "Moment", "ArrowRight")),
    "lab_v2_12_slo": (("act1", "radio", "P99", "ArrowLeft"), ("act2", "range", "Moment", "ArrowLeft")),
    "lab_v2_14_adversarial": (("act1", "range", "Largest change of a pixel", "ArrowRight"), ("act2", "radio", "FP16", "ArrowLeft")),
    "lab_v2_17_synthesis": (("act2", "select", "Training GPUs", "ArrowDown"),),
    "lab_v2_13_privacy": (("act1", "range", "Noise multiplier", "ArrowLeft"), ("act2", "radio", "4%", "ArrowRight")),
    "lab_v2_07_checkpoint": (("act1", "range", "Hour of the day", "ArrowLeft"), ("act2", "radio", "nowhere", "ArrowRight")),
}
