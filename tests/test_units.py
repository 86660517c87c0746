"""Every unit and prefix, round trips, and what does not parse."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.errors import BadValue
from ironlaw.units import UNITS, counted, joined, parse, parted, show, show_between, show_binary, significant, spoken

TEN = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
SMALL = {"": 0, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9, "p": -12}


@pytest.mark.parametrize("unit", ["B", "B/s", "FLOP", "OP", "FLOP/s", "FLOPS", "OP/s", "OPS", "FLOP/B", "OP/B", "W", "J", "Hz"])
@pytest.mark.parametrize("prefix", TEN)
def test_decimal_prefixes(unit, prefix):
    assert parse(f"3 {prefix}{unit}") == float(f"3e{TEN[prefix]}")


@pytest.mark.parametrize("unit", ["B", "B/s"])
@pytest.mark.parametrize("prefix", TWO)
def test_binary_prefixes(unit, prefix):
    assert parse(f"3{prefix}{unit}") == 3 * 2 ** TWO[prefix]


@pytest.mark.parametrize("unit", ["s", "W", "J"])
@pytest.mark.parametrize("prefix", SMALL)
def test_small_prefixes_are_exact(unit, prefix):
    assert parse(f"10 {prefix}{unit}") == float(f"10e{SMALL[prefix]}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.35 TB/s", 3.35e12),
        ("3.35TB/s", 3.35e12),
        ("  80 GB  ", 80e9),
        ("64 GiB", 68719476736.0),
        ("512 KiB", 524288.0),
        ("1,979 TFLOP/s", 1979e12),
        ("1_000 B", 1000.0),
        ("2.5e3 W", 2500.0),
        ("1E-3 s", 0.001),
        (".5 s", 0.5),
        ("5. s", 5.0),
        ("-3 J", -3.0),
        ("+3 J", 3.0),
        ("2 min", 120.0),
        ("1.5 h", 5400.0),
        ("2 d", 172800.0),
        ("100 TOPS", 100e12),
        ("295 FLOP/B", 295.0),
        ("1.41 GHz", 1.41e9),
    ],
)
def test_texts(text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "unit"), [("1 TB/s", "B/s"), ("1 TFLOPS", "FLOP/s"), ("1 TOP/s", "FLOP/s"), ("1 GOP", "FLOP"), ("1 h", "s"), ("1 mW", "W")]
)
def test_the_unit_that_is_expected(text, unit):
    assert parse(text, unit) == parse(text)


def test_bare_numbers_are_taken_as_they_are():
    assert parse(5) == 5.0
    assert type(parse(5)) is float
    assert parse(2.5, "B/s") == 2.5
    assert parse("2.5", "B/s") == 2.5


def refusal(text, unit: str | None = None) -> tuple[str, str]:
    """The message in two halves: what is wrong, with the value as it was given, and the next step."""
    with pytest.raises(BadValue) as error:
        parse(text, unit)
    fault, _, step = str(error.value).partition("; ")
    assert repr(text) in fault and step
    return fault, step


@pytest.mark.parametrize("text", ["", "fast", "GB", "3 4 GB", "1..2 B", "nan", "inf", "--3 B", None, True, [3]])
def test_what_is_not_a_figure(text):
    """The next step gives examples, and they would be accepted."""
    examples = re.findall(r"'(.+?)'", refusal(text, "B")[1])
    assert len(examples) >= 2 and all(parse(example) > 0 for example in examples)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1e999 B"])
def test_figures_are_finite(value):
    assert "finite" in refusal(value, "B")[0]


def listed_units(step: str) -> set[str]:
    return set(re.findall(r"[A-Z][A-Za-z]*(?:/[A-Za-z])?|\bs\b", step)) & {*UNITS}


def test_a_unit_is_asked_for():
    fault, step = refusal("5")
    assert "unit" in fault and listed_units(step) == {*UNITS}


@pytest.mark.parametrize("unit", ["TQ/s", "GBs", "kmin", "mB", "ks", "KiW", "nHz", "k", "Gi"])
def test_unknown_units(unit):
    fault, step = refusal(f"5 {unit}")
    assert repr(unit) in fault and listed_units(step) == {*UNITS}
    assert {"k", "M", "G", "T", "Ki", "Mi", "Gi", "m", "u", "n"} <= set(re.findall(r"\b\w+\b", step.partition("prefixes")[2]))


def test_the_wrong_unit():
    fault, step = refusal("5 GB", "B/s")
    assert "in B," in fault and "B/s" in fault and "B/s" in step


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.35e12, "B/s", "3.35 TB/s"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (1979e12, "FLOP/s", "1.98 PFLOP/s"),
        (80e9, "B", "80 GB"),
        (999.4, "B", "999 B"),
        (999.6, "B", "1 kB"),
        (0.5, "B", "0.5 B"),
        (0.0, "s", "0 s"),
        (0, "B", "0 B"),
        (4.04e-6, "s", "4.04 µs"),
        (10e-6, "s", "10 µs"),
        (1e-15, "s", "0.001 ps"),
        (119.0, "s", "119 s"),
        (120.0, "s", "2 min"),
        (7199.0, "s", "120 min"),
        (7200.0, "s", "2 h"),
        (172800.0, "s", "2 d"),
        (86400.0, "s", "24 h"),
        (1e9, "s", "11,600 d"),
        (-0.002, "s", "-2 ms"),
        (-300.0, "s", "-5 min"),
        (0.1, "W", "100 mW"),
        (700.0, "W", "700 W"),
        (2e3, "J", "2 kJ"),
        (2.4e20, "FLOP", "240 EFLOP"),
        (133607.14, "", "134 k"),
        (12345.0, "calls", "12,300 calls"),
        (0.25, "FLOP/B", "0.25 FLOP/B"),
        (1.41e9, "Hz", "1.41 GHz"),
        (math.inf, "s", "never"),
        (math.inf, "B", "∞"),
        (-math.inf, "B", "-∞"),
        (math.nan, "s", "not a number"),
    ],
)
def test_show(value, unit, text):
    assert show(value, unit) == text


def test_show_with_other_digits():
    assert show(3.3512e12, "B/s", digits=4) == "3.351 TB/s"
    assert show(3.3512e12, "B/s", 1) == "3 TB/s"
    assert show(123.0) == "123"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1,230"),
        (0.012345, "0.0123"),
        (1.0, "1"),
        (1.50, "1.5"),
        (0.0, "0"),
        (100.0, "100"),
        (999.9, "1,000"),
        (1e6, "1,000,000"),
        (-2.345, "-2.35"),
        (1e-9, "1 × 10⁻⁹"),
        (-5.678e-44, "-5.68 × 10⁻⁴⁴"),
        (0.0001234, "0.000123"),
        (0.000099996, "1 × 10⁻⁴"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_significant(value, text):
    assert significant(value) == text


def test_significant_digits():
    assert significant(1234.5, 2) == "1,200"
    assert significant(1234.5, 6) == "1,234.5"


KEPT = sorted({kept for kept, _ in UNITS.values()})


@given(st.floats(1e-12, 1e20), st.sampled_from(KEPT), st.sampled_from([-1.0, 1.0]))
def test_round_trip_within_three_digits(size, unit, sign):
    if unit not in ("s", "W", "J"):
        size = max(size, 1.0)  # no small prefixes
    value = sign * size
    assert parse(show(value, unit), unit) == pytest.approx(value, rel=5.1e-3)


@given(st.floats(1e-9, 1e15), st.integers(3, 9))
def test_round_trip_with_more_digits(value, digits):
    assert parse(show(value, "W", digits), "W") == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))


@given(st.floats(1.0, 9.9e17), st.sampled_from(["B", "FLOP/s", "Hz", "W"]))
def test_the_number_shown_lies_between_1_and_1000(value, unit):
    number = float(show(value, unit).split()[0].replace(",", ""))
    assert 1 <= number < 1000


@pytest.mark.parametrize(
    ("ratio", "digits", "text"),
    [
        (98.9, 3, "98.9×"), (9_999, 3, "1 × 10⁴"), (9_994, 3, "9,990×"), (989_000, 3, "9.89 × 10⁵"), (989_000, 6, "989,000×"),
        (163_840, 6, "163,840×"), (1e9, 6, "1 × 10⁹"), (0.001, 3, "0.001×"), (0.000488281, 3, "4.88 × 10⁻⁴"), (0.0, 3, "0×"),
        (-12_345, 3, "-1.23 × 10⁴"),
    ],
)  # fmt: skip
def test_a_ratio_is_a_power_of_ten_past_ten_thousand_and_below_a_thousandth(ratio, digits, text):
    assert show(ratio, "×", digits) == text


def test_a_power_of_ten_is_read_out_in_words():
    assert spoken("9.89 × 10⁵ and 4.88 × 10⁻⁴") == "9.89 times 10 to the power of 5 and 4.88 times 10 to the power of minus 4"
    assert spoken("you said 10⁶×") == "you said 10 to the power of 6×"
    assert spoken("7,000×") == "7,000×"


def test_sizes_in_powers_of_two_round_or_not():
    assert [show_binary(size) for size in (512, 512 * 2**10, 8_192_000_000, 80 * 2**30)] == ["512 B", "512 KiB", "7.63 GiB", "80 GiB"]


def test_one_of_a_thing_and_many():
    assert [counted(n, "call") for n in (1, 2, 0, 133_608, 1.5)] == ["1 call", "2 calls", "0 calls", "133,608 calls", "1.5 calls"]


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [("60", "ms", "60 ms"), ("24", "%", "24%"), ("4", "×", "4×"), ("2 million", "×", "2 million ×"), ("7", "", "7")],
)
def test_a_sign_follows_its_number_at_once(number, unit, text):
    assert joined(number, unit) == text
    assert " " in number or parted(text) == (number, unit)


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (0.0464, 0.04639, 0.04641, "s", "46.4 ms"),  # three digits are sure
        (0.0464, 0.0461, 0.0467, "s", "about 46 ms"),
        (0.51, 0.45, 0.60, "s", "about 500 ms"),
        (0.688, 0.6, 1.1, "s", "0.6–1.1 s"),  # not even one is
        (1.46, 1.3, 1.7, "×", "1.3–1.7×"),  # one would say less than is known
        (32.5, 28.0, 36.0, "", "28–36"),
        (0.0, 0.0, 0.0, "s", "0 s"),
        (math.inf, 1.0, math.inf, "s", "never"),
    ],
)
def test_a_simulated_figure_has_the_digits_that_its_run_is_sure_of(value, low, high, unit, text):
    assert show_between(value, low, high, unit) == text
