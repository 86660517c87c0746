"""Weights in one memory, activations in another: each byte takes its own memory's time."""

from dataclasses import replace

import numpy as np
import pytest

from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.lower_bound import least, least_data, least_transfer
from ironlaw.engine.device.machine import Hardware, Level, Plan
from ironlaw.engine.device.predict import one_launch, predict
from ironlaw.engine.device.roofline import transfer
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.workloads import workload

SRAM = Level("sram", "SRAM", 4096, 1000.0)
ONE = Hardware("one", "one memory", {"fp16": 1e6}, 10.0, 4096, 1.0, 0.0, dispatch="replayed", levels=(SRAM,))
TWO = replace(ONE, flash=1e6, activations="sram")

# DS-CNN by hand, at one byte a number: a 10 × 4 convolution to 64 channels, four blocks of a 3 × 3 depthwise and a 1 × 1 convolution, 12
# classes with a bias, and four numbers a channel for each of nine batch norms
WEIGHTS = 10 * 4 * 64 + 4 * (3 * 3 * 64 + 64 * 64) + (64 * 12 + 12) + 9 * 4 * 64
MAP = 25 * 5 * 64  # a 49 × 10 spectrogram at stride 2
# the first convolution reads the spectrogram; eight more, nine norms and nine ReLUs read and write a map each; pooling and the classifier
MOVED = (49 * 10 + MAP) + (8 + 9 + 9) * 2 * MAP + (MAP + 64) + (64 + 12)


def test_a_keyword_spotter_by_hand_count():
    graph = workload("dscnn_kws", dtype="int8")
    assert (graph.weight_bytes, graph.bytes) == (WEIGHTS, WEIGHTS + MOVED) == (24_332, 456_962)
    for slug, flash, sram in (("cortex_m7", 50e6, 1.92e9), ("cortex_m4", 16e6, 256e6), ("esp32_s3", 80e6, 0.96e9)):
        p = predict(graph, hardware(slug))
        assert p.data_s == pytest.approx(WEIGHTS / flash + MOVED / sram)
        assert p.fits and p.memory.resident_weights == 0
    assert any(source.startswith("AXI SRAM bandwidth: STM32H743xI") for source in predict(graph, hardware("cortex_m7")).sources)
    assert predict(graph, hardware("cortex_m7")).data_s == pytest.approx(0.712e-3, rel=1e-3)  # all at the flash's rate: 9.14 ms


def linear(rows=4.0):
    x, w, y = Tensor("x", (rows, 8), role="input"), Tensor("w", (8, 8), role="weight"), Tensor("y", (rows, 8))
    return Graph("g", (op("linear", "l", [x, w], [y]),))


def test_each_byte_takes_its_own_memorys_time():
    only = linear().ops[0]
    assert only.stored_bytes == 128
    assert transfer(only, TWO) == pytest.approx(128 / 10 + 128 / 1000)
    assert transfer(only, ONE) == pytest.approx(256 / 10)
    assert predict(linear(), TWO).data_s == pytest.approx(12.928)
    assert TWO.activation_bandwidth == 1000 and ONE.activation_bandwidth == 10


def test_buffers_lie_with_the_weights_and_caches_do_not():
    graph = Graph("g", (op("add", "a", [Tensor("b", (8,), role="buffer"), Tensor("c", (8,), role="cache")], [Tensor("y", (8,))]),))
    assert graph.ops[0].stored_bytes == 16
    assert transfer(graph.ops[0], TWO) == pytest.approx(16 / 10 + 32 / 1000)


@pytest.mark.parametrize("traffic", ["weights", "ops"])
def test_one_launch_keeps_apart_what_is_stored(traffic):
    graph = workload("dscnn_kws", dtype="int8")
    whole, machine = one_launch(graph, traffic), hardware("cortex_m7")
    moved = MOVED if traffic == "ops" else 49 * 10 + 12
    assert predict(whole, machine).data_s == pytest.approx(WEIGHTS / 50e6 + moved / 1.92e9)


def test_fusing_leaves_the_weights_where_they_are():
    graph, machine = workload("dscnn_kws", dtype="int8"), hardware("cortex_m7")
    fused = fuse(graph).graph
    assert sum(o.stored_bytes for o in fused.ops) == WEIGHTS
    expected = WEIGHTS / 50e6 + (fused.bytes - WEIGHTS) / 1.92e9
    assert predict(graph, machine, Plan(mode="compiled")).data_s == pytest.approx(expected)


def test_a_sweep_is_its_points():
    rows = np.array([1.0, 4.0, 100.0])
    swept = predict(linear(rows), TWO)
    assert swept.data_s.tolist() == pytest.approx([predict(linear(n), TWO).data_s for n in rows])
    assert np.asarray(least(linear(rows).ops[0], TWO)).tolist() == pytest.approx([least(linear(n).ops[0], TWO) for n in rows])


def test_the_least_lets_both_memories_run_side_by_side():
    assert least_data(5000.0, TWO, stored=20.0) == pytest.approx(4980 / 1000)
    assert least_data(5000.0, TWO, stored=4000.0) == pytest.approx(4000 / 10)
    assert least_data(5000.0, TWO, 30.0, stored=4000.0) == pytest.approx(3970 / 10)
    assert least_data(5000.0, ONE, stored=20.0) == pytest.approx(5000 / 10)


def test_the_least_of_an_op_keeps_its_weights_apart():
    """128 bytes of weights at 10 bytes/s beside 128 of activations at 1,000; in one memory, all 256 at 10."""
    (only,) = linear().ops
    assert least_transfer(only, TWO) == pytest.approx(128 / 10)
    assert least_transfer(only, replace(TWO, bandwidth=1e6)) == pytest.approx(128 / 1000)
    assert least_transfer(only, ONE) == pytest.approx(256 / 10)


@pytest.mark.parametrize("name", ["l1", "l2", "l3", "l4"])
def test_every_cache_outlasts_a_kernel_and_registers_do_not(name):
    """1,000 bytes, of which 100 stay: the other 900 at 10 bytes/s."""
    for level, seconds in ((name, 900 / 10), ("registers", 1000 / 10)):
        assert least_data(1000.0, replace(ONE, levels=(Level(level, level, 100, 1e6),))) == pytest.approx(seconds)


def test_no_prediction_is_below_the_least_on_any_microcontroller():
    for slug in machines():
        machine = hardware(slug)
        if machine.kind == "mcu":
            for fmt in ("int8", "fp32"):
                for row in predict(workload("dscnn_kws", dtype=fmt), machine).ops:
                    assert row.seconds >= least(row.op, machine) * (1 - 1e-12)


def test_weights_are_judged_by_the_flash_and_activations_by_the_sram():
    graph = linear()
    assert predict(graph, TWO).fits
    assert not predict(graph, replace(TWO, flash=100.0)).fits  # 128 bytes of weights
    assert not predict(graph, replace(TWO, capacity=100.0)).fits  # 128 bytes of input and output


@pytest.mark.parametrize(
    ("l1", "l2", "main", "seconds"),
    [(1.0, 1e3, 1e3, 1000.0), (1e3, 1.0, 1e3, 990.0), (1e3, 1e3, 1.0, 950.0)],  # bytes/s; the slowest of the three decides
)
def test_each_level_passes_on_what_the_one_before_it_can_not_hold(l1, l2, main, seconds):
    """1,000 bytes: all cross the first cache, which holds 10, so 990 cross the second, which holds 50: 950 come from memory."""
    levels = (Level("l1", "L1", 10, l1), Level("l2", "L2", 50, l2))
    assert least_data(1000.0, replace(ONE, bandwidth=main, levels=levels)) == seconds
