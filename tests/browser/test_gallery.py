"""The start page and the free instrument in a real browser, by mouse and by keyboard."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
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
    start.wait_for_selector(READY)
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


# --- the free instrument ---

READY = "#bench[aria-busy=false]:not(.empty)"


@pytest.fixture
def instrument(page: Page, labs_server: str) -> Iterator[Page]:
    """The page, drawn; the test fails on anything in the console."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    visit(page, labs_server)
    yield page
    assert not complaints


def visit(page: Page, server: str, query: str = "") -> None:
    page.goto(f"{server}/explore{query}")
    page.wait_for_selector(READY)


def seen(page: Page) -> str:
    """What a reader sees of the answer: bars, cards and formula."""
    return "\n".join(page.locator(part).inner_text() for part in ("#bars", "#cards", "#formula"))


def changed(page: Page, before: str, settings: str) -> str:
    """Waits until the settings are on screen; what is seen must differ from before."""
    page.wait_for_function("want => document.getElementById('bench').dataset.shown?.split('&').includes(want)", arg=settings)
    after = seen(page)
    assert after != before, f"{settings} changed nothing"
    return after


def test_first_view(instrument: Page):
    expect(instrument).to_have_title(re.compile("ironlaw"))
    expect(instrument.locator("#verdict")).to_have_text("Overhead binds")
    expect(instrument.locator("#bars .row.binding .tag")).to_have_text("binds")
    assert instrument.locator("#roofline path.point[tabindex]").count() > 20
    assert instrument.locator("#cards .card").count() == 6
    assert instrument.locator("#ops tbody tr").count() == 10


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("workload", "mobilenet_v2"),
        ("hardware", "t4"),
        ("mode", "compiled"),
        ("mode", "graphs"),
        ("dispatch", "synchronous"),
        ("dtype", "fp32"),
        ("figures", "datasheet"),
    ],
)
def test_each_choice_changes_the_view(page: Page, labs_server: str, key: str, value: str):
    visit(page, labs_server, "?hardware=h200_sxm&batch=64")
    before = seen(page)
    if key in ("workload", "hardware"):
        page.select_option(f"#{key}", value)
    else:
        page.check(f"#{key} input[value={value}]")
    changed(page, before, f"{key}={value}")
    page.wait_for_url(re.compile(f"{key}={value}"))


def test_sizes_and_phase_change_the_view(page: Page, labs_server: str):
    visit(page, labs_server, "?workload=gpt2&hardware=a100_80gb_sxm&dtype=fp16")
    before = changed_by_filling(page, "batch", "32")
    before = changed_by_filling(page, "seq", "64")
    expect(page.locator("#context")).to_be_hidden()
    page.check("#phase input[value=decode]")
    changed(page, before, "phase=decode")
    expect(page.locator("#seq")).to_be_hidden()
    changed_by_filling(page, "context", "1000")


def changed_by_filling(page: Page, key: str, value: str) -> str:
    before = seen(page)
    page.fill(f"#{key}", value)
    return changed(page, before, f"{key}={value}")


def test_slider_and_box_go_together(instrument: Page):
    before = seen(instrument)
    instrument.locator("#batch-slide").press("End")
    expect(instrument.locator("#batch")).to_have_value("256")
    before = changed(instrument, before, "batch=256")
    instrument.fill("#batch", "8")
    changed(instrument, before, "batch=8")
    assert instrument.locator("#batch-slide").get_attribute("aria-valuetext") == "8"


def test_keyboard_alone(instrument: Page):
    """Tab to each control in turn, and turn it."""
    reached = []
    instrument.locator("#workload").focus()
    for _ in range(12):
        focused = instrument.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.dataset.op")
        reached.append(focused)
        if focused == "batch-slide":
            before = seen(instrument)
            instrument.keyboard.press("ArrowRight")
            changed(instrument, before, "batch=2")
        if focused == "mode":
            before = seen(instrument)
            instrument.keyboard.press("ArrowRight")
            changed(instrument, before, "mode=compiled")
        if instrument.evaluate("document.activeElement.matches('#roofline path')"):
            break
        instrument.keyboard.press("Tab")
    assert {"workload", "hardware", "batch-slide", "batch", "dtype", "mode", "dispatch"} <= set(reached)
    said = instrument.locator("#inspect b").inner_text()
    instrument.keyboard.press("ArrowRight")
    assert instrument.locator("#inspect b").inner_text() != said
    assert "FLOP per byte" in instrument.evaluate("document.activeElement.getAttribute('aria-label')")
    assert instrument.locator("#roofline .ring").bounding_box()["width"] > 8


def test_pointing_at_an_operator_tells_about_it(instrument: Page):
    instrument.locator("#roofline").scroll_into_view_if_needed()
    box = instrument.locator("#roofline path.point[tabindex]").last.bounding_box()
    instrument.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert not instrument.locator("#inspect b").inner_text().startswith("longest")
    expect(instrument.locator("#inspect")).to_contain_text("FLOP/B")


