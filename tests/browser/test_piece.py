"""The widget in a real lab: every kind by mouse and by keyboard, reloads, a killed server, narrow and dark screens."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from lab_steps import LOST, watched
from playwright.sync_api import BrowserContext, CDPSession, Locator, Page, expect

APP = """
from ironlaw.errors import BadValue
from ironlaw.kit import page_host as host
from ironlaw.kit.cell import Cell
from ironlaw.widget.piece import Piece
from ironlaw.pictures import curve_picture as curve
from ironlaw.pictures import ladder, terms
from ironlaw.pictures import reveal_picture as reveal
from ironlaw.engine.device.predict import one_launch, predict
from ironlaw.engine.device.machine import Plan
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload


class open:
    def __init__(self, folder):
        self.elements = {}
        self.of = {"batch": host.state(1), "committed": host.state(None), "place": host.state("cloud")}

    def states(self, *names):
        return tuple(self.of[name][0] for name in names)

    def value(self, state):
        return self.of[state][0]()

    def put(self, state, value):
        self.of[state][1](value)

    def show(self, name, piece):
        self.elements[name] = host.element(piece)  # a page drops an element that nothing refers to
        return self.elements[name]


def instrument(lab):
    def answer(state):
        d = state["dials"]
        batch = int(d["batch"])
        if not state.get("moving"):
            lab.put("batch", batch)
        if batch == 13:
            raise BadValue("13 is out of the question; take 12")
        if batch == 11:
            raise RuntimeError("a bug")
        machine = hardware(d["machine"])
        graph = one_launch(workload("dscnn_kws", batch=batch, dtype=d["format"]))
        p = predict(graph, machine, Plan(calibrated=False, efficiency=d["share"]))
        line = [(b, one_launch(workload("dscnn_kws", batch=b, dtype=d["format"])).work) for b in sorted({1, 4, 16, 64, batch})]
        card = {"label": "time", "value": f"{p.seconds * 1e6:.4g}", "unit": "µs", "tone": "good"}
        rising = curve.curve({"bytes": line}, machine, d["format"], curve.Position("bytes", batch), "batch")
        return {
            "figures": [terms.terms(p, "compute" if d["said"] else None), rising],
            "cards": [card | {"exact": f"{p.seconds} s", "source": "the engine"}],
            "formula": f"<i>T</i> = {p.seconds}",
            "banner": {"tone": "fail", "title": "Too large", "text": "<p>Take less.</p>"} if batch > 100 else None,
        }

    machines = [{"value": m, "label": m} for m in ("h100_sxm", "t4")]
    dials = [
        {"id": "machine", "type": "select", "label": "Machine", "value": "h100_sxm", "options": machines},
        {"id": "batch", "type": "log", "label": "Batch", "min": 1, "max": 256, "value": 1, "unit": "clips"},
        {"id": "format", "type": "choice", "label": "Precision", "value": "fp16", "options": [
            {"value": "fp16", "label": "FP16"}, {"value": "fp32", "label": "FP32"},
            {"value": "fp4", "label": "FP4", "disabled": "no unit for it"}]},
        {"id": "share", "type": "range", "label": "Efficiency", "min": 0.1, "max": 1, "step": 0.1, "value": 1},
        {"id": "said", "type": "switch", "label": "My prediction", "value": False},
    ]
    about = {"id": "i", "title": "Terms", "store": "test.i", "locked": None, "dials": dials}
    return lab.show("terms", Piece("instrument", about, answer))


def seen(lab):
    return f"<p id='seen'>batch {lab.value('batch')}</p>"


def lock(lab):
    kept = {"committed": None, "attempts": 0}

    def commit(state):
        if state["commit"] > kept["attempts"]:
            kept["attempts"] += 1
            said = {"choice": state["choice"], "confidence": state["confidence"]}
            kept["committed"] = said | {"time": "2026-11-15T10:00:00+00:00", "attempt": kept["attempts"]}
            lab.put("committed", True)
        return dict(kept)

    return lab.show("lock", Piece("lock", {"id": "q", "question": "<p>By what factor?</p>", "premises": "<p>Dense.</p>",
        "options": [{"label": "10<sup>2</sup>"}, {"label": "10<sup>6</sup>"}], "confidence": True}, commit))


