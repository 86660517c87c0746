"""What an instrument draws, which words of it lie on each other or outside, and how much of a plot its data fill: the pictures are laid out
by the widget's own script in one page."""

import json
import math
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from touch_marks import TOUCH

from ironlaw import kit
from ironlaw.kit import claim_panel
from ironlaw.kit import page as plain_page
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger
from ironlaw.widget.assets import SCRIPTS, script, style, typeface
from ironlaw.widget.dials import settle
from ironlaw.widget.piece import plain

# Axes that stand where they are at every setting, because more is seen by that than is lost by the room: lab, picture, axis.
STILL = {
    ("lab_01_magnitude", "trip", "x"): "one axis for the whole pass, of which a layer is a part",
    ("lab_08_ledger", "mountain", "y"): "it doubles, so that the peak is seen to rise under a dial and not the axis to shrink",
    ("lab_10_frontier", "weights", "y"): "a share on a log axis, up to all",
    ("lab_11_roofline", "budget", "x"): "it doubles, as the mountain's",
    ("lab_12_amdahl", "every_part", "x"): "never ends before 2×: where no part gains, none is seen to gain",
    ("lab_12_amdahl", "growing", "y"): "never ends before 5% faster, for the same reason",
    ("lab_12_amdahl", "scaling", "x"): "as many devices as the dial has; measured runs end sooner",
    ("lab_13_line", "by-rate", "y"): "from one pass to a thousand: a line that grows is seen to leave it",
    ("lab_13_line", "staircase", "x"): "as long as the first requests take to arrive and most of them to leave",
    ("lab_14_tail", "percentiles", "x"): "the axis of all requests, as on the picture beside it",
    ("lab_14_tail", "requests", "y"): "a share on a log axis, from one request to all",
    ("lab_14_tail", "triangle", "x"): "a quarter before the stall and as long as it lasts, at every length",
    ("lab_v2_03_fabric", "holds", "x"): "every number of hosts that a fabric of these switches can hold",
    ("lab_v2_06_collectives", "spacetime", "y"): "a row for each rank, and room over the first and under the last",
    ("lab_v2_07_checkpoint", "day", "x"): "the whole day, of which a dial has shown the first hours",
    ("lab_v2_10_kv_serving", "over-time", "x"): "the same forty seconds: a batch that is done early is seen to be",
    ("lab_v2_13_privacy", "guesses", "x"): "from a coin's guess to certainty",
    ("lab_v2_13_privacy", "designs", "y"): "every accuracy that the dials reach: a design that loses much is seen to fall",
    ("lab_v2_14_adversarial", "table", "x"): "each of the 99 models keeps its place while a dial leaves some out",
    ("lab_v2_14_adversarial", "table", "y"): "the same",
}
# Two rates on axes that are not drawn square: lab, picture.
OBLONG = {("lab_v2_14_adversarial", "table"): "99 models within 18 points across and 75 up: a square would lay them on each other"}
# Lines that the legend names on a desk, too, because their ends can't: lab, picture.
NAMED_BELOW = {
    ("lab_11_roofline", "throughput"): "one line in two pieces: the first ends where the second begins",
    ("lab_13_line", "staircase"): "both leave the picture at its top",
    ("lab_14_tail", "triangle"): "it ends at the foot, on the tester's marks",
    ("lab_v2_02_interconnect", "wires"): "wires, of which many have one name",
    ("lab_v2_03_fabric", "fabric"): "the same",
    ("lab_v2_03_fabric", "switches"): "the same",
    ("lab_v2_06_collectives", "steps"): "messages, of which many have one name",
    ("lab_v2_06_collectives", "spacetime"): "the same",
    ("lab_v2_13_privacy", "attack"): "all three begin in one corner and end in another",
    ("lab_v2_15_jevons", "plane"): "both end at one place",
}
SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
DRAWN = SCRIPTS[: SCRIPTS.index("grid")]  # dials, and pictures with what turns them
WIDTHS = {"phone": 336, "tablet": 482, "desk": 763}  # px that a picture has on screens of 390, 820 and 1280
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
// Nor does a leader, from a mark to its words, run through other words.
function leaders(node, out) {
  if (Array.isArray(node)) return node.forEach((each) => leaders(each, out));
  if (!node || typeof node !== "object") return;
  if (/il-leader/.test(node.attributes?.class ?? "")) out.push(node.attributes.d.match(/[-\\d.]+/g).map(Number));
  else leaders(node.children, out);
}
function ledThrough(drawn, boxes) {
  const lines = [];
  leaders(drawn, lines);
  const at = ([ax, ay, bx, by], share) => [ax + (bx - ax) * share, ay + (by - ay) * share];
  const inside = (box, [x, y]) => x > box.left + 2 && x < box.right - 2 && y > box.top + 2 && y < box.bottom - 2;
  const places = (line) => Array.from({ length: 41 }, (_, i) => at(line, i / 40));
  const crosses = (line) => boxes.filter((some) => some.some((box) => places(line).some((place) => inside(box, place))));
  return lines.flatMap((line) => crosses(line).map(([box]) => `a leader × ${box.text}`));
}
// Nor does the same arrow where it stands upright run through any.
function pierced(node, boxes) {
  if (Array.isArray(node)) return node.flatMap((each) => pierced(each, boxes));
  if (!node || typeof node !== "object" || node.tag === "text") return [];
  if (!/il-bracket/.test(node.attributes?.class ?? "")) return pierced(node.children ?? [], boxes);
  const path = node.children.find((child) => child?.tag === "path");
  const line = path?.attributes.d.match(/^M([-\\d.]+),([-\\d.]+)V([-\\d.]+)$/)?.slice(1).map(Number);
  if (!line) return [];
  const [x, low, high] = [line[0], Math.min(line[1], line[2]), Math.max(line[1], line[2])];
  const hit = (box) => x > box.left + 1 && x < box.right - 1 && Math.min(high, box.bottom) - Math.max(low, box.top) > 2;
  return boxes.filter((some) => some.some(hit)).map(([box]) => `the upright arrow × ${box.text}`);
}
// No mark on a stacked bar lies on the name of a piece.
function hidden(figure, plan, texts) {
  if (!plan.rows || !figure.stacked) return [];
  const points = figure.marks.filter((mark) => mark.type === "point").map((mark) => [plan.x.at(mark.x), barLevel(mark, plan)]);
  const under = (box, [x, y]) => x > box.left - 4 && x < box.right + 4 && y > box.top && y < box.bottom;
  const inside = texts.filter((node) => /il-inside/.test(node.attributes.class ?? "")).flatMap(textBox);
  return inside.filter((box) => points.some((point) => under(box, point))).map((box) => `a point × ${box.text}`);
}
// Words that a reader would find cut off, or beside the picture.
function outside(boxes, width, height) {
  const out = ([box]) => box.left < -3 || box.right > width + 3 || box.top < -3 || box.bottom > height + 3;
  return boxes.filter(out).map(([box]) => `${box.text} is outside`);
}
// Along each axis: from the first thing that is drawn to the last, the words behind bars among them, over the length of the axis. An
// axis that begins at zero is read from there, and a share of a whole is drawn on the whole. A level line, and a log axis of half a decade
// between round figures, have nothing to fill: what hardly changes looks level.
const LEAST_FILLED = 0.6;
function emptiness(figure, width, texts) {
  const plan = layout(figure, width);
  if (figure.plain || figure.counted) return [];
  const { box } = plan;
  return [["x", plan.x, box.left, box.right], ["y", plan.y, box.top, box.bottom]].flatMap(([key, scale, first, last]) => {
    if (scale.band || (scale.axis.unit === "%" && scale.domain[0] === 0 && scale.domain[1] <= 110)) return [];
    if (scale.log && scale.domain[1] < 5.7 * scale.domain[0]) return [];
    const values = finite(valuesOn(figure, key));
    if (Math.max(...values) - Math.min(...values) <= 1e-9 * Math.abs(Math.max(...values))) return [];
    const places = values.map(scale.at);
    if (scale.domain[0] === 0) places.push(scale.low);
    const behind = plan.rows ? texts.filter((node) => /il-value|il-over/.test(node.attributes.class)).flatMap(textBox) : [];
    places.push(...behind.flatMap((words) => [words.left, words.right]));
    const share = (Math.min(last, Math.max(...places)) - Math.max(first, Math.min(...places))) / (last - first);
    return share < LEAST_FILLED - 0.005 ? [`${Math.round(100 * share)}% of the ${key} axis is filled`] : [];
  });
}
function collisions(figure, width, filled) {
  const ui = { id: "p", local: {}, widths: new Map(), drawings: new WeakMap(), tall: new Set() };
  const texts = [];
  const drawn = plotView(figure, figure.id, width, { ui, spec: {}, line: {} });
  walk(drawn, texts);
  const boxes = texts.filter((node) => said(node).trim()).map(textBox);
  const hits = [...struck(drawn), ...pierced(drawn, boxes), ...ledThrough(drawn, boxes), ...hidden(figure, layout(figure, width), texts)];
  hits.push(...outside(boxes, width, layout(figure, width).height));
  if (filled) hits.push(...emptiness(figure, width, texts));
  boxes.forEach((some, i) => boxes.slice(i + 1).forEach((others) => {
    const shared = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    if (some.some((a) => others.some((b) => Math.min(...shared(a, b)) > 1))) hits.push(`${some[0].text} × ${others[0].text}`);
  }));
  // what names a bar or gives its value never goes, nor the learner's own mark or the truth, which may stand apart from its figure
  const all = texts.map(said);
  const there = (words) => all.some((text) => text.includes(words) || (text.endsWith("…") && words.startsWith(text.slice(0, -1))));
  const kept = figure.marks.filter((mark) => mark.label && ((inRow(mark) && !figure.stacked) || mark.role));
  const wanted = [...(figure.y.names ?? []), ...kept.flatMap((mark) => mark.label.split("  "))];
  return [...hits, ...wanted.filter((words) => !there(words)).map((words) => `${words} is missing`)];
}
window.judge = (figures, widths, filled = false) => figures.flatMap((text) => {
  const figure = JSON.parse(text);
  const judged = (width) => collisions(figure, width, filled && !figure.width);
  return Object.entries(widths).flatMap(([screen, width]) => judged(width).map((hit) => `${screen}, ${figure.id}: ${hit}`));
});
window.below = (figures, width) => figures.map(JSON.parse).flatMap((figure) =>
  legendOf(figure, figure.width ? width / 2 : width).filter((item) => item.shape === "line").map((item) => [figure.id, item.label]));
