"""`ironlaw slo`: the example, the key of five green services, promises on both sides, and bad designs."""

import json

import pytest

from ironlaw.cli.slo import DESIGN

FIVE = '[promise]\nwithin = "500 ms"\n' + "".join(f'[[service]]\nname = "s{i}"\np99 = "100 ms"\n' for i in range(5))


@pytest.fixture
def design(tmp_path):
    def write(text: str = DESIGN, old: str = "", new: str = "") -> str:
        assert old in text
        place = tmp_path / "design.toml"
        place.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        return str(place)

    return write


def test_the_example_is_a_design(sh, design):
    assert sh.out("slo", "--example") == DESIGN
    told = sh.json("slo", design())
    assert told["met"] and told["independent_s"] < told["latency_s"] < told["together_s"] == pytest.approx(
        told["sum_of_quantiles_s"], rel=1e-3
    )
    assert {row["name"]: row["hedge_load"] for row in told["services"]} == {"gateway": 0, "retrieval": pytest.approx(0.05), "model": 0}
    out = " ".join(sh.out("slo", design()).split())
    assert "P99 within 500 ms is met" in out and "it dies down" in out and "2.2 h of downtime per year" in out and "2 × 150 ms" in out


def test_five_green_services(sh, design):
    told = sh.json("slo", design(FIVE))
    assert told["latency_s"] == pytest.approx(0.25199, abs=2e-5) and told["over"] == pytest.approx(1.4036e-6, rel=2e-3)
    assert told["sum_of_quantiles_s"] == pytest.approx(0.5) == told["together_s"] and told["storm"] is None
    assert told["services"][0]["without_s"] == pytest.approx(0.2182, abs=2e-4) and told["availability"] == 1
    assert "1.4e-06 of all are later" in sh.out("slo", design(FIVE))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('within = "500 ms"', 'within = "300 ms"', "P99 within 300 ms is missed"),
        ("availability = 0.9995 ", "availability = 0.9999 ", "SLO of 0.9999 is missed"),
        ("budget = 0.2 ", "# ", "it keeps itself up: up to 0.667 retries per request"),
        ('timeout = "400 ms"', 'timeout = "50 ms"', "every retry timed out"),
    ],
)
def test_a_broken_promise_is_1(sh, design, old, new, words):
    code, out, _ = sh("slo", design(DESIGN, old, new))
    assert code == 1 and words in " ".join(out.split())
    told = json.loads(sh("slo", design(DESIGN, old, new), "--json")[1])
    assert told["met"] is False


def test_what_never_answers_has_no_percentile(sh, design):
    code, out, _ = sh("slo", design(DESIGN, 'timeout = "400 ms"', 'timeout = "5 ms"'), "--json")
    assert code == 1 and json.loads(out)["latency_s"] is None
    assert "P99 = never" in sh("slo", design(DESIGN, 'timeout = "400 ms"', 'timeout = "5 ms"'))[1]


def test_services_that_call_each_other_multiply(sh, design):
    two = DESIGN.replace("hedge = 0.95 ", 'timeout = "1 s"\nretries = 3 ')
    out = " ".join(sh("slo", design(two))[1].split())
    assert "one request becomes 12 attempts" in out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('p99 = "20 ms" ', "# ", 'p99 = "100 ms"'),
        ('law = "lognormal"', 'law = "normal"', "did you mean lognormal"),
        ("hedge = 0.95", "hedge = 0.2", "from 0.5"),
        ('timeout = "400 ms"', "", "no timeout"),
        ("quantile = 0.99", "quantile = 1.0", "between 0 and 1"),
        ("quantile = 0.99", "quantile = 0.999999999999999", "at most 0.999999999"),
        ("quantile = 0.99", "quantile = 1e-20", "at least 0.000001"),
        ('p99 = "20 ms" ', 'p99 = "20 MB" ', "is in B"),
        ("calls = 2 ", "calls = 200 ", "give fewer"),
        ("replicas = 2", "replicas = 2\nneeded = 3", "no more than there are"),
        ('name = "model"', "name = 7", "not a name"),
        ("[promise]", "[promises]", "did you mean promise"),
        ("dependence = 0.2", "dependence = 2", "not a share"),
        ("retries = 2", "retries = -1", "whole number"),
        ("common = 0.05", 'common = "x%"', "not a share"),
        ("[together]", "[[together]]", "no table [together]"),
    ],
)
def test_a_bad_design_is_refused_by_name(sh, design, old, new, words):
    code, out, err = sh("slo", design(DESIGN, old, new))
    assert (code, out) == (2, "") and words in err


def test_a_design_without_services(sh, design):
    code, _, err = sh("slo", design('[promise]\nwithin = "1 s"\n'))
    assert code == 2 and "[[service]]" in err
