"""Markdown, figures and terms in sentences."""

from ironlaw.kit.prose import amount, capacity, html, inline, power_of_ten, times


def test_formulas_go_to_katex_untouched():
    assert html(r"$x_A * x_B * y$") == r'<p><marimo-tex class="arithmatex">||(x_A * x_B * y||)</marimo-tex></p>'
    assert "||[\\frac{D}{BW}||]" in html(r"$$\frac{D}{BW}$$")
    assert html("$a < b$").count("&lt;") == 1


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
    assert "152,588" in times(152587.9, 6)


def test_memory_reads_as_its_maker_writes_it():
    assert capacity(512 * 1024) == "512 KiB" and capacity(80e9) == "80 GB" and capacity(16e9) == "16 GB" and capacity(2.0**34) == "16 GiB"


def test_powers_of_ten():
    assert [power_of_ten(v) for v in (1e2, 1e9, 1e-3, 250.0)] == ["10²", "10⁹", "10⁻³", "250"]
