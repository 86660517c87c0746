"""Figures as they are displayed."""

import pytest
from wording import NOUNS, PLURALS, faults

from ironlaw.errors import BadRegistry
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.card_words import SYMBOLS, amount, display, expected_input, fill, plural, sentence
from ironlaw.units import UNITS


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "kernel", "1 kernel"),
        (2, "kernel", "2 kernels"),
        (0, "kernel", "0 kernels"),
        (1.0, "launch", "1 launch"),
        (1024, "launch", "1,024 launches"),
        (2.5, "tensor", "2.5 tensors"),
        (133_607.14, "call", "134,000 calls"),
        (25_557_032, "parameter", "25.6 million parameters"),
        (4_089_184_256, "multiply-add", "4.09 billion multiply-adds"),
        (8, "pair of keys and values", "8 pairs of keys and values"),
        (1, "order of magnitude", "1 order of magnitude"),
        (33.3333, "%", "33.3%"),
        (989_000, "×", "989,000×"),
        (15_453_125, "×", "15.5 million ×"),
        (2.0, "×", "2×"),
        (1638.4, "FLOP/B", "1,640 FLOP/B"),
        (0.125, "FLOP/B", "0.125 FLOP/B"),
        (131_072, "B", "131 kB"),
        (4.04e-6, "s", "4.04 µs"),
        (36.08, "t", "36.1 t"),
        (260, "g/kWh", "260 g/kWh"),
        (1e6, "", "1 million"),
        (4096, "", "4,096"),
    ],
)
def test_amounts_read_well(value, unit, text):
    assert amount(value, unit) == text


def test_plurals():
    assert [plural(noun) for noun in ("byte", "launch", "flush", "box", "byte of mask", "retry", "day")] == [
        "bytes", "launches", "flushes", "boxes", "bytes of mask", "retries", "days",
    ]  # fmt: skip
    assert {noun: plural(noun) for noun in NOUNS} == PLURALS


def test_units_of_cards_are_written_in_the_singular():
    units = {template.unit for template in bank().values()}
    assert not units & set(PLURALS.values())
    nouns = {unit for unit in units if unit and unit not in UNITS and unit not in SYMBOLS and " in " not in unit}
    assert {noun.partition(" of ")[0] for noun in nouns} <= {*NOUNS, "order"}, "a symbol joins SYMBOLS, a noun wording.py"


def test_a_symbol_keeps_its_case():
    for text in ("ρ(1 + b) must stay under 1.", "ε knows the sampling rate.", "s/g + 1 − s", "tanh(ε/2) = 0.46", "ln g over −ln(s/g)"):
        assert sentence(text) == text
    assert sentence("a block has 4 warps") == "A block has 4 warps" and sentence("matmul, then ReLU") == "Matmul, then ReLU"


def test_what_no_sentence_may_contain():
    for text in (
        "76.2 pointses",
        "201 passeses",
        "4 retrys",
        "1 rings",
        "Ρ(1 + b)",
        "0.00000139%",
        "118,000 /s tokens",
        "24 %",
        "4 × faster",
        "4\u202f×",
    ):
        assert faults(text), text
    for text in ("1 ring", "11 rings", "0.000139%", "118,000 tokens/s", "1/1 rings of ten", "Σ of all", "24% at 4×", "2 × 3 GPUs"):
        assert not faults(text), text


def test_drawn_values_have_their_names():
    assert display("h100_sxm") == "NVIDIA H100 SXM5 80 GB"
    assert display("cortex_m7") == "Arm Cortex-M7 class microcontroller"
    assert display("resnet50") == "ResNet-50"
    assert (display("fp16"), display("layer_norm"), display("relu")) == ("FP16", "layer norm", "ReLU")
    assert (display((1024, 768)), display(("mul", "relu")), display(8)) == ("[1,024, 768]", "mul → ReLU", "8")


def test_what_to_type_is_said_for_every_unit():
    assert expected_input("FLOP/B") == "a number, such as 7"
    assert expected_input("s") == "a number and a unit, such as 7 us"
    assert (expected_input("%"), expected_input("×"), expected_input("")) == (
        "a percentage, such as 7%",
        "a factor, such as 7",
        "a number",
    )


def test_slots_are_filled_or_refused():
    assert fill("{{ a }}  of\n{{b}}", {"a": "1", "b": "2"}, "x.toml [y]") == "1 of 2"
    with pytest.raises(BadRegistry, match=r"x.toml \[y\]: no value for the slot 'c'"):
        fill("{{ c }}", {"a": "1"}, "x.toml [y]")
