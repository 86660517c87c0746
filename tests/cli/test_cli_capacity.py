"""`ironlaw capacity`: what it finds, against the engine; and what it says to bad input."""

import json
import re
import shlex
from dataclasses import replace

import pytest

from ironlaw import hardware
from ironlaw.cli.capacity import EXAMPLE
from ironlaw.engine.serving.llm.layout import Layout
from ironlaw.engine.serving.llm.outcome import Moment, Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Promise, fewest
from ironlaw.engine.serving.llm.requests import Request, Spread, arriving, faster
from ironlaw.registry.decoders import decoder, steps
from ironlaw.registry.traces import trace
from ironlaw.report.serving_words import takes
from ironlaw.systems.questions.capacity import Capacity
from ironlaw.systems.serving import deployments
from ironlaw.systems.serving.deployments import deployment
from ironlaw.systems.serving.search.choice_rows import slices
from ironlaw.systems.serving.search.fewest import _lasting, best_policy
from ironlaw.systems.serving.search.layouts import layouts

MODEL = "qwen2_0_5b"
BASE = ("capacity", MODEL, "--on", "h200", "--requests", "300")


@pytest.fixture(autouse=True, scope="module")
def one_table():
    """A table of steps is a second's work: one for each setting is enough."""
    known = {}

    def once(model, machine, plan, **more):
        key = (model, machine.slug, tuple(sorted((k, v) for k, v in more.items() if k != "reduce")))
        if key not in known:
            known[key] = steps(model, machine, plan, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployments, "steps", once)
        yield


