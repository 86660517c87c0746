"""A model on devices: what a draft takes of the memory, and over which wire a cache moves."""

import json
from dataclasses import dataclass, replace

import pytest

from ironlaw import hardware
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.serving.llm.dealt_steps import DealtSteps
from ironlaw.engine.serving.llm.layout import Layout
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.systems.serving import deployments
from ironlaw.systems.serving.deployments import deployment

SMALL, LARGE = "qwen2_0_5b", "llama3_2_1b"
EXPERTS = {
    "model_type": "mixtral", "vocab_size": 32000, "hidden_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 16,
    "num_key_value_heads": 4, "intermediate_size": 3584, "num_local_experts": 8, "num_experts_per_tok": 2,
}  # fmt: skip


class Flat:
    basis = "bound"

    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return 0.01


@pytest.fixture(autouse=True)
def no_tables(monkeypatch):
    monkeypatch.setattr(deployments, "steps", lambda *args, **more: Flat())


def test_a_draft_takes_its_weights_and_its_part_of_the_cache():
    machine, draft = hardware("h200"), decoder(SMALL)
    plain, guessing = deployment(decoder(LARGE), machine), deployment(decoder(LARGE), machine, draft=draft)
    assert plain.cache_bytes - guessing.cache_bytes == guessing.weight_bytes - plain.weight_bytes == weight_bytes(draft)
    assert guessing.token_bytes == plain.token_bytes + draft.cache("bf16").token_bytes
    assert guessing.blocks(16) == int(guessing.cache_bytes // (16 * guessing.token_bytes)) < plain.blocks(16)
    assert guessing.speculation(3, 0.5).draft is guessing.draft_table and plain.speculation(3, 0.5).draft is None


def test_a_cache_moves_over_the_link_of_a_box_or_its_ports():
    made, joint = deployment(decoder(LARGE), hardware("h200"), 2), box("dgx_h200")
    assert made.way(4) == (joint.link.achieved, joint.link.name)
    assert made.way(5) == (joint.nic.achieved * joint.nics / joint.devices, joint.nic.name)  # ten devices: a second box
    alone = deployment(decoder(SMALL), hardware("a10"))  # a machine without a box
    assert alone.way(2) == (min(link.per_direction for link in alone.hardware.links), "PCI Express 4.0 x16")


def test_a_moved_prompt_comes_later_by_its_bytes():
    made = deployment(decoder(LARGE), hardware("h200"))
    request = Request(0.0, 1000, 3)
    out = made.run_apart([request], Policy(), 1, 1)
    rate, _ = made.way(2)
    assert out.first == made.first_tokens([request], Policy(), 1).first == (0.01,)
    assert out.leave[0] == pytest.approx(0.01 + 1000 * made.token_bytes / rate + 2 * 0.01)


def test_a_device_without_any_link_moves_nothing():
    made = deployment(decoder(SMALL), hardware("h200"))
    lone = replace(made, hardware=replace(made.hardware, slug="lone", links=()))
    with pytest.raises(BadValue, match="leave out `apart`"):
        lone.way(2)


def test_a_checkpoint_keeps_the_formats_that_it_is_stored_in():
    """Products in FP8 where the device multiplies FP8; an A100 reads FP8 weights and multiplies in BF16."""
    model = replace(decoder(LARGE), stored="fp8", products="fp8")
    new, old = (deployment(model, hardware(name)) for name in ("h200", "a100"))
    assert (new.weights, new.products) == ("fp8", "fp8") and (old.weights, old.products) == ("fp8", "")
    with pytest.raises(BadValue, match="0 is not a valid share of the memory"):
        deployment(model, hardware("h200"), memory=0)


def test_a_batch_is_handed_from_stage_to_stage():
    """The stages' activations, shared by the devices of a stage, over the link within a box and the ports between two."""
    model, joint, machine = decoder(LARGE), box("dgx_h200"), hardware("h200")
    within = deployment(model, machine, layout=Layout(tensor=2, stages=4)).table
    token = 2 * model.hidden
    assert within.ways == 4 and within.hand == 4 * max(joint.start, deployments.HANDED)
    assert within.hand_token == pytest.approx(4 * token / 2 / joint.link.achieved)
    beyond = deployment(model, machine, layout=Layout(tensor=8, stages=2)).table
    assert beyond.hand == 2 * max(joint.network_start, deployments.HANDED)
    assert beyond.hand_token == pytest.approx(2 * token / 8 / joint.nic.achieved)
    assert within.hand + 12 * within.hand_token + 0.01 == pytest.approx(within.seconds(48, 48 * 100.0))


def test_tokens_are_sent_to_their_experts_and_back(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(deployments, "steps", lambda *args, **more: given.update(more) or Flat())
    (tmp_path / "config.json").write_text(json.dumps(EXPERTS))
    model, joint = decoder(str(tmp_path)), box("dgx_h200")
    made = deployment(model, hardware("h200"), layout=Layout(groups=4, whole=True))
    assert (made.table.hand, made.table.hand_token) == (0.0, 0.0)  # there is one stage
    size = 1e6
    sent = collective(joint, "all_to_all", 4, size * 2)
    assert given["reduce"](size) == pytest.approx(2 * 6 * float(sent))  # and nothing is summed up by one device alone


def test_steps_that_a_benchmark_has_seen_take_longer():
    @dataclass(frozen=True)
    class Steps(Flat):
        factor: float = 1.0

    plain = replace(deployment(decoder(LARGE), hardware("h200")), table=Steps())
    assert plain.slower(1.5).table.factor == 1.5
    dealt = replace(plain, table=DealtSteps(Steps(), 4, 1e-3))
    assert (dealt.slower(1.5).table.table.factor, dealt.slower(1.5).table.hand) == (1.5, 1e-3)
