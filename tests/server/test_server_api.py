"""The API says what the engine says, and refuses with the reason and the dial that caused it."""

import math

import pytest
from how_thorough import RELEASE
from starlette.testclient import TestClient

import ironlaw as il
from ironlaw.pages.explore_answers import grouped

CASES = [
    {"workload": "resnet50", "hardware": "h100_sxm", "batch": "1", "dtype": "fp16"},
    {"workload": "resnet50", "hardware": "h200_sxm", "batch": "32", "dtype": "fp16", "mode": "compiled"},
    {"workload": "resnet50", "hardware": "h200_sxm", "batch": "32", "dtype": "fp32", "figures": "datasheet"},
    {"workload": "gpt2", "hardware": "a100_80gb_sxm", "batch": "4", "seq": "128", "dtype": "bf16", "dispatch": "synchronous"},
    {"workload": "gpt2", "hardware": "t4", "batch": "4", "context": "100", "phase": "decode", "dtype": "fp16", "mode": "graphs"},
    {"workload": "dscnn_kws", "hardware": "cortex_m7", "batch": "1", "dtype": "int8"},
]
SIZES = ("batch", "seq", "context")


def engine(query: dict[str, str]) -> il.Prediction:
    settings = {key: int(query[key]) if key in SIZES else query[key] for key in (*SIZES, "phase", "dtype") if key in query}
    measured = query.get("figures") != "datasheet"
    plan = il.Plan(query.get("mode", "eager"), query.get("dispatch", "queued"), calibrated=measured)
    return il.predict(il.workload(query["workload"], **settings), il.hardware(query["hardware"]), plan)


@pytest.mark.parametrize("query", CASES, ids=lambda q: f"{q['workload']}-{q['hardware']}-{q.get('mode', 'eager')}")
def test_figures_equal_the_engines(client: TestClient, query: dict[str, str]):
    p, got = engine(query), client.get("/api/predict", params=query).json()
    assert got["seconds"] == p.seconds
    assert tuple(got["overlap"]) == p.overlap
    assert got["terms"] == {"memory": p.data_s, "compute": p.compute_s, "overhead": p.overhead_s}
    assert (got["bound"], got["kernels"], got["utilization"], got["label"]) == (p.bound, p.kernels, p.utilization, p.label)
    assert (got["memory"]["total"], got["memory"]["fits"], got["energy_j"]) == (p.memory.total, p.fits, p.energy_j)
    assert (got["flops"], got["bytes"]) == (p.graph.work.flops, p.graph.work.bytes)
    assert got["hardware"]["ridge"] == p.hardware.ridge(p.graph.dtype)


def test_throughput_counts_images_and_tokens(client: TestClient):
    image = client.get("/api/predict", params=CASES[1]).json()
    assert image["throughput"]["per_s"] == pytest.approx(32 / image["seconds"])
    assert image["throughput"]["unit"] == "image"
    prefill = client.get("/api/predict", params=CASES[3]).json()
    assert prefill["throughput"]["per_s"] == pytest.approx(4 * 128 / prefill["seconds"])
    decode = client.get("/api/predict", params=CASES[4]).json()
    assert decode["throughput"]["per_s"] == pytest.approx(4 / decode["seconds"])
    assert decode["throughput"]["unit"] == "token"


def test_grouped_ops_add_up_to_all_of_them():
    p = engine(CASES[0])
    groups = grouped(p.ops)
    assert sum(g["count"] for g in groups) == len(p.ops)
    assert math.isclose(sum(g["total_s"] for g in groups), sum(row.seconds for row in p.ops))
    assert math.isclose(sum(g["flops"] * g["count"] for g in groups), p.graph.work.flops)
    assert [g["total_s"] for g in groups] == sorted((g["total_s"] for g in groups), reverse=True)


