"""What can't be is refused with the reason, and the setting that is to blame is named for the page that shows it."""

import pytest

from ironlaw.engine.cluster.alpha_beta import Timed, fit
from ironlaw.engine.cluster.buckets import sent
from ironlaw.engine.cluster.collectives import time
from ironlaw.engine.cluster.expert_exchange import loads
from ironlaw.engine.cluster.failures import Level, goodput, mtbf, optimum, series, two_level, wall
from ironlaw.engine.cluster.job_timeline import strip
from ironlaw.engine.cluster.layouts import Layout, check, stage_layers
from ironlaw.engine.cluster.library import collective, pace, ring_pace
from ironlaw.engine.cluster.links import Box, Interconnect, binding_edge, ring_bandwidth
from ironlaw.engine.cluster.loads import traffic
from ironlaw.engine.cluster.pipelines import gantt
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.schedules import steps
from ironlaw.engine.cluster.shapes import Shape, token_flops
from ironlaw.engine.cluster.topology import fat_tree, leaf_spine, thin_tree, torus
from ironlaw.errors import BadValue, UnknownName

WIRE = Interconnect("w", "wire", 10.0, 10.0)
BARE = Box("bare", "bare", "x", 4, 2, WIRE)
PORTS = Box("ports", "ports", "x", 4, 4, WIRE, None, WIRE, 2)
SHAPE = Shape("toy", 6, 64, 8, 4, 8, 256, 1000, experts=4)


