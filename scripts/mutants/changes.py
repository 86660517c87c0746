"""The small changes of one file. The operators are mutmut's; it is not let loose on the file itself, because it passes over whatever is
decorated or stands outside a function: all op kinds, every property, the tables."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider, WhitespaceInclusivePositionProvider
from mutmut.mutation.file_mutation import NEVER_MUTATE_FUNCTION_CALLS
from mutmut.mutation.mutators import mutation_operators

WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
TYPES = ("Any", "Callable", "Mapping", "Sequence", "tuple")  # an alias of these is an annotation, not a value


@dataclass(frozen=True)
class Mutant:
    """A top-level statement in which one thing is changed."""

    file: str  # under src/ironlaw
    line: int
    was: str  # the changed lines, before
    now: str
    first: int  # the line at which the statement begins
    statement: str = field(repr=False)
    original: str = field(repr=False)
    lines: tuple[int, int] | None  # the lines that must run for it to matter; None: it matters at import
    function: str  # the qualified name of the function around it

    @property
    def key(self) -> str:
        """The same as long as the statement is, wherever it moves."""
        return hashlib.sha1(f"{Path(self.file).name}\0{self.original}\0{self.statement}".encode()).hexdigest()[:16]

    @property
    def marked(self) -> str:
        """The changed lines with the change marked in them: `x = «1 → 2» + y`."""
        before, after = WORDS.findall(self.was), WORDS.findall(self.now)
        head, tail = _common(before, after)
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        return "".join([*before[:head], "«", *old, " → ", *new, "»", *before[len(before) - tail :]])

    def source(self, text: str) -> str:
        """The whole file, changed."""
        lines = text.splitlines(keepends=True)
        return "".join([*lines[: self.first - 1], self.statement, *lines[self.first - 1 + len(self.original.splitlines()) :]])


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    wrapper = MetadataWrapper(cst.parse_module(text))
    places, parents, module = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider), wrapper.module
    extents, ends = wrapper.resolve(WhitespaceInclusivePositionProvider), [0, *accumulate(map(len, text.splitlines(keepends=True)))]

    def written(node: cst.CSTNode, new: cst.CSTNode) -> str:
        """The statement with `new` for `node`, put in as text: to print the whole tree for each change would take minutes."""
        if isinstance(node, cst.BaseCompoundStatement):
            return module.code_for_node(new if node is statement else statement.deep_replace(node, new))
        begin, end = (ends[place.line - 1] + place.column for place in (extents[node].start, extents[node].end))
        return text[ends[first - 1] : begin] + module.code_for_node(new) + text[end : ends[first - 1] + len(original)]

    originals = [module.code_for_node(statement) for statement in module.body]
    footer = "".join(module.code_for_node(line) for line in module.footer)
    first = 1 + text[: len(text) - len("".join(originals)) - len(footer)].count("\n")
    for statement, original in zip(module.body, originals, strict=True):
        seen = {ast.dump(ast.parse(original))}
        for node in _nodes(statement):
            lines, function = _reach(node, places, parents)
            for changed in (new for kind, operator in mutation_operators if isinstance(node, kind) for new in operator(node)):
                piece = written(node, changed)
                try:
                    shape = ast.dump(ast.parse(piece))
                except SyntaxError:
                    continue
                if shape not in seen:
                    seen.add(shape)
                    was, now, offset = _difference(original.splitlines(), piece.splitlines())
                    yield Mutant(file, first + offset, was, now, first, piece, original, lines, function)
        first += original.count("\n")


def _nodes(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    stack = [statement]
    while stack:
        node = stack.pop()
        if not _left_alone(node):
            yield node
            stack.extend(reversed(node.children))


def _left_alone(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom):
        return True
    if isinstance(node, cst.Decorator):  # but @kind("relu", 1) is a table written as decorators
        return not isinstance(node.decorator, cst.Call) or getattr(node.decorator.func, "value", "") != "kind"
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
        return node.func.value in NEVER_MUTATE_FUNCTION_CALLS
    value: cst.BaseExpression | None = node.value if isinstance(node, cst.Assign) else None
    while isinstance(value, cst.Subscript):
        value = value.value
    return isinstance(value, cst.Name) and value.value in TYPES


def _reach(node: cst.CSTNode, places: dict, parents: dict) -> tuple[tuple[int, int] | None, str]:
    """The lines whose running runs this node, and the outermost function around it."""
    inner, lines, names = node, None, []
    narrowest: cst.CSTNode | None = None
    while not isinstance(inner, cst.Module):
        child, inner = inner, parents[inner]
        if narrowest is None and isinstance(child, cst.SimpleStatementLine):
            narrowest = child
        if isinstance(inner, cst.FunctionDef) and child is inner.body:
            place = places[narrowest or node]
            lines, names = lines or (place.start.line, place.end.line), [inner.name.value]
        elif isinstance(inner, cst.ClassDef) and names:
            names.insert(0, inner.name.value)
    return lines, ".".join(names)


def _difference(before: list[str], after: list[str]) -> tuple[str, str, int]:
    """The lines that differ, and how many come before them."""
    head, tail = _common(before, after)
    was, now = before[head : len(before) - tail], after[head : len(after) - tail]
    return "\n".join(map(str.strip, was)), "\n".join(map(str.strip, now)), head


def _common(before: list[str], after: list[str]) -> tuple[int, int]:
    """How many are the same at the beginning, and how many of the rest at the end."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    return head, tail
