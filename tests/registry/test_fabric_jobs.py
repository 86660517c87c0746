"""Three jobs on one fabric: their bytes by hand, and who waits for a thin spine."""

import pytest

from ironlaw.errors import BadValue
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, HOSTS, PIPELINE, device_flops, fabric_jobs, shared_fabric, shared_tree


def test_bytes_and_seconds_by_hand() -> None:
    dense, experts, pipeline = fabric_jobs(256, 2)
    assert device_flops() == 430e12 and HOSTS == 2048
    assert dense.size == pytest.approx(2 * 127 / 128 * 4 * 70.55e9 / 8, rel=1e-3)
    assert dense.compute == pytest.approx(8 * 8192 * (6 * 69.5e9 + 6 * 80 * 8192 * 8192) / (8 * 430e12), rel=1e-3)
    assert experts.size == 4 * 32 * 8192 * 4096 * 2 * 2 and experts.group == 32
    assert pipeline.size == 8 * 8192 * 16384 * 2 / 8
    assert pipeline.compute == pytest.approx(8 * 8192 * 6 * 405e9 / (64 * 430e12), rel=0.07)  # scores come on top
    assert fabric_jobs(256, 4)[1].size == 2 * experts.size
    assert decoder("llama3_70b").parameters == pytest.approx(70.55e9, rel=1e-3)


def test_only_the_experts_wait_for_a_thin_spine() -> None:
    full, thin = shared_fabric(shared_tree()), shared_fabric(shared_tree(thin=(4.0,)))
    slower = {name: thin[name].step / full[name].step for name in thin}
    assert slower[DENSE] < 1.05 and slower[PIPELINE] == 1 and slower[EXPERTS] == pytest.approx(1.65, abs=0.02)
    for each in full.values():
        assert each.communication == each.port


def test_experts_of_one_node_send_nothing() -> None:
    assert shared_fabric(shared_tree(thin=(8.0,)), experts=8)[EXPERTS].communication == 0


def test_more_of_anything_bad_is_never_faster() -> None:
    for rails in (False, True):
        steps = [sum(one.step for one in shared_fabric(shared_tree(thin=(r,), rails=rails), 0.5).values()) for r in (1.0, 2.0, 4.0, 8.0)]
        assert steps == sorted(steps)
    lost = [shared_fabric(shared_tree(thin=(2.0,)), collisions=share)[EXPERTS].step for share in (0.0, 0.1, 0.3)]
    assert lost == sorted(lost) and lost[0] < lost[-1]


@pytest.mark.parametrize(("experts", "top_k"), [(12, 2), (1024, 2), (64, 0), (64, 65)])
def test_experts_that_do_not_fit_are_refused(experts: int, top_k: int) -> None:
    with pytest.raises(BadValue, match="give"):
        fabric_jobs(experts, top_k)
