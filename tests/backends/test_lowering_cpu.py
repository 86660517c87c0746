"""Op -> kernels on a processor: paths and quantities by hand, in bytes of FP32."""

from dataclasses import replace

import numpy as np
import pytest
from on_machines import lower_cpu as lower
from on_machines import samples
from small_graphs import MACHINE, chain, tensor

from ironlaw.backends.cpu.lowering import TRANSCENDENTAL
from ironlaw.backends.inductor import INDUCTOR
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.fit import calibrate
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.merged_op import merge
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import KINDS, op

HOST = replace(MACHINE, backend="cpu", kind="cpu", dispatch="synchronous")


def one(kind: str, *shapes: tuple, out: tuple | None = None, **attrs) -> Op:
    inputs = [tensor(f"x{i}", *shape, dtype="fp32") for i, shape in enumerate(shapes)]
    return op(kind, kind, inputs, [tensor("y", *(out or shapes[0]), dtype="fp32")], **attrs)


def linear(m: int, n: int, k: int) -> Op:
    return one("linear", (m, k), (n, k), out=(m, n))


# ---- each tensor once


def test_streams_rows_and_planes():
    assert lower(one("relu", (4, 8))) == (Kernel("relu", 256.0),)
    assert lower(one("copy", (4, 8), strided=True)) == (Kernel("strided", 256.0),)
    assert lower(one("view", (4, 8))) == ()
    assert lower(one("view", (4, 8)), compiled=True) == ()
    assert lower(one("softmax", (4, 8))) == (Kernel("softmax", 256.0, rows=4.0),)
    assert lower(one("layer_norm", (4, 8), row=16.0)) == (Kernel("layer_norm", 256.0, rows=2.0),)
    assert lower(one("sum", (4, 8), out=(4, 1))) == (Kernel("sum", 144.0, rows=4.0),)
    assert lower(one("sum", (4, 8), out=(1,), over="all")) == (Kernel("sum_all", 132.0),)
    norm = one("batch_norm", (2, 3, 4, 4), *[(3,)] * 4)
    assert lower(norm) == (Kernel("batch_norm", 768.0 + 48.0, rows=6.0),)
    pooled = one("max_pool2d", (1, 2, 4, 4), out=(1, 2, 2, 2), kernel=(2, 2))
    assert lower(pooled) == (Kernel("max_pool2d", 160.0, rows=8.0),)
    assert lower(replace(pooled, kind="avg_pool2d")) == (Kernel("avg_pool2d", 160.0, rows=8.0),)
    assert lower(one("group_norm", (2, 3, 4, 4))) == (Kernel("group_norm", 768.0, rows=6.0),)


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm", "softmax", "log_softmax"])
def test_norms_go_row_by_row(kind):
    assert lower(one(kind, (2, 3, 8))) == (Kernel(kind, 384.0, rows=6.0),)


@pytest.mark.parametrize("kind", ["sum", "mean", "amax", "argmax", "var"])
def test_reductions_go_output_by_output(kind):
    assert lower(one(kind, (2, 3, 8), out=(2, 3, 1))) == (Kernel(kind, 216.0, rows=6.0),)
    assert lower(one(kind, (2, 3, 8), out=(1,), over="all")) == (Kernel("sum_all", 196.0),)


# ---- products, by their rows


@pytest.mark.parametrize(
    ("m", "n", "k", "curve"),
    [
        (1, 64, 64, "gemv"), (1, 8, 8, "gemv"), (2, 64, 64, "gemm_few"), (8, 64, 64, "gemm_few"), (9, 64, 64, "gemm"),
        (64, 8, 64, "gemm_few"), (64, 9, 64, "gemm"), (64, 64, 8, "gemm_few"), (64, 64, 9, "gemm"), (4, 64, 2048, "gemm_few_aliased"),
        (4, 64, 4096, "gemm_few_aliased"), (4, 64, 3072, "gemm_few"), (16, 64, 2048, "gemm"),
    ],
)  # fmt: skip
def test_a_product_goes_where_aten_sends_it(m, n, k, curve):
    (kernel,) = lower(linear(m, n, k))
    bytes_, flops = 4.0 * (m * k + n * k + m * n), 2.0 * m * n * k
    assert kernel == (Kernel("gemv", bytes_) if curve == "gemv" else Kernel(curve, bytes_, flops, depth=k))


