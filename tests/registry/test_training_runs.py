"""Published training runs: a third sealed as the file says, and models as large as their makers count them."""

import hashlib

from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.publications import published

COUNTED = {  # by llm-foundry's benchmark page, and llm.c's log
    "mpt_125m": 125311488, "mpt_350m": 355985408, "mpt_760m": 760470528, "mpt_1b": 1315950592, "mpt_3b": 2651837440,
    "mpt_7b": 6658859008, "mpt_13b": 12853954560, "mpt_30b": 29975214080, "mpt_70b": 64862437376, "gpt2_1558m": 1557686400,
}  # fmt: skip


def test_a_third_is_sealed_by_a_draw_that_knows_only_names() -> None:
    rows = published("training_runs").rows
    names = sorted((str(row["run"]) for row in rows), key=lambda run: hashlib.sha256(f"training:{run}".encode()).hexdigest())
    assert {row["run"] for row in rows if row["sealed"] == "yes"} == set(names[: len(rows) // 3])
    assert len(set(names)) == len(rows) == 111


def test_models_are_as_large_as_published() -> None:
    assert {name: decoder(name).parameters for name in COUNTED} == COUNTED
    assert {row["model"] for row in published("training_runs").rows} >= COUNTED.keys()
