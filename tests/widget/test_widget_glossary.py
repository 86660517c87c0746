"""Which words of a passage are marked: each term once, and never where something is pressed, headed, typed or drawn."""

from __future__ import annotations

import pytest

from ironlaw.claims.glossary import NAMED, terms
from ironlaw.widget.glossary_words import explanations, mark, mark_text, marked


def test_the_first_use_in_a_passage_is_marked_and_no_other():
    html = mark("<p>One kernel, then another kernel.</p><p>Kernels again.</p>")
    assert html.count("il-gloss") == 1
    assert html.startswith('<p>One <dfn class="il-gloss" tabindex="0" data-term="kernel">kernel</dfn>, then another kernel.')


@pytest.mark.parametrize("around", ["button", "a", "h2", "h3", "code", "summary", "label", "th", "svg", "math", "select"])
def test_nothing_is_marked_inside(around):
    html = f"<{around}>kernel <b>H100</b></{around}>"
    assert mark(html) == html
    assert marked(mark(f"{html}<p>kernel</p>")) == ["kernel"], "what comes after it is"


def test_dressed_figures_and_terms_of_the_law_are_left_alone():
    html = '<p><span class="il-num">3<span class="il-unit"> TFLOP/s</span></span> <span class="il-term il-overhead">overhead</span><br></p>'
    assert mark(html) == html


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("The H100's kernels", ["h100", "kernel"]), ("Registers and registry", ["register"]), ("a NVIDIA H100 SXM5", ["h100"]),
        ("FLOP/B, TFLOP/s", ["flops_rate"]), ("the KV cache and L2 cache", ["kv_cache", "l2"]), ("launches", ["launch"]),
        ("memory-bound kernels", ["memory_bound", "kernel"]), ("FP16-like, /kernel/, x.kernel", []),
        ("arithmetic intensity", ["intensity"]),
        ("batch size", ["batch"]), ("&kernel;", []), ("SMS", []), ("torch.compile", ["compile"]),
    ],
)  # fmt: skip
def test_words_are_whole_and_the_longest_wins(text, ids):
    assert marked(mark(text)) == ids


def test_one_word_of_a_passage_is_a_tab_stop():
    html = mark("<p>A kernel on the H100.</p><p>Its bandwidth.</p>")
    assert [html.count('tabindex="0"'), html.count('tabindex="-1"')] == [1, 2]
    assert html.index('tabindex="0"') < html.index('tabindex="-1"')
    assert mark(html + "<p>A launch.</p>").count('tabindex="0"') == 1, "also where a part was marked before"


def test_a_plain_text_is_escaped():
    assert mark_text("<b>kernel</b>").startswith("&lt;b&gt;<dfn")


def test_named_things_alone_give_nothing_away():
    assert marked(mark_text("The ridge of an A100 in FP16", NAMED)) == ["a100", "fp16"]


def test_marking_twice_changes_nothing_more():
    once = mark("<p>A kernel on the H100.</p>")
    assert mark(once) == once


def test_explanations_carry_a_figure_and_no_address():
    some = explanations(["bandwidth"])["bandwidth"]
    assert some["value"] == "4.8 TB/s" and some["label"].endswith("memory bandwidth")
    assert "http" not in some["source"] and some["source"].endswith(", 2023-11")
    assert set(explanations()) == set(terms())
