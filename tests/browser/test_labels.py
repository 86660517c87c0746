"""No two words of a picture lie on each other or outside it, its data fill it as it opens, and its marks that stand for a dial move: every
picture of every instrument, with every eighth turn of a dial to its end, on a phone, a tablet and a desk. No lab is walked. All ends and
options, and random settings of all dials, are tried before a release."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from how_thorough import RELEASE
from label_collisions import SLUGS, as_opened, at_the_ends, collisions, completed, drawing_page, ends, named_below, oblong, pictures
from playwright.sync_api import Browser, Page
from touch_marks import stiff

from ironlaw.kit.question_sheet import Option, Question
from ironlaw.labs.review import ladder, review, roof
from ironlaw.labs.review.conceptmap import conceptmap
from ironlaw.ledger import open_ledger
from ironlaw.pages.explore import explore_settings
from ironlaw.pages.explore.view import view
from ironlaw.pictures.calibration_picture import calibration
from ironlaw.recall import confidence
from ironlaw.widget.assets import script
from ironlaw.widget.piece import plain


def explored(chance: random.Random) -> set[str]:
    """What /explore draws: every third option of every dial, and every third workload on a machine and in a mode of its own; before a
    release all of them. The largest takes seconds and draws the same kinds of words as its smaller sisters."""
    every, some = explore_settings.usual(), 1 if RELEASE else 3
    start = {dial["id"]: dial["value"] for dial in every}
    light = [option["value"] for option in every[0]["options"] if "llama3_70b" not in option["value"]]
    known = {dial["id"]: [option["value"] for option in dial.get("options", ())] for dial in every}
    turns = [start | {dial["id"]: value} for dial in every[1:] for value in ends(dial)[::some]]
    turns += [start | {"workload": slug} | {name: chance.choice(known[name]) for name in ("hardware", "mode")} for slug in light[::some]]
    views = [view({"dials": turn, "seq": 1, "moving": True}) for turn in turns]
    return {json.dumps(figure, ensure_ascii=False) for each in views for figure in plain(list(each.get("figures", ())))}


@pytest.fixture(scope="module")
def judge(chromium: Browser) -> Iterator[Page]:
    with drawing_page(chromium) as page:
        yield page


def some(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The opening and every eighth turn of a dial; before a release, all."""
    return settings if RELEASE else settings[::8]


def missed(question: Question) -> Option:
    """What a learner chose who was wrong: the mark stands away from the truth, and an arrow between them."""
    return next(option for option in question.options if option.id != question.right.id)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_pictures_of_a_lab(judge: Page, slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with completed(slug, tmp_path) as lab:
        drawn = [text for instrument in lab.instruments.values() for text in pictures(instrument, some(at_the_ends(instrument, last=True)))]
        opened, immovable = [], []
        monkeypatch.setattr(lab, "choice", lambda name: missed(lab.question(name)))
        for instrument in lab.instruments.values():
            [start] = as_opened(instrument)
            mine = list(pictures(instrument, [start]))
            immovable += [fault for text in mine for fault in stiff(judge, text, instrument.dials(start))]
            opened += mine
    assert immovable == []
    assert len(drawn) > 5
    assert collisions(judge, drawn) == []
    assert named_below(judge, slug, opened) == [], "a line is named at its end"
    assert oblong(judge, slug, opened) == [], "both axes are rates, and a step across is not as long as a step up"
    assert collisions(judge, opened, filled=True) == [], "the data fill less than 60% of a plot at its opening"


# --- the review

# A way through the map is walked in steps of eight pixels, less than a node is high: none of them lies on a node that it does not lead to.
MAP = """
window.judgeMap = (spec, widths) => Object.entries(widths).flatMap(([screen, width]) => {
  const { places, height, parents } = placeNodes(spec, width);
  const gaps = parents ? null : gapsOf(places, width);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const box = ({ x, y, w, h }) => ({ left: x - w / 2 + 1, right: x + w / 2 - 1, top: y + 1, bottom: y + h - 1 });
  const boxes = [...places].map(([id, place]) => [id, box(place)]);
  const hits = boxes.filter(([, b]) => b.left < -1 || b.right > width + 1 || b.bottom > height).map(([id]) => `${id} is outside`);
  boxes.forEach(([id, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) hits.push(`${id} lies on ${other}`);
  }));
  for (const { from, to } of spec.edges.filter((edge) => !parents || parents.get(edge.to) === edge.from)) {
    line.setAttribute("d", edgePath(places.get(from), places.get(to), Boolean(parents), gaps));
    for (let at = 0, length = line.getTotalLength(); at <= length; at += 8) {
      const { x, y } = line.getPointAtLength(at);
      const [behind] = boxes.find(([id, b]) => id !== from && id !== to && x > b.left && x < b.right && y > b.top && y < b.bottom) ?? [];
      if (behind) { hits.push(`${from} to ${to} runs behind ${behind}`); break; }
    }
  }
  return hits.map((hit) => `${screen}: ${hit}`);
});
true; // what stands last is the result, and a function would be called
"""
MAP_WIDTHS = {"phone": 350, "tablet": 780, "desk": 1176, "wide": 1216}


def asked(module: Any, lab: Any) -> SimpleNamespace:
    """An instrument of the review, its question answered."""
    answered = {"show": True}

    def compute(values: dict[str, Any]) -> Any:
        guess = "main" if module is ladder else "memory-bound"
        return module.view(lab, values | answered | ({"guess": guess} if values["guess"] == module.NO_GUESS else {}))

    return SimpleNamespace(dials=module.dials(lab), compute=compute)


def test_the_reviews_pictures_and_its_map(judge: Page, tmp_path: Path) -> None:
    chance = random.Random("review")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        lab = review.open(ledger=ledger)
        drawn = [text for module in (ladder, roof) for text in pictures(asked(module, lab), at_the_ends(asked(module, lab)))]
        spec = plain(conceptmap(lambda: lab.state, lambda cards: None).spec)
    for count in (1, 2, 5, 20, 60):
        answers = [SimpleNamespace(confidence=chance.randint(1, 5), correct=chance.random() < 0.6) for _ in range(count)]
        drawn.append(json.dumps(plain(calibration(confidence.table(answers))), ensure_ascii=False))
    assert len(drawn) > 100
    assert collisions(judge, drawn) == []
    judge.evaluate(f"{{{script(('map',))}\n{MAP}}}")
    assert judge.evaluate("([spec, widths]) => window.judgeMap(spec, widths)", [spec, MAP_WIDTHS]) == []


def test_no_two_words_lie_on_each_other_in_explore(judge: Page) -> None:
    drawn = sorted(explored(random.Random("explore")))
    assert len(drawn) > (100 if RELEASE else 30)
    assert collisions(judge, drawn) == []
