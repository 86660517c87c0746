"""The wide sweep for a GPU asks for what the stored evidence has, in words that the engine understands. Nothing is run here."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ironlaw.backends.cuda.lowering import ROWS
from ironlaw.backends.evidence_ops import OPS
from ironlaw.measure.suites.cuda.parts import PARTS
from ironlaw.registry.evidence import evidence

STORED = {file.name.removeprefix("h200_sxm/"): file for file in evidence("h200_sxm")}


def key(op: str, params: dict[str, Any]) -> str:
    return f"{op} {json.dumps(params, sort_keys=True)}"


@pytest.mark.parametrize("part", [name for name in PARTS if name in STORED])
def test_every_row_of_the_h200_has_its_case(part: str) -> None:
    rows = {key(row.op, row.params) for row in STORED[part].rows if row.kind == "op"}
    assert len(rows) > 30
    assert rows <= {key(*spec) for spec in PARTS[part].specs()}


@pytest.mark.parametrize("part", PARTS)
def test_no_case_twice(part: str) -> None:
    counts = Counter(key(*spec) for spec in PARTS[part].specs())
    assert [case for case, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_engine_understands_the_params(part: str) -> None:
    for op, params in PARTS[part].specs():
        if op in OPS:
            assert OPS[op](params).work.bytes > 0, (op, params)
        else:
            assert op in ROWS, op  # more than one op, or a whole layer: its kernels are read from the profile


def test_the_page_lists_the_parts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "measure.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| .* \| (\d+) s \|$", page, re.MULTILINE)
    assert rows == [(name, f"{sum(1 for _ in part.specs()):,}", f"{part.seconds:.0f}") for name, part in PARTS.items()]


def test_traffic_of_compiled_functions_by_hand() -> None:
    found = {}
    for op, p in PARTS["generated"].specs():
        if op == "generated":
            found.setdefault(p["function"], p)
    # FP16, 2 bytes an element: a·b + c reads three tensors and writes one
    assert (found["mul_add_relu"]["read_bytes"], found["mul_add_relu"]["written_bytes"]) == (3 * 2 * 4096, 2 * 4096)
    # the sum of two is written beside its norm
    assert (found["add_layer_norm"]["read_bytes"], found["add_layer_norm"]["written_bytes"]) == (2 * 2 * 768, 2 * 2 * 768)
    # one image of 64 channels, 112 on a side, in; one figure a channel out
    assert (found["bn_relu_mean"]["read_bytes"], found["bn_relu_mean"]["written_bytes"]) == (2 * 64 * 112 * 112, 2 * 64)
