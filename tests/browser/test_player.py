"""A moving picture: it plays, goes by events, is scrubbed by keyboard, rests off screen, and is a strip of stills where less motion is
asked for."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from ironlaw.widget.assets import DRAWING, MOVING, script, style
from ironlaw.widget.motion import Bar, Counter, Lane, Motion, Place, Token
from ironlaw.widget.piece import plain

FILM = Motion(
    "film", "Two kernels", 8.0, 40.0,
    (
        Lane("device", 0, 20), Bar(1.0, 3.0, 0, 20, "compute"), Bar(4.0, 8.0, 0, 20, "memory"),
        Counter("kernels", ((0.0, 0.0), (3.0, 1.0), (8.0, 2.0)), steps=True),
        Place(0.0, 0.1, 22, 10, spans=((1.0, 3.0),)), Token(((2.0, 0.0, 30.0), (6.0, 1.0, 30.0)), "memory"),
    ),
    ((0.0, "Nothing runs."), (1.0, "The first kernel runs."), (4.0, "The second kernel runs."), (8.0, "All is done.")),
    "Two kernels on a device.", seconds=4.0, begins=0.0,
)  # fmt: skip
SHOW = "(motion) => patch(document.querySelector('main'), motionView(motion, (window.ui = { ends: [] })))"
FRAMES = """() => {
const real = requestAnimationFrame;
window.frames_asked = 0;
window.requestAnimationFrame = (does) => { frames_asked += 1; return real(does); };
}
"""
SEEN = """(seen) => new Promise((done) => new IntersectionObserver(([now], self) => {
  if (now.isIntersecting !== seen) return;
  self.disconnect();
  done();
}).observe(document.querySelector("main")))"""


@pytest.fixture
def shown(chromium: Browser) -> Iterator[Callable[[str], Page]]:
    contexts: list[BrowserContext] = []

    def opened(motion: str) -> Page:
        contexts.append(chromium.new_context(reduced_motion=motion))
        page = contexts[-1].new_page()
        page.clock.install(time=0)
        page.set_content(f"<style>{style()}</style><main class='il-piece' style='width: 600px'></main><div style='height: 3000px'></div>")
        page.add_script_tag(content=script((*DRAWING, *MOVING)))
        page.evaluate(FRAMES)
        page.evaluate(SHOW, plain(FILM))
        expect(page.locator(".il-scene").first).to_be_attached()
        page.clock.pause_at(1000)
        return page

    yield opened
    for context in contexts:
        context.close()


def clock(page: Page) -> float:
    return float(page.locator(".il-clock").inner_text().split()[0])


def veils(page: Page) -> list[float]:
    """How far each picture is uncovered, px."""
    return page.locator(".il-veil").evaluate_all("all => all.map((each) => new DOMMatrix(getComputedStyle(each).transform).e)")


def test_it_plays_to_the_end_and_pauses(shown):
    page = shown("no-preference")
    assert clock(page) == 0 and page.evaluate("frames_asked") == 0  # nothing works before it is played
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".il-now")).to_have_attribute("aria-live", "off")
    page.clock.run_for(1000)
    assert 1.6 < clock(page) < 2.4  # 8 s in 4 s
    assert page.locator(".il-lit").get_attribute("visibility") == "visible"
    assert veils(page) == [pytest.approx(6 + clock(page) / 8 * 588, abs=10)]
    page.get_by_role("button", name="Pause").click()
    stood = clock(page)
    page.clock.run_for(2000)
    assert clock(page) == stood
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(5000)
    assert clock(page) == 8
    expect(page.locator(".il-now")).to_have_text("All is done.")
    expect(page.locator(".il-counters dd")).to_have_text("2")
    assert page.locator(".il-token").get_attribute("visibility") == "hidden"
    page.get_by_role("button", name="Play").click()  # once more, from the beginning
    page.clock.run_for(200)
    assert clock(page) < 1


def test_it_goes_by_events(shown):
    page = shown("no-preference")
    for at, words in ((1, "The first kernel runs."), (4, "The second kernel runs."), (8, "All is done.")):
        page.get_by_role("button", name="One event on").click()
        assert clock(page) == at
        expect(page.locator(".il-now")).to_have_text(words)
    page.get_by_role("button", name="One event back").click()
    assert clock(page) == 4
    expect(page.locator(".il-now")).to_have_attribute("aria-live", "polite")
    expect(page.locator(".il-story li")).to_have_count(4)


def test_the_keyboard_scrubs_and_hears_the_moment(shown):
    page = shown("no-preference")
    slider = page.get_by_role("slider", name="Time")
    slider.focus()
    page.keyboard.press("End")
    assert clock(page) == 8
    page.keyboard.press("Home")
    for _ in range(25):
        page.keyboard.press("ArrowRight")
    assert clock(page) == 1
    expect(slider).to_have_attribute("aria-valuetext", "1\u202fs: The first kernel runs.")
    expect(page.locator(".il-now")).to_have_text("The first kernel runs.")
    page.keyboard.press("ArrowRight")  # the event's own time is told once it is over
    expect(slider).to_have_attribute("aria-valuetext", "1.04\u202fs. At 1\u202fs: The first kernel runs.")
    expect(page.locator(".il-now")).to_have_text("1\u202fs The first kernel runs.")


def test_the_speed_is_the_readers(shown):
    page = shown("no-preference")
    page.get_by_role("combobox", name="Speed").select_option("4")
    expect(page.locator(".il-player")).to_contain_text("1\u202fs here is 8\u202fs")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(500)
    assert 3.2 < clock(page) < 4.8


def test_no_work_where_nobody_looks(shown):
    page = shown("no-preference")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(300)
    page.evaluate("scrollTo(0, 2500)")
    page.evaluate(SEEN, False)
    page.clock.run_for(100)
    asked, stood = page.evaluate("frames_asked"), clock(page)
    page.clock.run_for(2000)
    assert page.evaluate("frames_asked") == asked and clock(page) == stood
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(SEEN, True)
    page.clock.run_for(500)
    assert clock(page) > stood  # and it goes on where it was


def test_a_strip_of_stills_where_less_motion_is_asked_for(shown):
    page = shown("reduce")
    expect(page.locator(".il-still")).to_have_count(4)
    assert page.locator(".il-still strong").all_inner_texts() == [f"{at}\u202fs" for at in (2, 4, 6, 8)]
    assert page.locator(".il-scene[role=img]").nth(1).get_attribute("aria-label") == "The second kernel runs."
    expect(page.get_by_role("button", name="Play")).to_have_count(0)
    expect(page.locator(".il-story li")).to_have_count(4)
    assert veils(page) == [pytest.approx(6 + i / 4 * (veils(page)[-1] - 6), abs=1) for i in (1, 2, 3, 4)]


def test_the_line_of_the_moment_runs_through_no_words(shown):
    page = shown("reduce")
    counters = [["in it", [], "", True, 1, 20], ["over it", [], "", True, 1, None]]
    rows = {"height": 90, "lanes": [["device", 25, 15]], "words": [[0, 60, "GEMM"]], "counters": counters}
    assert page.evaluate("nowLine", rows) == [[0, 7], [25, 47], [65, 94]]  # of the film: 13 px over each row of words and 5 under it
    assert page.evaluate("nowLine", {**rows, "left": 40}) == [[0, 7], [25, 47], [65, 94]]  # names of lanes stand beside it
    whole = page.locator(".il-veil").first.evaluate("veil => [...veil.children].map((piece) => piece.offsetHeight)")
    assert whole == [44]  # FILM has no words in it
