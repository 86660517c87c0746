"""Published traces by their quantiles, and a file of one's own with and without holes."""

import math
from itertools import pairwise

import pytest

from ironlaw.errors import BadRegistry, BadValue, UnknownName
from ironlaw.registry import loader
from ironlaw.registry.trace_file import read_trace
from ironlaw.registry.traces import trace

FACTS = {  # rate, mean prompt and output of the whole traces
    "azure_chat_2023": (19_366, 5.53, 1155, 211),
    "azure_code_2023": (8_819, 2.57, 2048, 27.9),
}


@pytest.mark.parametrize("name", FACTS)
def test_draws_have_the_means_of_the_whole_trace(name):
    count, rate, prompt, output = FACTS[name]
    law = trace(name)
    assert law.count == count and law.rate == pytest.approx(rate, rel=2e-3) and law.source and law.date
    assert law.prompt.mean == pytest.approx(prompt, rel=0.015) and law.output.mean == pytest.approx(output, rel=0.035)
    drawn = law.draw(8000, seed=1)
    assert len(drawn) / drawn[-1].arrive == pytest.approx(rate, rel=0.2 if "code" in name else 0.03)
    assert sum(r.prompt for r in drawn) / 8000 == pytest.approx(prompt, rel=0.04)
    assert law.draw(50, 1) == drawn[:50] != law.draw(50, 2)[:50]
    assert law.draw(50, 1, rate=2 * rate)[-1].arrive == pytest.approx(drawn[49].arrive * law.rate / (2 * rate))


def test_gaps_of_the_chat_trace_vary_as_measured():
    arrivals = [r.arrive for r in trace("azure_chat_2023").draw(20_000)]
    gaps = [b - a for a, b in pairwise(arrivals)]
    mean = sum(gaps) / len(gaps)
    assert math.sqrt(sum((g - mean) ** 2 for g in gaps) / len(gaps)) / mean == pytest.approx(1.09, abs=0.04)


@pytest.mark.parametrize(("batch", "ratio"), [(8, 2.16), (16, 2.40), (32, 2.66), (64, 2.98)])
def test_the_longest_of_a_static_batch_against_the_mean_answer(batch, ratio):
    """Of the shuffled chat trace, counted over all of it; its quantiles keep it: E[max of n] = ∫ x d(qⁿ) over the mean."""
    law = trace("azure_chat_2023").output
    points = list(zip(law.shares, law.values, strict=True))
    longest = sum((b - a) / (q - p) * ((q ** (batch + 1) - p ** (batch + 1)) * batch / (batch + 1) - p * (q**batch - p**batch))
                  + a * (q**batch - p**batch) for (p, a), (q, b) in pairwise(points))  # fmt: skip
    assert longest / law.mean == pytest.approx(ratio, rel=0.02)


def test_a_trace_that_is_not_there_or_broken(tmp_path, monkeypatch):
    with pytest.raises(UnknownName, match="azure_chat_2023"):
        trace("azure_chat")
    (tmp_path / "mine.toml").write_text('name="x"\nsource="y"\ndate="2026"\ncount=3\n')
    monkeypatch.setattr(loader, "slugs", lambda kind: ("mine",))
    monkeypatch.setattr(loader, "folder", lambda kind: tmp_path)
    trace.cache_clear()
    for text, words in (
        ("", "no rate"),
        ("rate=1.0\n", r"\[prompt\]"),
        ("rate=1.0\n[prompt]\nmean=1\nshares=[0, 1]\nvalues=[2, 1]\n", "do not fall"),
    ):
        (tmp_path / "mine.toml").write_text('name="x"\nsource="y"\ndate="2026"\ncount=3\n' + text)
        with pytest.raises(BadRegistry, match=words):
            trace("mine")
    trace.cache_clear()


def write(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_a_file_of_ones_own(tmp_path):
    path = write(tmp_path, "arrival,prompt,output\n10.5,374,44\n\n14.8,396,109\n")
    first, second = read_trace(path)
    assert (first.arrive, first.prompt, first.output) == (0.0, 374, 44) and second.arrive == pytest.approx(4.3)
    azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.680590,374,44\n2023-11-16 18:15:50.995169,396,109\n"
    assert read_trace(write(tmp_path, azure))[1].arrive == pytest.approx(4.314579)
    mine = "when,in,out\n0,5,6\n"
    assert read_trace(write(tmp_path, mine), {"arrival": "when", "prompt": "in", "output": "out"})[0].prompt == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"), ("arrival,prompt,output\n", "no requests"),
        ("arrival,prompt\n0,1\n", "no column 'output'; it has arrival, prompt"),
        ("arrival,prompt,output\n0,1,2\n1,,3\n", "line 3: no prompt"), ("arrival,prompt,output\n0,1\n", "line 2: no output"),
        ("arrival,prompt,output\n0,many,2\n", "line 2: prompt 'many' is not a number"), ("arrival,prompt,output\n0,1,-2\n", "output '-2'"),
        ("arrival,prompt,output\n0,1.5,2\n", "whole number"), ("arrival,prompt,output\n0,1,0\n", "at least 1"),
        ("arrival,prompt,output\n5,1,2\n4,1,2\n", "line 3: arrives at 4, before"), ("arrival,prompt,output\nsoon,1,2\n", "'soon'"),
        ("arrival,prompt,output\nnan,1,2\n", "at least 0"), ("arrival,prompt,output\n-1,1,2\n", "at least 0"),
    ],
)  # fmt: skip
def test_a_hole_is_named(tmp_path, text, words):
    with pytest.raises(BadValue, match=words):
        read_trace(write(tmp_path, text))


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(BadValue, match="there is no"):
        read_trace(tmp_path / "none.csv")
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(BadValue, match="not a CSV"):
        read_trace(tmp_path / "t.csv")


def test_lengths_without_a_draw_are_those_of_the_law():
    """Any stretch of them: the mean of the quantiles, and their tenth, half and nine tenths."""
    law = trace("azure_chat_2023")
    for part in (law.lengths(1000), law.lengths(3000)[2000:]):
        for tokens, quantiles in zip(zip(*part, strict=True), (law.prompt, law.output), strict=True):
            assert sum(tokens) / len(tokens) == pytest.approx(quantiles.mean, rel=0.01)
            assert [sorted(tokens)[int(share * 1000)] for share in (0.1, 0.5, 0.9)] == pytest.approx(
                [quantiles.at(share) for share in (0.1, 0.5, 0.9)], rel=0.03
            )
