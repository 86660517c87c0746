"""Which operators of two predictions changed. An operator is known by its name and kind; one whose module was renamed, by its work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAIRS = 40_000  # of operators that may be one another, to look at
SAME = 1e-9  # the share under which two times are one
Name = tuple[str, str]  # and kind


@dataclass(frozen=True, slots=True)
class Operator:
    """All operators of one name and kind, in seconds on the device; None where one side has none."""

    name: str
    kind: str
    count: int
    old: float | None
    new: float | None

    @property
    def change(self) -> float:
        return (self.new or 0.0) - (self.old or 0.0)


@dataclass(frozen=True, slots=True)
class Together:
    """All operators of one name and kind on one side."""

    count: int = 0
    seconds: float = 0.0
    flops: float = 0.0
    bytes: float = 0.0

    def plus(self, op: Mapping[str, Any]) -> Together:
        return Together(self.count + 1, self.seconds + op["seconds"], self.flops + op.get("flops", 0.0), self.bytes + op.get("bytes", 0.0))


def operators_of(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[tuple[Operator, ...], int]:
    """The operators that changed, and how many were renamed. Operators of one name and kind, a loop's, count together."""
    before, after = (_together(side.get("ops", ())) for side in (old, new))
    names = renamed(before, after)
    every = [
        Operator(f"{names[name][0]} (was {name[0]})", name[1], one.count, one.seconds, after[names[name]].seconds)
        if name in names
        else Operator(*name, max(one.count, after.get(name, one).count), one.seconds, after[name].seconds if name in after else None)
        for name, one in before.items()
    ]
    every += [
        Operator(*name, one.count, None, one.seconds) for name, one in after.items() if name not in before and name not in names.values()
    ]
    moved = [op for op in every if abs(op.change) > SAME * max(op.old or 0.0, op.new or 0.0) or (op.old is None) != (op.new is None)]
    return tuple(sorted(moved, key=lambda op: -abs(op.change))), len(names)


def _together(ops: Any) -> dict[Name, Together]:
    found: dict[Name, Together] = {}
    for op in ops:
        name = (op["name"], op["kind"])
        found[name] = found.get(name, Together()).plus(op)
    return found


def renamed(before: Mapping[Name, Together], after: Mapping[Name, Together]) -> dict[Name, Name]:
    """Old names that are gone -> new ones that do the same work: first those of modules that have another name, all by one rule
    (`layers.` is `encoder.blocks.` now), then as many of a kind as there were, each in the order of their names. Where their numbers
    differ nothing more is guessed: then an operator came or went, too."""
    likes: dict[Any, tuple[list[Name], list[Name]]] = defaultdict(lambda: ([], []))
    for side, (mine, other) in enumerate(((before, after), (after, before))):
        for name, one in mine.items():
            if name not in other:
                likes[name[1], one.count, one.flops, one.bytes][side].append(name)
    found = _moved([both for both in likes.values() if all(both)])
    taken = {*found.values()}
    for gone, come in likes.values():
        old, new = sorted(n for n in gone if n not in found), sorted(n for n in come if n not in taken)
        if len(old) == len(new):
            found |= dict(zip(old, new, strict=True))
    return found


def _moved(likes: Sequence[tuple[list[Name], list[Name]]]) -> dict[Name, Name]:
    """By the modules that were renamed: the rule that most operators follow first."""
    rules: dict[tuple[str, str], list[tuple[Name, Name]]] = defaultdict(list)
    for gone, come in likes:
        if len(gone) * len(come) <= PAIRS:
            for a in gone:
                for b in come:
                    rules[_rule(a[0], b[0])].append((a, b))
    found: dict[Name, Name] = {}
    taken: set[Name] = set()
    for _, pairs in sorted(rules.items(), key=lambda rule: (-len(rule[1]), rule[0])):
        if len(pairs) > 1:
            for a, b in pairs:
                if a not in found and b not in taken:
                    found[a] = b
                    taken.add(b)
    return found


def _rule(old: str, new: str) -> tuple[str, str]:
    """What is left of two names without the end that they share."""
    a, b = old.split("."), new.split(".")
    while a and b and a[-1] == b[-1]:
        a.pop()
        b.pop()
    return ".".join(a), ".".join(b)
