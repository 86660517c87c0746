"""The gallery's first instrument in a real browser: every dial moves the picture, by mouse and by keyboard."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

READY = "#bench[aria-busy=false]:not(.empty)"


@pytest.fixture
def gallery(page: Page, labs_server: str) -> Iterator[Page]:
    """The page, drawn; the test fails on anything in the console."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    visit(page, labs_server)
    yield page
    assert not complaints


def visit(page: Page, server: str, query: str = "") -> None:
    page.goto(f"{server}/{query}")
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


def test_first_view(gallery: Page):
    expect(gallery).to_have_title(re.compile("ironlaw"))
    expect(gallery.locator("#verdict")).to_have_text("Overhead binds")
    expect(gallery.locator("#bars .row.binding .tag")).to_have_text("binds")
    assert gallery.locator("#roofline path.point[tabindex]").count() > 20
    assert gallery.locator("#cards .card").count() == 6
    assert gallery.locator("#ops tbody tr").count() == 10
    expect(gallery.locator("#labs")).to_contain_text("in preparation")


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


def test_slider_and_box_go_together(gallery: Page):
    before = seen(gallery)
    gallery.locator("#batch-slide").press("End")
    expect(gallery.locator("#batch")).to_have_value("256")
    before = changed(gallery, before, "batch=256")
    gallery.fill("#batch", "8")
    changed(gallery, before, "batch=8")
    assert gallery.locator("#batch-slide").get_attribute("aria-valuetext") == "8"


def test_keyboard_alone(gallery: Page):
    """Tab to each control in turn, and turn it."""
    reached = []
    gallery.locator("#workload").focus()
    for _ in range(12):
        focused = gallery.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.dataset.op")
        reached.append(focused)
        if focused == "batch-slide":
            before = seen(gallery)
            gallery.keyboard.press("ArrowRight")
            changed(gallery, before, "batch=2")
        if focused == "mode":
            before = seen(gallery)
            gallery.keyboard.press("ArrowRight")
            changed(gallery, before, "mode=compiled")
        if gallery.evaluate("document.activeElement.matches('#roofline path')"):
            break
        gallery.keyboard.press("Tab")
    assert {"workload", "hardware", "batch-slide", "batch", "dtype", "mode", "dispatch"} <= set(reached)
    said = gallery.locator("#inspect b").inner_text()
    gallery.keyboard.press("ArrowRight")
    assert gallery.locator("#inspect b").inner_text() != said
    assert "FLOP per byte" in gallery.evaluate("document.activeElement.getAttribute('aria-label')")
    assert gallery.locator("#roofline .ring").bounding_box()["width"] > 8


def test_pointing_at_an_operator_tells_about_it(gallery: Page):
    gallery.locator("#roofline").scroll_into_view_if_needed()
    box = gallery.locator("#roofline path.point[tabindex]").last.bounding_box()
    gallery.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert not gallery.locator("#inspect b").inner_text().startswith("longest")
    expect(gallery.locator("#inspect")).to_contain_text("FLOP/B")


def test_a_reload_restores_the_view(gallery: Page):
    gallery.select_option("#workload", "llama3_8b")
    gallery.check("#phase input[value=decode]")
    gallery.fill("#batch", "5")
    gallery.wait_for_url(re.compile("batch=5"))
    gallery.wait_for_function("() => document.getElementById('bench').dataset.shown.includes('batch=5')")
    before = seen(gallery)
    gallery.reload()
    gallery.wait_for_selector(READY)
    assert seen(gallery) == before
    expect(gallery.locator("#workload")).to_have_value("llama3_8b")


def test_out_of_memory(page: Page, labs_server: str):
    visit(page, labs_server, "?workload=resnet50&hardware=cortex_m7&dtype=fp32")
    banner = page.locator("#oom")
    expect(banner).to_contain_text("Out of memory")
    expect(banner).to_contain_text(re.compile(r"113\s*MB.*524\s*kB.*215×"))
    expect(page.locator("#cards .card.fail")).to_contain_text("does not fit")
    banner.get_by_role("button").last.click()
    expect(banner).to_be_hidden()
    expect(page.locator("#cards .card.fail")).to_have_count(0)


