"""A typed row of evidence: what is read, what is refused and how it is named, what is written again."""

import json
import math
import re
from types import MappingProxyType

import pytest

from ironlaw.backends.rows import SCHEMA, KernelTime, Row
from ironlaw.errors import BadRegistry

NUMBERS = (
    "wall_s", "busy_s", "graph_s", "sync_s", "event_s", "piped_s", "compile_s", "startup_s", "low_s", "high_s", "best_s", "samples",
    "kernels", "working_set", "read_bytes", "written_bytes", "parameters",
)  # fmt: skip
TEXTS = ("kind", "op", "name", "workload", "model", "mode", "variant", "device", "error")
FULL = {
    **{name: f"a {name}" for name in TEXTS}, **{name: float(i + 1) for i, name in enumerate(NUMBERS)},
    "params": {"numel": 8, "dtype": "fp16"}, "list": [{"name": "gemm", "count": 2.0, "seconds": 3.0}], "noise": {"noisy": False},
}  # fmt: skip


def test_every_field_is_read_and_written_again():
    row = Row.from_json(FULL)
    assert row.to_json() == FULL
    assert [getattr(row, name) for name in (*TEXTS, *NUMBERS)] == [FULL[name] for name in (*TEXTS, *NUMBERS)]
    assert (row.kernel_times, row.extra, row.dtype) == ((KernelTime("gemm", 3.0, 2.0),), {"noise": {"noisy": False}}, "fp16")


def test_what_was_not_measured_is_none_and_is_left_out():
    row = Row.from_json({"kind": "op"})
    assert row == Row(kind="op") and row.to_json() == {"kind": "op"}
    assert all(getattr(row, name) is None for name in NUMBERS) and all(getattr(row, name) == "" for name in TEXTS[1:])
    assert (row.params, row.kernel_times, row.extra, row.dtype) == ({}, (), {}, "")
    assert Row.from_json({"kind": "op", "busy_s": None}).busy_s is None
    assert Row(kind="op", busy_s=0.0).to_json() == {"kind": "op", "busy_s": 0.0}


def test_a_kernel_without_a_time_or_a_count():
    assert Row.from_json({"kind": "op", "list": [{"name": "x"}]}).kernel_times == (KernelTime("x", 0.0, 1.0),)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["1", -1.0, True, math.inf, math.nan, [1.0]])
def test_a_figure_that_is_not_a_number_is_refused_where_it_stands(name, value):
    with pytest.raises(BadRegistry) as error:
        Row.from_json({"kind": "op", name: value}, "evidence x/y, row 7")
    message = str(error.value)
    assert message.startswith(f"evidence x/y, row 7: {name} is {value!r}") and message.endswith("see evidence/FORMAT.md")


@pytest.mark.parametrize("name", TEXTS[1:])
def test_a_text_that_is_not_one_is_refused_where_it_stands(name):
    with pytest.raises(BadRegistry, match=rf"^here: {name} is 7, not text; see evidence/FORMAT\.md$"):
        Row.from_json({"kind": "op", name: 7}, "here")


@pytest.mark.parametrize("data", [None, 3, [], {}, {"op": "add"}, {"kind": 3}])
def test_what_is_not_a_row(data):
    with pytest.raises(BadRegistry, match=r"^a row of evidence is not an object with a kind; see evidence/FORMAT\.md$"):
        Row.from_json(data)


@pytest.mark.parametrize("entries", [3, [3], [{"seconds": 1.0}], ["gemm"]])
def test_a_profile_that_is_not_one(entries):
    with pytest.raises(BadRegistry, match=r"^here: list must hold objects with name, count and seconds \(.+\); see evidence/FORMAT\.md$"):
        Row.from_json({"kind": "op", "list": entries}, "here")


@pytest.mark.parametrize(("seconds", "count"), [("long", 1.0), (1.0, None), (-1.0, 1.0), (1.0, math.inf), (math.nan, 1.0), (2e30, 1.0)])
def test_a_profile_says_which_figures_are_none(seconds, count):
    with pytest.raises(BadRegistry, match=re.escape(f"{seconds!r} seconds, {count!r} launches")):
        Row.from_json({"kind": "op", "list": [{"name": "gemm", "seconds": seconds, "count": count}]}, "here")


@pytest.mark.parametrize("name", ["extra", "kernel_times"])
def test_our_own_names_are_a_later_versions_in_a_file(name):
    """What a file calls `list` is `kernel_times` here: a file's own field of that name means something else, and stays."""
    data = {"kind": "op", name: ["anything"]}
    row = Row.from_json(data)
    assert (row.extra, row.kernel_times, row.to_json()) == ({name: ["anything"]}, (), data)


def test_a_row_of_a_view_is_written_as_json():
    view = MappingProxyType({"numel": 8})
    assert json.loads(json.dumps(Row(kind="op", params=view, extra=view).to_json())) == {"kind": "op", "params": {"numel": 8}, "numel": 8}


def test_only_fields_are_figures():
    row = Row(kind="op", params={"dtype": "fp16"}, extra={"value": 7})
    assert (row.get("to_json"), row.get("value"), row.get("dtype"), row.get("extra")) == (None, 7, "fp16", None)


def test_params_are_an_object():
    with pytest.raises(BadRegistry, match=r"^here: params is \[1\], not an object; see evidence/FORMAT\.md$"):
        Row.from_json({"kind": "op", "params": [1]}, "here")


def test_a_value_is_a_field_then_a_parameter_then_a_later_versions_field():
    row = Row(kind="model", workload="gpt2", params={"batch": 8, "wall_s": 9.0}, wall_s=2.0, extra={"flops": 7})
    assert (row.get("wall_s"), row.get("batch"), row.get("flops"), row.get("kind"), row.get("nothing")) == (2.0, 8, 7, "model", None)
    assert row.get("variant") is None  # empty is as good as absent
    assert (row.value("wall_s"), row.value("batch"), row.value("flops")) == (2.0, 8.0, 7.0)
    assert isinstance(row.value("batch"), float)


@pytest.mark.parametrize(
    ("row", "who"),
    [
        (Row(kind="op", op="add"), "op row 'add'"), (Row(kind="function", name="chain"), "function row 'chain'"),
        (Row(kind="model", workload="gpt2"), "model row 'gpt2'"), (Row(kind="model", model="vgg"), "model row 'vgg'"),
    ],
)  # fmt: skip
def test_a_value_that_is_missing_names_its_row(row, who):
    with pytest.raises(BadRegistry, match=rf"^{re.escape(who)} has no busy_s; measure it again$"):
        row.value("busy_s")
    with pytest.raises(BadRegistry, match="has no kind;"):
        row.value("kind")


def test_the_schema_has_a_version():
    assert SCHEMA == "ironlaw-evidence/1"
