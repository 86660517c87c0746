"""A step from the table against the direct prediction of its graph; the graph against counts by hand."""

import json
from pathlib import Path

import pytest

from ironlaw import Plan, hardware, predict, registry, workload
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.step_times import Grid, Line, Points
from ironlaw.errors import BadValue
from ironlaw.registry.decoders import decoder, steps, weight_bytes
from ironlaw.registry.families.moe_family import met
from ironlaw.registry.families.served import step

PLAN = Plan(mode="eager_graphs")
MODEL = "qwen2_0_5b"
CASES = [  # batch, context, chunk, past
    (1, 100, 0, 0), (7, 700, 0, 0), (50, 3000, 0, 0), (300, 300, 0, 0), (0, 0, 300, 0), (0, 0, 3000, 0), (0, 0, 700, 5000),
    (20, 1500, 500, 100), (100, 400, 1800, 0), (3, 9000, 200, 1000),
]  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return steps(decoder(MODEL), hardware("h200_sxm"), PLAN)


def test_between_points_the_table_is_within_six_percent_and_one_on_average(table):
    errors = []
    for batch, context, chunk, past in CASES:
        direct = predict(step(decoder(MODEL), batch=batch, context=context, chunk=chunk, past=past), hardware("h200_sxm"), PLAN)
        looked_up = table.seconds(batch, batch * context, [(chunk, past)] if chunk else (), 1 if chunk else 0)
        errors.append(abs(looked_up / float(direct.seconds) - 1))
    assert max(errors) < 0.06 and sum(errors) / len(errors) < 0.015


def test_two_chunks_share_a_launch(table):
    one, two = table.seconds(0, 0, [(512, 0)], 1), table.seconds(0, 0, [(256, 0), (256, 0)], 1)
    assert two < one  # fewer scores, the same products
    assert table.seconds(4, 4000) < table.seconds(4, 8000) < table.seconds(8, 16_000) < table.seconds(8, 16_000, [(64, 0)], 1)


def test_a_prompt_beyond_the_grid_costs_what_its_scores_do(table):
    """One of 32,000 tokens has sixteen times the scores of one of 8,000, however it is cut."""
    whole = table.seconds(0, 0, [(32_768, 0)], 1)
    direct = predict(step(decoder(MODEL), chunk=32_768), hardware("h200_sxm"), PLAN)
    assert whole == pytest.approx(float(direct.seconds), rel=0.12)  # a straight line from the last points is 40% too short
    cut = sum(table.seconds(0, 0, [(8192, past)]) for past in range(0, 32_768, 8192))
    assert whole == pytest.approx(cut, rel=0.06)


def test_a_table_is_straight_between_its_points_and_goes_on_beyond():
    line = Line((1.0, 2.0, 4.0), (10.0, 20.0, 30.0))
    assert [line.at(x) for x in (1, 1.5, 3, 6, 0)] == [10, 15, 25, 40, 0]
    grid = Grid((0.0, 1.0), (0.0, 2.0), ((0.0, 2.0), (1.0, 5.0)))
    assert [grid.at(0, 1), grid.at(1, 1), grid.at(0.5, 2), grid.at(2, 2)] == [1, 3, 3.5, 8]


def test_fewer_points_stay_close_and_each_is_predicted_once(table):
    few = steps(decoder(MODEL), hardware("h200_sxm"), PLAN, coarse=True)
    assert len(few.dense.ys) < len(table.dense.ys) / 2
    for batch, context, chunk, past in CASES:
        chunks, ends = [(chunk, past)] if chunk else (), 1 if chunk else 0
        assert few.seconds(batch, batch * context, chunks, ends) == pytest.approx(
            table.seconds(batch, batch * context, chunks, ends), rel=0.05
        )
    asked = []
    points = Points(3, lambda i: asked.append(i) or float(i))
    assert Line((0.0, 1.0, 2.0), points).at(1.5) == 1.5 and Line((0.0, 1.0, 2.0), points).at(1.2) == pytest.approx(1.2)
    assert asked == [1, 2] and list(points) == [0, 1, 2] and asked == [1, 2, 0]


@pytest.mark.parametrize("name", ["llama3_8b", "llama3_70b", MODEL, "moe_small"])
def test_a_decoder_weighs_what_its_workload_does(name):
    model = decoder(name)
    assert model.parameters == workload(name).params == step(model, batch=256, context=10).params  # enough tokens to meet every expert
    assert weight_bytes(model) == workload(name, dtype="bf16").weight_bytes - 2 * model.head_dim / 2  # the rotary table is a buffer
    assert step(model, batch=3, context=9).cache_bytes == 3 * 10 * model.cache().token_bytes


def test_flops_of_a_step_by_hand():
    m = decoder("llama3_8b")
    graph = step(m, batch=4, context=99, chunk=16, past=0)
    products = 2 * 20 * (m.matrices - m.vocab * m.hidden) + 2 * 5 * m.vocab * m.hidden
    attention = 4 * m.layers * m.heads * m.head_dim * (4 * 100 + 16 * 16)
    assert graph.flops == products + attention


def test_narrow_weights_and_cache_move_fewer_bytes():
    m = decoder("llama3_8b")
    wide, narrow = step(m, batch=8, context=4096), step(m, batch=8, context=4096, weights="fp8", cache="fp8")
    assert narrow.cache_bytes == wide.cache_bytes / 2
    assert narrow.weight_bytes == weight_bytes(m, "bf16", "fp8") == pytest.approx(wide.weight_bytes / 2, rel=1e-4)