def test_a_sweep_over_rows_takes_each_path_where_it_belongs():
    counts = {k.curve: k.count for k in lower(linear(np.array([1.0, 8.0, 9.0]), 64, 64))}
    assert {name: list(count) for name, count in counts.items()} == {"gemv": [1, 0, 0], "gemm_few": [0, 1, 0], "gemm": [0, 0, 1]}
    swept = {k.curve for k in lower(linear(4, 64, np.array([64.0, 2048.0])))}
    assert swept == {"gemm_few", "gemm"}


def test_batched_products():
    made = one("bmm", (6, 4, 8), (6, 8, 2), out=(6, 4, 2))
    assert lower(made) == (Kernel("bmm", 4.0 * (192 + 96 + 48), 2.0 * 6 * 4 * 8 * 2, 6.0, 8),)
    heads = one("matmul", (2, 3, 4, 8), (2, 3, 8, 2), out=(2, 3, 4, 2))
    assert [(k.curve, k.rows, k.depth) for k in lower(heads)] == [("bmm", 6.0, 8)]
    assert lower(one("matmul", (6, 4, 8), (6, 8, 2), out=(6, 4, 2))) == lower(made)
    assert [(k.curve, k.rows) for k in lower(one("bmm", (4, 8), (8, 2), out=(4, 2)))] == [("bmm", 1.0)]
    # 9 sequences of 2 tokens are 18 rows
    assert [k.curve for k in lower(one("linear", (9, 2, 64), (64, 64), out=(9, 2, 64)))] == ["gemm"]


# ---- convolutions


@pytest.mark.parametrize(
    ("x", "w", "attrs", "curve", "depth"),
    [
        ((1, 16, 8, 8), (32, 16, 1, 1), {}, "conv_1x1", 16), ((1, 16, 8, 8), (32, 16, 3, 3), {}, "conv", 144),
        ((1, 3, 8, 8), (32, 3, 3, 3), {}, "conv_first", 27), ((1, 4, 8, 8), (32, 4, 1, 1), {}, "conv_first", 4),
        ((1, 5, 8, 8), (32, 5, 1, 1), {}, "conv_1x1", 5), ((1, 1, 8, 8), (32, 1, 3, 3), {}, "conv_first", 9),
        ((1, 16, 8, 8), (16, 1, 3, 3), {}, "depthwise", 9), ((1, 16, 8, 8), (16, 1, 3, 3), {"stride": 2}, "depthwise_strided", 9),
        ((1, 16, 8, 8), (16, 1, 5, 5), {"stride": 2}, "depthwise_large", 25), ((1, 16, 8, 8), (16, 4, 3, 3), {}, "conv_grouped", 36),
        ((1, 16, 8, 8), (32, 16, 3, 3), {"layout": "nhwc"}, "conv_nhwc", 144), ((1, 16, 8, 8), (32, 16, 1, 3), {}, "conv", 48),
        ((1, 16, 8, 8), (32, 16, 3, 1), {}, "conv", 48), ((1, 16, 8, 8), (16, 1, 2, 5), {}, "depthwise_large", 10),
    ],
)  # fmt: skip
def test_a_convolution_by_its_inner_loop(x, w, attrs, curve, depth):
    side = 8 // attrs.get("stride", 1)
    made = one("conv2d", x, w, out=(1, w[0], side, side), **attrs)
    (kernel,) = lower(made)
    flops = 2.0 * w[0] * side * side * w[1] * w[2] * w[3]
    assert kernel == Kernel(curve, made.work.bytes, flops, depth=depth)
    (compiled,) = lower(made, compiled=True)
    assert compiled.curve == curve.removesuffix("_nhwc") + "_nhwc"
    assert replace(compiled, curve=curve) == kernel


def test_two_channels_apart_are_depthwise():
    assert [k.curve for k in lower(one("conv2d", (1, 2, 8, 8), (2, 1, 3, 3), out=(1, 2, 8, 8)))] == ["depthwise"]


# ---- attention


def attend(sq: int, sk: int, **attrs) -> Op:
    return one("attention", (2, 3, sq, 4), (2, 3, sk, 4), (2, 3, sk, 4), out=(2, 3, sq, 4), **attrs)


