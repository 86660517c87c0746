"""`ironlaw class assign` and `class check`: what is asked for, who has done it, and grades under each course system's own columns."""

import csv
import json
from datetime import timedelta

import pytest
from made_class import BEGIN, Plan, events, export, plan, text

from ironlaw.classroom import assignment, roster
from ironlaw.cli import main
from ironlaw.ledger.events import Event, utc
from ironlaw.recall.certificate_facts import issue

LAB = "lab_01_magnitude"
TOML = 'title = "Week 3"\nuntil = 2026-03-05T12:00:00+01:00\n[[lab]]\nname = "lab_01"\n[[lab]]\nname = "lab_07"\nacts = [1]\n'
EXPORTS = {
    "moodle": "First name,Last name,ID number,Email address,Assignment: other\nAda,Lovelace,17,ada@x.org,3\nGrace,Hopper,18,grace@x.org,\n"
    "=1+1,Evil,19,evil@x.org,\n",
    "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,Week 3 (991)\n    Points Possible,,,,,100\n"
    '"Lovelace, Ada",5501,s17,ada,A,\n"Hopper, Grace",5502,s18,grace,A,\n"Evil, =1+1",5503,s19,evil,A,\n',
    "blackboard": "Last Name\tFirst Name\tUsername\tStudent ID\nLovelace\tAda\tada\ts17\n"
    "Hopper\tGrace\tgrace\ts18\nEvil\t=1+1\tevil\ts19\n",
}
FILES = {"moodle": "Ada Lovelace_314_assignsubmission_file/ledger.json", "canvas": "lovelaceada_5501_77_ledger.json",
         "blackboard": "Week 3_ada_attempt_2026-03-01_ledger.json"}  # fmt: skip


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labs.toml").write_text(TOML)

    def command(*argv):
        code = main(["class", *map(str, argv)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, " ".join(out.split()), err

    assert command("assign", "labs.toml")[0] == 0
    return command


def learner(number: int, name: str, designed: bool = True, late: bool = False) -> dict:
    """Every question of both labs is answered on the first day; the design is saved then, or a week later."""
    one: Plan = plan(number)
    one.name = name
    listed = events(one)
    if designed:
        when = utc(BEGIN + timedelta(days=7 if late else 1))
        listed.append(Event(f"{number:08d}-0000-4000-8000-000000000000", one.learner, 1, LAB, 1, "design", {}, when))
    return export(one, listed)


def put(place, data: dict) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text(data), encoding="utf-8")


def done(place) -> list[dict[str, str]]:
    return list(csv.DictReader((place / "class-check" / "done.csv").open(encoding="utf-8-sig")))


@pytest.mark.parametrize("system", EXPORTS)
def test_grades_have_the_columns_that_the_course_system_imports(system, run, tmp_path):
    put(tmp_path / "in" / FILES[system], learner(1, "who knows"))  # by the name that the system gave the file
    put(tmp_path / "in" / "x1.json", learner(2, "Grace Hopper", late=True))  # by the name in the ledger
    put(tmp_path / "in" / "x2.json", learner(4, "Nobody"))
    (tmp_path / "book.csv").write_text(EXPORTS[system], encoding="utf-8")
    code, out, _ = run("check", "in", "--assignment", "assignment.json", "--roster", "book.csv", "--points", "30")
    assert code == 0 and "2 of 3 students have a grade" in out and "no student fits" in out and "2 of 3 have done all" in out
    rows = list(csv.reader((tmp_path / "class-check" / f"grades-{system}.csv").open(encoding="utf-8")))
    head = {"moodle": ["First name", "Last name", "ID number", "Email address", "Week 3"],
            "canvas": ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Week 3 (991)"],
            "blackboard": ["Last Name", "First Name", "Username", "Student ID", "Week 3"]}  # fmt: skip
    assert rows[0] == head[system] and (system != "canvas" or rows[1] == ["    Points Possible", "", "", "", "", "30"])
    assert [row[-1] for row in rows[-3:]] == ["30", "20", ""]  # three acts, one of them late; nothing handed in is no grade
    assert not any(cell.startswith("=") for row in rows for cell in row) and "=1+1" in str(rows[-1])
    [ada] = [
        row for row in csv.DictReader((tmp_path / "class-check" / "done.csv").open(encoding="utf-8-sig")) if row["learner"] == "who knows"
    ]
    assert ada[f"{LAB}_act2"].startswith("2026-03-03") and ada["lab_07_fusion_act1"] and ada["late"] == "" and ada["verified"] == "1"


def test_what_is_missing_is_open_and_a_right_answer_is_not_asked_for(run, tmp_path):
    put(tmp_path / "in" / "a.json", learner(3, "Ada", designed=False))  # Lab 01 alone, and no design
    code, out, _ = run("check", "in", "--assignment", "labs.toml")
    assert code == 0 and "Lab 01 Act I done, Act II open; Lab 07 Act I open" in out
    assert any(not answer[1] for (lab, _), answer in plan(3).answers.items() if lab == LAB)


def test_somebody_elses_name_and_two_ledgers_of_one_student_are_not_graded(run, tmp_path):
    put(tmp_path / "in" / "Week 3_ada_attempt_1.json", learner(1, "Grace Hopper"))
    put(tmp_path / "in" / "b1.json", learner(2, "grace"))
    put(tmp_path / "in" / "b2.json", learner(4, "Hopper, Grace"))
    (tmp_path / "book.csv").write_text(EXPORTS["blackboard"], encoding="utf-8")
    _, out, _ = run("check", "in", "--assignment", "assignment.json", "--roster", "book.csv")
    assert "0 of 3 students have a grade" in out and "another's" in out and out.count("several ledgers fit the same student") == 2


def test_certificates_are_verified_in_bulk(run, tmp_path):
    first, second = learner(1, "Ada"), learner(2, "Grace")
    put(tmp_path / "in" / "a.json", first)
    put(tmp_path / "in" / "b.json", second)
    put(tmp_path / "in" / "a-certificate.json", issue(first, "1.0"))
    forged = issue(second, "1.0")
    put(tmp_path / "in" / "b-certificate.json", {**forged, "learner": "Somebody"})
    put(tmp_path / "in" / "c-certificate.json", issue(learner(5, "Not handed in"), "1.0"))
    _, out, _ = run("check", "in", "--assignment", "assignment.json")
    assert "a-certificate.json follows from a.json" in out and "no ledger that was handed in" in out
    lines = {row["file"]: row["certificate"] for row in done(tmp_path)}
    assert lines == {"a.json": "follows from the ledger", "b.json": "differs"}


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("", "no lab"), ('title = "x"\n[[lab]]\nname = "lab_99"', "no lab 'lab_99'"), ('title = "x"\n[[lab]]\nname = "lab"', "no lab"),
        ('title = "x"\n[[lab]]\nname = "lab_01"\nacts = [3]', "two"),
        ('title = "x"\nuntil = 2026-01-01\n[[lab]]\nname = "lab_01"', "offset"),
        ('title = "x"\n[[lab]]\nname = "lab_01"\n[[lab]]\nname = "lab_01"', "twice"), ('[[lab]]\nname = "lab_01"', "title"),
        ('title = "x"\nlabs = []', "labs"), ("title = ", "TOML"),
    ],
)  # fmt: skip
def test_a_wrong_assignment_says_what_is_wrong(toml, words, run, tmp_path):
    (tmp_path / "bad.toml").write_text(toml)
    code, _, err = run("assign", "bad.toml", "--out", "bad.json")
    assert code == 2 and words in err and not (tmp_path / "bad.json").exists()


def test_the_file_is_read_back_and_others_are_refused(run, tmp_path):
    made = assignment.read(tmp_path / "assignment.json")
    assert made == assignment.from_toml(tmp_path / "labs.toml") and made.until == "2026-03-05T11:00:00.000000Z" and made.acts == 3
    for wrong in ("", "[]", json.dumps({"format": "x"}), "[" * 100_000):
        (tmp_path / "wrong.json").write_text(wrong)
        assert run("check", "in", "--assignment", "wrong.json")[0] == 2
    (tmp_path / "book.csv").write_text("Name,Mark\nAda,1\n")
    code, _, err = run("check", "in", "--assignment", "assignment.json", "--roster", "book.csv")
    assert code == 2 and "Canvas" in err and run("check", "in")[0] == 2 and run("assign")[0] == 2
    assert set(roster.NEEDED) == {one.name for one in roster.SYSTEMS}
