"""Registry files -> values: names as people type them, figures with their sources, and what a bad file is told."""

import pytest

from ironlaw.engine.device.machine import Figure
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import figure, folder, normal, quantity, read, slugs

GOOD = {"value": "80 GB", "source": "a datasheet", "date": "2026-11"}


@pytest.mark.parametrize("typed", ["h100_sxm", "H100-SXM", "h100 sxm", " H100_Sxm ", "h100--sxm", "h100 _ sxm"])
def test_names_are_read_as_people_type_them(typed):
    assert normal(typed) == "h100_sxm"


def test_a_name_may_be_anything():
    assert normal(100) == "100"
    assert normal("") == ""


@pytest.mark.parametrize("kind", ["hardware", "workload"])
def test_the_folder_is_the_registry(kind):
    assert slugs(kind) == tuple(sorted(slugs(kind)))
    assert set(slugs(kind)) == {path.name.removesuffix(".toml") for path in folder(kind).iterdir() if path.name.endswith(".toml")}
    assert all(normal(slug) == slug for slug in slugs(kind))


def test_a_figure_carries_its_source():
    assert figure("here", GOOD, "B") == Figure(80e9, "B", "a datasheet", "2026-11")
    found = figure("here", GOOD | {"value": "989 TFLOP/s", "estimate": True, "why": "measured by us"}, "FLOP/s", "fp16")
    assert found == Figure(989e12, "FLOP/s", "a datasheet", "2026-11", "fp16", True, "measured by us")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("80 GB", r"h\.toml \[memory\] is '80 GB'; write a table with value, source and date"),
        (80, r"h\.toml \[memory\] is 80; write a table"),
        ({k: v for k, v in GOOD.items() if k != "value"}, r"h\.toml \[memory\] has no value; add `value = …` there"),
        ({k: v for k, v in GOOD.items() if k != "source"}, r"h\.toml \[memory\] has no source; add `source = …` there \(every figure"),
        ({k: v for k, v in GOOD.items() if k != "date"}, r"h\.toml \[memory\] has no date; add `date = …`"),
        (GOOD | {"source": ""}, "has no source"),
        (GOOD | {"source": "  "}, "has no source"),
        (GOOD | {"estimate": True}, r"h\.toml \[memory\] is an estimate without a reason; add `why = …` there"),
        (GOOD | {"estimate": True, "why": ""}, "add `why"),
        (GOOD | {"value": "80 GX"}, r"h\.toml \[memory\]: unknown unit 'GX' in '80 GX'; units are"),
        (GOOD | {"value": "80 GB/s"}, r"h\.toml \[memory\]: '80 GB/s' is in B/s, but B is expected here"),
        (GOOD | {"value": "NaN GB"}, r"h\.toml \[memory\]: cannot read 'NaN GB' as a figure; write a number and a unit"),
        (GOOD | {"value": "many GB"}, "cannot read 'many GB'"),
        (GOOD | {"value": "1e999 GB"}, "not a finite number; give a finite one"),
        (GOOD | {"value": float("nan")}, r"nan has no unit; write it as text with its unit, such as '80 GB'"),
        (GOOD | {"value": 80e9}, r"80000000000\.0 has no unit; write it as text"),
        (GOOD | {"value": "-80 GB"}, r"h\.toml \[memory\]: '-80 GB' must be above 0"),
        (GOOD | {"value": "0 GB"}, "'0 GB' must be above 0"),
    ],
)
def test_a_bad_figure_is_refused_with_its_place_and_the_next_step(table, told):
    with pytest.raises(BadRegistry, match=told):
        figure("h.toml [memory]", table, "B")


def test_an_unknown_number_format():
    with pytest.raises(BadRegistry, match=r"h\.toml \[peak\.fp17\]: unknown number format 'fp17'; known: fp64, fp32"):
        figure("h.toml [peak.fp17]", GOOD | {"value": "1 TFLOP/s"}, "FLOP/s", "fp17")


def test_text_without_a_unit():
    with pytest.raises(BadRegistry, match="no unit"):
        figure("h.toml [memory]", GOOD | {"value": "80"}, "B")


def test_quantity():
    assert quantity("here", "50 MiB", "B") == 50 * 2**20
    assert quantity("here", "10 us", "s") == 1e-5


def test_a_syntax_error_names_the_file_and_line(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text('name = "x"\nvalue = = 3\n')
    with pytest.raises(BadRegistry, match=r"broken\.toml: .*line 2.*; fix the TOML there"):
        read(path)
    path.write_text('name = "x"\n')
    assert read(path) == {"name": "x"}
