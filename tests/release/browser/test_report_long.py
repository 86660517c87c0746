"""The report of a graph with thousands of operators in a real browser, and on paper."""

from pathlib import Path

from lab_steps import watched
from playwright.sync_api import Browser, expect

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.machines import hardware
from ironlaw.report.analysis import Analysis
from ironlaw.report.report_page import write


def chain(count: int) -> Graph:
    """Layers of 30 operators that end in a product, as real ones do: nobody's compiler fuses 3,000 into one."""
    before, ops = Tensor("x", (64, 64), "fp16", "input"), []
    for i in range(count):
        after = Tensor(f"t{i}", (64, 64), "fp16")
        kind = "linear" if i % 30 == 29 else ("relu", "gelu", "layer_norm")[i % 3]
        weights = [Tensor(f"w{i}", (64, 64), "fp16", "weight")] if kind == "linear" else []
        ops.append(op(kind, f"layers.{i // 30}.{kind}", [before, *weights], [after]))
        before = after
    return Graph("long", tuple(ops), "fp16")


def test_three_thousand_operators(chromium: Browser, tmp_path: Path):
    graph = chain(3000)
    analysis = Analysis(graph, tuple(predict(graph, hardware("t4"), Plan(mode)) for mode in ("eager", "graphs")))
    with chromium.new_context() as context, watched(context.new_page()) as page:
        page.goto(write(analysis, tmp_path / "long.html").as_uri())
        page.locator("#operators summary").first.click()
        grid = page.locator("[data-operators]")
        expect(grid.locator("tbody tr")).to_have_count(100)
        expect(grid.get_by_role("status")).to_have_text("3,000 rows, 100 shown")
        for heading in ("operator", "kind", "moved"):
            grid.locator("th").filter(has_text=heading).get_by_role("button").click()
        grid.get_by_label("Filter by text").fill("layers.99.")
        expect(grid.locator("tbody tr")).to_have_count(30)
        grid.get_by_label("Filter by text").fill("")
        page.get_by_role("button", name="Show all 3,000").first.click()
        expect(grid.locator("tbody tr")).to_have_count(3000)


def test_it_prints(chromium: Browser, tmp_path: Path):
    """All of it, folded or not."""
    analysis = Analysis(chain(90), (predict(chain(90), hardware("t4"), Plan()),))
    with chromium.new_context() as context, watched(context.new_page()) as page:
        page.goto(write(analysis, tmp_path / "paper.html").as_uri())
        page.emulate_media(media="print")
        expect(page.locator(".picker")).to_be_hidden()
        expect(page.locator("[data-detail=roofline] svg.il-drawing")).to_be_visible()
        assert page.locator("[data-operators] .wide").evaluate("e => getComputedStyle(e).maxHeight") == "none"
        assert len(page.pdf()) > 20_000
