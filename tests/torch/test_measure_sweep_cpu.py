"""The wide sweep of a processor: every case, without its values."""

from itertools import pairwise
from math import prod

import pytest

torch = pytest.importorskip("torch")

from ironlaw.backends.evidence_ops import OPS  # noqa: E402
from ironlaw.measure.suites.cpu import cases as cases_cpu  # noqa: E402
from ironlaw.measure.suites.cpu.cpu_products import POOL, Weights  # noqa: E402


@pytest.fixture
def uncompiled(monkeypatch):
    """Functions as they were written, and a compiler at hand."""
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)
    monkeypatch.setattr(cases_cpu, "compiler", lambda: "g++")


def test_calls_give_what_the_engine_counts(uncompiled):
    seen = set()
    with torch.device("meta"), torch.no_grad():
        for case in cases_cpu.cases():
            made = case.prepare()()
            seen.add(case.op)
            if case.op == "generated":
                assert made.nbytes == case.params["written_bytes"], case
            else:
                assert made.numel() == prod(OPS[case.op](case.params).outputs[0].shape), case
    assert {"linear", "conv2d", "sdpa", "bmm", "relu", "softmax", "batch_norm", "embedding", "cast", "generated"} <= seen


def test_no_case_twice(uncompiled):
    with torch.device("meta"):
        names = [f"{case.op} {case.params}" for case in cases_cpu.cases() if case.op != "generated"]  # whose rows name no shape
    assert len(names) == len(set(names)) > 1000


def test_nothing_is_compiled_where_no_compiler_is(uncompiled, monkeypatch):
    assert len(list(cases_cpu.loops())) == 48 and "compiled" in cases_cpu.calls()
    monkeypatch.setattr(cases_cpu, "compiler", lambda: "")
    assert list(cases_cpu.loops()) == [] and "compiled" not in cases_cpu.calls()


def test_weights_are_walked_end_to_end():
    with torch.device("meta"):
        weights = Weights()
    places = [weights.take(POOL // 4 - 3).storage_offset() for _ in range(5)]
    assert [b - a for a, b in pairwise(places)] == [POOL // 4] * 3 + [-3 * POOL // 4]  # each begins at a line of the cache
