"""A step's microbatches, or a loop's steps, do the same again and again: the second pass is captured, and from the third on what its
models and its backward pass did is written down once more under new names.

The user's own code runs as it stands each time: the loss on tensors of the same forms, its gradient, the optimiser. The first pass is
not taken as the pattern, because later ones add to the gradients that it makes; in a rehearsal, which writes nothing down, it is. A pass
that begins otherwise runs, and may be the next pattern. Where it turns out to be another one later, `Differs` is raised, and the step is
captured without this.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._mode_utils import no_dispatch

from ironlaw.engine.device.types import Op, Tensor
from ironlaw.tracing.graph_breaks import Break
from ironlaw.tracing.skipped_microbatches import form, forms
from ironlaw.tracing.target import changed


class Differs(BaseException):
    """A pass is not like the one before, which was seen too late. No code of a script's should catch this."""


@dataclass(frozen=True)
class Mark:
    """How far the recorder has come."""

    ops: int
    names: int
    calls: int
    breaks: int
    checkpoints: int


@dataclass
class Stretch:
    """What a model's call, or a backward pass, has written down. `changed`: storages that were there before -> their names after."""

    start: Mark
    end: Mark
    changed: dict[int, tuple[str, str]]
    key: Any = None  # of a call: which model, and the forms of what goes in
    out: Any = None  # what comes out, with tensors that have no memory
    results: tuple[str, ...] = ()  # the names of those


@dataclass
class Pattern:
    """A pass that others may be like. `before`: storages that were there -> their names; `named`: each name that was given, from what."""

    start: Mark
    before: dict[int, tuple[str, str]]
    named: list[tuple[str, str]]
    calls: list[Stretch] = field(default_factory=list)
    back: Stretch | None = None
    grads: list[tuple[torch.Tensor, Any, str]] = field(default_factory=list)  # weights, outlines of their gradients, and names of those

    def edges(self) -> list[int]:
        assert self.back is not None
        return [self.start.ops, *(at for one in (*self.calls, self.back) for at in (one.start.ops, one.end.ops))]


@dataclass
class Copied:
    """A pass that was written down from the pattern: its edges, the new names, and which of them no tensor stands for."""

    pattern: Pattern
    edges: list[int]
    names: dict[str, str] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)


