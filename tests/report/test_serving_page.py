"""The page of `ironlaw capacity`."""

from ironlaw.report.serving_page import _frontier


def test_a_single_batch_of_the_frontier_is_seen():
    batch = {"hardware": "h200_sxm", "devices_per_replica": 8, "tbt_s": 0.01, "tokens_per_s_each": 100.0}
    alone = {**batch, "devices_per_replica": 2, "tbt_s": 0.05, "tokens_per_s_each": 2000.0}
    figure = _frontier({"frontier": [batch, {**batch, "tbt_s": 0.02, "tokens_per_s_each": 500.0}, alone]})
    points = [mark for mark in figure.marks if mark.type == "point"]
    assert [(dict(point.at), point.label) for point in points] == [({"x": 0.05, "y": 2000.0}, "h200_sxm, 2 per replica")]
