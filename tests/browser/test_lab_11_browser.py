"""Lab 11 as a learner does it: by mouse, control by control, with the points moved by keys, dragged, pinned, exported and linked to."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab_steps import (
    SCREEN,
    answer,
    changes,
    choose_context,
    commit,
    expect_answered_on_one_screen,
    expect_measured,
    expect_readable,
    go_on,
    instrument,
    label,
    measure,
    open_in_the_dark,
    patient,
    payloads,
    tab_to,
    to_reflection,
    unfold,
    watched,
)
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger

SLUG = "lab_11_roofline"
LAB = f"/lab/{SLUG}/"
MEMORY, REUSE = label(SLUG, "act1", "memory"), label(SLUG, "act1_reflection", "reuse")
SPLIT, TRAFFIC = label(SLUG, "act2", "split"), label(SLUG, "act2_reflection", "traffic")
BATCHING, LIGHTER = label(SLUG, "act2_budget", "batch"), label(SLUG, "act2_target", "weights")
HELD = (
    "() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;"
    " return e.getAttribute('aria-label') ?? ''; }"
)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


@pytest.fixture
def done(beginner: str, shared_home: Path, shared_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> str:
    """The shared server, for a learner who has answered everything: what turns dials needs no more."""
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    return beginner


def bring(where: Locator, tab: str) -> None:
    """To the front, the picture of that tab."""
    where.get_by_role("tab", name=tab).click()


def target(where: Locator, picture: str, name: str) -> Locator:
    return where.locator(f'[data-figure="{picture}"] .il-target[aria-label^="{name}"]')


def drag(page: Page, held: Locator, across: int) -> None:
    held.scroll_into_view_if_needed()
    box = held.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y, steps=3)
    page.mouse.move(x + across, y, steps=3)
    page.mouse.up()


def test_the_whole_lab_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    asked = base64.urlsafe_b64encode(b'{"n": 1024, "dtype": "fp16"}').decode().rstrip("=")
    page.goto(f"{beginner}{LAB}#view/act1/{asked}")  # somebody's link opens nothing before the lock
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    for sealed in ("295", "85.3", "memory-bound", "TB/s", "1.25", "FLOP/B"):
        assert sealed not in before, f"{sealed} is on the page before the first prediction"
    expect(page.locator("svg[role=img]")).to_have_count(0)
    page.set_viewport_size(SCREEN)
    commit(page, MEMORY, "fairly sure")
    expect_answered_on_one_screen(page, "act1")
    first = instrument(page, "act1")
    expect(page.get_by_text(re.compile("ridge is at 3.46")).first).to_be_visible()
    number = first.get_by_role("spinbutton", name="N", exact=True)
    expect(number).to_have_value("1024")  # and is followed after it
    expect(page.locator(".il-hud")).to_contain_text("341 FLOP/B")
    bring(first, "Roofs")
    drag(page, target(first, "roofs", "H100, FP16, N = 1,024"), 120)
    expect(number).not_to_have_value("1024")
    expect(page.locator(".il-hud")).not_to_contain_text("341 FLOP/B")
    stood = number.input_value()
    go_on(page, "See what was measured")
    measure(page, "act1", "gemm_sweep")
    expect(target(first, "roofs", "this machine measured, FP32, N = 64")).to_have_count(1)  # drawn at once, reached by keyboard
    page.reload()
    expect_measured(page, "act1", "gemm_sweep")
    bring(first, "Roofs")
    expect(target(first, "roofs", "this machine measured, FP32, N = 64")).to_have_count(1)
    expect(page.locator(".il-lock").first.get_by_text("Committed")).to_be_visible()
    expect(instrument(page, "act1").get_by_role("spinbutton", name="N", exact=True)).to_have_value(stood)
    go_on(page, "Check yourself")
    answer(page, REUSE)
    go_on(page, "Go on to Act II")
    commit(page, SPLIT, "4 sure")
    second = instrument(page, "act2")
    second.get_by_role("spinbutton", name="Batch").fill("256")
    second.get_by_role("spinbutton", name="Context").fill("32768")
    expect(second.locator(".il-banner-title")).to_contain_text("Out of memory")
    expect(page.locator(".il-hud")).to_contain_text("OOM")
    to_reflection(page)
    answer(page, TRAFFIC)
    go_on(page, "Go on to the target")
    page.get_by_role("slider", name="With your change").press("End")  # what is expected of the change, before it is shown
    commit(page, LIGHTER, "fairly sure", "Commit my choice")
    aimed = instrument(page, "act2_target")
    aimed.get_by_role("spinbutton", name="Batch").fill("500")
    expect(aimed.locator(".il-banner-title")).to_contain_text("Out of memory")
    aimed.get_by_role("group", name="KV cache format").get_by_text("FP8", exact=True).click()
    expect(aimed.locator(".il-banner-title")).to_contain_text("The target is met")
    go_on(page, "Commit this design")
    expect(page.locator("#act2_target-decide .il-feedback")).to_contain_text("Batch 500")
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    expect(page.locator("#act2_budget-instrument")).to_contain_text("Commit your choice")  # beyond the core, after the receipt
    commit(page, BATCHING, "fairly sure", "Commit my choice")
    expect(instrument(page, "act2_budget").locator('[data-figure="budget"]')).to_contain_text("your choice")
    expect(page.locator(".il-receipt-table")).to_contain_text("Spend the budget")
    go_on(page, "Save it as it stands now")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == ["memory", "split", "weights", "batch"]
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["gemm_sweep"]
    design = payloads(shared_ledger, "design")[-1]
    assert design["act1_correct"] is True and design["act2_correct"] is True and design["constraint_hit"] is True
    assert design["arithmetic_intensity"] > 170.7 and design["tokens_per_s"] is None
    assert design["budget_choice"] == "batch" and design["budget_tokens_per_s"] > 0
    assert design["target_estimate"] == 24_000 and design["target_met"] is True and design["target_design"]["batch"] == 500


def expect_points_follow_keys(page: Page, first: Locator) -> None:
    """From tab to tab, from mark to mark, and the point itself."""
    number = first.get_by_role("spinbutton", name="N", exact=True)
    number.fill("512")
    expect(target(first, "roofs", "H100, FP16, N = 512")).to_have_count(1)
    first.get_by_role("tab", name="Roofs").focus()
    page.keyboard.press("ArrowRight")  # from the first picture's tab to the roof's steps, and back to the roofs
    page.keyboard.press("ArrowLeft")
    expect(first.locator('[data-figure="roofs"] .il-drawing')).to_be_visible()
    tab_to(page, "rect", "H100: HBM3")
    page.keyboard.press("ArrowRight")
    assert "H100: HBM3" not in page.evaluate(HELD)
    tab_to(page, "rect", "H100, FP16, N = 512")
    page.keyboard.press("ArrowRight")
    expect(number).to_have_value("640")
    expect(target(first, "roofs", "H100, FP16, N = 640")).to_be_focused()
    expect(target(first, "roofs", "H100, FP16, N = 640")).to_have_attribute("aria-valuenow", "640")
    page.keyboard.press("ArrowLeft")
    expect(number).to_have_value("512")


def test_points_are_moved_by_keys_pinned_dragged_exported_and_linked_to(
    done: str, page: Page, chromium: Browser, new_context: Callable[..., BrowserContext], tmp_path: Path
) -> None:
    page.goto(done + LAB)
    first = instrument(page, "act1")
    expect_points_follow_keys(page, first)
    first.get_by_role("button", name="Pin this point").click()
    name = first.get_by_role("textbox", name="Name of pin 1")
    expect(name).to_have_value("H100 FP16 512")
    name.fill("mine")
    name.press("Enter")
    expect(target(first, "roofs", "mine: H100, FP16, N = 512")).to_have_count(1)
    number = first.get_by_role("spinbutton", name="N", exact=True)
    number.fill("4096")
    expect(target(first, "roofs", "H100, FP16, N = 4,096")).to_have_count(1)
    drag(page, target(first, "roofs", "mine"), -120)
    expect(target(first, "roofs", "mine: H100, FP16, N = 512")).to_have_count(0)  # the pin moved, the dials did not
    expect(number).to_have_value("4096")

    first.get_by_text("The figures as a table").click()
    with page.expect_download() as saved:
        first.get_by_role("button", name="Save as SVG").first.click()
    saved.value.save_as(tmp_path / "roofs.svg")
    drawing = (tmp_path / "roofs.svg").read_text()
    assert saved.value.suggested_filename == "roofs.svg" and drawing.startswith("<svg") and "mine" in drawing and "var(" not in drawing
    assert "@font-face" in drawing and "base64," in drawing and ">pinned<" in drawing  # the typeface, the legend
    plot = re.search(r'<svg[^>]* x="(\d+)" y="(\d+)"', drawing)
    assert plot and int(plot[1]) >= 20 and int(plot[2]) >= 40  # a margin, and the title over it
    shown = chromium.new_page()
    shown.goto((tmp_path / "roofs.svg").as_uri())
    assert shown.evaluate("() => document.documentElement.getBBox().width") > 400
    shown.close()
    with page.expect_download() as saved:
        first.get_by_role("button", name="Save as PNG").first.click()
    saved.value.save_as(tmp_path / "roofs.png")
    assert (tmp_path / "roofs.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and (tmp_path / "roofs.png").stat().st_size > 10_000

    first.locator(".il-dials").get_by_text("both", exact=True).click()
    expect(first.locator('[data-figure="gap"] .il-drawing')).to_be_visible()  # so the drag's last answer is here too
    bring(first, "Roofs")
    moved = target(first, "roofs", "mine").get_attribute("aria-label")
    first.get_by_role("button", name="Link to this view").first.click()
    link = first.get_by_role("textbox", name="Link to this view").input_value()
    assert link.startswith(done + LAB + "#view/act1/")
    page.reload()  # the dials stand where they stood
    expect(instrument(page, "act1").get_by_role("spinbutton", name="N", exact=True)).to_have_value("4096")

    elsewhere = patient(new_context().new_page())
    elsewhere.goto(link)
    there = instrument(elsewhere, "act1")
    expect(there.get_by_role("spinbutton", name="N", exact=True)).to_have_value("4096")
    bring(there, "Roofs")
    expect(target(there, "roofs", "mine")).to_have_attribute("aria-label", moved)
    bring(there, "Gap to the roof")
    expect(there.locator('[data-figure="gap"]')).to_be_visible()
    assert "#" not in elsewhere.url  # taken once: what is turned now is kept


def test_it_can_be_read_everywhere_and_controls_of_each_kind_change_something(done: str, page: Page) -> None:
    open_in_the_dark(page, done + LAB)
    unfold(page)
    first, second = instrument(page, "act1"), instrument(page, "act2")
    changes(page, first, first.locator(".il-dials").get_by_text("both", exact=True).click)
    changes(page, first, first.get_by_role("button", name="Pin this point").click)
    bring(first, "Gap to the roof")
    page.wait_for_timeout(500)  # until the dials rest: what they send then leaves the tab where the learner has put it
    expect(first.locator('[data-figure="gap"] .il-drawing')).to_be_visible()
    bring(second, "It fits")  # on a phone each of two small pictures has a tab of its own
    expect(second.locator('[data-figure="budget"] .il-drawing')).to_be_visible()
    expect_readable(page)

    def by_text(where: Locator, *options: str) -> None:
        for option in options:
            changes(page, where, lambda option=option: where.locator(".il-dials").get_by_text(option, exact=True).click())

    by_text(first, "any M, N, K")
    changes(page, first, lambda: first.get_by_role("spinbutton", name="K", exact=True).fill("1024"))
    changes(page, first, lambda: first.get_by_label("Compare with").select_option(label="AMD Instinct MI300X 192 GB"))

    by_text(second, "decode", "tiled")
    cache = second.get_by_role("group", name="KV cache format")
    changes(page, second, lambda: cache.get_by_text("FP8", exact=True).click())
    changes(page, first, lambda: choose_context(page, "Jetson Orin NX"))
    expect(page.locator(".il-hud")).to_contain_text("Jetson Orin NX")
