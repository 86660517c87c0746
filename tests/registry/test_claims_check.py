"""`ironlaw claims --check`: words, expectations and rows agree today, and each way to disagree is reported with its place."""

from dataclasses import replace

import pytest

from ironlaw.backends.rows import Row
from ironlaw.claims import Claim, claim, claims, problems, reading, readings, row

MODULE = "ironlaw.claims.reading"


def test_words_expectations_and_rows_agree():
    assert list(problems(claims().values())) == []


@pytest.fixture
def more_rows(monkeypatch):
    """Evidence with a row added to a file: `more_rows("h200_sxm/kernels", {…})`."""
    before = reading.evidence

    def add(name, data):
        new = Row.from_json(data)
        monkeypatch.setattr(
            f"{MODULE}.evidence", lambda slug: tuple(replace(e, rows=(*e.rows, new)) if e.name == name else e for e in before(slug))
        )
        readings.cache_clear()

    yield add
    readings.cache_clear()


def timed(mode, seconds, **params):
    params = {"shape": [16384, 8192], "dtype": "fp16"} | params
    return {"kind": "function", "name": "layernorm_dropout_relu", "params": params, "mode": mode, "kernels": 1, "busy_s": seconds}


def test_a_row_that_contradicts_the_words_is_reported(more_rows):
    """Another kernel of ours, twice as slow as a copy: our own claim no longer holds."""
    more_rows("h200_sxm/kernels", timed("triton", 2 * 0.000125793))
    (first, second) = problems([claim("three_op_own_kernel")])
    assert first.startswith("fusion.toml [three_op_own_kernel]: 2 readings say depends, the claim expects holds; read `why` again")
    assert "it is our own claim and depends" in second


def test_a_row_turns_a_verdict(more_rows):
    assert claim("three_op_fusion_5x").verdict == "refuted"
    more_rows("h200_sxm/kernels", timed("triton", 0.000573378 / 5.1))
    assert claim("three_op_fusion_5x").verdict == "depends"
    assert any("say depends, the claim expects refuted" in problem for problem in problems([claim("three_op_fusion_5x")]))


def test_a_row_with_another_premise_moves_the_premise(more_rows):
    """If the compiler made two kernels of a small tensor in BF16, the format would decide, and the words would have to say so."""
    assert list(problems([claim("divide_by_sum_small")])) == []
    shape = {"shape": [64, 64], "dtype": "bf16"}
    more_rows("h200_sxm/micro", {"kind": "function", "name": "normalize_by_sum", "params": shape, "mode": "compiled", "kernels": 2})
    (problem,) = problems([claim("divide_by_sum_small")])
    assert "it depends on shape, dtype, not on shape" in problem


def test_a_claim_that_no_row_measures_any_more(monkeypatch):
    (problem,) = problems([changed("three_op_own_kernel", sources=(replace_rows("three_op_own_kernel", kind="nothing"),))])
    assert "measured matches no row" in problem


def replace_rows(name, **fields):
    source = claim(name).sources[0]
    return replace(source, rows={role: {**wanted, **fields} for role, wanted in source.rows.items()})


def changed(name, **fields) -> Claim:
    return replace(claim(name), **fields)


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("a100_bandwidth", {"expected": "refuted"}, "the computed figures say holds, the claim expects refuted"),
        ("a100_bandwidth_gb", {"who": "ironlaw"}, "it is our own claim and refuted"),
        ("a100_bandwidth", {"reason": "It moves 2 TB/s."}, "`why` has '2' typed"),
        ("a100_bandwidth", {"reason": "It moves {{ rate }}."}, "no value for the slot rate"),
        ("a100_bandwidth", {"slots": {"rate": ("1", "B/s")}}, "no slot uses rate"),
        ("a100_bandwidth", {"facts": ("2 < 1",)}, "`why` relies on '2 < 1', which is not true"),
        ("a100_bandwidth", {"facts": ("nothing",)}, "cannot compute 'nothing'"),
        ("a100_bandwidth", {"says": "An A100 moves 3.5 TB/s."}, "`says` has '3.5'"),
        ("flash_wall_24x", {"on": ("dtype",)}, "it depends on s, causal, not on dtype"),
        ("flash_wall_24x", {"at": {"s": 7}}, "`at` picks none of 17 readings"),
    ],
)
def test_each_disagreement_is_reported_with_its_place(name, fields, words):
    faults = list(problems([changed(name, **fields)]))
    assert len(faults) == 1, faults
    assert words in faults[0] and faults[0].startswith(f"{claim(name).file} [{name}]")


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("It moves 2 TB/s.", False),
        ("It moves 2.0 TB/s.", False),
        ("It moves 2.1 TB/s.", True),
        ("An H100 on PCIe 5 and a ResNet-50 in FP16 at batch 1 have numbers in their names.", False),
        ("It moves 10¹² B/s.", True),
    ],
)
def test_numbers_of_a_sentence_are_those_it_is_computed_with(says, fault):
    assert bool(list(problems([changed("a100_bandwidth", says=says, source="")]))) == fault