@pytest.mark.parametrize(
    ("ask", "field", "words"),
    [
        (lambda: mtbf(-1, 2), "", "^mean time between failures is -1; give a finite number above 0"),
        (lambda: mtbf(1, 0), "", "^units is 0;"),
        (lambda: optimum(0.0, 1.0), "", "^time of a save is 0.0;"),
        (lambda: optimum(1.0, 0.0), "", "^mean time between failures is 0.0;"),
        (lambda: wall(0.0, 1.0, 1.0, 1.0), "", "^interval is 0.0;"),
        (lambda: goodput(-1.0, 1.0, 1.0, 1.0), "", "^interval is -1.0;"),
        (lambda: series({}), "", "^a system of no parts never fails; name at least one part$"),
        (lambda: two_level(Level(1, 1), Level(1, 1), 0.0, 9.0), "survives", r"^0\.0 is not a share of failures between 0 and 1; with one"),
        (lambda: list(strip([], 1.0, 1.0, 1.0, 0.0)), "", "^span is 0.0;"),
        (lambda: list(strip([], -1.0, 1.0, 1.0, 5.0)), "", "^interval is -1.0;"),
        (lambda: leaf_spine(10, 4, 1.0, 1.0), "hosts", "^10 hosts do not fill leaves of 4; give a multiple of 4$"),
        (lambda: leaf_spine(8, 4, 0.0, 1.0), "", "^oversubscription is 0.0;"),
        (lambda: fat_tree(0, 1.0), "radix", "^a tree of 3 tiers of 0-port switches; give an even number of ports and 2 or 3 tiers$"),
        (lambda: fat_tree(3, 1.0), "radix", "3-port"),
        (lambda: fat_tree(4, 1.0, tiers=4), "radix", "^a tree of 4 tiers"),
        (lambda: thin_tree(4, 5, 1), "leaves", "^5 leaves; a spine switch of 4 ports joins at most 4$"),
        (lambda: torus(1.0, 4, 0), "sides", r"^the torus is \(4, 0\); give the length of each side, such as 16, 16, 16$"),
        (
            lambda: traffic("ring", leaf_spine(4, 2, 1, 1.0), 1.0, [0, 1, 1, 2]),
            "order",
            "^the order does not name each of 4 hosts once; list 0 to 3$",
        ),
        (lambda: fragmented(4, -0.1), "share", r"^the share of the ranks is -0\.1;"),
        (lambda: sent(0.0, 1.0, 1.0, float), "", "^gradients is 0.0;"),
        (lambda: sent(1.0, 1.0, -1.0, float), "", "^backward pass is -1.0;"),
        (lambda: sent(1.0, -1.0, 1.0, float), "", "^bucket is -1.0;"),
        (lambda: time("all_reduce", "ring", 0, 1.0, 1.0, 1.0), "", "^ranks is 0;"),
        (lambda: time("all_reduce", "ring", 2, -1.0, 1.0, 1.0), "", "^message is -1.0;"),
        (lambda: time("all_reduce", "ring", 2, 1.0, -1.0, 1.0), "", "^α is -1.0;"),
        (lambda: time("all_reduce", "ring", 2, 1.0, 1.0, 0.0), "", "^β is 0.0;"),
        (lambda: time("all_reduce", "rabenseifner", 12, 1.0, 1.0, 1.0), "n", "^rabenseifner needs .* such as 8, not 12$"),
        (
            lambda: time("all_reduce", "two_level", 6, 1.0, 1.0, 1.0, per_node=4),
            "n",
            "^6 ranks do not fill nodes of 4; give a multiple of 4$",
        ),
        (lambda: steps("ring", 0), "n", "^0 ranks; give at least 1$"),
        (lambda: steps("rabenseifner", 6), "n", "^rabenseifner needs a power of two ranks, not 6$"),
        (lambda: steps("two_level", 6, 4), "n", "^6 ranks do not fill nodes of 4; give a multiple of 4$"),
        (lambda: gantt(4, 6, 2), "micro_batches", "^6 microbatches are not a multiple of 4 stages, which interleaving needs$"),
        (lambda: fit([Timed(1, 1, 1)]), "rows", "time at least two sizes that are far apart$"),
        (lambda: binding_edge(BARE, 1), "ranks", "^a ring of 1 rank has no edge; give at least 2$"),
        (
            lambda: ring_bandwidth(BARE, 3),
            "box",
            "^box bare has no bridge between its groups of devices; add `bridge = …` to registry/box/bare",
        ),
        (lambda: ring_bandwidth(BARE, 5, order=(0, 4, 1, 2, 3)), "box", "^box bare has no nic between boxes;"),
        (lambda: ring_bandwidth(Box("b", "b", "x", 2, 2), 2), "box", "^box b has no link between its devices;"),
        (lambda: ring_bandwidth(PORTS, 8, nics=0), "nics", "^0 NICs per box; ports has 2: give 1 to 2$"),
        (lambda: ring_bandwidth(PORTS, 8, nics=3), "nics", "^3 NICs per box;"),
        (lambda: ring_bandwidth(BARE, 2, order=(0, 2)), "order", r"^the order \[0, 2\] does not name each of 2 ranks once; list 0 to 1$"),
        (lambda: loads(PORTS, 1, 1.0), "ranks", "^1 rank has nobody to send to; give at least 2$"),
        (lambda: loads(PORTS, 8, 1.0, nics=3), "nics", "^3 NICs per box; ports has 2: give 1 to 2$"),
        (lambda: ring_pace(PORTS, 1), "ranks", "^a ring of 1 rank has no edge; give at least 2$"),
        (lambda: collective(BARE, "all_reduce", 0, 1.0), "ranks", "^0 ranks; give at least 1$"),
        (
            lambda: pace(BARE, 8, 2),
            "box",
            "^8 devices with 2 in a box need 4 boxes, and bare has no NIC; add nic and nics to .*, or ask for at most 4$",
        ),
        (lambda: Layout(tensor=0), "tensor", "^tensor is 0; give a whole number of at least 1$"),
        (lambda: Layout(micro=1.5), "micro", "^micro is 1.5;"),
        (lambda: Layout(zero=-1), "zero", "^-1 is not a valid ZeRO stage; give 0, 1, 2 or 3$"),
        (
            lambda: stage_layers(SHAPE, Layout(pipeline=5)),
            "pipeline",
            "^toy: 6 layers do not divide into 5 stages of 1 chunks, nor .* divides 6 or 8$",
        ),
        (lambda: check(SHAPE, Layout(tensor=3), 1, 8), "tensor", "^toy: 8 heads do not divide by 3; tensor parallelism has to"),
        (lambda: check(SHAPE, Layout(context=3), 1, 8), "context", "^toy: 8 tokens of a sequence do not divide by 6;"),
        (lambda: check(SHAPE, Layout(expert=3, data=3), 3, 8), "expert", "^toy: 4 experts do not divide by 3;"),
        (lambda: check(SHAPE, Layout(expert=4, data=2), 2, 8), "expert", "^toy: 2 replicas do not divide by 4;"),
        (
            lambda: check(SHAPE, Layout(data=3), 4, 8),
            "batch",
            "^4 sequences do not divide into 3 replicas with microbatches of 1; give a multiple of 3 sequences, such as 6, or",
        ),
        (
            lambda: check(SHAPE, Layout(pipeline=2, virtual=3), 3, 8),
            "virtual",
            "^interleaving needs a pipeline, .* of 2 microbatches .*; this layout leaves 3$",
        ),
        (lambda: check(SHAPE, Layout(virtual=2), 4, 8), "virtual", "^interleaving needs a pipeline"),
    ],
)
def test_the_setting_that_is_refused_is_named(ask, field: str, words: str) -> None:
    with pytest.raises(BadValue, match=words) as refused:
        ask()
    assert (refused.value.field or "") == field


@pytest.mark.parametrize(
    ("ask", "field", "words"),
    [
        (lambda: time("gossip", "ring", 2, 1.0, 1.0, 1.0), "kind", "^no collective 'gossip'"),
        (lambda: time("all_gather", "star", 2, 1.0, 1.0, 1.0), "algorithm", "^no algorithm for all_gather 'star'"),
        (lambda: steps("gossip", 2), "algorithm", "^no schedule of an all-reduce 'gossip'"),
        (lambda: traffic("gossip", leaf_spine(4, 2, 1, 1.0), 1.0), "kind", "^no traffic 'gossip'"),
        (lambda: Layout(recompute="some"), "recompute", "^no recomputation 'some'"),
        (lambda: token_flops(SHAPE, 8, "some"), "recompute", "^no recomputation 'some'"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_the_setting(ask, field: str, words: str) -> None:
    with pytest.raises(UnknownName, match=words) as refused:
        ask()
    assert refused.value.field == field
