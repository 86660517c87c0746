"""`ironlaw validate`: what it prints adds up, and its exit code is the verdict."""

import json
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import mean, median

import pytest
from compared_once import compared, gains_of

import ironlaw.compare
from ironlaw import claims
from ironlaw.cli import accuracy_history, validate
from ironlaw.compare import KINDS, Comparison, comparisons
from ironlaw.registry.evidence import measured
from ironlaw.systems.accuracy import measured_gains
from ironlaw.systems.accuracy.measured_gains import FIRST, gain_summaries

ROW = {"machine", "kind", "name", "mode", "predicted", "measured", "bound", "kernels", "measured_kernels", "source", "error", "bound_error"}


@cache
def gains():
    def kept(slug, timings):
        return [group for timing in timings for group in gains_of(slug, timing)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured_gains, "measured_gains", kept)
        return gain_summaries(measured())


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """All rows are compared once, in a second or two; each command then takes its part."""

    def part(machine="", kind=""):
        return iter([gap for gap in compared() if machine in ("", gap.machine) and kind in ("", gap.kind)])

    monkeypatch.setattr(ironlaw.compare, "comparisons", part)
    every = gains()
    monkeypatch.setattr(measured_gains, "gain_summaries", lambda slugs: {key: lines for key, lines in every.items() if key[0] in slugs})


@pytest.fixture
def told(sh):
    return sh.json("validate", "--kind", "model")


def test_json_of_everything(sh, monkeypatch):
    """Of the claims, every thirtieth: `claims --check` judges all."""
    some = dict(islice(claims.claims().items(), 0, None, 30))
    monkeypatch.setattr(claims, "claims", lambda: some)
    told = sh.json("validate")
    assert set(told) == {"schema", "ironlaw", "rows", "summary", "claims", "gains"}
    assert {row["machine"] for row in told["rows"]} == set(measured())
    assert {row["kind"] for row in told["rows"]} == set(KINDS)
    assert all(set(row) == ROW for row in told["rows"])
    assert {claim["id"] for claim in told["claims"]} == set(some)
    assert all(set(claim) == {"id", "claimed", "computed", "verdict", "agrees"} for claim in told["claims"])
    assert all(claim["agrees"] for claim in told["claims"])
    assert sum(line["count"] for line in told["summary"]) == len(told["rows"])


def test_the_summary_is_that_of_the_rows(told):
    assert len(told["summary"]) == 4  # two machines, eager and compiled
    for line in told["summary"]:
        rows = [r for r in told["rows"] if (r["machine"], f"model {r['mode']}") == (line["machine"], line["kind"])]
        errors = [r["predicted"] / r["measured"] - 1 for r in rows]
        assert [r["error"] for r in rows] == pytest.approx(errors)
        assert line["count"] == len(rows)
        assert line["mean"] == pytest.approx(mean(map(abs, errors)))
        assert line["median"] == pytest.approx(median(map(abs, errors)))
        assert line["bias"] == pytest.approx(mean(errors))
        assert abs(line["worst"]) == pytest.approx(max(map(abs, errors)))
        assert line["worst"] in [pytest.approx(e) for e in errors]
        assert line["bound"] == pytest.approx(mean(abs(r["bound"] / r["measured"] - 1) for r in rows))


def test_one_machine(sh):
    told = sh.json("validate", "--on", "neoverse_n1_2core")
    assert {row["machine"] for row in told["rows"]} == {"neoverse_n1_2core"}
    assert told["claims"] == []
    assert sh.json("validate", "--on", "H200", "--kind", "function")["rows"][0]["machine"] == "h200_sxm"  # an alias


def test_several_machines(sh):
    told = sh.json("validate", "--on", "neoverse_n1_2core,H200,h200_sxm", "--kind", "function")
    assert list(dict.fromkeys(row["machine"] for row in told["rows"])) == ["neoverse_n1_2core", "h200_sxm"]
    alone = [sh.json("validate", "--on", slug, "--kind", "function") for slug in ("neoverse_n1_2core", "h200_sxm")]
    for part in ("rows", "summary"):
        assert told[part] == [row for one in alone for row in one[part]]
    code, _, err = sh("validate", "--on", "h200,t4")
    assert code == 2 and "nothing was measured on t4" in err


