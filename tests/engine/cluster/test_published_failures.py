"""How often to save and how often jobs fail, against what others published."""

import pytest

from ironlaw.engine.cluster.failures import daly, mtbf, optimum
from ironlaw.registry.publications import published
from ironlaw.registry.runs import unit_between_failures

NODE = 8  # GPUs


@pytest.mark.parametrize("row", published("daly_2006").rows, ids=lambda row: f"{row['mtbf'] / 3600:g} h")
def test_dalys_own_intervals(row) -> None:
    """Captions give two digits or three, and the exact interval rounds to the same."""
    for interval in (daly(row["save"], row["mtbf"]), optimum(row["save"], row["mtbf"])):
        assert interval / 60 == pytest.approx(row["interval"] / 60, abs=0.5 if row["mtbf"] > 3600 else 0.15)


def test_a_rate_of_nodes_gives_the_projected_jobs() -> None:
    table = published("cluster_failures")
    for row in table.where(kind="projected"):
        node = 1000 * 86400 / row["rate"]
        assert mtbf(node, row["devices"] / NODE) / row["mtbf"] == pytest.approx(1, abs=0.03)
    seen = table.where(kind="seen")[0]
    assert mtbf(1000 * 86400 / seen["rate"], seen["devices"] / NODE) > 3 * seen["mtbf"]  # jobs fail for other reasons than their nodes


def test_llamas_devices_failed_less_often_than_the_research_clusters() -> None:
    rate = published("cluster_failures").rows[0]["rate"]
    assert unit_between_failures("llama3_2024") > 1.5 * NODE * 1000 * 86400 / rate
