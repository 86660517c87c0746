"""What every lab's screen keeps after a commit: the mark in front, few pictures, a sentence under each, few dials, short premises."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest
from acts import VOLUME_1, Lab
from acts_v2 import VOLUME_2
from headless import Page, bare
from ledger_at_hand import open_ledger

from ironlaw.kit.lab import LABS
from ironlaw.kit.picture_caption import LONGEST

EVERY = (*VOLUME_1, *VOLUME_2)
PICTURES, DIALS, ROWS, WORDS = 3, 6, 6, 60
MOVES = sorted({path.parts[-3] for path in LABS.glob("lab_*/act*/__init__.py") if "import motion" in path.read_text()})
# Cards with a figure of the picture's: the question is about it.
ASKED = {
    ("lab_01_magnitude", "act2"): {"Memory, D/BW", "Compute, O/R", "Overhead, L", "Total, overlapped"},  # which of them is largest
    ("lab_15_parity", "act1"): {"Ratio of the odds"},
    ("lab_v2_02_interconnect", "act1"): {"Bus bandwidth"},
    ("lab_v2_13_privacy", "act1"): {"Correct guesses, at most"},
}
STILLS = {"your answer", "your prediction", "asked", "your guess"}


@pytest.fixture(scope="module")
def wrong(completed, tmp_path_factory) -> Iterator[Any]:
    """Slug -> the lab of somebody who was wrong in both acts, with every act open."""
    with ExitStack() as ledgers:

        @cache
        def of(slug: str) -> Page:
            page = Page(ledgers.enter_context(open_ledger(completed(slug, tmp_path_factory.mktemp("wrong")))), slug)
            for act in ("act1", "act2"):
                asked = page.lab.question(act)
                page.predict(act, next(o.id for o in asked.options if o.id != asked.right.id), 3, again=1)
            return page.reload()

        yield of


def instruments(page: Page) -> dict[str, Any]:
    return {name: element.widget for name, element in page.lab.elements.items() if element.widget.kind == "instrument"}


def tabs(view: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(figure.get("tab", figure["title"]) for figure in view["figures"]))


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_the_mark_and_the_truth_are_on_the_first_picture(wrong, lab: Lab):
    page, missing = wrong(lab.slug), []
    for act in ("act1", "act2"):
        first = next(piece for name, piece in instruments(page).items() if name.startswith(f"{act}."))
        roles = {mark.get("role") for mark in first.view["figures"][0]["marks"]}
        if not {"prediction", "truth"} <= roles:
            missing.append((lab.slug, act))
    assert missing == []


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_there_are_few_pictures_named_for_what_one_sees(wrong, lab: Lab):
    for name, piece in instruments(wrong(lab.slug)).items():
        names = tabs(piece.view)
        assert len(names) <= PICTURES, f"{name}: {names}"
        assert not STILLS & {one.lower() for one in names}, name


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_every_picture_says_what_to_notice(wrong, lab: Lab):
    """One sentence, short; also of a picture that comes with another setting."""
    for name, piece in instruments(wrong(lab.slug)).items():
        for figure in (*piece.view["figures"], *piece.view.get("motions", ())):
            words = bare(figure.get("caption", "")).split()
            assert 4 <= len(words) <= LONGEST, f"{name}, {figure['id']}: {' '.join(words) or 'no sentence'}"


@pytest.mark.parametrize("slug", MOVES)
def test_what_moves_is_told_in_words_and_in_stills(wrong, slug: str):
    """A handful of events, from the beginning to the end, each a sentence; and moments for those who want less motion."""
    moving = [motion for piece in instruments(wrong(slug)).values() for motion in piece.view.get("motions", ())]
    assert moving
    for motion in moving:
        times = [at for at, _ in motion["events"]]
        assert times[0] == 0 and times[-1] >= 0.9 * motion["end"] and 4 <= len(times) <= 40, motion["id"]
        assert all(text.strip().endswith(".") and "  " not in text for _, text in motion["events"]), motion["id"]
        assert 2 <= len(motion["stills"]) <= 6 and motion["stills"] == sorted(motion["stills"]), motion["id"]


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_few_dials_are_in_view(wrong, lab: Lab):
    for name, piece in instruments(wrong(lab.slug)).items():
        shown = [dial["id"] for dial in piece.spec["dials"] if not dial.get("hidden") and not dial.get("more")]
        assert len(shown) <= DIALS, f"{name}: {shown}"


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_a_card_repeats_no_label(wrong, lab: Lab):
    """What the picture in front labels stands on no card, unless it is the answer itself, or the card says whether it is good."""
    page = wrong(lab.slug)
    for act in ("act1", "act2"):
        for name, piece in instruments(page).items():
            if name.startswith(act):
                said = [words for words in labels(piece.view["figures"][0]) if words]
                answer = " ".join(said_of(mark) for mark in piece.view["figures"][0]["marks"] if mark.get("role") == "truth")
                again = [card["label"] for card in piece.view["cards"] if repeated(card, said) and not repeated(card, [answer])]
                assert set(again) <= ASKED.get((lab.slug, act), set()), f"{name}: {again}"


def labels(figure: dict[str, Any]) -> list[str]:
    """Of marks, but for those of the prediction and the answer, and of the legend."""
    marks = [said_of(mark) for mark in figure["marks"] if mark.get("role") not in ("prediction", "truth")]
    return marks + [bare(entry["label"]) for entry in figure.get("legend", ())]


def said_of(mark: dict[str, Any]) -> str:
    return bare(" ".join([str(mark.get("label") or ""), *(tag["text"] for tag in mark.get("tags") or ())]))


def repeated(card: dict[str, Any], said: list[str]) -> bool:
    figure = bare(f"{card['value']} {card.get('unit', '')}").replace(" ", "").replace("\u202f", "")
    if card.get("tone") or card.get("word") or not any(map(str.isdigit, figure)):
        return False
    exactly = re.compile(rf"(?<![\d.,]){re.escape(figure)}(?![\d.,%×])")
    return any(exactly.search(words.replace(" ", "").replace("\u202f", "")) for words in said)


@pytest.mark.parametrize("lab", EVERY, ids=lambda lab: lab.slug)
def test_premises_are_short(wrong, lab: Lab):
    for act, question in wrong(lab.slug).lab.sheet.questions.items():
        if question.kind not in ("prediction", "decision"):
            continue
        text, table, after = wrong(lab.slug).piece(act).spec["premises"].partition("<table>")
        rows, _, rest = after.partition("</table>")
        assert rows.count("<tr>") - 1 <= ROWS and len(bare(f"{text} {rest}").split()) <= WORDS, f"{act}: {bare(text + rest)}"
        assert not table or rows.count("<th>") == 3, f"{act}: quantity, value, unit"
