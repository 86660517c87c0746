"""Answers as people type them: decimal commas, thousands separators, ordinary spellings of units."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.recall.card_answers import read
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import grade


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3.35 TB/s", "B/s", 3.35e12), ("3,35 TB/s", "B/s", 3.35e12), ("3350 GB/s", "B/s", 3.35e12), ("3 350 GB/s", "B/s", 3.35e12),
        ("3,350.5 GB/s", "B/s", 3350.5e9), ("3.350,5 GB/s", "B/s", 3350.5e9), ("3'350 GB/s", "B/s", 3.35e12), ("900 GBps", "B/s", 9e11),
        ("900 gb/s", "B/s", 9e11), ("900 GB/sec", "B/s", 9e11), ("900 GB per second", "B/s", 9e11),
        ("900 gigabytes per second", "B/s", 9e11), ("900 GiB/s", "B/s", 900 * 2**30), ("10us", "s", 1e-5), ("10 us", "s", 1e-5),
        ("10 µs", "s", 1e-5), ("10 μs", "s", 1e-5), ("10 usec", "s", 1e-5), ("10 microseconds", "s", 1e-5),
        ("3,5 microseconds", "s", 3.5e-6), ("10 Microseconds", "s", 1e-5), ("0,5 ms", "s", 5e-4), ("0.5 msec", "s", 5e-4),
        (".5 milliseconds", "s", 5e-4), ("12 ns", "s", 12e-9), ("2 sec", "s", 2), ("2 seconds", "s", 2), ("2 min", "s", 120),
        ("2 minutes", "s", 120), ("2 hrs", "s", 7200), ("13.4 days", "s", 13.4 * 86400), ("2 hours", "s", 7200), ("1e-5 s", "s", 1e-5),
        ("1 x 10^-5 s", "s", 1e-5), ("2·10^3 s", "s", 2000), ("128 KiB", "B", 131072), ("131072 bytes", "B", 131072),
        ("131.072 kB", "B", 131072), ("1.5 gigabytes", "B", 1.5e9), ("1,5 GB", "B", 1.5e9), ("1.5 gb", "B", 1.5e9),
        ("1.5 GByte", "B", 1.5e9), ("80 gibibytes", "B", 80 * 2**30), ("312 TFLOPS", "FLOP/s", 312e12),
        ("312 TFLOP/s", "FLOP/s", 312e12), ("312 tflops", "FLOP/s", 312e12), ("312 TFLOPs/s", "FLOP/s", 312e12),
        ("312 Tflop/s", "FLOP/s", 312e12), ("312 teraflops", "FLOP/s", 312e12), ("312 TOPS", "FLOP/s", 312e12),
        ("0,312 PFLOP/s", "FLOP/s", 312e12), ("8.2 GFLOP", "FLOP", 8.2e9), ("8,2 GFLOPs", "FLOP", 8.2e9),
        ("8.2 billion operations", "FLOP", 8.2e9), ("8.2 billion", "FLOP", 8.2e9), ("8.2 gigaflops", "FLOP", 8.2e9),
        ("153", "FLOP/B", 153), ("153 FLOP/byte", "FLOP/B", 153), ("153 FLOPs per byte", "FLOP/B", 153),
        ("153,4 flops/byte", "FLOP/B", 153.4), ("0.125 FLOPs/B", "FLOP/B", 0.125), ("153 ops/byte", "FLOP/B", 153), ("33%", "%", 33),
        ("33", "%", 33), ("33%", "%", 33), ("33,5 percent", "%", 33.5), ("33 per cent", "%", 33), ("~33%", "%", 33),
        ("2.5x", "×", 2.5), ("2,5 x", "×", 2.5), ("2.5×", "×", 2.5), ("2.5 times", "×", 2.5), ("2.5-fold", "×", 2.5),
        ("x2.5", "×", 2.5), ("15.5 million ×", "×", 15.5e6), ("1,000,000", "×", 1e6), ("1.000.000", "×", 1e6),
        ("3 kernels", "kernel", 3), ("1 kernel", "kernel", 1), ("134 000 calls", "call", 134000), ("134k", "call", 134000),
        ("1.23 million calls", "call", 1.23e6), ("1.23M calls", "call", 1.23e6), ("1e6 calls", "call", 1e6),
        ("2 orders", "order of magnitude", 2), ("  7 ", "", 7), ("−3", "%", -3), ("about 7%", "%", 7), ("7.", "", 7),
    ],
)  # fmt: skip
def test_typed_answers_are_read(text, unit, value):
    assert read(text, unit) == (pytest.approx(value),)


def test_a_comma_before_three_digits_can_mean_either():
    assert read("1,024", "kernel") == (1024, 1.024)
    assert read("131,072 bytes", "B") == (131072, pytest.approx(131.072))
    assert read("134,000 calls", "call")[0] == 134000
    assert read("0,125", "FLOP/B") == (0.125,), "no thousands begin with a zero"
    assert read("1024,125", "FLOP/B") == (1024.125,)


def test_either_reading_counts_if_it_is_right():
    wide = next(made for made in (variant(template("ridge_point"), seed) for seed in range(99)) if made.key > 100)
    assert grade(wide, f"{wide.key:.3f}".replace(".", ",")).correct, "a decimal comma with three digits"
    calls = variant(template("breakeven_calls"), 1)
    assert grade(calls, f"{calls.key:,.0f}").correct, "thousands"


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("five", "%", "a percentage"),
        ("12", "s", "has no unit; type a number and a unit"),
        ("12 MB", "s", "'MB' in '12 MB' is not a unit of this answer"),
        ("12 parsecs", "s", "not a unit of this answer; type a number and a unit, such as 7 us"),
        ("12 apples", "kernel", "type a number of kernels"),
        ("", "B", "is not a number"),
        ("1e999", "%", "finite"),
        ("nan", "×", "is not a number"),
        ("3 kB/s", "B", "not a unit of this answer"),
        ("12 Gb", "B", "not a unit of this answer"),  # that would be gigabits
        ("12 Gbit/s", "B/s", "not a unit of this answer"),
    ],
)
def test_what_is_not_an_answer_says_what_to_type(text, unit, words):
    with pytest.raises(BadValue, match=words):
        read(text, unit)
