"""A hundred people of each group, drawn one by one: what a rate divides stands together and is lit."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.errors import UnknownName
from ironlaw.pictures.people_picture import WHOM, Kinds, people, whole
from ironlaw.registry.scored_groups import groups

KINDS = Kinds(fn="missed", tp="rightly flagged", fp="wrongly flagged", tn="left alone")
TABLES = {group.name: group.at(5) for group in groups("compas")}


def drawn_people(figure, row="Caucasian"):
    return [m for m in figure.to_dict()["marks"] if m["type"] == "cells" and m["y"] == row]


@pytest.mark.parametrize("rate", WHOM)
def test_what_a_rate_divides_is_lit_and_stands_together(rate):
    figure = people(TABLES, KINDS, "A hundred people", rate=rate)
    drawn = drawn_people(figure)
    lit = [bool(bar.get("emphasis")) for bar in drawn]
    assert sum(lit) == 2 and sum(a != b for a, b in itertools.pairwise([False, *lit, False])) == 2
    counts = {each["name"]: each["count"] for each in drawn}
    part, rest = (counts[getattr(KINDS, kind)] for kind in WHOM[rate])
    assert part / (part + rest) == pytest.approx(getattr(TABLES["Caucasian"], rate), abs=0.75 / (part + rest))  # whole people
    label = next(m["label"] for m in figure.to_dict()["marks"] if m.get("id") == "Caucasian-rate")
    assert label == f"{100 * getattr(TABLES['Caucasian'], rate):.3g}%" and label in figure.text


def test_there_are_a_hundred_people_whoever_is_lit():
    figure = people(TABLES, KINDS, "A hundred people")
    assert not [m for m in figure.marks if m.type == "label"] and not any(bar.get("emphasis") for bar in drawn_people(figure))
    starts = [(each.get("start", 0), each["count"]) for each in drawn_people(figure)]
    assert starts[0][0] == 0 and sum(count for _, count in starts) == 100
    assert all(a[0] + a[1] == b[0] for a, b in itertools.pairwise(starts))
    assert [bool(bar.get("hollow")) for bar in drawn_people(figure)] == [True, False, False, True]
    assert len(figure.table.rows) == 8 and [item["label"] for item in figure.legend] == list(vars_of(KINDS))


def vars_of(kinds):
    return (kinds.fn, kinds.tp, kinds.fp, kinds.tn)


def test_nobody_flagged_has_no_precision():
    figure = people({"all": groups("compas")[0].at(11)}, KINDS, "Nobody", rate="ppv")
    assert [bar["name"] for bar in drawn_people(figure, "all")] == ["missed", "left alone"] and "of those lit: –" in figure.text
    with pytest.raises(UnknownName, match="ppv"):
        people(TABLES, KINDS, "A hundred people", rate="accuracy")


@given(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(lambda parts: sum(parts) > 0.01))
def test_rounding_makes_a_hundred_and_moves_nobody_by_one(parts):
    shares = {str(i): 100 * part / sum(parts) for i, part in enumerate(parts)}
    counts = whole(shares)
    assert sum(counts.values()) == 100 and all(abs(counts[kind] - shares[kind]) < 1 for kind in shares)