// Where both axes are rates, shares of a whole, a step across is as long as a step up.
window.oblong = (figures, width) => figures.map(JSON.parse).filter((figure) => {
  if (figure.plain || ![figure.x, figure.y].every((axis) => axis.scale === "linear" && axis.unit === "%")) return false;
  const { x, y, box } = layout(figure, width);
  const step = (scale, long) => long / (scale.domain[1] - scale.domain[0]);
  return Math.max(x.domain[1], y.domain[1]) < 120 && Math.abs(step(x, box.right - box.left) / step(y, box.bottom - box.top) - 1) > 0.02;
}).map((figure) => figure.id);
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


def as_opened(instrument: Any) -> list[dict[str, Any]]:
    """The settings that a learner meets first."""
    return [{dial["id"]: dial["value"] for dial in instrument.dials({})}]


def at_the_ends(instrument: Any, last: bool = False) -> list[dict[str, Any]]:
    """Settings: each dial at both its ends, or at each of its options, and the others where they start; `last`: only its last end or
    option, where figures are longest."""
    start = {dial["id"]: dial["value"] for dial in instrument.dials({})}
    return [start | {dial["id"]: value} for dial in instrument.dials(start) for value in ends(dial)[-1 if last else 0 :]]


def at_random(instrument: Any, chance: random.Random, often: int) -> list[dict[str, Any]]:
    """Settings of all dials."""
    settings = []
    for _ in range(often):
        values = {dial["id"]: dial["value"] for dial in instrument.dials({})}
        for dial in instrument.dials(values):
            values[dial["id"]] = turned(dial, chance)
        settings.append(values)
    return settings