def test_norms_of_queries_and_keys():
    """Qwen3: a layer has two norms more, each over the heads of its part, with a gain for each of a head's numbers."""
    sizes = {"vocab": 151_936, "layers": 36, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 12_288}
    plain, normed = (Decoder("qwen3", **sizes, qk_norm=norm) for norm in (False, True))
    assert normed.parameters - plain.parameters == 36 * 2 * 128
    for fused in (True, False):
        graphs = [step(model, batch=4, context=10, chunk=6, fused=fused) for model in (plain, normed)]
        norms = [[op for op in graph.ops if op.kind == "rms_norm"] for graph in graphs]
        assert len(norms[1]) - len(norms[0]) == 72 and graphs[0].flops == graphs[1].flops
        assert graphs[1].params == normed.parameters
        assert [op.outputs[0].shape for op in norms[1][1:3]] == [(10, 32, 128), (10, 8, 128)]


def test_shards_of_a_model(table):
    m = decoder("llama3_70b")
    assert abs(8 * m.shard(8).matrices / m.matrices - 1) < 1e-9 and m.shard(8).kv_heads == 1 and m.shard(16).kv_heads == 1
    calls = []
    small = decoder(MODEL)
    with pytest.raises(BadValue, match="divisor"):
        small.shard(3)
    with pytest.raises(BadValue, match="reduce"):
        steps(small, hardware("h200_sxm"), PLAN, devices=2)
    half = steps(small, hardware("h200_sxm"), PLAN, devices=2, overhead=1e-3, reduce=lambda size: calls.append(size) or 1e-5)
    assert half.dense.at(4096) < table.dense.at(4096) * 0.6 + 2 * small.layers * 1e-5
    assert half.dense.at(1) > 2 * small.layers * 1e-5 and 2 * small.hidden in calls
    assert half.start == pytest.approx(table.start + 1e-3)


CONFIG = (
    '{"model_type": "mixtral", "vocab_size": 32000, "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,'
    ' "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2}'
)


def test_a_folder_with_a_config(tmp_path):
    (tmp_path / "config.json").write_text(CONFIG)
    model = decoder(f"hf:{tmp_path}")
    assert model.parameters == 46_702_792_704 and decoder(str(tmp_path / "config.json")) == model  # Mixtral's own count
    for text, words in (
        ("{", "not JSON"),
        ('{"model_type": "t5"}', "'t5'"),
        ('{"model_type": "llama"}', "no vocab_size"),
        ("[]", "model_type"),
    ):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(BadValue, match=words):
            decoder(str(tmp_path))
    with pytest.raises(BadValue, match="there is no"):
        decoder("hf:nowhere")
    with pytest.raises(BadValue, match="llama3_8b"):
        decoder("resnet50")


def test_a_step_with_nothing_to_do():
    with pytest.raises(BadValue, match="nothing to do"):
        step(decoder(MODEL))


def measured_steps(name="serving_steps"):
    file = Path(registry.__file__).parent / "evidence" / "h200_sxm" / f"{name}.json"
    return [(row["params"], row["mode"], row["event_s"]) for row in json.loads(file.read_text("utf-8"))["rows"]]


def test_steps_as_a_graph_on_an_h200_are_within_seven_percent():
    errors = {}
    for p, mode, seconds in measured_steps():
        if mode == "eager_graphs":
            sizes = {name: p[name] for name in ("batch", "context", "chunk", "past")}
            predicted = predict(step(decoder(p["model"]), **sizes, fused=False), hardware("h200_sxm"), Plan(mode=mode))
            errors[tuple(sizes.values())] = float(predicted.seconds) / seconds - 1
    assert len(errors) == 31 and max(map(abs, errors.values())) < 0.071
    assert sum(map(abs, errors.values())) / len(errors) == pytest.approx(0.029, abs=0.003)  # docs/serving.md


def test_fused_steps_against_compiled_ones_on_an_h200():
    """torch.compile joins most of what a serving engine's kernels do, so the fused graph should be near, and rather below."""
    errors = {}
    for p, mode, seconds in measured_steps("serving_steps_compiled"):
        sizes = {name: p[name] for name in ("batch", "context", "chunk", "past")}
        predicted = predict(step(decoder(p["model"]), **sizes), hardware("h200_sxm"), PLAN)
        errors[tuple(sizes.values())] = float(predicted.seconds) / seconds - 1
        assert mode == "graphs"
    decoding = [abs(error) for (_, _, chunk, _), error in errors.items() if not chunk]
    assert len(errors) == 18 and len(decoding) == 11 and max(decoding) < 0.056 and sum(decoding) / 11 == pytest.approx(0.020, abs=0.003)
    assert sum(map(abs, errors.values())) / 18 == pytest.approx(0.042, abs=0.003)  # docs/serving.md
    assert min(errors.values()) > -0.15 and max(errors.values()) < 0.04


def test_fused_kernels_are_faster_than_their_parts():
    for sizes in ({"batch": 8, "context": 500}, {"chunk": 512}, {"batch": 8, "context": 500, "chunk": 512, "past": 512}):
        whole, apart = (predict(step(decoder(MODEL), **sizes, fused=fused), hardware("h200_sxm"), PLAN) for fused in (True, False))
        assert whole.seconds < apart.seconds and whole.kernels < apart.kernels and whole.graph.weight_bytes == apart.graph.weight_bytes


def test_a_few_tokens_meet_few_experts():
    """Two of eight each, at random: one token meets 2, two meet 3.5, eight meet 7.2; an engine's kernels around them are seven."""
    assert [met(8, 2, tokens) for tokens in (1, 2, 8, 64)] == [2, 4, 7, 8] and met(128, 8, 8) == 52
    names = [
        op.name.removeprefix("layers.0.mlp.") for op in step(decoder("moe_small"), batch=8, context=64, layers=1).ops if ".mlp." in op.name
    ]
    assert names == ["router", "router.topk", *(f"experts.{one}" for one in ("align", "gate_up_proj", "act", "down_proj", "sum"))]
