"""That axe, with the rules and looks it is given here, still finds what keeps people out."""

from axe import serious
from playwright.sync_api import Browser

GOOD = "<main><h1>One</h1><p style='color:#222'>Dark on white, and <a href='#' style='color:#00c'>a link</a>.</p></main>"
FAULTS = {
    "button-name": "<button></button>",
    "tabindex": "<p tabindex=3>first</p>",
    "color-contrast": "<p style='color:#aaa'>grey on white</p>",
    "link-in-text-block": "<p style='color:#222'>Words <a href='#' style='color:#333;text-decoration:none'>and a link</a> among words.</p>",
}


def test_what_keeps_people_out_is_found_and_what_was_seen_in_another_colour_is_judged_again(chromium: Browser) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f"<html lang=en><title>t</title><style>body {{ background: #fff }}</style>{GOOD}")
        assert serious(page) == []
        for rule, fault in FAULTS.items():
            page.locator("main").evaluate("(main, fault) => { main.innerHTML = `<h1>One</h1>${fault}`; }", fault)
            assert [found.partition(":")[0] for found in serious(page)] == [rule]
        page.locator("main").evaluate("(main, good) => { main.innerHTML = good; document.body.style.background = '#333'; }", GOOD)
        assert [found.partition(":")[0] for found in serious(page, shape=False)] == ["color-contrast"]
