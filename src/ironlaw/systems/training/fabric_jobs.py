"""Three training jobs that share the switches of one cluster: a dense model, a mixture of experts, a pipeline.

Arithmetic runs at the FLOP/s per device of a published run; communication is not hidden. Figures are of one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from ironlaw.engine.cluster.jobs import EXCHANGE, LINE, RING, FabricJob, Waiting, typical_waiting
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.engine.cluster.trees import NODE, Tree
from ironlaw.errors import BadValue
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.runs import about

DENSE, EXPERTS, PIPELINE = "dense", "experts", "pipeline"
MODELS = {DENSE: "llama3_70b", EXPERTS: "llama3_8b", PIPELINE: "llama3_405b"}
NODES = {DENSE: 128, EXPERTS: 64, PIPELINE: 64}
HOSTS = NODE * sum(NODES.values())
SEQ = 8192
SEQUENCES = 8  # of each dense replica and of each pipeline, one after the other
STAGES = 8  # of a pipeline, a node each
GRADIENT, ACTIVATION = 4.0, 2.0  # bytes of a number
RUN = "llama3_2024"  # whose devices' FLOP/s are taken, from the first row


def device_flops() -> float:
    """FLOP/s of one device, in a step of the published run."""
    return float(about(RUN)["row"][0]["device_flops"])


def _seconds(flops: float, devices: int) -> float:
    return flops / (devices * device_flops())


def fabric_jobs(experts: int = 256, top_k: int = 2) -> tuple[FabricJob, ...]:
    """The dense model is cut over the devices of a node and repeated; each device has one expert; a pipeline has a stage a node."""
    most = NODE * NODES[EXPERTS]
    if experts % NODE or most % experts:
        raise BadValue(f"{experts} experts don't fit one each on {most} devices; give {NODE}, {2 * NODE} … {most}", "experts")
    if not 1 <= top_k <= experts:
        raise BadValue(f"a token can't use {top_k} of {experts} experts; give 1 to {experts}", "top_k")
    dense, mixed, deep = decoder(MODELS[DENSE]), replace(decoder(MODELS[EXPERTS]), experts=experts, top_k=top_k), decoder(MODELS[PIPELINE])
    passed = SEQUENCES * SEQ
    nodes = NODES[DENSE]
    return (
        FabricJob(
            DENSE, nodes, RING, 2.0 * (nodes - 1) / nodes * GRADIENT * dense.parameters / NODE,
            _seconds(passed * float(token_flops(dense, SEQ, causal=True)), NODE),
        ),
        FabricJob(
            EXPERTS, NODES[EXPERTS], EXCHANGE, 4.0 * mixed.layers * SEQ * mixed.hidden * top_k * ACTIVATION,  # there and back, twice
            _seconds(SEQ * float(token_flops(mixed, SEQ, causal=True)), 1), experts // NODE,
        ),
        FabricJob(
            PIPELINE, NODES[PIPELINE], LINE, passed * deep.hidden * ACTIVATION / NODE,
            _seconds(passed * float(token_flops(deep, SEQ, causal=True)), NODE * STAGES), STAGES,
        ),
    )  # fmt: skip


def shared_tree(radix: int = 64, thin: tuple[float, ...] = (1.0,), rate: float | None = None, rails: bool = False) -> Tree:
    """Switches for all three jobs; without a rate, ports of NDR as they are built."""
    return Tree(HOSTS, radix, thin, rate or interconnect("ndr400").per_direction, NODE if rails else 1)


@lru_cache(maxsize=512)
def shared_fabric(
    tree: Tree | None = None, scattered: float = 0.0, collisions: float = 0.0, experts: int = 256, top_k: int = 2
) -> Mapping[str, Waiting]:
    """FabricJob -> what it waits for. `scattered`: the share of nodes that changed places; each job is at its median over placements."""
    return MappingProxyType(typical_waiting(tree or shared_tree(), fabric_jobs(experts, top_k), scattered, collisions))
