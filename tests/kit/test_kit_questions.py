"""questions.toml: keys are computed, options are judged by them."""

import pytest
from stand_in import StandIn

from ironlaw import claims
from ironlaw.errors import BadRegistry, BadValue
from ironlaw.kit.question_sheet import is_hard_coded, leading, load

OPTIONS = """
options = [
  { id = "a", value = 1e2, misconception = "m" }, { id = "b", value = 1e4, misconception = "m" },
  { id = "c", value = 1e6, misconception = "m" }, { id = "d", value = 1e9, misconception = "m" },
]
"""
GAP = 'hardware("h100_sxm").peak("fp16") / hardware("cortex_m7").peak("fp32")'


@pytest.fixture
def sheet(tmp_path):
    def made(text):
        (tmp_path / "questions.toml").write_text(text, encoding="utf-8")
        return load(tmp_path / "questions.toml")

    return made


def question(sheet, key=GAP, more='kind = "prediction"\nscale = "log"', options=OPTIONS):
    return sheet(f"[q]\nkey = '''{key}'''\n{more}\n{options}").questions["q"]


def test_the_nearest_power_of_ten_is_right(sheet):
    found = question(sheet)
    assert found.answer == pytest.approx(989_000)
    assert found.right.id == "c" and found.right.label == "10⁶"


@pytest.mark.parametrize(("key", "right"), [("sqrt(9e5)", "a"), ("sqrt(9e6)", "b"), ("sqrt(1e20)", "d")])
def test_nearness_is_on_a_log_axis(sheet, key, right):
    # the middle between 10² and 10⁴ is 10³ = sqrt(10⁶): 948 is under it, 3,000 is over it
    assert question(sheet, key).right.id == right


def test_names_are_compared_as_they_are(sheet):
    named = 'options = [{id="x", value="x"}, {id="y", value="y"}, {id="z", value="z"}, {id="w", value="w"}]'
    assert question(sheet, '"y" if max(1, 2) > 1 else "x"', 'kind = "reflection"', named).right.id == "y"
    with pytest.raises(BadRegistry, match="answers 'v'"):
        _ = question(sheet, '"v" if max(1, 2) > 1 else "x"', 'kind = "reflection"', named).right


def test_a_key_follows_the_registry(sheet, monkeypatch):
    found = question(sheet)
    real = claims.NAMESPACE["hardware"]

    slow = StandIn(peak=lambda fmt: 1e13)
    monkeypatch.setitem(claims.NAMESPACE, "hardware", lambda name: slow if name == "h100_sxm" else real(name))
    assert found.right.id == "b"


def test_a_key_sees_the_engine_and_nothing_else(sheet):
    for key in ("open('x')", "__import__('os')", "hardware.__globals__", "print(1)"):
        with pytest.raises(BadRegistry, match="cannot compute"):
            _ = question(sheet, key).answer


def test_hard_coded_keys_are_recognised():
    assert is_hard_coded("1e6") and is_hard_coded("10 ** 6") and is_hard_coded("'memory'")
    assert not is_hard_coded(GAP)


def test_leading_names_the_term_or_says_equal():
    class Found:
        data_s, compute_s, overhead_s, bound = 10.0, 9.1, 1.0, "memory"

    assert leading(Found(), 0.1) == "equal"
    assert leading(Found(), 0.05) == "memory"


def test_places_and_ids(sheet):
    found = question(sheet)
    assert found.at(3) == (3, found.options[3]) and found.place("b") == 1
    for index in (4, -1, None, True, "0"):
        with pytest.raises(BadValue, match="not an option"):
            found.at(index)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[q]\nkind = "prediction"\noptions = []', "has no key"),
        (f"[q]\nkey = 'abs(1)'\nkind = 'guess'\n{OPTIONS}", "kind is 'guess'"),
        ("[q]\nkey = 'abs(1)'\nkind = 'prediction'\noptions = [{id = 'a', value = 1}]", "four"),
        ("[q]\nkey = 'abs(1)'\nkind = 'prediction'\noptions = [{value = 1}]", "no id"),
    ],
)
def test_broken_questions_are_refused(sheet, text, said):
    with pytest.raises(BadRegistry, match=said):
        sheet(text)
