"""A lab headless, on the page of the labs' server: locked, half-way, complete; each on a ledger of its own.

Tests compare figures and sections, not prose: `page.slots("act1.reveal", html)` is what a section of words.md says on the page, by slot.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ledger_at_hand import open_ledger

from ironlaw import kit
from ironlaw.kit import page as plain
from ironlaw.kit import runner
from ironlaw.kit.lab import folder
from ironlaw.kit.page_host import using
from ironlaw.slots import SLOT
from ironlaw.units import joined


class Page:
    """The lab as a learner meets it: `reload` opens the page anew, `send` is what the browser does to a piece.

    This learner presses every button that leads on; with `onward=False` they stay where they are. `said`: what they answer on the way.
    """

    def __init__(self, ledger, slug, said=None):
        self.ledger, self.slug, self.said = ledger, slug, said or {}
        self.reload()

    def reload(self, onward=True):
        self.host = host = plain.Page(folder(self.slug), self.ledger)
        with using(host):
            self.lab = kit.open(self.slug)
        while onward and (place := self.lab.places[self.lab.progress.reached]).part not in ("lock", "reflect", "end"):
            self.ledger.append(self.slug, "step", {"step": place.name})
            self.lab.progress.look()
        self.parts = parts(host, self.lab)
        return self

    def cell(self, name):
        """What one cell shows now; the rest of the page stays as it is."""
        with using(self.host):
            return str(next(cell for cell in runner.script(folder(self.slug)).cells if cell.name == name).draw(self.lab))

    def piece(self, name):
        if name == "context":  # every instrument has one in its head, and they stand at the same
            name = next(each for each in self.lab.elements if each.endswith(".context"))
        return self.lab.elements[name].widget

    def send(self, name, **state):
        piece = self.piece(name)
        piece.state = {**piece.state, **state, "seq": piece.state.get("seq", 0) + 1}
        return piece.view

    def predict(self, act, option, confidence=3, **more):
        place = self.lab.question(act).place(option)
        return self.send(act, choice=place, confidence=confidence, commit=self.piece(act).state["commit"] + 1, **more)

    def reflect(self, act, option):
        name = f"{act}_reflection"
        return self.send(name, choice=self.lab.question(name).place(option), answer=self.piece(name).state["answer"] + 1)

    def first_act(self, option="", answer=""):
        """Act I from its lock to its reflection."""
        self.predict("act1", option or self.said["act1"], 4)
        self.reload().reflect("act1", answer or self.said["act1_reflection"])
        return self.reload()

    def second_lock(self, option=""):
        self.predict("act2", option or self.said["act2"], 2, **({"estimate": self.said["estimate"]} if "estimate" in self.said else {}))
        return self.reload()

    def save(self):
        """Press the button that saves; the lab is at its end."""
        return self.send("save", act=self.piece("save").state["act"] + 1)

    def turn(self, act, moving=False, **dials):
        """`moving`: what is seen before the dials rest; an instrument may take a short cut then."""
        piece = self.piece(f"{act}.instrument")
        return self.send(f"{act}.instrument", dials={**piece.state["dials"], **dials}, moving=moving) and piece.view

    def start(self, act):
        """Where the dials of an instrument begin."""
        return {dial["id"]: dial["value"] for dial in self.piece(f"{act}.instrument").spec["dials"]}

    def to_start(self):
        """The first context, and every dial where it begins there."""
        if self.lab.contexts and self.lab.current_context.slug != self.lab.contexts[0].slug:
            self.send("context", value=self.lab.contexts[0].slug)
        for act in [name.removesuffix(".instrument") for name, element in self.lab.elements.items() if element.widget.kind == "instrument"]:
            if self.piece(f"{act}.instrument").state["dials"] != self.start(act):
                self.turn(act, **self.start(act))
        return self

    def reason(self, act):
        """What the instrument that the commit opened says of the answer: `text`, and whether it is `right`."""
        opened = self.lab.progress.after(f"{act}.lock").name.removesuffix(".instrument")
        return self.piece(f"{opened}.instrument").spec["reason"]

    def slots(self, section, html):
        """The values that the page shows in a section's slots; fails where the section is not shown."""
        return slots(self.lab.words.sections[section], html)

    def shows(self, section, html):
        """Whether a section is on the page, whatever its figures."""
        return _pattern(self.lab.words.sections[section]).search(bare(html)) is not None

    @property
    def text(self):
        """All words of the page, those inside the pieces too."""
        html = " ".join(part.text for part in self.parts.values() if part is not None)
        pieces = " ".join(f"{element.widget.spec} {element.widget.view}" for element in self.lab.elements.values())
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "", bare(html + " " + pieces))  # a time of day may hold any figure