def pictures(instrument: Any, settings: list[dict[str, Any]]) -> Iterator[str]:
    """What an instrument draws there, each picture once."""
    known = set()
    for values in settings:
        stand, _ = settle(instrument.dials(values), values)
        for figure in plain(list(instrument.compute({**stand, "moving": True}).figures)):  # a simulation is short then
            text = json.dumps(figure, ensure_ascii=False)
            if text not in known:
                known.add(text)
                yield text


@contextmanager
def completed(slug: str, folder: Path) -> Iterator[Any]:
    """The lab with everything answered, so that all its instruments are open."""
    with open_ledger(folder / "ledger.db") as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_panel, "panel", lambda names, local=None: "")  # has no picture, and computes for seconds
        complete(kit.open(slug, ledger))
        opened = plain_page.Page(LABS / slug, ledger)
        opened.open()
        yield opened.lab


@contextmanager
def drawing_page(chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f"<style>{style()} {typeface()}</style><p style='font-family:Inter'>a <b>b</b></p>")
        page.evaluate(f"{{{script(DRAWN)}\n{TOUCH}\n{COLLISIONS}}}")
        page.evaluate("() => window.ready")
        yield page


def collisions(page: Page, drawn: list[str], filled: bool = False) -> list[str]:
    """What is wrong with the pictures; `filled`: also with how little of a plot on a desk its data fill."""
    return page.evaluate("([figures, widths, filled]) => window.judge(figures, widths, filled)", [drawn, WIDTHS, filled])


def empty(page: Page, slug: str, drawn: list[str]) -> list[str]:
    """Plots that are filled less than three fifths, but for the axes that are meant to stand still."""
    still = {f"{picture}: {axis}" for lab, picture, axis in STILL if lab == slug}
    found = (re.fullmatch(r"\w+, (.+): \d+% of the (\w) axis is filled", fault) for fault in collisions(page, drawn, filled=True))
    return sorted({one[0] for one in found if one and f"{one[1]}: {one[2]}" not in still})


def named_below(page: Page, slug: str, drawn: list[str]) -> list[str]:
    """Lines that a legend names on a desk, where their ends could."""
    found = page.evaluate("([figures, width]) => window.below(figures, width)", [drawn, WIDTHS["desk"]])
    return [f"{picture}: {name}" for picture, name in found if (slug, picture) not in NAMED_BELOW]


def oblong(page: Page, slug: str, drawn: list[str]) -> list[str]:
    """Pictures of two rates that are not square, on any screen."""
    found = {picture for width in WIDTHS.values() for picture in page.evaluate("([f, w]) => window.oblong(f, w)", [drawn, width])}
    return sorted(picture for picture in found if (slug, picture) not in OBLONG)
