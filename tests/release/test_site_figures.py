"""The site as learners get it: a browser's Python predicts what this one does, in a sample of the registry, each workload and half of the
machines in it; and the whole is small."""

import sys
from pathlib import Path

from site_runtime import release

import ironlaw as il
from ironlaw.site.build_site import build

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import site_figures

EVERY = 2 * (len(il.workloads()) + 1)  # pairs: every other machine, with the next workload but one; `benchmarks/site_figures.py` takes all


def test_predictions_are_equal_to_the_last_digits():
    ours = site_figures.here(EVERY)
    assert {name.split()[0] for name in ours} == set(il.workloads())
    assert len({name.split(" on ")[1].split(",")[0] for name in ours}) >= len(il.machines()) // 2
    assert site_figures.different(ours, site_figures.in_browser(EVERY, release())) == []


def test_a_host_sends_at_most_8_5_megabytes(tmp_path):
    assert 7e6 < build(tmp_path / "site", release()).gzipped <= 8.5e6
