"""After the commit an instrument stands at the question's own case, whatever the ledger holds, and a saved lab reopens as it was saved."""

import re
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from full_ledger import spoil
from headless import Page, bare
from how_thorough import RELEASE
from ledger_at_hand import open_ledger

from ironlaw.kit import context, question_sheet
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_module import LabModule
from ironlaw.ledger import Ledger
from ironlaw.ledger.events import now
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.registry.machines import hardware

SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
OFFERS = {
    "lab_11_roofline": 1, "lab_14_tail": 1, "lab_v2_03_fabric": 1, "lab_v2_05_parallelism": 2, "lab_v2_06_collectives": 1,
    "lab_v2_07_checkpoint": 1, "lab_v2_10_kv_serving": 2, "lab_v2_14_adversarial": 1,
}  # fmt: skip
OWN = {("lab_v2_17_synthesis", "act1"), ("lab_v2_17_synthesis", "act2")}  # the question is about the learner's own record and designs


def commit(page, act, right=True):
    """As the learner does, everything before it answered; the page is not loaded again."""
    question = page.lab.question(act)
    option = question.right if right else next(each for each in question.options if each.id != question.right.id)
    page.predict(act, option.id, **({"estimate": 1.0} if "estimate" in page.piece(act).state else {}))
    if page.lab.prediction(act) is None:  # one that seals an estimate or a curve with it
        page.ledger.commit_prediction(page.slug, act, option.id, option.value, 3, right, 1)
        page.reload()


def to_act(page, act):
    """Everything before an act, in the ledger."""
    lab = page.lab
    for name, question in lab.questions.items():
        if name == act:
            break
        if question.kind in ("prediction", "decision"):
            if lab.prediction(name) is None:
                page.ledger.commit_prediction(page.slug, name, question.right.id, question.right.value, 3, True, 1)
        elif question.kind != "number" and not lab.has_answer(name):
            payload = {"question": name, "choice": question.right.id, "correct": True, "misconception": None}
            page.ledger.append(page.slug, "reflection", payload)
    return page.reload()


def first_instrument(lab, act):
    """The one that opens with the commit."""
    place = lab.progress.after(f"{act}.lock").name
    return act if place == f"{act}.instrument" else place


