"""What the site's page asks of Python: a lab from lock to answer, what is stored first or can't be, two windows, the file."""

import json
import re

import pytest

from ironlaw.ledger import open_ledger
from ironlaw.measure import host
from ironlaw.measure.experiments import catalogue
from ironlaw.site.addresses import relative
from ironlaw.site.desk import Desk, new_learner

LAB = "lab_01_magnitude"


@pytest.fixture
def owner():
    return new_learner()


class Browser:
    """Keeps rows as IndexedDB does; a page is a desk."""

    def __init__(self, owner):
        self.owner, self.rows, self.full = owner, [], ""

    def page(self, root="../../"):
        return Desk(self.owner, json.dumps(self.rows), root)

    def ask(self, desk, **question):
        desk.hear(json.dumps(self.rows[desk.count :]))
        answer = desk.ask(json.dumps(question))
        rows = json.loads(desk.unsaved())
        if rows and self.full:
            return json.loads(desk.failed(self.full))
        self.rows += rows
        desk.saved()
        return json.loads(answer)


@pytest.fixture
def browser(owner):
    return Browser(owner)


def piece(answer, kind):
    return next(name for name, traits in answer["pieces"].items() if traits["kind"] == kind)


def commit(browser, desk, opened):
    state = {"choice": 1, "confidence": 4, "commit": 1, "again": 0, "seq": 1}
    return browser.ask(desk, do="act", piece=piece(opened, "lock"), state=state)


def test_a_prediction_is_among_the_rows_before_the_answer_that_opens_the_instrument(browser):
    desk = browser.page()
    opened = browser.ask(desk, do="open", lab=LAB)
    assert len(browser.rows) == 1 and opened["cells"]["act1_reveal"] == ""
    answer = commit(browser, desk, opened)
    assert [row[5] for row in browser.rows] == ["opened", "prediction"]
    assert "il-reveal" in answer["cells"]["act1_reveal"]
    asked = set(re.findall(r'data-piece="(\w+)"', "".join(answer["cells"].values())))
    assert asked == set(answer["new"])
    assert answer["pieces"][piece(opened, "instrument")]["spec"]["locked"] is None
    again = browser.ask(browser.page(), do="open", lab=LAB)
    assert "il-reveal" in again["cells"]["act1_reveal"]


def test_what_could_not_be_stored_was_never_committed_and_the_page_says_so(browser):
    desk = browser.page()
    opened = browser.ask(desk, do="open", lab=LAB)
    browser.full = "QuotaExceededError"
    refused = commit(browser, desk, opened)
    assert "QuotaExceededError" in refused["said"] and "nothing of it was committed" in refused["said"]
    assert refused["cells"]["act1_reveal"] == "" and len(browser.rows) == 1
    browser.full = ""
    assert "il-reveal" in commit(browser, desk, refused)["cells"]["act1_reveal"]
    assert [row[5] for row in browser.rows] == ["opened", "prediction"]


def test_a_second_window_follows_the_first(browser):
    one, two = browser.page(), browser.page()
    opened, other = browser.ask(one, do="open", lab=LAB), browser.ask(two, do="open", lab=LAB)
    commit(browser, one, opened)
    seen = browser.ask(two, do="act", piece=piece(other, "follow"), state={"look": 1, "seq": 1})
    assert "il-reveal" in seen["cells"]["act1_reveal"]
    assert len(browser.rows) == 2


def test_rows_that_were_changed_are_named_and_what_is_before_them_can_be_taken_along(browser):
    desk = browser.page()
    commit(browser, desk, browser.ask(desk, do="open", lab=LAB))
    browser.rows[1][6] = browser.rows[1][6].replace("4", "5")
    broken = browser.page("./")
    assert "damaged" in broken.trouble
    assert "can’t be read" in json.loads(broken.ask('{"do": "start"}'))["html"]
    assert "nothing was written" in json.loads(broken.ask('{"do": "reset"}'))["html"]
    assert len(json.loads(json.loads(broken.ask('{"do": "export"}'))["text"])["events"]) <= 1


def test_the_file_goes_to_an_installed_ironlaw_and_back(browser, tmp_path):
    desk = browser.page("./")
    browser.ask(desk, do="name", name="  Ada   L. ")
    opened = browser.ask(desk, do="open", lab=LAB)
    commit(browser, desk, opened)
    file = browser.ask(desk, do="export")
    assert file["name"].startswith("ironlaw-ledger-")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.import_(json.loads(file["text"])) == 3
        assert ledger.prediction(LAB, "act1").payload["confidence"] == 4
        back = json.dumps(ledger.export())
    elsewhere = Browser(new_learner())
    page = elsewhere.page("./")
    assert "3 new events" in elsewhere.ask(page, do="import", text=back)["html"]
    assert "Welcome back, Ada L." in elsewhere.ask(page, do="import", text=back)["html"]
    assert "Nothing was new" in elsewhere.ask(page, do="import", text=back)["html"]
    assert "not JSON" in elsewhere.ask(page, do="import", text="{")["html"]
    assert "a new epoch" in elsewhere.ask(page, do="reset")["html"].lower()


def test_a_dial_that_turns_stores_nothing_and_explore_takes_its_address(browser):
    desk = browser.page("../")
    traits = browser.ask(desk, do="explore", query=[["workload", "gpt2"], ["batch", "4"]])["traits"]
    assert traits["state"]["dials"]["workload"] == "gpt2"
    looked = json.loads(desk.look(json.dumps({"piece": "explore", "state": {**traits["state"], "seq": 9}})))
    assert looked["view"]["seq"] == 9 and desk.unsaved() == "[]"


def test_addresses_begin_where_the_site_begins():
    html = '<a href="/">x</a><a href="/lab/a/">y</a><a href="/glossary#term-x">z</a><link href="/static/1/a.css"><a href="//e.org">'
    assert relative(html, "../../") == (
        '<a href="../../">x</a><a href="../../lab/a/">y</a><a href="../../glossary/#term-x">z</a>'
        '<link href="../../static/1/a.css"><a href="//e.org">'
    )
    text = json.dumps({"html": '<a href="/explore?a=1">', "href": "/lab/b/"}, separators=(",", ":"))
    assert json.loads(relative(text, "./")) == {"html": '<a href="./explore/?a=1">', "href": "./lab/b/"}


def test_in_a_browser_measuring_says_how_to_get_it_and_runs_of_an_import_are_shown(monkeypatch):
    monkeypatch.setattr(host.sys, "platform", "emscripten")
    assert "pip install ironlaw" in catalogue.why_not("tiny_ops") and "import" in catalogue.why_not(catalogue.MACHINE)
