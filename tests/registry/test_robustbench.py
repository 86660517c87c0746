"""RobustBench's figures: who is on the front, and whose own figures did not survive AutoAttack."""

import numpy as np
import pytest

from ironlaw.engine.numerics.pareto_nd import Candidate, pareto
from ironlaw.labs.lab_v2_14_adversarial.models import models
from ironlaw.registry.publications import published

SENSES = {"clean": "more", "left": "more"}


def test_the_front_and_claims_that_fell():
    table = published("robustbench_linf")
    cifar = table.where(dataset="cifar10")
    figures = [(row["model"], row["clean"], np.nanmin([row["autoattack"], row["external"]])) for row in cifar]
    front = pareto([Candidate(name, {"clean": clean, "left": left}) for name, clean, left in figures], SENSES)
    assert {(one.figures["clean"], one.figures["left"]) for one in front} == {(93.68, 73.71), (95.23, 68.06), (95.19, 69.71)}
    ours = {one.slug: one.attacked for one in models("cifar10")}
    assert ours == {name: left for name, _, left in figures}  # the lab shows the lower of the source's two columns
    assert ours["Kang2021Stable"] == 64.2 and table.row(model="Kang2021Stable")["unreliable"] == "yes"
    standard = table.value("autoattack", dataset="cifar10", model="Standard")
    assert standard == 0 and table.value("clean", dataset="cifar10", model="Standard") == 94.78
    for model, reported, left in (("Alfarra2020ClusTR", 74.04, 0.0), ("JinRinard2020Manifold", 71.22, 1.35)):
        assert (table.value("reported", model=model), table.value("autoattack", model=model)) == (reported, left)
    assert table.value("clean", model="Standard_R50") - table.value("clean", model="Salman2020Do_R50") == pytest.approx(12.5)


def test_many_models_are_accurate_and_robust():
    """21 of 99 are right on 90% of plain and on half of attacked images: the trade is bought off."""
    counts = {row["dataset"]: (row["models"], row["strong"], row["robust"], row["fell"]) for row in published("robustbench_counts").rows}
    assert counts == {"cifar10": (99, 21, 74, 15), "imagenet": (30, 0, 15, 0)}


def test_every_model_is_a_row_or_in_a_box():
    rows, boxes = published("robustbench_linf"), published("robustbench_boxes")
    for data, (total, robust) in {"cifar10": (99, 74), "imagenet": (30, 15)}.items():
        counted = boxes.where(dataset=data)
        assert sum(row["models"] for row in counted) + len(rows.where(dataset=data)) == total
        assert all(row["clean"] % 2 == 0 and row["attacked"] % 5 == 0 for row in counted)
        # over half right under attack: the boxes from 50 on, and the rows. By the strongest attack known it is the same count
        held = sum(row["models"] for row in counted if row["attacked"] >= 50) + sum(
            row["autoattack"] > 50 for row in rows.where(dataset=data)
        )
        assert held == robust
