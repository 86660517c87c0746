"""`ironlaw diff`: what changed, when it fails, and what it refuses to compare."""

import copy
import json

import pytest

import ironlaw as il

RESNET = ("predict", "resnet50", "--on", "h200,t4", "--mode", "eager,compiled")


@pytest.fixture
def kept(sh, tmp_path, monkeypatch):
    """Writes documents as files, and gives what `diff` says about them."""
    monkeypatch.chdir(tmp_path)

    def keep(*documents, more=()):
        for name, document in zip(("old.json", "new.json"), documents, strict=True):
            (tmp_path / name).write_text(document if isinstance(document, str) else json.dumps(document))
        return sh("diff", "old.json", "new.json", *more)

    return keep


@pytest.fixture(scope="module")
def document(request):
    import contextlib
    import io

    from ironlaw.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*RESNET, "--json"]) == 0
    return json.loads(out.getvalue())


def slower(document, factor, names=("conv1",), row=0):
    """One prediction whose operators of these names take `factor` times as long; the call takes what they add."""
    new = copy.deepcopy(document)
    p = new["predictions"][row]
    for op in p["ops"]:
        if op["name"] in names:
            p["seconds"] += (factor - 1) * op["seconds"]
            op["seconds"] *= factor
    return new


def test_a_change_is_laid_at_its_operator(kept, document):
    p = document["predictions"][2]
    conv = next(op["seconds"] for op in p["ops"] if op["name"] == "conv1")
    code, out, _ = kept(document, slower(document, 3.0, row=2), more=("--json", "--fail-over", "5%"))
    told = json.loads(out)
    assert code == 1 and told["failed"] and told["compares"] == "ironlaw-predict/1" and told["model"] == "resnet50"
    first, *rest = told["rows"]
    assert (first["hardware"], first["mode"], first["over"]) == ("t4", "eager", True)
    assert first["change"] == pytest.approx(2 * conv / p["seconds"]) and first["change"] > 0.05
    (op,) = first["operators"]
    assert (op["name"], op["count"]) == ("conv1", 1) and op["change_s"] == pytest.approx(2 * conv)
    assert len(rest) == 3 and all(row["change"] == 0 and not row["operators"] and not row["over"] for row in rest)


def test_the_limit_decides(kept, document):
    new = slower(document, 3.0, row=2)
    change = new["predictions"][2]["seconds"] / document["predictions"][2]["seconds"] - 1
    assert kept(document, new, more=("--fail-over", str(change * 1.01)))[0] == 0
    assert kept(document, new, more=("--fail-over", str(change * 0.99)))[0] == 1
    assert kept(document, new)[0] == 0, "without a limit nothing fails"
    assert kept(new, document, more=("--fail-over", "0"))[0] == 0, "a call that got faster never fails"
    code, out, _ = kept(document, document, more=("--fail-over", "0%"))
    assert code == 0 and "no time grew by more than 0%" in out


def test_what_no_longer_fits_fails_whatever_its_time(kept, document):
    new = copy.deepcopy(document)
    new["predictions"][0]["fits"] = False
    code, out, _ = kept(document, new, more=("--fail-over", "50%"))
    assert code == 1 and "1 no longer fits" in out and "does not fit" in out


def test_operators_that_came_and_went(kept, document):
    new = copy.deepcopy(document)
    ops = new["predictions"][0]["ops"]
    gone = ops.pop(0)
    ops.append({**gone, "name": "stem.a|b", "bytes": 2 * gone["bytes"]})
    code, out, _ = kept(document, new, more=("--json",))
    rows = {op["name"]: op for op in json.loads(out)["rows"][0]["operators"]}
    assert code == 0 and rows[gone["name"]]["new_s"] is None and rows["stem.a|b"]["old_s"] is None
    same = kept(document, new)[1]
    assert "stem.a|b" not in same and "Other operators take the same time on h200_sxm eager" in same
    new["predictions"][0]["seconds"] *= 1.01
    table = kept(document, new, more=("--markdown",))[1]
    assert "| stem.a\\|b |" in table, "a bar in a name does not end its cell"


def test_the_same_operators_are_shown_once(kept, document):
    one = copy.deepcopy(document)
    one["predictions"][2] = {**copy.deepcopy(one["predictions"][0]), "mode": "compiled"}
    one["predictions"] = one["predictions"][::2]
    both = slower(slower(one, 3.0, row=0), 3.0, row=1)
    out = kept(one, both)[1]
    assert out.count("of 1 operator that changed") == 1 and "h200_sxm eager, h200_sxm compiled" in " ".join(out.split())


def test_markdown_is_tables_that_github_draws(kept, document):
    code, out, _ = kept(document, slower(document, 3.0, row=2), more=("--markdown", "--fail-over", "5%", "--ops", "1"))
    lines = out.splitlines()
    assert code == 1 and lines[0] == "### resnet50: 1 of 4 times grew by more than 5%"
    assert lines[2] == "| machine and mode | before | after | change | memory |" and lines[3] == "|---|---:|---:|---:|---:|"
    assert lines[4].startswith("| t4 eager |") and "❌" in lines[4]
    assert out.count("<details>") == out.count("</details>") == 1
    assert all(line.count("|") == 6 for line in lines if line.startswith("| ") and "conv1" not in line)


