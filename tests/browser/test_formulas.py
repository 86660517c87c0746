"""Formulas as a browser draws them."""

import re

from lab_steps import as_on_a_phone, watched
from playwright.sync_api import Page

from ironlaw.kit.lab import LABS
from ironlaw.kit.mathml import line, mathml
from ironlaw.slots import SLOT

HEIGHTS = """async (formula) => {
    await document.fonts.load('16px "Noto Sans Math"', '(√');
    const here = document.createElement("p");
    here.innerHTML = formula;
    document.body.append(here);
    const height = (name) => here.querySelector(name).getBoundingClientRect().height;
    return { bracket: height("mo"), root: height("msqrt"), fraction: height("mfrac"), letter: height("mi") };
}"""


def test_brackets_and_roots_are_as_tall_as_what_they_hold(beginner: str, page: Page) -> None:
    with watched(page):
        page.goto(f"{beginner}/lab/lab_01_magnitude/")
        page.locator(".il-lock").first.wait_for()
        around = page.evaluate(HEIGHTS, mathml(r"\left(\frac{a}{b}\right) x", block=True) + mathml(r"\sqrt{\frac{a}{b}}", block=True))
    assert around["bracket"] > 0.9 * around["fraction"] > 1.5 * around["letter"]
    assert around["root"] > around["fraction"]


TOO_WIDE = """async (lines) => {
    await document.fonts.load('16px "Noto Sans Math"', '(√');
    const here = document.createElement("div");
    here.className = "il-prose";
    here.style.width = `${window.innerWidth - 68}px`;  // inside "the maths"
    here.innerHTML = lines.map(([name, formula]) => `<p data-name="${name}">${formula}</p>`).join("");
    document.body.append(here);
    const room = here.getBoundingClientRect().width;
    const wide = (p) => [...p.querySelectorAll("math")].some((each) => each.getBoundingClientRect().width > room + 1);
    return [...here.children].filter(wide).map((p) => `${p.dataset.name}: ${p.innerText}`);
}"""


def test_every_formula_of_a_lab_fits_a_phone(beginner: str, page: Page) -> None:
    found = [
        (path.parent.name, line(SLOT.sub("0.123", latex)))
        for path in sorted(LABS.glob("*/words.md"))
        for latex in re.findall(r"\$\$(.+?)\$\$", path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(found) > 40
    with watched(page):
        as_on_a_phone(page)
        page.goto(f"{beginner}/lab/lab_01_magnitude/")
        page.locator(".il-lock").first.wait_for()
        assert page.evaluate(TOO_WIDE, found) == []
