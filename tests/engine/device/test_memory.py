"""What is alive when, by hand on small graphs; the KV cache; the largest size that fits by walking all of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import MACHINE, chain, graphs, tensor

from ironlaw.engine.device.memory import Memory, footprint, kv_cache, largest_that_fits, live_activations, live_profile
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload


def sized(name: str, size: int, role: str = "activation"):
    """A tensor of so many bytes."""
    return tensor(name, size, dtype="int8", role=role)


def ops(*rows):
    """(inputs, outputs) by tensor -> a graph of copies."""
    return tuple(op("copy", f"op{i}", ins, outs, **attrs) for i, (ins, outs, attrs) in enumerate(rows))


def test_a_chain_holds_the_input_and_two_neighbours():
    # x is the caller's and stays: 64; then t0, t0 + t1, t1 + t2
    assert live_activations(chain("relu")) == 128.0
    assert live_activations(chain("relu", "exp")) == 192.0
    assert live_activations(chain("relu", "exp", "tanh")) == 192.0


def test_branches_by_hand():
    x, a, b, c, d = sized("x", 10, "input"), sized("a", 20), sized("b", 30), sized("c", 5), sized("d", 7)
    graph = Graph("g", ops(([x], [a], {}), ([a], [b], {}), ([a], [c], {}), ([b, c], [d], {})))
    # 10 + 20; + b 30 = 60; + c 5 = 65 with a still there; then a goes and d comes: 10 + 30 + 5 + 7 = 52
    assert live_activations(graph) == 65.0


def test_the_curve_op_by_op():
    x, a, b, c, d = sized("x", 10, "input"), sized("a", 20), sized("b", 30), sized("c", 5), sized("d", 7)
    graph = Graph("g", ops(([x], [a], {}), ([a], [b], {}), ([a], [c], {}), ([b, c], [d], {})))
    assert live_profile(graph)[1:] == [30.0, 60.0, 65.0, 52.0]
    b = sized("b", 20)
    inplace = Graph("g", ops(([x], [a], {}), ([a], [b], {"inplace": True}), ([b], [c], {})))
    assert live_profile(inplace)[1:] == [30.0, 30.0, 35.0]  # a lives on as b


def test_the_order_decides():
    x, a, b, c = sized("x", 1, "input"), sized("a", 50), sized("b", 2), sized("c", 40)
    d = sized("d", 1)
    first = Graph("g", ops(([x], [a], {}), ([a], [b], {}), ([x], [c], {}), ([b, c], [d], {})))
    assert live_activations(first) == 53.0  # x, a, b
    second = Graph("g", ops(([x], [a], {}), ([x], [c], {}), ([a], [b], {}), ([b, c], [d], {})))
    assert live_activations(second) == 93.0  # x, a, c, b


def test_outputs_stay_to_the_end():
    x, a, b, c = sized("x", 1, "input"), sized("a", 10), sized("b", 20), sized("c", 30)
    rows = ops(([x], [a], {}), ([a], [b], {}), ([b], [c], {}))
    assert live_activations(Graph("g", rows)) == 51.0  # x, b, c
    assert live_activations(Graph("g", rows, outputs=("a", "c"))) == 61.0  # a too


def test_what_nobody_reads_is_gone_after_its_op():
    x, a, mask, b = sized("x", 1, "input"), sized("a", 10), sized("mask", 100), sized("b", 95)
    graph = Graph("g", ops(([x], [a, mask], {}), ([a], [b], {})))
    assert live_activations(graph) == 111.0  # x, a, mask; then x, a, b = 106


def test_in_place_does_not_hold_a_tensor_twice():
    x, a, b, c = sized("x", 1, "input"), sized("a", 10), sized("b", 10), sized("c", 3)
    rows = [([x], [a], {}), ([a], [b], {"inplace": True}), ([b], [c], {})]
    assert live_activations(Graph("g", ops(*rows))) == 14.0  # x, b, c
    rows[1] = ([a], [b], {})
    assert live_activations(Graph("g", ops(*rows))) == 21.0  # x, a, b
    rows[1] = ([a], [b], {"inplace": False})
    assert live_activations(Graph("g", ops(*rows))) == 21.0


def test_beside_what_is_written_in_place_a_mask_has_memory_of_its_own():
    x, a, b, mask, c = sized("x", 1, "input"), sized("a", 10), sized("b", 10), sized("mask", 100), sized("c", 3)
    graph = Graph("g", ops(([x], [a], {}), ([a], [b, mask], {"inplace": True}), ([b, mask], [c], {})))
    assert live_profile(graph) == [1.0, 11.0, 111.0, 114.0]


def test_what_a_view_shows_stays_when_the_view_is_handed_back():
    x, a, seen, b = sized("x", 1, "input"), sized("a", 10), sized("v", 10), sized("b", 30)
    rows = (op("copy", "a", [x], [a]), op("view", "v", [a], [seen]), op("copy", "b", [x], [b]))
    assert live_profile(Graph("g", rows, outputs=("v", "b"))) == [1.0, 11.0, 11.0, 41.0]
    assert live_profile(Graph("g", rows, outputs=("b",)))[-1] == 31.0


def test_weights_buffers_and_caches_are_no_activations():
    x, w, stat, k = sized("x", 1, "input"), sized("w", 1000, "weight"), sized("s", 40, "buffer"), sized("k", 200, "cache")
    a = sized("a", 10)
    graph = Graph("g", ops(([x, w], [k], {}), ([k, stat], [a], {})))
    assert live_activations(graph) == 11.0
    memory = footprint(graph, replace(MACHINE, capacity=5000.0))
    assert memory == Memory(1040.0, 200.0, 11.0, 5000.0)
    assert memory.total == 1251.0
    assert memory.fits
    assert memory.headroom == 3749.0
    assert footprint(graph, replace(MACHINE, capacity=1251.0)).fits
    assert not footprint(graph, replace(MACHINE, capacity=1251.0, reserved=1.0)).fits
    assert footprint(graph, replace(MACHINE, capacity=1251.0, reserved=1.0)).headroom == -1.0
    limitless = footprint(graph)
    assert (limitless.capacity, limitless.reserved, limitless.fits) == (math.inf, 0.0, True) and limitless.total == memory.total


def test_weights_in_flash_take_none_of_the_memory():
    x, w, a = sized("x", 1, "input"), sized("w", 1000, "weight"), sized("a", 10)
    graph = Graph("g", ops(([x, w], [a], {})))
    chip = replace(MACHINE, capacity=20.0, flash=1000.0)
    memory = footprint(graph, chip)
    assert (memory.weights, memory.resident_weights, memory.total, memory.fits) == (1000.0, 0.0, 11.0, True)
    assert not footprint(graph, replace(chip, flash=999.0)).fits  # no room for them there
    assert not footprint(graph, replace(chip, capacity=10.0)).fits
    assert not footprint(graph, replace(chip, flash=0.0)).fits  # without flash all of it is in main memory


def test_resnet_in_int8_fails_on_a_microcontroller_for_its_activations():
    memory = footprint(workload("resnet50", dtype="int8"), hardware("cortex_m7"))
    assert memory.weights < memory.flash  # 25.6 MB
    assert not memory.fits and memory.total == memory.activations == pytest.approx(2.56e6, rel=0.01)
    assert footprint(workload("dscnn_kws", dtype="int8"), hardware("cortex_m7")).fits


def test_a_swept_batch_equals_the_scalars():
    batches = np.array([1, 3, 10])

    def graph(batch):
        x, a, b = (tensor(n, batch, 8, role=r) for n, r in (("x", "input"), ("a", "activation"), ("b", "activation")))
        return Graph("g", (op("relu", "r", [x], [a]), op("exp", "e", [a], [b])))

    assert live_activations(graph(batches)).tolist() == [live_activations(graph(b)) for b in batches.tolist()] == [48.0, 144.0, 480.0]


@given(graphs())
def test_liveness_against_a_walk_over_time(graph):
    """At each op, what was made by then and is read then or later (or handed back) is alive; a view is what it views."""
    made = {t.name: i for i, o in enumerate(graph.ops) for t in o.outputs if o.kind != "view"}
    views = {o.outputs[0].name: o.inputs[0].name for o in graph.ops if o.kind == "view"}
    read: dict[str, int] = {}

    def meant(name):
        return meant(views[name]) if name in views else name

    for i, o in enumerate(graph.ops):
        read |= {meant(t.name): i for t in o.inputs}
    read |= {meant(name): len(graph.ops) for name in graph.outputs}
    curve = []
    for i in range(len(graph.ops)):
        alive = 0.0
        for name, t in graph.tensors.items():
            if name in views:
                continue
            last = max(read.get(name, -1), made.get(name, -1))
            if t.role == "input" or (t.role == "activation" and made[name] <= i <= last):
                alive += t.bytes
        curve.append(alive)
    assert live_profile(graph)[1:] == curve
    assert live_activations(graph) == max(curve)


def test_kv_cache_of_llama3_8b_is_128_kib_a_token():
    assert kv_cache(32, 8, 128, 1, 1) == 131072.0
    assert kv_cache(32, 8, 128, 1, 1, "fp16") == 131072.0
    assert kv_cache(32, 8, 128, 1, 1, "int8") == 65536.0
    assert kv_cache(2, 3, 5, 7, 11, "fp32") == 2 * 2310 * 4
    assert kv_cache(32, 8, 128, np.array([1, 2]), 10).tolist() == [1310720.0, 2621440.0]


def test_kv_cache_names_what_is_wrong():
    for i, name in enumerate(("layers", "kv_heads", "head_dim", "batch", "context")):
        values = [1, 1, 1, 1, 1]
        values[i] = 0
        with pytest.raises(BadValue, match=f"^{name} is 0; give a finite number above 0"):
            kv_cache(*values)
    with pytest.raises(UnknownName, match="number format 'half'"):
        kv_cache(1, 1, 1, 1, 1, "half")


@given(st.integers(0, 300), st.integers(1, 60), st.integers(1, 20))
def test_largest_that_fits_against_a_linear_search(capacity, limit, slope):
    def total(n):
        return 3.0 + slope * n

    walked = max((n for n in range(1, limit + 1) if total(n) <= capacity), default=0)
    assert largest_that_fits(total, capacity, limit) == walked


def test_largest_that_fits_by_hand():
    assert largest_that_fits(lambda n: 10.0 * n, 100.0) == 10
    assert largest_that_fits(lambda n: 10.0 * n, 99.9) == 9
    assert largest_that_fits(lambda n: 10.0 * n, 9.0) == 0
    assert largest_that_fits(lambda n: 10.0 * n, 10.0) == 1
    assert largest_that_fits(lambda n: 0.0, 1.0) == 1 << 24
    assert largest_that_fits(float, 1e12, limit=1000) == 1000


def test_largest_that_fits_asks_few_questions_and_none_beyond_the_limit():
    asked = []

    def total(n):
        asked.append(n)
        return float(n)

    assert largest_that_fits(total, 700_000.0, limit=1_000_000) == 700_000
    assert len(asked) < 45
    assert max(asked) <= 1_000_000