def test_attention_by_its_queries():
    (decode,) = lower(attend(1, 16))
    assert (decode.curve, decode.rows, decode.flops) == ("attention_decode", 6, 4.0 * 6 * 16 * 4)
    assert decode.data == 4.0 * 6 * (4 + 2 * 16 * 4 + 4)
    (tiled,) = lower(attend(16, 8))
    assert (tiled.curve, tiled.rows, tiled.flops) == ("attention", 6, 4.0 * 6 * 16 * 8 * 4)
    assert tiled.data == 4.0 * 6 * (16 * 4 + 2 * 8 * 4 + 16 * 4) + 2 * 4.0 * 6 * 16 * 8
    assert [lower(attend(sq, 16))[0].curve for sq in (2, 767, 768)] == ["attention", "attention", "attention_long"]
    (long,) = lower(attend(1024, 8))
    assert long == Kernel("attention_long", 4.0 * 6 * (2 * 1024 * 4 + 2 * 8 * 4) + 2 * 4.0 * 6 * 1024 * 8, 4.0 * 6 * 1024 * 8 * 4, 6)
    counts = {k.curve: list(k.count) for k in lower(attend(np.array([1.0, 16.0, 1024.0]), 16))}
    assert counts == {"attention_decode": [1, 0, 0], "attention": [0, 1, 0], "attention_long": [0, 0, 1]}


def test_naive_attention_is_its_parts():
    first, soft, second = lower(attend(16, 8, impl="naive"))
    scores = 4.0 * 6 * 16 * 8
    assert first == Kernel("bmm", 4.0 * 6 * (16 * 4 + 8 * 4) + scores, 2.0 * 6 * 16 * 8 * 4, 6, 4)
    assert soft == Kernel("softmax", 2 * scores, rows=96)
    assert second == replace(first, depth=8)
    wider = one("attention", (2, 3, 16, 4), (2, 3, 8, 4), (2, 3, 8, 6), out=(2, 3, 16, 6), impl="naive")
    assert lower(wider)[0].data == first.data  # queries meet keys, however wide the values


# ---- what a compiler writes


def fused(*kinds: str) -> tuple[Kernel, ...]:
    found = fuse(chain(*kinds, dtype="fp32"), INDUCTOR).graph
    assert len(found.ops) == 1
    return lower(found.ops[0], compiled=True)


def test_written_loops():
    assert lower(one("relu", (4, 8)), compiled=True) == (Kernel("fused", 256.0),)
    assert fused("relu", "relu") == (Kernel("fused", 256.0),)
    assert fused("gelu", "relu", "exp") == (Kernel("fused_transcendental", 256.0, rows=64.0),)
    assert fused("layer_norm", "gelu") == (Kernel("fused_rows", 256.0, rows=4.0),)
    assert fused("layer_norm", "relu") == (Kernel("fused_rows", 256.0, rows=4.0),)
    assert fused("softmax", "relu") == (Kernel("fused_softmax", 256.0, rows=32.0),)
    assert lower(one("sum", (4, 8), out=(4, 1)), compiled=True) == (Kernel("fused_rows", 144.0, rows=4.0),)
    assert lower(one("layer_norm", (4, 8), row=16.0), compiled=True) == (Kernel("fused_rows", 256.0, rows=2.0),)
    pooled = one("max_pool2d", (1, 2, 4, 4), out=(1, 2, 2, 2), kernel=(2, 2))
    assert lower(pooled, compiled=True) == (Kernel("fused", 160.0),)
    assert lower(one("log_softmax", (4, 8)), compiled=True) == (Kernel("fused_softmax", 256.0, rows=32.0),)
    assert lower(one("copy", (4, 8), strided=True), compiled=True) == (Kernel("fused", 256.0),)
    assert lower(one("layer_norm", (2, 3, 8)), compiled=True) == (Kernel("fused_rows", 384.0, rows=6.0),)
    assert lower(one("sum", (2, 3, 8), out=(2, 1, 1)), compiled=True)[0].rows == 2.0
    assert fused("layer_norm", "softmax") == (Kernel("fused_softmax", 256.0, rows=32.0),)
    assert lower(one("softmax", (4, 8)), compiled=False) == (Kernel("softmax", 256.0, rows=4.0),)


def test_what_is_fused_to_a_product_is_a_loop_of_its_own():
    x, w, t, y = (
        tensor(name, *shape, dtype="fp32") for name, shape in (("x", (16, 32)), ("w", (64, 32)), ("t", (16, 64)), ("y", (16, 64)))
    )
    product, relu = op("linear", "linear", [x, w], [t]), op("relu", "relu", [t], [y])
    both = merge((product, relu), {"y"}, {t.name: t for t in (x, w, t, y)})
    kernels = lower(both, compiled=True)
    assert kernels == (Kernel("gemm", 4.0 * (512 + 2048 + 1024), 2.0 * 16 * 64 * 32, depth=32), Kernel("fused", 8192.0))


