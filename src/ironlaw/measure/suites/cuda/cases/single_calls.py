"""Functions of ATen that models of own code call by themselves: softmax down an axis, windows, sums at an index, gradients of lookups.

single_calls.json has each call, as `benchmarks/device/single_calls.py --cases` writes it, with the op that capture makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

STORED = Path(__file__).with_name("single_calls.json")
Written = Mapping[str, Any]  # `func`, and `args`: a tensor among them is an object with its `shape`


def called() -> Iterator[OpSpec]:
    yield from (("called", one["params"]) for one in _stored())


def call_of(params: Mapping[str, Any]) -> Written:
    """The call behind a case."""
    return _by_params()[_key(params)]


@cache
def _stored() -> tuple[Written, ...]:
    return tuple(json.loads(STORED.read_text(encoding="utf-8")))


@cache
def _by_params() -> dict[str, Written]:
    return {_key(one["params"]): one for one in _stored()}


def _key(params: Mapping[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)