def test_a_precision_the_machine_lacks_is_barred_with_the_reason(gallery: Page):
    gallery.select_option("#hardware", "cortex_m7")
    expect(gallery.locator("#dtype input[value=fp16]")).to_be_disabled()
    expect(gallery.locator("#dtype-note")).to_contain_text("fp16 is not on this machine, so fp32 is set")
    gallery.select_option("#hardware", "h100_sxm")
    expect(gallery.locator("#dtype input[value=fp16]")).to_be_checked()


def test_graphs_leave_nothing_to_queue(gallery: Page):
    gallery.check("#mode input[value=graphs]")
    expect(gallery.locator("#dispatch input").first).to_be_disabled()
    expect(gallery.locator("#dispatch-note")).to_contain_text("nothing to queue")


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("?hardware=h900", "hardware", "did you mean"),
        ("?batch=0", "batch", "whole number"),
        ("?hardware=cortex_m7&dtype=fp16", "dtype", "no fp16"),
    ],
)
def test_errors_stand_beside_their_control(page: Page, labs_server: str, query: str, field: str, says: str):
    page.goto(f"{labs_server}/{query}")
    expect(page.locator(f"#{field}-error")).to_contain_text(says)
    expect(page.locator("#problem")).to_be_hidden()


def test_an_error_goes_when_it_is_mended(page: Page, labs_server: str):
    visit(page, labs_server)
    page.fill("#batch", "0")
    expect(page.locator("#batch-error")).to_be_visible()
    assert page.locator("#batch").get_attribute("aria-invalid") == "true"
    page.fill("#batch", "4")
    expect(page.locator("#batch-error")).to_be_hidden()


def test_pictures_as_tables(gallery: Page):
    for name, rows in (("#terms-table", 6), ("#roof-table", 20)):
        gallery.locator(f"{name} summary").click()
        assert gallery.locator(f"{name} tbody tr").first.is_visible()
        assert gallery.locator(f"{name} tbody tr").count() >= rows
    time = gallery.locator("#cards .card dd").first.inner_text()
    expect(gallery.locator("#terms-table")).to_contain_text(time)


def test_operators_sort(gallery: Page):
    gallery.get_by_role("button", name="arithmetic").click()
    expect(gallery.locator("th[data-key=flops]")).to_have_attribute("aria-sort", "descending")
    first = gallery.locator("#ops tbody tr").first.inner_text()
    gallery.get_by_role("button", name="arithmetic").click()
    expect(gallery.locator("th[data-key=flops]")).to_have_attribute("aria-sort", "ascending")
    assert gallery.locator("#ops tbody tr").first.inner_text() != first
    gallery.locator("#ops-all").click()
    assert gallery.locator("#ops tbody tr").count() > 10


def test_sources_are_listed(gallery: Page):
    gallery.locator("#sources summary").click()
    table = gallery.locator("#figures-table")
    expect(table).to_contain_text("memory bandwidth BW")
    expect(table).to_contain_text("estimate")
    expect(table).to_contain_text("2023-11")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_nothing_scrolls_sideways(chromium: Browser, labs_server: str, width: int, scheme: str):
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for query in ("", "?workload=llama3_8b&hardware=h100_sxm&phase=decode", "?workload=resnet50&hardware=cortex_m7&dtype=fp32"):
        visit(page, labs_server, query)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        clipped = """[...document.querySelectorAll('.card dd, .card dt, .value, .formula p, .choice span, .row .name')]
            .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map(e => e.textContent)"""
        assert page.evaluate(clipped) == []
    page.close()


def test_targets_are_large_enough(gallery: Page):
    small = """[...document.querySelectorAll('button, select, input, summary')].filter(e => e.offsetParent)
        .map(e => [e.id || e.value || e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)"""
    assert gallery.evaluate(small) == []


def test_without_javascript_it_says_what_to_do(chromium: Browser, labs_server: str):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(labs_server)
    assert "ironlaw predict" in page.locator("body").inner_text()
    page.close()
