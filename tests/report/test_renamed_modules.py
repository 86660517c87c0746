"""Operators of modules that have another name now are compared with their likes, also where a layer came or went."""

from __future__ import annotations

from typing import Any

from ironlaw.report.operator_changes import operators_of

LAYER = (("norm", 10.0), ("up", 300.0), ("down", 300.0))  # and the FLOPs of each: two are alike


def answer(layers: str, count: int, head: str) -> dict[str, Any]:
    ops = [(f"{layers}.{i}.{name}.addmm", flops) for i in range(count) for name, flops in LAYER] + [(f"{head}.addmm", 77.0)]
    return {"ops": [{"name": name, "kind": "linear", "seconds": flops, "flops": flops, "bytes": 1.0} for name, flops in ops]}


def test_a_layer_more_under_another_name():
    changed, renamed = operators_of(answer("layers", 12, "head"), answer("encoder.blocks", 13, "lm_head"))
    assert renamed == 12 * 3 + 1
    assert {(op.name, op.old) for op in changed} == {(f"encoder.blocks.12.{name}.addmm", None) for name, _ in LAYER}


def test_a_layer_less():
    changed, renamed = operators_of(answer("encoder.blocks", 5, "head"), answer("layers", 4, "head"))
    assert renamed == 4 * 3 and {(op.name, op.new) for op in changed} == {(f"encoder.blocks.4.{name}.addmm", None) for name, _ in LAYER}


def test_what_only_seems_alike_is_not_guessed():
    changed, renamed = operators_of(answer("a", 1, "head"), answer("b", 0, "head"))
    assert renamed == 0 and len(changed) == 3
