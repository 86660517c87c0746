"""The day of a job: bars of each kind add up to its time, on whatever rows they fall; words and table say the same."""

import pytest

from ironlaw.engine.cluster.failures import draw
from ironlaw.engine.cluster.job_timeline import Stretch, shares, strip
from ironlaw.errors import BadValue
from ironlaw.pictures import lifeline
from ironlaw.pictures.lifeline import LOOK

DAY = 86400.0


def hours(figure, name):
    return sum(dict(bar.at)["x1"] - dict(bar.at)["x0"] for bar in figure.marks if bar.type == "bar" and bar.name == name)


@pytest.mark.parametrize("until", [3600.0, 40_000.0, DAY])
def test_bars_add_up_to_what_has_passed(until):
    job = list(strip(draw(4, 11_000.0, DAY), 1100.0, 60.0, 300.0, DAY))
    figure = lifeline.lifeline(job, DAY, until)
    assert sum(hours(figure, about) for about, *_ in LOOK.values()) == pytest.approx(until / 3600)
    passed = [s._replace(end=min(s.end, until)) for s in job if s.start < until]
    assert hours(figure, "useful work") == pytest.approx(float(shares(passed).goodput) * until / 3600)
    assert all(0 <= dict(bar.at)["x0"] <= dict(bar.at)["x1"] <= 6 + 1e-9 for bar in figure.marks if bar.type == "bar")
    assert figure.y.names[0] == "0 to 6 h" and figure.x.domain == (0.0, 6.0)


def test_many_short_stretches_become_cells_that_keep_the_time():
    job = list(strip(draw(4, 900.0, DAY), 80.0, 5.0, 60.0, DAY))
    figure = lifeline.lifeline(job, DAY, DAY)
    assert len(job) > 1000 > len(figure.marks)
    assert sum(hours(figure, about) for about, *_ in LOOK.values()) == pytest.approx(24.0)
    law = shares(job)
    assert hours(figure, "useful work") / 24 == pytest.approx(float(law.goodput), abs=0.25)


def test_words_and_table_say_the_same():
    figure = lifeline.lifeline([Stretch("work", 0, 3600), Stretch("save", 3600, 4000), Stretch("lost", 4000, 7200)], DAY, 7200.0)
    parts = "useful work 50%, saving 5.56%, lost work 44.4%, detecting and restarting 0%"
    assert figure.text.replace("\u202f", " ") == f"After 2 h: {parts}. At this moment: lost work."
    assert [cell.replace("\u202f", " ") for cell in figure.table.rows[0]] == ["useful work", "60 min", "50%"]
    moment = next(item for item in figure.marks if item.name == "this moment")
    assert dict(moment.at) == {"x": 2.0, "y": "0 to 6 h"}
    begun = lifeline.lifeline([Stretch("work", 0, 3600)], DAY, 0.0)
    assert begun.text == "The job begins."
    with pytest.raises(BadValue, match="give a job that runs"):
        lifeline.lifeline([], DAY, 1.0)
