"""The start page in a real browser, by mouse and by keyboard."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from axe import serious
from lab_steps import expect_short
from playwright.sync_api import BrowserContext, Page, expect

from ironlaw.ledger import Ledger

LAB = "lab_01_magnitude"
WIDTHS = (360, 390, 768, 1280)


@pytest.fixture
def start(page: Page, beginner: str) -> Iterator[Page]:
    """The start page; the test fails on anything in the console."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(beginner)
    yield page
    assert not complaints


def state(page: Page) -> str:
    return page.locator(f"#{LAB} .state").inner_text()


def test_the_start_page_shows_the_labs(start: Page):
    expect(start.locator(f"#{LAB} h3 a")).to_have_attribute("href", f"/lab/{LAB}/")
    assert state(start) == "not started"
    for slug in ("lab_07_fusion", "lab_11_roofline", "lab_13_line"):
        expect(start.locator(f"#{slug} h3 a")).to_have_attribute("href", f"/lab/{slug}/")
    expect(start.locator("link[rel=prefetch]")).to_have_count(1)  # what a lab will need, while one reads


def test_progress_and_where_you_left(start: Page, shared_ledger: Ledger):
    expect(start.locator(".resume")).to_contain_text("Begin here")
    shared_ledger.append(LAB, "opened", {})
    shared_ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, True)
    shared_ledger.append(LAB, "reflection", {"question": "act1_reflection", "choice": "a", "correct": True})
    start.reload()
    assert state(start) == "Act II, begins"
    expect(start.locator(".resume")).to_contain_text("Continue where you left off")
    start.locator(".resume").click()
    start.wait_for_url(f"**/lab/{LAB}/")
    shared_ledger.append(LAB, "design", {})
    start.go_back()  # the page of now, not the one that was left
    expect(start.locator(f"#{LAB} .state")).to_contain_text("complete, saved")


def test_the_instrument_is_one_click_away(start: Page):
    start.set_viewport_size({"width": 390, "height": 800})
    expect_short(start)
    start.get_by_role("link", name="Where does the time go?").click()
    expect(start.locator(".il-drawing").first).to_be_visible()
    expect_short(start)


def test_the_glossary_on_a_phone(start: Page):
    start.set_viewport_size({"width": 390, "height": 800})
    start.get_by_role("link", name="glossary").click()
    for group in ("Software", "How fast"):  # one group at a time
        start.locator("summary", has_text=group).click()
        expect(start.locator("details.group[open]")).to_have_count(1)
        expect_short(start)
    start.get_by_label("Find a word").fill("ridge")
    expect(start.locator("#term-ridge")).to_be_visible()
    expect(start.locator(".terms > div:visible")).to_have_count(1)
    start.get_by_label("Find a word").fill("nothing of that name")
    expect(start.get_by_role("status")).to_have_text("No entry matches.")
    start.get_by_label("Find a word").fill("")
    start.set_viewport_size({"width": 1280, "height": 800})
    expect(start.locator("details.group:not([open])")).to_have_count(0)
    assert not serious(start)
    start.get_by_role("link", name="ironlaw").click()
    expect(start.locator("#labs-title")).to_be_visible()


def test_name(start: Page):
    start.get_by_label("Your name").fill("Ada")
    start.get_by_role("button", name="Save").click()
    expect(start.locator(".said")).to_contain_text("Your name is saved")
    expect(start.locator("header")).to_contain_text("Welcome back, Ada.")
    start.reload()
    expect(start.get_by_label("Your name")).to_have_value("Ada")


def test_export_and_import(start: Page, shared_ledger: Ledger, tmp_path: Path):
    shared_ledger.append(LAB, "opened", {})
    with start.expect_download() as download:
        start.get_by_role("link", name="Download the export").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert json.loads(file.read_text())["events"][-1]["lab"] == LAB
    start.set_input_files("#file", file)
    start.get_by_role("button", name="Import", exact=True).click()
    expect(start.locator(".said")).to_have_text("Nothing was new in that file.")


