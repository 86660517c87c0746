"""The review as a learner does it: a sitting by mouse, a card by keyboard alone, the map by arrows, the tree, ticks and texts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_steps import expect_readable, expect_short, open_in_the_dark, payloads, unfold, watched
from playwright.sync_api import Page, expect
from review_steps import REVIEW, answer, answer_by_keyboard, desk, on_the_table

from ironlaw.labs.review.walker import START, walk_from
from ironlaw.ledger import Ledger
from ironlaw.recall.card_variants import variant
from ironlaw.recall.pairs import pair
from ironlaw.recall.walk import truth


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def test_a_sitting_begins_by_mouse_with_undo_and_skip(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + REVIEW)
    expect(desk(page)).to_contain_text("10 to go")
    unfold(page)
    first = on_the_table(page)
    assert first.working not in page.content() and first.answer not in desk(page).inner_text()
    desk(page).get_by_role("button", name="Show the key").click()
    expect(desk(page).get_by_role("alert")).to_contain_text("answer first")
    answer(page, first, right=False, sure="5 certain")
    expect(desk(page)).to_contain_text("A common belief")
    expect(desk(page)).to_contain_text(first.working)
    expect(page.locator("#beliefs-held")).to_contain_text("But:")
    desk(page).get_by_role("button", name="Undo the last answer").click()
    expect(desk(page)).to_contain_text("Taken back")
    expect(page.locator("#beliefs-held")).to_contain_text("None at the moment")
    again = variant(first.template, 1)
    expect(desk(page)).to_contain_text(again.text)
    answer(page, again)
    expect(desk(page)).to_contain_text("✓ Right")
    desk(page).get_by_role("button", name="Next card").click()
    assert "memory bandwidth" not in desk(page).inner_text()
    desk(page).get_by_text("Figures you may look up").click()
    expect(desk(page)).to_contain_text("memory bandwidth")
    desk(page).get_by_role("button", name="Skip").click()
    expect(desk(page)).to_contain_text("Skipped for this session")
    expect(desk(page)).to_contain_text("9 to go")
    assert len(payloads(shared_ledger, "reviewed")) == 2
    assert len(payloads(shared_ledger, "undo")) == 1


def test_one_card_by_keyboard_alone(beginner: str, page: Page) -> None:
    answer_by_keyboard(page, beginner + REVIEW)


def test_the_map_by_keyboard(beginner: str, page: Page) -> None:
    page.goto(f"{beginner}{REVIEW}#map")
    node = page.locator("[data-node=why]")
    expect(node).to_be_visible()
    node.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-node=hardware]")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-node=software]")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(node).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened = page.locator(".il-opened")
    expect(opened).to_contain_text("What the machine allows")
    expect(opened.get_by_role("link")).to_have_attribute("href", re.compile("/lab/lab_01_magnitude/$"))
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(page.locator("[data-node=hardware]")).to_be_focused()
    page.get_by_role("button", name="Measurement").click()
    expect(page.locator("[data-node=profiling] .il-step-mark")).to_have_text("1, 5")
    page.locator("[data-node=registers]").click()
    page.get_by_role("button", name="Practise its cards now").click()
    expect(desk(page)).to_be_visible()
    expect(desk(page)).to_contain_text("Memory ·")
    expect(node).to_be_hidden()


def test_the_models_ask_first_and_the_tree_agrees_with_the_planner(labs_server: str, page: Page) -> None:
    page.goto(labs_server + REVIEW)
    unfold(page)
    tree = page.locator(".il-walk")
    for second, pattern in (("relu", "epilogue"), ("matmul", "not fused")):
        state = {**START, "second": second}
        tree.get_by_label("Second op").select_option(second)
        found = walk_from(state, [])
        answers = truth(*pair("matmul", second, (1024, 1024)))
        for yes in answers:
            expect(tree.locator(".il-ask")).to_have_count(1)
            asked = tree.locator(".il-ask").inner_text()
            tree.get_by_role("button", name="Yes" if yes else "No", exact=True).click()
            expect(tree.locator(".il-walk-steps")).to_contain_text(asked)
        expect(tree).to_contain_text("You and the planner agree")
        expect(tree).to_contain_text(pattern)
        expect(tree).to_contain_text(found.verdict.reason[1:])
    ladder = page.locator(".il-instrument").nth(1)
    expect(ladder.locator("svg[role=img]")).to_have_count(0)
    ladder.get_by_label("Where does it live?").focus()
    page.keyboard.press("ArrowDown")  # passes an option by: that is not an answer
    expect(ladder.get_by_label("Where does it live?")).not_to_have_value("0")
    ladder.get_by_label("Where does it live?").select_option(label="HBM2e")
    expect(ladder.locator("svg[role=img]")).to_have_count(0)
    ladder.get_by_text("Show me", exact=True).click()
    expect(ladder).to_contain_text("No: it lives in L2 cache")
    roof = page.locator(".il-instrument").nth(2)
    roof.get_by_text("the compute roof").click()
    roof.get_by_text("Show me", exact=True).click()
    expect(roof).to_contain_text("The other roof")
    spectrum = page.locator(".il-spectrum")
    expect(spectrum).to_contain_text("Recorded, not run here")
    assert "frozen snapshot" not in spectrum.inner_text()
    spectrum.get_by_label("torch.jit.trace", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert "frozen snapshot" not in spectrum.inner_text()
    spectrum.get_by_label("torch.jit.trace", exact=True).select_option("wrong")
    spectrum.get_by_role("button", name="See what torch.jit.trace does").click()
    expect(spectrum).to_contain_text("frozen snapshot")
    loop = page.locator(".il-loop")
    for step in range(5):
        expect(loop.locator(".il-loop-steps > li")).to_have_count(step + 1)
        loop.locator(".il-now").get_by_role("button").first.click()
    expect(loop).to_contain_text("of the four")


def test_ticks_and_texts_survive_a_reload(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + REVIEW)
    unfold(page)
    writing, checklist = page.locator(".il-writing"), page.locator(".il-checklist")
    writing.get_by_label(re.compile("^1. What surprised")).fill("That ReLU waits for memory.")
    writing.get_by_role("button", name="Save answer 1").click()
    expect(writing).to_contain_text("5 words")
    writing.get_by_label(re.compile("^4. Name one topic")).fill("Guards.")
    page.keyboard.press("Tab")  # leaving the field keeps it
    expect(writing).to_contain_text(", 1 word")
    expect(writing).to_contain_text("Your next focus: Dynamo")
    checklist.get_by_role("checkbox").first.check()
    expect(checklist).to_contain_text("1 of 10")
    checklist.get_by_role("button", name="Compare with my record").click()
    expect(checklist).to_contain_text("the cards do not back it yet")
    with page.expect_download() as got:
        writing.get_by_role("button", name="Download as Markdown").click()
    assert "That ReLU waits for memory." in Path(got.value.path()).read_text()
    page.reload()
    unfold(page)
    expect(writing.get_by_label(re.compile("^1. What surprised"))).to_have_value("That ReLU waits for memory.")
    expect(writing.get_by_label(re.compile("^4. Name one topic"))).to_have_value("Guards.")
    expect(checklist.get_by_role("checkbox").first).to_be_checked()
    written = [each["text"] for each in payloads(shared_ledger, "written")]
    assert written == ["That ReLU waits for memory.", "Guards."]


@pytest.mark.parametrize("width", [390, 1280])
def test_its_sections_are_pages_of_their_own(beginner: str, page: Page, width: int) -> None:
    """It was one page of more than ten thousand pixels."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(beginner + REVIEW)
    rail = page.get_by_role("navigation", name="Sections")
    for name, piece in (("Map", "#map-instrument"), ("Tree", "#walk-piece"), ("Models", "#ladder-instrument"), ("Write", "#writing-piece")):
        expect(page.locator(piece)).to_be_hidden()
        rail.get_by_role("link", name=name).click()
        expect(page.locator(f"{piece} .il-piece")).to_be_visible()
        expect(rail.locator("[aria-current]")).to_have_text(name)
        expect(desk(page)).to_be_hidden()
    expect_short(page)
    page.set_viewport_size({"width": width, "height": 5000})
    for name in ("Map", "Tree", "Write"):  # drawn before, and nothing scrolls
        rail.get_by_role("link", name=name).click()
        expect(rail.locator("[aria-current]")).to_have_text(name)
    page.reload()
    expect(page.locator("#writing-piece .il-piece")).to_be_visible()
    rail.get_by_role("link", name="Cards").click()
    expect(desk(page)).to_be_visible()
    expect(page.locator(".il-header")).not_to_contain_text("150")


