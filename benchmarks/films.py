"""The frames of every film of the labs, at a processor four times slowed: `python benchmarks/labs.py --only films`.

Each lab that has one is opened with everything answered, its film is scrolled to, and five seconds of it are played. The distance between
two frames is the browser's own and counts whatever else this machine does; the processor's time beside it does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page

from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger

SLOWED = 4
MOST = 50.0  # ms between two frames
FILMS = (
    "lab_01_magnitude", "lab_07_fusion", "lab_11_roofline", "lab_13_line", "lab_14_tail", "lab_v2_05_parallelism", "lab_v2_06_collectives",
    "lab_v2_07_checkpoint", "lab_v2_10_kv_serving", "lab_v2_12_slo",
)  # fmt: skip
PLAY = ".il-motion .il-player button[aria-label=Play]"
FRAMES = """(ms) => new Promise((done) => {
  const gaps = [];
  let last = performance.now();
  const end = last + ms;
  const next = (now) => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(next) : done(gaps.slice(1)); };
  requestAnimationFrame(next);
})"""


def answered(home: Path) -> None:
    """A learner who has everything behind them, so that every act is open."""
    with open_ledger(home / "ledger.db") as ledger:
        for slug in FILMS:
            complete(kit.open(slug, ledger))


def played(page: Page, button: Locator, seconds: float) -> dict[str, float]:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        return next(each["value"] for each in session.send("Performance.getMetrics")["metrics"] if each["name"] == "TaskDuration")

    clock = button.locator("..").locator(".il-clock")
    button.scroll_into_view_if_needed()
    page.wait_for_timeout(800)  # what scrolling has begun ends
    button.locator("..").get_by_role("slider", name="Time").fill("0")  # some begin in their middle
    stood = clock.text_content()
    button.click()
    before, unslowed = busy(), page.evaluate(FRAMES, 1000)
    cost = 1e3 * (busy() - before) / len(unslowed)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    gaps = sorted(page.evaluate(FRAMES, 1000 * seconds))
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    session.detach()
    if clock.text_content() == stood or button.text_content() != "Pause":
        raise RuntimeError(f"the film stood still at {clock.text_content()}, or ended before it was measured")
    late = sum(gap > MOST for gap in gaps)
    return {"frames": len(gaps), "p95": gaps[int(0.95 * (len(gaps) - 1))], "worst": gaps[-1], "over": late, "cost": cost}


def films(context: BrowserContext, url: str, seconds: float = 5.0) -> dict[str, Any]:
    results = {}
    print(f"{f'slowed {SLOWED}×':28}  frames   p95, ms  worst, ms  over {MOST:g}   processor unslowed, ms a frame")
    for slug in FILMS:
        page = context.new_page()
        page.goto(f"{url}/lab/{slug}/")
        page.locator(PLAY).first.wait_for(timeout=60_000)  # a film is computed after its picture
        page.wait_for_timeout(1000)
        for i in range(page.locator(PLAY).count()):
            found = played(page, page.locator(".il-motion").nth(i).locator(".il-player button").first, seconds)
            results[name := f"{slug} {i + 1}"] = found
            row = f"{found['frames']:8}{found['p95']:10.1f}{found['worst']:11.1f}{found['over']:9}{found['cost']:33.2f}"
            print(f"{name:28}{row}", flush=True)
        page.close()
    return results
