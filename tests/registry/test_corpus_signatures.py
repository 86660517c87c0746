"""The operators of the corpus, as they are shipped."""

import pytest
from how_thorough import RELEASE

import ironlaw as il
from ironlaw.engine.device.machine import Plan
from ironlaw.errors import IronlawError
from ironlaw.registry.corpus_signatures import RUNS, corpus, path, read

DATA = {
    "tensors": [[[8, 4], "fp16", "activation"], [[2, 4], "fp16", "weight"], [[8, 2], "fp16", "activation"]],
    "attrs": [{"dict": []}, {"dict": [["layout", "nhwc"], ["kernel", {"tuple": [3, 3]}]]}],
    "eager": [["linear", [0, 1], [2], 0, 12, 3, 0.5], ["copy", [0], [0], 1, 1, 1, 2.0]],
}


# of each run the first, which are the heaviest; all before a release, which takes a third of a minute
FEW = {"eager": 2_100, "training": 600}


def shipped(run):
    return corpus(run, None if RELEASE else FEW[run])


def test_it_is_small_enough_to_ship():
    assert path().stat().st_size < 2e6


def test_an_op_comes_back_as_it_was():
    product, copy = read(DATA, "eager")
    assert (product.count, product.runs, product.weight) == (12, 3, 0.5)
    assert product.op.work.matmul_flops == 2 * 8 * 4 * 2
    assert [t.shape for t in product.op.inputs] == [(8, 4), (2, 4)] and product.op.inputs[1].role == "weight"
    assert copy.op.attrs == {"layout": "nhwc", "kernel": (3, 3)}
    assert copy.op.work.bytes == 2 * 2 * 32  # read and written: two tensors, not one


@pytest.mark.parametrize("run", RUNS)
def test_several_hundred_models_are_in_it(run):
    known = shipped(run)
    assert sum(known.models.values()) >= 300 and set(known.models) == {"timm", "torchvision", "transformers", "diffusers"}
    assert known.kept > 0.9
    assert len(known.seen) > (2_000 if run == "eager" else 500)
    assert len({one.op.key for one in known.seen}) == len(known.seen)  # each signature once
    assert all(one.runs >= 1 and one.count >= one.runs and one.weight > 0 for one in known.seen)


def test_the_heaviest_come_first():
    machine, plan = il.hardware("h200_sxm"), Plan()

    def seconds(some):
        return sum(one.weight * float(machine.calibration.cost(one.op, machine, plan).device) for one in some)

    seen = shipped("eager").seen
    assert seconds(seen[:50]) > 5 * seconds(seen[-50:])


def test_an_unknown_run_is_named():
    with pytest.raises(IronlawError, match="inference"):
        corpus("inference")