def test_a_convolution_in_a_fused_op_has_its_channels_last():
    x, w, t, y = (
        tensor(name, *shape, dtype="fp32")
        for name, shape in (("x", (1, 16, 8, 8)), ("w", (32, 16, 3, 3)), ("t", (1, 32, 8, 8)), ("y", (1, 32, 8, 8)))
    )
    parts = op("conv2d", "conv", [x, w], [t]), op("relu", "relu", [t], [y])
    both = merge(parts, {"y"}, {t.name: t for t in (x, w, t, y)})
    # x of 1,024 elements, w of 4,608, y of 2,048 with 144 multiply-adds each
    main = Kernel("conv_nhwc", 4.0 * (1024 + 4608 + 2048), 2.0 * 2048 * 144, depth=144)
    assert lower(both, compiled=True) == (main, Kernel("fused", 2 * 4.0 * 2048))


def test_attention_in_a_fused_op_is_a_librarys_too():
    heavy = attend(16, 8)
    y = heavy.outputs[0]
    relu = op("relu", "relu", [y], [replace(y, name="z")])
    both = merge((heavy, relu), {"z"}, {t.name: t for t in (*heavy.inputs, y, *relu.outputs)})
    main, loop = lower(both, compiled=True)
    assert (main.curve, main.rows, main.flops) == ("attention", 6, 4.0 * 6 * 16 * 8 * 4)
    assert loop == Kernel("fused", 2 * 4.0 * 6 * 16 * 4)


# ---- rows -> samples -> curves -> a prediction


def row(name: str, seconds: float, **params) -> dict:
    return {"kind": "op", "op": name, "params": {"dtype": "fp32", **params}, "wall_s": seconds}


def test_what_was_only_summed_over_kernels_counts_too():
    timed, summed, untimed = row("relu", 1e-5, numel=64), row("relu", 0.0, numel=64), row("relu", 0.0, numel=64)
    found = list(samples([{**timed, "busy_s": 5.0}, {**summed, "busy_s": 2e-5}, untimed], "cpu"))
    assert [s.seconds for s in found] == [1e-5, 2e-5]


def test_a_call_is_a_sample_and_of_a_compiled_one_only_the_loop():
    rows = [
        {"kind": "launch", "op": "compiled", "wall_s": 60e-6},
        row("relu", 1e-5, numel=64), {**row("relu", 1e-5, numel=64), "error": "no"}, row("unheard", 1e-5, numel=64),
        row("generated", 90e-6, read_bytes=400, written_bytes=100), row("generated", 50e-6, read_bytes=400, written_bytes=100),
        row("generated", 90e-6, read_bytes=400, written_bytes=100, dear=25),
        row("generated", 90e-6, read_bytes=400, written_bytes=100, rows=5),
        row("generated", 90e-6, read_bytes=400, written_bytes=100, rows=5, transcendental=25),
        row("conv2d", 2e-4, n=1, c=16, h=8, w=8, out=32, kh=1, kw=1, stride=1, ph=0, pw=0, groups=1, layout="nhwc"),
    ]  # fmt: skip
    found = list(samples(rows, "cpu"))
    assert found[0] == Sample(Kernel("relu", 512.0), 1e-5)
    assert [s.kernel for s in found[1:5]] == [
        Kernel("fused", 500), Kernel("fused_transcendental", 500, rows=25), Kernel("fused_rows", 500, rows=5),
        Kernel("fused_softmax", 500, rows=25),
    ]  # fmt: skip
    assert [s.seconds for s in found[1:5]] == pytest.approx([30e-6] * 4)
    assert [(s.kernel.curve, s.seconds) for s in found[5:]] == [("conv_1x1_nhwc", 2e-4)]
    del rows[-1]["params"]["layout"]
    assert [s.kernel.curve for s in samples(rows[-1:], "cpu")] == ["conv_1x1"]


def test_what_entering_a_compiled_call_takes_is_taken_off():
    loop, other = row("generated", 90e-6, read_bytes=400, written_bytes=100), {"kind": "launch", "op": "add", "wall_s": 30e-6}
    entry = {"kind": "launch", "op": "compiled", "wall_s": 60e-6}
    assert [s.seconds for s in samples([other, loop], "cpu")] == [90e-6]
    assert [s.seconds for s in samples([other, entry, loop], "cpu")] == pytest.approx([30e-6])
    assert list(samples([entry, loop | {"wall_s": 60e-6}], "cpu")) == []  # nothing is left of it
    unknown = {"kind": "launch", "op": "compiled", "error": "no compiler"}
    assert [s.seconds for s in samples([unknown, loop], "cpu")] == [90e-6]