def strings(value):
    """What is in view; a table and what hovering tells are not."""
    if isinstance(value, dict):
        return [text for key, each in value.items() if key not in ("table", "hover") for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def screen(view):
    """What cards, formula and the picture in front say."""
    return bare(" ".join(strings([view["cards"], view["formula"], view["figures"][0]])))


def says(text, number):
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", text) is not None


def case_of(page, act):
    """Everything on the screen right after the commit."""
    piece = page.piece(f"{first_instrument(page.lab, act)}.instrument")
    shown = {name: piece.view[name] for name in ("cards", "formula", "figures", "banner", "note", "after")}
    return shown | {"dials": piece.state["dials"], "context": page.lab.current_context.slug}


def committed(slug, path, looked_around=False):
    """(act, page) after each wrong commit; `looked_around`: every other lab was saved on an odd design, and this one stands in its last
    context before each commit."""
    with open_ledger(path) as ledger:
        if looked_around:
            spoil(ledger, slug)
        page = Page(ledger, slug)
        for act in ("act1", "act2"):
            to_act(page, act)
            if looked_around:
                page.send("context", value=page.lab.contexts[-1].slug)
            commit(page, act, right=False)
            yield act, page


@pytest.mark.parametrize("slug", SLUGS)
def test_the_screen_shows_the_key_and_nothing_of_another_lab_moves_it(slug, tmp_path, monkeypatch):
    monkeypatch.setattr(context, "known_local", lambda: hardware("pi5"))
    cases = {}
    for act, page in committed(slug, tmp_path / "plain.db"):
        cases[act] = case_of(page, act)
        truth = bare(LabModule(LABS / slug, act).truth(page.lab))
        shown = screen(cases[act])
        assert [number for number in NUMBER.findall(truth) if not says(shown, number)] == [], act
    for act, page in committed(slug, tmp_path / "odd.db", looked_around=True):
        if (slug, act) not in OWN:
            case = case_of(page, act)
            assert case["dials"] == cases[act]["dials"]
            assert case == cases[act]


ON_EITHER = ("lab_11_roofline", "act1")  # asked about whichever of the lab's own devices is chosen; the message names it


@pytest.mark.parametrize("slug", SLUGS)
def test_a_commit_brings_the_question_s_context_from_every_other(slug, monkeypatch):
    """Chosen in this lab or, where it is the same device, in another one."""
    monkeypatch.setattr(context, "known_local", lambda: hardware("pi5"))
    sheet = question_sheet.load(LABS / slug / "questions.toml")
    contexts, elsewhere = context.contexts(sheet.contexts), "lab_07_fusion" if slug == "lab_01_magnitude" else "lab_01_magnitude"
    for act in ("act1", "act2"):
        for chosen, lab in ((each.slug, lab) for each in contexts for lab in (slug, elsewhere)):
            learner = str(uuid4())
            ledger = Ledger(MemoryStore(learner, now()), learner)
            ledger.append(lab, "context", {"context": chosen})
            stood = context.current(contexts, sheet.questions, ledger, slug).slug
            option, own = sheet.questions[act].options[0], sheet.questions[act].context
            ledger.commit_prediction(slug, act, option.id, option.value, 3, False, 1)
            if (slug, act) == ON_EITHER:
                assert not own
                own = contexts[0].slug if stood == context.LOCAL else stood
            assert context.current(contexts, sheet.questions, ledger, slug).slug == own, (act, chosen, lab)


class Reopened(NamedTuple):
    """A lab that was saved in its last context, and opened again after every other lab was saved on an odd design."""

    page: Page
    saved: dict[str, Any]
    standing: dict[str, Any]
    changed: bool


@pytest.fixture(scope="module", params=SLUGS)
def reopened(request, completed, tmp_path_factory):
    slug = request.param
    with pytest.MonkeyPatch.context() as patch, open_ledger(completed(slug, tmp_path_factory.mktemp("reopened"))) as ledger:
        patch.setattr(context, "known_local", lambda: hardware("pi5"))
        page = Page(ledger, slug)
        page.send("context", value=page.lab.contexts[-1].slug)
        assert page.save()["saved"]
        saved = values(page)
        spoil(ledger, slug)
        page.reload()
        yield Reopened(page, saved, values(page), page.piece("save").view["changed"])


def values(page):
    """Where the lab stands: its context, and the dials of each instrument."""
    return {"context": page.lab.current_context.slug} | {name: each.values for name, each in page.lab.instruments.items()}


def test_a_saved_lab_reopens_as_it_was_saved(reopened):
    assert reopened.saved["context"] == reopened.page.lab.contexts[-1].slug
    assert reopened.standing == reopened.saved and not reopened.changed


def test_what_earlier_labs_offer_is_said_and_can_stand(reopened):
    page = reopened.page
    assert sum(len(instrument.piece.spec["offers"]) for instrument in page.lab.instruments.values()) == OFFERS.get(page.slug, 0)
    for name, instrument in page.lab.instruments.items():
        for offer in instrument.piece.spec["offers"]:
            assert offer["label"].startswith("Start from my Lab ") and "→" in offer["note"]
            view = page.turn(name, **offer["dials"])
            assert not view["error"] and not view["moved"], (offer, view["error"])


def another(dial):
    """A value of a dial that it does not have."""
    if "options" in dial:
        return next((option["value"] for option in dial["options"] if option["value"] != dial["value"]), dial["value"])
    return not dial["value"] if dial["type"] == "switch" else dial["max"] if dial["value"] != dial["max"] else dial["min"]


@pytest.mark.parametrize("slug", SLUGS)
def test_choosing_a_context_applies_whatever_was_touched(slug, completed, tmp_path):
    """The dials that follow it have that context's values, wherever they were turned before: to another context and back, and to every
    one of the lab before a release."""
    with open_ledger(completed(slug, tmp_path)) as ledger:
        page = Page(ledger, slug)
        others = [each for each in page.lab.contexts if each is not page.lab.current_context]
        for chosen in (
            [*(others if RELEASE else others[-1:]), page.lab.current_context] if any(page.lab.follows.values()) and others else ()
        ):
            for name, follows in page.lab.follows.items():
                dials = {dial["id"]: dial for dial in page.lab.instruments[name].dials(page.piece(f"{name}.instrument").state["dials"])}
                if follows:
                    page.turn(name, **{dial: another(dials[dial]) for dial in follows})
            page.send("context", value=chosen.slug)
            for name, follows in page.lab.follows.items():
                instrument, piece = page.lab.instruments[name], page.piece(f"{name}.instrument")
                begins = {dial["id"]: dial["value"] for dial in instrument.dials(piece.state["dials"] | dict.fromkeys(follows))}
                assert {dial: instrument.values[dial] for dial in follows} == {dial: begins[dial] for dial in follows}, (name, chosen.slug)


def test_a_lab_opens_on_the_device_that_was_chosen_last_and_never_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(context, "known_local", lambda: hardware("pi5"))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for chosen in ("orin_nx_16gb", "this_machine"):
            ledger.append("lab_01_magnitude", "context", {"context": chosen})
        assert Page(ledger, "lab_11_roofline").lab.current_context.slug == "orin_nx_16gb"
        ledger.append("lab_11_roofline", "context", {"context": "this_machine"})
        assert Page(ledger, "lab_11_roofline").lab.current_context.slug == "this_machine"  # chosen here


def test_contexts_of_the_same_name_are_each_labs_own(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append("lab_v2_17_synthesis", "context", {"context": "saved"})
        assert Page(ledger, "lab_v2_06_collectives").lab.current_context.slug == "ports"
