"""Which bytes a cache keeps from main memory: by hand for chains of a 64-byte tensor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import graphs

from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.residency import crossover, residency
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue

T = 64
THREE = chain(("layer_norm", "dropout", "relu"), (4, 8))


@given(graphs(), st.lists(st.floats(0, 1e6), min_size=2, max_size=5).map(sorted))
def test_a_larger_cache_serves_more_and_no_byte_is_lost(graph, caches):
    runs = [residency(graph, cache) for cache in caches]
    for run in runs:
        assert [main + held for main, held in run.ops] == pytest.approx([float(op.work.bytes) for op in graph.ops])
    assert [run.main for run in runs] == sorted((run.main for run in runs), reverse=True)


@given(graphs())
def test_at_the_crossover_only_what_enters_or_leaves_the_graph_crosses(graph):
    made = {t.name for op in graph.ops for t in op.outputs}
    read = {t.name for op in graph.ops for t in op.inputs}
    crossing = sum(
        sum(count for t, count in zip(op.inputs, op.reads, strict=True) if t.name not in made)
        + sum(count for t, count in zip(op.outputs, op.writes, strict=True) if t.name in graph.outputs or t.name not in read)
        + op.work.bytes - sum(op.reads) - sum(op.writes)
        for op in graph.ops
    )  # fmt: skip
    size = crossover(graph)
    assert residency(graph, size).main == pytest.approx(crossing)
    if size:
        assert residency(graph, size - 1).main > crossing - 1e-6


def test_without_a_cache_all_crosses():
    assert residency(THREE, 0) == residency(THREE, 2 * T - 1)
    assert (residency(THREE, 0).main, residency(THREE, 0).cache) == (6 * T, 0)
    assert residency(chain(("add",), (4, 8)), 0).ops == ((3 * T, 0),)
    with pytest.raises(BadValue, match=r"^cache is -1;"):
        residency(THREE, -1)


def test_two_tensors_of_cache_keep_the_intermediates():
    """The op that makes one touches it and its input: 2 T. Then only the first read and the last write cross."""
    found = residency(THREE, 2 * T)
    assert (found.main, found.cache) == (2 * T, 4 * T)
    assert crossover(THREE) == 2 * T


def test_a_tensor_that_is_read_later_must_survive_what_comes_between():
    a, b, c, d = (Tensor(name, (32,), "fp16", "input" if name == "a" else "activation") for name in "abcd")
    graph = Graph("skip", (op("relu", "1", (a,), (b,)), op("relu", "2", (b,), (c,)), op("add", "3", (b, c), (d,))))
    near, far = residency(graph, 2 * T), residency(graph, 3 * T)
    # b is read by 2 from the cache and by 3 across memory; its write crosses because 3 needs it from there
    assert (near.main, near.cache) == (T + T + T + T, T + T + T)
    assert (far.main, far.cache) == (2 * T, 5 * T)
    assert crossover(graph) == 3 * T


def test_an_output_ends_in_memory_however_large_the_cache():
    training = chain(("dropout", "relu"), (4, 8), training=True)
    assert residency(training, 1e9).main == T + T + 32


def test_seconds_add_both_ways():
    """The first op reads from memory and writes to the cache, the second does neither, the last the reverse."""
    assert residency(THREE, 2 * T).seconds(64.0, 256.0) == pytest.approx((1.25, 0.5, 1.25))


def test_one_op_has_no_intermediate():
    assert crossover(chain(("relu",), (4, 8))) == 0