def gated(lab):
    def show(state):
        rungs = [ladder.Rung(hardware("h100_sxm"), "fp16", "H100"), ladder.Rung(hardware("cortex_m7"), "fp32", "M7")]
        return {"figures": [ladder.ladder(rungs, "compute", "h100_sxm", reveal.rules(100, 989000, "×", base=1e9))]}

    why = None if lab.value("committed") else "Commit a prediction to unlock."
    behind = {"id": "gated", "title": "Gated", "store": "test.g", "locked": why, "dials": []}
    return lab.show("gated", Piece("instrument", behind, show))


def reflection(lab):
    def judge(state):
        said = {"choice": state["choice"], "right": state["choice"] == 1, "feedback": "<p>Because of SRAM.</p>", "time": ""}
        return {"answered": said if state["answer"] else None}

    options = [{"label": "Faster code"}, {"label": "Two stacks"}]
    return lab.show("reflect", Piece("reflect", {"id": "r", "question": "<p>What follows?</p>", "options": options}, judge))


def toggle(lab):
    places = [
        {"value": "cloud", "label": "Cloud", "note": "a rack"},
        {"value": "tiny", "label": "Tiny", "note": "a coin cell"},
    ]
    about = {"label": "Context", "options": places}
    return lab.show("toggle", Piece("toggle", about, lambda state: lab.put("place", state["value"]) or {}))


def hud(lab):
    bar = "<footer class='il-hud'><dl><div><dt>Lab</dt><dd>01</dd></div></dl></footer>"
    return f"<p id='context'>{lab.value('place')}</p>{bar}"


def number(lab):
    def check(state):
        if not state["commit"]:
            return {"committed": None}
        return {"committed": {"value": state["value"]}, "feedback": "<p>It is 7.</p>"}

    return lab.show("number", Piece("number", {"label": "How many machines would hold it?", "unit": "GPUs", "min": 0}, check))


