"""No two words of a picture lie on each other: every picture of every instrument, at both ends of every dial and at random settings,
on a phone, a tablet and a desk. The pictures are laid out by the widget's own script in one page; nothing is clicked."""

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ironlaw import kit
from ironlaw.kit import page as plain_page
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.labs.review import ladder, review, roof
from ironlaw.labs.review.conceptmap import conceptmap
from ironlaw.ledger import open_ledger
from ironlaw.pages.explore import explore_settings
from ironlaw.pages.explore.view import view
from ironlaw.pictures.calibration_picture import calibration
from ironlaw.recall import confidence
from ironlaw.widget.assets import DRAWING, script, typeface
from ironlaw.widget.dials import settle
from ironlaw.widget.piece import plain

SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
WIDTHS = {"phone": 336, "tablet": 482, "desk": 763}  # px that a picture has on screens of 390, 820 and 1280
RANDOM = 60  # settings of a lab, divided among its instruments
# Words as the script means to draw them, each a box; two boxes that share more than a pixel each way are a collision.
COLLISIONS = """
const walk = (node, out) => {
  if (Array.isArray(node)) return node.forEach((each) => walk(each, out));
  if (!node || typeof node !== "object") return;
  if (node.tag === "text") out.push(node);
  else walk(node.children, out);
};
const said = (node) => (typeof node === "object" ? node.children.map(said).join("") : String(node));
const bold = (node) => /il-strong|il-regime|il-inside/.test(node.attributes.class ?? "");
function textBox(node) {
  const a = node.attributes;
  const gaps = node.children.filter((child) => child.tag === "tspan").reduce((sum, child) => sum + (child.attributes.dx ?? 0), 0);
  const heavy = (child) => bold(node) || /il-tagged/.test(child.attributes?.class ?? "");
  const width = node.children.reduce((sum, child) => sum + measure(said(child), heavy(child)), gaps);
  const left = (a.x ?? 0) - width * SHIFT[a["text-anchor"] ?? "start"];
  const turn = a.transform?.match(/translate\\(([-\\d.]+),([-\\d.]+)\\) rotate\\(([-\\d.]+)\\)/);
  if (!turn) return [{ text: said(node), left, right: left + width, top: a.y - SIZE * 0.74, bottom: a.y + SIZE * 0.2 }];
  const [mx, my, angle] = turn.slice(1).map(Number); // words along a line: a row of small boxes
  const [c, s] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return Array.from({ length: Math.ceil(width / 6) }, (_, i) => {
    const [px, py] = [-width / 2 + 6 * i + 3, a.dy - 4];
    const [x, y] = [mx + c * px - s * py, my + s * px + c * py];
    return { text: said(node), left: x - 3, right: x + 3, top: y - 4, bottom: y + 4 };
  });
}
// The arrow from what was predicted to the truth runs through no words of its own.
function struck(node) {
  if (Array.isArray(node)) return node.flatMap(struck);
  if (!node || typeof node !== "object" || node.tag === "text") return [];
  if (!/il-bracket/.test(node.attributes?.class ?? "")) return struck(node.children ?? []);
  const [path, text] = ["path", "text"].map((tag) => node.children.find((child) => child?.tag === tag));
  const line = path?.attributes.d.match(/M([-\\d.]+),([-\\d.]+)H([-\\d.]+)/)?.slice(1).map(Number);
  if (!line || !text) return [];
  const [[from, level, to], [box]] = [line, textBox(text)];
  const across = Math.min(Math.max(from, to), box.right) - Math.max(Math.min(from, to), box.left);
  return level > box.top && level < box.bottom && across > 1 ? [`the arrow × ${box.text}`] : [];
}
function collisions(figure, width) {
  const ui = { id: "p", local: {}, widths: new Map(), drawn: new Map(), tall: new Set() };
  const texts = [];
  const drawn = plotView(figure, figure.id, width, { ui, spec: {}, line: {} });
  walk(drawn, texts);
  const boxes = texts.filter((node) => said(node).trim()).map(textBox);
  const hits = struck(drawn);
  boxes.forEach((some, i) => boxes.slice(i + 1).forEach((others) => {
    const shared = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    if (some.some((a) => others.some((b) => Math.min(...shared(a, b)) > 1))) hits.push(`${some[0].text} × ${others[0].text}`);
  }));
  // what names a bar or gives its value never goes, and neither does the learner's own mark or the truth
  const all = texts.map(said);
  const there = (words) => all.some((text) => text.includes(words) || (text.endsWith("…") && words.startsWith(text.slice(0, -1))));
  const kept = figure.marks.filter((mark) => mark.label && ((mark.type === "bar" && !figure.stacked) || mark.role));
  const wanted = [...(figure.y.names ?? []), ...kept.map((mark) => mark.label)];
  return [...hits, ...wanted.filter((words) => !there(words)).map((words) => `${words} is missing`)];
}
window.judge = (figures, widths) => figures.flatMap((text) => {
  const figure = JSON.parse(text);
  return Object.entries(widths).flatMap(([screen, width]) => collisions(figure, width).map((hit) => `${screen}, ${figure.id}: ${hit}`));
});
window.ready = typeface;
"""


