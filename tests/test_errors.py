"""Every error is an IronlawError and says what to do next."""

import pytest

from ironlaw.errors import BadRegistry, BadValue, IronlawError, MissingExtra, UnknownName, UnsupportedPrecision, refusing, sentence, unknown

NAMES = ["h200_sxm", "h100_sxm", "a100_80gb_sxm", "t4"]


def test_near_matches_come_first():
    error = unknown("hardware", "h900_sxm", NAMES, "registry/hardware/h900_sxm.toml")
    assert isinstance(error, UnknownName)
    assert str(error).startswith("no hardware 'h900_sxm'; did you mean h")
    assert "h100_sxm" in str(error)
    assert "h200_sxm" in str(error)
    assert str(error).endswith("; to add one: registry/hardware/h900_sxm.toml")


def test_all_known_names_where_nothing_is_near():
    assert str(unknown("hardware", "zzz", NAMES)) == "no hardware 'zzz'; known: a100_80gb_sxm, h100_sxm, h200_sxm, t4"


def test_how_it_is_written_does_not_matter():
    assert str(unknown("hardware", "H100-SXM", NAMES)).startswith("no hardware 'H100-SXM'; did you mean h100_sxm")
    assert str(unknown("hardware", "h100 sxm", NAMES)).startswith("no hardware 'h100 sxm'; did you mean h100_sxm")


def test_at_most_four_are_named():
    names = [f"name_{i}" for i in range(9)]
    assert str(unknown("thing", "name_x", names)).count("name_") == 5  # the one asked for and four more


def test_near_means_half_alike():
    assert str(unknown("thing", "abxx", ["abcd", "zzzz"])) == "no thing 'abxx'; did you mean abcd?"
    assert str(unknown("thing", "axxx", ["abcd", "zzzz"])) == "no thing 'axxx'; known: abcd, zzzz"


def test_any_object_can_be_unknown():
    assert str(unknown("thing", None, ["a"])) == "no thing None; known: a"


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (UnknownName, LookupError),
        (UnsupportedPrecision, ValueError),
        (BadValue, ValueError),
        (BadRegistry, ValueError),
        (MissingExtra, ImportError),
    ],
)
def test_the_tree(kind, base):
    assert issubclass(kind, IronlawError)
    assert issubclass(kind, base)


def test_an_error_names_the_setting_that_was_refused():
    assert BadValue("no").field == ""
    assert BadValue("no", "batch").field == "batch"
    assert str(BadValue("no", "batch")) == "no"
    assert unknown("hardware", "h900", ["h100"], field="hardware").field == "hardware"
    with pytest.raises(BadValue) as refused, refusing("seq"):
        raise BadValue("no")
    assert refused.value.field == "seq"
    with pytest.raises(UnsupportedPrecision) as refused, refusing("seq"):
        raise UnsupportedPrecision("no fp4")
    assert refused.value.field == "dtype", "the error knew better"


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("the disk is full; free some space", "The disk is full; free some space."),
        ("nothing: it was left", "Nothing: it was left."),
        ("lab.py is missing", "lab.py is missing."),
        ("did you mean this?", "Did you mean this?"),
    ],
)
def test_a_message_can_stand_as_a_sentence(message: str, written: str) -> None:
    assert sentence(message) == written
