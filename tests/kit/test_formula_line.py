"""A line of a formula reads as typeset: no space before a comma or a semicolon, none after an opening bracket."""

from ironlaw.kit.formula import line


def test_punctuation_stands_close() -> None:
    assert ">right = 44.7%; 95% sure: 41.2%</div>" in line("right =", "44.7%", "; 95% sure:", "41.2%")
    assert ">min(R, BW)</div>" in line("min(", "R", ",", "BW", ")")
