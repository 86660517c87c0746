"""A browser that draws nothing, though the page answers: seen on a loaded machine, no fault of any page. The test is run again, once.

Playwright waits for two drawn frames before it clicks. A page that does not answer is its own fault, and stays a failure.
"""

from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, Error, Page

SECONDS = 10
ANSWER = 60_000  # ms more, in which a page that is only slow has answered
STALLED = pytest.StashKey[bool]()
# One timer after the other: after a long script of the page one of them is late, the others still leave time for a frame.
FRAME = """(tries) => new Promise((done) => {
  requestAnimationFrame(() => done("drawn"));
  const wait = (left) => (left ? setTimeout(() => wait(left - 1), 100) : done("stalled"));
  wait(tries);
})"""


class BrowserStalled(Exception):
    """The page's scripts run, and nothing is drawn."""


def stalled(page: Page, seconds: float, answer: float = ANSWER) -> bool:
    """Whether its scripts run that long without one frame."""
    try:
        return page.wait_for_function(FRAME, arg=round(seconds * 10), timeout=1000 * seconds + answer).json_value() == "stalled"
    except Error:  # it does not answer, or it is closed
        return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Iterator[None]:
    try:
        return (yield)
    except (Error, AssertionError) as error:
        browser = item.funcargs.get("chromium")
        if isinstance(browser, Browser) and any(stalled(page, SECONDS) for context in browser.contexts for page in context.pages):
            item.stash[STALLED] = True
            raise BrowserStalled(f"no frame within {SECONDS} s, while the page's scripts run") from error
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After a stall everything ends, also what tests share: the next test begins with another browser."""
    if nextitem is not None and item.stash.get(STALLED, False):
        item.ihook.pytest_runtest_teardown(item=item, nextitem=None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if item.stash.get(STALLED, False):
        item.stash[STALLED] = False
        item.warn(pytest.PytestWarning("the browser had stalled: another one was started, and the test run again"))
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
