"""Formulas as a browser draws them."""

from lab_steps import watched
from playwright.sync_api import Page

from ironlaw.kit.mathml import mathml

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
