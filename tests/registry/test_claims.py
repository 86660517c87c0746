"""Every claim computes, and its figures follow the registries. Readings, premises and the check have files of their own."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from in_groups import in_groups
from rates import unlabelled
from wording import faults

from ironlaw import claims as registry
from ironlaw.claims import NAMESPACE, PLAIN_UNITS, RELATIONS, VERDICTS, Claim, claim, claims, load, row
from ironlaw.claims.expressions import figure
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry.evidence import evidence
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.publications import publications, published
from ironlaw.registry.workloads import workload
from ironlaw.site.bundle import FITTED
from ironlaw.units import UNITS

ALL = list(claims().values())
each = in_groups("claim", ALL, lambda claim: claim.file)

# Their figure is a ratio in which the machine drops out, or no figure of the machine at all.
MACHINE_DROPS_OUT = {"three_op_fusion_5x", "three_op_fusion_bound", "three_op_own_kernel", "dscnn_fits", "half_the_bits_twice_the_speed"}


def test_there_are_claims_on_every_subject():
    assert len(ALL) >= 40
    assert {c.file for c in ALL} >= {f"{name}.toml" for name in ("dispatch", "fusion", "compilation", "roofline", "magnitude", "memory")}
    assert {c.verdict for c in ALL} == set(VERDICTS)
    assert {c.relation for c in ALL} == set(RELATIONS)


@each
def test_computes_to_a_number(claim: Claim):
    assert not math.isnan(claim.computed)
    if math.isinf(claim.computed):
        assert "never" in claim.why


@each
def test_says_who_and_where_from(claim: Claim):
    for text in (claim.says, claim.who, claim.source, claim.why):
        assert len(text) > 3
        assert text == text.strip()
    assert claim.says.endswith(".")
    assert re.fullmatch(r"\d{4}(-\d\d){0,2}", claim.date)
    assert claim.unit in UNITS or claim.unit in PLAIN_UNITS


@each
def test_reads_well_and_says_whose_words_they_are(claim: Claim):
    assert not [fault for text in (claim.says, claim.why, claim.judgement.sentence) for fault in faults(text)]
    assert unlabelled(claim.why) == []
    ours = re.fullmatch(r"(?:\".*\", )?(?:draft of .*|Lab [V\d].*|newest Lab .*)", claim.source) is not None
    assert not (ours and claim.who.startswith("common")), "nobody can look that up: say that the wording is ours"


@each
def test_readings_name_the_evidence_they_come_from(claim: Claim):
    known = {e.name for slug in ("h200_sxm", "neoverse_n1_2core") for e in evidence(slug)}
    known |= {f"{table.name}, {table.date}" for table in map(published, publications())}
    for line in claim.evidence:
        assert line.rpartition(": ")[0] in known - set(FITTED), "the site has no such evidence, and would say something else"
    if claim.measured:
        assert claim.evidence and not math.isnan(claim.measured.value)
        assert claim.measured.low <= claim.measured.value <= claim.measured.high


@pytest.mark.parametrize("claim", [c for c in ALL if "hardware(" in c.expression], ids=lambda c: c.id)
def test_figure_follows_the_machine(claim: Claim, monkeypatch: pytest.MonkeyPatch):
    before = claim.computed

    def changed(name: str):
        """Another machine of the same name: every figure by a factor of its own, and each machine by another."""
        h, k = hardware(name), 2.0 + machines().index(hardware(name).slug)
        levels = tuple(replace(lv, size=lv.size * (k + i), bandwidth=lv.bandwidth * (k + 2 * i)) for i, lv in enumerate(h.levels))
        return replace(
            h, peaks={f: p * k for f, p in h.peaks.items()}, bandwidth=h.bandwidth * k * 1.7, capacity=h.capacity * k,
            reserved=h.reserved * k, vector={f: p * k for f, p in h.vector.items()}, power=h.power * k**0.5,
            launch=h.launch * k * 1.3, levels=levels, calibration=None,
        )  # fmt: skip

    monkeypatch.setitem(NAMESPACE, "hardware", changed)
    assert (claim.computed == pytest.approx(before, rel=1e-6)) == (claim.id in MACHINE_DROPS_OUT)


def test_verdicts_turn_when_a_registry_figure_changes(monkeypatch: pytest.MonkeyPatch):
    doubled = replace(hardware("h100_sxm"), peaks={"fp16": 2 * hardware("h100_sxm").peak("fp16")})
    assert claim("h100_ridge_295").holds
    assert not claim("h100_ridge_591").holds
    monkeypatch.setitem(NAMESPACE, "hardware", lambda name: doubled)
    assert not claim("h100_ridge_295").holds
    assert claim("h100_ridge_591").holds


def test_a_figure_is_of_the_function_that_is_there_now():
    """Not of one that is gone and whose place in memory, and so its id, the next has taken."""
    for factor in range(1, 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(NAMESPACE, "hardware", lambda name, factor=factor: replace(hardware(name), peaks={"fp16": factor * 1e12}))
            assert figure('hardware("h100_sxm").peak("fp16")', "here", {}) == factor * 1e12


def test_figure_follows_the_workload(monkeypatch: pytest.MonkeyPatch):
    before = claim("resnet_parameters").computed
    monkeypatch.setitem(NAMESPACE, "workload", lambda name, **settings: workload(name, **settings | {"classes": 10}))
    assert before - claim("resnet_parameters").computed == 990 * (2048 + 1)


@pytest.mark.parametrize(
    ("relation", "upto", "inside", "outside"),
    [
        ("about", None, (90, 100, 110), (89, 111)),
        ("at least", None, (90, 1000, math.inf), (89, -math.inf)),
        ("at most", None, (-5, 0, 110), (111, math.inf)),
        ("between", 200, (90, 150, 220), (89, 221)),
    ],
)
def test_within(relation, upto, inside, outside):
    c = Claim("x", "", 100, "%", "", "", "", "0", 0.1, "holds", "", relation, upto)
    assert all(c.within(figure) for figure in inside)
    assert not any(c.within(figure) for figure in outside)


def test_tolerance_of_a_negative_value():
    c = Claim("x", "", -100, "%", "", "", "", "-105", 0.1, "holds", "")
    assert c.holds
    assert not c.within(100)


def test_claimed_reads_well():
    assert claim("launch_5_to_20_us").claimed == "5 µs to 20 µs"
    assert claim("pcie_to_hbm_60x").claimed == "at least 60×"
    assert claim("capacity_gap").claimed == "152,588×"
    assert claim("kws_eager_utilization").claimed == "33%"


def test_unknown_claim_names_the_nearest():
    with pytest.raises(UnknownName, match="kws_eager_utilization"):
        claim("kws_eager_utilisation")


GOOD = """
[a]
says = "S."
value = 1
unit = "%"
who = "w"
source = "s"
date = "2026"
expression = "1"
tolerance = 0.1
expected = "holds"
why = "y"
"""


def written(tmp_path: Path, text: str) -> list[Claim]:
    path = tmp_path / "some.toml"
    path.write_text(text)
    return list(load(path))


def test_a_good_file_loads(tmp_path: Path):
    (one,) = written(tmp_path, GOOD)
    assert (one.id, one.computed, one.holds, one.measured, one.file) == ("a", 1.0, True, None, "some.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('who = "w"', "", "no who"),
        ('who = "w"', 'who = " "', "no who"),
        ("[a]", "a = 1\n[b]", "no says"),
        ('why = "y"', 'why = "y"\nbecause = 1', "unknown key 'because'"),
        ('"holds"', '"true"', "expected is 'true'; choose one of holds, refuted, depends"),
        ('why = "y"', 'why = "y"\nrelation = "near"', "relation is 'near'"),
        ('why = "y"', 'why = "y"\nrelation = "between"', "upto"),
        ('why = "y"', 'why = "y"\nupto = 2', "upto"),
        ('unit = "%"', 'unit = "parsec"', "unknown unit 'parsec'"),
        ("tolerance = 0.1", "tolerance = -0.1", "tolerance"),
        ('expected = "holds"', 'expected = "depends"', "`on` and expected"),
        ('why = "y"', 'why = "y"\non = ["s"]', "`on` and expected"),
        ('why = "y"', 'why = "y"\nslots.n = "1"', "slots.n is '1'"),
        ('why = "y"', 'why = "y"\nmeasured = "b"', "measured names 'b'"),
        ('why = "y"', 'why = "y"\nmeasured = 3', "measured is 3"),
        ('why = "y"', 'why = "y"\n[[a.measured]]\nfigure = "1"', "measured has no rows"),
        ('why = "y"', 'why = "y"\n[[a.measured]]\nrows.x = { kind = "op" }', "measured has no figure"),
        ('why = "y"', 'why = "y"\n[[a.measured]]\nrows.x = { kind = "op" }\nfigure = "1"\nunit = "s"', "unknown key 'unit' of measured"),
        ('why = "y"', 'why = "y"\n[[a.measured]]\nrows.x = { kind = "op" }\nfigure = "1"\nrelation = "near"', "relation is 'near'"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(BadRegistry, match=r"some\.toml") as error:
        written(tmp_path, GOOD.replace(old, new))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "expression",
    [
        "1 +",
        "nothing_of_that_name",
        "1 / 0",
        "hardware('h900').power",
        "'text'",
        "__import__('os')",
        "hardware.__globals__",
        "open('f')",
        "().__class__",
    ],
)
def test_a_bad_expression_is_refused_with_its_place(tmp_path: Path, expression: str):
    (one,) = written(tmp_path, GOOD.replace('"1"', f'"{expression}"'))
    with pytest.raises(BadRegistry, match=r"some\.toml \[a\]"):
        _ = one.computed


def test_one_id_for_one_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(GOOD)
    monkeypatch.setattr(registry, "HERE", tmp_path)
    with pytest.raises(BadRegistry, match=r"two\.toml \[a\]: one\.toml has a claim of that id"):
        registry._files.__wrapped__()


def test_row_names_exactly_one():
    assert row("h200_sxm/models", workload="resnet50", batch=128, mode="eager").kernels == 383
    for wanted in ({"workload": "resnet50"}, {"workload": "resnet1000"}):
        with pytest.raises(BadRegistry, match="name one"):
            row("h200_sxm/models", **wanted)


def test_every_name_of_an_expression_is_defined_where_the_table_says():
    assert all(callable(NAMESPACE[name]) for name in NAMESPACE if name != "inf")


@pytest.mark.parametrize(
    "expression",
    [
        '[*(g := (g.gi_frame.f_back.f_back.f_globals for x in [1]))][0]["__builtins__"]["__import__"]("os").popen("id").read()',
        '"{0.__globals__}".format(chain)',
        '"{0.f_back}".format_map(chain)',
        "(x for x in [1]).gi_frame",
        "chain.__globals__",
        "chain.func_globals",
        '__import__("os")',
        "open('x')",
        "(lambda: (yield))()",
    ],
)
def test_an_expression_reaches_nothing_but_its_names(expression):
    with pytest.raises(BadRegistry, match="fix the expression"):
        registry.compute(expression, "here")
