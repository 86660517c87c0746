"""Every simulated figure that learners see, drawn again from ten other seeds: they confirm it to the digits shown."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("other_seeds", ROOT / "scripts" / "other_seeds.py")
other_seeds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other_seeds)
SIMULATED = {"lab_13_line", "lab_14_tail", "lab_v2_03_fabric", "lab_v2_10_kv_serving", "lab_v2_12_slo"}


def test_ten_other_seeds_confirm_every_figure():
    simulated, found = other_seeds.unconfirmed(other_seeds.names(), 10)
    assert {name for name in simulated if "/" not in name} == SIMULATED
    assert not found, "\n".join(f"{name}: {sentence[:200]} {figures[0]}" for (name, sentence), figures in found.items())
