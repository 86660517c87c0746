"""The widget's words by themselves, in an empty page: ticks, labels over lines, the concept map on a narrow screen. No server is needed."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.kit.claim_panel import panel
from ironlaw.kit.prose import html
from ironlaw.kit.reveal import reveal
from ironlaw.pictures.roofline_picture import roofline
from ironlaw.recall.concept_layers import layers
from ironlaw.recall.concepts import concept_map
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.widget.assets import CSS, script

SCRIPTS = ("dom", "units", "scale", "labels", "words", "tip", "ends", "axes", "marks", "many", "drag", "targets", "table", "figure", "map")


@pytest.fixture(scope="module")
def blank(chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        page = context.new_page()
        for name in SCRIPTS:
            page.add_script_tag(content=script((name,)))
        yield page


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (256, "", "256"),
        (1024, "", "1,024"),
        (16384, "", "16,384"),
        (1000, "", "1\u202fk"),
        (1500, "", "1.5\u202fk"),
        (1e6, "", "1\u202fM"),
        (1e3, "B", "1\u202fkB"),
    ],
)
def test_a_power_of_two_is_not_called_1_024_k(blank: Page, value: float, unit: str, text: str) -> None:
    assert blank.evaluate("([v, u]) => tickText(v, u)", [value, unit]) == text


def test_many_seconds_are_hours(blank: Page) -> None:
    """18.6 h: ticks at whole hours, at their places in seconds; a minute stays in seconds."""
    ticks = "(end) => ticksOf(makeScale({ scale: 'linear', unit: 's' }, [-30, end], [0, 300]), () => 13, 14).map((t) => [t.value, t.text])"
    assert [7200, "2\u202fh"] in blank.evaluate(ticks, 67_000) and [20, "20\u202fs"] in blank.evaluate(ticks, 60)


@pytest.mark.parametrize(("end", "unit"), [(2.0, "s"), (0.2, "s"), (1500.0, "B"), (90e9, "B")])
def test_a_linear_axis_has_one_unit(blank: Page, end: float, unit: str) -> None:
    """0.5 s beside 1 s, not 500 ms."""
    ticks = "([end, unit]) => ticksOf(makeScale({ scale: 'linear', unit }, [0, end], [0, 300]), () => 13, 14).map((t) => t.text)"
    texts = blank.evaluate(ticks, [end, unit])
    assert len(texts) > 3 and len({text.partition("\u202f")[2] for text in texts}) == 1, texts


def test_words_over_two_near_lines_stand_left_and_right_of_them(blank: Page) -> None:
    told = "(at) => [...lanes(at.map((x, i) => ({ mark: i, x, text: 'you said 33%' })), { left: 0, right: 600 }).placed.values()]"
    left, right = blank.evaluate(told, [300, 302])
    assert left["lane"] == right["lane"] == 0
    assert left["right"] < 300 and right["left"] > 302  # neither line runs through words
    assert blank.evaluate("() => lanes([], { left: 0, right: 600 }).count") == 0  # no words, no room kept for them
    assert {lane["lane"] for lane in blank.evaluate(told, [20, 22])} == {0, 1}  # no room at the edge: one over the other


def boxes(page: Page, figure: dict, width: int) -> list[dict]:
    """Where the words of a figure lie, drawn that wide."""
    draw = """([figure, width]) => {
      document.body.innerHTML = "<div id=here style='font: 13px sans-serif'></div>";
      const ui = { id: "t", local: {}, tall: new Set(), widths: new Map([["f", width]]), drawings: new WeakMap(), watch() {} };
      patch(document.getElementById("here"), plotView(figure, "f", width, { ui, spec: { dials: [] }, redraw() {} }));
      return [...document.querySelectorAll("text:not([transform])")].filter((t) => !t.matches(".il-tick, .il-axis")).map((t) => {
        const { left, right, top, bottom } = t.getBoundingClientRect();
        return { text: t.textContent, left, right, top: top + 3, bottom: bottom - 3 };
      });
    }"""
    return page.evaluate(draw, [figure, width])


@pytest.mark.parametrize("width", [350, 1240])
def test_the_words_of_a_roofline_do_not_overlap(blank: Page, width: int) -> None:
    """A GPU far under its roof, with small ops that stretch the axis: the report's roofline on a phone."""
    figure = roofline(predict(workload("gpt2_layer", batch=1), hardware("h200_sxm"), Plan("eager"))).to_dict()
    figure["y"]["domain"][0] = 1e5
    found = boxes(blank, json.loads(json.dumps(figure)), width)
    assert any("TFLOP/s" in box["text"] for box in found) and any("memory-bound" in box["text"] for box in found)
    for i, a in enumerate(found):
        for b in found[i + 1 :]:
            apart = a["right"] <= b["left"] or b["right"] <= a["left"] or a["bottom"] <= b["top"] or b["bottom"] <= a["top"]
            assert apart, (a["text"], b["text"])


