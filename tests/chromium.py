"""Chromium for the tests that need a browser. A missing one is an error, never a skip."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium heeds only the last list of features, so Playwright's own is repeated. The first two are the list below the address
# bar: two pages that no test looks at, which Chromium else runs for every window, for more than a second of a core each time.
OFF = (
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,"
    "AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch"
)
# Nothing that Chromium does by itself may reach the network: what is left in the log is the page's own doing.
# All pages share one process, which then has marimo's scripts compiled already: a third of what it costs to open a lab.
ARGUMENTS = [
    f"--disable-features={OFF}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",
    "--process-per-site",
]


@contextmanager
def started(*more: str) -> Iterator[Browser]:
    """Chromium, with more arguments."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=[*ARGUMENTS, *more])
        yield browser
        browser.close()


@contextmanager
def with_scroll_bars(beside: Browser) -> Iterator[Browser]:
    """Another Chromium, whose scroll bars take room, as on most desktops."""
    browser = beside.browser_type.launch(executable_path=program(), args=ARGUMENTS, ignore_default_args=["--hide-scrollbars"])
    yield browser
    browser.close()


def program() -> str:
    found = os.environ.get("IRONLAW_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise RuntimeError("no Chromium in PATH: run `python3 scripts/setup.py browser`, or export IRONLAW_CHROMIUM=/path/to/chromium")
    return found
