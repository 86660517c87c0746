"""The check of a lab, the template, and `ironlaw lab`."""

import shutil
import subprocess
import sys

import pytest
from how_thorough import RELEASE

from ironlaw.cli import lab as command
from ironlaw.cli import main
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import _next, problems
from ironlaw.kit.lab_words import load
from ironlaw.slots import hard_coded_figures


@pytest.mark.parametrize(
    "text",
    [
        "It has 80 GB.", "989,000 times as much", "about 10⁶", "$2.40 each", "an 8x gain", "takes 4 ns", "a million times", "of 295",
        "50% less", "at batch 256", "$3.35$", "512KB",
    ],
)  # fmt: skip
def test_hard_coded_figures_are_found(text):
    assert hard_coded_figures(text)


@pytest.mark.parametrize(
    "text",
    [
        "FP16 on the H100", "ResNet-50 and MobileNetV2", "Lab 07, batch 1", "Cortex-M7, A17 class", "{{ gap }} of it", "`x = 3`",
        r"$\log_{10} x^2$", "1. first", "[here](http://127.0.0.1:80/)",
    ],
)  # fmt: skip
def test_names_slots_and_code_are_no_figures(text):
    assert hard_coded_figures(text) == []


def test_a_device_may_have_a_number_in_its_name():
    assert hard_coded_figures("a Raspberry Pi 5", ["Raspberry Pi 5"]) == [] and hard_coded_figures("a Raspberry Pi 5")


@pytest.mark.parametrize("slug", sorted(path.parent.name for path in LABS.glob("lab_*/lab.py")))
def test_the_next_lab_is_the_one_that_the_button_names(slug):
    """Lab 07 went on with Lab 08 on the button and with Lab 11 in the connections."""
    assert list(_next(slug, load(LABS / slug / "words.md"))) == []


def test_another_next_is_a_fault():
    assert "lab_08_ledger" in next(_next("lab_07_fusion", load(LABS / "lab_10_frontier" / "words.md")))


@pytest.fixture
def copy(tmp_path):
    """The template, somewhere else, to be spoilt."""
    shutil.copytree(LABS / "_template", tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "mine"


def spoil(folder, file, old, new):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("words.md", "Two devices, one question.", "Two devices, 200 GB/s apart.", "'200' is hard-coded"),
        ("words.md", "A copy is bound by memory.", "A copy is simply bound by memory!", "'simply'"),
        ("words.md", "## act1.feedback.e4", "## act1.feedback.e5", "no section [act1.feedback.e4]"),
        ("words.md", "## sentence", "## sentense", "no section [sentence]"),
        ("words.md", "{{ budget }}", "nothing", "nothing uses [given] budget"),
        ("words.md", "Worked: {{ gap }}.", "Worked.", "nothing uses gap"),
        ("words.md", "Bandwidth\n", "Bandwidth {{ more }}\n", "no value for more"),
        ("questions.toml", "key = 'hardware(\"h100_sxm\").bandwidth / hardware(\"pi5\").bandwidth'", "key = '1e2'",
         "'1e2' is hard-coded; compute it"),
        ("questions.toml", 'misconception = "launch_always_binds"', 'misconception = "made_up"', "no misconception 'made_up'"),
        ("questions.toml", ', misconception = "launch_always_binds"', "", "names no misconception"),
        ("questions.toml", '"The launches."', '"The launches, 10 us each."', "'10' is hard-coded in option"),
        ("questions.toml", "h100_sxm\").bandwidth >", "h900\").bandwidth >", "no hardware 'h900'"),
        ("act1.py", 'CLAIMS = ("a100_bandwidth",)', 'CLAIMS = ["no_such"]', "no claim 'no_such'"),
        ("act1.py", "CLAIMS = ", "CLAIM = ", "mine/act1.py: no CLAIMS"),
        ("questions.toml", "minutes = 10", "minutes = 40", "minutes = 40, and what it shows takes 8; write minutes = 10"),
        ("words.md", "Two devices, one question.", "word " * 8000, "its core takes 48 minutes, 45 at most"),
        ("questions.toml", "minutes = 10", 'minutes = 10\nfurther = ["act1.peek"]', "no section [further]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(copy, file, old, new, said):
    spoil(copy, file, old, new)
    found = problems(copy)
    assert any(said in line for line in found), found


def test_every_part_that_fails_is_named(copy):
    spoil(copy, "words.md", "Worked: {{ gap }}.", "Worked.")
    spoil(copy, "act1.py", "formula=kit.ratio(", "formula=kit.no_such(")
    found = problems(copy)
    assert len(found) == 2 and "the cell act1_peek" in found[0] and "the piece act1.instrument" in found[1], found


@pytest.fixture
def labs(tmp_path, monkeypatch):
    place = tmp_path / "labs"
    shutil.copytree(LABS, place, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(command, "labs", lambda: place)
    monkeypatch.setattr("ironlaw.kit.lab.LABS", place)
    return place


def test_new_copies_a_working_lab(labs, capsys):
    assert main(["lab", "new", "lab_02_wall"]) == 0
    assert "ironlaw lab check lab_02_wall" in capsys.readouterr().out
    assert 'show("lab_02_wall")' in (labs / "lab_02_wall" / "lab.py").read_text()
    assert "ironlaw.labs.lab_02_wall import act1" in (labs / "lab_02_wall" / "design.py").read_text()
    assert len([path for path in (labs / "lab_02_wall").rglob("*") if path.is_file()]) == 6
    assert not any("_template" in path.read_text() for path in (labs / "lab_02_wall").rglob("*.py"))
    assert main(["lab", "new", "lab_02_wall"]) == 2
    assert "already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Lab 2", "../x", "", "lab-02"])
def test_new_refuses_other_names(labs, name, capsys):
    assert main(["lab", "new", name]) == 2 and "use lower-case letters" in capsys.readouterr().err


def test_check_tells_and_fails(labs, capsys):
    spoil(labs / "_template", "words.md", "Two devices, one question.", "It has 80 GB.")
    assert main(["lab", "check", "_template"]) == 1
    assert "_template: 1 to fix" in capsys.readouterr().out


def test_a_decision_needs_the_sections_of_an_act_but_the_peek(copy):
    text = (copy / "questions.toml").read_text()
    start = text.index("[act1]")
    end = text.index("[act1_reflection]")
    decision = text[start:end].replace("[act1]", "[spend]").replace('kind = "prediction"', 'kind = "decision"')
    (copy / "questions.toml").write_text(text + "\n" + decision)
    said = problems(copy, run=False)
    for part in ("title", "message", "question", "premises", "instrument", "reveal"):
        assert any(f"no section [spend.{part}]" in line for line in said), part
    assert not any("spend.peek" in line or "spend_reflection" in line for line in said)


def test_the_check_does_without_marimo():
    """The review, whose bank takes seconds, before a release."""
    names = ["_template", *(["review"] if RELEASE else [])]
    code = (
        "import sys; sys.modules.update(marimo=None, anywidget=None, traitlets=None); from ironlaw.cli import main; "
        "sys.exit(any([main(['lab', 'check', name]) for name in sys.argv[1:]]))"
    )
    run = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout == "".join(f"{name}: fine\n" for name in names), run.stdout + run.stderr
