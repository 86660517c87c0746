"""A model on devices: what a draft takes of the memory, and over which wire a cache moves."""

from dataclasses import replace

import pytest

from ironlaw import hardware
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box
from ironlaw.registry.decoders import decoder, weight_bytes
from ironlaw.systems.serving import deployments
from ironlaw.systems.serving.deployments import deployment

SMALL, LARGE = "qwen2_0_5b", "llama3_2_1b"


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