class Part(str):
    """What a cell shows."""

    @property
    def text(self) -> str:
        return str(self)


def parts(host: plain.Page, lab: Any) -> dict[str, Part | None]:
    """What each cell shows of a lab that is open already, None for nothing; fails where a cell does."""
    host.open(lab)
    assert not host.failed, host.failed
    return {name: Part(html) if html else None for name, html in host.html_of.items()}


class Stages:
    """A lab's ledger after each of some steps. Each is played once, and every test begins with a copy: a step opens the page."""

    def __init__(self, folder: Path, slug: str, *steps: Callable[[Page], object], said: dict[str, Any]):
        self.folder, self.slug, self.steps, self.said = folder, slug, steps, said
        self.after = cache(self._play)

    def _play(self, number: int) -> Path:
        path = self.folder / f"{number}.db"
        if number:
            shutil.copy(self.after(number - 1), path)
        with open_ledger(path) as ledger:
            if number:
                self.steps[number - 1](Page(ledger, self.slug, self.said))
        return path

    @contextmanager
    def page(self, number: int, folder: Path) -> Iterator[Page]:
        """The lab after so many steps, with a ledger of its own."""
        with open_ledger(shutil.copy(self.after(number), folder / "ledger.db")) as ledger:
            yield Page(ledger, self.slug, self.said)


def slots(section: str, html: str) -> dict[str, str]:
    """The shortest stretch of the page that reads like the section, by slot."""
    text, pattern = bare(html), _pattern(section)
    opening = bare(kit.html(section.partition("{{")[0]))
    begins = re.escape(opening) if opening else r"^|(?<=\. )"  # a section may open with a slot
    matches = [match for begin in re.finditer(begins, text) if (match := pattern.match(text, begin.start()))]
    assert matches, f"not on the page: {section}"
    shortest = min(matches, key=lambda match: len(match[0]))
    return {name: value.strip() for name, value in shortest.groupdict().items()}


def _pattern(section: str) -> re.Pattern[str]:
    """A section's words as the page has them, with a group for each slot."""
    words = re.escape(bare(kit.html(SLOT.sub(lambda match: f"SLOT{match[1]}TOLS", section))))
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        again = match[1] in seen
        seen.add(match[1])
        return f"(?P={match[1]})" if again else f"(?P<{match[1]}>.+?)"

    pattern = re.sub(r"SLOT(\w+?)TOLS", group, words).replace(r")\.", r")\.(?!\d)")  # a full stop, not a decimal point
    # nothing follows a slot at the end: its value reaches to the end of the sentence
    return re.compile(pattern.removesuffix(".+?)") + r"[^.;]+)" if pattern.endswith(".+?)") else pattern)


def figure(view: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in view["figures"] if each["id"] == name)


def cards(view: dict[str, Any]) -> dict[str, str]:
    return {card["label"]: joined(card["value"], card.get("unit") or "") for card in view["cards"]}


def turned(page: Page, act: str, moving: bool = False, **dials: Any) -> dict[str, Any]:
    """The view with these dials, all others at their start."""
    return page.turn(act, moving, **{**page.start(act), **dials})


def bare(html: str) -> str:
    html = html.replace("\\u202f", "\u202f")
    return " ".join(re.sub(r"<[^>]+>", "", html).replace("\u202f", " ").split())
