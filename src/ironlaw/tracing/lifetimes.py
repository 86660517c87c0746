"""How long each storage lives that a captured run makes: Python's names, lists and calls hold it as they would on a GPU.

The recorder holds on to no tensor, only to weak references: they say when a storage is gone, and keep its address from being given to
another. What the engine can't read off the ops comes out as `settings`.
"""

from __future__ import annotations

from itertools import islice
from typing import Any
from weakref import ref

from torch import Tensor, UntypedStorage
from torch.multiprocessing.reductions import StorageWeakRef

from ironlaw.engine.device.types import Op
from ironlaw.tracing.statistics_beside import Beside, completed

RECENT, ALL = 128, 16  # so many storages, the last to be touched, are asked after each op; all of them once in so many ops
PER_OP = 1024  # and all of them where an outer module has returned, no more often than this for each op


class Ended(ref[Any]):
    """Says which storage it was."""

    __slots__ = ("place",)
    place: int


class Lifetimes:
    OF_A_RUN = ("roots", "within", "parts", "live", "last", "sizes", "asked")

    def __init__(self) -> None:
        self.refs: dict[int, StorageWeakRef] = {}  # storage -> a reference that does not keep it
        self.watched: dict[int, Ended] = {}  # and one that is called when it goes
        self.ended: set[int] = set()  # storages that have, or will soon, and were not looked at since
        self.begin_again()

    def begin_again(self) -> None:
        """Forget the ops so far."""
        self.roots: dict[int, str] = {}  # storage -> the first of its tensors that an op wrote
        self.within: dict[str, str] = {}  # tensor -> the first one in its storage
        self.parts: dict[str, float] = {}  # first tensor -> how many times as large its storage is
        self.live: dict[int, int] = {}  # storages that ops made and what asks whether each is gone, those touched last at the end
        self.last: dict[str, int] = {}  # first tensor of a storage -> the last op before it was freed
        self.sizes: dict[str, int] = {}  # first tensor of a storage that a call made beside its first result -> bytes
        self.asked = 0  # ops until all were asked

    def place(self, storage: Any) -> int:
        """The storage's address, which no other storage has from now on."""
        place: int = storage._cdata
        if place not in self.refs:
            self.refs[place] = StorageWeakRef(storage)
            self.watched[place] = watch = Ended(storage, self.gone)
            watch.place = place
        return place

    def gone(self, watch: Ended) -> None:
        self.ended.add(watch.place)
        self.watched.pop(watch.place, None)

    def made(self, place: int, tensor: Tensor, name: str, there: str = "") -> None:
        """An op wrote this tensor, over one that was `there` before the call."""
        root = self.roots.setdefault(place, there or name)
        self.touched(place)
        if root != name:
            self.within[name] = root
            return
        self.live[place] = self.refs[place].cdata
        own, whole = tensor.numel() * tensor.element_size(), int(tensor.untyped_storage().nbytes())
        if ":" in name:
            self.sizes[name] = whole
        if own and own != whole:
            self.parts[name] = whole / own

    def touched(self, place: int) -> None:
        if place in self.live:
            self.live[place] = self.live.pop(place)

    def freed(self, ops: int, returned: bool = False) -> None:
        """Look which storages are gone, after so many ops. `returned`: a function has, whose names may have held some for long."""
        whole = ops - self.asked >= ALL or (returned and PER_OP * (ops - self.asked) >= len(self.live))
        self.asked = ops if whole else self.asked
        if not self.ended:
            return
        self.ended &= self.live.keys()
        count = len(self.live) if whole else RECENT
        alone = whole and len(self.ended) == 1
        for place in [*self.ended] if alone else [place for place in islice(reversed(self.live), count) if place in self.ended]:
            if UntypedStorage._expired(self.live[place]):
                del self.live[place]
                self.ended.remove(place)
                self.last[self.roots[place]] = ops - 1

    def ask_all(self) -> None:
        """Look at all of them before the next op: what a backward pass was given goes with its return."""
        self.asked -= ALL

    def settings(self, ops: list[Op]) -> dict[str, Any]:
        """`within` and `parts`; `held`: the first tensor of a storage -> the last op before it was freed, where that is not the last that
        uses it; `beside`: the first tensor of a storage that no op names as its output, such as the places that a pooling layer notes down
        for its gradient -> its bytes, the op that made it and the last before it was freed."""
        self.freed(max(len(ops), self.asked + ALL))
        for op in ops:  # a rule's own tensor that its next op writes over
            for t in op.inputs[:1] if op.attrs.get("inplace") else ():
                if t.name.startswith(f"{op.outputs[0].name}:"):
                    self.within[t.name] = self.within.get(op.outputs[0].name, op.outputs[0].name)
            for t in op.inputs:  # what a product is added to is copied into its result first
                if op.outputs and t.name == f"{op.outputs[0].name}:before":
                    self.within[t.name] = self.within.get(op.outputs[0].name, op.outputs[0].name)
        used: dict[str, int] = {}
        for i, op in enumerate(ops):
            for t in (*op.inputs, *op.outputs):
                used[self.within.get(t.name, t.name)] = i
        ends = {self.roots[place]: len(ops) - 1 for place in self.live} | {name: min(i, len(ops) - 1) for name, i in self.last.items()}
        held = {name: ops[i].name for name, i in ends.items() if i > used.get(name, i)}
        made = {t.name for op in ops for t in op.outputs}
        place = {op.name: i for i, op in enumerate(ops)}
        beside: Beside = {
            name: (size, by, ops[max(ends.get(name, 0), place[by])].name)
            for name, size in self.sizes.items()
            if name not in made and (by := name.rpartition(":")[0]) in place
        }
        beside = completed(beside, ops, self.within)
        return {"held": held, "within": self.within, "parts": self.parts} | ({"beside": beside} if beside else {})
