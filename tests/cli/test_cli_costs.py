"""--price and --latency: dollars by hand, the cheapest within a latency, and what is said where none is."""

import pytest

from ironlaw import hardware, predict, workload
from ironlaw.engine.device.machine import Plan

BASE = ("predict", "resnet50", "--on", "h100_sxm,l40s", "--mode", "graphs")


def test_dollars_and_joules_by_hand(sh):
    costs = sh.json(*BASE, "--batch", "8", "--price", "h100=3.6,l40s=0.9")["costs"]
    for row, price, watts in zip(costs["rows"], (3.6, 0.9), (700, 350), strict=True):
        seconds = float(predict(workload("resnet50", batch=8), hardware(row["hardware"]), Plan("graphs")).seconds)
        assert row["seconds"] == pytest.approx(seconds) and row["batch"] == 8 and row["meets"] is None
        assert row["dollars_per_million"] == pytest.approx(price * seconds / 8 * 1e6 / 3600)
        assert row["joules_per_million"] == pytest.approx(watts * seconds / 8 * 1e6)
    assert costs["per"] == "sample" and costs["cheapest"]["dollars_per_million"] == min(r["dollars_per_million"] for r in costs["rows"])
    assert "upper bound" in costs["energy"] and costs["prices"]["l40s"]["vendor"] == "as given"


def test_the_cheapest_batch_within_a_latency(sh):
    loose, tight = (sh.json(*BASE, "--latency", text)["costs"] for text in ("20ms", "1ms"))
    for costs, limit in ((loose, 0.02), (tight, 0.001)):
        able = [r for r in costs["rows"] if r["seconds"] <= limit]
        assert costs["cheapest"]["dollars_per_million"] == min(r["dollars_per_million"] for r in able) and not costs["cheapest"]["over_s"]
    assert loose["cheapest"]["batch"] > tight["cheapest"]["batch"] and loose["prices"]["h100_sxm"]["date"].startswith("20")
    out = sh.out(*BASE, "--latency", "20ms")
    assert "The cheapest is " in out and "RunPod" in out and "upper bound" in out


def test_none_is_quick_enough(sh):
    costs = sh.json(*BASE, "--latency", "1us")["costs"]
    quickest = min(r["seconds"] for r in costs["rows"])
    assert costs["cheapest"]["seconds"] == quickest and costs["cheapest"]["over_s"] == pytest.approx(quickest - 1e-6)
    out = sh.out(*BASE, "--latency", "1us")
    assert "None of these is within 1 µs" in out and "too long; try" in out


def test_tokens_of_a_language_model(sh):
    run = ("predict", "qwen2_0_5b", "--on", "h200", "--batch", "4", "--price", "h200=3.6")
    decode = sh.json(*run, "--decode", "--context", "512")["costs"]
    prefill = sh.json(*run, "--prefill", "128")["costs"]
    assert decode["per"] == "token" and prefill["per"] == "prompt token"
    for costs, tokens in ((decode, 4), (prefill, 4 * 128)):
        assert costs["rows"][0]["dollars_per_million"] == pytest.approx(3.6 / 3600 * costs["rows"][0]["seconds"] / tokens * 1e6)


def test_a_machine_without_a_price(sh):
    out = sh.out("predict", "resnet50", "--on", "t4", "--price")
    assert "--price t4=…" in out
    costs = sh.json("predict", "resnet50", "--on", "t4,l40s", "--price")["costs"]
    assert costs["unpriced"] == ["t4"] and costs["cheapest"]["hardware"] == "l40s"
    assert "No price is known for t4" in sh.out("predict", "resnet50", "--on", "t4,l40s", "--price")
    assert "costs" not in sh.json("predict", "resnet50", "--on", "t4")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--price", "h100"), "h200=3.5"), (("--price", "h100=-1"), "h200=3.5"), (("--price", "h900=1"), "h900"),
        (("--price", "h100=1,"), "h200=3.5"), (("--latency", "0"), "above 0"), (("--latency", "soon"), "soon"),
        (("--latency", "5 W"), "expected"),
    ],
)  # fmt: skip
def test_bad_prices(sh, more, words):
    code, _, err = sh(*BASE, *more)
    assert code == 2 and words in err
