"""What an analysis and a prediction show of themselves, and what they hand to others."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import ironlaw as il
from ironlaw.errors import BadValue, UnknownName
from ironlaw.report.analysis_text import SCHEMA

SCALARS = (str, int, float, bool, type(None))


@pytest.fixture(scope="module")
def analysis():
    return il.analyze(
        il.workload("resnet50", dtype="bf16"), on=["h200", "H200-SXM", il.hardware("a100_80gb_sxm"), "t4"], modes=["eager", "graphs"]
    )


def test_machines_by_name_list_or_value(analysis):
    assert [(p.hardware.slug, p.plan.mode) for p in analysis.predictions] == [
        ("h200_sxm", "eager"), ("h200_sxm", "graphs"), ("a100_80gb_sxm", "eager"), ("a100_80gb_sxm", "graphs"),
    ]  # fmt: skip
    assert "t4 has no bf16" in analysis.refused["t4"]
    for p in analysis.predictions:
        assert p.seconds == il.predict(il.workload("resnet50", dtype="bf16"), p.hardware, p.plan).seconds
    assert il.analyze(il.workload("gpt2"), on="t4").compiling["t4"].predicted


def test_what_it_refuses():
    with pytest.raises(BadValue, match="t4 has no bf16"):
        il.analyze(il.workload("resnet50", dtype="bf16"), on="t4")
    with pytest.raises(UnknownName, match="h900"):
        il.analyze(il.workload("resnet50"), on="h200, h900")
    with pytest.raises(BadValue, match="no machine or no mode"):
        il.analyze(il.workload("resnet50"), on=[])


def test_who_launches_is_taken():
    a, b = (il.analyze(il.workload("resnet50"), on="h200", modes=["eager"], launch=cost) for cost in (1e-6, 1e-4))
    assert b.predictions[0].host_s > 50 * a.predictions[0].host_s


def test_it_prints_as_a_few_lines(analysis):
    lines = repr(analysis).splitlines()
    assert len(lines) == 6 and max(map(len, lines)) < 200 and "resnet50: 174 operators" in lines[0]
    assert "h200_sxm" in lines[1] and "likely" in lines[1] and "t4  refused" in lines[5]
    assert len(repr(analysis.predictions[0]).splitlines()) == 1


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.cells = [], 0

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(("what", "cells"), [(lambda a: a, 4 * 8), (lambda a: a.predictions[0], 7)])
def test_notebooks_get_a_table(analysis, what, cells):
    tags = Tags()
    tags.feed(what(analysis)._repr_html_())
    assert not tags.open and tags.cells >= cells


def test_records_are_flat_and_alike(analysis):
    for records in (analysis.to_records(), analysis.predictions[0].to_records()):
        assert len({tuple(record) for record in records}) == 1
        assert all(isinstance(value, SCALARS) for record in records for value in record.values())
    p = analysis.predictions[0]
    first = analysis.to_records()[0]
    assert (first["seconds"], first["low_s"], first["high_s"]) == (p.seconds, *p.interval)
    rows = p.to_records()
    assert [row["name"] for row in rows] == [op.name for op in p.graph.ops]
    assert sum(row["seconds"] for row in rows) == pytest.approx(p.busy_s)


def test_a_bound_has_no_ends():
    record = il.predict(il.workload("resnet50"), il.hardware("h200"), il.Plan(calibrated=False)).to_record()
    assert record["low_s"] is None and record["high_s"] is None and record["figures"] == "bound"


def test_to_dict_is_json(analysis):
    out = analysis.to_dict(ops=2)
    assert json.loads(json.dumps(out)) == out and out["schema"] == SCHEMA
    assert [len(p["ops"]) for p in out["predictions"]] == [2] * 4 and out["refused"][0]["hardware"] == "t4"


def test_editors_see_the_types():
    from importlib.resources import files

    assert (files("ironlaw") / "py.typed").is_file()
    assert il.analyze.__annotations__["return"] == "Analysis"


def test_like_operators_of_layers_and_of_calls_are_one_line():
    from ironlaw.engine.device.chains import chain
    from ironlaw.report.report_layers import places

    ops = [
        replace(one, name=name)
        for one, name in zip(
            chain(("relu",) * 5, (64, 64), "fp16").ops, ["a.0.relu", "a.1.relu", "stage_2.relu", "head.relu", "head.relu.2"], strict=True
        )
    ]
    p = il.predict(replace(chain(("relu",) * 5, (64, 64), "fp16"), ops=tuple(ops)), il.hardware("h200"))
    assert {place.name: place.count for place in places(p)} == {"a.*.relu": 2, "stage_*.relu": 1, "head.relu": 2}


def test_a_long_name_is_broken_after_a_dot_or_an_underscore():
    from ironlaw.cli.show.plain import in_parts

    name = "backbone.multi_scale_deformable_attention_stage.projection.addmm"
    lines = in_parts(name, 24).split("\n")
    assert "".join(lines) == name and max(map(len, lines)) <= 24 and all(line[-1] in "._" for line in lines[:-1])
    assert in_parts("head.addmm", 24) == "head.addmm"
