"""Names are taken where objects are; what is neither is answered with what to write."""

import pytest

import ironlaw as il

GRAPH, H200 = il.workload("resnet50", batch=1), il.hardware("h200_sxm")


def test_names_are_taken():
    assert il.predict(GRAPH, "h200").seconds == il.predict(GRAPH, H200).seconds
    assert il.predict("resnet50", H200, "compiled").seconds == il.predict(il.workload("resnet50"), H200, il.Plan("compiled")).seconds
    assert il.predict(GRAPH, H200, il.Plan(host="bare")).seconds == il.predict(GRAPH, H200, il.Plan(host=il.host("bare"))).seconds
    assert il.advise(GRAPH, "h200").finding == il.advise(GRAPH, H200).finding
    assert len(il.fuse("resnet50").groups) == len(il.fuse(il.workload("resnet50")).groups)
    assert il.workload("resnet50", dtype="torch.float16").dtype == il.workload("resnet50", dtype="half").dtype == "fp16"
    assert [p.plan.mode for p in il.analyze(GRAPH, on="h200", modes="eager").predictions] == ["eager"]


@pytest.mark.parametrize(
    ("call", "write"),
    [
        (lambda: il.predict(object(), H200), "il.capture"),
        (lambda: il.predict(GRAPH, 3), "il.hardware"),
        (lambda: il.predict(GRAPH, H200, 3), "il.Plan"),
        (lambda: il.predict(GRAPH, H200, il.Plan(host="bear")), "bare"),
        (lambda: il.advise(object(), H200), "il.capture"),
        (lambda: il.fuse(object()), "il.capture"),
        (lambda: il.analyze(GRAPH, on="h200").fastest("h100_sxm"), "h200_sxm"),
    ],
)
def test_a_wrong_call_says_what_to_write(call, write):
    with pytest.raises(il.IronlawError, match=write):
        call()