def test_the_concept_map_is_an_outline_where_a_layer_has_no_room(blank: Page) -> None:
    """Stems go down and right, each in a column of its own: no two of them cross, and none runs through a node."""
    found = concept_map()
    spec = {"rows": layers(found), "edges": [{"from": edge.source, "to": edge.target} for edge in found.edges]}
    told = """([spec, width]) => {
      const { places, parents } = placeNodes(spec, width);
      return [Object.fromEntries(places), parents && Object.fromEntries(parents)];
    }"""
    places, parents = blank.evaluate(told, [spec, 350])
    assert set(places) == set(found.concepts) and len(parents) == len(places) - 1
    for child, parent in parents.items():
        a, b = places[parent], places[child]
        stem = a["x"] - a["w"] / 2 + 10
        assert b["y"] > a["y"] and stem < b["x"] - b["w"] / 2
        between = [p for p in places.values() if a["y"] < p["y"] < b["y"]]
        assert all(p["x"] - p["w"] / 2 > stem for p in between), (parent, child)
    assert all(p["x"] - p["w"] / 2 >= 0 and p["x"] + p["w"] / 2 <= 350 for p in places.values())
    for wide in (1216, 900):
        places, parents = blank.evaluate(told, [spec, wide])
        assert parents is None and set(places) == set(found.concepts)
        lines: dict[float, list[dict]] = {}
        for place in places.values():
            lines.setdefault(place["y"], []).append(place)
        for line in lines.values():  # none outside, none on another
            sides = sorted((p["x"] - p["w"] / 2, p["x"] + p["w"] / 2) for p in line)
            assert sides[0][0] >= 0 and sides[-1][1] <= wide
            assert all(right < left for (_, right), (left, _) in pairwise(sides))
        for edge in found.edges:
            assert places[edge.source]["y"] != places[edge.target]["y"], "an edge leads from line to line"


def dressed(chromium: Browser, sheet: str, inside: str) -> Page:
    """HTML of the kit on a phone, in its own style sheet."""
    page = chromium.new_context(viewport={"width": 390, "height": 900}).new_page()
    css = (CSS / f"{sheet}.css").read_text(encoding="utf-8")
    page.set_content(f"<style>{css}</style><body style='margin: 0 20px'>{inside}")
    return page


def width(page: Page, where: str) -> float:
    return float(page.locator(where).first.evaluate("e => e.getBoundingClientRect().width"))


def test_on_a_phone_the_reveal_s_answers_have_the_whole_width(chromium: Browser) -> None:
    page = dressed(
        chromium, "theme", f"<div id=App>{reveal('Memory: it does too little for each byte', 'the same', 'right', 'Why.', True)}"
    )
    assert width(page, ".il-prediction td") > 0.85 * width(page, ".il-reveal")
    page.context.close()


def test_a_claim_is_a_line_on_a_phone_and_opens_on_its_sources_by_keyboard(chromium: Browser) -> None:
    page = dressed(chromium, "theme", f"<div id=App>{panel(['capacity_gap', 'h100_peak_1979', 'a100_bandwidth', 'kv_512_kib'])}")
    claims = page.locator(".il-claim")
    assert [claim.is_visible() for claim in claims.all()] == [True, True, True]  # of four: an act shows three
    assert page.locator(".il-claims").evaluate("e => e.getBoundingClientRect().height") < 600
    assert not claims.first.locator(".il-why").is_visible()
    claims.first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert claims.first.locator(".il-why").is_visible() and "readings" in claims.first.locator("dl").inner_text()
    page.context.close()


def test_columns_of_a_table_in_a_note_do_not_touch(chromium: Browser) -> None:
    made = html(
        "| | time | over a copy |\n|---|---:|---:|\n| modelled: one read, one write at the datasheet's bandwidth | 112 µs | 0.889× |"
    )
    page = dressed(chromium, "piece", f"<div class=il-piece><div class=il-note>{made}")
    words = """() => [...document.querySelectorAll("tbody td")].map((cell) => {
      const range = document.createRange(); range.selectNodeContents(cell);
      const { left, right } = range.getBoundingClientRect(); return [left, right];
    })"""
    cells = page.evaluate(words)
    assert all(after[0] - before[1] >= 12 for before, after in pairwise(cells))
    assert cells[-1][1] <= 390
    page.context.close()