CELLS = [
    Cell("instrument", instrument), Cell("seen", seen, again=("batch",)), Cell("lock", lock), Cell("gated", gated, again=("committed",)),
    Cell("reflection", reflection), Cell("toggle", toggle), Cell("hud", hud, again=("place",)), Cell("number", number),
]
"""
SERVE = """
import sys
from pathlib import Path
from ironlaw.server import start_server
start_server.warm = lambda app: None  # nothing is prepared in the background: this folder has one lab
start_server.serve(int(sys.argv[2]), open_browser=False, folder=Path(sys.argv[1]), token="")
"""
Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Start]]:
    """The address of a tiny lab, and a function that starts its server anew on the same port."""

    folder = tmp_path_factory.mktemp("piece")
    (folder / "lab_01_tiny").mkdir()
    for name, text in {
        "lab.py": "",
        "cells.py": APP,
        "words.md": "## title\nTiny\n\n## sentence\nEvery piece.\n",
        "questions.toml": "[lab]\nnumber = 1\nminutes = 5\n",
    }.items():
        (folder / "lab_01_tiny" / name).write_text(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        for old in running:
            old.kill()
            old.wait()
        environment = {**os.environ, "IRONLAW_HOME": str(folder / "home")}
        command = [sys.executable, "-c", SERVE, str(folder), str(port)]
        running.append(subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL))
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and running[-1].poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return running[-1]
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the tiny lab did not start on port {port}")

    start()
    yield f"http://127.0.0.1:{port}/lab/lab_01_tiny/", start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def lab(page: Page, served: tuple[str, Start]) -> Iterator[Page]:
    """The lab, drawn; the test fails on any error in the console."""
    with watched(page):
        opened(page, served[0])
        yield page


@pytest.fixture(scope="module")
def one_page(shared_context: tuple[BrowserContext, CDPSession], served: tuple[str, Start]) -> Iterator[Page]:
    with shared_context[0].new_page() as page:
        opened(page, served[0])
        yield page


@pytest.fixture
def shared(one_page: Page) -> Iterator[Page]:
    """The same lab for tests of which each touches another piece of it, and no dial."""
    with watched(one_page, LOST):  # a test kills the server
        yield one_page


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".il-number[data-seq]")).to_be_visible()
    expect(page.locator(".il-drawing").first).to_be_visible()


def terms_piece(page: Page) -> Locator:
    return page.locator(".il-piece.il-instrument", has_text="Terms")


def dial(page: Page, name: str) -> Locator:
    return page.locator(f"[data-dial={name}]")


def picture(page: Page) -> str:
    return "\n".join(str(part.get_attribute("aria-label")) for part in terms_piece(page).locator(".il-drawing").all())


def settled(page: Page, before: str) -> str:
    """What is drawn once it differs from before."""
    expect(terms_piece(page).locator(".il-drawing").first).to_be_visible()
    page.wait_for_function(
        """before => { const seen = [...document.querySelectorAll('ironlaw-piece')].map(e => e.shadowRoot)
          .find(r => r.querySelector('[data-dial=batch]'));
          return [...seen.querySelectorAll('.il-drawing')].map(e => e.getAttribute('aria-label')).join('\\n') !== before; }""",
        arg=before,
        polling=100,
    )
    return picture(page)


def test_every_dial_by_mouse_changes_the_picture(lab: Page):
    before = picture(lab)
    dial(lab, "machine").locator("select").select_option(label="t4")
    before = settled(lab, before)
    dial(lab, "format").get_by_text("FP32", exact=True).click()
    before = settled(lab, before)
    box = dial(lab, "batch").locator("input[type=range]").bounding_box()
    assert box
    lab.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    before = settled(lab, before)
    dial(lab, "share").locator("input[role=spinbutton]").fill("0.3")
    before = settled(lab, before)
    dial(lab, "said").locator("label").click()
    assert "You said compute" in settled(lab, before)
    expect(lab.locator("#seen")).to_have_text(re.compile(r"batch (12|16|24)"))


def test_every_dial_by_keyboard(lab: Page):
    before = picture(lab)
    dial(lab, "machine").locator("select").focus()
    lab.keyboard.press("t")
    before = settled(lab, before)
    lab.keyboard.press("Tab")
    lab.keyboard.press("ArrowRight")
    before = settled(lab, before)
    expect(lab.locator("#seen")).to_have_text("batch 2")
    lab.keyboard.press("Tab")
    lab.keyboard.type("20")  # Tab has marked what was there
    before = settled(lab, before)
    expect(lab.locator("#seen")).to_have_text("batch 20")
    lab.keyboard.press("Tab")
    lab.keyboard.press("ArrowRight")  # FP32; FP4 is passed over
    before = settled(lab, before)
    lab.keyboard.press("Tab")
    lab.keyboard.press("ArrowLeft")
    before = settled(lab, before)
    lab.keyboard.press("Tab")
    lab.keyboard.press("Tab")
    lab.keyboard.press("Space")
    settled(lab, before)
    expect(dial(lab, "said").get_by_role("switch")).to_be_focused()


def test_what_cannot_be_set_says_why(lab: Page):
    expect(dial(lab, "format")).to_contain_text("FP4: no unit for it")
    expect(dial(lab, "format").get_by_role("radio", name="FP4")).to_be_disabled()
    number = dial(lab, "batch").locator("input[role=spinbutton]")
    before = picture(lab)
    number.fill("999")
    expect(dial(lab, "batch").locator(".il-error")).to_have_text("Give a number from 1 to 256.")
    expect(number).to_have_attribute("aria-invalid", "true")
    assert picture(lab) == before
    number.fill("13")
    expect(dial(lab, "batch").locator(".il-error")).to_contain_text("take 12")
    assert picture(lab) == before  # the last good picture stays, greyed
    number.fill("11")
    expect(dial(lab, "batch").locator(".il-error")).to_contain_text("RuntimeError: a bug")
    number.fill("12")
    settled(lab, before)
    expect(dial(lab, "batch").locator(".il-error")).to_have_count(0)


def test_hover_focus_and_table_tell_exact_values(shared: Page):
    piece = terms_piece(shared)
    tip = shared.locator(".il-home", has=piece).locator(".il-tip")
    piece.locator(".il-target[aria-label^=overhead]").first.hover()  # nearly all of the bar
    expect(tip).to_contain_text("exactly")
    shared.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    piece.locator(".il-target[tabindex='0']").first.focus()
    first = tip.inner_text()
    shared.keyboard.press("ArrowDown")
    expect(tip).not_to_have_text(first)
    assert "Datasheet" in tip.inner_text() or "datasheet" in tip.inner_text()
    shared.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    piece.get_by_role("button", name=re.compile("the engine")).focus()
    expect(tip).to_contain_text("the engine")
    for fold in range(2):  # what is under the instrument, and in it the table
        piece.locator("summary").nth(fold).focus()
        shared.keyboard.press("Enter")
    table = piece.locator("table").first
    expect(table.locator("tbody tr")).to_have_count(6)
    assert str(piece.locator(".il-drawing").first.get_attribute("aria-label")) == table.locator("caption").inner_text()


def test_the_main_readout_is_announced_when_the_dials_rest(lab: Page):
    heard = terms_piece(lab).locator("p.il-hearing[role=status]")
    expect(heard).to_have_text("")  # a page that has just been opened says nothing
    dial(lab, "batch").locator("input[role=spinbutton]").fill("200")
    expect(heard).to_have_text(re.compile(r"Too large; time [\d.e+]+ µs"))


def test_dragging_the_point_turns_the_dial(lab: Page):
    terms_piece(lab).get_by_role("tab").nth(1).click()
    point = terms_piece(lab).locator(".il-drag-x")
    box = point.bounding_box()
    assert box
    lab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lab.mouse.down()
    lab.mouse.move(box["x"] + 180, box["y"] - 10, steps=4)
    lab.mouse.up()
    expect(lab.locator("#seen")).not_to_have_text("batch 1")
    number = dial(lab, "batch").locator("input[role=spinbutton]")
    expect(number).not_to_have_value("1")
    assert min(box["width"], box["height"]) >= 24
    expect(point).to_be_focused()
    reached = int(number.input_value())
    lab.keyboard.press("ArrowRight")  # keys go on from where it was let go
    expect(number).not_to_have_value(str(reached))
    assert int(number.input_value()) > reached
    expect(point).to_have_attribute("aria-valuenow", number.input_value())


def test_a_held_key_makes_no_backlog_and_few_questions(page: Page, served: tuple[str, Start]):
    """Back and forth between two places, faster than any held key; the page itself turns, so that a busy machine makes no pause."""
    questions: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda text: questions.append(str(text))))
    opened(page, served[0])
    piece = terms_piece(page)
    slider = dial(page, "batch").locator("input[type=range]")
    slider.evaluate(
        """async (input) => {
          for (let i = 0; i < 120; i += 1) {
            input.value = Number(input.value) + (i % 2 ? -1 : 1);
            input.dispatchEvent(new Event('input', { bubbles: true }));
            await new Promise((done) => setTimeout(done));
          }
        }"""
    )
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("#seen")).to_have_text("batch 256")
    expect(piece.locator(".il-banner")).to_contain_text("Too large")
    assert 1 <= sum('"moving":true' in question for question in questions) < 60


def test_the_next_step_of_a_turn_is_drawn_in_the_frame_of_its_key_and_so_is_the_last_one(lab: Page):
    """Both views are in the page by then. What Python shows when the dials rest is the same picture."""
    turn = """(input, by) => {
      const drawings = () => [...input.getRootNode().querySelectorAll('.il-drawing')];
      const label = () => drawings().map((drawing) => drawing.getAttribute('aria-label')).join('\\n');
      const before = label();
      input.value = Number(input.value) + by;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      return label() === before ? '' : label();
    }"""
    slider = dial(lab, "batch").locator("input[type=range]")
    for _ in range(200):  # a machine that is slow needs a few steps until the answers are ahead
        forth = slider.evaluate(turn, 1)
        back = slider.evaluate(turn, -1)
        if forth and back:
            break
        lab.wait_for_timeout(50)
    assert forth and back and forth != back
    expect(lab.locator("#seen")).to_have_text("batch 1")
    expect(terms_piece(lab).locator(".il-drawing").first).to_be_visible()
    assert picture(lab) == back


def test_a_moving_dial_is_followed_without_transition_and_python_hears_when_it_rests(lab: Page):
    """Answers that come close together are one movement."""
    piece = terms_piece(lab)
    dial(lab, "batch").locator("input[type=range]").focus()
    piece.evaluate(
        """e => new MutationObserver(() => { e.dataset.first ??= e.matches('.il-moving') ? 'followed' : 'eased'; })
        .observe(e, { attributeFilter: ['data-seq'] })"""
    )
    lab.keyboard.press("ArrowRight")
    expect(lab.locator("#seen")).to_have_text("batch 2")
    expect(piece).to_have_attribute("data-first", "eased")  # one step alone is a change that is seen
    piece.evaluate(  # from here on the page's clock is slow: on the busiest machine, too, answers come close together
        """e => {
            const now = performance.now.bind(performance), then = now();
            performance.now = () => then + (now() - then) / 1000;
            new MutationObserver(() => { if (e.matches('.il-moving')) e.dataset.followed = 'yes'; })
            .observe(e, { attributeFilter: ['class', 'data-seq'] });
        }"""
    )
    lab.keyboard.press("ArrowRight")
    expect(piece).to_have_attribute("data-followed", "yes")
    lab.keyboard.press("End")
    expect(lab.locator("#seen")).to_have_text("batch 256")  # the last turn, and nobody touches the dial any more
    after_resting = "e => new Promise((rested) => setTimeout(() => rested(e.dataset.seq), 2 * 300))"
    assert piece.evaluate(after_resting) == piece.evaluate(after_resting)  # and then it is quiet


def test_a_locked_instrument_has_nothing_in_the_page_until_the_lock_is_committed(shared: Page):
    lock = shared.locator(".il-piece.il-lock")
    gated = shared.locator(".il-piece.il-instrument", has_text="Gated")
    expect(gated).to_contain_text("Commit a prediction to unlock.")
    assert gated.locator("svg:not(.il-icon), figure, table, input").count() == 0
    assert "FLOP" not in gated.inner_text()
    button = lock.get_by_role("button", name="Commit my prediction")
    expect(button).to_be_disabled()
    lock.get_by_text("10", exact=False).first.click()
    expect(button).to_be_disabled()
    lock.get_by_text("sure", exact=False).nth(1).click()
    expect(button).to_be_enabled()
    button.click()
    expect(lock).to_contain_text("Committed")
    expect(lock.locator(".il-kept")).to_have_count(1)
    for radio in lock.get_by_role("radio").all():
        expect(radio).to_be_disabled()
    expect(gated.locator(".il-drawing")).to_have_attribute("aria-label", re.compile("H100 989"))
    expect(gated.locator(".il-bracket")).to_contain_text("9,890× too low")


def test_the_lock_by_keyboard_and_another_attempt(lab: Page):
    lock = lab.locator(".il-piece.il-lock")
    lock.get_by_role("radio").first.focus()
    lab.keyboard.press("ArrowDown")
    lab.keyboard.press("Tab")
    lab.keyboard.press("ArrowRight")
    lab.keyboard.press("Tab")
    lab.keyboard.press("Enter")
    expect(lock.locator(".il-seal")).to_contain_text("(2 of 5)")
    expect(lock.locator(".il-kept")).to_contain_text("106")
    lock.get_by_role("button", name="Try again").click()
    lock.get_by_role("button", name="Leave it").click()
    lock.get_by_role("button", name="Try again").click()
    lock.get_by_role("button", name="Start another attempt").click()
    expect(lock.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    lock.get_by_role("radio").first.check(force=True)
    lock.get_by_role("radio", name=re.compile("certain")).check(force=True)
    lock.get_by_role("button", name="Commit my prediction").click()
    expect(lock.locator(".il-seal")).to_contain_text("attempt 2")


def test_reflection_toggle_and_number(shared: Page):
    reflect = shared.locator(".il-piece.il-reflect")
    reflect.get_by_text("Faster code").click()
    reflect.get_by_role("button", name="Answer").click()
    expect(reflect.locator(".il-feedback")).to_contain_text("Because of SRAM.")
    expect(reflect.locator(".il-feedback")).to_contain_text("Not this one")
    reflect.get_by_role("radio", name="Faster code").focus()
    shared.keyboard.press("ArrowDown")
    shared.keyboard.press("Tab")
    shared.keyboard.press("Enter")
    expect(reflect.locator(".il-feedback")).to_contain_text("Yes.")
    shared.locator(".il-piece.il-toggle").get_by_role("radio", name="Cloud").focus()
    shared.keyboard.press("ArrowRight")
    expect(shared.locator("#context")).to_have_text("tiny")
    expect(shared.locator(".il-piece.il-toggle label").filter(has_text="Tiny")).to_have_attribute("title", "a coin cell")
    number = shared.locator(".il-piece.il-number")
    expect(number.get_by_role("button", name="Commit")).to_be_disabled()
    number.get_by_role("spinbutton").fill("5")
    shared.keyboard.press("Enter")
    expect(number).to_contain_text("It is 7.")
    expect(number.get_by_role("spinbutton")).to_be_disabled()


def test_a_reload_brings_the_dials_back_and_python_hears_of_it(lab: Page, served: tuple[str, Start]):
    before = picture(lab)
    dial(lab, "batch").locator("input[role=spinbutton]").fill("48")
    dial(lab, "format").get_by_text("FP32", exact=True).click()
    settled(lab, before)
    expect(lab.locator("#seen")).to_have_text("batch 48")
    opened(lab, served[0])
    expect(lab.locator("#seen")).to_have_text("batch 48")
    expect(dial(lab, "format").get_by_role("radio", name="FP32")).to_be_checked()


def test_nothing_scrolls_sideways_in_light_or_dark(page: Page, served: tuple[str, Start]):
    papers = {"dark": "rgb(19, 23, 27)", "light": "rgb(252, 252, 251)"}
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 800})
    opened(page, served[0])
    page.mouse.wheel(0, 1)  # who has moved the page is not taken to a place of it
    for (scheme, paper), width in product(papers.items(), (360, 390, 1280)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        expect(page.locator("body")).to_have_css("background-color", paper)
        page.evaluate("() => scrollTo(0, 0)")
        dials, show = terms_piece(page).locator(".il-dials"), terms_piece(page).locator(".il-show")
        desk, stage = dials.bounding_box(), show.bounding_box()
        assert desk and stage
        assert (stage["y"] < desk["y"]) == (width < 800)  # on a phone the picture comes first
        dials.evaluate("e => e.scrollIntoView({ block: 'start' })")
        stage = show.bounding_box()
        assert stage and (width > 800 or 0 <= stage["y"] <= 60)  # and stays in view over the dials


def test_the_bar_at_the_foot_hides_nothing(shared: Page):
    """At the end of the page, which may still grow while pieces are drawn."""
    last = shared.locator(".il-piece.il-number")
    last.scroll_into_view_if_needed()
    for _ in range(300):
        shared.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        hud, end = shared.locator(".il-hud").bounding_box(), last.bounding_box()
        if hud and end and end["y"] + end["height"] <= hud["y"]:
            return
        shared.wait_for_timeout(100)
    raise AssertionError((hud, end))


def test_a_killed_server_brings_the_dials_back(page: Page, served: tuple[str, Start]):
    address, start = served  # the console does complain about the lost connection, so no `lab` fixture here
    opened(page, address)
    dial(page, "batch").locator("input[role=spinbutton]").fill("48")
    expect(page.locator("#seen")).to_have_text("batch 48")
    start()
    expect(page.locator("#seen")).to_have_text("batch 48")
    dial(page, "batch").locator("input[role=spinbutton]").fill("96")
    expect(page.locator("#seen")).to_have_text("batch 96")
