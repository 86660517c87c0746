"""Marks that stand for a dial, each moved by key and by pointer in one page: what the widget then turns."""

import json
import re
from typing import Any

from playwright.sync_api import Page

from ironlaw.widget.dials import why_not
from ironlaw.widget.hold import holds

DECIMALS = re.compile(r"(?<![\d.,])\d[\d,]*\.\d+(?![\d.])")

# Draws a picture as an instrument does, with dials that only note what they are turned to, and tries every slider in it.
TOUCH = """
const SAID = ["aria-label", "aria-valuetext", "aria-valuenow", "aria-valuemin", "aria-valuemax", "tabindex"];
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
window.touch = (figure, dials, width, hidden) => {
  const root = document.createElement("div");
  root.className = "il-piece";
  document.body.append(root);
  const turns = [];
  const each = (make) => Object.fromEntries(dials.map((dial) => [dial.id, make(dial)]));
  const ui = { id: "t", local: {}, widths: new Map([[figure.id, width]]), drawings: new WeakMap(), tall: new Set(), watch: () => {} };
  const turn = (id, value, also = {}) => turns.push({ [id]: value, ...also });
  const line = { state: { dials: each((dial) => dial.value) }, turn };
  const view = { dials: hidden ? each(() => ({ hidden: true })) : {} };
  patch(root, figureView(figure, { ui, line, spec: { dials }, view, state: line.state, redraw: () => {} }, 0));
  const layer = root.querySelector(".il-targets");
  if (layer) layer.setPointerCapture = () => {}; // no real pointer is down
  const taken = (act) => { turns.length = 0; act(); return [...turns]; };
  const sliders = [...root.querySelectorAll("[role=slider]")].map((node) => {
    const press = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    const key = (name) => taken(() => node.dispatchEvent(press(name)));
    const box = node.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const finger = (dx, dy) => ({ bubbles: true, cancelable: true, clientX: x + dx, clientY: y + dy, pointerType: "touch" });
    const send = (name, dx, dy) => node.dispatchEvent(new PointerEvent(name, finger(dx, dy)));
    const pull = (dx, dy) => taken(() => { send("pointerdown", 0, 0); send("pointermove", dx, dy); send("pointerup", dx, dy); });
    node.focus();
    const said = Object.fromEntries(SAID.map((name) => [name, node.getAttribute(name)]));
    return {
      said, focused: document.activeElement === node, touch: getComputedStyle(node).touchAction, least: Math.min(box.width, box.height),
      keys: Object.fromEntries(KEYS.map((name) => [name, key(name)])),
      pulls: [[-90, 0], [90, 0], [0, -60], [0, 60]].map(([dx, dy]) => pull(dx, dy)),
    };
  });
  const all = (names) => [...root.querySelectorAll(names)];
  const after = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const room = root.querySelector(".il-drawing").viewBox.baseVal.width;
  const out = {
    sliders, grips: all(".il-grip").length,
    under: all(".il-grip, .il-knob-mark").some((knob) => all(".il-drawing :is(.il-bar, .il-point)").some((mark) => after(knob, mark))),
    beyond: all(".il-grip").map((grip) => grip.getBBox()).some((box) => box.x < 0 || box.x + box.width > room),
  };
  root.remove();
  return out;
};
"""


def touched(page: Page, figure: str, dials: list[dict[str, Any]], hidden: bool = False) -> dict[str, Any]:
    """What each mark of the picture that can be moved says and does."""
    answer: dict[str, Any] = page.evaluate(
        "([figure, dials, hidden]) => window.touch(JSON.parse(figure), dials, 700, hidden)", [figure, dials, hidden]
    )
    return answer


def stiff(page: Page, figure: str, dials: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the picture's marks that stand for a dial: they are sliders that keys and fingers move to values the dial can
    have; where the dial is hidden they are none."""
    known = {dial["id"]: dial for dial in dials}
    drawn = json.loads(figure)
    wanted = [one for one in drawn["marks"] if any(not known[each["dial"]].get("hidden") for each in holds(one.get("drag")))]
    if not wanted:
        return []
    answer = touched(page, figure, dials)
    faults = [] if len(answer["sliders"]) == len(wanted) <= answer["grips"] else ["a mark is not a slider, or does not look like one"]
    faults += ["a knob lies under a bar or a point"] if answer["under"] else []
    faults += ["an arrow head points out of the picture"] if answer["beyond"] else []
    for slider in answer["sliders"]:
        said = slider["said"]
        turns = [turn for tried in (*slider["keys"].values(), *slider["pulls"]) for turn in tried]
        faults += [f"{said}: {name} can't be {value}" for turn in turns for name, value in turn.items() if why_not(known[name], value)]
        least, now, most = (float(said[f"aria-value{name}"]) for name in ("min", "now", "max"))
        told = [figure.replace(".", "").lstrip("0") for figure in DECIMALS.findall(said["aria-valuetext"])]
        checks = {
            "has no name and value": said["aria-label"] and said["aria-valuetext"] and least <= now <= most,
            "is spoken too exactly": all(len(figure) <= 3 for figure in told),
            "can't be focused": slider["focused"] and said["tabindex"] == "0",
            "scrolls the page under a finger": slider["touch"] == "none" and slider["least"] >= 24,
            "is not moved by arrow keys": any(slider["keys"][key] for key in ("ArrowLeft", "ArrowRight")),
            "is moved alike by both arrows": slider["keys"]["ArrowLeft"] != slider["keys"]["ArrowRight"],
            "is not dragged": any(slider["pulls"]),
        }
        faults += [f"{said['aria-label']} {fault}" for fault, good in checks.items() if not good]
    none = touched(page, figure, dials, hidden=True)
    if none["sliders"] or none["grips"]:
        faults.append("a mark whose dial is hidden can be moved")
    return [f"{drawn['id']}: {fault}" for fault in faults]
