"""The start page in a real browser, by mouse and by keyboard."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

from ironlaw.ledger import Ledger, open_ledger

LAB = "lab_01_magnitude"
WIDTHS = (360, 390, 768, 1280)  # one after the other in a context, each in a page loaded anew
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"


@dataclass
class Home:
    """A server with a home of its own, and the ledger that lies there."""

    url: str
    process: subprocess.Popen[str]
    ledger: Ledger


@pytest.fixture
def home(labs, tmp_path: Path) -> Iterator[Home]:
    (tmp_path / "home").mkdir()
    with open_ledger(tmp_path / "home" / "ledger.db") as ledger, labs() as (url, process):
        yield Home(url, process, ledger)


@pytest.fixture
def start(page: Page, home: Home) -> Iterator[Page]:
    """The start page; the test fails on anything in the console."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(home.url)
    yield page
    assert not complaints


def state(page: Page) -> str:
    return page.locator(f"#{LAB} .state").inner_text()


def test_the_start_page_shows_the_labs(start: Page):
    expect(start.locator(f"#{LAB} h3 a")).to_have_attribute("href", f"/lab/{LAB}/")
    assert state(start) == "not started"
    for slug in ("lab_07_fusion", "lab_11_roofline"):
        expect(start.locator(f"#{slug} h3 a")).to_have_attribute("href", f"/lab/{slug}/")
    start.wait_for_function("document.querySelectorAll('link[rel=prefetch]').length > 50")  # what a lab will need, while one reads


def test_progress_and_where_you_left(start: Page, home: Home):
    expect(start.locator(".resume")).to_contain_text("Begin here")
    home.ledger.append(LAB, "opened", {})
    home.ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, True)
    home.ledger.append(LAB, "reflection", {"question": "act1_reflection"})
    start.reload()
    assert state(start) == "Act II, begins"
    expect(start.locator(".resume")).to_contain_text("Continue where you left")
    start.locator(".resume").click()
    start.wait_for_url(f"**/lab/{LAB}/")
    start.go_back()
    home.ledger.append(LAB, "design", {})
    start.goto(home.url)
    assert state(start).startswith("complete, saved")


def test_the_instrument_is_one_click_away(start: Page):
    start.get_by_role("link", name="Where does the time go?").click()
    expect(start.locator(".il-drawing").first).to_be_visible()
    start.get_by_role("link", name="ironlaw").click()
    expect(start.locator("#labs-title")).to_be_visible()


def test_name(start: Page):
    start.get_by_label("Your name").fill("Ada")
    start.get_by_role("button", name="Save").click()
    expect(start.locator(".said")).to_contain_text("Your name is kept")
    expect(start.locator("header")).to_contain_text("Welcome back, Ada.")
    start.reload()
    expect(start.get_by_label("Your name")).to_have_value("Ada")


def test_export_and_import(start: Page, home: Home, tmp_path: Path):
    home.ledger.append(LAB, "opened", {})
    with start.expect_download() as download:
        start.get_by_role("link", name="Download the export").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert json.loads(file.read_text())["events"][0]["lab"] == LAB
    start.set_input_files("#file", file)
    start.get_by_role("button", name="Import", exact=True).click()
    expect(start.locator(".said")).to_have_text("Nothing was new in that file.")


def test_a_file_that_is_no_export_is_refused_beside_its_control(page: Page, home: Home, tmp_path: Path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    page.goto(home.url)
    page.set_input_files("#file", wrong)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-error")).to_be_visible()


def test_reset_asks_and_keeps(start: Page, home: Home):
    home.ledger.append(LAB, "opened", {})
    start.reload()
    button = start.get_by_role("button", name="Begin a new epoch")
    expect(button).to_be_hidden()
    start.locator("#reset summary").click()
    expect(start.locator("#reset")).to_contain_text("Nothing is deleted")
    assert state(start) == "Act I, opened"
    button.click()
    expect(start.locator(".said")).to_contain_text("A new epoch has begun")
    assert state(start) == "not started"
    assert [event.kind for event in home.ledger.history()] == ["opened", "reset"]


def test_stop_asks_and_ends_the_server(start: Page, home: Home):
    start.locator("#stop summary").click()
    start.locator("#stop button").click()
    expect(start.locator("h1")).to_have_text("ironlaw has stopped")
    assert home.process.wait(20) == 0


def test_the_start_page_by_keyboard_alone(start: Page, home: Home):
    """Tab through everything; open a question with Space, answer it with Enter."""
    reached = []
    for _ in range(30):
        start.keyboard.press("Tab")
        focused = start.evaluate("(e => e.id || e.className || e.textContent.trim() || e.name)(document.activeElement)")
        reached.append(focused)
        assert start.evaluate("(s => s.outlineStyle !== 'none' || s.boxShadow !== 'none')(getComputedStyle(document.activeElement))") or (
            start.evaluate("getComputedStyle(document.activeElement, '::after').outlineStyle") != "none"
        ), focused
        if focused == "Reset …":
            start.keyboard.press("Space")
            start.keyboard.press("Tab")
            start.keyboard.press("Enter")
            break
    assert {"skip", "resume", "name", "Save", "button", "file", "Import"} <= set(reached)
    expect(start.locator(".said")).to_contain_text("A new epoch has begun")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_start_page_never_scrolls_sideways(chromium: Browser, labs_server: str, scheme: str):
    small = """[...document.querySelectorAll('button, input:not([type=hidden]), summary, .button, .resume')]
        .filter(e => e.offsetParent).map(e => [e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)"""
    with chromium.new_page(color_scheme=scheme) as page:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(labs_server)
            page.locator("#reset summary").click()
            page.locator("#stop summary").click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")
            assert page.evaluate(small) == [], width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/explore"])
def test_axe_finds_nothing_serious(chromium: Browser, labs_server: str, path: str, scheme: str):
    context = chromium.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(labs_server + path, wait_until="networkidle")
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)))")
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
    context.close()


def test_the_start_page_needs_no_script(chromium: Browser, home: Home):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(home.url)
    page.locator("#name").fill("Grace")
    page.locator("form[action='/do/name'] button").click()
    expect(page.locator("header")).to_contain_text("Welcome back, Grace.")
    context.close()
