"""`ironlaw claims`: the verdict with its premise and the rows counted; `--check` exits with 1 where words and rows disagree."""

import json
from dataclasses import replace

import pytest

from ironlaw import claims as registry


def words(text: str) -> str:
    return " ".join(text.split())


def test_check_agrees_today(sh):
    code, out, err = sh("claims", "--check")
    assert (code, err) == (0, "")
    assert "✓" in out and f"{len(registry.claims())} claims" in out


def test_check_fails_with_the_place_and_the_reason(sh, monkeypatch):
    turned = replace(registry.claim("flash_wall_24x"), expected="refuted", on=())
    monkeypatch.setattr(registry, "claims", lambda: {turned.id: turned})
    code, out, _ = sh("claims", "--check")
    assert code == 1 and "✓" not in out
    assert "✗ fusion.toml [flash_wall_24x]: 17 readings say depends, the claim expects refuted; read `why` again" in words(out)
    code, out, _ = sh("claims", "--check", "--json")
    report = json.loads(out)
    assert code == 1 and report["claims"] == 1 and report["readings"] == 17 and len(report["problems"]) == 1


def test_check_covers_all(sh):
    code, out, err = sh("claims", "flash_wall_24x", "--check")
    assert (code, out) == (2, "") and "leave out the ID" in err


def test_one_claim_shows_verdict_premise_and_rows(sh):
    out = words(sh.out("claims", "flash_wall_24x"))
    assert "Depends on the sequence length and the causal mask" in out and "3 of 17 readings" in out
    assert "25.6×" in out and "h200_sxm/attention" in out and "✗" in out and "✓" in out


def test_one_that_is_only_computed_says_so(sh):
    assert "We have computed this" in words(sh.out("claims", "h100_ridge_295"))


def test_rows_that_judge_nothing_say_why(sh):
    assert "it does not decide the verdict. This is the real keyword spotter" in words(sh.out("claims", "kws_eager_utilization"))


def test_json_has_the_readings_with_their_premises(sh):
    one = sh.json("claims", "flash_wall_24x")
    assert one["judged_by"] == "rows" and one["verdict"] == "depends" and set(one["depends_on"]) == {"s", "causal"}
    agreeing = [r for r in one["readings"] if r["agrees"]]
    assert len(one["readings"]) == 17 and len(agreeing) == 3
    assert {"s": 8192, "causal": 1}.items() <= max(agreeing, key=lambda r: r["premises"]["s"])["premises"].items()
    assert one["measured"]["value"] == pytest.approx(88.2094 / 3.43916, rel=1e-4)
    assert sh.json("claims", "h100_ridge_295")["judged_by"] == "computed"


def test_a_figure_that_is_never_reached_stays_valid_json(sh):
    one = sh.json("claims", "compiling_always_pays")
    assert one["computed"] == "never" and one["measured"]["high"] == "never"