def test_one_device_is_enough(sh):
    told = sh.json(*BASE, "--rate", "10", "--price", "h200=3.6", "--simulate")
    row = told["choices"][0]
    assert (row["devices"], row["replicas"], row["binds"], row["basis"]) == (1, 1, "", "calibrated")
    assert told["fewest"] == told["cheapest"] == "h200_sxm" and told["unpriced"] == [] and told["refused"] == []
    assert row["dollars_per_million_tokens"] == pytest.approx(3.6 / 3600 / row["tokens_per_s"] * 1e6)
    assert row["joules_per_million_tokens"] == pytest.approx(700 / row["tokens_per_s"] * 1e6) and "upper bound" in told["energy"]
    assert row["ttft_s"]["promised"] <= 1 and row["tbt_s"]["promised"] <= 0.05 and row["goodput_per_s"] > 5
    model = decoder(MODEL)
    assert row["weight_bytes"] == 2 * model.parameters
    assert row["slots"] == int(row["cache_bytes"] // (16 * model.cache().token_bytes)) // -(-1366 // 16)
    assert len(told["run"]["slices"]) == 12 and max(part["busy"] for part in told["run"]["slices"]) <= 1.0001
    times = [(p["tbt_s"], -p["tokens_per_s_each"]) for p in told["frontier"]]
    assert times == sorted(times) and [cost for _, cost in times] == sorted((cost for _, cost in times), reverse=True)
    out = sh.out(*BASE, "--rate", "10", "--price", "h200=3.6", "--simulate")
    assert "Plan 1 × h200_sxm (1 device), at $3.6 per hour" in out and "One is enough" in out and "the run over time" in out


def test_more_traffic_needs_more_devices_and_says_what_binds(sh):
    told = sh.json(*BASE, "--rate", "2000", "--tp", "1", "--ttft", "50ms")
    row = told["choices"][0]
    assert row["devices"] > 1 and row["binds"] == "ttft" and told["prices"]["h200_sxm"]["source"].startswith("http")
    made = deployment(decoder(MODEL), hardware("h200_sxm"))
    requests = arriving(2000.0, 300, Spread(1155, 1.0), Spread(211, 1.0), seed=0)
    policy, promise = Policy(most=row["most"], budget=row["budget"]), Promise(0.05, 0.05)
    assert promise.binds(made.run(requests, policy, row["replicas"] - 1)) == "ttft"
    assert not promise.binds(made.run(requests, policy, row["replicas"]))
    work = sh.json(*BASE, "--rate", "2000", "--tp", "1", "--ttft", "100s")["choices"][0]
    assert work["binds"] == "work" and 1 < work["devices"] < row["devices"]
    told = sh.json("capacity", MODEL, "--on", "l4", "--requests", "50", "--rate", "1")
    assert told["cheapest"] is None and told["unpriced"] == ["l4"] and told["choices"][0]["dollars_per_million_tokens"] is None
    assert "--price l4=…" in sh.out("capacity", MODEL, "--on", "l4", "--requests", "50", "--rate", "1")


def test_a_mean_over_a_request_is_promised_apart_from_every_gap(sh):
    asked = (*BASE, "--rate", "500", "--tp", "1", "--tpot", "3ms")
    told = sh.json(*asked)
    row = told["choices"][0]
    assert told["promise"]["tbt_s"] is None and told["promise"]["tpot_s"] == 0.003
    made, requests = deployment(decoder(MODEL), hardware("h200_sxm")), arriving(500.0, 300, Spread(1155, 1.0), Spread(211, 1.0), seed=0)
    out = made.run(requests, Policy(most=row["most"], budget=row["budget"]), row["replicas"])
    means = sorted((leave - first) / (r.output - 1) for r, first, leave in zip(requests, out.first, out.leave, strict=True) if r.output > 1)
    assert row["tpot_s"]["promised"] == pytest.approx(means[-(-99 * len(means) // 100) - 1]) and means[int(0.98 * len(means))] <= 0.003
    both = sh.json(*asked, "--tbt", "3ms")["choices"][0]  # no gap may be longer: at least as many
    assert both["devices"] >= row["devices"] and both["tbt_s"]["promised"] <= 0.003
    assert "3 ms per token on average over a request" in sh.out(*asked) and "TPOT P99" in sh.out(*asked)
    code, out, _ = sh(*BASE, "--rate", "1", "--tpot", "1us")
    assert code == 1 and "per token even for a request that is alone" in " ".join(out.split())


@pytest.mark.parametrize("line", EXAMPLE.strip().splitlines())
def test_the_examples_work(sh, line):
    program, *argv = shlex.split(line)
    out = " ".join(sh.out(*argv, "--requests", "200").split())
    assert program == "ironlaw" and re.search(r"Plan \d+ × h\d00_sxm .* at \$", out)


def test_a_trace_of_the_registry_and_one_of_ones_own(sh, tmp_path):
    told = sh.json(*BASE, "--trace", "azure_chat_2023", "--rate", "11")
    assert told["load"]["rate"] == 11 and told["load"]["prompt"] == pytest.approx(trace("azure_chat_2023").prompt.mean)
    assert "arxiv.org" in sh.out(*BASE, "--trace", "azure_chat_2023")
    path = tmp_path / "mine.csv"
    path.write_text("when,prompt,output\n" + "".join(f"{i / 4},{100 + i},{20 + i % 7}\n" for i in range(40)))
    told = sh.json(*BASE, "--trace", str(path), "--columns", "arrival=when", "--rate", "8")
    assert told["load"]["source"] == "mine.csv" and told["load"]["rate"] == pytest.approx(8)
    assert told["choices"][0]["requests"] == 40
    path.write_text("arrival,prompt,output\n0,1,\n")
    code, _, err = sh(*BASE, "--trace", str(path))
    assert code == 2 and "line 2: no output" in err


def test_a_promise_that_no_device_keeps(sh):
    code, out, _ = sh(*BASE, "--rate", "1", "--tbt", "10us", "--json")
    told = json.loads(out)
    assert (
        code == 1
        and told["choices"] == []
        and told["fewest"] is None
        and "even for a request that is alone" in told["refused"][0]["reason"]
    )
    code, out, _ = sh(*BASE, "--rate", "1", "--tbt", "10us")
    assert code == 1 and "between tokens" in out
    code, out, _ = sh(*BASE, "--rate", "2000", "--most", "1", "--tp", "1", "--json")
    told = json.loads(out)
    assert code == 1 and told["answer"] is None and "not even 1 replica of" in told["refused"][0]["reason"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "--rate 5"), (("--trace", "azure_chat_2023", "--prompt", "5"), "lengths of its own"),
        (("--trace", "azure"), "azure_chat_2023"),
        (("--trace", "none.csv"), "there is no none.csv"), (("--rate", "5", "--price", "h200"), "h200=3.5"),
        (("--rate", "5", "--price", "h900=1"), "h900"), (("--rate", "5", "--percentile", "100"), "between 0 and 100"),
        (("--rate", "5", "--columns", "when=3"), "arrival=NAME"), (("--rate", "5", "--weights", "int3"), "int4"),
        (("--rate", "5", "--memory", "1.5"), "at most 1"), (("--rate", "5", "--spread", "-1"), "all alike"),
        (("--rate", "5", "--tp", "3"), "divisor"), (("--rate", "5", "--dp", "2"), "no experts"), (("--rate", "5", "--pp", "99"), "too few"),
        (("--rate", "5", "--batch", "300", "--budget", "100"), "not a"),
    ],
)  # fmt: skip
def test_bad_input(sh, more, words):
    code, _, err = sh(*BASE, *more)
    if words == "not a":  # the batch is cut to the budget
        assert code == 0
    else:
        assert code == 2 and words in err


def test_no_machine_is_large_enough(sh):
    code, out, _ = sh(*BASE, "--rate", "5", "--memory", "0.001")
    assert code == 1 and "does not fit" in " ".join(out.split())
    code, out, _ = sh("capacity", "llama3_70b", "--on", "rtx_4090", "--rate", "1")
    assert code == 1 and "take narrower weights or a larger machine; no box with several of these is known" in " ".join(out.split())
    code, out, _ = sh("capacity", "llama3_70b", "--on", "h200", "--rate", "1", "--tp", "1")
    assert code == 1 and "take more devices, narrower weights, or a larger machine" in " ".join(out.split())


def test_intervals_and_the_largest_rate(sh):
    told = sh.json(*BASE, "--rate", "400", "--tp", "1", "--ttft", "200ms")
    row = told["choices"][0]
    ends = row["between"]
    for name, value in (("ttft", row["ttft_s"]["promised"]), ("tbt", row["tbt_s"]["promised"]), ("devices", row["devices"])):
        low, high = ends[name]
        assert low <= value <= high and (name == "devices" or low < high)
    rate, (low, high) = row["largest_rate"], ends["largest_rate"]
    assert rate >= 400 / 1.04 and low <= rate * 1.1 and rate <= high * 1.1
    made = deployment(decoder(MODEL), hardware("h200_sxm"))
    policy, promise = Policy(most=row["most"], budget=row["budget"]), Promise(0.2, 0.05)

    def broken(at):
        requests = faster(arriving(400.0, 300, Spread(1155, 1.0), Spread(211, 1.0), seed=0), at / 400)
        return promise.broken(made.run(requests, policy, row["replicas"]))

    assert not broken(rate) and broken(1.2 * rate)  # it ends where the work ends; a burst of 300 is over before
    out = " ".join(sh.out(*BASE, "--rate", "400", "--tp", "1", "--ttft", "200ms").split())
    assert "requests/s within the SLO, likely" in out and "Likely " in out


def test_the_largest_rate_of_a_fleet(sh):
    told = sh.json(*BASE, "--fleet", "2")
    (row,) = told["choices"]
    assert told["fleet"] == 2 and row["devices"] == 2 and row["binds"] and row["ttft_s"]["promised"] <= 1.0
    one = sh.json(*BASE, "--fleet", "1")["choices"][0]
    assert 1.4 < row["largest_rate"] / one["largest_rate"] < 2.8
    assert " take the largest rate, " in sh.out(*BASE, "--fleet", "2")
    code, out, _ = sh("capacity", "llama3_70b", "--on", "a10", "--fleet", "2", "--requests", "50")
    assert code == 1 and "a10" in out
    (far,) = sh.json(*BASE, "--fleet", "1", "--rate", "90000")["choices"]  # a rate that it is far from taking is only where it begins
    assert far["largest_rate"] == pytest.approx(one["largest_rate"], rel=0.1)


def needed(**given):
    asked = Capacity(MODEL, "h200", requests=300, tp=1, **given)
    found = best_policy(asked, deployment(asked.decoder, asked.on[0]), 64)
    return found.answer.replicas if found else 65


def test_more_is_never_less():
    """A looser SLO never takes more devices, nor does a higher rate take fewer."""
    for limit, values in (("ttft", (0.04, 0.05, 0.1, 1.0)), ("tbt", (0.003, 0.005, 0.02, 0.1))):
        counts = [needed(rate=1500, **{limit: value}) for value in values]
        assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0], (limit, counts)
    counts = [needed(rate=rate, ttft=0.05) for rate in (200, 800, 1600, 3000)]
    assert counts == sorted(counts) and counts[0] < counts[-1]


def test_a_fixed_layout_never_beats_the_free_search(sh):
    told = {tp: sh.json(*BASE, "--rate", "1500", "--ttft", "50ms", *(("--tp", tp) if tp else ()))["choices"][0] for tp in ("", "1", "2")}
    assert told[""]["devices"] == min(row["devices"] for row in told.values())


def test_a_fleets_figures_are_those_of_a_run_that_lasts(sh):
    """Two of three devices, at a rate at which what is made is what was asked for."""
    row = sh.json("capacity", MODEL, "--on", "l4", "--tp", "2", "--fleet", "3", "--output", "30", "--tbt", "20ms", "--requests", "300")[
        "choices"
    ][0]
    assert row["devices"] == 2 and row["tokens_per_s"] == pytest.approx(row["largest_rate"] * 30, rel=0.1)
    assert row["ttft_s"]["promised"] <= 1.0 and row["tbt_s"]["promised"] <= 0.02
    for name, value in (("ttft", row["ttft_s"]["promised"]), ("largest_rate", row["largest_rate"]), ("tokens_per_s", row["tokens_per_s"])):
        low, high = row["between"][name]
        assert low <= value <= high


def test_a_datasheets_bound_has_no_likely_range(sh):
    out = " ".join(sh.out("capacity", MODEL, "--on", "tpu_v7", "--rate", "3", "--requests", "60").split())
    assert "At least 1 device: how much longer" in out and "requests/s within the SLO at most." in out and "Likely" not in out
    assert "rest on the datasheet alone (≥, so" in out


def test_a_file_at_a_higher_rate_comes_again_and_again(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("arrival,prompt,output\n" + "".join(f"{i},{100 + i},20\n" for i in range(11)))
    asked = Capacity(MODEL, "h200", trace=str(path))
    plain, dense, long = asked.load(1), asked.load(1, 2.5), asked.load(1, 2.5, 40)
    assert len(plain) == 11 and [r.arrive for r in plain] == list(range(11)) and asked.load(1, 1.0, 40) == plain
    assert len(dense) == 33 and [r.arrive for r in dense[:12]] == [i / 2.5 for i in range(12)] and dense[11].prompt == 100
    fast = replace(asked, rate=11).load(1, 2.0)
    assert [r.arrive for r in fast] == pytest.approx([i / 20 for i in range(22)])  # eleven in ten seconds of rate 11, twice as fast
    assert len(long) == 44 and len(replace(asked, requests=5).load(1, 2.5, 40)) == 15


def test_a_run_that_is_over_too_soon_is_made_longer():
    def served(mean_time):
        def run(requests):
            done = ((0.0, 1.0),) * len(requests)
            leave = tuple(r.arrive + mean_time(len(requests)) for r in requests)
            return Outcome(tuple(requests), tuple(r.arrive for r in requests), leave, done, ())

        return run

    class Asked:
        about, promise = {"rate": 1000.0}, Promise(1.0, 1.0)

        def load(self, replicas, factor=1.0, least=0):
            return tuple(Request(i / 1000, 1, 2) for i in range(max(2000, least)))

    steady = _lasting(Asked(), 1, served(lambda count: 0.6))
    assert len(steady.requests) == 3900 and not steady.behind  # five times 0.6 s × 1000, and a margin
    assert len(_lasting(Asked(), 1, served(lambda count: 0.3)).requests) == 2000
    late = _lasting(Asked(), 1, served(lambda count: count / 4000))
    assert late.behind and Asked.promise.broken(late) == ("work",) and Asked.promise.binds(late) == "work"


def test_machines_on_different_grounds_are_marked_and_compared_alike(sh):
    told = sh.json("capacity", MODEL, "--on", "h200,l4", "--rate", "3", "--requests", "50")
    h200, l4 = told["choices"]
    assert (h200["basis"], l4["basis"]) == ("calibrated", "transferred") and l4["step_s"] == l4["step_alike_s"] != h200["step_alike_s"]
    out = " ".join(sh.out("capacity", MODEL, "--on", "h200,l4", "--rate", "3", "--requests", "50").split())
    assert "To compare like with like" in out and "≈ " in out and "and on measurements of other machines for l4 (≈)." in out
    assert sh.json(*BASE, "--rate", "3")["choices"][0]["step_alike_s"] is None


def test_an_engines_own_way_with_prompts_is_tried_first(sh):
    argv = ("--engine", "sglang", "--rate", "3")
    (row,) = sh.json(*BASE, *argv)["choices"]
    assert row["prompts"] == "whole" and "mixed" not in row["command"] and "model-path Qwen/Qwen2-0.5B-Instruct" in row["command"]
    (row,) = sh.json(*BASE, *argv, "--prompts", "pieces")["choices"]
    assert row["prompts"] == "pieces" and "--enable-mixed-chunk" in row["command"]
    out = sh.out(*BASE, *argv)
    assert "SGLang 0.5.5 adds 1.34 ms to each step and 17 ms to the first token. It takes" in " ".join(out.split())


def test_speed_for_a_user_against_throughput(sh):
    told = sh.json("capacity", "moe_small", "--on", "h200", "--rate", "300", "--requests", "200")
    points = told["pareto"]
    users, each = ([p[key] for p in points] for key in ("tokens_per_s_user", "tokens_per_s_each"))
    assert len(points) > 4 and users == sorted(users, reverse=True) and each == sorted(each)
    best = points[-1]
    made = deployment(decoder("moe_small"), hardware("h200_sxm"), layout=Layout(1))
    if best["pools"] == "together" and best["devices_per_replica"] == 1:
        batch = best["batch"]
        seconds = made.table.seconds(batch, batch * (1155 + 211 / 2), [(round(batch * 1155 / 211), round(1155 / 2))], round(batch / 211))
        assert best["tokens_per_s_user"] == pytest.approx(1 / seconds, rel=0.01)


def test_its_old_name_works(sh):
    now, before = (sh.json(name, *BASE[1:], "--rate", "10") for name in ("capacity", "serve"))
    assert now == before and now["schema"] == "ironlaw-serve/1"


def test_a_model_that_is_not_a_decoder(sh):
    code, _, err = sh("capacity", "resnet50", "--on", "h200", "--rate", "5")
    assert code == 2 and "llama3_8b" in err


def test_slices_share_out_long_stretches():
    moments = (Moment(0.0, 10.0, 100, 4, 0, 8, 2, 6.0), Moment(10.0, 2.0, 1, 0, 50, 8, 0, 1.0))
    out = Outcome((Request(0.0, 1, 1), Request(1.0, 1, 1)), (1.0, 2.0), (2.0, 12.0), (), moments, 16)
    parts = slices(out, 6)
    assert [part["busy"] for part in parts] == pytest.approx([1.0] * 6) and parts[0]["batch"] == 4 and parts[-1]["batch"] == 0
    assert parts[-1]["prompt_tokens_per_s"] == 25 and parts[0]["cache"] == 0.5 and parts[0]["step_s"] == pytest.approx(0.1)


def test_the_fewest_by_halving():
    class Kept:
        requests = (1,)
        preempted, behind, hopeless = 0, False, False

        def __init__(self, good):
            self.good = good

        def ttft(self, p):
            return 0.5 if self.good else 2.0

        def slower_than(self, gap, p):
            return gap < 0.01

    for least in (1, 3):
        for need in range(least, 40):
            found = fewest(lambda n, need=need: Kept(n >= need), Promise(1.0, 0.05), 64, least)
            assert found.replicas == need and found.binds == ("ttft" if need > least else "work" if need > 1 else "")
    assert fewest(lambda n: Kept(False), Promise(1.0, 0.05), 8) is None
    assert fewest(lambda n: Kept(True), Promise(1.0, 0.05), 2, 3) is None


def sizes(asked, machine):
    return tuple(one.devices for one in layouts(asked, hardware(machine)) if one.ways == 1 and not one.whole)


def test_a_large_model_takes_the_fewest_devices_that_hold_it():
    asked = Capacity("llama3_70b", "h200", rate=1)
    assert sizes(asked, "h200_sxm") == (2, 4, 8) and sizes(asked, "a100_40gb_pcie") == (1,)
    assert sizes(replace(asked, weights="int4"), "h100_sxm") == (1, 2, 4, 8)
    assert sizes(asked, "a10") == (1,)  # no box of the registry has several


def test_layouts_follow_the_model_and_the_wires():
    asked = Capacity("llama3_70b", "h200", rate=1)
    assert all(one.ways == 1 for one in layouts(asked, hardware("h200_sxm")))  # NVLink, and no experts
    staged = [(one.tensor, one.stages) for one in layouts(asked, hardware("l40s")) if one.stages > 1]
    assert (4, 2) in staged and (1, 8) in staged  # PCIe cards
    mixed = layouts(Capacity("moe_small", "h200", rate=1), hardware("h200_sxm"))
    assert {(one.tensor, one.groups) for one in mixed if one.whole} >= {(1, 2), (1, 4), (2, 2)}
    (given,) = layouts(replace(asked, tp=2, pp=4), hardware("h200_sxm"))
    assert (given.tensor, given.stages, given.devices) == (2, 4, 8)


def test_a_page_with_pictures(sh, tmp_path):
    page = tmp_path / "serve.html"
    out = sh.out(*BASE, "--rate", "10", "--price", "h200=3.6", "--html", str(page))
    html = page.read_text("utf-8")
    assert "meets the SLO" in out and html.startswith("<!doctype html>") and "nothing is a bottleneck yet" in html
    carried = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
    assert set(carried["figures"]) == {"pareto", "sequences", "cache"} and all(f["text"] for f in carried["figures"].values())
    assert all(f'data-figure-of="{name}"' in html for name in carried["figures"])
    (tmp_path / "notes.txt").write_text("mine")
    code, _, err = sh(*BASE, "--rate", "10", "--html", str(tmp_path / "notes.txt"))
    assert code == 2 and "notes.txt" in err and (tmp_path / "notes.txt").read_text() == "mine"


def test_products_in_fp8(sh):
    argv = ("capacity", "llama3_2_1b", "--on", "h200", "--rate", "5", "--requests", "60", "--arithmetic", "fp8")
    (row,) = sh.json(*argv)["choices"]
    assert (row["arithmetic"], row["weights"], row["cache"]) == ("fp8", "fp8", "bf16")
    notes = " ".join(sh.out(*argv, "--notes").split())
    assert "products in fp8" in notes and "sure: the same if steps take as long as they may" in notes
    code, _, err = sh(*argv, "--weights", "int4")
    assert code == 2 and "leave --weights out" in err


def test_a_run_that_is_over_before_it_is_steady_is_said_to_be(sh):
    """Of 60 requests hardly any answer is over while others still come, so that more seem to fit than any lasting load would get."""
    asked = ("capacity", MODEL, "--on", "h200", "--rate", "50", "--output", "200")
    short, long = (sh.json(*asked, *few)["choices"][0] for few in (("--requests", "60"), ()))
    assert not short["steady"] and long["steady"] and short["largest_rate"] > long["largest_rate"]
    assert "over before it is steady" in takes(short) and "steady" not in takes(long)
