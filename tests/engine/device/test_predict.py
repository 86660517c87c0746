"""Whole predictions by hand on a toy machine: 100 bytes/s, 1000 FLOP/s, half a second a launch."""

from dataclasses import dataclass, replace
from math import log

import numpy as np
import pytest
from small_graphs import MACHINE, chain, tensor

from ironlaw.engine.device.compiler_rules import Rules
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.host import AUTOGRAD, IN_MODEL, Host
from ironlaw.engine.device.machine import Figure, Plan
from ironlaw.engine.device.predict import OpRow, bound, is_sweep, one_launch, predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, Doubt, Scatter
from ironlaw.engine.device.work import op, with_attrs
from ironlaw.errors import UnknownName, UnsupportedPrecision

W = tensor("w", 8, 8, role="weight")
X, A, B = tensor("x", 4, 8, role="input"), tensor("a", 4, 8), tensor("b", 4, 8)
# linear: 512 FLOP, 64 + 128 + 64 bytes -> 0.512 s, 2.56 s. relu: 32 FLOP, 128 bytes -> 0.032 s, 1.28 s
NET = Graph("net", (op("linear", "fc", [X, W], [A]), op("relu", "act", [A], [B])))
SYNCHRONOUS = Plan(dispatch="synchronous")


def test_eager_queued_by_hand():
    p = predict(NET, MACHINE)
    assert [row.data_s for row in p.ops] == [2.56, 1.28]
    assert [row.compute_s for row in p.ops] == [0.512, 0.032]
    assert [row.seconds for row in p.ops] == [2.56, 1.28]
    assert p.data_s == pytest.approx(3.84)
    assert p.compute_s == pytest.approx(0.544)
    assert p.busy_s == pytest.approx(3.84)
    assert p.seconds == pytest.approx(4.34)  # one launch, then the device is never idle
    assert p.overhead_s == pytest.approx(0.5)
    assert p.overlap == pytest.approx((4.34, 4.884))
    assert p.bound == "memory"
    assert p.utilization == pytest.approx(3.84 / 4.34)
    assert p.kernels == 2
    assert (p.calibrated, p.label, p.interval) == (False, "bound", None)
    assert (p.graph, p.hardware, p.plan) == (NET, MACHINE, Plan())
    assert predict(NET, MACHINE, Plan()).seconds == p.seconds


def test_synchronous_adds_both_launches():
    p = predict(NET, MACHINE, SYNCHRONOUS)
    assert p.seconds == pytest.approx(4.84)
    assert p.overhead_s == pytest.approx(1.0)
    assert p.overlap == pytest.approx((4.84, 5.384))
    assert p.busy_s == pytest.approx(3.84)


def test_compiled_is_one_kernel():
    p = predict(NET, MACHINE, Plan("compiled"))
    # x, w and b cross memory: 256 bytes; 544 FLOP
    assert p.kernels == 1
    assert p.seconds == pytest.approx(0.5 + 2.56)
    assert p.overlap == pytest.approx((3.06, 3.604))
    assert p.graph.name == "net fused"
    assert [row.name for row in p.ops] == ["fc…act"]
    assert p.ops[0].kind == "fused"


def test_graphs_launch_once():
    exploded = Graph("net", (*NET.ops, op("softmax", "sm", [B], [tensor("c", 4, 8)])))
    p = predict(exploded, MACHINE, Plan("graphs"))
    # fc+act 256 bytes, softmax 128: 3.84 s and one launch
    assert p.kernels == 2
    assert p.seconds == pytest.approx(4.34)
    assert p.overlap == pytest.approx((4.34, 4.34 + 0.544 + 0.16))
    assert predict(exploded, MACHINE, Plan("compiled", "synchronous")).seconds == pytest.approx(4.84)
    assert predict(exploded, MACHINE, Plan("graphs", launch=2.0)).seconds == pytest.approx(5.84)


def test_a_launch_cost_in_the_plan_wins():
    assert predict(NET, MACHINE, Plan(dispatch="synchronous", launch=2.0)).seconds == pytest.approx(3.84 + 4.0)
    assert predict(NET, MACHINE, Plan(launch=0)).seconds == pytest.approx(3.84)


