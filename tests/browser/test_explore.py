"""The free instrument in a real browser, by mouse and by keyboard: a piece without marimo."""

import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from axe import serious
from lab_steps import settle
from playwright.sync_api import BrowserContext, Locator, Page, expect

from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about

WIDTHS = (360, 390, 768, 1280)
DRAWN = ".il-first .il-drawing .il-bar"


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
    page.wait_for_selector(DRAWN)


def dial(page: Page, name: str) -> Locator:
    return page.locator(f"[data-dial={name}]")


def number(page: Page, name: str) -> Locator:
    return dial(page, name).get_by_role("spinbutton")


def take(page: Page, name: str, value: str) -> None:
    """Turns a dial of choices to a value."""
    if name in ("workload", "hardware"):
        label = about(value)["name"] if name == "workload" else hardware(value).name
        dial(page, name).locator("select").select_option(label=label)
    else:
        dial(page, name).locator("label", has_text=re.compile(f"^{value}$")).click()


def seen(page: Page) -> str:
    """What a reader sees of the answer: bars, cards and formula."""
    return "\n".join(page.locator(part).inner_text() for part in (".il-first", ".il-cards", ".il-formula"))


def changed(page: Page, before: str, setting: str) -> str:
    """Waits until the setting is on screen, and so in the address; what is seen must differ from before."""
    page.wait_for_url(re.compile(rf"[?&]{re.escape(setting)}(&|$)"))
    after = seen(page)
    assert after != before, f"{setting} changed nothing"
    return after


def test_the_first_view_can_be_read_by_everyone(instrument: Page):
    expect(instrument).to_have_title(re.compile("ironlaw"))
    first = instrument.locator(".il-first")
    expect(first.locator("figcaption strong")).to_have_text("Overhead is the bottleneck")
    expect(first.locator(".il-legend").first).to_contain_text("the bottleneck")
    assert instrument.locator(".il-stage .il-target").count() > 20
    assert instrument.locator(".il-card").count() == 6
    assert instrument.locator("[data-section=operators] tbody tr").count() == 10
    small = """[...document.querySelectorAll('button, select, input, summary')].filter(e => e.offsetParent)
        .map(e => [e.id || e.value || e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)"""
    assert instrument.evaluate(small) == []
    instrument.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for scheme in ("light", "dark"):
        instrument.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        settle(instrument)
        assert serious(instrument, shape=scheme == "light") == []


def test_operators_are_pointed_at_listed_sorted_and_follow(instrument: Page):
    plot = instrument.locator(".il-stage .il-plot")
    plot.scroll_into_view_if_needed()
    box = plot.locator(".il-point:not(.il-hollow)").last.bounding_box()
    instrument.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = instrument.locator(".il-tip")
    expect(tip).to_be_visible()
    for word in ("FLOP/B", "does", "moves", "takes", "bottleneck"):
        expect(tip).to_contain_text(word)
    expect(instrument.locator(".il-stage .il-foot")).to_contain_text("Longest of these")
    for place, rows in ((".il-first", 6), (".il-stage", 20)):
        instrument.locator(f"{place} .il-alternative summary").click()
        expect(instrument.locator(f"{place} tbody tr").first).to_be_visible()
        assert instrument.locator(f"{place} tbody tr").count() >= rows
    time = instrument.locator(".il-card .il-card-value").first.inner_text()
    expect(instrument.locator(".il-first table")).to_contain_text(time)
    section = instrument.locator("[data-section=operators]")
    heading = section.locator("th", has_text="arithmetic")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    first = section.locator("tbody tr").first.inner_text()
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert section.locator("tbody tr").first.inner_text() != first
    section.get_by_role("button", name="Show all").click()
    expect(section.get_by_role("button", name="Show the first 10")).to_be_visible()
    assert section.locator("tbody tr").count() > 10
    before = section.inner_text()
    dial(instrument, "batch").get_by_role("slider").press("End")
    expect(section).not_to_have_text(before, use_inner_text=True)  # when the dials rest


def test_sources_are_listed(instrument: Page):
    section = instrument.locator("[data-section=figures]")
    section.locator("summary").click()
    expect(section).to_contain_text("memory bandwidth BW")
    expect(section).to_contain_text("estimate")
    expect(section).to_contain_text("2023-11")
    dial(instrument, "batch").get_by_role("slider").press("ArrowRight")
    instrument.wait_for_url(re.compile("batch=2"))
    assert section.get_attribute("open") is not None, "a turn of a dial closes nothing"