CALLS = {"add": 3e-6, "relu": 4e-6, "nn_relu": 11e-6, "linear": 16e-6, "nn_linear": 21e-6, "nn_gelu": 30e-6, "compiled": 60e-6}
LAUNCHES = [{"kind": "launch", "op": name, "wall_s": seconds} for name, seconds in CALLS.items()]
STREAMS = [row("relu", 5e-6 + 8 * n / 5e10, numel=n) for n in (2**8, 2**12, 2**16, 2**20, 2**23)]


def calibrated(rows, described, sources):
    return calibrate([Row.from_json(row) for row in rows], described, HOST, sources)


def test_a_processor_is_calibrated_from_calls():
    found = calibrated([*LAUNCHES, *STREAMS], {"cpu": "toy", "l2_bytes": 1e6, "l3_bytes": 3e7}, ("toy",))
    assert (found.backend, found.host.entry, found.cache_bytes) == ("cpu", 60e-6, 3e7)
    assert found.host.launches == {"default": pytest.approx(6e-6)}  # the median of 7 and 5: what modules add to their functions
    assert found.curves["relu"].floor == pytest.approx(5e-6, rel=0.1)
    assert found.curves["relu"].main == pytest.approx(5e10, rel=0.1)
    again = Calibration.from_json(found.to_json())
    assert (again.backend, again.host.entry) == ("cpu", 60e-6)
    assert calibrated(LAUNCHES[:1] + STREAMS, {"l2_bytes": 1e6}, ()).host.launches == {"default": 0.0}


def test_a_module_that_is_quicker_than_its_function_costs_nothing():
    odd = [{"kind": "launch", "op": "relu", "wall_s": 4e-6}, {"kind": "launch", "op": "nn_relu", "wall_s": 3e-6}]
    assert calibrated([*odd, *STREAMS], {"cpu": "toy", "l3_bytes": 3e7}, ()).host.launches == {"default": 0.0}


MEASURED = Calibration({"elementwise": Curve(1.0, cache=100.0, main=100.0)}, Host({"default": 0.25}, 3.0), 1e9, backend="cpu")


def test_a_processor_cannot_run_ahead_of_itself():
    graph = chain("relu", "relu")  # 128 bytes each: 1.28 s and a floor of 1 s
    machine = replace(HOST, calibration=MEASURED)
    assert predict(graph, machine).seconds == pytest.approx(2 * (0.25 + 1.0 + 1.28))
    assert predict(graph, HOST, Plan(calibrated=False)).seconds == pytest.approx(2 * (0.5 + 1.28))
    assert predict(graph, MACHINE, Plan(calibrated=False)).seconds == pytest.approx(0.5 + 2 * 1.28)


def test_entering_a_compiled_function_is_paid_once():
    graph = chain("relu", "relu")
    machine = replace(HOST, calibration=MEASURED)
    assert predict(graph, machine, Plan(mode="compiled")).seconds == pytest.approx(3.0 + 1.0 + 1.28)
    assert predict(graph, machine, Plan(mode="compiled", launch=0.5)).seconds == pytest.approx(3.0 + 0.5 + 1.0 + 1.28)
    device = replace(MACHINE, calibration=replace(MEASURED, backend="cuda"))
    assert predict(graph, device, Plan(mode="compiled")).seconds == pytest.approx(3.0 + 0.25 + 1.0 + 1.28)


def test_functions_that_a_processor_takes_long_for():
    assert set(TRANSCENDENTAL) == {"gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "exp", "erf", "softplus", "mish", "log", "sin", "cos"}
    for kind in set(TRANSCENDENTAL) & set(KINDS):
        assert lower(one(kind, (4, 8)), compiled=True) == (Kernel("fused_transcendental", 256.0, rows=32.0),), kind
    for kind in ("relu", "add", "sqrt"):
        assert lower(one(kind, (4, 8)), compiled=True) == (Kernel("fused", 256.0),), kind


def test_a_graph_of_one_op_costs_what_the_op_costs():
    made = linear(16, 64, 64)
    curves = {"gemm": Curve(1.0, rate=131072.0)}
    machine = replace(HOST, peaks={"fp32": 1e6}, bandwidth=1e6, levels=(), calibration=replace(MEASURED, curves=curves))
    assert predict(Graph("g", (made,), "fp32"), machine).busy_s == pytest.approx(2.0)
