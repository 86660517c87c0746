"""What a learner does in any lab, and what any lab's page must keep: shared by the labs' browser tests."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from axe import serious
from playwright.sync_api import Locator, Page, expect

from ironlaw.kit.lab import LABS
from ironlaw.kit.question_sheet import Question, load
from ironlaw.ledger import Ledger

PATIENCE = 120_000  # ms: a loaded machine is slow, not wrong
LOST = ("WebSocket connection", "ERR_CONNECTION", "Failed to fetch")  # what a browser says of a server that a test kills


@contextmanager
def watched(page: Page, expected: tuple[str, ...] = ()) -> Iterator[Page]:
    """With patience, and an error at the end for anything that the console complained of and that was not expected."""
    patient(page)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(f"{message.text} ({message.location['url']})") if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    complaints = [text for text in errors if not any(word in text for word in expected)]
    assert not complaints, complaints


def patient(page: Page) -> Page:
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return page


def question(slug: str, name: str) -> Question:
    return load(LABS / slug / "questions.toml").questions[name]


def label(slug: str, name: str, option: str) -> str:
    """The words of an option as the lab has them now: its id never changes, its words may."""
    return question(slug, name).option(option).label


def first_label(slug: str, name: str) -> str:
    return question(slug, name).options[0].label


def instrument(page: Page, act: str) -> Locator:
    """An act's instrument, once it has drawn, with every dial in view."""
    found = page.locator(f"#{act}-instrument .il-instrument")
    expect(found.locator(".il-drawing").first).to_be_visible()
    for more in found.locator(".il-rest:not([open]) > summary").all():
        more.click()
    return found


def choose_context(page: Page, name: str, act: str = "act1") -> None:
    """In the head of the act's instrument: a button, or an entry of a menu."""
    toggle = page.locator(f"#{act}-instrument .il-piece.il-toggle")
    toggle.wait_for()
    menu = toggle.locator("select")
    if menu.count():
        menu.select_option(value=menu.locator("option").filter(has_text=name).first.get_attribute("value"))
    else:
        toggle.get_by_text(name, exact=True).click()


def commit(page: Page, option: str, confidence: str, button: str = "Commit my prediction") -> None:
    """Choose, say how sure, seal."""
    lock = page.locator(".il-lock").last  # the newest is the open one
    named = lock.locator("label").get_by_text(option, exact=True).first  # its words may stand among the premises too
    expect(named).to_be_visible()
    named.click()
    if lock.locator(".il-sketch").count():  # a curve is asked for too: one point is enough
        lock.get_by_role("slider").first.press("ArrowDown")
    if lock.locator(".il-estimate").count():  # a figure too
        lock.get_by_role("slider").first.press("ArrowRight")
    lock.get_by_text(confidence).click()
    lock.get_by_role("button", name=button).click()


SCREEN = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
HIGHEST, NEAREST = 180, 200  # px at 1280: a lab's header, and how far down its first message begins


def expect_answered_on_one_screen(page: Page, act: str) -> None:
    """Right after the commit, without a click: the reason and the picture with mark and truth, between the rail and the HUD."""
    reason = page.locator(f"[id^='{act}-'].il-step-instrument .il-reason")
    expect(reason).to_be_visible()
    settle(page)
    page.wait_for_function(
        """(reason) => {
          const picture = reason.parentElement.querySelector(".il-drawing")?.getBoundingClientRect();
          const [rail, hud] = [".il-rail", ".il-hud"].map((name) => document.querySelector(name).getBoundingClientRect());
          return picture && reason.getBoundingClientRect().top >= rail.bottom && picture.bottom <= hud.top;
        }""",
        arg=reason.element_handle(),
    )


def expect_answered_on_a_phone(page: Page, act: str) -> None:
    """The same as if the commit had been made there, at night: the page is brought where a commit brings it."""
    as_on_a_phone(page)
    page.set_viewport_size(PHONE)
    page.locator(f"[id^='{act}-'].il-step-instrument").first.evaluate("(step) => step.scrollIntoView({ behavior: 'instant' })")
    expect_answered_on_one_screen(page, act)


def answer(page: Page, option: str) -> None:
    reflect = page.locator(".il-reflect").last  # the newest is the one to answer
    expect(reflect.get_by_text(option, exact=True)).to_be_visible()
    reflect.get_by_text(option, exact=True).click()
    reflect.get_by_role("button", name="Answer", exact=True).click()


def go_on(page: Page, *names: str) -> None:
    """Press the buttons that lead on, one after the other."""
    for name in names:
        page.get_by_role("button", name=name).click()


def to_claims(page: Page) -> str:
    """What the button to the claims says: it depends on whether anything was measured."""
    button = page.get_by_role("button", name=re.compile("See what was measured|Check the claims"))
    expect(button).to_be_visible()
    return button.inner_text().partition("→")[0].strip()


def to_reflection(page: Page) -> None:
    go_on(page, to_claims(page), "Check yourself")


def trial(page: Page, act: str, name: str) -> Locator:
    """An experiment of "measure it here"."""
    return page.locator(f"#{act}-measure #trial-{name}")


