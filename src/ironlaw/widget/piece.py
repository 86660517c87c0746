"""The one widget: everything in a lab that a learner turns or looks at is a Piece.

Four values cross to the browser. `kind` and `spec` say what it is, `state` is what the learner did (the browser sets
it), `view` is the answer (Python sets it, drawn at once). `compute(state) -> view` runs when the piece is created and
whenever `state` changes, so a dial reaches its picture without a cell between them:

    piece = Piece("instrument", {"id": "act1", "title": "…", "dials": […]}, lambda state: {"figures": […]})
    kit.page_host.element(piece)     # show it

A host that shows a piece is one of its followers: it is told what changes. The JavaScript is in js/, joined by `assets`.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from ironlaw.errors import BadValue, IronlawError
from ironlaw.widget.direct_answers import register
from ironlaw.widget.figure import Figure
from ironlaw.widget.piece_kinds import KINDS, State

LOG = logging.getLogger(__name__)

View = dict[str, Any]
MOST = 2**53 - 1
LEAVES = frozenset({str, int, bool, type(None)})
OPEN: weakref.WeakSet[Piece] = weakref.WeakSet()


class Picture(dict[str, Any]):
    """A figure as JSON can carry it. A view that is kept, as a dial goes back and forth, keeps the figure's text too."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """What JSON can carry: figures become dicts, tuples lists, NumPy's numbers Python's; infinities and NaN become None.

    A view has thousands of leaves and is built at every turn of a dial, so the common types come first, and most leaves take no call.
    """
    kind = type(value)
    if kind in LEAVES:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {str(key): item if type(item) in LEAVES else plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [item if (one := type(item)) in LEAVES or (one is float and math.isfinite(item)) else plain(item) for item in value]
    if kind is Picture:
        return value
    if kind is Figure:
        return Picture(plain(value.to_dict()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        to_dict = getattr(value, "to_dict", None)
        return plain(to_dict() if to_dict else {f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return plain(dict(value))
    if isinstance(value, (set, frozenset)):
        return plain(sorted(value, key=str))
    if hasattr(value, "tolist"):  # a NumPy number or array
        return plain(value.tolist())
    if isinstance(value, float):
        return plain(float(value))
    return str(value)


def number(state: State) -> int:
    """The number of the browser's message, 0 where it has none. JavaScript counts no further than MOST exactly."""
    seq = state.get("seq")
    return seq if isinstance(seq, int) and 0 <= seq <= MOST else 0


def wire(view: View, _: Any = None) -> View:
    """The view as it crosses to the browser: each figure as a text of its own, so that only those that changed are read and drawn."""
    if "figures" not in view:
        return view
    texts: View = {
        name: [(each if isinstance(each, Picture) else Picture(each)).text for each in view[name]]
        for name in ("figures", "motions")
        if name in view
    }
    return {**view, **texts}


class Follower(Protocol):
    """What shows a piece."""

    def changed(self, name: str, value: Any) -> None:
        """`spec`, `state` or `view` has a new value."""

    def close(self) -> None: ...


class Piece:
    """`Piece(kind, spec, compute)`. Set `piece.spec` to change what it is, `piece.refresh()` to compute again."""

    def __init__(
        self, kind: str, spec: Mapping[str, Any], compute: Callable[[State], Mapping[str, Any]] | None = None, state: State | None = None
    ) -> None:
        if kind not in KINDS:
            raise BadValue(f"no kind of piece {kind!r}; choose one of {', '.join(KINDS)}")
        self.kind = kind
        self.followers: list[Follower] = []
        self._compute = compute
        self._last_seq = 0
        OPEN.add(self)
        self._turn = threading.RLock()  # a dial being turned is answered on another thread
        self._spec: dict[str, Any] = plain(spec)
        if kind == "instrument" and "direct" not in self._spec and (token := register(self)):
            self._spec = {**self._spec, "direct": token}
        self._state: dict[str, Any] = {**KINDS[kind](self._spec), **plain(state or {})}
        self._view = self._answer(self._spec, self._state)

    @property
    def spec(self) -> dict[str, Any]:
        return self._spec

    @spec.setter
    def spec(self, value: dict[str, Any]) -> None:
        if value != self._spec:
            self.change(value, self._state)

    @property
    def state(self) -> dict[str, Any]:
        return self._state

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if value != self._state:
            self.change(self._spec, value)

    @property
    def view(self) -> View:
        return self._view

    def change(self, spec: dict[str, Any], state: dict[str, Any]) -> None:
        """Sends both at once and gets one answer."""
        self._spec, self._state = spec, state
        self._tell("spec", spec)
        self._tell("state", state)
        self.refresh()

    def tell(self, **more: Any) -> None:
        """More of what it is, which nothing that it computes depends on."""
        self._spec = {**self._spec, **plain(more)}
        self._tell("spec", self._spec)

    def refresh(self) -> None:
        """Compute again for the same state: something else has changed."""
        self._view = self._answer(self._spec, self._state)
        self._tell("view", self._view)

    def look(self, state: State) -> View:
        """The view for a state that is only passed through, as it crosses to the browser; nothing is kept."""
        return wire({**self._answer(self._spec, state), "seq": number(state)})

    def _tell(self, name: str, value: Any) -> None:
        for follower in self.followers:
            follower.changed(name, value)

    def close(self) -> None:
        """What it held on to is free."""
        for follower in self.followers:
            follower.close()
        self.followers.clear()
        self._compute = None

    def unlock(self) -> None:
        """Show what was locked."""
        self.spec = {**self.spec, "locked": None}

    def _answer(self, spec: Mapping[str, Any], state: State) -> View:
        """The view for a state. `seq` tells the browser which of its messages this answers: it sends the next one then.

        A state that Python sets has no number; its view keeps the last number received.
        """
        with self._turn:
            return self._answer_now(spec, state)

    def _answer_now(self, spec: Mapping[str, Any], state: State) -> View:
        self._last_seq = max(self._last_seq, number(state))
        if spec.get("locked") or self._compute is None:
            view: View = {}  # a locked instrument's figures do not leave Python
        else:
            try:
                view = plain(self._compute(state)) or {}
            except IronlawError as error:
                view = {"error": {"dial": error.field or None, "message": str(error)}}
            except Exception as error:
                LOG.exception("the piece %r could not compute %r", spec.get("id"), state)
                message = f"{type(error).__name__}: {error}"
                view = {"error": {"dial": None, "message": f"This could not be computed ({message}). Set the control back to go on."}}
        return {**view, "seq": self._last_seq}