def test_figures_used_carry_value_source_and_date(client: TestClient):
    got = {f["name"]: f for f in client.get("/api/predict", params=CASES[0]).json()["figures"]}
    assert {"peak.fp16", "bandwidth", "launch", "memory", "power"} <= set(got)
    assert got["bandwidth"]["value"] == il.hardware("h100_sxm").bandwidth
    assert all(f["source"] and f["date"] for f in got.values())


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ({"batch": "0"}, "batch", "whole number"),
        ({"batch": "-3"}, "batch", "whole number"),
        ({"batch": "many"}, "batch", "'many'"),
        ({"batch": "1e400"}, "batch", "whole number"),
        ({"batch": "9" * 400}, "batch", "whole number"),
        ({"batch": ""}, "batch", "whole number"),
        ({"hardware": "h900"}, "hardware", "did you mean"),
        ({"workload": "resnet5000"}, "workload", "did you mean"),
        ({"dtype": "fp16", "hardware": "cortex_m7"}, "dtype", "cortex_m7 has no fp16"),
        ({"dtype": "fp17"}, "dtype", "fp17"),
        ({"mode": "fast"}, "mode", "eager"),
        ({"dispatch": "later"}, "dispatch", "queued"),
        ({"figures": "guessed"}, "figures", "datasheet"),
        ({"workload": "resnet50", "seq": "128"}, "seq", "takes no 'seq'"),
        ({"workload": "bert_base", "seq": "9999"}, "seq", "512"),
        ({"workload": "gpt2", "phase": "decode", "context": "4000"}, "context", "1,024"),
        ({"workload": "gpt2", "phase": "sleep"}, "phase", "prefill"),
        ({"colour": "red"}, "colour", "no setting"),
    ],
)
def test_bad_input_is_refused_with_a_reason(client: TestClient, query: dict[str, str], field: str, says: str):
    response = client.get("/api/predict", params=query)
    assert response.status_code == 400
    assert response.json()["field"] == field
    assert says in response.json()["error"]


def test_a_setting_twice_is_refused(client: TestClient):
    assert client.get("/api/predict?batch=1&batch=2").status_code == 400


def test_out_of_memory_says_what_to_change(client: TestClient):
    query = {"workload": "resnet50", "hardware": "cortex_m7", "dtype": "fp32"}
    memory = client.get("/api/predict", params=query).json()["memory"]
    assert not memory["fits"]
    assert memory["total"] == memory["activations"] > 10 * memory["capacity"]  # the weights lie in flash
    assert memory["weights"] < memory["flash"]
    assert memory["advice"]
    for change in memory["advice"]:
        if change["value"]:
            assert client.get("/api/predict", params=query | {change["field"]: change["value"]}).json()["memory"]["fits"], change


@pytest.mark.parametrize(
    "query",
    [
        {"workload": "resnet50", "hardware": "rtx_4090", "batch": "4096", "dtype": "fp32"},
        {"workload": "llama3_8b", "hardware": "rtx_4090", "batch": "64", "phase": "decode", "context": "8192", "dtype": "fp16"},
        {"workload": "llama3_70b", "hardware": "h100_sxm", "dtype": "fp16"},
    ],
    ids=lambda q: q["workload"],
)
def test_every_change_that_is_advised_fits(client: TestClient, query: dict[str, str]):
    memory = client.get("/api/predict", params=query).json()["memory"]
    assert not memory["fits"]
    changes = [change for change in memory["advice"] if change["value"]]
    assert changes
    for change in changes:
        changed = query | {change["field"]: change["value"]}
        if change["field"] == "workload":
            changed = {key: value for key, value in changed.items() if key in ("workload", "hardware", "dtype")}
        assert client.get("/api/predict", params=changed).json()["memory"]["fits"], change


def test_registry_lists_everything(client: TestClient):
    got = client.get("/api/registry").json()
    assert {m["slug"] for m in got["machines"]} == set(il.machines())
    assert {w["slug"] for w in got["workloads"]} == set(il.workloads())
    for machine in got["machines"]:
        assert machine["formats"] == list(il.hardware(machine["slug"]).peaks)
    assert "seq" not in next(w for w in got["workloads"] if w["slug"] == "resnet50")["takes"]
    assert {"seq", "context", "phase"} <= set(next(w for w in got["workloads"] if w["slug"] == "llama3_8b")["takes"])


SMALL = ("resnet50", "mobilenet_v2", "dscnn_kws", "mlp8_1024", "vit_b16", "bert_base", "gpt2_layer", "unet_block", "moe_small")
MODES = ("eager", "compiled", "graphs", "eager_graphs")


@pytest.mark.parametrize("slug", il.machines())
def test_every_machine_answers_for_every_format_it_has(client: TestClient, slug: str):
    """A format of each machine, another from one to the next; before a release, all."""
    first, formats = il.machines().index(slug), list(il.hardware(slug).peaks)
    for place, fmt in enumerate(formats if RELEASE else [formats[first % len(formats)]], first):
        query = {"workload": SMALL[place % len(SMALL)], "hardware": slug, "dtype": fmt, "mode": MODES[place % len(MODES)], "batch": "2"}
        response = client.get("/api/predict", params=query)
        assert response.status_code == 200, (query, response.text)
        assert response.json()["seconds"] > 0


@pytest.mark.parametrize("slug", il.workloads())
def test_every_workload_answers(client: TestClient, slug: str):
    for machine in ("h200_sxm", "l4", "pi5"):
        response = client.get("/api/predict", params={"workload": slug, "hardware": machine, "dtype": "fp32"})
        assert response.status_code == 200, response.text
