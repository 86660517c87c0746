"""What the site's page asks of Python: a lab from lock to answer, what is stored first or can't be, two windows, the file."""

import json
import re

import pytest

from ironlaw.ledger import open_ledger
from ironlaw.measure import software_host
from ironlaw.measure.experiments import experiment_list
from ironlaw.recall.certificate_check import differences
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


@pytest.fixture
def worked(browser):
    """A ledger with three events: a name, a lab that was opened, a prediction."""
    desk = browser.page()
    browser.ask(desk, do="name", name="Ada")
    commit(browser, desk, browser.ask(desk, do="open", lab=LAB))
    return browser


def changed(browser):
    browser.rows[2][6] = browser.rows[2][6].replace("4", "5")


def removed(browser):
    del browser.rows[1]


def shapeless(browser):
    browser.rows[1] = "nonsense"


def ownerless(browser):
    browser.owner = "{"


@pytest.mark.parametrize(("harm", "lost"), [(changed, 1), (removed, 1), (shapeless, 1), (ownerless, 0)])
def test_a_damaged_ledger_is_named_taken_along_whole_and_set_aside(worked, harm, lost):
    harm(worked)
    desk = worked.page("./")
    page = json.loads(desk.ask('{"do": "start"}'))["html"]
    assert "Your progress can’t be read" in page and "Set it aside and go on" in page and 'href="./damaged"' in page
    assert "nothing was written" in json.loads(desk.ask('{"do": "reset"}'))["html"]
    file = json.loads(desk.ask('{"do": "damaged"}'))
    assert json.loads(file["text"])["rows"] == worked.rows and "damaged" in file["name"]
    readable = json.loads(json.loads(desk.ask('{"do": "export"}'))["text"])["events"]
    assert len(readable) == 3 - lost + 1
    assert not json.loads(desk.unsaved())

    again = json.loads(desk.ask('{"do": "repair", "total": 3}'))["html"]
    damaged, owner = json.loads(desk.set_aside())
    assert damaged["rows"] == worked.rows
    assert "Something happened to your ledger" in again and f"{3 - lost} events were carried over" in again and f"{lost} could not" in again
    fresh = Browser(owner)
    fresh.rows = json.loads(desk.unsaved())
    desk.saved()
    assert not desk.set_aside() and fresh.rows[-1][5] == "carried"
    after = fresh.page("./")
    assert not after.trouble and "Welcome back, Ada" in json.loads(after.ask('{"do": "start"}'))["html"]
    assert json.loads(json.loads(after.ask(json.dumps({"do": "damaged", "kept": damaged})))["text"]) == damaged


def test_a_ledger_of_which_nothing_can_be_read_makes_room_for_an_empty_one(browser):
    browser.rows = [None, 3]
    desk = browser.page("./")
    assert "2 could not" in json.loads(desk.ask('{"do": "repair", "total": 2}'))["html"]
    assert [row[5] for row in json.loads(desk.unsaved())] == ["carried"]


def test_where_nothing_is_damaged_nothing_is_set_aside(worked):
    desk = worked.page("./")
    assert "Welcome back" in worked.ask(desk, do="repair")["html"] and not desk.set_aside()
    assert "no damaged ledger" in worked.ask(desk, do="damaged")["error"]


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
    assert "read as JSON" in elsewhere.ask(page, do="import", text="{")["html"]
    assert "a new epoch" in elsewhere.ask(page, do="reset")["html"].lower()


def test_a_dial_that_turns_stores_nothing_and_explore_takes_its_address(browser):
    desk = browser.page("../")
    traits = browser.ask(desk, do="explore", query=[["workload", "gpt2"], ["batch", "4"]])["traits"]
    assert traits["state"]["dials"]["workload"] == "gpt2"
    looked = json.loads(desk.look(json.dumps({"piece": "explore", "state": {**traits["state"], "seq": 9}})))
    assert looked["view"]["seq"] == 9 and desk.unsaved() == "[]"