def test_bare_metal_is_called_once():
    # no driver between: the whole pass is one call, in any mode
    bare = replace(MACHINE, backend="bare", dispatch="replayed")
    for plan in (Plan(), SYNCHRONOUS):
        p = predict(NET, bare, plan)
        assert p.seconds == pytest.approx(3.84 + 0.5)
        assert [row.launch_s for row in p.ops] == [0.0, 0.0]
        assert p.overhead_s == pytest.approx(0.5)
    assert predict(NET, bare, Plan(launch=2.0)).seconds == pytest.approx(3.84 + 2.0)


def test_efficiency_divides_the_rate():
    p = predict(NET, MACHINE, Plan(efficiency=0.1))
    assert [row.compute_s for row in p.ops] == pytest.approx([5.12, 0.32])
    assert [row.regime for row in p.ops] == ["compute", "memory"]
    assert p.seconds == pytest.approx(0.5 + 5.12 + 1.28)
    assert p.bound == "compute"


def test_overhead_binds_a_small_model():
    p = predict(chain("relu", "exp", "tanh", shape=(4,)), MACHINE, Plan(launch=10.0))
    assert p.bound == "overhead"
    assert [row.term for row in p.ops] == ["overhead"] * 3
    assert p.seconds == pytest.approx(30.0 + 0.16)


def test_rows_tell_term_and_regime():
    rows = predict(NET, MACHINE).ops
    assert [(r.name, r.kind, r.term, r.regime) for r in rows] == [("fc", "linear", "memory", "memory"), ("act", "relu", "memory", "memory")]
    assert [r.launch_s for r in rows] == [0.5, 0.5]
    assert [r.floor_s for r in rows] == [0.0, 0.0]
    assert [r.kernels for r in rows] == [1, 1]
    assert rows[0].work == NET.ops[0].work
    assert rows[0].op is NET.ops[0]


def test_a_row_by_hand():
    row = OpRow(NET.ops[0], Cost(3.0, 2.0, floor=1.0, kernels=2.0, launch=2.5))
    assert row.seconds == 4.0
    assert row.term == "overhead"  # 1 + 2.5
    assert row.regime == "memory"
    assert replace(row, cost=Cost(2.0, 2.0)).regime == "compute"
    assert Cost(3.0, 2.0) == Cost(3.0, 2.0, 0.0, 1.0, 0.0, None)
    assert Cost(3.0, 2.0).work == 3.0
    assert Cost(3.0, 2.0, joint=4.5).work == 4.5
    assert Cost(3.0, 2.0, 1.0, joint=4.5).device == 5.5


def test_views_cost_nothing():
    graph = Graph("g", (op("relu", "r", [X], [A]), op("view", "v", [A], [tensor("v", 32)])))
    p = predict(graph, MACHINE, SYNCHRONOUS)
    assert p.seconds == pytest.approx(0.5 + 1.28)
    assert p.kernels == 1
    assert p.ops[1].seconds == p.ops[1].launch_s == 0.0


def test_naive_attention_pays_three_launches():
    q, k, v, y = (tensor(n, 1, 1, 2, 4) for n in "qkvy")
    graph = Graph("g", (op("attention", "a", [q, k, v], [y], impl="naive"),))
    assert predict(graph, MACHINE).ops[0].launch_s == 1.5
    assert predict(graph, MACHINE).kernels == 3


def test_each_op_at_its_own_formats_rate():
    wide = Graph("g", (op("relu", "r", [tensor("x", 100, dtype="fp32")], [tensor("y", 100, dtype="fp32")]),))
    assert predict(wide, MACHINE).ops[0].compute_s == 0.2  # 500 FLOP/s
    # index arithmetic has no rate of its own: the graph's
    index = Graph("g", (op("add", "i", [tensor("i", 100, dtype="int64")], [tensor("j", 100, dtype="int64")]),))
    assert predict(index, MACHINE).ops[0].compute_s == 0.1
    assert predict(replace(index, dtype="fp32"), MACHINE).ops[0].compute_s == 0.2


