"""The pieces that are plain HTML: what they say, and that they say it without colour too."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ironlaw import lab_names
from ironlaw.claims import claim
from ironlaw.claims import claims as all_claims
from ironlaw.engine.device.machine import Figure
from ironlaw.errors import UnknownName
from ironlaw.kit import cards, claim_panel, context, ending, formula, header, hud, message, peek, prose, rail, reveal, step
from ironlaw.kit.banner import banner, notice
from ironlaw.kit.lab import LABS
from ironlaw.kit.save import Receipt


def bare(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r'<wbr>|<span class="il-unit">', "", html)).split())


def test_header_is_title_sentence_and_minutes():
    text = bare(header.header("Lab 03", "Title", "One sentence.", 40, "- a chapter"))
    for words in (
        "Lab 03",
        "about 40 minutes",
        "Title",
        "One sentence.",
        "Read first",
        "a chapter",
    ):
        assert words in text


def test_rail_says_what_is_locked_done_and_next():
    first = (rail.Step("act1-lock", "Predict", "done"), rail.Step("act1-instrument", "Explore", "now"))
    text = rail.rail([rail.Act("Act I", first), rail.Act("Act II", (rail.Step("act2-lock", "Predict", "locked"),))])
    assert text.count("<li") == 3 and 'data-now="act1-instrument"' in text and text.count("il-act il-here") == 1
    assert bare(text) == "Act I ✓ Predict (done) 2 Explore (next) Act II 1 Predict (locked)"
    assert 'href="#act1-lock"' in text and "#act2" not in text  # nothing to jump to in a closed act


def test_step_can_be_jumped_to():
    assert 'id="act1-peek"' in step.step("act1", "peek", "x")
    assert "Opens later" in step.closed("act2", "Act II", "Opens later")


def test_message_and_peek_render_markdown():
    assert "<strong>now</strong>" in message.message("VP", "We need it **now**.")
    assert "<details" in peek.peek("Math peek", "$x$")


def test_the_end_leads_on():
    """The next lab and the cards that follow from this one; after the last lab, the cards."""
    text = ending.receipt("lab_01_magnitude", [("Act I", "10⁴", "989,000×", "–")], "<save>") + ending.lessons("- a\n- b", "- c")
    assert text.count("<li>") == 3 and "<save>" in text and "989,000" in text
    first, second, *_, last = sorted((path.parent.name for path in LABS.glob("lab_*/lab.py")), key=lab_names.order)
    assert first == "lab_01_magnitude" and f'il-primary" href="/lab/{second}/">Next: Lab {second[4:6]}' in text
    assert 'href="/lab/review/#cards"' in text and 'il-primary" href="/lab/review/#cards">' in ending.onward(last)


def test_banner_says_its_tone_in_words():
    assert bare(notice("fail", "Out of memory", "49× too much")).startswith("Does not work: Out of memory")
    assert banner("good", "a", "b") == {"tone": "good", "title": "a", "text": "b"}


@pytest.mark.parametrize(
    ("quantity", "value", "tone"),
    [
        ("utilization", 0.70, "good"),
        ("utilization", 0.69, "middling"),
        ("utilization", 0.4, "middling"),
        ("utilization", 0.39, "bad"),
        ("mfu", 0.5, "middling"),
        ("mfu", 0.51, "good"),
        ("mfu", 0.2, "bad"),
        ("fusion_speedup", 3, "good"),
        ("fusion_speedup", 1.5, "middling"),
        ("memory", 1.01, "bad"),
        ("memory", 0.81, "middling"),
        ("memory", 0.8, "good"),
        ("gap", 1e6, "good"),
        ("gap", 1e4, "middling"),
        ("gap", 9e3, "bad"),
    ],
)
def test_thresholds_are_the_protocol_s(quantity, value, tone):
    assert cards.tone(quantity, value) == tone


def test_card_has_exact_value_and_source():
    source = Figure(3.35e12, "B/s", "datasheet", "2023-07", estimate=True, why="derived")
    card = cards.card("Bandwidth", 3.35e12, "B/s", source=source)
    assert (card["value"], card["unit"]) == ("3.35", "TB/s") and card["exact"].startswith("3,350,000,000,000")
    assert "stimate" in card["source"] and "derived" in card["source"] and "datasheet" in card["source"]
    assert cards.card("Gap", 152587.89, "×", digits=6)["value"] == "152,588"
    with pytest.raises(UnknownName):
        cards.tone("luck", 1)


def test_shares_do_not_round_to_nothing():
    assert [cards.share(a, 100) for a in (0.2, 38.4, 250)] == ["< 1%", "38%", "250%"]


def test_formula_is_coloured_by_term_and_adds_up():
    text = formula.iron_law(51.5e6, 3.35e12, 8.24e9, 989e12, 174, 1e-5, (15.4e-6, 8.33e-6, 1.74e-3))
    assert (
        bare(text).replace("\u202f", " ")
        == "T = D / BW + O / R + L = 51.5 MB / 3.35 TB/s + 8.24 GFLOP / 989 TFLOP/s + 174 × 10 µs = 15.4 µs + 8.33 µs + 1.74 ms"
    )
    assert text.count("il-memory") == text.count("il-compute") == text.count("il-overhead") == 3
    assert "1×" not in bare(formula.iron_law(1, 1, 1, 1, 1, 1e-5, (1, 1, 1e-5))).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (1e9, "too high by a factor of 1,010 , or 3 orders"),
        (1e4, "too low by a factor of 98.9 , or 2 orders"),
        (2.5e6, "too high by a factor of 2.53 , or 0.4 orders"),
        (1.5e6, "too high by a factor of 1.52"),
        (1e6, "right to within 1.1%"),
        (989_100, "right to three digits"),
        (989_000, "exactly right"),
    ],
)
def test_distance_is_a_factor_and_its_orders(said, told):
    assert told in bare(reveal.off(reveal.Distance(said, 989_000))).replace("\u202f", " ")


def test_reveal_explains_also_when_right():
    for right in (True, False):
        text = bare(reveal.reveal("10⁶", "989,000×", "right", "Width makes the gap.", right))
        assert "Width makes the gap." in text and "You said 10⁶" in text and "989,000" in text


def test_a_reading_that_does_not_judge_its_claim_says_so_in_the_row():
    beside, judging, none = (bare(claim_panel.panel([name])) for name in ("kws_eager_utilization", "resnet_4_gflop", "capacity_gap"))
    assert claim_panel.OTHER_CASE in beside and "does not decide the verdict" in beside
    assert claim_panel.OTHER_CASE not in judging + none and "Measured" in judging


def test_claims_stand_side_by_side_with_sources_and_the_reason():
    text = bare(claim_panel.panel(["h100_peak_1979", "capacity_gap"])).replace("\u202f", " ")
    for words in (
        "Does not hold",
        "1,979 TFLOP/s",
        "989 TFLOP/s",
        "h200_sxm/micro",
        "structured sparsity",
        "We have computed this but not measured it",
        "None of the 178 readings agrees",
        "152,588×",
        "164,000×",
    ):
        assert words in text
    assert text.count("Measured") == 2 and "–" not in text  # what was not measured has no column
    assert text.count("152,588×") == text.count("164,000×") == 1  # claimed and computed


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("tail_63", ["Claim", "Model"]),
        ("compas_fpr_twice", ["Claim", "Counted"]),
        ("int8_free", ["Claim", "Our experiment"]),
        ("all_reduce_is_bound_by_the_bisection", ["Claim", "Model", "As its maker states it"]),
        ("daly_adds_the_save", ["Claim", "Model", "Another model’s figure"]),
        ("energy_follows_services", ["Claim", "Published estimate"]),
        ("hours_are_flops_over_peak", ["Claim", "Measured"]),  # not the same division twice
        ("floods_as_predicted", ["Claim", "Measured"]),
        ("first_tokens_as_predicted", ["Claim", "Model", "Measured"]),
        ("tokens_as_predicted_for_few", ["Claim", "Model", "Measured"]),  # a prediction, however close
    ],
)
def test_a_figure_is_called_what_it_is(name, columns):
    assert re.findall(r'<span class="il-label">(.*?)</span>', claim_panel.panel([name])) == columns


def test_three_claims_are_shown_and_measured_ones_come_first():
    shown = claim_panel.measured_first(["tail_63", "the_limit_is_a_bound", "resnet_4_gflop", "compas_fpr_twice"])
    assert [entry.id for entry in shown] == ["resnet_4_gflop", "compas_fpr_twice", "tail_63"]
    assert claim_panel.any_measured(["compas_fpr_twice"]) and not claim_panel.any_measured(["tail_63", "daly_adds_the_save"])


@pytest.mark.parametrize(
    ("name", "claimed", "model"),
    [
        ("compiling_removes_launches", "30% to 80%", "67.8%"),
        ("web_server_trivially_positive", "at most 24 h", "13.4 d"),
        ("capacity_gap", "152,588×", "164,000×"),  # too far off for its digits to matter
        ("kws_challenge", "2,334 calls", "2,334 calls"),
        ("llama_fits_orin", "at most 100%", "105%"),
        ("framework_choice", "2.667×", "2.99×"),  # near enough within a fifth
        ("kv_512_kib", "512 KiB", "128 KiB"),
        ("divide_by_sum_small", "at least 2 kernels", "1 kernel"),
        ("h100_crosses_at_886", "N\u202f=\u202f886", "N\u202f=\u202f886"),
    ],
)
def test_a_claim_s_figures_have_three_digits_unless_more_are_the_point(name, claimed, model):
    assert (claim(name).claimed, claim(name).model) == (claimed, model)
    assert model.replace(" ", "\u202f") in re.sub(r"<[^>]+>", "", claim_panel.panel([name]))


def test_no_claim_shows_more_digits_than_it_needs():
    for found in all_claims().values():
        digits = len(re.sub(r"\D", "", found.model).strip("0"))
        assert digits <= max(3, len(re.sub(r"\D", "", found.claimed).strip("0"))) or found.id == "llama_fits_orin", found.id


def test_hud_says_everything_in_words():
    items = [hud.prediction("Act I", "`25`%: as inside one box"), hud.design(False), ("Bottleneck", "OOM", "fail")]
    text = bare(hud.hud(items, Receipt(True, "2026-01-31T12:00:01Z", "/home/x/ledger.db")))
    assert (
        "Act I you said 25%" in text
        and "Your design △ does not meet the goal yet" in text
        and "✗ OOM" in text
        and "saved 2026-01-31" in text
    )
    assert "not saved yet" in bare(hud.hud([], None))
    assert "△ changed since 2026-01-31" in bare(hud.hud([], Receipt(True, "2026-01-31T12:00:01Z", changed=True)))
    assert "not saved: the disk is full" in bare(hud.hud([], Receipt(False, error="the disk is full")))
    assert hud.prediction("Act I", None) == ("Act I", "open", "")
    assert hud.prediction("Act II", None, is_open=False) == ("Act II", "locked", "")


def test_the_hud_tells_the_time_on_the_learners_own_clock():
    """03:20 in Greenwich is 08:50 in India, and still the evening before in New York."""
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    for hours, written in ((0, "03:20"), (5.5, "08:50"), (-5, "2026-03-01")):
        assert hud.clock("2026-03-02T03:20:01Z", now.astimezone(timezone(timedelta(hours=hours)))) == written


# --- contexts


def test_contexts_are_the_lab_s_and_the_track_comes_first(lab, ledger):
    def current():
        return context.current(lab.contexts, {}, ledger, "lab_90_new").slug

    assert [c.slug for c in lab.contexts] == ["h100_sxm", "pi5"] and current() == "h100_sxm"
    ledger.append("lab_91_other", "context", {"context": "pi5"})
    assert current() == "pi5"
    ledger.append("lab_91_other", "context", {"context": "elsewhere"})
    assert current() == "pi5"


def test_this_machine_is_a_context_once_measured(lab, ironlaw_home):
    assert context.this_machine() is None
    from ironlaw.registry.loader import folder

    place = ironlaw_home / "hardware"
    place.mkdir()
    (place / "this_machine.toml").write_text((folder("hardware") / "laptop_cpu.toml").read_text())
    here = context.contexts(lab.sheet.contexts)[-1]
    assert (here.slug, here.regime, here.label) == ("this_machine", "here", "This machine") and here.peak > 0
    (place / "this_machine.toml").write_text("damaged = ")
    assert context.this_machine() is None  # no lab may fail to open for it


def test_a_minus_is_one_and_not_a_hyphen():
    assert cards.card("Net", -29.5, "s")["value"] == "−29.5" and "−45.6" in prose.dress("-45.6%")
