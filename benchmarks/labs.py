"""How fast the labs are, side by side in one run with plain marimo and plotly.

    make bench            or    python benchmarks/labs.py [--moves 60] [--sessions 6] [--only dial|films|labs] [--json FILE]

A headless Chromium opens the start page, a lab from it, and the lab again; turns a dial of the lab's instrument; and
opens it several times more for the memory that a session takes. The page beside it is what one would write first: three
marimo sliders and a plotly roofline, served by `marimo run`, which also asks the engine. Times of pages are taken in the
page, from the click to the frame in which the control is there; times of dials from the key to the frame after the
picture has changed. `--only dial` turns the lab's dial and nothing else: fifteen seconds instead of minutes. `--only films` plays every
film of the labs for five seconds (films.py).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import films
import psutil
from playwright.sync_api import BrowserContext, Page, sync_playwright

from ironlaw.ledger import open_ledger

LAB = "lab_01_magnitude"
DIAL = "[data-dial=batch] input[type=range]"
HERE = re.compile(r"http://127\.0\.0\.1|data:|blob:")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
TARGETS = {
    "server ready, s": "",
    "start page interactive, s": "0.5",
    "page interactive, first, s": "2.5",
    "page interactive, again, s": "1",
    "dial → picture, p50, ms": "",
    "dial → picture, p95, ms": "24",
    "slowed 4×: p50, ms": "",
    "slowed 4×: p95, ms": "40",
    "page at 390 wide, px": "9000",
    "memory per open session, MB": "5",
    "asked of other machines": "0",
}
PLAIN = """
import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo
    import plotly.graph_objects as go

    import ironlaw as il

    return go, il, mo


@app.cell
def _(mo):
    batch = mo.ui.slider(1, 256, value=1, label="batch")
    launch = mo.ui.slider(1, 50, value=10, label="launch, µs")
    share = mo.ui.slider(10, 100, value=100, label="share of the peak, %")
    mo.vstack([batch, launch, share])
    return batch, launch, share


@app.cell
def _(batch, go, il, share):
    machine = il.hardware("h100_sxm")
    p = il.predict(il.workload("resnet50", batch=batch.value, dtype="fp16"), machine)
    peak, ridge = machine.peak("fp16") * share.value / 100, machine.ridge("fp16")
    intensity = p.graph.work.flops / p.graph.work.bytes
    figure = go.Figure()
    figure.add_scatter(x=[0.1, ridge, 10000], y=[0.1 * machine.bandwidth, peak, peak], mode="lines")
    figure.add_scatter(x=[intensity], y=[p.graph.work.flops / p.seconds], mode="markers", text=[f"{batch.value}"])
    figure.update_xaxes(type="log").update_yaxes(type="log")
    return (figure,)


@app.cell
def _(figure, mo):
    mo.ui.plotly(figure)
    return


if __name__ == "__main__":
    app.run()
