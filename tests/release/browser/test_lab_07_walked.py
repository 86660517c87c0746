"""Lab 07 as a learner does it: by mouse with a reload in the middle, by keyboard alone in the static site, control by control."""

import re
from collections.abc import Iterator

import pytest
from lab_steps import (
    answer,
    changes,
    choose_context,
    commit,
    expect_measured,
    expect_readable,
    go_on,
    label,
    measure,
    open_in_the_dark,
    payloads,
    press_on,
    tab_to,
    to_reflection,
    trial,
    unfold,
    watched,
)
from playwright.sync_api import Locator, Page, expect

from ironlaw.ledger import Ledger

LAB = "/lab/lab_07_fusion/"
SHARE = label("lab_07_fusion", "act1_reflection", "share")
FIELDS = {
    "context", "execution_mode", "fusion_enabled", "arithmetic_intensity_unfused", "arithmetic_intensity_fused",
    "compilation_roi_positive", "breakeven_inferences", "act2_result", "kws_utilization_eager_pct", "kws_utilization_compiled_pct",
    "act1_prediction", "act1_correct", "act2_prediction", "act2_correct", "act2_decision", "constraint_hit", "challenge_passed",
}  # fmt: skip


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def panels(page: Page) -> tuple[Locator, Locator, Locator]:
    """The waterfall, the fusion explorer, the calculator."""
    return (
        page.locator("#act1-instrument .il-instrument"),
        page.locator("#act2-instrument .il-instrument"),
        page.locator("#act2-roi .il-instrument"),
    )


def act_one(page: Page) -> None:
    commit(page, "Nine tenths", "fairly sure")
    to_reflection(page)
    answer(page, SHARE)
    go_on(page, "Go on to Act II")


def second_lock(page: Page) -> None:
    commit(page, "10⁴", "4 sure")
    expect(banner(page, "It pays for itself, but late")).to_be_visible()


def reflect(page: Page) -> None:
    """Complete the sentence, then answer the question."""
    sentence = page.locator("#act2-reflect .il-reflect").first
    sentence.get_by_role("combobox").nth(0).select_option(label="about a third of the traffic")
    sentence.get_by_role("combobox").nth(1).select_option(index=1)
    sentence.get_by_role("button", name="Answer", exact=True).click()
    expect(sentence.get_by_text("✓ Yes.")).to_be_visible()
    answer(page, "Almost nothing at all.")


def banner(page: Page, title: str) -> Locator:
    """On the screen; the same words are also said to those who hear the page."""
    return page.locator(".il-banner-title", has_text=title)


def dial(panel: Locator, text: str) -> Locator:
    return panel.locator(".il-dials").get_by_text(text, exact=True)


def stroke(page: Page) -> None:
    """Draw across the plot, from the lower left to the upper right."""
    plot = page.locator(".il-sketch .il-handles")
    expect(plot.get_by_role("slider")).to_have_count(7)
    page.mouse.wheel(0, 1)  # until the learner moves, a page that was just opened holds its place
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.7 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.2 * box["height"], steps=25)
    page.mouse.up()


