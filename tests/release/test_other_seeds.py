"""Every simulated figure that learners see, drawn again from ten other seeds: they confirm it to the digits shown."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("other_seeds", ROOT / "scripts" / "other_seeds.py")
other_seeds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other_seeds)


def test_ten_other_seeds_confirm_every_figure():
    simulated, found = other_seeds.unconfirmed(other_seeds.names(), 10)
    assert {name.rpartition("/")[0] for name in simulated} == {"", "claim", "belief", "card"}  # what is simulated is found by what it draws
    assert not found, "\n".join(f"{name}: {sentence[:200]} {figures[0]}" for (name, sentence), figures in found.items())
