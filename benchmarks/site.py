"""The static site in a headless Chromium: its size, how long a lab takes to open, dials, and tabs that are closed at once.

    python benchmarks/site.py [--visits 3] [--moves 60] [--closings 50] [--json FILE]

A first visit is one of a browser that has nothing stored; a further one starts from the image of Python's memory that the first has left.
A tab is closed in the moment in which a committed prediction is acknowledged on the screen; what the browser then holds is counted.
Times are those of this machine as it is; the processor's seconds beside them depend less on what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from labs import ARGUMENTS, HERE, WATCH, turn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from ironlaw.site.build_site import build
from ironlaw.site.serve import server

LAB = "lab/lab_01_magnitude/"
LOCK = "Commit my prediction"
TARGETS = {
    "gzipped, MB": 8.5,
    "first visit, s": 8.0,
    "further visit, s": 1.5,
    "dial → picture, p95, ms": 55.0,
    "events lost": 0.0,
    "outside": 0.0,
}
PREDICTIONS = """() => new Promise((done) => {
  const request = indexedDB.open("ironlaw");
  request.onsuccess = () => {
    const all = request.result.transaction("events").objectStore("events").getAll();
    all.onsuccess = () => done(all.result.filter((row) => row[5] === "prediction").length);
  };
})"""


def busy(browser: psutil.Process) -> float:
    """Seconds of a processor that the browser has taken."""
    processes = [browser, *browser.children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes if process.is_running())


def opened(page: Page, url: str) -> float:
    begin = time.perf_counter()
    page.goto(url)
    page.get_by_role("button", name=LOCK).wait_for()
    return time.perf_counter() - begin


def visits(browser: Browser, process: psutil.Process, url: str, count: int, outside: list[str]) -> dict[str, float]:
    first, further, cpu = [], [], []
    for _ in range(count):
        context = fresh(browser, outside)
        page = context.new_page()
        before = busy(process)
        first.append(opened(page, url))
        cpu.append(busy(process) - before)
        page.wait_for_selector("html[data-image]", state="attached")
        before = busy(process)
        further += [opened(page, url) for _ in range(3)]
        cpu.append((busy(process) - before) / 3)
        context.close()
    return {
        "first visit, s": statistics.median(first), "its processor, s": statistics.median(cpu[::2]),
        "further visit, s": statistics.median(further), "their processor, s": statistics.median(cpu[1::2]),
    }  # fmt: skip


def fresh(browser: Browser, outside: list[str]) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(180_000)
    context.on("request", lambda request: None if HERE.match(request.url) else outside.append(request.url))
    return context


def commit(page: Page) -> None:
    page.locator(".il-lock").last.get_by_text("10⁴", exact=True).click()
    page.locator(".il-lock").last.get_by_text("fairly sure").click()
    page.get_by_role("button", name=LOCK).click()
    page.locator("#act1-reveal").wait_for()


def dials(browser: Browser, url: str, moves: int, outside: list[str]) -> dict[str, float]:
    context = fresh(browser, outside)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(f"{url}explore/")
    page.wait_for_selector("html[data-image]", state="attached")  # a first visit prepares the next one, and only then is it at rest
    times = turn(page, "[data-dial=batch] input[type=range]", ".il-drawing", moves)
    context.close()
    return {"dial → picture, p50, ms": statistics.median(times), "dial → picture, p95, ms": times[int(0.95 * (len(times) - 1))]}


def closings(browser: Browser, url: str, count: int, outside: list[str]) -> dict[str, float]:
    """Each commits the first prediction, begins a new epoch, and is looked at after its end by a page without Python."""
    context, lost = fresh(browser, outside), 0
    for number in range(1, count + 1):
        page = context.new_page()
        opened(page, f"{url}{LAB}")
        if number == 1:
            page.wait_for_selector("html[data-image]", state="attached")
        commit(page)
        page.close()
        reader = context.new_page()
        reader.goto(f"{url}glossary/")
        lost += number - int(reader.evaluate(PREDICTIONS))
        reader.goto(url)
        reader.get_by_text("Act I, prediction committed").first.wait_for()
        reader.locator("#reset summary").click()
        reader.get_by_role("button", name="Begin a new epoch").click()
        reader.get_by_text("A new epoch has begun").wait_for()
        reader.close()
    context.close()
    return {"tabs closed": count, "events lost": lost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--closings", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    outside: list[str] = []
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        site = build(Path(place) / "site")
        running = server(site.folder, 0)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{running.server_port}/"
        before = {process.pid for process in psutil.Process().children(recursive=True)}
        browser = playwright.chromium.launch(executable_path=os.environ.get("IRONLAW_CHROMIUM"), args=ARGUMENTS)
        process = next(each for each in psutil.Process().children(recursive=True) if each.pid not in before and "chrom" in each.name())
        results: dict[str, Any] = {"files": site.files, "bytes, MB": site.bytes / 1e6, "gzipped, MB": site.gzipped / 1e6}
        results |= visits(browser, process, f"{url}{LAB}", args.visits, outside)
        results |= dials(browser, url, args.moves, outside)
        results |= closings(browser, url, args.closings, outside)
        results["outside"] = len(outside)
        results["load"] = os.getloadavg()[0]
        browser.close()
        running.shutdown()
    for name, value in results.items():
        target = f"   (at most {TARGETS[name]:g})" if name in TARGETS else ""
        print(f"{name:28} {value:10.3g}{target}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
