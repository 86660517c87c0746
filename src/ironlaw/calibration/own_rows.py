"""A cost model corrected by rows that were measured on the machine itself: what was known stays, and what rows say is put on top.

The rows are compared with what the model says without them, once, when the first cost is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ironlaw.backends import Backend
from ironlaw.backends.kernel import Kernel
from ironlaw.backends.rows import Row
from ironlaw.calibration.shared_errors import SharedErrors, Trait
from ironlaw.calibration.traits import trait
from ironlaw.engine.arrays import is_array
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op

WIDEST_MEAN = 0.6  # sd of a logarithm beyond which its mean is not trusted to lie higher still
Priced = Callable[[Op], tuple[Cost, Sequence[Kernel]]]  # an op's cost before any correction, run eager, and its kernels


@dataclass(frozen=True)
class OwnRows:
    """Rows of single ops on this machine, and what the model says of them without their help."""

    rows: tuple[Row, ...]
    library: Backend
    priced: Priced
    alone: bool = False  # whether the model rests on these rows and no others

    @cached_property
    def errors(self) -> SharedErrors:
        known: dict[str, tuple[Trait, float]] = {}  # of one op that was timed again the newest row counts
        for row in self.rows:
            op, seconds = self.library.measured(row), row.wall_s if self.library.dispatch == "synchronous" else row.busy_s
            if op is None or not seconds:
                continue
            cost, kernels = self.priced(op)
            if kernels and float(cost.device) > 0.0:
                seen = trait(op, cost, kernels, self.library.signature(op, "eager"))
                known[seen.op] = seen, math.log(seconds / float(cost.device))
        return SharedErrors(tuple(seen for seen, _ in known.values()), tuple(log for _, log in known.values()))

    def corrected(self, op: Op, cost: Cost, kernels: Sequence[Kernel], mode: str) -> Cost:
        """The cost times what the rows say of ops like this, and as sure as they make it."""
        if not kernels or cost.doubt is None or not self.errors.rows:
            return cost
        signature = self.library.signature(op, mode)
        sizes = [v for k in kernels for v in (k.data, k.flops, k.rows, k.depth, k.count)] + [*(signature.place if signature else ())]
        terms = [cost.data, cost.compute, cost.floor, cost.work, cost.doubt.sd]
        swept = next((points(v).shape for v in (*sizes, *terms) if is_array(v)), None)
        seen = [trait(op, cost, kernels, signature)] if swept is None else list(_each(op, cost, kernels, signature, math.prod(swept)))
        logs, sds = self.errors.at(seen)
        factor, sd = (float(v[0]) if swept is None else v.reshape(swept) for v in (_mean(logs, sds), sds))
        data, compute, floor, joint = (factor * points(term) for term in (cost.data, cost.compute, cost.floor, cost.work))
        doubt = replace(cost.doubt, sd=sd) if cost.doubt.known else cost.doubt
        return replace(cost, data=data, compute=compute, floor=floor, joint=joint, doubt=doubt)


def _mean(logs: Any, sds: Any) -> Any:
    """What an op takes on average, of whose time the logarithm is so unsure: a model's time is a sum, and a sum of medians is too short."""
    import numpy as np

    return np.exp(logs + np.minimum(sds, WIDEST_MEAN) ** 2 / 2.0)


def _each(op: Op, cost: Cost, kernels: Sequence[Kernel], signature: Any, count: int) -> Sequence[Trait]:
    """The op at each place of a sweep."""
    import numpy as np

    def at(value: Any, i: int) -> float:
        return float(np.ravel(value)[i]) if is_array(value) else float(value)

    def one(i: int) -> Trait:
        terms = {name: at(getattr(cost, name), i) for name in ("data", "compute", "floor")}
        doubt = replace(cost.doubt, sd=at(cost.doubt.sd, i)) if cost.doubt else None
        some = [Kernel(k.curve, *(at(getattr(k, name), i) for name in ("data", "flops", "rows", "depth", "count"))) for k in kernels]
        here = replace(signature, place=tuple(at(v, i) for v in signature.place)) if signature else None
        return trait(op, Cost(**terms, joint=at(cost.work, i), doubt=doubt), some, here)

    return [one(i) for i in range(count)]