def test_the_certificate_of_this_browsers_ledger_and_its_file_which_the_export_vouches_for(browser):
    desk = browser.page("../")
    assert "Nothing has been committed yet" in browser.ask(desk, do="certificate")["html"]
    lab = browser.page()
    commit(browser, lab, browser.ask(lab, do="open", lab=LAB))
    html = browser.ask(desk, do="certificate")["html"]
    assert browser.rows[-1][-1] in html and "How much more peak compute" in html and 'href="../certificate.json"' in html
    file = browser.ask(desk, do="certificate.json")
    export = json.loads(browser.ask(desk, do="export")["text"])
    assert file["name"].startswith("ironlaw-certificate-") and differences(json.loads(file["text"]), export) == []
    browser.rows[0][-1] = "0" * 64
    damaged = browser.page("../")
    assert "No certificate." in browser.ask(damaged, do="certificate")["html"] and browser.ask(damaged, do="certificate.json")["error"]


def test_addresses_begin_where_the_site_begins():
    assert relative('<a href="/certificate"><a href="/certificate.json">', "./") == '<a href="./certificate/"><a href="./certificate.json">'
    html = '<a href="/">x</a><a href="/lab/a/">y</a><a href="/glossary#term-x">z</a><link href="/static/1/a.css"><a href="//e.org">'
    assert relative(html, "../../") == (
        '<a href="../../">x</a><a href="../../lab/a/">y</a><a href="../../glossary/#term-x">z</a>'
        '<link href="../../static/1/a.css"><a href="//e.org">'
    )
    text = json.dumps({"html": '<a href="/explore?a=1">', "href": "/lab/b/"}, separators=(",", ":"))
    assert json.loads(relative(text, "./")) == {"html": '<a href="./explore/?a=1">', "href": "./lab/b/"}


def test_in_a_browser_measuring_says_how_to_get_it_and_runs_of_an_import_are_shown(monkeypatch):
    monkeypatch.setattr(software_host.sys, "platform", "emscripten")
    assert "pip install ironlaw" in experiment_list.why_not("tiny_ops") and "import" in experiment_list.why_not(experiment_list.MACHINE)


def test_a_missing_end_is_noticed_and_what_is_left_goes_on(browser):
    desk = browser.page("./")
    for name in ("Ada", "Grace", "Mary"):
        browser.ask(desk, do="name", name=name)
    head = json.dumps({"events": 3, "hash": browser.rows[-1][-1]})
    whole = json.dumps(browser.rows)
    assert not Desk(browser.owner, whole, "./", "", head).trouble
    assert not Desk(browser.owner, whole, "./", "", "").trouble  # as an earlier version left it
    early = json.dumps({"events": 2, "hash": browser.rows[1][-1]})
    assert not Desk(browser.owner, whole, "./", "", early).trouble  # an earlier version wrote the third
    other = json.dumps({"events": 2, "hash": browser.rows[0][-1]})
    assert "event 2 is not the one" in Desk(browser.owner, whole, "./", "", other).trouble
    cut = Desk(browser.owner, json.dumps(browser.rows[:2]), "./", "", head)
    assert "2 of 3 events are there: the end is missing" in cut.trouble
    cut.ask(json.dumps({"do": "repair", "total": 2}))
    carried = json.loads(json.loads(cut.unsaved())[-1][6])
    assert (carried["kept"], carried["lost"]) == (2, 1)


def test_a_place_beyond_all_counting_can_be_repaired(browser):
    desk = browser.page("./")
    browser.ask(desk, do="name", name="Ada")
    browser.rows[0][3] = "lab_99"
    damaged = browser.page("./")
    assert damaged.trouble
    answer = json.loads(damaged.ask(json.dumps({"do": "repair", "total": 10**15})))
    assert "html" in answer and json.loads(json.loads(damaged.unsaved())[-1][6])["lost"] == 10**9
