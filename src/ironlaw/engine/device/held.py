"""Which tensors Python still holds: what a module was called with stays alive until the call returns, read again or not."""

from __future__ import annotations

from ironlaw.engine.device.types import Graph

Span = tuple[int, int]  # first and last op of a call


def held_until(graph: Graph) -> dict[str, int]:
    """Tensor -> the last op of the outermost call that began after it was made and reads it. By the paths of modules in the names of
    captured ops; two calls of one module in a row count as one."""
    made = {t.name: i for i, op in enumerate(graph.ops) for t in op.outputs}
    ends: dict[str, int] = {}
    for i, (op, around) in enumerate(zip(graph.ops, calls(graph), strict=True)):
        for t in op.inputs:
            if t.name in made:
                ends[t.name] = max(ends.get(t.name, i), *(last for first, last in around if first > made[t.name]), i)
    return ends


def calls(graph: Graph) -> list[list[Span]]:
    """For each op the calls of modules that it runs in."""
    around: list[list[Span]] = [[] for _ in graph.ops]
    running: list[tuple[str, int]] = []  # the path so far, by its parts and where each began

    def returned(depth: int, end: int) -> None:
        for _, first in running[depth:]:
            for i in range(first, end):
                around[i].append((first, end - 1))
        del running[depth:]

    for i, op in enumerate(graph.ops):
        path = op.name.split(".")[:-1]
        depth = 0
        while depth < min(len(running), len(path)) and running[depth][0] == path[depth]:
            depth += 1
        returned(depth, i)
        running += [(part, i) for part in path[depth:]]
    returned(0, len(graph.ops))
    return around