def test_dials_come_before_the_pictures_for_the_keyboard_and_after_them_on_a_phone(blank: Page, chromium: Browser) -> None:
    """They stand at the left on a wide screen: Tab reaches them first. On a phone the picture is what one sees first."""
    for name in ("dials", "pins", "chain", "readouts", "export", "permalink", "numbers", "tabs", "instrument"):
        blank.add_script_tag(content=script((name,)))
    order = """() => {
      const ui = { id: "t", local: {}, tall: new Set(), widths: new Map(), drawn: new Map(), drawings: new WeakMap(), watch() {} };
      const dial = { id: "fused", type: "switch", label: "Fusion", value: false };
      const line = { state: {}, turn() {} };
      const ctx = { spec: { title: "T", dials: [dial] }, state: { dials: {} }, view: { note: "<p>n</p>" }, ui, line, redraw() {} };
      document.body.innerHTML = "<div class=il-piece></div>";
      patch(document.querySelector(".il-piece"), instrumentPiece(ctx));
      return [...document.querySelector(".il-desk").children].map((e) => e.className);
    }"""
    assert blank.evaluate(order)[1:3] == ["il-dials", "il-show "]
    page = dressed(chromium, "piece", blank.evaluate("() => document.body.innerHTML"))
    top = {name: page.locator(f".il-{name}").bounding_box()["y"] for name in ("show", "dials")}
    assert top["show"] < top["dials"]
    page.context.close()


def test_in_haste_what_is_late_waits_until_the_next_time(blank: Page) -> None:
    """And then it comes, although the description is the same one as before."""
    told = """() => {
      const root = document.body.appendChild(document.createElement("div"));
      const tree = (n) => h("div", {}, h("p", { key: "picture" }, n), h("g", { key: "over" }, h("p", { key: "targets", late: true }, n)));
      const [first, then, says] = [tree("1"), tree("2"), []];
      for (const [item, haste] of [[first, true], [then, true], [then, false]]) {
        patch(root, item, haste);
        says.push(root.textContent);
      }
      root.remove();
      return says;
    }"""
    assert blank.evaluate(told) == ["11", "21", "22"]


def test_an_axis_that_changes_keeps_its_nodes(blank: Page) -> None:
    kept = """() => {
      const root = document.body.appendChild(document.createElement("div"));
      const draw = (end) => {
        const [x, y] = [{ scale: "linear", unit: "s" }, { scale: "band", names: ["a"] }];
        const figure = { id: "f", title: "", text: "", x, y, marks: [{ type: "bar", x: end, y: "a" }] };
        patch(root, h("g", {}, axesView(layout(figure, 600))));
        return [...root.querySelectorAll("text")];
      };
      const [before, after] = [draw(1), draw(1.9)];
      root.remove();
      const stay = after.filter((node) => before.includes(node));
      return [before[0].textContent !== after[1].textContent, stay.length, Math.min(before.length, after.length)];
    }"""
    moved, stay, most = blank.evaluate(kept)
    assert moved and stay >= most - 1


def test_what_came_of_a_commit_takes_the_focus(blank: Page) -> None:
    """The button is gone; focus must not fall back to the page."""
    for name in ("sealed", "lock", "reflect"):
        blank.add_script_tag(content=script((name,)))
    pressed = """(kind) => {
      document.body.innerHTML = "<div></div>";
      const root = document.body.firstChild;
      const ui = { id: "t", local: {} };
      const spec = { question: "Q", options: [{ label: "a" }, { label: "b" }] };
      const ctx = { spec, state: { choice: 1, confidence: 2 }, view: {}, ui, redraw() {} };
      ctx.line = { send() {
        const told = { choice: 1, confidence: 2, time: "", right: true, feedback: "f" };
        ctx.view = kind === lockPiece ? { committed: told } : { answered: told };
        patch(root, kind(ctx));
      } };
      patch(root, kind(ctx));
      root.querySelector(".il-primary").click();
      return document.activeElement.innerText;
    }"""
    same = "const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);"
    blank.add_script_tag(content=same)
    assert "Committed" in blank.evaluate(f"() => ({pressed})(lockPiece)")
    assert "Yes" in blank.evaluate(f"() => ({pressed})(reflectPiece)")


SPECS = {
    "flashcard": {"topics": [], "levels": [{"level": 1, "stands": "50%"}]},
    "experiment": {"id": "act1.measure"},
}


@pytest.mark.parametrize("kind", SPECS)
def test_a_view_that_is_an_error_alone_is_shown(chromium: Browser, kind: str):
    """Python could not compute it: no card, no figures, only a sentence."""
    with chromium.new_context() as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_script_tag(content=f"{script()}\nwindow.render = render;", type="module")
        page.wait_for_function("() => Boolean(window.render)")
        page.evaluate(
            """([kind, spec]) => {
              const traits = { kind, spec, state: {}, view: { error: { dial: null, message: "This could not be computed." }, seq: 1 } };
              window.render({ model: { get: (name) => traits[name], set() {}, on() {}, off() {}, save_changes() {} }, el: document.body });
            }""",
            [kind, SPECS[kind]],
        )
        assert "This could not be computed." in page.locator("body").inner_text()
        assert errors == []
