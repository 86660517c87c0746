"""How `ironlaw capacity` puts requests together: every option changes the run as the engine says, and is said."""

import pytest

from ironlaw import hardware
from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.engine.serving.llm.requests import Spread, alike, arriving
from ironlaw.registry.decoders import decoder, steps
from ironlaw.systems.serving import deployments
from ironlaw.systems.serving.deployments import deployment

MODEL = "qwen2_0_5b"
BASE = ("capacity", MODEL, "--on", "h200", "--requests", "200", "--tp", "1")
LOAD = {"rate": 200.0, "seed": 0}


@pytest.fixture(autouse=True, scope="module")
def one_table():
    known = {}

    def once(model, machine, plan, **more):
        key = (model, machine.slug, tuple(sorted((k, v) for k, v in more.items() if k != "reduce")))
        if key not in known:
            known[key] = steps(model, machine, plan, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployments, "steps", once)
        yield


def requests(n=200):
    return arriving(LOAD["rate"], n, Spread(1155, 1.0), Spread(211, 1.0), seed=0)


def choice(sh, *more):
    (row,) = sh.json(*BASE, "--rate", "200", *more)["choices"]
    return row


def test_static_batches_need_more_devices(sh):
    usual, static = choice(sh), choice(sh, "--scheduling", "static", "--ttft", "5s")
    assert static["devices"] >= usual["devices"] and (static["scheduling"], static["prompts"]) == ("static", "whole")
    made = deployment(decoder(MODEL), hardware("h200"))
    out = made.run(requests(), Policy("static", static["most"], static["budget"]), static["replicas"])
    assert out.ttft(0.99) == static["ttft_s"]["promised"] <= 5
    assert "static batches" in sh.out(*BASE, "--rate", "20", "--scheduling", "static", "--ttft", "5s")


def test_whole_prompts_make_tokens_wait(sh):
    pieces, whole = (choice(sh, "--prompts", name, "--budget", "2048", "--tbt", "1s") for name in ("pieces", "whole"))
    assert whole["tbt_s"]["promised"] > pieces["tbt_s"]["promised"] and (pieces["prompts"], whole["prompts"]) == ("pieces", "whole")
    assert "whole prompts, while" in sh.out(*BASE, "--rate", "20", "--prompts", "whole")


def test_a_full_cache_is_recomputed_or_swapped(sh):
    tight = ("--memory", "0.011", "--ttft", "100s", "--tbt", "10s", "--most", "1", "--prompt", "300", "--output", "600")
    rows = [choice(sh, *tight, "--preemption", name) for name in ("recompute", "swap")]
    assert all(row["preempted"] > 20 and row["cache_peak"] > 0.95 for row in rows)
    assert rows[0]["ttft_s"] != rows[1]["ttft_s"] and [row["preemption"] for row in rows] == ["recompute", "swap"]
    assert "swapped to the host" in sh.out(*BASE, "--rate", "200", *tight, "--preemption", "swap")


def test_a_common_beginning_is_kept_once(sh):
    row = choice(sh, "--prefix", "400", "--budget", "2048")
    made = deployment(decoder(MODEL), hardware("h200"))
    out = made.run(alike(requests(), 400), Policy(most=256, budget=2048, sharing=True), row["replicas"])
    assert row["reused_tokens"] == out.reused > 0 and out.reused % 400 == 0 and row["prefix"] == 400
    assert choice(sh, "--budget", "2048")["reused_tokens"] == 0
    assert "shared prefix of 400 tokens" in sh.out(*BASE, "--rate", "20", "--prefix", "400")


def test_speculation_by_hand(sh):
    row = choice(sh, "--acceptance", "0.5", "--speculate", "2", "--budget", "2048")
    guess = row["speculation"]
    assert guess == {"tokens": 2, "acceptance": 0.5, "draft": None, "tokens_per_step": 1 + 0.5 + 0.25}
    made = deployment(decoder(MODEL), hardware("h200"))
    out = made.run(requests(), Policy(most=256, budget=2048, speculation=Speculation(2, 0.5)), row["replicas"])
    assert row["ttft_s"]["promised"] == out.ttft(0.99) and row["most"] == 256
    tried = choice(sh, "--acceptance", "0.5")
    each = [choice(sh, "--acceptance", "0.5", "--speculate", str(n)) for n in (1, 2, 4, 8)]
    fewest = min(one["devices"] for one in each)
    assert tried["devices"] == fewest <= choice(sh)["devices"]
    assert tried["speculation"] in [one["speculation"] for one in each if one["devices"] == fewest]
    drafted = choice(sh, "--acceptance", "0.5", "--speculate", "2", "--draft", MODEL, "--budget", "2048", "--tbt", "1s")
    assert drafted["speculation"]["draft"] == MODEL and drafted["cache_bytes"] == row["cache_bytes"] - row["weight_bytes"]
    assert drafted["tbt_s"]["p50"] > 1.5 * row["tbt_s"]["p50"]  # two of its steps before each of the model's
    assert "proposed per step by a draft that costs nothing" in sh.out(*BASE, "--rate", "20", "--acceptance", "0.5", "--speculate", "2")


def test_pools_apart_are_the_fewest_of_each(sh):
    row = choice(sh, "--apart", "--ttft", "200ms", "--tbt", "4ms")
    pools, promise = row["pools"], Promise(0.2, 0.004)
    assert row["replicas"] == row["devices"] == pools["prompts"] + pools["decoders"] and pools["wire"].startswith("NVLink")
    made, policy = deployment(decoder(MODEL), hardware("h200")), Policy(most=row["most"], budget=row["budget"])
    out = made.run_apart(requests(), policy, pools["prompts"], pools["decoders"])
    assert not promise.broken(out) and out.ttft(0.99) == row["ttft_s"]["promised"]
    if pools["prompts"] > 1:
        assert "ttft" in promise.broken(made.first_tokens(requests(), policy, pools["prompts"] - 1))
    if pools["decoders"] > 1:
        assert "tbt" in promise.broken(made.run_apart(requests(), policy, pools["prompts"], pools["decoders"] - 1))
    busy, quiet = (" ".join(sh.out(*BASE, "--rate", rate, "--apart").split()) for rate in ("20", "2"))
    assert "for prefill" in busy and "One of each kind is enough" in quiet


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--speculate", "3"), "--acceptance 0.7"), (("--draft", MODEL), "--acceptance 0.7"), (("--acceptance", "1.5"), "from 0 to 1"),
        (("--acceptance", "x"), "from 0 to 1"), (("--speculate", "0"), "from 1"), (("--scheduling", "dynamic"), "static"),
        (("--prompts", "half"), "whole"), (("--preemption", "kill"), "swap"), (("--prefix", "-5"), "from 1"),
        (("--apart", "--scheduling", "static"), "leave out"), (("--apart", "--most", "1"), "--most 2"),
        (("--acceptance", "0.5", "--draft", "resnet50"), "llama3_8b"),
        (("--acceptance", ".5", "--speculate", "9", "--budget", "5"), "at least 10"),
    ],
)  # fmt: skip
def test_bad_ways(sh, more, words):
    code, _, err = sh(*BASE, "--rate", "20", *more)
    assert code == 2 and words in err