def test_the_whole_lab_by_mouse_with_a_reload_in_the_middle(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    for sealed in ("33.3", "a third", "133,60", "98%", "23.3"):
        assert sealed not in before, f"{sealed} is on the page before the first prediction"
    expect(page.locator("svg[role=img]")).to_have_count(1)  # the empty plot
    stroke(page)
    commit(page, "Nine tenths", "fairly sure")
    expect(page.locator("#act1-instrument [data-figure=curve] .il-drawing")).to_be_visible()  # the truth over what was drawn
    page.locator("#act1-instrument").get_by_role("tab", name="Share of wall time").click()
    expect(page.get_by_text("too high by 56.7 percentage points")).to_be_visible()
    tax, explorer, calculator = panels(page)
    expect(tax.get_by_text("eager, queued").first).to_be_visible()  # both dispatches are drawn
    dial(tax, "compiled").click()
    expect(page.locator(".il-hud")).to_contain_text("33 → 50%")
    to_reflection(page)
    answer(page, SHARE)
    go_on(page, "Go on to Act II")
    second_lock(page)
    go_on(page, "Guess what fusing gains", "Try fusing it", "See what was measured")
    measure(page, "act2", "three_op_chain")
    sizes = explorer.get_by_role("tab", name="What fusing saves")
    sizes.click()
    expect(explorer.locator('[data-figure="sizes"] .il-target[aria-label*="measured here"]').first).to_be_attached()
    explorer.get_by_role("switch", name="Fusion").locator("xpath=..").click()
    explorer.get_by_role("tab", name="Bytes").click()
    expect(explorer.get_by_text("reads 1, writes 1, fused; 1.57 MB per tensor")).to_be_visible()
    calculator.get_by_role("button", name="10 k", exact=True).click()
    dial(calculator, "1 week").click()
    expect(banner(page, "Compiling does not pay")).to_be_visible()
    expect(page.locator(".il-hud")).to_contain_text("negative")

    page.reload()
    expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
    expect(page.locator(".il-lock").first.get_by_role("radio").first).to_be_disabled()
    expect(page.locator("#act1-instrument").get_by_role("tab", name="Your curve")).to_be_visible()
    expect(banner(page, "Compiling does not pay")).to_be_visible()  # the dials came back
    expect(panels(page)[1].get_by_role("switch", name="Fusion")).to_be_checked()
    expect_measured(page, "act2", "three_op_chain")
    sizes.click()
    expect(explorer.locator('[data-figure="sizes"] .il-target[aria-label*="measured here"]').first).to_be_attached()

    go_on(page, "Check yourself")
    reflect(page)
    go_on(page, "Finish")
    challenge = page.locator("#act2-challenge .il-number")  # beyond the core
    challenge.get_by_role("spinbutton").fill("24")
    challenge.get_by_role("button", name="Commit my number").click()
    expect(challenge.get_by_text("2,334 inferences, or 23.3 hours")).to_be_visible()
    go_on(page, "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    expect(page.get_by_role("heading", name="Key takeaways")).to_be_visible()
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [90, 10**4]
    drawn = payloads(shared_ledger, "prediction")[0]["sketch"]
    assert len(drawn) == 7 and drawn == sorted(drawn) and drawn[-1] - drawn[0] > 40  # as the pointer went
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["three_op_chain"]
    design = payloads(shared_ledger, "design")[-1]
    assert set(design) == {*FIELDS, "dials", "goals"}
    assert design["fusion_enabled"] is True and design["execution_mode"] == "compiled" and design["challenge_passed"] is True
    assert design["constraint_hit"] is True and design["breakeven_inferences"] == 133_608


def test_by_keyboard_alone_and_without_a_server(site: str, page: Page) -> None:
    page.goto(site + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_visible()

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    def seal(first: str) -> None:
        tab_to(page, "radio", first)
        press("ArrowDown", "ArrowDown")
        if first == "Nine tenths":
            tab_to(page, "g", "Share of maths with kernels of 15 µs")
            press("ArrowUp", "PageUp", "Home", "End")
            point = page.get_by_role("slider", name="kernels of 15 µs")
            expect(point).to_have_attribute("aria-valuetext", "100%")
            expect(point).to_be_focused()
        tab_to(page, "radio", "guessing")
        press("ArrowRight")
        tab_to(page, "button", "Commit my prediction")
        press("Enter")

    seal("Nine tenths")
    expect(page.get_by_text("right to within 0.3 percentage points")).to_be_visible()
    press_on(page, "See what was measured")
    expect(trial(page, "act1", "tiny_ops")).to_contain_text("pip install ironlaw")  # a browser can't measure
    press_on(page, "Check yourself")
    tab_to(page, "radio", "It draws more power")
    press("ArrowDown", "ArrowDown")
    tab_to(page, "button", "Answer")
    press("Enter")
    press_on(page, "Go on to Act II")
    seal("10³")
    expect(banner(page, "It pays for itself, but late")).to_be_visible()
    press_on(page, "Guess what fusing gains", "Try fusing it")
    explorer = panels(page)[1]
    tab_to(page, "button", "1 of 3")  # the chain: LayerNorm moves behind dropout, and goes
    press("ArrowDown")
    expect(explorer.get_by_role("button", name=re.compile("^LayerNorm, 2 of 3"))).to_be_focused()
    press("Delete")
    expect(explorer.get_by_text("reads 2, writes 2, unfused; 1.57 MB per tensor")).to_be_visible()
    tab_to(page, "button", "Add GELU")
    press("Enter")
    expect(explorer.get_by_role("button", name=re.compile("^GELU, 3 of 3"))).to_be_visible()
    tab_to(page, "checkbox", "Fusion")
    press("Space")
    expect(explorer.get_by_text("reads 1, writes 1, fused; 1.57 MB per tensor")).to_be_visible()
    press_on(page, "See what was measured", "Check yourself")
    expect(page.locator("#act2-reflect")).to_be_focused()  # the sentence comes first, then the question
    tab_to(page, "select", "what is left")
    press("ArrowDown", "ArrowDown")
    tab_to(page, "select", "because")
    press("ArrowDown")
    expect(page.locator("#act2-reflect").get_by_role("button", name="Answer")).to_be_enabled()
    tab_to(page, "button", "Answer")
    press("Enter")
    expect(page.locator("#act2-reflect").get_by_text("✓ Yes.")).to_be_visible()
    tab_to(page, "radio", "Almost nothing at all.")
    press("Space")
    tab_to(page, "button", "Answer")
    press("Enter")
    press_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    expect(page.get_by_role("button", name="Saved", exact=True)).to_be_focused()  # so that Tab goes on from there
    expect(page.locator("#end .il-receipt-table").first).to_be_visible()
    tab_to(page, "text", "shortest deployment")  # beyond the core
    page.keyboard.type("23")
    press("Enter")
    expect(page.get_by_text("2,334 inferences, or 23.3 hours")).to_be_visible()
    attention = page.locator("#act2-attention .il-instrument")
    expect(attention.locator(".il-drawing").first).to_be_visible()
    tab_to(page, "range", "Sequence length", most=160)
    changes(page, attention, lambda: press("ArrowLeft"))
    tab_to(page, "", "Lab 08")  # a link: the ways on


def test_it_can_be_read_everywhere_and_every_control_changes_something(beginner: str, page: Page) -> None:
    open_in_the_dark(page, beginner + LAB)
    unfold(page)
    act_one(page)
    second_lock(page)
    go_on(page, "Guess what fusing gains", "Try fusing it", "See what was measured", "Check yourself")
    reflect(page)
    go_on(page, "Finish")
    expect(panels(page)[1].locator(".il-drawing").first).to_be_visible()
    expect_readable(page)
    folded = page.locator(".il-rest:not([open]) > summary")
    while folded.count():
        folded.first.click()
    tax, explorer, calculator = panels(page)

    def number(panel: Locator, name: str, value: str) -> None:
        panel.get_by_role("spinbutton", name=name).fill(value)
        page.keyboard.press("Enter")

    def choose(panel: Locator, *names: str) -> None:
        for name in names:
            changes(page, panel, lambda name=name: dial(panel, name).click())

    changes(page, tax, lambda: tax.get_by_label("Model", exact=True).select_option(label="ResNet-50, real graph"))
    expect(tax.get_by_role("spinbutton", name="Memory time")).to_have_count(0)  # a real graph has its own memory time
    changes(page, tax, lambda: number(tax, "Number of kernels", "100"))
    choose(tax, "compiled", "queued")
    changes(page, tax, lambda: number(tax, "Launches that compiling removes", "20"))
    changes(page, tax, lambda: number(tax, "GPU speed", "3"))
    choose(tax, "graph replay")
    changes(page, tax, lambda: tax.get_by_label("Model", exact=True).select_option(label="GPT-2 layer"))
    expect(tax.get_by_role("spinbutton", name="Memory time")).to_be_visible()
    changes(page, tax, lambda: number(tax, "Memory time", "4"))

    changes(page, explorer, lambda: explorer.get_by_role("button", name="Add GELU").click())
    changes(page, explorer, lambda: explorer.get_by_role("button", name=re.compile("^Take LayerNorm")).click())
    # by drag: softmax from the palette to the first place
    first = explorer.locator(".il-link").first
    changes(page, explorer, lambda: explorer.get_by_role("button", name="Add softmax").drag_to(first))
    expect(explorer.get_by_role("button", name=re.compile("^softmax, 1 of 4"))).to_be_visible()
    behind = {"x": 20, "y": 27}  # in the lower half of a piece: behind it
    changes(
        page, explorer, lambda: explorer.locator(".il-link").nth(0).drag_to(explorer.locator(".il-link").nth(2), target_position=behind)
    )
    expect(explorer.get_by_role("button", name=re.compile("^softmax, 3 of 4"))).to_be_visible()
    for switch in ("Fusion", "Training"):
        changes(page, explorer, lambda switch=switch: explorer.get_by_role("switch", name=switch).locator("xpath=..").click())
    changes(page, explorer, lambda: number(explorer, "Rows", "8192"))
    changes(page, explorer, lambda: number(explorer, "Columns", "4096"))
    choose(explorer, "3.35 TB/s", "device's")
    attention = page.locator("#act2-attention .il-instrument")
    choose(attention, "64")
    changes(page, attention, lambda: number(attention, "Sequence length", "1024"))

    changes(page, calculator, lambda: calculator.get_by_label("Model (sets").select_option(label="Keyword spotter, textbook"))
    changes(page, calculator, lambda: calculator.get_by_role("button", name="120", exact=True).click())
    changes(page, calculator, lambda: number(calculator, "Throughput gain", "25"))
    changes(page, calculator, lambda: calculator.get_by_role("button", name="100 M", exact=True).click())
    expect(calculator.locator(".il-banner")).to_contain_text("more than one device can serve")
    choose(calculator, "one run", "other")
    expect(calculator.get_by_role("spinbutton", name="Days")).to_be_visible()
    changes(page, calculator, lambda: number(calculator, "Days", "200"))
    choose(calculator, "stay eager")
    changes(page, tax, lambda: choose_context(page, "Jetson Orin NX"))
    expect(page.locator(".il-hud")).to_contain_text("Jetson Orin NX")