def test_a_file_that_is_no_export_is_refused_beside_its_control(page: Page, beginner: str, tmp_path: Path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    page.goto(f"{beginner}/")
    page.set_input_files("#file", wrong)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-error")).to_be_visible()


def test_reset_asks_and_keeps(start: Page, shared_ledger: Ledger):
    shared_ledger.append(LAB, "opened", {})
    start.reload()
    button = start.get_by_role("button", name="Begin a new epoch")
    expect(button).to_be_hidden()
    start.locator("#reset summary").click()
    expect(start.locator("#reset")).to_contain_text("Nothing is deleted")
    assert state(start) == "Act I, opened"
    button.click()
    expect(start.locator(".said")).to_contain_text("A new epoch has begun")
    assert state(start) == "not started"
    assert [event.kind for event in shared_ledger.history()][-2:] == ["opened", "reset"]


def test_stop_asks_and_ends_the_server(page: Page, labs):
    with labs() as (url, process):
        page.goto(url)
        page.locator("#stop summary").click()
        page.locator("#stop button").click()
        expect(page.locator("h1")).to_have_text("ironlaw has stopped")
        assert process.wait(180) == 0


def test_the_start_page_by_keyboard_alone(start: Page):
    """Tab through everything; open a question with Space, answer it with Enter."""
    reached = []
    for _ in range(100):
        start.keyboard.press("Tab")
        focused = start.evaluate("(e => e.id || e.getAttribute('class') || e.textContent.trim() || e.name)(document.activeElement)")
        reached.append(focused)
        ringed = (
            "(s => s.outlineStyle !== 'none' || s.boxShadow !== 'none' || s.stroke !== 'none')(getComputedStyle(document.activeElement))"
        )
        assert start.evaluate(ringed) or (start.evaluate("getComputedStyle(document.activeElement, '::after').outlineStyle") != "none"), (
            focused
        )
        if focused == "Reset …":
            start.keyboard.press("Space")
            start.keyboard.press("Tab")
            start.keyboard.press("Enter")
            break
    assert {"skip", "resume", "name", "Save", "button", "file", "Import"} <= set(reached)
    expect(start.locator(".said")).to_contain_text("A new epoch has begun")


def test_the_start_page_can_be_read_everywhere_and_never_scrolls_sideways(start: Page):
    small = """[...document.querySelectorAll('button, input:not([type=hidden]), summary, .button, .resume')]
        .filter(e => e.offsetParent).map(e => [e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)"""
    start.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for scheme, width in product(("light", "dark"), WIDTHS):
        start.emulate_media(color_scheme=scheme)
        start.set_viewport_size({"width": width, "height": 800})
        assert start.evaluate("document.documentElement.scrollWidth") <= width
        paper = start.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")
        assert start.evaluate(small) == [], width
        if width == WIDTHS[0]:
            assert serious(start, shape=scheme == "light") == []


def test_the_start_page_needs_no_script(new_context: Callable[..., BrowserContext], labs_server: str):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(labs_server)
    page.locator("#name").fill("Grace")
    page.locator("form[action='/do/name'] button").click()
    expect(page.locator("header")).to_contain_text("Welcome back, Grace.")


def test_the_roofline_can_be_dragged_and_says_what_one_sees(start: Page):
    picture = start.locator("#roofline")
    expect(picture).to_contain_text("One token at a time, the")
    point = picture.locator('.il-target[aria-label*="One token"]').first.bounding_box()
    x, y = point["x"] + point["width"] / 2, point["y"] + point["height"] / 2
    start.mouse.move(x, y)
    start.mouse.down()
    start.mouse.move(x + 420, y, steps=6)
    start.mouse.up()
    expect(picture).to_contain_text("memory keeps up")
    slider = picture.get_by_role("slider", name="Tokens at a time", exact=True)
    slider.focus()
    start.keyboard.press("Home")
    expect(picture).to_contain_text("One token at a time, the")


def test_pointing_at_a_lab_lights_up_what_it_hands_on(start: Page):
    link = 'a[href="/lab/lab_08_ledger/"]'
    lab, lit = start.locator(f".course-map {link}"), start.locator(f".course-map g:has(> {link}) .lit")
    expect(lit.first).to_be_hidden()
    lab.hover()
    expect(lit.first).to_be_visible()
    start.mouse.move(2, 2)
    expect(lit.first).to_be_hidden()
    start.locator('.course-map a[href="/lab/lab_07_fusion/"]').focus()
    start.keyboard.press("Tab")
    expect(lab).to_be_focused()
    expect(lit.first).to_be_visible()
