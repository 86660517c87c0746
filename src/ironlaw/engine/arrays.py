"""minimum, maximum, where, ceil, …: floats stay floats, NumPy arrays are welcome.

NumPy is imported only when an array is given, so that the engine starts fast and runs where NumPy is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

Number = Any  # a float, or a NumPy array of floats
SCALARS = (float, int)


def is_array(*values: Number) -> bool:
    return not all(issubclass(kind, SCALARS) for kind in set(map(type, values)))


def plain(value: Number) -> Number:
    """A NumPy scalar or an array without axes as a Python number; whatever else as it is."""
    return value.item() if getattr(value, "shape", None) == () else value


def ratio(a: Number, b: Number) -> Number:
    """a / b; nothing over nothing is 0, something over nothing inf."""
    if isinstance(a, SCALARS) and isinstance(b, SCALARS):
        return a / b if b else float("inf") if a else 0.0
    import numpy as np

    over = np.where(np.asarray(a) > 0, float("inf"), 0.0)
    return np.where(np.asarray(b) == 0, over, np.asarray(a) / np.where(np.asarray(b) == 0, 1.0, b))


def maximum(a: Number, b: Number) -> Number:
    if isinstance(a, SCALARS) and isinstance(b, SCALARS):
        return a if a >= b else b
    import numpy as np

    return np.maximum(a, b)


def minimum(a: Number, b: Number) -> Number:
    if isinstance(a, SCALARS) and isinstance(b, SCALARS):
        return a if a <= b else b
    import numpy as np

    return np.minimum(a, b)


def where(condition: Any, yes: Number, no: Number) -> Number:
    if isinstance(condition, (bool, int)):
        return yes if condition else no
    import numpy as np

    return np.where(condition, yes, no)


def ceil(value: Number) -> Number:
    if isinstance(value, SCALARS):
        return float(math.ceil(value))
    import numpy as np

    return np.ceil(value)


def log2(value: Number) -> Number:
    if isinstance(value, SCALARS):
        return math.log2(value)
    import numpy as np

    return np.log2(value)


def total(values: Iterable[Number]) -> Number:
    """The sum, with plain numbers added first, so that a sweep's long arrays are touched as few times as possible."""
    plain, swept = 0.0, None
    for value in values:
        if isinstance(value, SCALARS):
            plain += value
        else:
            swept = value if swept is None else swept + value
    if swept is None:
        return plain
    return swept + plain if plain else swept


def is_positive(value: Number) -> bool:
    """Above zero, everywhere."""
    return bool(value > 0) if isinstance(value, SCALARS) else bool((value > 0).all())


def largest(value: Number) -> float:
    """The largest entry of an array, or the float itself."""
    return float(value) if isinstance(value, SCALARS) else float(value.max())


def smallest(value: Number) -> float:
    """The smallest entry of an array, or the float itself."""
    return float(value) if isinstance(value, SCALARS) else float(value.min())


def interpolate(x: Number, xs: tuple[float, ...], ys: tuple[float, ...]) -> Number:
    """Piecewise linear through (xs, ys), flat outside; `xs` rises."""
    if not isinstance(x, SCALARS):
        import numpy as np

        return np.interp(x, xs, ys)
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    from bisect import bisect_right

    i = bisect_right(xs, x)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])
