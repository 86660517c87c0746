"""`ironlaw class report`, through `main(argv)`: where it reads and writes, what it refuses, and what the names become."""

import json
import os
import re

import pytest
from described import json_is_described  # noqa: F401
from made_class import Plan, events, export, hand_in, plan, renamed, text

from ironlaw.classroom import hand_in_file, hand_ins
from ironlaw.classroom.class_tables import TABLES, safe
from ironlaw.cli import main

EVIL = '=HYPERLINK("http://evil","<script>alert(1)</script>")'


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def command(*argv):
        code = main(["class", *map(str, argv)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and err.count("\n") <= 1
        return code, out, err

    return command


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "handed-in"
    hand_in(place, 3)
    return place


def test_the_report_is_written_and_says_where(run, folder, tmp_path):
    code, out, err = run("report", "handed-in")
    assert code == 0 and not err and "3 learners in 24 files" in out and "edited-answer.json" in out
    written = {path.name for path in (tmp_path / "class-report").iterdir()}
    assert written == {"report.html", *TABLES}
    if os.name == "posix":
        assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "class-report").iterdir())
    assert run("report", "handed-in")[0] == 0  # a report replaces a report
    page = (tmp_path / "class-report" / "report.html").read_text(encoding="utf-8")
    assert "Nothing can be said with 3 learners" in page and "read the percentages below as anecdotes" in page


def test_json_writes_no_file_unless_told_to(run, folder, tmp_path):
    code, out, _ = run("report", "handed-in", "--json")
    figures = json.loads(out)
    assert code == 0 and len(figures["learners"]) == 3 and len(figures["refused"]) == 21
    assert figures["questions"][0]["n"] == 3 and not (tmp_path / "class-report").exists()
    assert run("report", "handed-in", "--json", "--out", "there")[0] == 0 and (tmp_path / "there" / "items.csv").exists()


def test_a_report_inside_the_folder_is_not_read_as_a_hand_in(run, folder):
    for _ in range(2):
        assert "3 learners in 24 files" in run("report", "handed-in", "--out", "handed-in/report")[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "ironlaw class report FOLDER"),
        (("grade", "handed-in"), "no act of `ironlaw class` 'grade'"),
        (("report",), "which folder holds"),
        (("report", "nowhere"), "there is no folder nowhere"),
        (("report", "file.txt"), "file.txt is a file"),
        (("report", "empty"), "no files in empty"),
        (("report", "hopeless"), "none of the 2 files in hopeless is a ledger"),
        (("report", "handed-in", "--out", "file.txt"), "file.txt is a file"),
        (("report", "handed-in", "--out", "file.txt/report"), "can't be written"),
        (("report", "handed-in", "--out", "handed-in"), "holds the files that were handed in"),
        (("report", "handed-in", "--out", "taken"), "is something else"),
        (("report", "handed-in", "--idle", "0"), "out of range"),
        (("report", "handed-in", "--key", "file.txt"), "is not a key"),
        (("report", "handed-in", "--key", "none/key"), "no folder"),
    ],
)
def test_bad_input_is_refused_with_a_next_step(run, folder, tmp_path, argv, words):
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "hopeless").mkdir()
    (tmp_path / "hopeless" / "a.json").write_text("{}")
    (tmp_path / "hopeless" / "b.json").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "items.csv").write_text("my,own,table\n")
    code, out, err = run(*argv)
    assert code == 2 and not out and words in err
    assert (tmp_path / "taken" / "items.csv").read_text() == "my,own,table\n"


def test_a_huge_file_and_a_huge_folder_are_refused(run, folder, monkeypatch):
    monkeypatch.setattr(hand_in_file, "LARGEST", 1000)
    error = json.loads(run("report", "handed-in", "--json")[1])["error"]["message"]
    assert error.startswith("none of the 24 files in handed-in is a ledger that can be counted")  # every one is larger
    monkeypatch.setattr(hand_in_file, "LARGEST", 20_000_000)
    monkeypatch.setattr(hand_ins, "MOST", 20)
    assert "more than 20 files" in run("report", "handed-in")[2]


def one_learner(folder, one: Plan, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{one.number}.json").write_text(text(export(renamed(one, name), events(renamed(one, name)))), encoding="utf-8")


def test_a_name_is_neither_a_formula_nor_markup(run, tmp_path):
    one_learner(tmp_path / "in", plan(1), EVIL)
    one_learner(tmp_path / "in", plan(2), "+1 (555) @SUM(A1)")
    assert run("report", "in")[0] == 0
    page = (tmp_path / "class-report" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    for path in (tmp_path / "class-report").glob("*.csv"):
        content = path.read_text(encoding="utf-8")
        assert not re.search(r'(^|,)"?\s*[=@+]', content, re.MULTILINE), path.name
    assert "\"'=HYPERLINK" in (tmp_path / "class-report" / "learners.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "＝1", "|calc"])
def test_a_cell_that_a_spreadsheet_would_run_is_quoted(cell):
    assert safe(cell).startswith("'")


def test_numbers_stay_numbers_and_words_stay_words():
    assert [safe(cell) for cell in (-1.5, -3, 0.1, True, None, "a=b", "Müller-Lüdenscheidt")] == [
        "-1.5", "-3", "0.1", "1", "", "a=b", "Müller-Lüdenscheidt",
    ]  # fmt: skip


def test_pseudonyms_leave_no_name_no_file_and_no_id(run, folder, tmp_path):
    code, out, _ = run("report", "handed-in", "--pseudonyms")
    assert code == 0 and "edited-answer.json" in out  # the terminal is the instructor's
    for path in (tmp_path / "class-report").iterdir():
        content = path.read_text(encoding="utf-8")
        for secret in ("Learner 0", "edited-answer", "_file", *(plan(number).learner for number in range(3))):
            assert secret not in content, (path.name, secret)
    learners = (tmp_path / "class-report" / "learners.csv").read_text(encoding="utf-8")
    assert len(set(re.findall(r"^learner [A-Z2-7]{4,}", learners, re.MULTILINE))) == 3


def test_a_kept_key_gives_the_same_pseudonyms_and_another_key_others(run, folder, tmp_path):
    def codes(*more):
        assert run("report", "handed-in", *more)[0] == 0
        return (tmp_path / "class-report" / "learners.csv").read_text(encoding="utf-8")

    first, again = codes("--key", "class.key"), codes("--key", "class.key")
    assert first == again and codes("--key", "other.key") != first and codes("--pseudonyms") != codes("--pseudonyms")
    assert (tmp_path / "class.key").read_text().startswith("ironlaw-class-key ")


def test_a_lab_that_is_not_here_and_one_with_an_odd_name_are_counted_under_their_names(run, tmp_path):
    from dataclasses import replace

    one = plan(1)
    odd = [replace(event, lab="../../etc") if event.lab == "lab_07_fusion" else event for event in events(one)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text(text(export(one, odd)))
    figures = json.loads(run("report", "in", "--json", "--out", "out")[1])
    assert {row["lab"] for row in figures["questions"]} == {"lab_01_magnitude", "../../etc"}
    assert "../../etc" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
