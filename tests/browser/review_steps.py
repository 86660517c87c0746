"""What a learner does in the review: shared by its browser tests."""

import re
from functools import cache

from lab_steps import tab_to
from playwright.sync_api import Locator, Page, expect

from ironlaw.claims.glossary import terms
from ironlaw.recall.card_templates import templates
from ironlaw.recall.card_variants import Variant, variant

REVIEW = "/lab/review/"


def desk(page: Page) -> Locator:
    return page.locator(".il-review-card")


@cache
def drawn(name: str) -> Variant:
    """A card as it is when nothing was answered yet."""
    return variant(templates()[name], 0)


def on_the_table(page: Page) -> Variant:
    expect(desk(page).locator(".il-ask")).to_be_visible()
    asked = desk(page).locator(".il-ask").inner_text().replace("\u202f", " ")
    likely = sorted(templates(), key=lambda name: templates()[name].first or len(templates()))
    return next(drawn(name) for name in likely if drawn(name).text.replace("\u202f", " ") == asked)


def answer(page: Page, shown: Variant, right: bool = True, sure: str = "3 fairly sure") -> None:
    """Give the card that is on the table its answer, and look at the key."""
    here = desk(page)
    kind = shown.template.kind
    if kind == "numeric":
        value = float(shown.key) if right else shown.mistakes[0].value
        here.get_by_label("Your answer").fill(f"{value:.12g} {shown.unit}")
    elif kind == "choice":
        here.locator(".il-answer").nth([choice.id == shown.key for choice in shown.choices].index(right)).click()
    elif kind == "explain":
        here.get_by_role("textbox").fill("What I remember of it.")
    here.get_by_text(sure).click()
    here.get_by_role("button", name=re.compile("Show the")).click()
    if kind == "explain":
        for point in shown.rubric[: shown.template.enough if right else 0]:
            here.get_by_text(point, exact=True).click()
        here.get_by_role("button", name="Save my grade").click()
    expect(here.locator(".il-key")).to_be_visible()


def expect_words_explained(page: Page) -> None:
    """On hover and on focus, in the page and in a piece; it can be pointed at, and Escape closes it."""
    box = page.locator(".il-explained")
    word = desk(page).locator(".il-ask .il-gloss").first
    word.hover()
    expect(box).to_have_count(1)
    expect(word).to_have_attribute("aria-describedby", box.get_attribute("id") or "")
    expect(box).to_contain_text(terms()[word.get_attribute("data-term") or ""].says)
    box.hover()
    expect(box).to_be_visible()
    page.mouse.move(2, 2)
    expect(box).to_have_count(0)
    page.locator("#cards .il-gloss").first.focus()
    expect(box).to_have_count(1)
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)


def answer_by_keyboard(page: Page, address: str) -> None:
    """The first card of a sitting, by keyboard alone."""
    page.goto(address)
    expect(desk(page)).to_contain_text("10 to go")
    expect_words_explained(page)
    shown = on_the_table(page)
    tab_to(page, "text", "Your answer")
    page.keyboard.type(f"{float(shown.key):.12g}")
    tab_to(page, "radio", "1 guessing")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    tab_to(page, "button", "Show the key")
    page.keyboard.press("Enter")
    expect(desk(page)).to_contain_text("✓ Right")
    page.keyboard.press("Enter")  # the focus is on "Next card"
    expect(desk(page).locator(".il-key")).to_have_count(0)
    expect(desk(page)).to_contain_text("9 to go")
    assert shown.text not in desk(page).inner_text()