def test_a_format_the_machine_lacks_is_an_error():
    with pytest.raises(UnsupportedPrecision, match="toy has no fp8"):
        predict(replace(NET, dtype="fp8"), MACHINE)
    product = Graph("g", (op("linear", "fc", [tensor("x", 4, 8, dtype="bf16"), W], [A]),))
    with pytest.raises(UnsupportedPrecision, match="toy has no bf16"):
        predict(product, MACHINE)
    with pytest.raises(UnknownName, match="plan mode"):
        predict(NET, MACHINE, Plan("fast"))


def test_memory_energy_and_mfu():
    p = predict(NET, MACHINE)
    # weights 128; x, a, b 64 each alive together
    assert p.memory.weights == 128
    assert p.memory.activations == 192
    assert p.memory.capacity == 10_000
    assert p.fits
    assert not predict(NET, replace(MACHINE, capacity=300.0)).fits
    assert p.energy_j == pytest.approx(20 * 4.34)
    assert p.mfu == pytest.approx(512 / 4.34 / 1000)
    # fused, a never is in memory
    assert predict(NET, MACHINE, Plan("compiled")).memory.activations == 128


def test_equal_ops_are_costed_once_and_alike():
    p = predict(chain(*["relu"] * 5), MACHINE)
    assert [id(row.cost) for row in p.ops[2:]] == [id(p.ops[1].cost)] * 3  # the first one reads the graph's own input
    assert [row.name for row in p.ops] == [f"{i}:relu" for i in range(5)]


def test_sources_of_the_figures():
    figures = {
        "peak.fp16": Figure(1000.0, "FLOP/s", "datasheet", "2024-01-01"),
        "peak.fp32": Figure(500.0, "FLOP/s", "elsewhere", "2024-01-01"),
        "bandwidth": Figure(100.0, "B/s", "whitepaper", "2023-05-01"),
        "memory": Figure(1.0, "B", "unused", "2023-05-01"),
    }
    machine = replace(MACHINE, figures=figures)
    assert predict(NET, machine).sources == ("peak.fp16: datasheet, 2024-01-01", "bandwidth: whitepaper, 2023-05-01")
    assert predict(NET, machine, Plan(launch=1.0)).sources[-1] == "launch: given in the plan"
    with_launch = replace(machine, figures={**figures, "launch": Figure(0.5, "s", "host", "2022")})
    assert predict(NET, with_launch).sources[-1] == "launch: host, 2022"
    assert predict(NET, with_launch, Plan(launch=1.0)).sources[2:] == ("launch: given in the plan",)
    assert predict(NET, MACHINE).sources == ()


def test_sources_say_which_products_are_rounded_and_who_asked_for_it():
    x, w = tensor("x", 8, 8, dtype="fp32", role="input"), tensor("w", 8, 8, dtype="fp32", role="weight")
    y, z = tensor("y", 8, 8, dtype="fp32"), tensor("z", 8, 8, dtype="fp32")
    products = Graph("products", (op("matmul", "mm", [x, w], [y]), op("linear", "fc", [y, w], [z])), "fp32")
    machine = replace(MACHINE, peaks={"fp32": 500.0, "tf32": 1000.0}, narrowed={"default": ("linear",), "tf32": ("linear", "matmul")})
    assert predict(products, machine).sources == ("fp32: linear in tf32, the default; all else in fp32",)
    assert predict(products, machine, Plan(fp32="tf32")).sources == ("fp32: linear, matmul in tf32, as asked for; all else in fp32",)
    assert predict(products, machine, Plan(fp32="strict")).sources == ()


def test_sources_name_the_host():
    host = Host({"default": 0.5}, slug="desk", name="A desk", source="a bench", date="2026-01-01", caveats=("a busy machine",))
    said = {
        host: ("host: A desk; a bench, 2026-01-01", "a busy machine"),
        replace(host, name="", date="", caveats=()): ("host: desk; a bench",),
        replace(host, source="", date="", caveats=()): ("host: A desk; given in the plan",),
    }
    for one, sources in said.items():
        assert predict(NET, MACHINE, Plan(host=one)).sources == sources
    processor = replace(MACHINE, dispatch="synchronous")
    assert predict(NET, processor, Plan(host=host)).sources == ("host: toy launches by itself, so A desk is not used",)
    assert predict(NET, processor, Plan(host=replace(host, name=""))).sources == ("host: toy launches by itself, so desk is not used",)


