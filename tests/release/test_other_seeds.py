"""Every simulated figure on a page at its defaults agrees with ten other seeds to the digits that it shows."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SLUGS = ("lab_13_line", "lab_14_tail", "lab_v2_03_fabric", "lab_v2_07_checkpoint", "lab_v2_10_kv_serving", "lab_v2_12_slo")
SEEDS = 10
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
UNITS = 1  # of the last digit shown: a figure may lie at the edge of being rounded up
FULL = 6  # digits of a figure for machines to read, which nobody sees


def drawn(salt):
    command = [sys.executable, str(Path(__file__).with_name("other_seeds.py")), str(salt), *SLUGS]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def unit(number):
    """What its last digit stands for; of a whole number with zeros at its end, at most three digits are meant."""
    if "." in number:
        return 10.0 ** -len(number.partition(".")[2])
    digits = number.replace(",", "")
    return 10.0 ** max(0, len(digits) - 3)


def apart(one, other):
    """Figures of a sentence that differ by more than their last digit says; all of it where its words differ."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return [(one, other)]
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    seen = [(a, b) for a, b in pairs if len(a.replace(",", "")) < FULL]
    return [(a, b, one) for a, b in seen if abs(_value(a) - _value(b)) > 1.001 * UNITS * max(unit(a), unit(b))]


def _value(number):
    return float(number.replace(",", ""))


def test_other_seeds_give_the_figures_that_are_shown():
    with ThreadPoolExecutor(2) as pool:
        first, *others = pool.map(drawn, [0, *(1_000_003 * n for n in range(1, SEEDS + 1))])
    wrong = []
    for slug in SLUGS:
        for other in others:
            assert len(first[slug]) == len(other[slug])
            wrong += [(slug, *each) for one, two in zip(first[slug], other[slug], strict=True) for each in apart(one, two)]
    assert not wrong, "\n".join(map(str, dict.fromkeys(wrong)))
