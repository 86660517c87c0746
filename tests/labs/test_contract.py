"""What holds of every lab, act, limit and dial. What a lab has to say for it stands in acts.py and acts_v2.py."""

import random
import re
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from acts import VOLUME_1, Act, Lab, acts
from acts_v2 import VOLUME_2
from headless import Page, bare, figure, turned
from how_thorough import RELEASE
from ledger_at_hand import open_ledger
from rates import unlabelled
from wording import TAG, faults, sentences

from ironlaw.claims import claim
from ironlaw.kit import reading_time, settings
from ironlaw.kit.instrument import stand
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_words import Words

EVERY = (*VOLUME_1, *VOLUME_2)
ACTS = acts(EVERY)
LIMITED = [(act, limit) for act in ACTS for limit in act.declared]
LOCKED = {"header", "rail", "act1_message", "act1_lock", "act1_instrument", "act2_message", "hud"}
LATER = ("act2_reveal", "act2_claims", "act2_reflection", "act2_peek", "receipt")  # than Act II's lock
VERDICT = settings.verdict
JUDGED: list[Any] = []  # settings, in the order in which a banner was made for them
FILL = Words.fill_all
FILLED: dict[str, set[str]] = {}  # words.md of a lab -> its sections as they were filled
SHOWN: dict[tuple[str, str, str], "Shown"] = {}
QUESTIONS = ("act1", "act1_reflection", "act2", "act2_reflection")


@pytest.fixture(scope="module")
def pages(completed, tmp_path_factory):
    """Slug -> the lab of somebody who was right throughout, with every act open; nothing here reaches the ledger but the context."""
    with ExitStack() as ledgers, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Words, "fill_all", filled)
        patch.setattr(settings, "verdict", lambda *about, **more: JUDGED.append(about[3]) or VERDICT(*about, **more))

        @cache
        def of(slug: str) -> Page:
            page = Page(ledgers.enter_context(open_ledger(completed(slug, tmp_path_factory.mktemp("contract")))), slug)
            views = {name: element.widget.view for name, element in page.lab.elements.items()}
            assert {name: view["error"] for name, view in views.items() if view.get("error")} == {}
            return page

        yield of


def filled(words: Words, *arguments, **more):
    """`Words.fill_all`, noted: sections for every answer are filled, though a page shows one."""
    sections = FILL(words, *arguments, **more)
    FILLED.setdefault(words.where, set()).update(map(str, sections.values()))
    return sections


class Shown(NamedTuple):
    """What an instrument shows at some dials, what it reads out, and the setting that was judged."""

    view: dict[str, Any]
    readouts: dict[str, Any]
    setting: Any


def at(page: Page, act: Act, dials):
    return shown(page, act, dials).view


def shown(page: Page, act: Act, dials) -> Shown:
    """Each is computed once: what is one limit's near side is another's far one."""
    key = (page.slug, act.act, str(sorted(dials.items())))
    if key not in SHOWN:
        view = turn(page, act, dials)
        SHOWN[key] = Shown(view, dict(page.lab.readouts.get(act.act, {})), JUDGED[-1] if JUDGED else None)
    return SHOWN[key]


def turn(page: Page, act: Act, dials, moving=False):
    context = dials.get("toggle") or act.where
    if context and page.lab.current_context.slug != context:
        page.send("context", value=context)
        page.reload()
    return turned(page, act.act, moving, **{name: value for name, value in dials.items() if name != "toggle"})


def test_every_lab_keeps_the_contract():
    assert {lab.slug for lab in EVERY} == {path.parent.name for path in LABS.glob("lab_*/lab.py")}