def test_each_choice_changes_the_view(page: Page, labs_server: str):
    visit(page, labs_server, "?hardware=h200_sxm&batch=64")
    before = seen(page)
    for key, value in (
        ("dispatch", "synchronous"),
        ("dtype", "fp32"),
        ("figures", "datasheet"),
        ("mode", "compiled"),
        ("mode", "graphs"),
        ("hardware", "t4"),
        ("workload", "mobilenet_v2"),
    ):
        take(page, key, value)
        before = changed(page, before, f"{key}={value}")


def test_sizes_and_phase_change_the_view(page: Page, labs_server: str):
    visit(page, labs_server, "?workload=gpt2&hardware=a100_80gb_sxm&dtype=fp16")
    changed_by_filling(page, "batch", "32")
    before = changed_by_filling(page, "seq", "64")
    expect(dial(page, "context")).to_have_count(0)
    take(page, "phase", "decode")
    changed(page, before, "phase=decode")
    expect(dial(page, "seq")).to_have_count(0)
    changed_by_filling(page, "context", "1000")


def changed_by_filling(page: Page, key: str, value: str) -> str:
    before = seen(page)
    number(page, key).fill(value)
    return changed(page, before, f"{key}={value}")


def test_slider_and_box_go_together(instrument: Page):
    before = seen(instrument)
    slider = dial(instrument, "batch").get_by_role("slider")
    slider.press("End")
    expect(number(instrument, "batch")).to_have_value("256")
    before = changed(instrument, before, "batch=256")
    number(instrument, "batch").fill("8")
    changed(instrument, before, "batch=8")
    assert slider.get_attribute("aria-valuetext") == "8"


def test_keyboard_alone(instrument: Page):
    """Tab to each control in turn, and turn it."""
    reached = []
    dial(instrument, "workload").locator("select").focus()
    for _ in range(14):
        focused = instrument.evaluate(
            "(({ role, type }, dial) => [dial?.dataset.dial, role ?? type].filter(Boolean).join(' '))"
            "(document.activeElement, document.activeElement.closest('[data-dial]'))"
        )
        reached.append(focused)
        if focused == "batch range":
            before = seen(instrument)
            instrument.keyboard.press("ArrowRight")
            changed(instrument, before, "batch=2")
        if focused == "batch spinbutton":
            before = seen(instrument)
            instrument.keyboard.press("ArrowUp")
            changed(instrument, before, "batch=3")
        if focused == "mode radio":
            before = seen(instrument)
            instrument.keyboard.press("ArrowRight")
            changed(instrument, before, "mode=compiled")
        if instrument.evaluate("document.activeElement.matches('.il-stage .il-target')"):
            break
        instrument.keyboard.press("Tab")
    wanted = {
        "workload select-one",
        "hardware select-one",
        "batch range",
        "batch spinbutton",
        "dtype radio",
        "mode radio",
        "dispatch radio",
    }
    assert wanted <= set(reached)
    said = instrument.locator(".il-tip b").inner_text()
    instrument.keyboard.press("End")
    instrument.keyboard.press("ArrowLeft")
    assert instrument.locator(".il-tip b").inner_text() != said
    assert "FLOP/B" in instrument.evaluate("document.activeElement.getAttribute('aria-label')")
    ring = instrument.evaluate("(({ stroke, strokeWidth }) => [stroke, strokeWidth])(getComputedStyle(document.activeElement))")
    assert ring[0] != "none"
    assert float(ring[1].removesuffix("px")) >= 3


def test_a_reload_restores_the_view(instrument: Page):
    take(instrument, "workload", "llama3_8b")
    instrument.wait_for_url(re.compile("workload=llama3_8b"))
    take(instrument, "phase", "decode")
    number(instrument, "batch").fill("5")
    instrument.wait_for_url(re.compile("phase=decode.*|batch=5.*phase=decode"))
    instrument.wait_for_url(re.compile("batch=5"))
    before = seen(instrument)
    instrument.reload()
    instrument.wait_for_selector(DRAWN)
    assert seen(instrument) == before
    assert dial(instrument, "workload").locator("option:checked").inner_text() == about("llama3_8b")["name"]


