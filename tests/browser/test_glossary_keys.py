"""The glossary by keyboard: one Tab stop for the words of a place, arrow keys among them, and a name and description for each."""

import json
import re

from playwright.sync_api import Browser, expect

from ironlaw.widget.assets import GLOSSARY, script
from ironlaw.widget.glossary_words import explanations, mark

PAGE = """<main>
<div class="il-step" id="one">{0}{1}<details><summary>more</summary>{2}</details></div>
<div class="il-step" id="two">{3}</div>
<button>last</button></main>"""
PASSAGES = ("<p>A kernel on the H100.</p>", "<p>Its bandwidth, and a launch.</p>", "<p>The L2 cache.</p>", "<p>FP16 in a tensor core.</p>")


def test_tab_stops_once_in_a_place_and_arrow_keys_reach_the_other_words(chromium: Browser) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(PAGE.format(*map(mark, PASSAGES)))
        page.add_script_tag(content=f"{script(GLOSSARY)}\nconst known = {json.dumps(explanations())};\nstartGlossary((id) => known[id]);")
        stops = "() => [...document.querySelectorAll('.il-gloss')].filter((word) => word.tabIndex === 0 && word.checkVisibility()).length"
        page.wait_for_function(f"({stops})() === 2")
        term = "() => document.activeElement.dataset.term"
        box = page.get_by_role("tooltip")

        page.keyboard.press("Tab")
        assert page.evaluate(term) == "kernel"
        expect(box).to_contain_text("← → 3 more here")
        expect(page.locator(":focus")).to_have_accessible_description(re.compile(re.escape(explanations()["kernel"]["says"])))
        seen = []
        for _ in range(4):
            seen.append(page.evaluate(term))
            expect(box).to_contain_text(explanations()[seen[-1]]["says"])
            page.keyboard.press("ArrowRight")
        assert seen == ["kernel", "h100", "bandwidth", "launch"] and page.evaluate(term) == "kernel", "then from the first again"
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(term) == "launch"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # opens the fold
        page.wait_for_function(f"({stops})() === 2")
        page.keyboard.press("Tab")
        assert page.evaluate(term) == "fp16", "past the word in the fold, which arrow keys reach"
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(term) == "launch", "where the arrow keys left off"
        page.keyboard.press("ArrowRight")
        assert page.evaluate(term) == "l2"
        page.keyboard.press("Escape")
        expect(box).to_have_count(0)


IN_A_PIECE = """<main><div style="height: 300px"></div><div id="piece"></div><div style="height: 3000px"></div></main>"""
INTO_IT = """(html) => {
  const root = document.getElementById("piece").attachShadow({ mode: "open" });
  root.innerHTML = `<div class="il-home"><div class="il-step">${html}<button>Answer</button></div></div>`;
  for (const word of root.querySelectorAll(".il-gloss")) word.tabIndex = 0;
}"""


def test_in_a_piece_the_box_goes_when_the_keyboard_moves_on(chromium: Browser) -> None:
    """A focus that moves within a piece is not told to the page; the box stayed over the answers until Escape."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(IN_A_PIECE)
        page.evaluate(INTO_IT, mark("<p>A kernel on the H100.</p>"))
        page.add_script_tag(content=f"{script(GLOSSARY)}\nconst known = {json.dumps(explanations())};\nstartGlossary((id) => known[id]);")
        box = page.get_by_role("tooltip")
        page.keyboard.press("Tab")
        expect(box).to_contain_text(explanations()["kernel"]["says"])
        page.keyboard.press("Tab")
        expect(box).to_contain_text(explanations()["h100"]["says"])
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Answer")).to_be_focused()
        expect(box).to_have_count(0)


def test_a_page_that_scrolls_under_a_resting_pointer_explains_nothing(chromium: Browser) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f"<main><p>{'<br>' * 60}</p>{mark('<p>kernel</p>') * 40}<div style='height: 3000px'></div></main>")
        page.add_script_tag(content=f"{script(GLOSSARY)}\nconst known = {json.dumps(explanations())};\nstartGlossary((id) => known[id]);")
        box = page.get_by_role("tooltip")
        page.mouse.move(20, 300)
        page.evaluate("scrollTo(0, document.querySelectorAll('.il-gloss')[8].getBoundingClientRect().top - 300)")
        page.wait_for_timeout(600)
        assert page.evaluate("document.elementFromPoint(20, 300).closest('p').textContent") == "kernel"
        expect(box).to_have_count(0)
        word = page.locator(".il-gloss").nth(9).bounding_box()
        page.mouse.move(word["x"] + 5, word["y"] + 5)
        expect(box).to_have_count(1)
