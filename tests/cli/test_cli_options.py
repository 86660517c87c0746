"""A question's fields become options: messages name them as the command spells them, and what a field says of itself is kept."""

from dataclasses import dataclass

import pytest

from ironlaw.cli.command_parser import Parser, parse, spell, spelling
from ironlaw.cli.options import add_parameters, ask
from ironlaw.errors import BadValue, UnknownName
from ironlaw.systems.fields import custom, figure, switch


@dataclass(frozen=True)
class Trip:
    goal: str = custom(str, flag="GOAL", metavar="GOAL", about="where to; see `top_speed`")
    top_speed: float | None = figure(None, metavar="N", about="not with `slowly=yes`")
    toll: str | None = custom(str, None, metavar="PRICE", alone="usual")
    by_day: bool = switch(False, excludes="by_night")
    by_night: bool = switch(False, excludes="by_day")


@pytest.fixture
def parser():
    made = Parser(prog="trip")
    add_parameters(made, Trip)
    return made


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("give `top_speed`, or leave it out", "give --top-speed, or leave it out"),
        ("write `top_speed=5 m/s` instead", "write --top-speed 5 m/s instead"),
        ("`goal` is missing", "GOAL is missing"),
        ("`ironlaw schema` and `slowly=yes` stay", "`ironlaw schema` and `slowly=yes` stay"),
    ],
)
def test_a_parameter_is_spelled_as_the_option(parser, text, spelled):
    with pytest.raises(UnknownName) as error, spelling(parser):
        raise UnknownName(text, "top_speed")
    assert str(error.value) == spelled and error.value.field == "top_speed"


def test_help_spells_them_too(parser):
    assert "where to; see --top-speed" in parser.format_help()
    assert spell("`a` and `b=1`", {"b": "--bee"}) == "`a` and --bee 1"


def test_an_option_without_its_value_means_what_the_field_says(parser):
    assert [ask(Trip, parse(parser, ["x", *more])).toll for more in ([], ["--toll"], ["--toll", "2"])] == [None, "usual", "2"]


def test_of_two_that_exclude_each_other_one_is_taken(parser):
    assert ask(Trip, parse(parser, ["x", "--by-night"])).by_night
    with pytest.raises(BadValue, match="not allowed with argument --by-day"):
        parse(parser, ["x", "--by-day", "--by-night"])
