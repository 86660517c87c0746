"""A dial that is time: it plays to its end, pauses, goes by single steps, and in still frames where less motion is asked for."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from ironlaw.widget import dials
from ironlaw.widget.assets import script

DIAL = dials.span("into", "Into the step", 0, 100, 0, step=1, unit="%", play=2)
# a dial alone: what it is turned to is noted and drawn
DRAW = """(dial) => {
  window.turns = [];
  const line = { state: { dials: {} }, turn: (id, value) => { turns.push(value); line.state = { dials: { [id]: value } }; ctx.redraw(); } };
  const ctx = { ui: { id: "x", local: {} }, line, view: {}, get state() { return line.state; },
    redraw: () => patch(document.querySelector("main"), dialView(dial, ctx)) };
  ctx.redraw();
}"""


@pytest.fixture
def played(chromium: Browser) -> Iterator[Callable[[str], Page]]:
    contexts: list[BrowserContext] = []

    def opened(motion: str) -> Page:
        contexts.append(chromium.new_context(reduced_motion=motion))
        page = contexts[-1].new_page()
        page.clock.install(time=0)
        page.set_content("<main></main>")
        page.add_script_tag(content=script(("dom", "units", "contract", "schema", "numbers", "play", "dials")))
        page.evaluate(DRAW, DIAL)
        page.clock.pause_at(1000)
        return page

    yield opened
    for context in contexts:
        context.close()


def turns(page: Page) -> list[float]:
    return page.evaluate("turns")


def test_it_plays_to_the_end_and_then_from_the_beginning(played):
    page = played("no-preference")
    page.get_by_role("button", name="Into the step: play").click()
    page.clock.run_for(1000)
    half = turns(page)
    assert half == sorted(half) and len(half) > 10 and 45 <= half[-1] <= 55  # half of its two seconds
    page.clock.run_for(1100)
    assert turns(page)[-1] == 100
    expect(page.get_by_role("button", name="Into the step: one step on")).to_be_disabled()
    page.get_by_role("button", name="Into the step: play").click()
    page.clock.run_for(200)
    assert turns(page)[-1] <= 15


def test_pause_and_single_steps(played):
    page = played("no-preference")
    expect(page.get_by_role("button", name="Into the step: one step back")).to_be_disabled()
    page.get_by_role("button", name="Into the step: play").click()
    page.clock.run_for(500)
    page.get_by_role("button", name="Into the step: pause").click()
    stood = turns(page)[-1]
    page.clock.run_for(2000)
    assert turns(page)[-1] == stood
    page.get_by_role("button", name="Into the step: one step on").click()
    page.get_by_role("button", name="Into the step: one step on").click()
    page.get_by_role("button", name="Into the step: one step back").click()
    assert turns(page)[-3:] == [stood + 1, stood + 2, stood + 1]


def test_whoever_takes_the_scrubber_has_paused(played):
    page = played("no-preference")
    page.get_by_role("button", name="Into the step: play").click()
    page.clock.run_for(300)
    page.get_by_role("slider").fill("80")
    page.clock.run_for(2000)
    assert turns(page)[-1] == 80
    expect(page.get_by_role("button", name="Into the step: play")).to_be_visible()


def test_still_frames_where_less_motion_is_asked_for(played):
    page = played("reduce")
    page.get_by_role("button", name="Into the step: play").click()
    page.clock.run_for(20_000)
    assert turns(page) == list(range(10, 101, 10))
