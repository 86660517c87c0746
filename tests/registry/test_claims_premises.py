"""The premise behind readings that disagree: the smallest set that tells them apart, against a search by brute force."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.claims import Reading
from ironlaw.claims.premises import find


def judged(*rows):
    """`(holds, premises)` pairs -> what `find` takes."""
    return [(Reading(1.0, premises, (premises.pop("file", "m/f"),)), holds) for holds, premises in rows]


def test_one_premise_is_enough():
    premise = find(judged((True, {"s": 8, "causal": 1}), (True, {"s": 4, "causal": 1}), (False, {"s": 8, "causal": 0})))
    assert premise.on == ("causal",) and premise.holds == "causal mask = on"


def test_a_threshold_is_found():
    premise = find(judged(*((s >= 4096, {"s": s}) for s in (512, 1024, 2048, 4096, 8192))))
    assert (premise.on, premise.holds) == (("s",), "4,096 or more")
    assert find(judged(*((s <= 1024, {"s": s}) for s in (512, 1024, 2048)))).holds == "1,024 or less"
    assert find(judged(*((n <= 1, {"nics": n}) for n in (1, 4, 8)))).holds == "1", "nothing lies below one of them"
    assert find(judged(*((s == 1024, {"s": s}) for s in (512, 1024, 2048)))).holds == "1,024"
    assert find(judged(*((512 < s < 4096, {"s": s}) for s in (512, 1024, 2048, 4096)))).holds == "1,024 to 2,048"


def test_shapes_are_put_in_order_by_their_elements():
    premise = find(judged((True, {"shape": (64, 64)}), (True, {"shape": (1024, 768)}), (False, {"shape": (4096, 512)})))
    assert premise.holds == "1,024×768 or less"


def test_two_premises_where_one_is_not_enough():
    premise = find(judged(*((s == 2 and c == 1, {"s": s, "causal": c, "d": 64}) for s in (1, 2) for c in (0, 1))))
    assert set(premise.on) == {"s", "causal"} and premise.also == ()
    assert premise.holds == "S ≥ 2, causal mask = on"


def test_premises_that_change_together_are_both_named():
    premise = find(judged((True, {"causal": 1, "clock": "busy_s"}), (False, {"causal": 0, "clock": "wall_s"})))
    assert premise.on == ("causal",) and premise.also == (("clock",),)  # what was run comes before how it was timed
    assert "can't tell this apart from the clock" in premise.sentence(2)


def test_a_premise_that_was_not_recorded_is_said_to_be_so():
    premise = find(judged((True, {"s": 8, "causal": 1}), (False, {"s": 8}), (False, {"s": 8})))
    assert premise.on == ("causal",)
    assert "The causal mask is not recorded in 2 of 3 readings" in premise.sentence(3)


def test_a_recorded_premise_comes_before_one_that_is_not():
    premise = find(judged((True, {"causal": 1, "clock": "busy_s"}), (False, {"clock": "wall_s"})))
    assert premise.on == ("clock",) and premise.also == (("causal",),)


def test_what_a_model_does_not_have_was_not_forgotten():
    rows = [(True, {"model": "gpt2", "seq": 1}), (False, {"model": "gpt2", "seq": 128}), (True, {"model": "resnet50"})]
    premise = find(judged(*rows))
    assert "not recorded" not in premise.sentence(3)


def test_only_the_file_differs():
    premise = find(judged((True, {"op": "add", "file": "m/a"}), (False, {"op": "add", "file": "m/b"})))
    assert (premise.on, premise.holds) == (("file",), "m/a")
    assert "something that differs between the files but was not recorded" in premise.sentence(2)


def test_nothing_differs():
    assert find(judged((True, {"op": "add"}), (False, {"op": "add"}))).on == ("file",)


def test_many_places_are_shortened():
    many = [(index != 7, {"model": f"m{index}"}) for index in range(12)]
    assert find(judged(*many)).holds == "all but m7"
    halves = [(index % 2 == 0, {"model": f"m{index}"}) for index in range(20)]
    assert find(judged(*halves)).holds.endswith("; and 5 more")


VALUES = st.fixed_dictionaries(
    {}, optional={"a": st.integers(1, 3), "b": st.sampled_from("xyz"), "c": st.integers(0, 1), "d": st.booleans()}
)


@given(st.lists(st.tuples(st.booleans(), VALUES), min_size=2, max_size=12))
def test_no_smaller_set_tells_them_apart(rows):
    verdicts = {holds for holds, _ in rows}
    if len(verdicts) < 2:
        return
    keys = sorted({key for _, premises in rows for key in premises})
    every = chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))

    def tells_apart(chosen):
        sides = [{tuple(p.get(k) for k in chosen) for holds, p in rows if holds == side} for side in (True, False)]
        return not sides[0] & sides[1]

    sizes = [len(chosen) for chosen in every if tells_apart(chosen)]
    premise = find(judged(*((holds, dict(p)) for holds, p in rows)))
    if sizes:
        assert len(premise.on) == min(sizes) and tells_apart(premise.on)
        assert all(tells_apart(keys) and len(keys) == min(sizes) for keys in premise.also)
    else:
        assert "file" in premise.on


@pytest.mark.parametrize("unhashable", [[1], {"k": 1}])
def test_premises_are_plain_values(unhashable):
    with pytest.raises(TypeError):
        find(judged((True, {"a": unhashable}), (False, {"a": 1})))


def test_values_have_words_and_units():
    told = find(judged((True, {"storage": 5e11}), (True, {"storage": 2e12}), (False, {"storage": 2e10}))).sentence(3)
    assert told == "Depends on the file system's bandwidth. It holds for 500 GB/s or more."
    rows = [(True, {"algorithm": "two_level", "made": True}), (False, {"algorithm": "ring", "made": True})]
    assert find(judged(*rows)).sentence(2) == "Depends on the algorithm. It holds for two levels."
    assert find(judged((True, {"common": 0.0}), (False, {"common": 0.1}), (False, {"common": 0.2}))).holds == "0%"