def test_gains_alone(sh):
    told = sh.json("validate", "--kind", "gain")
    assert told["rows"] == [] == told["claims"] and {line["timed"] for line in told["gains"]} == {"by turns", "by turns, held out", "apart"}
    first = next(line for line in told["gains"] if (line["change"], line["timed"]) == (FIRST, "by turns"))
    assert f"{first['mean']:.1%}" in sh.out("validate", "--kind", "gain")


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind(sh, kind):
    told = sh.json("validate", "--kind", kind, "--on", "h200_sxm")
    assert {row["kind"] for row in told["rows"]} == {kind} and told["claims"] == []


@pytest.fixture
def few(monkeypatch):
    """Three claims that hold, two refuted and one that depends."""
    known = claims.claims().values()
    wanted = (("holds", 3), ("refuted", 2), ("depends", 1))
    chosen = [c for verdict, n in wanted for c in islice((c for c in known if c.verdict == verdict), n)]
    monkeypatch.setattr(claims, "claims", lambda: {c.id: c for c in chosen})
    return chosen


def test_claims_alone(sh, few):
    told = sh.json("validate", "--kind", "claim")
    assert (told["rows"], told["summary"]) == ([], [])
    assert [(c["id"], c["claimed"], c["verdict"], c["agrees"]) for c in told["claims"]] == [(c.id, c.value, c.verdict, True) for c in few]
    assert told["claims"][0]["computed"] == pytest.approx(few[0].value, rel=2 * few[0].tolerance + 1e-9)


def test_the_table_shows_rows_and_means(sh, few):
    out = sh.out("validate", "--on", "h200_sxm")
    assert "h200_sxm" in out and "Mean error" in out
    assert "resnet50 (batch 1)" in out and "343 of 344" in out
    assert "linear m=" not in out  # single ops are summed up
    assert "✓ every claim has the verdict its words were written for" in out
    assert "linear m=" in sh.out("validate", "--on", "h200_sxm", "--kind", "gemm")
    assert "matmul m=" in sh.out("validate", "--on", "neoverse_n1_2core", "--rows")


def test_one_machine_compared_afresh(sh, monkeypatch):
    monkeypatch.setattr(ironlaw.compare, "comparisons", comparisons)
    rows = sh.json("validate", "--on", "neoverse_n1_2core", "--kind", "model")["rows"]
    assert [row["name"] for row in rows] == [gap.name for gap in compared() if (gap.machine, gap.kind) == ("neoverse_n1_2core", "model")]


def test_claims_are_counted(sh, few):
    assert "6 claims judged: 3 hold, 2 refuted, 1 depend" in sh.out("validate", "--kind", "claim")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--on", "h900_sxm"), "no hardware 'h900_sxm'"),
        (("--on", "t4"), "nothing was measured on t4; machines with measurements: h200_sxm, neoverse_n1_2core"),
        (("--kind", "modles"), "no kind of row 'modles'; did you mean model"),
        (("--kind",), "expected one argument"),
        (("--of", "t4"), "no option"),
        (("extra",), "unexpected argument"),
    ],
)
def test_bad_values(sh, args, words):
    code, out, err = sh("validate", *args)
    assert (code, out) == (2, "")
    assert words in err


# ---- failing


def test_a_mean_error_beyond_the_limit_fails(sh, monkeypatch):
    assert sh("validate", "--kind", "model")[0] == 0
    monkeypatch.setattr(validate, "LIMIT", 0.05)
    code, out, err = sh("validate", "--kind", "model")
    assert (code, err) == (1, "")
    assert "✗ h200_sxm model compiled: mean error 5.4" in out
    assert "neoverse_n1_2core model" not in out.split("✗")[1]  # a bound is not held to it
    assert "model eager: mean error" not in out.split("✗", 1)[1]
    assert "✓" not in out
    code, out, _ = sh("validate", "--kind", "model", "--json")
    assert code == 1 and json.loads(out)["rows"]
    assert sh("validate", "--kind", "gemm", "--json")[0] == 0  # only whole models are held to it


def test_a_claim_that_turns_fails(sh, monkeypatch):
    known = claims.claims()
    turned = next(c for c in known.values() if c.verdict == "holds")
    depends = next(c for c in known.values() if c.verdict == "depends")
    changed = {c.id: c for c in (replace(turned, expected="refuted"), depends)}
    monkeypatch.setattr(claims, "claims", lambda: changed)
    code, out, _ = sh("validate", "--kind", "claim")
    assert code == 1
    assert f"✗ claim {turned.id} no longer has the verdict its words were written for" in out and depends.id not in out
    code, out, _ = sh("validate", "--kind", "claim", "--json")
    told = {claim["id"]: claim["agrees"] for claim in json.loads(out)["claims"]}
    assert code == 1 and told == {turned.id: False, depends.id: True}
    refuted = next(c for c in known.values() if c.verdict == "refuted")
    monkeypatch.setattr(claims, "claims", lambda: {refuted.id: replace(refuted, expected="holds")})
    assert sh("validate", "--kind", "claim")[0] == 1
    monkeypatch.setattr(claims, "claims", lambda: {refuted.id: refuted})
    assert sh("validate", "--kind", "claim")[0] == 0