def test_a_reload_restores_the_view(instrument: Page):
    instrument.select_option("#workload", "llama3_8b")
    instrument.check("#phase input[value=decode]")
    instrument.fill("#batch", "5")
    instrument.wait_for_url(re.compile("batch=5"))
    instrument.wait_for_function("() => document.getElementById('bench').dataset.shown.includes('batch=5')")
    before = seen(instrument)
    instrument.reload()
    instrument.wait_for_selector(READY)
    assert seen(instrument) == before
    expect(instrument.locator("#workload")).to_have_value("llama3_8b")


def test_out_of_memory(page: Page, labs_server: str):
    visit(page, labs_server, "?workload=resnet50&hardware=cortex_m7&dtype=fp32")
    banner = page.locator("#oom")
    expect(banner).to_contain_text("Out of memory")
    expect(banner).to_contain_text(re.compile(r"113\s*MB.*524\s*kB.*215×"))
    expect(page.locator("#cards .card.fail")).to_contain_text("does not fit")
    banner.get_by_role("button").last.click()
    expect(banner).to_be_hidden()
    expect(page.locator("#cards .card.fail")).to_have_count(0)


def test_a_precision_the_machine_lacks_is_barred_with_the_reason(instrument: Page):
    instrument.select_option("#hardware", "cortex_m7")
    expect(instrument.locator("#dtype input[value=fp16]")).to_be_disabled()
    expect(instrument.locator("#dtype-note")).to_contain_text("fp16 is not on this machine, so fp32 is set")
    instrument.select_option("#hardware", "h100_sxm")
    expect(instrument.locator("#dtype input[value=fp16]")).to_be_checked()


def test_graphs_leave_nothing_to_queue(instrument: Page):
    instrument.check("#mode input[value=graphs]")
    expect(instrument.locator("#dispatch input").first).to_be_disabled()
    expect(instrument.locator("#dispatch-note")).to_contain_text("nothing to queue")


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("?hardware=h900", "hardware", "did you mean"),
        ("?batch=0", "batch", "whole number"),
        ("?hardware=cortex_m7&dtype=fp16", "dtype", "no fp16"),
    ],
)
def test_errors_stand_beside_their_control(page: Page, labs_server: str, query: str, field: str, says: str):
    page.goto(f"{labs_server}/explore{query}")
    expect(page.locator(f"#{field}-error")).to_contain_text(says)
    expect(page.locator("#problem")).to_be_hidden()


def test_an_error_goes_when_it_is_mended(page: Page, labs_server: str):
    visit(page, labs_server)
    page.fill("#batch", "0")
    expect(page.locator("#batch-error")).to_be_visible()
    assert page.locator("#batch").get_attribute("aria-invalid") == "true"
    page.fill("#batch", "4")
    expect(page.locator("#batch-error")).to_be_hidden()


def test_pictures_as_tables(instrument: Page):
    for name, rows in (("#terms-table", 6), ("#roof-table", 20)):
        instrument.locator(f"{name} summary").click()
        expect(instrument.locator(f"{name} tbody tr").first).to_be_visible()
        assert instrument.locator(f"{name} tbody tr").count() >= rows
    time = instrument.locator("#cards .card dd").first.inner_text()
    expect(instrument.locator("#terms-table")).to_contain_text(time)


def test_operators_sort(instrument: Page):
    instrument.get_by_role("button", name="arithmetic").click()
    expect(instrument.locator("th[data-key=flops]")).to_have_attribute("aria-sort", "descending")
    first = instrument.locator("#ops tbody tr").first.inner_text()
    instrument.get_by_role("button", name="arithmetic").click()
    expect(instrument.locator("th[data-key=flops]")).to_have_attribute("aria-sort", "ascending")
    assert instrument.locator("#ops tbody tr").first.inner_text() != first
    instrument.locator("#ops-all").click()
    assert instrument.locator("#ops tbody tr").count() > 10


def test_sources_are_listed(instrument: Page):
    instrument.locator("#sources summary").click()
    table = instrument.locator("#figures-table")
    expect(table).to_contain_text("memory bandwidth BW")
    expect(table).to_contain_text("estimate")
    expect(table).to_contain_text("2023-11")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways(chromium: Browser, labs_server: str, scheme: str):
    clipped = """[...document.querySelectorAll('.card dd, .card dt, .value, .formula p, .choice span, .row .name')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map(e => e.textContent)"""
    queries = ("", "?workload=llama3_8b&hardware=h100_sxm&phase=decode", "?workload=resnet50&hardware=cortex_m7&dtype=fp32")
    with chromium.new_page(color_scheme=scheme) as page:
        for width, query in product(WIDTHS, queries):
            page.set_viewport_size({"width": width, "height": 800})
            visit(page, labs_server, query)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(clipped) == [], width


def test_targets_are_large_enough(instrument: Page):
    small = """[...document.querySelectorAll('button, select, input, summary')].filter(e => e.offsetParent)
        .map(e => [e.id || e.value || e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)"""
    assert instrument.evaluate(small) == []


def test_without_javascript_it_says_what_to_do(chromium: Browser, labs_server: str):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(f"{labs_server}/explore")
    assert "ironlaw predict" in page.locator("body").inner_text()
    page.close()
