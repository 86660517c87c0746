"""Two sequences side by side with as few left out as possible, each kept in order: Myers' difference algorithm, O((n + m)·d)."""

from __future__ import annotations

from collections.abc import Sequence


def align(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places (i, j) with a[i] == b[j], rising in both; as many as can be."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = _myers(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in middle),
        *((len(a) - tail + k, len(b) - tail + k) for k in range(tail)),
    ]


def _myers(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """`reach[k]` is how far in `a` one gets on the diagonal i − j = k with so many left out; each round's is kept to walk back."""
    n, m = len(a), len(b)
    reach = {1: 0}
    rounds: list[dict[int, int]] = []
    for left_out in range(n + m + 1):
        rounds.append(dict(reach))
        for k in range(-left_out, left_out + 1, 2):
            down = k == -left_out or (k != left_out and reach.get(k - 1, -1) < reach.get(k + 1, -1))
            i = reach[k + 1] if down else reach[k - 1] + 1
            while i < n and i - k < m and a[i] == b[i - k]:
                i += 1
            reach[k] = i
            if i >= n and i - k >= m:
                return _back(rounds, n, m)
    return []


def _back(rounds: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for left_out in range(len(rounds) - 1, -1, -1):
        reach, k = rounds[left_out], i - j
        down = k == -left_out or (k != left_out and reach.get(k - 1, -1) < reach.get(k + 1, -1))
        before = k + 1 if down else k - 1
        start = reach[before] if left_out else 0
        while i > start + (0 if down or not left_out else 1) and j > 0 and i > 0:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        i, j = start, start - before
    return pairs[::-1]
