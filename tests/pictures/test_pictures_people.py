"""A hundred people of each group: bars to scale, what a rate divides stands together and is lit."""

import itertools

import pytest

from ironlaw.errors import UnknownName
from ironlaw.pictures.people_picture import WHOM, Kinds, people
from ironlaw.registry.scored_groups import groups

KINDS = Kinds(fn="missed", tp="rightly flagged", fp="wrongly flagged", tn="left alone")
TABLES = {group.name: group.at(5) for group in groups("compas")}


def bars(figure, row="Caucasian"):
    return [m for m in figure.to_dict()["marks"] if m["type"] == "bar" and m["y"] == row]


@pytest.mark.parametrize("rate", WHOM)
def test_what_a_rate_divides_is_lit_and_stands_together(rate):
    figure = people(TABLES, KINDS, "A hundred people", rate=rate)
    drawn = bars(figure)
    lit = [bool(bar.get("emphasis")) for bar in drawn]
    assert sum(lit) == 2 and sum(a != b for a, b in itertools.pairwise([False, *lit, False])) == 2
    ends = {bar["name"]: bar["x1"] - bar["x0"] for bar in drawn}
    part, rest = (ends[getattr(KINDS, kind)] for kind in WHOM[rate])
    assert part / (part + rest) == pytest.approx(getattr(TABLES["Caucasian"], rate))
    label = next(m["label"] for m in figure.to_dict()["marks"] if m.get("id") == "Caucasian-rate")
    assert label == f"{100 * getattr(TABLES['Caucasian'], rate):.3g}%" and label in figure.text


def test_a_bar_is_a_hundred_people_whoever_is_lit():
    figure = people(TABLES, KINDS, "A hundred people")
    assert not [m for m in figure.marks if m.type == "label"] and not any(bar.get("emphasis") for bar in bars(figure))
    assert bars(figure)[0]["x0"] == 0 and bars(figure)[-1]["x1"] == pytest.approx(100)
    assert [bool(bar.get("pattern")) for bar in bars(figure)] == [True, False, False, True]
    assert len(figure.table.rows) == 8 and [item["label"] for item in figure.legend] == list(vars_of(KINDS))


def vars_of(kinds):
    return (kinds.fn, kinds.tp, kinds.fp, kinds.tn)


def test_nobody_flagged_has_no_precision():
    figure = people({"all": groups("compas")[0].at(11)}, KINDS, "Nobody", rate="ppv")
    assert [bar["name"] for bar in bars(figure, "all")] == ["missed", "left alone"] and "of those lit: –" in figure.text
    with pytest.raises(UnknownName, match="ppv"):
        people(TABLES, KINDS, "A hundred people", rate="accuracy")