def test_out_of_memory(page: Page, labs_server: str):
    visit(page, labs_server, "?workload=resnet50&hardware=cortex_m7&dtype=fp32")
    banner = page.locator(".il-banner")
    expect(banner).to_contain_text("Out of memory")
    expect(banner).to_contain_text(re.compile(r"10\.2\s*MB.*20\.8×.*492\s*kB usable of 512\s*KiB"))
    expect(page.locator(".il-card.il-tone-fail")).to_contain_text("does not fit")
    banner.get_by_role("button").last.click()
    expect(banner).to_have_count(0)
    expect(page.locator(".il-card.il-tone-fail")).to_have_count(0)


def test_a_precision_the_machine_lacks_is_barred_with_the_reason(instrument: Page):
    take(instrument, "hardware", "cortex_m7")
    precision = dial(instrument, "dtype")
    expect(precision.get_by_role("radio", name="fp16", exact=True)).to_be_disabled()
    expect(precision).to_contain_text("This machine has no fp16, so this shows fp32")
    expect(precision.get_by_role("radio", name="fp32", exact=True)).to_be_checked()
    expect(precision).to_contain_text(re.compile("fp16.*: .* has no hardware for (it|them)"))
    take(instrument, "hardware", "h100_sxm")
    expect(precision.get_by_role("radio", name="fp16", exact=True)).to_be_checked()


def test_graphs_leave_nothing_to_queue(instrument: Page):
    take(instrument, "mode", "graphs")
    expect(dial(instrument, "dispatch").get_by_role("radio").first).to_be_disabled()
    expect(dial(instrument, "dispatch")).to_contain_text("nothing to queue")


def test_errors_stand_beside_their_control(page: Page, labs_server: str):
    for query, field, says in (
        ("?workload=resnet5000", "workload", "did you mean"),
        ("?batch=many", "batch", "whole number"),
        ("?workload=bert_base&seq=9999", "seq", "512"),
    ):
        page.goto(f"{labs_server}/explore{query}")
        expect(dial(page, field).get_by_role("alert")).to_contain_text(says)
        expect(page.get_by_role("alert")).to_have_count(1)
        expect(page.locator(".il-near")).to_contain_text("Nothing to draw yet")


def test_an_error_goes_when_it_is_put_right(page: Page, labs_server: str):
    visit(page, labs_server)
    number(page, "batch").fill("0")
    expect(dial(page, "batch").get_by_role("alert")).to_contain_text("whole number")
    assert number(page, "batch").get_attribute("aria-invalid") == "true"
    number(page, "batch").fill("4")
    expect(dial(page, "batch").get_by_role("alert")).to_have_count(0)


def test_a_bad_address_can_be_put_right(page: Page, labs_server: str):
    page.goto(f"{labs_server}/explore?hardware=h900")
    expect(dial(page, "hardware").get_by_role("alert")).to_be_visible()
    take(page, "hardware", "t4")
    page.wait_for_selector(DRAWN)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.wait_for_url(re.compile("hardware=t4"))


def test_nothing_scrolls_sideways_in_light_or_dark(new_context: Callable[..., BrowserContext], labs_server: str):
    clipped = """[...document.querySelectorAll('.il-card > *, .il-formula p, .il-options span, .il-banner *')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map(e => e.textContent)"""
    queries = ("", "?workload=llama3_8b&hardware=h100_sxm&phase=decode", "?workload=resnet50&hardware=cortex_m7&dtype=fp32")
    with new_context().new_page() as page:
        for query in queries:
            visit(page, labs_server, query)
            for width, scheme in product(WIDTHS, ("dark", "light")):
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=scheme)
                page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)  # drawn anew at that width
                assert page.evaluate(clipped) == [], width
                paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")


def test_on_a_phone_the_terms_stay_in_view_over_the_dials(new_context: Callable[..., BrowserContext], labs_server: str):
    with new_context(viewport={"width": 390, "height": 800}).new_page() as page:
        visit(page, labs_server)
        dial(page, "mode").scroll_into_view_if_needed()
        box = page.locator(".il-first").bounding_box()
        assert box["y"] >= -1
        assert box["y"] + box["height"] <= 0.5 * 800


def test_without_javascript_it_says_what_to_do(new_context: Callable[..., BrowserContext], labs_server: str):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{labs_server}/explore")
    assert "ironlaw predict" in page.locator("body").inner_text()
    page.close()
