"""What carries a learner through any lab: two windows, a server that dies, another browser, the rail, and a screen reader's way."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from chromium import with_scroll_bars
from lab_steps import LOST, answer, choose_context, commit, expect_short, go_on, label, patient, payloads, to_reflection, watched
from playwright.sync_api import Browser, BrowserContext, Page, expect

from ironlaw import kit
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import answer_all, complete
from ironlaw.ledger import Ledger

SLUG = "lab_07_fusion"
LAB = f"/lab/{SLUG}/"
SHARE = label(SLUG, "act1_reflection", "share")
TOP = "id => document.getElementById(id).getBoundingClientRect().top"

CUT = (  # names in the rail that are cut off, and places that lie on the one before them
    "e => { const cut = [...e.querySelectorAll('.il-label, .il-act-name')]"
    ".filter((l) => l.clientWidth && l.scrollWidth > l.clientWidth + 1);"
    " const shown = [...e.querySelectorAll('.il-act-name, .il-mark, .il-label')].filter((l) => l.getClientRects().length);"
    " const lies = shown.filter((l, i) => i && l.getBoundingClientRect().left < shown[i - 1].getBoundingClientRect().right);"
    " return [...cut, ...lies].map((l) => l.innerText); }"
)


@pytest.fixture
def page(page: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(page, LOST if "labs" in request.fixturenames else ()):  # only a server of its own is killed
        yield page


def test_two_windows_follow_each_other_and_a_server_that_dies_loses_nothing(labs, page: Page) -> None:
    with labs() as (url, server):
        port = urlsplit(url).port
        page.emulate_media(reduced_motion="reduce")
        page.goto(url + LAB)
        expect(page.get_by_role("button", name="Commit my prediction")).to_be_visible()
        other = patient(page.context.new_page())
        other.goto(url + LAB)
        expect(other.get_by_role("button", name="Commit my prediction")).to_be_visible()
        commit(page, "Nine tenths", "fairly sure")
        expect(other.locator(".il-lock").get_by_text("Committed")).to_be_visible()  # without a reload, and without being looked at
        expect(other.locator("#act1-instrument .il-drawing").first).to_be_visible()
        other.close()
        to_reflection(page)
        expect(page.locator("#act1-reflect .il-reflect")).to_be_visible()
        server.kill()
        server.wait()
        banner = page.get_by_role("alert")
        expect(banner).to_contain_text("ironlaw has stopped")
        expect(banner).to_contain_text(f"labs --port {port}")  # what to type, and where
        answer(page, SHARE)  # pressed while nobody listens
        for words in ("kernel not found", "Failed to fetch"):
            expect(page.get_by_text(words)).to_have_count(0)
        stood = page.evaluate(TOP, "act1-reflect")
    with labs(port):
        expect(page.locator("#act1-reflect").get_by_text("✓ Yes.")).to_be_visible()  # sent by itself, once there is a server again
        expect(banner).to_have_count(0)
        page.wait_for_function(f"y => Math.abs(({TOP})('act1-reflect') - y) < 130", arg=stood)  # the banner's height is gone
        page.goto(url)
        page.get_by_role("link", name="Continue where you left off").click()
        expect(page.get_by_role("button", name="Go on to Act II")).to_be_visible()
        page.wait_for_function(f"id => Math.abs(({TOP})(id) - 64) < 8", arg="act1-peek")  # at the place that waits, not at the top
        expect(page.locator(".il-rail [aria-current]")).to_contain_text("Why")
        # whoever drags the scroll bar presses nothing in the page, and is not taken back once the page has stood still
        page.wait_for_function("key => sessionStorage.getItem(key)?.includes('act1-peek')", arg=f"ironlaw:scroll:{LAB}")
        moved = "async () => { scrollTo(0, 100); await new Promise((done) => setTimeout(done, 700)); return scrollY; }"
        assert page.evaluate(moved) == 100


def test_only_the_button_saves_and_another_browser_finds_the_dials(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    complete(kit.open(SLUG, shared_ledger))
    page.goto(beginner + LAB)
    first = page.locator("#act1-instrument .il-instrument")
    first.locator(".il-dials").get_by_text("compiled", exact=True).click()
    expect(page.locator(".il-hud")).to_contain_text("not saved yet")
    choose_context(page, "Jetson Orin NX")
    expect(first.get_by_role("radio", name="compiled")).to_be_checked()  # a context leaves the dials where they are
    assert payloads(shared_ledger, "design") == []
    go_on(page, "Save my design")
    expect(page.get_by_role("button", name="Saved", exact=True)).to_be_disabled()
    page.evaluate("localStorage.clear()")  # with a tab of its own, all that another browser lacks
    elsewhere = patient(page.context.new_page())
    elsewhere.goto(beginner + LAB)
    there = elsewhere.locator("#act1-instrument .il-instrument")
    expect(there.get_by_role("radio", name="compiled")).to_be_checked()
    there.locator(".il-dials").get_by_text("graph replay", exact=True).click()
    expect(elsewhere.locator(".il-hud")).to_contain_text("changed since")
    assert [design["execution_mode"] for design in payloads(shared_ledger, "design")] == ["compiled"]
    elsewhere.close()


def test_the_rail_follows_is_readable_at_every_width_and_a_screen_reader_finds_its_way(
    beginner: str, shared_ledger: Ledger, page: Page
) -> None:
    answer_all(kit.open(SLUG, shared_ledger))
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(beginner + LAB)
    again = page.get_by_role("button", name="Design. Show it again")  # the longest act of all, at its last place
    expect(again).to_be_visible()
    expect(page.locator("#act2-reveal")).to_be_hidden()
    expect_short(page)
    again.click()
    expect(page.locator("#act2-roi")).to_be_focused()
    expect(page.locator("#act2-reveal")).to_be_visible()
    go_on(page, "Finish: see your receipt")
    expect(page.locator("#end")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(beginner + LAB)
    rail = page.get_by_role("navigation", name="Progress")
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_text("The Kernel Fusion Dividend")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the lab")).to_be_focused()
    for width in (390, 820, 1024, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        if width == 390:  # an act that is done is folded to its title there
            folded = page.get_by_role("button", name="Show it again")
            expect(folded).to_have_count(2)
            expect(page.locator("#act1-claims")).to_be_hidden()
            expect_short(page)
            for act in ("act1", "act2"):
                folded.first.click()
                expect(page.locator(f"#{act}-message")).to_be_focused()
        for anchor, name in (("act1-claims", "Claims"), ("act2-challenge", "Go further")):
            page.evaluate("id => document.getElementById(id).scrollIntoView()", anchor)
            here = rail.locator("[aria-current]")
            expect(here).to_contain_text(name)
            expect(here.locator(".il-label")).to_be_visible()
            assert rail.evaluate(CUT) == [], width
            assert rail.evaluate("e => e.scrollWidth <= e.clientWidth + 1 && e.getBoundingClientRect().height < 60"), width
            expect(rail.get_by_role("link", name="Receipt")).to_be_visible(
                visible=width > 800 or name == "Go further"
            )  # a phone shows one act
    rail.get_by_role("link", name="Receipt").click()
    end = page.locator("#end")
    expect(end).to_be_focused()
    for act in ("Act I", "Act II"):
        expect(end.get_by_role("row", name=act).first).to_be_visible()
    following = min(path.parent.name for path in LABS.glob("lab_[0-9]*/lab.py") if path.parent.name > SLUG)
    expect(end.get_by_role("link", name=f"Next: Lab {following[4:6]}")).to_be_visible()
    expect(end.get_by_role("link", name="Review its")).to_have_attribute("href", "/lab/review/#cards")


def test_beside_a_scroll_bar_that_takes_room_nothing_is_wider_than_the_page(
    beginner: str, chromium: Browser, let_in: Callable[[BrowserContext], None]
) -> None:
    with with_scroll_bars(chromium) as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        let_in(context)
        page = patient(context.new_page())
        page.goto(beginner + LAB)
        rail = page.get_by_role("navigation", name="Progress")
        expect(rail).to_be_visible()
        across = page.evaluate("() => document.documentElement.clientWidth")
        assert across < 1280
        expect(page.locator(".il-header")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") == across
        assert rail.evaluate("e => e.getBoundingClientRect().width") == across