@pytest.mark.parametrize("case", [{"nics_of_a_box": 1}, {"made": False, "algorithm": "three_level"}, {"retries": True}])
def test_a_premise_without_words_is_reported(case):
    assert any("has no words; add it to" in problem for problem in problems([changed("retries_multiply", cases=(case,))]))


# ---- what the rows say about claims that were wrong once, by hand


def times(file, **wanted):
    return row(f"h200_sxm/{file}", **wanted).value("busy_s")


def test_three_is_the_bound_of_the_model_only():
    """573 µs eager and 142 µs in one kernel; the model's least bytes give three."""
    bound = claim("three_op_fusion_bound")
    wanted = {"name": "layernorm_dropout_relu", "shape": [16384, 8192]}
    assert bound.measured.value == pytest.approx(times("kernels", mode="eager", **wanted) / times("kernels", mode="triton", **wanted))
    assert bound.measured.value == pytest.approx(573.378 / 141.7925) and bound.measured.value > 4
    assert bound.computed == pytest.approx(3)
    assert bound.verdict == "depends" and set(bound.judgement.premise.on) == {"shape", "fused"}
    assert "Triton" in bound.judgement.premise.holds and "1.79 times" in bound.why  # 480,985,856 / 268,435,456 bytes


def test_flash_attention_24_times_depends_on_mask_and_length():
    flash = claim("flash_wall_24x")
    assert flash.verdict == "depends" and set(flash.judgement.premise.on) == {"s", "causal"}
    assert flash.judgement.premise.unrecorded == {"causal": 6}
    assert "causal mask = on" in flash.judgement.premise.holds and "S ≥ 4,096" in flash.judgement.premise.holds
    assert "not recorded in 6 of 17 readings" in flash.judgement.sentence


def test_decode_leaves_the_embedding_where_it_is():
    """8,030,261,248 parameters, less 128,256 rows of 4,096 that are looked up, at two bytes and 4.8 TB/s."""
    assert claim("decode_weight_floor").computed == pytest.approx((8_030_261_248 - 128_256 * 4096) * 2 / 4.8e12)
    assert "4.48 ms" in claim("decode_weight_floor").why and "1.05 GB" in claim("decode_weight_floor").why


def test_one_kernel_or_more_depends_on_the_shape():
    small = claim("divide_by_sum_small")
    assert (small.verdict, small.judgement.premise.on, small.judgement.premise.holds) == ("depends", ("shape",), "1,024×768 or more")
    assert "cooperative launch" in small.why
    assert not any("can't wait" in c.reason for c in claims().values())


def test_the_cut_in_traffic_states_its_premise():
    cut = claim("flash_traffic_10_to_20x")
    assert set(cut.judgement.premise.on) == {"s", "d"} and not cut.judgement.measured
    assert "L2" in cut.why and "9.16×" in cut.why and "17×" in cut.why


def test_the_reading_to_quote_is_the_median_of_those_asked_for():
    one = changed("three_op_fusion_5x", at={"fused": "triton"})
    values = sorted(r.value for r in one.measured.readings if r.get("fused") == "triton")
    assert one.measured.value == values[(len(values) - 1) // 2] and len(values) == 4


def test_a_claim_without_rows_says_that_it_is_only_computed():
    alone = claim("h100_ridge_295")
    assert not alone.judgement.measured and alone.measured is None
    assert alone.judgement.sentence.startswith("We have computed this")


def test_rows_of_another_case_stand_beside_and_judge_nothing():
    beside = claim("kws_eager_utilization")
    assert beside.verdict == "holds" and not beside.judgement.measured
    assert beside.measured is not None and beside.measured.differs and not beside.within(beside.measured.value)
