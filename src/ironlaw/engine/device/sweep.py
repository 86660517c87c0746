"""slope·x + offset over a swept size x, kept as two numbers for as long as can be.

A sweep over ten thousand batches has sizes, bytes and FLOPs that are all straight lines in the batch. Adding and scaling
lines costs nothing; only where a maximum or a curve needs the points are they written out (`line.points`). To everything
else, NumPy included, a line is the array of its points.
"""

from __future__ import annotations

from typing import Any

PLAIN = (float, int)


class Line:
    """Made by multiplying or adding plain numbers to a swept size; two lines over one `base` add up to a third."""

    __slots__ = ("base", "offset", "slope")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Any, slope: float = 1.0, offset: float = 0.0) -> None:
        self.base, self.slope, self.offset = base, slope, offset

    @property
    def points(self) -> Any:
        """The points as an array."""
        scaled = self.base * self.slope
        return scaled + self.offset if self.offset else scaled

    def __add__(self, other: Any) -> Any:
        if isinstance(other, PLAIN):
            return Line(self.base, self.slope, self.offset + other)
        if isinstance(other, Line) and other.base is self.base:
            return Line(self.base, self.slope + other.slope, self.offset + other.offset)
        return self.points + points(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, PLAIN):
            return Line(self.base, self.slope * other, self.offset * other)
        return self.points * points(other)

    def __neg__(self) -> Line:
        return Line(self.base, -self.slope, -self.offset)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, PLAIN):
            return Line(self.base, self.slope / other, self.offset / other)
        return self.points / points(other)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self.points // points(other)

    def __mod__(self, other: Any) -> Any:
        return self.points % points(other)

    def __pow__(self, other: Any) -> Any:
        return self.points ** points(other)

    def __lt__(self, other: Any) -> Any:
        return self.points < points(other)

    def __le__(self, other: Any) -> Any:
        return self.points <= points(other)

    def __gt__(self, other: Any) -> Any:
        return self.points > points(other)

    def __ge__(self, other: Any) -> Any:
        return self.points >= points(other)

    def __eq__(self, other: object) -> Any:
        return self.points == points(other)

    def __ne__(self, other: object) -> Any:
        return self.points != points(other)

    def __abs__(self) -> Any:
        return abs(self.points)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.points

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.points

    def __rmod__(self, other: Any) -> Any:
        return other % self.points

    def __rpow__(self, other: Any) -> Any:
        return other**self.points

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        values = self.points
        return values if dtype is None else values.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return getattr(ufunc, method)(*map(points, inputs), **more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy's __array_interface__ would point into points that nobody holds
            raise AttributeError(name)
        return getattr(self.points, name)

    def __getitem__(self, index: Any) -> Any:
        return self.points[index]

    @property
    def shape(self) -> Any:
        return self.base.shape

    def __len__(self) -> int:
        return len(self.base)

    def __repr__(self) -> str:
        return repr(self.points)


def points(value: Any) -> Any:
    """A line written out; whatever else as it is."""
    return value.points if isinstance(value, Line) else value