# --- before the first prediction


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_nothing_gives_an_answer_away(lab: Lab, tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        page = Page(ledger, lab.slug)
        assert {name for name, part in page.parts.items() if part is not None} == LOCKED and not ledger.designs()
        assert page.shows("act2.closed", page.parts["act2_message"].text) and page.piece("act1.instrument").view == {"seq": 0}
        whole = page.text
        for option in page.lab.question("act1").options:
            whole = whole.replace(bare(option.label), "", 1)
        told = [bare(page.parts[name].text) for name in ("header", "act1_message", "hud", "rail")] + [
            bare(page.piece("act1").spec["premises"])
        ]
        assert lab.sealed or lab.unsaid
        assert [words for words in (*lab.sealed, "misconception") if words in whole] == []
        assert [words for words in lab.unsaid if any(words in text for text in told)] == []


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_a_commit_opens_what_follows_it_and_no_more(lab: Lab, tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        page = Page(ledger, lab.slug)
        asked, after = page.lab.question("act1"), page.lab.question("act1_reflection")
        wrong = next(option for option in asked.options if option.id != asked.right.id)
        page.predict("act1", wrong.id, 5)
        said = {"question": "act1", "choice": wrong.id, "value": wrong.value, "confidence": 5, "correct": False}
        assert ledger.prediction(lab.slug, "act1").payload == said and page.piece("act1.instrument").view["figures"]
        assert page.reload().parts["act2_lock"] is None
        page.reflect("act1", next(option.id for option in after.options if option.id != after.right.id))  # right or wrong
        assert page.reload().parts["act2_lock"] is not None and page.piece("act2").view.get("committed") is None
        assert [name for name in LATER if page.parts[name] is not None] == [] and ledger.design(lab.slug) is None


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_the_right_answers(pages, lab: Lab):
    assert " ".join(pages(lab.slug).lab.question(name).right.id for name in QUESTIONS) == lab.keys


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_the_core_takes_as_long_as_the_header_says_and_45_minutes_at_most(pages, lab: Lab):
    page = pages(lab.slug)
    assert list(reading_time.faults(page.host)) == []
    assert f"about {page.lab.sheet.lab['minutes']} minutes" in page.parts["header"]


# --- after it


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_claims_are_few_and_their_step_is_called_what_it_is(pages, lab: Lab):
    page = pages(lab.slug)
    for act in ("act1", "act2"):
        chosen = [claim(name) for name in page.lab.claims[act]()]
        assert len(chosen) <= 3 and not [one.id for one in chosen if one.is_of_a_draft]
        measured = any(one.is_measured for one in chosen)
        text = page.cell(f"{act}_claims")
        before = next(place.name for place, after in pairwise(page.lab.places) if after.name == f"{act}.claims")
        lead = page.lab.elements[f"{before}.next"].widget.spec["label"]
        assert (lead, "Check the claims" in text) == (("See what was measured", False) if measured else ("Check the claims", True))
        assert not re.search(r">\s*–\s*<", text)


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_every_answer_is_met(pages, lab: Lab):
    """What was believed is recorded, the feedback is the option's own, what is revealed says whether it was right, and the reason stands
    on the instrument that the commit opened."""
    page = pages(lab.slug)
    for act in ("act1", "act2"):
        asked, after = page.lab.question(act), page.lab.question(f"{act}_reflection")
        for option in sorted(after.options, key=lambda option: option.id == after.right.id):
            view, right = page.reflect(act, option.id)["answered"], option.id == after.right.id
            assert page.shows(f"{act}_reflection.feedback.{option.id}", view["feedback"]) and view["right"] == right
            believed = page.ledger.answers(lab.slug, f"{act}_reflection")[-1].payload["misconception"]
            assert believed == (None if right else option.misconception)
        for option in sorted(asked.options, key=lambda option: option.id == asked.right.id):
            page.predict(act, option.id, 3, again=page.piece(act).state.get("again", 0) + 1)
            text = page.cell(f"{act}_reveal")
            right, reason = option.id == asked.right.id, page.reason(act)
            assert ("il-reveal il-right" in text) == right == reason["right"], option.id
            assert page.shows(f"{act}.feedback.{option.id}", reason["text"]), option.id
            assert right or bare(reason["text"]).startswith(("You said", "You chose"))  # and then the answer, as it was put or in short


# --- limits


@pytest.mark.parametrize("act", [act for act in ACTS if act.limits], ids=lambda act: act.name)
def test_every_limit_has_its_two_sides(act: Act):
    assert set(act.sides) == {limit.name for limit in act.declared} and act.declared[-1].hit(None)


def held_against(page: Page, act: Act, dials):
    """The limit of the act's goal that is broken with these dials, if any."""
    aim = page.lab.aims.get(act.act)
    turned_to = {name: value for name, value in dials.items() if name != "toggle"}
    return aim.goal.broken(page.lab, stand(aim.dials, turned_to)[1]) if aim else None


@pytest.mark.parametrize(("act", "limit"), LIMITED, ids=[f"{act.name} {limit.name}" for act, limit in LIMITED])
def test_every_limit_is_reached_from_both_sides(pages, act: Act, limit):
    page, (there, away) = pages(act.slug), act.sides[limit.name]
    view, readouts, _ = shown(page, act, there)
    banner = view["banner"]
    held = held_against(page, act, there) if limit.tone == "good" else None  # a goal may ask for more than the instrument's limits
    assert (banner["tone"], banner["title"]) == ((held or limit).tone, (held or limit).title)
    assert limit.tone == "warn" or bool(readouts.get("constraint_hit")) == (limit.tone == "fail" and "constraint_hit" in readouts)
    section = f"{act.act.partition('.')[0]}.{limit.name}"
    named = [name for name in page.lab.words.sections if name == section or name.startswith(f"{section}_")]
    assert any(page.shows(name, banner["text"]) for name in named) and "{{" not in banner["text"]
    assert (at(page, act, away)["banner"] or {}).get("title") != limit.title


# --- dials


def other_values(dial):
    """Where else a dial can stand."""
    if dial["type"] == "switch":
        return [not dial["value"]]
    if "options" in dial:
        values = [option["value"] for option in dial["options"] if not option["disabled"] and option["value"] != dial["value"]]
        return [*([value] for value in values), []] if isinstance(dial["value"], list) else values
    ends = [dial["min"], dial["max"], *dial.get("presets", ()), *dial.get("steps", ())]
    return [value for value in dict.fromkeys(ends) if value != dial["value"]]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_every_dial_changes_what_is_seen(pages, act: Act):
    """While it is turned: what is drawn at rest comes by the same way, and may take ten times as long. Half of the dials, drawn by the
    act's name; before a release all."""
    page, turned_so_far = pages(act.slug), set()
    names = [dial["id"] for dial in page.piece(f"{act.act}.instrument").spec["dials"]]
    asked = set(names if RELEASE else random.Random(act.name).sample(names, (len(names) + 1) // 2))
    for base in act.bases:
        still = turn(page, act, base, moving=True)
        before = {part: str(still[part]) for part in act.seen}
        piece = page.piece(f"{act.act}.instrument")
        stand = dict(piece.state["dials"])
        for dial in piece.spec["dials"]:
            name = dial["id"]
            now = {**dial, **still["dials"].get(name, {}), "value": stand[name]}
            if now.get("hidden") or name not in asked - turned_so_far - set(act.elsewhere):
                continue
            views = (turn(page, act, {**base, name: value}, moving=True) for value in other_values(now))
            if any({part: str(view[part]) for part in before} != before for view in views):
                turned_so_far.add(name)
    assert turned_so_far == asked - set(act.elsewhere) and set(act.elsewhere) <= set(names)


@pytest.mark.parametrize("act", [act for act in ACTS if act.still[0]], ids=lambda act: act.name)
def test_axes_hold_still(pages, act: Act):
    names, moves = act.still
    views = [at(pages(act.slug), act, dials) for dials in moves]
    assert [view["error"]["message"] for view in views if view.get("error")] == []
    for name in names:
        drawn = [figure(view, name) for view in views]
        assert len({str([(one[axis]["scale"], one[axis].get("domain")) for axis in "xy"]) for one in drawn}) == 1, name


# --- sentences that code has put together


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_no_sentence_is_made_badly(pages, lab):
    page = pages(lab.slug).to_start()
    pieces = [part for element in page.lab.elements.values() for part in (element.widget.spec, element.widget.view)]
    texts = {text for piece in pieces for text in sentences(piece)} | {TAG.sub("", text) for text in FILLED[f"{lab.slug}/words.md"]}
    assert len(texts) > 50 and [fault for text in texts for fault in faults(text)] == []


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_a_rate_says_how_it_is_known(pages, lab):
    """Planned, fitted, timed, reported or by a model: in the paragraph that has it, whoever reads it."""
    page = pages(lab.slug).to_start()
    drawn = [text for element in page.lab.elements.values() for text in sentences(element.widget.view)]
    paragraphs = [each for section in FILLED[f"{lab.slug}/words.md"] for each in TAG.sub("", section).split("\n\n")]
    assert len(paragraphs) > 50 and [fault for text in (*drawn, *paragraphs) for fault in unlabelled(text)] == []
