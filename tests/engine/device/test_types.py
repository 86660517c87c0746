"""Values: Work adds, a Graph totals, machines and plans refuse what they can't do."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from small_graphs import MACHINE, chain, tensor

from ironlaw.engine.device.machine import Figure, Hardware, Level, Plan
from ironlaw.engine.device.types import FORMATS, TERMS, Graph, Op, Tensor, Work, bytes_per_element, check_positive
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue, UnknownName, UnsupportedPrecision


def test_formats():
    assert FORMATS == {
        "fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5, "int4": 0.5,
        "int64": 8, "int32": 4, "int16": 2, "bool": 1, "complex64": 8, "complex128": 16,
    }  # fmt: skip
    assert bytes_per_element("bf16") == 2.0
    with pytest.raises(UnknownName, match=r"^no number format 'float16'; did you mean fp16"):
        bytes_per_element("float16")
    assert TERMS == ("memory", "compute", "overhead")


def test_work_adds_term_by_term():
    a, b = Work(1.0, 2.0, 3.0, 4.0, 5.0), Work(10.0, 20.0, 30.0, 40.0, 50.0)
    assert a + b == Work(11.0, 22.0, 33.0, 44.0, 55.0)
    assert Work() + a == a
    assert Work() == Work(0.0, 0.0, 0.0, 0.0, 0.0)
    assert a.bytes == 7.0
    assert b.intensity == 10.0 / 70.0


def test_values_are_frozen():
    for value, name in ((Work(), "flops"), (tensor("x", 2), "shape"), (Plan(), "mode"), (MACHINE, "bandwidth"), (chain("relu"), "ops")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


def test_tensor_size_and_bytes():
    x = Tensor("x", (2, 3, 5), "fp32")
    assert (x.size, x.bytes, x.role) == (30, 120.0, "activation")
    assert Tensor("x", (4,)).bytes == 8.0  # fp16 unless said
    assert Tensor("s", ()).size == 1
    assert Tensor("x", (np.array([1, 2]), 3), "int4").bytes.tolist() == [1.5, 3.0]
    n = np.array([1, 2])
    assert Tensor("x", (n, 3, n)).size.tolist() == [3, 12]


def test_op_computes_in_its_first_inputs_format_unless_told():
    x, y = tensor("x", 4, dtype="fp32"), tensor("y", 4)
    assert op("cast", "c", [x], [y]).dtype == "fp32"
    assert op("relu", "c", [x], [y], dtype="fp16").dtype == "fp16"


def example() -> Graph:
    """x [4, 8] -> linear (w) -> batch norm (running mean) -> linear (w again) -> add to a cache."""
    x, w = tensor("x", 4, 8, role="input"), tensor("w", 8, 8, role="weight")
    mean, cache = tensor("mean", 8, dtype="fp32", role="buffer"), tensor("cache", 4, 8, role="cache")
    a, b, c, d = (tensor(name, 4, 8) for name in "abcd")
    ops = (
        op("linear", "first", [x, w], [a]),
        op("batch_norm", "norm", [a, mean], [b]),
        op("linear", "second", [b, w], [c]),
        op("add", "add", [c, cache], [d]),
    )
    return Graph("example", ops)


def test_graph_totals_by_hand():
    g = example()
    # each linear 2·4·8·8 = 512; batch norm 4·32 = 128; add 32
    assert g.flops == 1024.0
    assert g.work.flops == 1024.0 + 128 + 32
    # linear: 64 + 128 in, 64 out; norm: 64 + 32 in, 64 out; add: 64 + 64 in, 64 out
    assert g.bytes == 256.0 * 2 + 160 + 192
    assert g.kernels == 4
    assert g.params == 64  # the tied weight once
    assert g.weight_bytes == 128 + 32  # and the buffer beside it
    assert g.cache_bytes == 64
    assert g.outputs == ("d",)
    assert g.total("input", "cache") == (64, 128.0)
    assert g.total("nothing") == (0, 0)
    assert set(g.tensors) == {"x", "w", "a", "mean", "b", "c", "cache", "d"}
    assert g.tensors["w"].size == 64
    assert (g.dtype, g.settings) == ("fp16", {})


def test_graph_keeps_the_outputs_it_is_given():
    g = example()
    assert replace(g, outputs=("b", "d")).outputs == ("b", "d")
    mask = op("dropout", "drop", [tensor("x", 4)], [tensor("y", 4), tensor("m", 4, dtype="bool")])
    assert Graph("g", (mask,)).outputs == ("y", "m")


def test_plans_kept_in_a_graph_are_no_part_of_its_value():
    one, other = example(), example()
    one.plans["a rule"] = "a plan"
    assert one == other
    assert "plan" not in repr(one)
    assert other.plans == {}


def test_a_changed_graph_forgets_the_plans():
    one = example()
    one.plans["a rule"] = "a plan"
    assert replace(one, name="other").plans == {}


def test_a_graph_without_ops_is_refused():
    with pytest.raises(BadValue, match=r"^graph 'empty' has no ops; give it at least one$"):
        Graph("empty", ())


def test_machine_peaks_and_ridge():
    assert MACHINE.peak("fp16") == 1000.0
    assert MACHINE.peak("fp16", sparse=True) == 2000.0
    assert MACHINE.ridge("fp16") == 10.0
    assert MACHINE.ridge("fp32") == 5.0
    assert MACHINE.ridge("fp16", "l2") == 2.5
    assert MACHINE.level("main") == Level("main", "main memory", 10_000.0, 100.0)
    assert MACHINE.level("l2").size == 1_000.0
    # a registry file may give main memory a place on the ladder; its figures are the machine's
    listed = replace(MACHINE, levels=(*MACHINE.levels, Level("main", "HBM", 1.0, 2.0, "a source")))
    assert listed.level("main") == Level("main", "HBM", 10_000.0, 100.0, "a source")
    assert listed.level("l2") == MACHINE.levels[0]


def test_a_machine_names_what_it_lacks():
    with pytest.raises(UnsupportedPrecision) as error:
        MACHINE.peak("fp8")
    assert (
        str(error.value)
        == "toy has no fp8; it has fp16, fp32; choose one of those or add [peak.fp8] with its source to registry/hardware/toy.toml"
    )
    with pytest.raises(UnsupportedPrecision) as error:
        MACHINE.peak("fp32", sparse=True)
    assert str(error.value) == (
        "toy has no sparse peak for fp32; it has fp16; choose one of those"
        " or add [sparse.fp32] with its source to registry/hardware/toy.toml"
    )
    with pytest.raises(UnsupportedPrecision, match="it has none; choose"):
        replace(MACHINE, sparse={}).peak("fp16", sparse=True)
    with pytest.raises(UnknownName, match=r"^no number format 'half'"):
        MACHINE.peak("half")
    with pytest.raises(UnknownName, match=r"^no memory level of toy 'l1'; did you mean l2\?"):
        MACHINE.level("l1")
    with pytest.raises(UnknownName, match=r"^no memory level of toy 'zzz'; known: l2, main$"):
        MACHINE.ridge("fp16", "zzz")


def test_defaults():
    machine = Hardware("s", "S", {"fp16": 1.0}, 1.0, 1.0, 1.0, 1.0)
    assert (machine.kind, machine.backend, machine.context, machine.note, machine.aliases) == ("gpu", "", "cloud", "", ())
    assert (machine.sparse, machine.vector, machine.levels, machine.units, machine.figures) == ({}, {}, (), {}, {})
    assert machine.calibration is None
    figure = Figure(1.0, "B", "a source", "2024-01-01")
    assert (figure.format, figure.estimate, figure.why) == ("", False, "")
    level = Level("l2", "L2", 1.0, 2.0)
    assert (level.source, level.date, level.estimate, level.why) == ("", "", False, "")
    assert Plan() == Plan("eager", "queued", True, None, 1.0)


def test_plans_are_checked():
    with pytest.raises(UnknownName, match=r"^no plan mode 'compile'; did you mean compiled\?$"):
        Plan(mode="compile")
    with pytest.raises(UnknownName, match=r"^no plan mode 'xyz'; known: compiled, eager, eager_graphs, graphs$"):
        Plan(mode="xyz")
    with pytest.raises(UnknownName, match=r"^no plan dispatch 'async'; did you mean synchronous\?$"):
        Plan(dispatch="async")
    for field in ("mode", "dispatch"):
        with pytest.raises(UnknownName) as error:
            Plan(**{field: "xyz"})
        assert error.value.field == field
    with pytest.raises(BadValue, match=r"^plan efficiency is 0; give a finite number above 0$"):
        Plan(efficiency=0)
    assert Plan(efficiency=1).efficiency == 1
    with pytest.raises(BadValue, match=r"^plan efficiency is 1\.5; it is a share of the peak rate: give at most 1$"):
        Plan(efficiency=1.5)
    with pytest.raises(BadValue, match=r"^plan launch cost is -1e-06; give a finite number of at least 0$"):
        Plan(launch=-1e-6)
    assert Plan(launch=0).launch == 0
    for mode in ("eager", "compiled", "graphs"):
        for dispatch in ("queued", "synchronous"):
            assert Plan(mode, dispatch).mode == mode


@pytest.mark.parametrize("value", [1, 0.5, 1e300, np.array([1.0, 2.0])])
def test_positive_values_pass_through(value):
    assert check_positive("v", value) is value
    assert check_positive("v", value, zero=True) is value


@pytest.mark.parametrize("value", [0, 0.0, np.array([1.0, 0.0])])
def test_zero_only_where_allowed(value):
    assert check_positive("v", value, zero=True) is value
    with pytest.raises(BadValue, match=r"^v is .*; give a finite number above 0$"):
        check_positive("v", value)


@pytest.mark.parametrize(
    "value",
    [-1, math.nan, math.inf, -math.inf, "3", None, [1.0], np.array([1.0, math.nan]), np.array([1.0, -1.0]), np.array([math.inf, 1.0])],
)
def test_what_is_no_number_never_passes(value):
    with pytest.raises(BadValue, match="above 0"):
        check_positive("v", value)
    with pytest.raises(BadValue, match="of at least 0"):
        check_positive("v", value, zero=True)


def test_ops_hold_what_they_read_and_write():
    x, w, y = tensor("x", 4, 8), tensor("w", 2, 8, role="weight"), tensor("y", 4, 2)
    made = op("linear", "fc", [x, w], [y])
    assert isinstance(made, Op)
    assert (made.name, made.kind, made.inputs, made.outputs) == ("fc", "linear", (x, w), (y,))
    assert (made.reads, made.writes) == ((64.0, 32.0), (16.0,))