# ---- calibrated, with figures made up for the test


@dataclass
class Fake:
    """Every op: data 2 s, compute 1 s, together 2.5 s, 0.25 s of floor, 1 s to launch."""

    sources: tuple[str, ...] = ("measured here",)
    asked: int = 0

    def cost(self, op, hardware, plan):
        assert hardware.slug == "toy"
        assert isinstance(plan, Plan)
        self.asked += 1
        return Cost(2.0, 1.0, 0.25, 1.0, 1.0, joint=2.5, doubt=Doubt(0.0, op.kind))

    def sustain(self, costs):
        return costs

    host, graph_gap, backend = Host({"default": 1.0}, graph_start=7.0), 0.125, "fake"
    rules = Rules(epilogue=False)

    def prepare(self, graph, hardware):
        return graph

    def arrange(self, ops):
        return tuple(ops)

    def known(self, hardware, plan):
        return {}

    common = 0.0
    scatter = {"eager": Scatter(0.0, log(1.1) / FOUR_IN_FIVE), "compiled": Scatter(0.0, log(1.3) / FOUR_IN_FIVE)}  # noqa: RUF012


def test_calibrated_prediction_by_hand():
    machine = replace(MACHINE, calibration=Fake())
    p = predict(NET, machine)
    assert (p.calibrated, p.label) == (True, "calibrated")
    assert p.seconds == pytest.approx(1.0 + 2 * 2.75)
    assert p.busy_s == pytest.approx(5.5)
    assert p.overlap == pytest.approx((1.0 + 2 * 2.25, 1.0 + 2 * 3.25))
    assert p.overhead_s == pytest.approx(1.0 + 2 * 0.25)  # the launch and the floors
    assert (p.data_s, p.compute_s) == (4.0, 2.0)
    assert p.intervals.device == pytest.approx((5.5 / 1.1, 5.5 * 1.1))
    assert p.interval == pytest.approx((1.0 + 5.5 / 1.1, 1.0 + 5.5 * 1.1))  # the launch before the first kernel is not the device's
    assert p.sources == ("measured here",)
    assert predict(NET, machine, Plan(launch=3.0)).sources == ("measured here", "launch: given in the plan")
    assert p.ops[0].term == "memory"


class Remembering(Fake):
    """Keeps what it is given, by the machine and the plan."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def known(self, hardware, plan):
        return self.kept.setdefault((hardware.slug, plan), {})


def test_costs_are_kept_from_one_prediction_to_the_next():
    model = Remembering()
    machine = replace(MACHINE, calibration=model)
    first, again = predict(NET, machine), predict(NET, machine)
    assert model.kept == {("toy", Plan()): {row.op.key: row.cost for row in first.ops}}
    assert model.asked == 2
    assert [id(row.cost) for row in again.ops] == [id(row.cost) for row in first.ops]
    predict(NET, machine, SYNCHRONOUS)
    assert model.asked == 4


SIZES = np.array([4.0, 8.0])
RELU = NET.ops[1]


@pytest.mark.parametrize(
    "swept",
    [
        *(replace(RELU, work=replace(RELU.work, **{name: SIZES})) for name in ("flops", "read", "written")),
        replace(RELU, inputs=(tensor("a", SIZES, 8),)),
        replace(RELU, outputs=(tensor("b", 4, SIZES),)),
    ],
    ids=("flops", "read", "written", "input", "output"),
)
def test_the_cost_of_an_op_with_an_array_in_it_is_kept_for_one_prediction(swept):
    """Its key names the array by where it lies, and another may lie there afterwards."""
    model = Remembering()
    p = predict(Graph("g", (swept, swept)), replace(MACHINE, calibration=model))
    assert model.kept == {("toy", Plan()): {}}
    assert model.asked == 1
    assert p.ops[0].cost is p.ops[1].cost


def test_autograd_adds_to_every_launch_but_those_of_an_optimisers_lists():
    lists = op("foreach", "step", [A], [B])
    step = Graph("step", (NET.ops[0], lists), settings={"captured": True, "training": True})
    launches = [row.cost.launch for row in predict(step, replace(MACHINE, calibration=Fake())).ops]
    assert launches == pytest.approx([IN_MODEL * AUTOGRAD, IN_MODEL])


def test_calibrated_graphs_and_fusion():
    machine = replace(MACHINE, calibration=Fake())
    compiled = predict(NET, machine, Plan("compiled"))
    assert compiled.kernels == 2  # by its own rules: no epilogue
    assert compiled.intervals.device[1] == pytest.approx(compiled.busy_s * 1.3)
    graphs = predict(NET, machine, Plan("graphs"))
    assert graphs.seconds == pytest.approx(7.0 + 5.5 + 2 * 0.125)
    assert predict(NET, machine, Plan("graphs", launch=1.0)).seconds == pytest.approx(1.0 + 5.5 + 0.25)
    assert graphs.overlap == pytest.approx((7.25 + 4.5, 7.25 + 6.5))


def test_a_graph_is_compiled_once_for_each_library():
    """What it became is kept with the graph, by the library and its rules: another library's is never taken for it."""

    class Backwards(Fake):
        backend = "backwards"

        def arrange(self, ops):
            return tuple(with_attrs(op, layout="backwards") for op in ops)

    graph = replace(NET, name="kept")
    plain, other = (replace(MACHINE, calibration=model) for model in (Fake(), Backwards()))
    first = predict(graph, plain, Plan("compiled")).graph
    arranged = predict(graph, other, Plan("compiled")).graph
    assert [op.attrs.get("layout") for op in first.ops] == [None] * len(first.ops)
    assert [op.attrs.get("layout") for op in arranged.ops] == ["backwards"] * len(first.ops)
    assert predict(graph, plain, Plan("graphs")).graph is first and predict(graph, other, Plan("graphs")).graph is arranged
    assert predict(graph, plain, Plan("compiled", calibrated=False)).graph.ops == fuse(graph).graph.ops