def test_batches_are_rows_of_their_own(sh, kept):
    several = sh.json("predict", "resnet50", "--on", "h200", "--batch", "1,8")
    new = copy.deepcopy(several)
    new["variants"][1]["seconds"] *= 1.2
    code, out, _ = kept(several, new, more=("--json", "--fail-over", "10%"))
    rows = json.loads(out)["rows"]
    assert code == 1 and [(row["batch"], row["over"]) for row in rows] == [(8, True), (None, False)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d | {"schema": "ironlaw-predict/2"}, "has the schema 'ironlaw-predict/2'"),
        (lambda d: d | {"schema": "ironlaw-memory/1"}, "give what `predict --json` or `analyze --json` wrote"),
        (lambda d: d | {"workload": "resnet18"}, "two models: the old file is of resnet50, the new one of resnet18"),
        (lambda d: d | {"settings": {"batch": 8}}, "settings differ: batch 1"),
        (lambda d: d | {"predictions": d["predictions"][:2]}, "the new file has nothing for t4 eager; write both with the same --on"),
        (lambda d: d | {"predictions": d["predictions"][:2], "refused": [{"hardware": "t4", "reason": "no bf16"}]}, "t4 eager (no bf16)"),
        (lambda d: d | {"predictions": [{**p, "basis": "bound"} for p in d["predictions"]]}, "on different evidence can't be compared"),
        (lambda d: d | {"predictions": [{**p, "host": {**p["host"], "launch_s": 1.0}} for p in d["predictions"]]}, "the same --host and"),
        (lambda d: {"schema": "ironlaw-error/1", "error": {"message": "no workload 'x'"}}, "an error and no figures: no workload 'x'"),
        (lambda d: "[]", "new.json is JSON, but not an object"),
        (lambda d: "{", "new.json is not JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(kept, document, change, words):
    code, out, err = kept(document, change(copy.deepcopy(document)), more=("--fail-over", "5%"))
    assert (code, out) == (2, "") and words in err, err


def test_what_else_differs_is_said(kept, document):
    new = copy.deepcopy(document) | {"ironlaw": "9.9.9", "dtype": "bf16"}
    new["settings"]["dtype"] = "bf16"
    for p in new["predictions"]:
        p["ops"], p["sources"] = p["ops"][:3], ["elsewhere"]
    out = " ".join(kept(document, new)[1].split())
    assert "two versions of ironlaw" in out and "two number formats: fp16 and bf16" in out and "leave --ops out" in out
    assert "different sources" in out


def test_a_missing_file_names_itself(sh):
    code, _, err = sh("diff", "none.json", "none.json")
    assert code == 2 and "none.json can't be read" in err


def test_on_the_device_a_change_is_not_hidden_behind_the_host(kept, document):
    new = copy.deepcopy(document)
    for p in new["predictions"]:
        p["busy_s"] *= 1.2  # and the call takes no longer: its host is slower still
    assert kept(document, new, more=("--fail-over", "5%"))[0] == 0
    code, out, _ = kept(document, new, more=("--fail-over", "5%", "--on", "device", "--json"))
    told = json.loads(out)
    assert code == 1 and told["on"] == "device"
    assert [row["change"] for row in told["rows"]] == [pytest.approx(0.2)] * 4


def test_memory_has_a_limit_of_its_own(kept, document):
    most = max(p["memory"]["total"] for p in document["predictions"])
    assert kept(document, document, more=("--max-memory", f"{most / 1e6 + 1:.0f}MB"))[0] == 0
    code, out, _ = kept(document, document, more=("--max-memory", "1MB"))
    assert code == 1 and "4 of 4 rows need more than 1 MB" in out


def test_a_renamed_module_is_the_same_module(kept, document):
    new = slower(document, 2.0, ("layer1.0.conv1",))
    for p in new["predictions"]:
        for op in p["ops"]:
            op["name"] = op["name"].replace("layer1.", "stage1.")
    told = json.loads(kept(document, new, more=("--json",))[1])
    changed = [op for row in told["rows"] for op in row["operators"]]
    assert [(op["name"], op["count"]) for op in changed] == [("stage1.0.conv1 (was layer1.0.conv1)", 1)]
    assert any("another name" in note for note in told["notes"])


def test_python_says_the_same_of_files_and_of_predictions(kept, document):
    new = slower(document, 3.0, row=2)
    told = json.loads(kept(document, new, more=("--json", "--fail-over", "5%"))[1])
    asked = il.diff("old.json", "new.json", fail_over="5%")
    assert json.loads(json.dumps(asked.to_json())) == told and asked.failed
    assert il.diff(document, new, fail_over=0.05).rows == asked.rows
    assert "t4 eager" in repr(asked) and "<table" in asked._repr_html_()


def test_another_number_format_is_compared(kept, sh):
    half, full = (il.predictions("resnet50", on="t4", batch=8, dtype=dtype) for dtype in ("fp16", "fp32"))
    asked = il.diff(half, full, on="device")
    assert asked.rows[0].change > 0.5 and any("two number formats: fp16 and fp32" in note for note in asked.changes.notes)
    code, out, _ = kept(half.to_json(), full.to_json(), more=("--on", "device", "--fail-over", "5%"))
    assert code == 1 and "1 of 1 device time grew" in out
