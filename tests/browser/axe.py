"""What keeps people out of a page, as axe finds it.

Colours take axe more than half of its time. Two texts in the same colours and type, of the same tag and class, over the same painted
backgrounds from the page down, look alike: of each look one is judged, once for all pages that a process of the tests opens.
"""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
GOOD: set[str] = set()  # looks that were judged and are readable
LOOKS = """() => {
  const trails = new Map(), looks = new Map();
  const above = (e) => e.parentElement ?? e.getRootNode().host;
  const own = (e) => {
    const { backgroundColor, backgroundImage, opacity, mixBlendMode, filter, position } = getComputedStyle(e);
    const painted = [backgroundColor, backgroundImage, opacity, mixBlendMode, filter].join();
    const lies = ["static", "relative"].includes(position) ? "" : `${position} ${e.getAttribute("class")}`;
    return painted === "rgba(0, 0, 0, 0),none,1,normal,none" && !lies ? "" : `/${painted} ${lies}`;
  };
  const trail = (e) => {
    if (!e) return "";
    if (!trails.has(e)) trails.set(e, trail(above(e)) + own(e));
    return trails.get(e);
  };
  const visit = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) visit(e.shadowRoot);
      if (![...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()) || !e.checkVisibility()) continue;
      const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(e);
      const large = parseFloat(fontSize) >= 24 || (parseFloat(fontSize) >= 18.66 && fontWeight >= 700);
      const look = [e.tagName, e.getAttribute("class"), color, fill, large, textShadow].join() + trail(e);
      if (!looks.has(look)) looks.set(look, e);
    }
  };
  visit(document.body);
  window.looks = looks;
  return [...looks.keys()];
}"""
# the rules of WCAG, and those beyond it that axe calls serious; a rule that is judged less is not run
JUDGE = """async ([unseen, whole]) => {
  const options = { resultTypes: ["violations"], preload: false };
  const beyond = ["accesskeys", "aria-dialog-name", "aria-text", "aria-treeitem-name", "frame-tested", "label-title-only", "tabindex"];
  const colour = ["color-contrast", "link-in-text-block"];
  const told = [...colour.map((rule) => [rule, { enabled: false }]), ...beyond.map((rule) => [rule, { enabled: true }])];
  const rules = Object.fromEntries(told);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
  const shape = whole ? await axe.run(document, { ...options, runOnly: tags, rules }) : { violations: [] };
  const contrast = { ...options, runOnly: { type: "rule", values: colour } };
  const colours = unseen.length ? await axe.run({ include: unseen.map((look) => window.looks.get(look)) }, contrast) : { violations: [] };
  return [...shape.violations, ...colours.violations];
}"""


def serious(page: Page, shape: bool = True) -> list[str]:
    """What axe finds serious or critical; without `shape`, in colours alone."""
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not as a script of the page, which its own rules would forbid
    unseen = sorted(set(page.evaluate(LOOKS)) - GOOD)
    violations = page.evaluate(JUDGE, [unseen, shape])
    found = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in violations if v["impact"] in ("serious", "critical")]
    if not found:
        GOOD.update(unseen)
    return found
