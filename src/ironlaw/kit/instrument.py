"""The gated instrument: dials in, a view out, and nothing of it on the page while it is locked.

`dials(values)` returns the dials for their current values, so that one dial may disable an option of another and say why.
`compute(values)` gives the View; `moving` is among the values while a dial is turned, for a view that takes a short cut then. Neither runs
before the lock opens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ironlaw.widget.dials import Dial, settle
from ironlaw.widget.piece import Piece

if TYPE_CHECKING:
    from ironlaw.kit.offer import Offer

Values = Mapping[str, Any]
SET_ASIDE = "Part of your saved design can't be shown here, so those dials stand at their defaults:"
CHANGING = ("options", "hidden", "suggest")  # what turning one dial may change in another


@dataclass(frozen=True)
class View:
    """What an instrument shows for one setting of its dials. `readouts` go to the HUD and the design."""

    figures: Sequence[Any] = ()
    cards: Sequence[Mapping[str, Any]] = ()
    formula: str = ""
    banner: Mapping[str, Any] | None = None
    note: str = ""
    readouts: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""  # HTML under the formula: tables and other reference
    seen: Mapping[str, Any] = field(default_factory=dict)  # slots of the captions, `act.see.<picture>` in words.md
    motions: Sequence[Any] | None = None  # moving pictures; None while a dial is turned: the last ones stay


def drawn(dials: Callable[[Values], Sequence[Dial]], values: Values) -> tuple[Sequence[Dial], dict[str, str]]:
    """The dials at these values, and the values that no dial can be drawn with: dial -> reason."""
    try:
        return dials(values), {}
    except Exception:  # whatever a lab makes of a value that is not its own
        listed = dials({})
    usable: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    labels = {dial["id"]: dial["label"] for dial in listed}
    for name, value in values.items():
        try:
            listed = dials({**usable, name: value})
            usable[name] = value
        except Exception:
            reasons[name] = f"{labels.get(name, name)} can't be {str(value)[:40]!r} here"
    return listed, {name: reason for name, reason in reasons.items() if name in labels}


def stand(dials: Callable[[Values], Sequence[Dial]], values: Values) -> tuple[Sequence[Dial], dict[str, Any], dict[str, str]]:
    """The dials, where they stand if these values are asked of them, and why some could not stay."""
    listed, reasons = drawn(dials, values)
    standing, refusals = settle(listed, {name: value for name, value in values.items() if name not in reasons})
    return listed, standing, refusals | reasons


def folded(dials: Callable[[Values], Sequence[Dial]], more: Collection[str]) -> Callable[[Values], Sequence[Dial]]:
    """The same dials, those named in `more` under "More dials": six at most are in view."""
    return lambda values: [{**dial, "more": True} if dial["id"] in more else dial for dial in dials(values)]


class Instrument:
    """A Piece and what moves it from Python: opening, a new context, a new attempt."""

    def __init__(
        self,
        name: str,
        title: str,
        dials: Callable[[Values], Sequence[Dial]],
        compute: Callable[[Values], View],
        *,
        store: str = "",
        locked: str | None = None,
        on_readouts: Callable[[Mapping[str, Any]], None] = lambda readouts: None,
        saved: Values | None = None,
        task: str = "",
        cases: Callable[[], Mapping[str, Any]] = dict,
        offers: Callable[[], Sequence[Offer]] = tuple,
        reason: Values | None = None,
    ) -> None:
        """`saved`: where the dials stood when the learner saved them; they begin there. `task` is inline HTML, shown above the dials.
        `cases`: where a sentence that sets dials begins, by context. `offers`: what earlier labs could give the dials.
        `reason`: what the learner's answer is met with, `explain`."""
        self.cases, self.offers = cases, offers
        self.dials, self.compute, self.on_readouts = dials, compute, on_readouts
        self.moved: dict[str, dict[str, Any]] = {}  # dial -> what was asked of it, and where it stands because that can't be
        self.values: dict[str, Any] = {}  # where the dials stand
        self.requested: dict[str, Any] = {}  # where the learner put them: one that had to move goes back when the reason is gone
        self.aside: dict[str, str] = {}  # saved dial -> why it can't be used here; said until a dial is turned
        spec = {"id": name, "title": title, "store": store, "dials": self._standing(saved or {}), "locked": locked, "task": task}
        spec |= self._ways() | {"reason": reason}
        self.piece = Piece("instrument", spec, self._answer)
        self.toggle: Piece | None = None

    def heads(self, toggle: Piece) -> None:
        """The context that is chosen in its head, once it is open."""
        self.toggle = toggle
        toggle.spec = {**toggle.spec, "hidden": bool(self.piece.spec.get("locked"))}

    def open(self) -> None:
        if self.toggle is not None:
            self.toggle.spec = {**self.toggle.spec, "hidden": False}
        if self.piece.spec.get("locked"):
            self.piece.unlock()
        else:
            self.piece.refresh()

    def explain(self, reason: Values) -> None:
        """Why the learner's answer is right or wrong stands above the picture that has their mark: `{"text": HTML, "right": bool}`."""
        self.piece.tell(reason=reason)

    def follow(self, names: Sequence[str]) -> None:
        """A new context: these dials go to its defaults, the others stay."""
        self.load({key: value for key, value in self.requested.items() if key not in names}, str(self.piece.spec.get("store", "")))
        self.aside = {}  # nothing of a saved design

    def load(self, values: Values, store: str) -> None:
        """The dials go to these values; one that has none goes to its default."""
        dials = self._standing(values)
        spec = {**self.piece.spec, "store": store, "dials": dials} | self._ways()
        self.piece.change(spec, {"dials": {dial["id"]: dial["value"] for dial in dials}})

    def _ways(self) -> dict[str, Any]:
        """Where else the dials may go at a click: the case of a sentence, an earlier design."""
        found = list(self.offers())
        if found:
            from ironlaw.kit import offer  # few learners' labs have one
        return {"cases": dict(self.cases()), "offers": offer.shown(found, self.dials) if found else []}

    def rename(self, store: str) -> None:
        """What the browser keeps belongs to another design from now on."""
        self.piece.tell(store=store)

    def _standing(self, values: Values) -> list[Dial]:
        """The dials at these values, where they can have them. They may have been saved on another machine or by another version: one that
        can't be used here is set aside, and the learner is told so."""
        every, standing, self.aside = stand(lambda asked: self._all(self.dials(asked)), values)
        return [{**dial, "value": standing[dial["id"]]} for dial in every]

    def _answer(self, state: Mapping[str, Any]) -> dict[str, Any]:
        requested = dict(state.get("dials") or {})
        dials, values, refusals = stand(self.dials, requested)
        if state.get("ahead"):  # the turn may never get there, so nothing is kept; where a dial could not stay it is asked again
            return {} if refusals else self._shown(dials, self.compute({**values, "moving": True}))
        if self.aside and self.requested and requested != self.requested:
            self.aside = {}
        self.values, self.requested = values, requested
        moved = {name: {"asked": requested[name], "value": values[name]} for name in refusals}
        news = {name: why for name, why in refusals.items() if self.moved.get(name) != moved[name]}  # said once, when it moves
        self.moved = moved
        if refusals:
            dials = self.dials(values)
        moving = bool(state.get("moving"))  # the browser asks once more when the dials rest
        view = self.compute({**values, "moving": True} if moving else values)
        if not moving:
            self.on_readouts(view.readouts)
        error = next(({"dial": dial, "message": reason} for dial, reason in news.items()), self._set_aside())
        return self._shown(dials, view) | {"moved": moved, "error": error}

    def _set_aside(self) -> dict[str, str] | None:
        """What of a saved design is not in view, and that it is not lost."""
        if not self.aside:
            return None
        reasons = "; ".join(self.aside.values())
        return {"dial": "", "message": f"{SET_ASIDE} {reasons}. Your saved design stays in the ledger until you save another."}

    @staticmethod
    def _shown(dials: Sequence[Dial], view: View) -> dict[str, Any]:
        changes_of = {dial["id"]: changes for dial in dials if (changes := {key: dial[key] for key in CHANGING if key in dial})}
        moving = {} if view.motions is None else {"motions": list(view.motions)}
        return moving | {
            "figures": list(view.figures), "cards": list(view.cards), "formula": view.formula, "banner": view.banner,
            "note": view.note, "dials": changes_of, "moved": {}, "error": None, "after": view.after,
        }  # fmt: skip

    @staticmethod
    def _all(dials: Sequence[Dial]) -> list[Dial]:
        """The dials with nothing disabled: stored values are checked against all options, not just the current device's."""
        return [{**dial, "options": [{**o, "disabled": None} for o in dial["options"]]} if "options" in dial else dial for dial in dials]
