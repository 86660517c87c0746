"""A real browser against the real labs: what the tests here and in tests/release/browser share."""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import started
from lab_steps import PATIENCE
from labs_entry import ENVIRONMENT, cookie
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Request, expect
from site_runtime import release

from ironlaw.ledger import Ledger, open_ledger
from ironlaw.site.build_site import build
from ironlaw.site.serve import server

START_SECONDS = 180
RUNNING: set[str] = set()  # the addresses of servers, also of those that have ended
CONTEXTS: list[BrowserContext] = []
# `ironlaw labs`, but "measure it here" takes NumPy, short samples and little work: what PyTorch measures is tested without a browser. And
# nothing is computed in the background for a learner who may come: it took half of a server's time, and is tested in tests/server; nor does
# a commit wait for the disk.
SMALL = str(Path(__file__).with_name("short_experiment.py"))
SHORT = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import quick_commits
from ironlaw.cli import main
from ironlaw.kit import background, experiment
from ironlaw.server import start_server
start_server.warm = lambda app: None
background.allowed.clear()
whole = experiment.command
experiment.command = lambda name, *force: [sys.executable, {SMALL!r}, *whole(name, *force)[3:], "--with", "numpy", "--seconds", "0.1"]
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="session")
def shared_context(chromium: Browser) -> Iterator[tuple[BrowserContext, CDPSession]]:
    """One cache for all tests, and a page that stays open, so that the process with the compiled scripts does."""
    expect.set_options(timeout=PATIENCE)
    with chromium.new_context() as context:
        context.set_default_timeout(PATIENCE)
        CONTEXTS.append(context)
        first = context.new_page()
        first.route("**", lambda route: route.fulfill(body=""))
        first.goto("http://127.0.0.1/")
        yield context, context.new_cdp_session(first)
        CONTEXTS.remove(context)


@pytest.fixture
def new_context(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """`new_context(**options)`: a browser of its own, which the running servers let in."""
    contexts: list[BrowserContext] = []

    def create(**options: Any) -> BrowserContext:
        contexts.append(chromium.new_context(**options))
        admit(contexts[-1])
        return contexts[-1]

    yield create
    for context in contexts:
        context.close()


@pytest.fixture
def let_in() -> Callable[[BrowserContext], None]:
    """For a context of another browser: the running servers let it in."""
    return admit


@pytest.fixture
def requests() -> list[str]:
    """The address of everything the page asked for, in order."""
    return []


@pytest.fixture
def page(shared_context: tuple[BrowserContext, CDPSession], requests: list[str]) -> Iterator[Page]:
    """A page with nothing stored; the test fails if it asks for anything outside this machine."""
    context, session = shared_context

    def note(request: Request) -> None:
        requests.append(request.url)

    context.on("request", note)
    admit(context)
    page = context.new_page()
    page.on("websocket", lambda socket: requests.append(socket.url))
    yield page
    page.close()
    context.remove_listener("request", note)
    context.clear_cookies()
    for origin in {f"http://{urlsplit(url).netloc}" for url in requests if urlsplit(url).netloc}:
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage,indexeddb"})
    outside = [url for url in requests if urlsplit(url).scheme not in {"data", "blob", "about"} and urlsplit(url).hostname != "127.0.0.1"]
    assert not outside, f"the page asked for something outside 127.0.0.1: {outside}"


def admit(context: BrowserContext) -> None:
    """The cookie of every server so far; how a browser gets it is tested in tests/attack."""
    for url in RUNNING:
        name, value = cookie(url)
        context.add_cookies([{"name": name, "value": value, "url": url, "httpOnly": True, "sameSite": "Strict"}])


@contextmanager
def running(home: Path, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A running `ironlaw labs` with a home of its own: its address and its process."""
    environment = {**os.environ, **ENVIRONMENT, "IRONLAW_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", SHORT, "labs", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: queue.Queue[str | None] = queue.Queue()
    # Read to the end, or the server blocks once the pipe is full.
    threading.Thread(target=drain, args=(process, lines), daemon=True).start()
    try:
        url = address(lines)
        RUNNING.add(url)
        for context in CONTEXTS:
            admit(context)
        yield url, process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labs-home")


@pytest.fixture(scope="session")
def labs_server(shared_home: Path) -> Iterator[str]:
    """The address of one server that tests share."""
    with running(shared_home) as (url, _):
        yield url


@pytest.fixture
def shared_ledger(labs_server: str, shared_home: Path) -> Iterator[Ledger]:
    """The ledger of the shared server, for a learner who has done nothing yet: each test begins a new epoch."""
    with open_ledger(shared_home / "ledger.db") as ledger:
        ledger.reset()
        yield ledger


@pytest.fixture
def beginner(labs_server: str, shared_ledger: Ledger) -> str:
    """The address of the shared server, for a learner who has done nothing yet."""
    return labs_server


@pytest.fixture(scope="session")
def cold_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the static site, in a folder of its host."""
    folder = tmp_path_factory.mktemp("host")
    build(folder / "course" / "2026", release())
    with server(folder, 0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/course/2026"
        serving.shutdown()


@pytest.fixture(scope="session")
def site(cold_site: str, shared_context: tuple[BrowserContext, CDPSession]) -> str:
    """The same. The shared browser has an image of Python, as after a first visit: a page then starts in a sixth of the time."""
    with shared_context[0].new_page() as first:
        first.goto(f"{cold_site}/lab/lab_01_magnitude/")
        kept = first.wait_for_function("() => document.documentElement.dataset.image", timeout=4 * PATIENCE).json_value()
    assert kept == "kept"
    return cold_site


@pytest.fixture
def labs(tmp_path: Path) -> Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[str]]]]:
    """`with labs() as (url, process)`: a server for one test; the same home every time it is called."""
    return lambda port=0: running(tmp_path / "home", port)


def drain(server: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    for line in server.stdout or ():
        lines.put(line)
    lines.put(None)


def address(lines: queue.Queue[str | None]) -> str:
    """Waits for the line that names the address; if it does not come, the error quotes the server."""
    output, deadline = "", time.monotonic() + START_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        try:
            line = lines.get(timeout=left)
        except queue.Empty:
            break
        if line is None:
            raise RuntimeError(f"`ironlaw labs` ended before it was ready:\n{output}")
        output += line
        if match := re.search(r"http://127\.0\.0\.1:[1-9]\d*", line):
            return match.group()
    raise RuntimeError(f"`ironlaw labs` named no address within {START_SECONDS} s:\n{output}")
