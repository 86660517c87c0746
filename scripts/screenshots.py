"""The pictures of the docs, taken again: `python scripts/screenshots.py [--only NAME] [--out FOLDER]`.

Starts the labs with an empty home, walks a made-up learner through them, writes a report, and from both docs/images/*.webp. Needs the
packages of `python3 scripts/setup.py browser`. Each picture is what stands on the screen; nothing is drawn over it.
"""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks"), str(ROOT / "tests")]
os.environ["PYTHONPATH"] = str(ROOT / "src")

from chromium import started  # noqa: E402
from labs import serving  # noqa: E402
from playwright.sync_api import Page, expect  # noqa: E402

from ironlaw import kit  # noqa: E402
from ironlaw.kit.lab_check import complete  # noqa: E402
from ironlaw.ledger import open_ledger  # noqa: E402

LABS = ("lab_01_magnitude", "lab_07_fusion", "lab_10_frontier", "lab_11_roofline", "lab_v2_05_parallelism")
REPORT = "report.html"  # of GPT-2 on an H200, in the home
DESK, PHONE = (1280, 800), (390, 844)
QUALITY = 0.82  # of WebP: text stays sharp, all pictures together stay near a megabyte


@dataclass(frozen=True)
class Shot:
    """`path`: of the server, or REPORT. `place` is brought to the top of the screen; `prepare` turns dials and opens tabs before."""

    name: str
    path: str
    place: str = ""
    scheme: str = "light"
    size: tuple[int, int] = DESK
    prepare: Callable[[Page], None] = lambda page: None


def tab(place: str, name: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f"#{place}").get_by_role("tab", name=name).click()


def all_sections(page: Page) -> None:
    page.locator("main > section > details").evaluate_all("folds => folds.forEach((fold) => { fold.open = true; })")


def unfold(page: Page) -> None:
    page.get_by_role("button", name="Show it again").first.click()


SHOTS = (
    Shot("map", "/"),
    Shot("lab-01-gap", "/lab/lab_01_magnitude/", "act1-instrument", prepare=tab("act1-instrument", "To scale")),
    Shot("lab-01-terms-dark", "/lab/lab_01_magnitude/", "act2-instrument", "dark"),
    Shot("lab-01-phone", "/lab/lab_01_magnitude/", "act1-instrument", "light", PHONE, unfold),
    Shot("lab-01-byte", "/lab/lab_01_magnitude/", "act2-walk"),
    Shot("lab-07-dispatch", "/lab/lab_07_fusion/", "act1-instrument"),
    Shot("lab-10-answers-dark", "/lab/lab_10_frontier/", "act1-instrument", "dark"),
    Shot("lab-11-roofline-dark", "/lab/lab_11_roofline/", "act1-instrument", "dark", prepare=tab("act1-instrument", "Roofs")),
    Shot("lab-v2-05-pipeline", "/lab/lab_v2_05_parallelism/", "act1-instrument", prepare=tab("act1-instrument", "The pipeline")),
    Shot("explore-light", "/explore", "instrument"),
    Shot("explore-dark", "/explore", "instrument", "dark"),
    Shot("report", REPORT),
    Shot("report-time", REPORT, "details", prepare=all_sections),
    Shot("review-dark", "/lab/review/", "cards", "dark"),
    Shot("receipt", "/lab/lab_01_magnitude/", "end"),
)


def seed(home: Path) -> None:
    """A learner who has done the labs that are seen."""
    with open_ledger(home / "ledger.db") as ledger:
        for slug in LABS:
            complete(kit.open(slug, ledger))


def report(path: Path) -> None:
    """What `ironlaw analyze --html` writes of GPT-2."""
    command = ["analyze", "gpt2", "--on", "h200_sxm,h100_sxm,a100_80gb_sxm", "--per-day", "50000", "--compile-s", "40", "--html", str(path)]
    subprocess.run([sys.executable, "-m", "ironlaw", *command], env={**os.environ, "IRONLAW_HOME": str(path.parent)}, check=True)


def still(page: Page) -> None:
    """Wait until everything is drawn, the typeface is there and nothing moves."""
    page.wait_for_load_state("networkidle")
    page.evaluate("() => document.fonts.ready")
    page.wait_for_function("() => document.getAnimations().every((each) => each.playState !== 'running')")
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def take(page: Page, url: str, shot: Shot, out: Path) -> None:
    page.emulate_media(color_scheme=shot.scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": shot.size[0], "height": shot.size[1]})
    page.goto(shot.path if "://" in shot.path else url + shot.path)
    if shot.path.startswith("/lab/"):
        expect(page.locator(".il-hud")).to_be_visible(timeout=60_000)
    still(page)
    page.mouse.wheel(0, 1)  # the page holds its place until the reader moves
    shot.prepare(page)
    if shot.place:
        place = page.locator(f"#{shot.place}")
        expect(place).to_be_visible(timeout=60_000)
        still(page)
        place.evaluate("e => scrollTo({ top: scrollY + e.getBoundingClientRect().top - 64, behavior: 'instant' })")
    still(page)
    png = base64.b64encode(page.screenshot()).decode()
    webp = page.context.new_page()  # the browser writes WebP itself: no library is needed for it
    text = webp.evaluate(
        "async ([png, quality]) => { const image = new Image(); image.src = `data:image/png;base64,${png}`; await image.decode();"
        " const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });"
        " canvas.getContext('2d').drawImage(image, 0, 0); return canvas.toDataURL('image/webp', quality); }",
        [png, QUALITY],
    )
    webp.close()
    (out / f"{shot.name}.webp").write_bytes(base64.b64decode(text.partition(",")[2]))
    print(f"{shot.name}.webp", (out / f"{shot.name}.webp").stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[shot.name for shot in SHOTS])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", metavar="FOLDER")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, started() as browser:
        home = Path(folder)
        seed(home)
        with serving([sys.executable, "-m", "ironlaw", "labs", "--no-browser", "--port", "0"], home) as server:
            report(home / REPORT)
            context = browser.new_context()
            context.request.get(server.address)  # its cookie is the context's
            for shot in SHOTS:
                if args.only in (None, shot.name):
                    page = context.new_page()
                    path = (home / REPORT).as_uri() if shot.path == REPORT else shot.path
                    take(page, server.url, replace(shot, path=path), args.out)
                    page.close()


if __name__ == "__main__":
    main()
