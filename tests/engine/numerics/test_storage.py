"""Bytes by format, by hand and against arrays that are really stored so; intervals against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from ironlaw.engine.device.stored_weights import quantised
from ironlaw.engine.numerics.shares import trials_needed, wilson
from ironlaw.engine.numerics.storage import bitmap_bytes, csr_breakeven, csr_bytes, low_rank_bytes, nm_storage, pruned_macs, stored_bits
from ironlaw.errors import BadValue
from ironlaw.registry.workloads import workload


def test_two_of_four_by_hand():
    assert [nm_storage(2, 4, bits) for bits in (16, 8, 4)] == [0.5625, 0.625, 0.75]
    assert nm_storage(4, 4, 16) == 1.125  # all kept, and still their places
    assert nm_storage(1, 1, 8) == 1.0
    assert nm_storage(1, 3, 8) == 10 / 24  # a place among three takes two bits
    assert nm_storage(1, 2, 1) == 1.0  # a sign and its place


def test_scales_cost_bits():
    assert stored_bits(4, 128, 16, 16) == 4.25
    assert stored_bits(8) == 8
    assert stored_bits(4, 32) == stored_bits(4, 32, 16) == 4.5
    assert stored_bits(1, 16, 0, 0) == 1  # signs alone


def test_where_compressed_rows_pay():
    assert csr_breakeven(32, 32) == 0.5
    assert csr_breakeven(8, 32) == pytest.approx(0.8)
    assert csr_breakeven(8, 16) == pytest.approx(2 / 3)
    assert csr_breakeven(8, 32, 1024) == pytest.approx(0.801, abs=5e-4)  # row pointers come on top
    assert csr_breakeven(8, 32, 64) == pytest.approx(0.8125)
    assert csr_breakeven(8, 32, 1) == 1.6  # a pointer for each value: never
    assert csr_breakeven(1, 0) == 0  # no columns and no rows to tell: whatever is left out is saved
    assert csr_breakeven(8) == csr_breakeven(8, 32) and csr_bytes(3, 5, 8) == 5 * (1 + 4) + 4 * 4


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
def test_compressed_rows_are_as_large_as_scipys(rows, columns, share):
    dense = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
    dense[dense < share] = 0
    stored = sparse.csr_matrix(dense)
    real = stored.data.nbytes + stored.indices.astype(np.int32).nbytes + stored.indptr.astype(np.int32).nbytes
    assert csr_bytes(rows, stored.nnz, 32, 32) == real
    assert bitmap_bytes(dense.size, stored.nnz, 32) == pytest.approx(dense.size / 8 + stored.data.nbytes)


@given(st.sampled_from([8, 16, 32]), st.sampled_from([8, 16, 32]), st.integers(64, 4096), st.floats(0.01, 0.1))
def test_the_break_even_parts_smaller_from_larger(value, index, columns, off):
    rows, share = 1000, csr_breakeven(value, index, columns)
    dense = rows * columns * value / 8

    def size(zeros):
        return csr_bytes(rows, (1 - zeros) * rows * columns, value, index) - 4.0  # one pointer more than rows

    assert size(share) == pytest.approx(dense)
    assert size(share + off) < dense < size(share - off)


def test_low_rank_and_narrow_layers_by_hand():
    assert low_rank_bytes(1024, 1024, 64) == low_rank_bytes(1024, 1024, 64, 32) == 2 * 1024 * 64 * 4
    assert [pruned_macs(0.5), pruned_macs(0.5, inner=False), pruned_macs(0.0)] == [0.25, 0.5, 1.0]
    assert pruned_macs(1.0) == 0


def test_llama_in_int4_is_not_four_gigabytes():
    """Groups of 128 with a scale and a zero of 16 bits, embedding and head in FP16: 5.81 GB, as the graph of stored weights has it."""
    plain = workload("llama3_8b")
    embedding, norms = 128256 * 4096, (2 * 32 + 1) * 4096
    narrow = (plain.params - 2 * embedding - norms) * stored_bits(4, 128, 16, 16) / 8
    by_hand = narrow + (2 * embedding + norms) * 2
    assert by_hand == pytest.approx(5.809e9, rel=2e-4)
    head = embedding * (2 - stored_bits(4, 128, 16, 16) / 8)  # the graph stores the head in INT4 too
    assert quantised(plain, "int4").weight_bytes + head - by_hand == 64 * 2  # the frequencies of the rotary embedding


@given(st.integers(0, 400), st.integers(1, 400), st.sampled_from([0.9, 0.95, 0.99]))
def test_wilson_is_scipys(hits, trials, confidence):
    hits = min(hits, trials)
    reference = stats.binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    mine = wilson(hits, trials, confidence)
    assert (mine.low, mine.high, mine.value) == pytest.approx((reference.low, reference.high, hits / trials), abs=1e-9)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_so_many_trials_settle_it_and_fewer_do_not(share, floor):
    if abs(share - floor) < 0.01:
        return
    count = trials_needed(share, floor)
    enough, fewer = wilson(share * count, count), wilson(share * (count - 1), count - 1) if count > 1 else None
    assert not enough.low < floor - 1e-9 < floor + 1e-9 < enough.high
    assert fewer is None or (fewer.low <= floor + 1e-9 and floor - 1e-9 <= fewer.high)
    assert trials_needed(floor, floor) == math.inf


def test_one_trial_settles_what_is_impossible():
    """Against a floor of 0 or 1 one hit or miss is enough; all or nothing against one half takes z² = 3.84 trials."""
    assert trials_needed(0.5, 0.0) == trials_needed(0.5, 1.0) == trials_needed(0.0, 1.0) == 1
    assert trials_needed(1.0, 0.5) == trials_needed(0.0, 0.5) == 4
    assert wilson(4, 4).high == 1.0 and wilson(7, 7, 0.5).high <= 1.0


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: nm_storage(5, 4, 16), "at most all"),
        (lambda: nm_storage(0, 4, 16), "at least one"),
        (lambda: nm_storage(2, 4, 0), "of 0 bits"),
        (lambda: stored_bits(0), "no negative"),
        (lambda: stored_bits(4, -1), "no negative"),
        (lambda: stored_bits(4, 32, -1), "-1"),
        (lambda: stored_bits(4, 32, 16, -1), "-1"),
        (lambda: stored_bits(math.nan), "nan bits"),
        (lambda: nm_storage(2, math.inf, 16), "at most all"),
        (lambda: csr_breakeven(0), "above it"),
        (lambda: csr_breakeven(8, 32, 0), "above it"),
        (lambda: csr_breakeven(8, -1), "none below 0"),
        (lambda: pruned_macs(1.5), "between 0 and 1"),
        (lambda: wilson(3, 2), "no more hits"),
        (lambda: wilson(0, 0), "at least one trial"),
        (lambda: wilson(1, 2, 1.0), "between 0 and 1"),
        (lambda: wilson(1, 2, 0.0), "such as 0.95"),
        (lambda: trials_needed(1.2, 0.5), "between 0 and 1"),
        (lambda: trials_needed(0.5, 1.2), "between 0 and 1"),
    ],
)
def test_nonsense_is_refused(ask, says):
    with pytest.raises(BadValue, match=says):
        ask()


@pytest.mark.parametrize(
    ("ask", "field"),
    [(lambda: pruned_macs(1.5), "share"), (lambda: wilson(1, 2, 2.0), "confidence")],
)
def test_the_setting_that_is_refused_is_named(ask, field):
    with pytest.raises(BadValue) as refused:
        ask()
    assert refused.value.field == field