def cancel(page: Page, act: str, name: str) -> None:
    """Start it, see it go on, cancel it by keyboard, which stays on the button."""
    experiment = trial(page, act, name)
    experiment.get_by_role("button", name="Measure it here").click()
    expect(experiment.get_by_role("progressbar")).to_be_visible()
    experiment.get_by_role("button", name="Cancel").press("Enter")
    expect(experiment.get_by_text("Cancelled; nothing was saved.")).to_be_visible()
    expect(experiment.get_by_role("button", name="Measure it here")).to_be_focused()


def measure(page: Page, act: str, name: str) -> None:
    experiment = trial(page, act, name)
    experiment.get_by_role("button", name="Measure it here").click()
    expect(experiment.get_by_role("button", name="Cancel")).to_be_focused()  # the same button, so the keyboard's focus is not lost
    expect_measured(page, act, name)


def expect_measured(page: Page, act: str, name: str) -> None:
    experiment = trial(page, act, name)
    expect(experiment.get_by_role("button", name="Measure again")).to_be_visible()
    rows = experiment.locator("details", has_text="Every row that was measured")
    rows.evaluate("(fold) => { fold.open = true; }")
    expect(rows.get_by_role("table")).to_contain_text(re.compile("Median|Value"))
    expect(page.locator(f"#{act}-claims")).to_contain_text("Measured here")


def payloads(ledger: Ledger, kind: str) -> list[dict]:
    """What the current epoch holds of one kind, in order."""
    return [event.payload for event in ledger.events(kind=kind)]


def fits_across(page: Page) -> bool:
    return bool(page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"))


FOCUSED = (
    "() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;"
    " const label = e.labels?.[0]?.innerText ?? e.getAttribute('aria-label') ?? e.innerText ?? ''; return [e.type ?? e.tagName, label]; }"
)


def tab_to(page: Page, role: str, name: str, most: int = 80) -> None:
    """Press Tab until what has the focus is of that kind and so called."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(FOCUSED)
        if role in str(here[0]).lower() and name in here[1]:
            return
        passed.append(f"{here[0]} {here[1][:30]!r}")
    raise AssertionError(f"{role} {name!r} is not reached by Tab, which went by {', '.join(passed)}")


def press_on(page: Page, *names: str) -> None:
    """Tab to the buttons that lead on, one after the other; the focus is in the next place when Python has opened it."""
    for name in names:
        button = page.get_by_role("button", name=name)
        expect(button).to_be_visible()
        tab_to(page, "button", name)
        page.keyboard.press("Enter")
        expect(button.or_(page.get_by_role("button", name="One moment"))).to_have_count(0)
        expect(page.locator("body")).not_to_be_focused()


def commit_by_keyboard(page: Page, first: str) -> None:
    """The third of the options, of which `first` is the first, a little surer than guessing, and Enter."""
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_visible()
    tab_to(page, "radio", first)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    if page.locator(".il-lock").last.locator(".il-estimate").count():
        tab_to(page, "range", "")
        page.keyboard.press("ArrowRight")
    tab_to(page, "radio", "guessing")
    page.keyboard.press("ArrowRight")
    tab_to(page, "button", "Commit my prediction")
    page.keyboard.press("Enter")


def settle(page: Page) -> None:
    """Wait until what is on the screen has been drawn and stands still."""
    page.wait_for_function("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    page.wait_for_function("() => document.getAnimations().every((each) => each.playState !== 'running')")


TALLEST = 9000  # px, of any page on a phone


def expect_short(page: Page) -> None:
    page.wait_for_function(f"() => document.documentElement.scrollHeight < {TALLEST}")  # what is done folds once the page stands


def expect_near_the_top(page: Page) -> None:
    """A short header, and the first message close under it."""
    page.set_viewport_size(SCREEN)
    page.wait_for_function(
        """([highest, nearest]) => document.querySelector('.il-header').getBoundingClientRect().height <= highest
          && document.querySelector('#act1-message').getBoundingClientRect().top + scrollY <= nearest""",
        arg=[HIGHEST, NEAREST],
    )


def unfold(page: Page) -> None:
    """What is folded on a narrow screen is shown from now on, all of it."""
    page.evaluate("document.adoptedStyleSheets = []")


def as_on_a_phone(page: Page) -> None:
    """At night."""
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 900})


def open_in_the_dark(page: Page, url: str) -> None:
    as_on_a_phone(page)
    page.goto(url)
    page.locator(".il-rail [data-place]").first.wait_for(state="attached")


def expect_readable(page: Page) -> None:
    """As it was opened, then in the light on a wide screen, nothing keeps a reader out, and nothing scrolls sideways."""
    for scheme, width in (("dark", 390), ("light", 1280)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
        found = serious(page, shape=width == 390)  # at one width; colours are others by day
        assert not found, f"{scheme}, {width} px wide: {found}"


def expect_readable_open(page: Page) -> None:
    """With all that opens on a click."""
    page.evaluate("document.querySelectorAll('details:not(.group)').forEach((each) => { each.open = true; })")
    expect_readable(page)


def changes(page: Page, where: Locator, act: Callable[[], object]) -> None:
    """`act` changes what `where` says or draws."""
    look = "e => e.innerText + [...e.querySelectorAll('.il-drawing')].map((d) => d.outerHTML).join()"
    before = where.evaluate(look)
    act()
    page.wait_for_function(f"([e, t]) => ({look})(e) !== t", arg=[where.element_handle(), before], polling=100)
