"""The one widget: everything in a lab that a learner turns or looks at is a Piece.

Four traits cross to the browser. `kind` and `spec` say what it is, `state` is what the learner did (the browser sets
it), `view` is the answer (Python sets it, drawn at once). `compute(state) -> view` runs when the piece is created and
whenever `state` changes, so a dial reaches its picture without a marimo cell between them:

    piece = Piece("instrument", {"id": "act1", "title": "…", "dials": […]}, lambda state: {"figures": […]})
    mo.ui.anywidget(piece)      # show it; cells that read its `.value` rerun when the learner acts

The JavaScript is in js/, joined by `assets`.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from ironlaw.errors import BadValue, IronlawError
from ironlaw.widget.assets import script, style
from ironlaw.widget.direct import register
from ironlaw.widget.kinds import KINDS, State

LOG = logging.getLogger(__name__)

View = dict[str, Any]
MOST = 2**53 - 1
OPEN: weakref.WeakSet[Piece] = weakref.WeakSet()


def plain(value: Any) -> Any:
    """What JSON can carry: figures become dicts, tuples lists, NumPy's numbers Python's; infinities and NaN become None.

    A view has thousands of leaves and is built at every turn of a dial, so the common types come first.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
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


def close_pieces(thread: threading.Thread) -> None:
    """All that were created in this thread."""
    for piece in [piece for piece in OPEN.copy() if piece._thread() is thread]:
        piece.close()


def number(state: State) -> int:
    """The number of the browser's message, 0 where it has none. JavaScript counts no further than MOST exactly."""
    seq = state.get("seq")
    return seq if isinstance(seq, int) and 0 <= seq <= MOST else 0


def wire(view: View, _: Any = None) -> View:
    """The view as it crosses to the browser: each figure as a text of its own, so that only those that changed are read and drawn."""
    if "figures" not in view:
        return view
    texts = [json.dumps(figure, ensure_ascii=False, separators=(",", ":")) for figure in view["figures"]]
    return {**view, "figures": texts}


class Piece(anywidget.AnyWidget):
    """`Piece(kind, spec, compute)`. Set `piece.spec` to change what it is, `piece.refresh()` to compute again."""

    _esm = script()
    _css = style()
    kind = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True, to_json=wire)

    def __init__(
        self, kind: str, spec: Mapping[str, Any], compute: Callable[[State], Mapping[str, Any]] | None = None, state: State | None = None
    ) -> None:
        if kind not in KINDS:
            raise BadValue(f"no kind of piece {kind!r}; choose one of {', '.join(KINDS)}")
        self._compute = compute
        self._last_seq = 0
        self._thread = weakref.ref(threading.current_thread())  # a page has a thread of its own
        OPEN.add(self)
        self._turn = threading.RLock()  # a dial being turned is answered on another thread
        spec = plain(spec)
        if kind == "instrument" and "direct" not in spec and (token := register(self)):
            spec = {**spec, "direct": token}
        begin = {**KINDS[kind](spec), **plain(state or {})}
        super().__init__(kind=kind, spec=spec, state=begin, view=self._answer(spec, begin))
        self.observe(self._on_change, names=["state", "spec"])

    def refresh(self) -> None:
        """Compute again for the same state: something else has changed."""
        self.view = self._answer(self.spec, self.state)

    def look(self, state: State) -> View:
        """The view for a state that is only passed through, as it crosses to the browser; nothing is kept."""
        return wire({**self._answer(self.spec, state), "seq": number(state)})

    def quiet(self) -> None:
        """No cell reads its value: a turn of a dial is answered by the piece alone, and marimo runs nothing after it."""
        if hasattr(self.comm, "ui_element_id"):
            self.comm.ui_element_id = None

    def close(self) -> None:
        """Let go of by every registry; what it held on to is free."""
        if self.layout is not None:  # a widget of its own, which every widget brings
            self.layout.close()
        super().close()
        self.unobserve_all()
        self._compute = None

    def unlock(self) -> None:
        """Show what was locked."""
        self.spec = {**self.spec, "locked": None}

    def _on_change(self, change: Any) -> None:
        self.refresh()

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
