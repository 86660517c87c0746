"""The report in a real browser, opened from disk: nothing asked for, tables by mouse and keyboard, pictures that follow the choice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe import serious
from lab_steps import fits_across, watched
from playwright.sync_api import Browser, Page, expect

from ironlaw.engine.device.machine import MODES, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.report.analysis import Analysis, Compiling
from ironlaw.report.kineto import read
from ironlaw.report.report_page import write
from ironlaw.report.trace_join import join
from ironlaw.widget.quantities import format_quantity

TRACE = Path(__file__).parent.parent / "report" / "data" / "cuda.json"
MACHINES = ("h200_sxm", "t4")


def chain(count: int) -> Graph:
    before, ops = Tensor("x", (64, 64), "fp16", "input"), []
    for i in range(count):
        after = Tensor(f"t{i}", (64, 64), "fp16")
        kind = "linear" if i % 30 == 29 else ("relu", "gelu", "layer_norm")[i % 3]
        weights = [Tensor(f"w{i}", (64, 64), "fp16", "weight")] if kind == "linear" else []
        ops.append(op(kind, f"layers.{i // 30}.{kind}", [before, *weights], [after]))
        before = after
    return Graph("long", tuple(ops), "fp16")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = workload("gpt2_layer")
    made = tuple(predict(graph, hardware(m), Plan(mode)) for m in MACHINES for mode in MODES[:3])
    compiling = {m: Compiling(30.0, "given with --compile-s") for m in MACHINES}
    joined = join(predict(chain(3), hardware("h200_sxm"), Plan()), read(TRACE))
    analysis = Analysis(graph, made, "gpt2_layer", {"esp32_s3": "too small"}, compiling, 1e6, joined)
    return write(analysis, tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture
def opened(chromium: Browser, report: str) -> Iterator[Page]:
    with chromium.new_context(viewport={"width": 1280, "height": 900}) as context:
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        with watched(context.new_page()) as page:
            page.goto(report)
            page.locator("main > section > details").evaluate_all("folds => folds.forEach((fold) => { fold.open = true; })")
            expect(page.locator("[data-operators] tbody tr").first).to_be_visible()
            yield page
        assert asked == [report]


def column(page: Page, place: str, at: int) -> list[str]:
    return page.locator(f"{place} tbody tr > :nth-child({at})").all_inner_texts()


def test_pictures_are_drawn_and_tell_their_figures(opened: Page):
    drawings = opened.locator("svg.il-drawing[role=img]")
    expect(drawings).to_have_count(8)  # all machines, each kind's modes, host and device, roofline, timeline, memory, saving
    for i in range(8):
        assert drawings.nth(i).get_attribute("aria-label")
        assert drawings.nth(i).locator("rect, path").count() > 5
    opened.locator("[data-detail=timeline] .il-target").first.hover(force=True)
    expect(opened.locator("[data-detail=timeline] .il-tip")).to_contain_text("starts")


def test_sorting_by_mouse(opened: Page):
    heading = opened.locator("[data-operators] th").filter(has_text="operator")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    names = column(opened, "[data-operators]", 2)
    assert names == sorted(names, key=str.lower) and len(names) == len(workload("gpt2_layer").ops)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert column(opened, "[data-operators]", 2) == names[::-1]
    opened.locator("[data-operators] th").filter(has_text="#").get_by_role("button").click()
    assert column(opened, "[data-operators]", 1) == [str(n) for n in range(len(names), 0, -1)]


def test_sorting_and_filtering_by_keyboard(opened: Page):
    opened.locator("[data-operators] input[type=search]").focus()
    opened.keyboard.type("mlp act")
    rows = opened.locator("[data-operators] tbody tr")
    wanted = [o.name for o in workload("gpt2_layer").ops if "mlp" in o.name and "act" in o.name]
    expect(rows).to_have_count(len(wanted))
    assert wanted and sorted(column(opened, "[data-operators]", 2)) == sorted(wanted)
    expect(opened.locator("[data-operators] [role=status]")).to_have_text(f"{len(wanted)} of {len(workload('gpt2_layer').ops)} rows")
    for _ in range(9):
        opened.keyboard.press("Backspace" if opened.locator("[data-operators] input").input_value() else "Shift")
    opened.keyboard.press("Tab")  # the choice of kind
    opened.keyboard.type("lin")
    linear = [o.name for o in workload("gpt2_layer").ops if o.kind == "linear"]
    expect(rows).to_have_count(len(linear))
    opened.keyboard.press("Tab")  # the table itself, so that it can be scrolled
    opened.keyboard.press("Tab")  # its first heading
    opened.keyboard.press("Enter")
    expect(opened.locator("[data-operators] th").first).to_have_attribute("aria-sort", "descending")
    opened.keyboard.press("Space")
    expect(opened.locator("[data-operators] th").first).to_have_attribute("aria-sort", "ascending")
    assert sorted(column(opened, "[data-operators]", 2)) == sorted(linear)
    assert opened.evaluate("document.activeElement.innerText").startswith("#")  # the focus stays where it was


def test_the_choice_moves_pictures_and_table(opened: Page):
    before = opened.locator("[data-detail=roofline] svg.il-drawing").get_attribute("aria-label")
    opened.get_by_label("Machine and mode").select_option("t4/graphs/prefill")
    expect(opened.locator("[data-detail=roofline] svg.il-drawing")).not_to_have_attribute("aria-label", before or "")
    expect(opened.locator("[data-detail=timeline] figcaption")).to_contain_text("busy")
    fused = predict(workload("gpt2_layer"), hardware("t4"), Plan("graphs"))
    expect(opened.locator("[data-operators] tbody tr")).to_have_count(len(fused.ops))
    expect(opened.locator("[data-shown]").first).to_contain_text("NVIDIA T4 16 GB, graphs")
    told = opened.locator("[data-film] .il-story").text_content() or ""
    assert "Graph replay: kernel 1 runs" in told and format_quantity(float(fused.ops[0].seconds), "s") in told
    opened.locator("[data-film]").get_by_role("button", name="Play").click()
    expect(opened.locator("[data-film]").get_by_role("button", name="Pause")).to_be_visible()


def test_fusion_tables_and_the_trace(opened: Page):
    edges = opened.locator("[data-grid=edges-0]")
    edges.get_by_label("Filter by text").fill("library that takes no epilogue")
    assert set(edges.locator("tbody tr > :nth-child(5)").all_inner_texts()) == {"linear comes from a library that takes no epilogue"}
    expect(opened.locator("#trace")).to_contain_text("someone_elses_kernel")
    expect(opened.locator("[data-grid=trace] tbody tr")).to_have_count(1)
    expect(opened.locator("#breakeven")).to_contain_text("at 1,000,000 calls per day, on day")


def test_answers_on_one_screen_and_the_rest_folded(chromium: Browser, report: str):
    """1280 × 800: the verdict ends above the fold; nothing else is open; a link opens its section, and its picture has its width."""
    with chromium.new_context(viewport={"width": 1280, "height": 800}) as context, watched(context.new_page()) as page:
        page.goto(report)
        expect(page.locator("#verdict svg.il-drawing")).to_be_visible()
        assert page.locator("#verdict").bounding_box()["y"] + page.locator("#verdict").bounding_box()["height"] < 800
        assert page.evaluate("document.documentElement.scrollHeight") < 4000
        expect(page.locator("main > section > details[open]")).to_have_count(0)
        expect(page.locator("[data-detail=roofline]")).to_be_hidden()
        page.locator("#details summary").first.press("Enter")
        expect(page.locator("[data-detail=roofline] svg.il-drawing")).to_be_visible()
        assert page.locator("[data-detail=roofline] svg.il-drawing").bounding_box()["width"] > 800
        page.goto(report + "#memory")
        expect(page.locator("#memory details").first).to_have_attribute("open", "")
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto("about:blank")
        page.goto(report)
        expect(page.locator("#verdict svg.il-drawing")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollHeight") < 4000 and fits_across(page)


def test_no_serious_axe_violation_and_nothing_scrolls_sideways(chromium: Browser, report: str):
    looks = {"color_scheme": "dark", "viewport": {"width": 390, "height": 900}, "bypass_csp": True}  # axe is let in
    with chromium.new_context(**looks) as context, watched(context.new_page()) as page:
        page.goto(report)
        page.locator("main > section > details").evaluate_all("folds => folds.forEach((fold) => { fold.open = true; })")
        expect(page.locator("svg.il-drawing[role=img]")).to_have_count(8)
        assert fits_across(page)
        assert serious(page) == []