def test_a_calibration_that_loses_an_op_is_noticed():
    class Short(Fake):
        def sustain(self, costs):
            return costs[:-1]

    with pytest.raises(ValueError, match="zip"):
        predict(NET, replace(MACHINE, calibration=Short()))


def test_the_bound_can_be_asked_for():
    machine = replace(MACHINE, calibration=Fake())
    p = predict(NET, machine, Plan(calibrated=False))
    assert (p.calibrated, p.seconds) == (False, predict(NET, MACHINE).seconds)
    assert machine.calibration.asked == 0
    assert predict(NET, machine, Plan("compiled", calibrated=False)).kernels == 1
    assert predict(chain("relu", "exp", "exp", "exp"), machine).ops
    assert machine.calibration.asked == 2  # equal ops once


def test_bound_is_the_iron_law_of_one_op():
    assert bound(NET.ops[0], MACHINE, Plan(), "fp16") == Cost(2.56, 0.512, 0.0, 1.0, 0.5)
    assert bound(NET.ops[0], MACHINE, Plan(launch=3.0, efficiency=0.5), "fp16") == Cost(2.56, 1.024, 0.0, 1.0, 3.0)


# ---- one launch


def test_one_launch_with_weights_only():
    graph = one_launch(NET)
    assert graph.kernels == 1
    assert graph.name == "net as one launch"
    assert graph.outputs == ("b",)
    assert (graph.work.flops, graph.flops) == (544, 512)
    assert (graph.work.read, graph.work.written) == (64 + 128, 64)
    assert [t.name for t in graph.ops[0].inputs] == ["x", "w"]
    assert predict(graph, MACHINE).seconds == pytest.approx(0.5 + 2.56)
    assert one_launch(NET, "weights").bytes == graph.bytes
    assert graph.params == 64
    assert graph.dtype == "fp16"
    assert graph.ops[0].kind == "block"
    assert graph.ops[0].name == "net"