def turned(dial: dict[str, Any], chance: random.Random) -> Any:
    """A value that the dial can have. Measured rates instead of the datasheet's move a point a little and cost most of the time here:
    they have their turn at the ends."""
    if dial["id"] == "measured" and isinstance(dial["value"], bool):
        return dial["value"]
    if "options" in dial and dial["type"] != "chain":
        return chance.choice([option["value"] for option in dial["options"] if not option["disabled"]])
    if dial["type"] == "chain":
        return [chance.choice(dial["options"])["value"] for _ in range(chance.randint(1, dial["most"]))]
    if dial["type"] == "switch":
        return chance.random() < 0.5
    if dial["type"] == "log":
        value = math.exp(chance.uniform(math.log(dial["min"]), math.log(dial["max"])))
    elif dial["type"] == "range":
        value = chance.uniform(dial["min"], dial["max"])
    else:
        return dial["value"]
    return round(value) if dial.get("whole") else value


def ends(dial: dict[str, Any]) -> list[Any]:
    if "options" in dial and dial["type"] != "chain":
        return [option["value"] for option in dial["options"] if not option["disabled"]]
    if dial["type"] == "chain":
        return [[dial["options"][0]["value"]], [dial["options"][-1]["value"]] * dial["most"]]
    return {"switch": [False, True], "log": [dial.get("min"), dial.get("max")], "range": [dial.get("min"), dial.get("max")]}.get(
        dial["type"], []
    )


def pictures(instrument: Any, chance: random.Random, often: int) -> Iterator[str]:
    """What an instrument draws at both ends of every dial, and so often at random settings of all of them; each picture once."""
    start = {dial["id"]: dial["value"] for dial in instrument.dials({})}
    dials = instrument.dials(start)
    settings = [start | {dial["id"]: value} for dial in dials for value in ends(dial)]
    for _ in range(often):
        values = dict(start)
        for dial in instrument.dials(values):
            values[dial["id"]] = turned(dial, chance)
        settings.append(values)
    known = set()
    for values in settings:
        stand, _ = settle(instrument.dials(values), values)
        for figure in plain(list(instrument.compute({**stand, "moving": True}).figures)):  # a simulation is short then
            text = json.dumps(figure, ensure_ascii=False)
            if text not in known:
                known.add(text)
                yield text


def explored(chance: random.Random) -> set[str]:
    """What /explore draws: every option of every dial, and each workload on a machine and in a mode of its own. The largest takes
    seconds and draws the same kinds of words as its smaller sisters."""
    every = explore_settings.usual()
    start = {dial["id"]: dial["value"] for dial in every}
    light = [option["value"] for option in every[0]["options"] if "llama3_70b" not in option["value"]]
    known = {dial["id"]: [option["value"] for option in dial.get("options", ())] for dial in every}
    turns = [start | {dial["id"]: value} for dial in every[1:] for value in ends(dial)]
    turns += [start | {"workload": slug} | {name: chance.choice(known[name]) for name in ("hardware", "mode")} for slug in light]
    views = [view({"dials": turn, "seq": 1, "moving": True}) for turn in turns]
    return {json.dumps(figure, ensure_ascii=False) for each in views for figure in plain(list(each.get("figures", ())))}


@pytest.fixture(scope="module")
def judge(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    page = context.new_page()
    page.set_content(f"<style>{typeface()}</style><p style='font-family:Inter'>a <b>b</b></p>")
    page.evaluate(f"{{{script(DRAWING)}\n{COLLISIONS}}}")
    page.evaluate("() => window.ready")
    yield page
    context.close()


@pytest.mark.parametrize("slug", SLUGS)
def test_no_two_words_of_a_picture_lie_on_each_other(judge: Page, slug: str, tmp_path: Path) -> None:
    chance = random.Random(slug)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        complete(kit.open(slug, ledger))
        opened = plain_page.Page(LABS / slug, ledger)
        opened.open()
        lab = opened.lab
        often = RANDOM // len(lab.instruments)
        drawn = [text for instrument in lab.instruments.values() for text in pictures(instrument, chance, often)]
    assert len(drawn) > 100
    hits = judge.evaluate("([figures, widths]) => window.judge(figures, widths)", [drawn, WIDTHS])
    assert hits == []


# --- the review

# A way through the map is walked in steps of two pixels: none of them lies on a node that it does not lead to.
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
    for (let at = 0; at <= line.getTotalLength(); at += 2) {
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
        drawn = [text for module in (ladder, roof) for text in pictures(asked(module, lab), chance, RANDOM // 2)]
        spec = plain(conceptmap(lambda: lab.state, lambda cards: None).spec)
    for count in (1, 2, 5, 20, 60):
        answers = [SimpleNamespace(confidence=chance.randint(1, 5), correct=chance.random() < 0.6) for _ in range(count)]
        drawn.append(json.dumps(plain(calibration(confidence.table(answers))), ensure_ascii=False))
    assert len(drawn) > 100
    assert judge.evaluate("([figures, widths]) => window.judge(figures, widths)", [drawn, WIDTHS]) == []
    judge.evaluate(f"{{{script(('map',))}\n{MAP}}}")
    assert judge.evaluate("([spec, widths]) => window.judgeMap(spec, widths)", [spec, MAP_WIDTHS]) == []


def test_no_two_words_lie_on_each_other_in_explore(judge: Page) -> None:
    drawn = sorted(explored(random.Random("explore")))
    assert len(drawn) > 100
    assert judge.evaluate("([figures, widths]) => window.judge(figures, widths)", [drawn, WIDTHS]) == []
