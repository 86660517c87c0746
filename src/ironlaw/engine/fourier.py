"""The fast Fourier transform of real numbers in plain Python, for lengths that are powers of two."""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from functools import lru_cache
from operator import add, mul, sub

from ironlaw.errors import BadValue


def spectrum(values: Sequence[float]) -> list[complex]:
    """Σₖ values[k] · e^(−2πi·jk/n) for j from 0 to n/2; the others are their conjugates. Two halves are done as one of complex numbers."""
    n = _length(len(values))
    packed = _transform([complex(a, b) for a, b in zip(values[::2], values[1::2], strict=True)])
    mirrored = [value.conjugate() for value in (packed[0], *packed[:0:-1])]
    half = [(a + b) / 2 - 0.5j * turn * (a - b) for a, b, turn in zip(packed, mirrored, _turns(n), strict=True)]
    return [*half, complex(packed[0].real - packed[0].imag)]


def values(spectrum: Sequence[complex]) -> list[float]:
    """The real numbers that have this spectrum."""
    n = _length(2 * (len(spectrum) - 1))
    mirrored = [value.conjugate() for value in spectrum[:0:-1]]
    packed = [(a + b + 1j * turn.conjugate() * (a - b)).conjugate() for a, b, turn in zip(spectrum[:-1], mirrored, _turns(n), strict=True)]
    pairs = _transform(packed)
    return [part / n for value in pairs for part in (value.real, -value.imag)]


def _length(n: int) -> int:
    if n < 2 or n & (n - 1):
        raise BadValue(f"{n} values to transform; give a power of two")
    return n


def _transform(values: list[complex]) -> list[complex]:
    n = len(values)
    if n == 1:
        return values
    if n == 2:
        return [values[0] + values[1], values[0] - values[1]]
    if n == 4:
        a, b, c, d = values[0] + values[2], values[0] - values[2], values[1] + values[3], (values[3] - values[1]) * 1j
        return [a + c, b + d, a - c, b - d]
    even, odd = _transform(values[::2]), _transform(values[1::2])
    turned = list(map(mul, _turns(n), odd))
    return [*map(add, even, turned), *map(sub, even, turned)]


@lru_cache(maxsize=32)
def _turns(n: int) -> tuple[complex, ...]:
    return tuple(cmath.exp(-2j * cmath.pi * k / n) for k in range(n // 2))
