"""All labs have one shape: what each act provides, physics below."""

import re

import pytest

from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import problems
from ironlaw.kit.lab_module import LabModule

SLUGS = sorted(path.parent.name for path in LABS.glob("*/lab.py") if path.parent.name != "review")


@pytest.fixture(params=SLUGS)
def folder(request):
    return LABS / request.param


def test_no_copy_of_the_template_is_left_behind():
    assert [slug for slug in SLUGS if slug != "_template" and not re.match(r"lab_(v2_)?\d\d_[a-z]", slug)] == []


def test_the_check_finds_nothing(folder):
    assert problems(folder.name, run=folder.name == "_template") == []  # of a lab the contract plays every cell


def test_every_act_provides_its_instrument_its_claims_and_its_truth(folder):
    acts = set(re.findall(r"^\[(act\d+)\]$", (folder / "questions.toml").read_text(encoding="utf-8"), re.MULTILINE))
    assert acts and acts == {path.stem for path in folder.iterdir() if path.name.startswith("act")}
    for act in acts:
        provided = LabModule(folder, act)
        assert {"dials", "view", "CLAIMS", "truth", "distance"} <= provided.names, act
        assert all(hasattr(provided, name) for name in provided.names), act


def test_the_files_are_small(folder):
    for path in folder.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 260, path
