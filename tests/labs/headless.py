"""A lab headless: locked, half-way, complete; each a run of the app on a ledger of its own."""

import re
from importlib import import_module

from ironlaw import kit

SLUG = "lab_01_magnitude"


class Page:
    """The lab as a learner meets it: `reload` runs the app anew, `send` is what the browser does to a piece."""

    def __init__(self, ledger, slug=SLUG):
        self.ledger, self.slug = ledger, slug
        self.app = import_module(f"ironlaw.labs.{slug}.lab").app
        self.reload()

    def reload(self):
        self.lab = kit.open(self.slug, self.ledger)
        outputs, self.defs = self.app.run(defs={"lab": self.lab})
        names = [cell.name for cell in self.app._cell_manager.cells()]
        self.parts = dict(zip(names[1:], outputs, strict=True))  # the first cell, which opens the lab, is replaced
        return self

    def piece(self, name):
        return self.lab.shown[name].widget

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

    def turn(self, act, **dials):
        piece = self.piece(f"{act}.instrument")
        return self.send(f"{act}.instrument", dials={**piece.state["dials"], **dials}) and piece.view

    @property
    def text(self):
        """All words of the page, those inside the pieces too."""
        html = " ".join(part.text for part in self.parts.values() if part is not None)
        pieces = " ".join(f"{element.widget.spec} {element.widget.view}" for element in self.lab.shown.values())
        return bare(html + " " + pieces)


def bare(html: str) -> str:
    html = html.replace("\\u202f", "\u202f")
    return " ".join(re.sub(r"<[^>]+>", "", html).replace("\u202f", " ").split())