"""
# Finds through open shadow roots, stamps the first frame in which a thing is there, and times from a key to a redrawn picture.
WATCH = """
window.deep = (selector, root = document) => {
  const found = root.querySelector(selector);
  if (found) return found;
  for (const host of root.querySelectorAll('*')) {
    const inside = host.shadowRoot && window.deep(selector, host.shadowRoot);
    if (inside) return inside;
  }
  return null;
};
window.when = (selector) => new Promise((done) => {
  const look = () => (window.deep(selector) ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look));
  look();
});
window.picture = (dial, selector) => window.deep(dial)?.getRootNode().querySelector(selector) ?? window.deep(selector);
window.watch = ([dial, selector]) => {
  const root = window.picture(dial, selector).getRootNode(); // looked for once: a search of the whole page is no part of a turn
  let told = () => {};
  window.times = [];
  window.counted = (count) => new Promise((done) => { told = () => window.times.length >= count && done(); told(); });
  let from = 0;
  const drawn = (changes) => {
    const within = ({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest(selector);
    if (from && changes.some(within)) {
      const since = from;
      from = 0;
      requestAnimationFrame(() => { window.times.push(performance.now() - since); told(); });
    }
  };
  new MutationObserver(drawn).observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  addEventListener('keydown', () => { from = performance.now(); }, true);
};
"""


class Server:
    """A process that says in a line of its own where it listens."""

    def __init__(self, command: list[str], home: Path) -> None:
        environment = {**os.environ, "IRONLAW_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environment, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
        )
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=drain, args=(self.process, lines), daemon=True).start()
        said = ""
        while not (found := re.search(r"http://[\w.]+:\d+", line := lines.get(timeout=60))):
            said += line
            if not line:
                raise RuntimeError(f"{' '.join(command)} ended before it was ready:\n{said}")
        self.url, self.ready = found[0].replace("localhost", "127.0.0.1"), time.perf_counter() - began
        self.address = line.split()[-1]  # with the token, if it has one

    def memory(self) -> float:
        """Resident, of the process and all its children, in MB."""
        one = psutil.Process(self.process.pid)
        return sum(process.memory_info().rss for process in (one, *one.children(recursive=True))) / 1e6

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def drain(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    for line in process.stdout or ():
        lines.put(line)
    lines.put("")  # the end


@contextlib.contextmanager
def serving(command: list[str], home: Path) -> Iterator[Server]:
    server = Server(command, home)
    try:
        yield server
    finally:
        server.stop()


def seed(home: Path) -> None:
    """A learner who is in Act II, so that both instruments are open."""
    with open_ledger(home / "ledger.db") as ledger:
        for act, choice, value, answer in (("act1", "e6", 1e6, "stacks"), ("act2", "memory", "memory", "memory")):
            ledger.commit_prediction(LAB, act, choice, value, 4, True)
            ledger.append(LAB, "reflection", {"question": f"{act}_reflection", "choice": answer, "correct": True})


def turn(page: Page, dial: str, picture: str, moves: int) -> list[float]:
    """Presses arrow keys on a dial, one at a time; ms from key to redrawn picture."""
    page.wait_for_function("([dial, picture]) => window.picture(dial, picture)", arg=[dial, picture])
    page.locator(dial).first.scroll_into_view_if_needed()
    page.locator(dial).first.focus()
    page.wait_for_timeout(500)
    page.evaluate("window.watch", [dial, picture])
    for move in range(moves + 10):
        page.keyboard.press("ArrowRight" if (move // 12) % 2 == 0 else "ArrowLeft")
        page.evaluate("window.counted", move + 1)  # no polling: that would keep the browser drawing
        page.wait_for_timeout(40)  # a picture may be drawn in two frames
    return sorted(page.evaluate("window.times")[10:])


def turned(page: Page, moves: int, *, dial: str, picture: str, **_: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    session = page.context.new_cdp_session(page)
    for name, rate in (("dial → picture,", 1), ("slowed 4×:", 4)):
        session.send("Emulation.setCPUThrottlingRate", {"rate": rate})  # of the browser's processor; the server is not slowed
        times = turn(page, dial, picture, moves)
        figures |= {f"{name} p50, ms": statistics.median(times), f"{name} p95, ms": times[int(0.95 * (len(times) - 1))]}
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    return figures


def dial_only(context: BrowserContext, server: Server, args: argparse.Namespace, **names: str) -> dict[str, float]:
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(f"{server.url}{names['path']}")
    page.evaluate("selector => window.when(selector)", names["control"])
    page.wait_for_timeout(args.read * 1000)
    return turned(page, args.moves, **names)


def sessions(context: BrowserContext, server: Server, url: str, control: str, count: int) -> float:
    """MB that one more open page takes of the server."""

    def visit() -> None:
        page = context.new_page()
        page.goto(url)
        page.evaluate("selector => window.when(selector)", control)
        page.wait_for_timeout(300)

    visit(), visit()  # what is made once is made now
    before = server.memory()
    for _ in range(count):
        visit()
    return (server.memory() - before) / count


def measured(context: BrowserContext, server: Server, args: argparse.Namespace, **names: str) -> dict[str, float]:
    """All figures of one server. `names`: the address of its page, the control that must be there, the dial, the picture."""
    outside: list[str] = []
    context.on("request", lambda request: None if HERE.match(request.url) else outside.append(request.url))
    context.add_init_script(WATCH)
    page = context.new_page()
    found = {"server ready, s": server.ready}
    if names.get("start"):
        page.goto(server.url)
        found["start page interactive, s"] = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") / 1e3
        page.wait_for_timeout(args.read * 1000)  # a reader looks at it before the first click
    for which in ("first", "again"):
        if names.get("start"):
            page.goto(server.url)
            page.locator(names["start"]).click(no_wait_after=True)
            page.wait_for_url(f"{server.url}{names['path']}", wait_until="commit")
        else:
            page.goto(f"{server.url}{names['path']}", wait_until="commit")
        found[f"page interactive, {which}, s"] = page.evaluate("selector => window.when(selector)", names["control"]) / 1e3
        page.wait_for_timeout(1500)
    found |= turned(page, args.moves, **names)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(1000)
    found["page at 390 wide, px"] = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": 1280, "height": 800})
    found["memory per open session, MB"] = sessions(context, server, f"{server.url}{names['path']}", names["control"], args.sessions)
    found["asked of other machines"] = len(outside)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--read", type=float, default=3, help="seconds on the start page before the first click")
    parser.add_argument("--only", choices=["dial", "films", "labs"], help="the dial, the films, or the labs without the page beside them")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    program = os.environ.get("IRONLAW_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not program:
        sys.exit("no Chromium in PATH: run `python3 scripts/setup.py browser`, or export IRONLAW_CHROMIUM=/path/to/chromium")
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        (films.answered if args.only == "films" else seed)(home)
        (home / "plain.py").write_text(PLAIN)
        labs = [sys.executable, "-m", "ironlaw", "labs", "--no-browser", "--port", "0"]
        plain = [sys.executable, "-m", "marimo", "run", "plain.py", "--headless", "--no-token", "--port", "27199"]
        ours = {"start": f"#{LAB} h3 a", "path": f"/lab/{LAB}/", "control": DIAL, "dial": DIAL, "picture": ".il-figures"}
        theirs = {"path": "/", "control": ".js-plotly-plot path.js-line", "dial": "[role=slider]", "picture": ".js-plotly-plot"}
        measure = dial_only if args.only == "dial" else measured
        for name, command, names in (("ironlaw", labs, ours), ("marimo + plotly", plain, theirs))[: 1 if args.only else 2]:
            with serving(command, home) as server:
                browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
                context = browser.new_context(viewport={"width": 1280, "height": 800})
                if "token=" in server.address:
                    context.request.get(server.address)  # its cookie is the context's
                results[name] = films.films(context, server.url) if args.only == "films" else measure(context, server, args, **names)
                browser.close()
    if args.only != "films":  # it says each as it is played
        show(results)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))


def show(results: dict[str, dict[str, Any]]) -> None:
    print(f"{'':34}" + "".join(f"{name:>18}" for name in results) + f"{'to reach':>12}")
    taken = {row for found in results.values() for row in found}
    for row, target in ((row, target) for row, target in TARGETS.items() if row in taken):
        values = (found.get(row) for found in results.values())
        print(f"{row:34}" + "".join(f"{'' if value is None else format(value, '.3g'):>18}" for value in values) + f"{target:>12}")


if __name__ == "__main__":
    main()
