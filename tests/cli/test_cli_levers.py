"""`ironlaw levers`: the example by hand, broken limits and their fixes, and formulas that are not arithmetic."""

import json

import pytest

from ironlaw.cli.levers import DESIGN


@pytest.fixture
def design(tmp_path):
    def write(old: str = "", new: str = "") -> str:
        assert old in DESIGN
        place = tmp_path / "design.toml"
        place.write_text(DESIGN.replace(old, new) if old else DESIGN, encoding="utf-8")
        return str(place)

    return write


def test_the_example_by_hand(sh, design):
    assert sh.out("levers", "--example") == DESIGN
    told = sh.json("levers", design())
    compute = 6 * 70e9 * 4e6 / (1024 * 989e12 * 0.42)
    assert told["values"]["step"] == pytest.approx(compute) and told["met"] and told["together"] is None
    assert told["values"]["days"] == pytest.approx(compute * 5e5 / told["values"]["useful"] / 86400)
    days = {row["input"]: row["lever"] for row in told["readouts"][0]["levers"]}
    assert days["rate"] == pytest.approx(-1, abs=1e-6) and "wire" not in days and days["devices"] == pytest.approx(-0.986, abs=5e-3)
    assert "days ≤ 25      +6.0%  none needed" in sh.out("levers", design())


def test_a_broken_limit_and_its_fix(sh, design):
    code, out, _ = sh("levers", design("most = 25", "most = 20"), "--json")
    told = json.loads(out)
    assert code == 1 and told["together"] == {"dial": "devices", "from": 1024, "to": 2048} == told["limits"][0]["fix"]
    fixed = sh("levers", design("devices = 1024\n", "devices = 2048\n"), "--json")
    assert json.loads(fixed[1])["values"]["days"] < 20
    assert "devices from 1,024 to 2,048" in sh("levers", design("most = 25", "most = 20"))[1]


def test_a_fix_that_breaks_another_limit(sh, design):
    code, out, _ = sh("levers", design("days = { most = 25 }", "days = { most = 20 }\ndevices = { most = 1500 }"))
    text = " ".join(out.split())
    assert code == 1 and "no single input fixes it; devices from 1,024 to 2,048 fixes it and breaks another limit" in text
    assert "To meet all limits at once: no single input fixes it." in text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"max(compute, network)"', '"__import__(1)"', "no function in step"),
        ('"max(compute, network)"', '"compute.real"', "Attribute"),
        ('"max(compute, network)"', "\"'a' * 9\"", "only numbers"),
        ('"max(compute, network)"', '"max(compute"', "not a formula"),
        ('"max(compute, network)"', '"max(compute, nework)"', "did you mean network"),
        ('"max(compute, network)"', '"compute / (network - network)"', "can't be computed with these inputs"),
        ('"max(compute, network)"', '"9 ** 9 ** 9 ** 9"', "can't be computed with these inputs"),
        ('"max(compute, network)"', "true", "write a formula"),
        ("devices = 1024\n", "devices = -1\n", "above 0"),
        ("days = { most = 25 }", "days = 25", "{ most = 25 }"),
        ("days = { most = 25 }", "day = { most = 25 }", "did you mean days"),
        ("devices = [512, 1024, 2048]", "device = [512]", "did you mean devices"),
        ("devices = [512, 1024, 2048]", "devices = 512", "write a list"),
        ('wire = "50 GB/s"', 'wire = "50 GX/s"', "unknown unit"),
        ("[inputs] ", "[input] ", "did you mean inputs"),
        ("compute = ", "tokens = ", "another name"),
    ],
)
def test_a_bad_design_is_refused_by_name(sh, design, old, new, words):
    code, out, err = sh("levers", design(old, new))
    assert (code, out) == (2, "") and words in err