class EqualPasses:
    answering = False  # ops that are written down are those of the user's code

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.modules: dict[torch.nn.Module, Any] = {}  # whose calls may be repeated, and what each has as its own `forward`
        self.copied = False  # whether anything was written down without being run
        self.begin_again()

    def begin_again(self) -> None:
        self.passes = self.place = self.depth = self.read = 0
        self.forms: dict[int, Any] = {}  # of what outlines stand for
        self.pattern: Pattern | None = None  # the one before, or the last that was like none
        self.began: Pattern | None = None  # the running one, as far as it goes
        self.copy: Copied | None = None
        self.copies: list[Copied] = []
        self.recorder.named = None

    def watch(self, module: torch.nn.Module) -> None:
        """Its calls may be repeated from the next one on."""
        if module in self.modules:
            return
        forward = module.forward
        self.modules[module] = module.__dict__.get("forward")

        @wraps(forward)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            return self.call(module, forward, args, kwargs)

        module.__dict__["forward"] = replacement

    # ---- what the second pass does

    def mark(self) -> Mark:
        rec = self.recorder
        return Mark(len(rec.ops), len(rec.named or ()), rec.call[1], len(rec.breaks), rec.checkpoints)

    def stretch(self, start: Mark, **more: Any) -> Stretch:
        assert self.pattern is not None
        other = {at: now for at, was in self.pattern.before.items() if (now := self.recorder.names.get(at, was))[0] != was[0]}
        return Stretch(start, self.mark(), other, **more)

    def outline(self, tree: Any) -> tuple[Any, tuple[str, ...]]:
        """The same of tensors without memory, and the names of those that stood there."""
        rec, seen, names = self.recorder, dict[int, Any](), list[str]()

        def one(tensor: torch.Tensor) -> torch.Tensor:
            if id(tensor) not in seen:
                names.append(rec.names.get(rec.place(tensor), ("", ""))[0])
                with no_dispatch():
                    seen[id(tensor)] = torch.empty(0, device="meta")
                self.forms[id(seen[id(tensor)])] = form(tensor)
            return seen[id(tensor)]

        return changed(tree, one), tuple(names)

    def call(self, module: torch.nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        if self.depth or (self.passes < 1 and not self.recorder.rehearsing):
            return forward(*args, **kwargs)
        if self.began is None:
            self.begin()
        inner = forms((args, kwargs))
        key = id(module), inner, module.training, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")
        calls = self.pattern.calls if self.pattern is not None else []
        like = self.place < len(calls) and inner is not None and calls[self.place].key == key
        if self.copy is None:
            if self.pattern is not self.began and not (like and self.alike(calls[0].start.names)):
                self.pattern = self.began  # this one may be what later ones are like
            if self.pattern is self.began:
                return self.watched(key, forward, args, kwargs)
            assert self.pattern is not None and self.began is not None
            self.copied = True
            self.copy = Copied(self.pattern, [self.began.start.ops])
        elif not like:
            raise Differs
        self.follow(calls[self.place].start.names)
        out = self.write(calls[self.place])
        self.place += 1
        return out

    def watched(self, key: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        assert self.pattern is not None
        self.depth, start = 1, self.mark()
        try:
            out = forward(*args, **kwargs)
        finally:
            self.depth = 0
        made, names = self.outline(out)
        self.pattern.calls.append(self.stretch(start, key=key, out=made, results=names))
        return out

    def backward(self, run: Callable[[], Any]) -> Any:
        if self.copy is not None:
            out = self.repeated(run)
        else:
            start = self.mark()
            out = run()
            if self.pattern is not None and self.pattern is self.began:
                self.ended(start, out)
            else:
                self.pattern = None
        self.passes += 1
        self.place = self.read = 0
        self.begin()
        return out

    def begin(self) -> None:
        self.recorder.named = []
        self.began = Pattern(self.mark(), dict(self.recorder.names), self.recorder.named)

    def ended(self, start: Mark, out: Any) -> None:
        """The pattern is whole, if nothing but gradients of weights came out."""
        assert self.pattern is not None
        self.pattern.back = self.stretch(start)
        if any(isinstance(t, torch.Tensor) for t in pytree.tree_leaves(out)):
            self.pattern = None
            return
        weights = {id(w): w for module in self.modules for w in module.parameters() if w.grad is not None}
        self.pattern.grads = [(w, made, *names) for w in weights.values() for made, names in [self.outline(w.grad)]]

    # ---- what later ones do

    def alike(self, until: int) -> bool:
        """Whether the user's own code has named as many tensors as in the pattern since it began, from the same."""
        assert self.pattern is not None and self.recorder.named is not None
        return [base for base, _ in self.recorder.named] == [base for base, _ in self.pattern.named[:until]]

    def follow(self, until: int) -> None:
        """What the user's own code has named since, as in the pattern."""
        assert self.copy is not None and self.recorder.named is not None
        given, expected = self.recorder.named[self.read :], self.copy.pattern.named[self.read : until]
        if [base for base, _ in given] != [base for base, _ in expected]:
            raise Differs
        self.copy.names |= {old: new for (_, old), (_, new) in zip(expected, given, strict=True)}
        self.read = until

    def repeated(self, run: Callable[[], Any]) -> Any:
        """The gradients of the user's own code, then those of the models."""
        copy, rec = self.copy, self.recorder
        assert copy is not None and copy.pattern.back is not None and rec.named is not None
        back = copy.pattern.back
        if self.place != len(copy.pattern.calls):
            raise Differs
        self.follow(back.start.names)
        before = len(rec.ops)
        out = run()
        self.follow(len(rec.named))
        rest = replace(back.start, ops=back.start.ops + len(rec.ops) - before, names=self.read)
        if [op.kind for op in rec.ops[before:]] != [op.kind for op in rec.ops[back.start.ops : rest.ops]]:
            raise Differs
        self.write(replace(back, start=rest), before)
        for weight, made, name in copy.pattern.grads:
            if weight.grad is None:
                weight.grad = self.stands_for(made, (name,))
        self.copies.append(copy)
        self.copy = None
        return out

    def write(self, one: Stretch, begins: int | None = None) -> Any:
        """A stretch once more. Gives what a model would."""
        rec, copy = self.recorder, self.copy
        assert copy is not None
        rec.lifetimes.freed(len(rec.ops), True)
        copy.edges.append(len(rec.ops) if begins is None else begins)
        carried = {name: rec.names[at][0] for at, (name, _) in copy.pattern.before.items() if at in rec.names}
        for base, old in copy.pattern.named[self.read : one.end.names]:
            copy.names[old] = rec.unique(base)
        self.read = one.end.names
        later = rec.call[1] - one.start.calls
        for i in range(one.start.ops, one.end.ops):
            op = rec.ops[i]
            inputs, outputs = (
                tuple(Tensor(self.new(t.name, carried), t.shape, t.dtype, t.role) for t in some) for some in (op.inputs, op.outputs)
            )
            name = self.new(op.name, carried)
            copy.made |= {op.name, *(t.name for t in op.outputs)}
            rec.ops.append(Op(name, op.kind, inputs, outputs, op.attrs, op.work, op.reads, op.writes, op.key))
            rec.calls.append((rec.calls[i][0], rec.calls[i][1] + later))
            rec.ways.append(rec.ways[i])
            rec.phases.seen.append(rec.phases.seen[i])
            rec.wholes |= {t.name: rec.wholes[old.name] for t, old in zip(outputs, op.outputs, strict=True) if old.name in rec.wholes}
            if op.name in rec.again:
                rec.again[name] = rec.again[op.name]
            if op.kind == "unknown":
                rec.unknown[rec.calls[i][0]] += 1
        rec.call = (rec.call[0], one.end.calls + later)
        rec.breaks += [Break(b.what, b.way, b.call + later) for b in rec.breaks[one.start.breaks : one.end.breaks]]
        rec.checkpoints += one.end.checkpoints - one.start.checkpoints
        for at, (name, role) in one.changed.items():
            if at in rec.names and name in copy.names:
                rec.names[at] = copy.names[name], role
        copy.edges.append(len(rec.ops))
        if rec.progress is not None:
            rec.progress(len(rec.ops))
        return self.stands_for(one.out, one.results) if one.key is not None else None

    def new(self, name: str, carried: dict[str, str]) -> str:
        assert self.copy is not None
        known = self.copy.names
        if name in known:
            return known[name]
        label, colon, rest = name.partition(":")
        if colon and label in known:  # a second result of an op
            known[name] = f"{known[label]}:{rest}"
            return known[name]
        return carried.get(name, name)

    def stands_for(self, made: Any, names: tuple[str, ...]) -> Any:
        """Tensors like these, under the new names of those of the pattern."""
        rec, left, seen = self.recorder, iter(names), dict[int, Any]()

        def one(outline: torch.Tensor) -> torch.Tensor:
            if id(outline) not in seen:
                old = next(left)
                new = self.new(old, {})
                _, shape, stride, dtype, graded = self.forms[id(outline)]
                tensor = torch.empty_strided(shape, stride, dtype=dtype).zero_()  # a loss that is read is a number
                seen[id(outline)] = Ends.apply(ends, tensor) if graded else tensor  # type: ignore[no-untyped-call]
                place = rec.place(tensor)
                rec.names[place] = new, "activation"
                if new != old:
                    rec.lifetimes.roots[place] = new
                    rec.lifetimes.live[place] = rec.lifetimes.refs[place].cdata
            return seen[id(outline)]

        idle, rec.idle = rec.idle, True
        try:
            ends = torch.zeros((), requires_grad=True)
            return changed(made, one)
        finally:
            rec.idle = idle

    # ---- at the end

    def lives(self) -> None:
        """What is written down of the pattern's storages holds for those of each copy."""
        if not self.copies:
            return
        lives, end = self.recorder.lifetimes, len(self.recorder.ops)
        lives.freed(end, True)
        alive = {lives.roots[at] for at in lives.live}
        for copy in self.copies:
            here = copy.pattern.edges()
            for name in [name for name in lives.sizes if name.rpartition(":")[0] in copy.made]:
                copy.made.add(name)
                label, _, rest = name.rpartition(":")
                copy.names.setdefault(name, f"{copy.names[label]}:{rest}")
            for old in copy.made & copy.names.keys():
                new = copy.names[old]
                if old in lives.parts:
                    lives.parts[new] = lives.parts[old]
                if old in lives.sizes:
                    lives.sizes[new] = lives.sizes[old]
                if old in lives.within:
                    lives.within[new] = copy.names.get(lives.within[old], lives.within[old])
                elif old in lives.last and new not in alive:
                    lives.last[new] = max(min(moved(lives.last[old], here, copy.edges), end - 1), lives.last.get(new, 0))
        self.copies = []


class Ends(torch.autograd.Function):
    """A model's result without its model: gradients end here."""

    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        return given[1].view_as(given[1])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return None, None


def moved(at: int, here: list[int], there: list[int]) -> int:
    """The place in a copy of an op of the pattern: as far behind the last edge before it."""
    i = max(0, bisect_right(here, at) - 1)
    return there[i] + at - here[i]


@contextmanager
def repeating(recorder: Any, modules: Collection[torch.nn.Module]) -> Iterator[EqualPasses]:
    passes = EqualPasses(recorder)
    for module in modules:
        passes.watch(module)
    try:
        yield passes
        passes.lives()
    finally:
        recorder.named = None
        for module, forward in passes.modules.items():
            del module.__dict__["forward"]
            if forward is not None:
                module.__dict__["forward"] = forward