# ---- the history

STORED = Path(__file__).parents[2] / accuracy_history.PLACE


def test_the_stored_history_is_of_this_engine_and_this_evidence():
    changed = accuracy_history.changes(
        accuracy_history.read(STORED), accuracy_history.accuracy(compared(), gains()), tolerance=0.0011
    )  # another processor may round otherwise
    assert not changed, "the accuracy has changed; run `ironlaw validate --history` and look at the difference:\n" + "\n".join(changed)


def test_the_stored_history_is_written_as_it_would_be():
    assert STORED.read_text() == accuracy_history.text(accuracy_history.read(STORED))


def gap(machine, kind, mode, error):
    return Comparison(machine, kind, "x", mode, 1.0 + error, 1.0, 0.5, 1.0, None, "here")


FEW = [gap("a", "model", "eager", 0.1), gap("a", "model", "eager", -0.3), gap("a", "model", "compiled", 0.0504),
       gap("b", "gemm", "eager", -0.5), gap("this_machine", "gemm", "eager", 9.0)]  # fmt: skip


def test_errors_by_machine_kind_and_mode():
    assert accuracy_history.accuracy(FEW) == {
        "a": {
            "model eager": {"count": 2, "mean": 0.2, "worst": -0.3, "bias": -0.1},
            "model compiled": {"count": 1, "mean": 0.05, "worst": 0.05, "bias": 0.05},
        },
        "b": {"gemm": {"count": 1, "mean": 0.5, "worst": -0.5, "bias": -0.5}},
    }


def test_what_has_changed():
    before = accuracy_history.accuracy(FEW)
    assert accuracy_history.changes(before, before) == []
    now = accuracy_history.accuracy([*FEW[1:3], gap("c", "conv", "eager", 0.1)])
    assert accuracy_history.changes(before, now) == [
        "a model eager: 2 rows, mean 20.0%, worst -30%, bias -10.0% → 1 rows, mean 30.0%, worst -30%, bias -30.0%",
        "b gemm: gone (1 rows, mean 50.0%, worst -50%, bias -50.0%)",
        "c conv: new (1 rows, mean 10.0%, worst +10%, bias +10.0%)",
    ]
    nearly = {"a": {"model eager": {"count": 2, "mean": 0.201, "worst": -0.3, "bias": -0.1}}}
    known = {"a": {"model eager": before["a"]["model eager"]}}
    assert len(accuracy_history.changes(known, nearly)) == 1 and accuracy_history.changes(known, nearly, tolerance=0.0011) == []


def test_the_history_is_compared_and_written(sh, tmp_path, monkeypatch, few):
    monkeypatch.chdir(tmp_path)
    code, out, err = sh("validate", "--history")
    assert (code, out) == (2, "") and "there is no folder docs for the history; run this in a checkout" in err
    (tmp_path / "docs").mkdir()
    assert "h200_sxm gemm: new (" in sh.out("validate", "--history")
    kept = (tmp_path / "docs" / "accuracy.json").read_text()
    assert kept == accuracy_history.text(accuracy_history.accuracy(compared(), gains()))
    assert "docs/accuracy.json: accuracy unchanged" in sh.out("validate", "--history")
    place = tmp_path / "mine.json"
    place.write_text(kept.replace('"count": ', '"count": 1'))
    assert any("gemm" in line for line in sh.json("validate", "--history", place)["changed"])
    assert place.read_text() == kept


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "is not a history of accuracy"),
        ("{", "is not a history"),
        ('{"machines": [1]}', "is no"),
        ('{"machines": {"t4": {"gemm": {"mean": "far"}}}}', "its figures are not where they should be"),
    ],
)
def test_a_damaged_history_is_not_written_over(sh, tmp_path, content, words, few):
    place = tmp_path / "accuracy.json"
    place.write_text(content)
    code, out, err = sh("validate", "--history", place)
    assert (code, out, place.read_text()) == (2, "", content) and words in err


def test_the_history_is_of_everything(sh):
    code, _, err = sh("validate", "--history", "--on", "h200")
    assert code == 2 and "--history covers everything" in err