def test_one_launch_with_every_ops_tensors():
    graph = one_launch(NET, "ops")
    assert graph.kernels == 1
    assert (graph.work.read, graph.work.written) == (NET.work.read, NET.work.written) == (256, 128)
    assert graph.work.flops == 544
    assert graph.flops == 512
    assert graph.outputs == ("b",)
    assert graph.ops[0].dtype == "fp16"
    assert predict(graph, MACHINE).seconds == pytest.approx(0.5 + 3.84)
    assert graph.ops[0].inputs == (Tensor("in", (1.0,), "fp16"), Tensor("weights", (1.0,), "fp16", "weight"))
    assert graph.ops[0].reads == (NET.work.read - 128, 128)  # 8 × 8 weights of two bytes
    assert one_launch(replace(NET, dtype="fp32"), "ops").ops[0].dtype == "fp32"
    assert one_launch(replace(NET, dtype="fp32"), "ops").ops[0].inputs[0].dtype == "fp32"


def test_one_launch_computes_in_the_graphs_format_whatever_it_reads_first():
    index, table, y = tensor("i", 3, dtype="int64", role="input"), tensor("t", 9, 8, role="weight"), tensor("y", 3, 8)
    graph = Graph("g", (op("scatter", "s", [index, table], [y]),))
    assert one_launch(graph).ops[0].inputs[0].dtype == "int64"
    assert one_launch(graph).ops[0].dtype == "fp16"


def test_one_launch_hands_back_all_outputs_and_keeps_the_parameters():
    net = replace(NET, outputs=("a", "b"), settings={"batch": 4})
    graph = one_launch(net)
    assert graph.outputs == ("a", "b")
    assert graph.work.written == 128
    assert graph.settings == {"batch": 4}
    assert one_launch(net, "ops").outputs == ("a",)


def test_one_launch_reads_the_rows_that_are_looked_up_each_time():
    table, ids = tensor("t", 9, 8, role="weight"), tensor("i", 3, dtype="int64", role="input")
    lookups = [op("embedding", f"e{i}", [table, ids], [tensor(f"y{i}", 3, 8)]) for i in range(4)]
    read = [one_launch(Graph("g", tuple(lookups[:n]))).work.read for n in (1, 2, 4)]
    assert read == [48 + 24, 2 * 48 + 24, 144 + 24]  # three rows of 16 bytes each time, and no more than the whole table


def test_one_launch_knows_two_kinds_of_traffic():
    with pytest.raises(UnknownName, match=r"^no traffic 'zzz'; known: ops, weights$"):
        one_launch(NET, "zzz")


def test_the_dscnn_premise_of_lab_07():
    # 1,000 kernels of 5 µs, 10 µs a launch: 33.3% synchronous, 50% queued
    machine = replace(MACHINE, bandwidth=1e12, peaks={"fp16": 1e15}, launch=10e-6)
    graph = chain(*["copy"] * 1000, shape=(1_250_000,))  # 5 MB at 1 TB/s
    assert predict(graph, machine, SYNCHRONOUS).utilization == pytest.approx(1 / 3)
    assert predict(graph, machine).utilization == pytest.approx(5000 / 10005)


def test_a_sweep_is_told_apart():
    assert not is_sweep(predict(NET, MACHINE))
    assert is_sweep(predict(NET, replace(MACHINE, bandwidth=np.array([1.0, 2.0]))))


# ---- faults that were found by these tests


def test_one_launch_of_a_sweep():
    batch = np.array([1.0, 2.0])
    x, y = Tensor("x", (batch, 8), role="input"), Tensor("y", (batch, 8))
    graph = Graph("net", (op("linear", "fc", [x, W], [y]),))
    assert predict(one_launch(graph), MACHINE).seconds.tolist() == pytest.approx([0.5 + 1.6, 0.5 + 1.92])


def test_an_op_without_inputs():
    assert predict(Graph("g", (op("fill", "zeros", [], [A]),)), MACHINE).seconds == pytest.approx(0.5 + 0.64)


def test_groups_that_share_an_input_do_not_lend_their_cost():
    x, y, p, q, r = (tensor(n, 4, 8, role="input") for n in "xypqr")
    a, b, c, d = (tensor(n, 4, 8) for n in "abcd")
    ops = (op("add", "add1", [x, y], [a]), op("mul", "mul1", [a, x], [b]), op("add", "add2", [p, q], [c]), op("mul", "mul2", [c, r], [d]))
    rows = predict(Graph("g", ops, outputs=("b", "d")), MACHINE, Plan("compiled")).ops
    assert [row.data_s for row in rows] == pytest.approx([1.92, 2.56])
