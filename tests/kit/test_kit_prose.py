"""Markdown, figures and terms in sentences."""

import re

import pytest

from ironlaw.errors import BadRegistry
from ironlaw.kit.check_prose import prose
from ironlaw.kit.lab_words import Words
from ironlaw.kit.prose import amount, amounts, capacity, html, inline, power_of_ten, times


def shape(page: str) -> str:
    """A formula as a reader would say it: elements by their first letters, then what they hold."""
    return re.sub(r"</?m?(math|row)[^>]*>| display=\"\w+\"", "", page).replace("&#x0003D;", "=")


def test_formulas_become_mathml_and_bypass_markdown():
    assert shape(html(r"$x_A = x_B$")) == "<p><msub><mi>x</mi><mi>A</mi></msub><mo>=</mo><msub><mi>x</mi><mi>B</mi></msub></p>"
    block = html(r"$$\frac{D}{BW}$$")
    assert (
        'display="block"' in block
        and shape(block) == '<p><span class="il-formulas"><mfrac><mi>D</mi><mi>B</mi><mi>W</mi></mfrac></span></p>'
    )
    assert "<em>" not in html(r"$a * b$ and $c * d$") and 'normal">max</mi>' in html(r"$\max(a, b)$")
    assert "<mi>&#x02308;" not in html(r"$\lceil N \rceil$") and html(r"$\lceil N \rceil$").count("</mo>") == 2
    assert html(r"$$a = b, \qquad c = d$$").count("<math") == 2 and html(r"$$\frac{a \qquad b}{c}$$").count("<math") == 1


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\unheard{x}", r"\unheard is not understood"),
        (r"\frac{1}", "mfrac"),
        (r"\frac{a", "mfrac"),
        ("a_", "subscript"),
        ("a^b^c", "double superscripts"),
        ("a}", "} is not understood"),
        (r"\text{a<b}", "parse error"),
        (r"\begin{aligned} a &= b \end{aligned}", "parse error"),
    ],
)
def test_a_formula_that_cannot_be_read_is_refused_and_the_check_says_where(latex, words):
    with pytest.raises(BadRegistry, match=re.escape(f"${latex}$")) as caught:
        html(f"so ${latex}$")
    assert words in str(caught.value)
    (line,) = prose(Words({"act1.message": f"so ${latex}$, but $D/{{{{ bw }}}}$ can be"}))
    assert "[act1.message]" in line and words in line


def test_terms_wear_their_colour_in_text_and_not_in_formulas():
    text = html("D/BW, O/R and *L*, but $D/BW$")
    assert text.count('<span class="il-term il-memory">D/BW</span>') == 1
    assert '<span class="il-term il-compute">O/R</span>' in text
    assert '<span class="il-term il-overhead"><em>L</em></span>' in text


def test_a_line_loses_its_paragraph_and_two_do_not():
    assert inline("one *word*") == "one <em>word</em>"
    assert inline("one\n\ntwo").count("<p>") == 2


def test_figures_have_light_units_and_do_not_break():
    assert amount(3.35e12, "B/s") == '<span class="il-num">3.35<span class="il-unit">\u202fTB/s</span></span>'
    assert 'title="exactly"' in amount(1.0, "s", exact="exactly")


def test_figures_of_one_sum_have_one_unit():
    texts = [re.sub(r"<[^>]+>", "", text).replace("\u202f", " ") for text in amounts((16.1e9, 5.37e8, 8.4e6, 0.0), "B")]
    assert texts == ["16.1 GB", "0.537 GB", "8.4 MB", "0 GB"]
    assert "152,588" in times(152587.9, 6)


def test_memory_reads_as_its_maker_writes_it():
    assert capacity(512 * 1024) == "512 KiB" and capacity(80e9) == "80 GB" and capacity(16e9) == "16 GB" and capacity(2.0**34) == "16 GiB"


def test_powers_of_ten():
    assert [power_of_ten(v) for v in (1e2, 1e9, 1e-3, 250.0)] == ["10²", "10⁹", "10⁻³", "250"]


def test_a_number_stays_with_its_unit_and_a_formula_with_its_full_stop():
    assert "70%" in html("frees 70%.") and "1\u202fUSD an hour" in html("1 USD an hour")
    assert "13.4\u00a0days of 30\u00a0days" in html("13.4 days of 30 days")
    assert "3 steps" in html("in 3 steps")  # a word that begins like a unit
    assert re.search(r'<span class="il-together">\(<math.*</math>\)\.</span>', html("Fixed service ($c = 0$)."))
    assert "il-together" not in html("where $c$ is")


def test_no_line_ends_inside_a_name_an_equation_or_before_a_full_stop():
    assert "ε\u00a0=\u00a03" in html("at ε = 3") and '<span class="il-together">V2-06</span>' in html("as Lab V2-06 says")
    assert re.search(r'<span class="il-together"><button [^>]*>Go back</button>\.</span>', html("[Go back](set:act1?a=1).")), (
        "stays beside it"
    )
    long = "Make the requests as long as real chats"
    assert f">{long}.</button>" in html(f"[{long}](set:act1?a=1). Then"), "it takes two lines, so the stop goes inside"
