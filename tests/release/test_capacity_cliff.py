"""A load that a few devices carry is not answered with a hundred."""

import ironlaw as il


def test_a_step_that_is_too_long_is_not_answered_with_idle_replicas():
    """Llama 3 70B on A100s at 40 ms between tokens: smaller steps or pools apart, not a hundred devices with two sequences each."""
    asked = il.capacity("llama3_70b", on="a100", rate=5, tbt=0.04, prompt=1000, output=250)
    row = asked.answer["choices"][0]
    assert row["devices"] <= 32 and row["batch"] > 4 and row["tbt_s"]["promised"] <= 0.04