def test_it_can_be_read_everywhere(beginner: str, page: Page) -> None:
    open_in_the_dark(page, beginner + REVIEW)
    rail = page.get_by_role("navigation", name="Sections")
    unfold(page)
    shown = on_the_table(page)
    answer(page, shown, right=False, sure="5 certain")
    page.locator("[data-node=fusion]").click()
    expect(page.locator(".il-opened")).to_be_visible()
    page.get_by_role("button", name="Abstraction").click()
    page.locator(".il-instrument").nth(1).get_by_label("Where does it live?").select_option(label="L2 cache")
    page.locator(".il-instrument").nth(1).get_by_text("Show me", exact=True).click()
    page.locator(".il-instrument").nth(2).get_by_text("the memory roof").click()
    page.locator(".il-instrument").nth(2).get_by_text("Show me", exact=True).click()
    page.locator(".il-spectrum").get_by_label("torch.compile", exact=True).select_option("right")
    page.locator(".il-spectrum").get_by_role("button", name="See what torch.compile does").click()
    page.locator(".il-loop .il-now").get_by_role("button").first.click()
    page.locator(".il-checklist").get_by_role("checkbox").first.check()
    page.locator(".il-checklist").get_by_role("button", name="Compare").click()
    expect(page.locator(".il-checklist")).to_contain_text("the cards do not back it yet")
    expect(rail.get_by_role("link", name="Cards")).to_be_visible()
    expect(rail.locator("[aria-current]")).to_have_text("Checklist")  # on a phone too, it follows
    expect_readable(page)
