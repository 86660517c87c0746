"""Certificates that were tampered with, and those that no check can tell from a true one, which the file itself names."""

import copy
import json
from dataclasses import replace

import pytest
from test_recall_certificate import LAB, ME, NEXT, OTHER, new

from ironlaw.errors import BadExport, EditedExport, IronlawError
from ironlaw.ledger.export_text import MOST_PARTS, parse
from ironlaw.recall.certificate_check import differences
from ironlaw.recall.certificate_facts import issue
from ironlaw.recall.certificate_words import NOT_PROVED


def worked(learner=ME, name="Ada"):
    ledger = new(learner)
    ledger.set_learner_name(name)
    ledger.commit_prediction(LAB, "act1", "e4", 1e4, 5, False)
    ledger.append(LAB, "design", {"batch": 8})
    ledger.commit_prediction(NEXT, "act1", "p5", 5.0, 4, True)
    return ledger


def faults(certificate, export):
    """What `ironlaw ledger verify` would say; empty where it accepts."""
    try:
        return differences(certificate, export)
    except IronlawError as error:
        return [str(error)]


def edited(data, path, value):
    data = copy.deepcopy(data)
    node = data
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return data


# --- what is noticed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("labs", 0, "predictions", 0, "correct"), True),
        (("learner", "name"), "Mallory"),
        (("learner", "id"), OTHER),
        (("imported",), [{"learner": OTHER, "events": 1, "predictions": 0}]),
        (("chain", "since"), "2020-01-01T00:00:00.000000Z"),
        (("chain", "head"), "0" * 64),
        (("proves",), ["The learner is an expert."]),
        (("does_not_prove",), []),
        (("issued",), "on her best day, in front of two witnesses"),
        (("issued",), None),
        (("ironlaw",), {"grade": "A"}),
        (("ironlaw",), "1.0, certified by the university"),
        (("labs", 0, "predictions", 0, "confidence"), True),
        (("calibration", "right"), 2.0),
    ],
)
def test_an_edited_certificate_is_refused(path, value):
    export = worked().export()
    assert faults(issue(export, "0.1"), export) == []
    assert faults(edited(issue(export, "0.1"), path, value), export)


def test_spliced_and_cut_exports_are_refused():
    ada, mallory = worked().export(), worked(OTHER, "Mallory").export()
    for forged in (
        {**mallory, "events": [*mallory["events"][:2], *ada["events"][2:]]},
        {**ada, "events": ada["events"][1:]},
        {**ada, "events": [*ada["events"], ada["events"][-1]]},
        {**ada, "events": [*ada["events"][:2], ada["events"][3], ada["events"][2]]},
        {**ada, "events": ada["events"], "learner": mallory["learner"]},
        {**ada, "events": ada["events"], "chain": mallory["chain"]},
    ):
        with pytest.raises((BadExport, EditedExport)):
            issue(forged, "0.1")
    assert any("learner.id" in fault for fault in faults(issue(ada, "0.1"), mallory))


@pytest.mark.parametrize("against", [None, [], "x", 5, {}, {"events": {}}, {"events": []}])
def test_what_is_no_export_says_so(against):
    assert len(faults(issue(worked().export(), "0.1"), against)) == 1


def test_a_key_that_is_written_twice_is_refused_and_so_is_a_bomb():
    text = json.dumps(issue(worked().export(), "0.1"))
    assert parse(text) == json.loads(text)
    with pytest.raises(ValueError, match="'labs' is written twice"):
        parse(text.replace('"labs":', '"labs": "all right", "labs":', 1))
    with pytest.raises(ValueError, match="lists and objects"):
        parse("[" + "[]," * MOST_PARTS + "[]]")


def test_a_friends_imported_work_is_counted_as_imported():
    friend, mine = worked(OTHER, "Ada"), new(ME)
    mine.import_(friend.export())
    mine.set_learner_name("Mallory")
    issued = issue(mine.export(), "0.1")
    assert issued["learner"] == {"id": ME, "name": "Mallory"} and issued["calibration"]["predictions"] == 2
    assert issued["imported"] == [{"learner": OTHER, "events": 4, "predictions": 2}]
    assert faults({**issued, "imported": []}, mine.export())


# --- what a file on the learner's own computer can't prevent: accepted, and named in every certificate


def rehearsed():
    """Answered wrong in one ledger, then right in a new one."""
    second = new(ME)
    second.commit_prediction(LAB, "act1", "e6", 1e6, 5, True)
    return second.export(), "Trying first in a second ledger"


def scripted():
    """No lab was open."""
    made = new(ME)
    for question in ("act1", "act2"):
        made.commit_prediction(LAB, question, "whatever", None, 5, True)
    return made.export(), "A program can write or rewrite a whole ledger"


def backdated():
    made = new(ME)
    with made.store.writing() as rows:
        rows.append([replace(each, time="2020-01-01T00:00:00.000000Z") for each in worked().history()])
    return made.export(), "come from that computer's clock"


def another_learners_under_a_new_name():
    """A friend's events under one's own id, without their chain, as a rescue writes them."""
    friend, mine = worked(OTHER, "Ada").export(), new(ME)
    mine.import_(
        {
            **{key: value for key, value in friend.items() if key != "chain"},
            "format": "ironlaw-ledger/1",
            "events": [{key: value for key, value in {**event, "learner": ME}.items() if key != "hash"} for event in friend["events"]],
        }
    )
    mine.set_learner_name("Mallory")
    return mine.export(), "ones that were given this ledger's id can't be told apart"


def somebody_elses_name():
    return worked(ME, "Grace Hopper").export(), "the name were made on the learner's own computer"


@pytest.mark.parametrize("forgery", [rehearsed, scripted, backdated, another_learners_under_a_new_name, somebody_elses_name])
def test_a_forgery_that_is_accepted_is_named_in_the_certificate(forgery):
    export, words = forgery()
    issued = issue(export, "0.1")
    assert faults(issued, export) == [] and issued["imported"] == []
    assert any(words in sentence for sentence in issued["does_not_prove"])


def test_a_chosen_beginning_is_accepted_and_named():
    """Issued before the mistakes; the longer ledger confirms it."""
    ledger = worked()
    early = issue(ledger.export(), "0.1")
    ledger.commit_prediction(NEXT, "act2", "x", 1.0, 5, False)
    assert faults(early, ledger.export()) == [] and any("That the ledger ends here" in words for words in NOT_PROVED)
