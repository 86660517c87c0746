"""A class of 300 ledgers with 21 broken files: every figure against a count in the plan that the files were written from."""

import csv
import io
import json
import math
from dataclasses import replace
from html import escape
from statistics import mean, median

import pytest
from made_class import STATED, again, asked, broken, export, hand_in, plan, text
from scipy import stats as scipy_stats

from ironlaw.classroom import collect, count, write
from ironlaw.classroom.class_tables import TABLES
from ironlaw.classroom.sections.overview import overview
from ironlaw.classroom.sheets import Choice, said_unit, sheet
from ironlaw.classroom.stats import fisher, point_biserial, quartiles, wilson
from ironlaw.recall.beliefs import counterexample


@pytest.fixture(scope="module")
def plans(folder):
    return [plan(number) for number in range(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("class") / "handed-in"
    hand_in(place, 300)
    return place


@pytest.fixture(scope="module")
def figures(folder):
    return count(collect(folder))


def rows(name, figures):
    return list(csv.DictReader(io.StringIO(TABLES[name].text(figures).removeprefix("\ufeff"))))


def test_every_broken_file_is_named_with_its_kind_and_nobody_is_lost(figures):
    kinds = {refusal.file: refusal.kind for refusal in figures.hand_ins.refused}
    assert kinds == {name: kind for name, (_, kind) in broken(plan(10_000)).items()} and len(kinds) == 21
    assert len(figures.learners) == 300 and not figures.hand_ins.notes
    assert all(refusal.reason for refusal in figures.hand_ins.refused)


def test_an_edited_ledger_is_named_with_the_place_of_the_edit(figures):
    reasons = {refusal.file: refusal.reason for refusal in figures.hand_ins.refused}
    assert "event 3 (prediction" in reasons["edited-answer.json"]
    assert "event 1 (" in reasons["edited-order.json"] and "event 4 (" in reasons["edited-removed.json"]
    assert "13 events of 15" in reasons["edited-cut.json"] and "epoch" in reasons["edited-kind.json"]
    assert (
        "deeper than any ledger" in reasons["deep.json"]
        and "after 10 whole events" in reasons["truncated.json"]
        and "'ironlaw-ledger/3'" in reasons["newer.json"]
    )


def test_first_answers_and_options(figures, plans):
    assert len(figures.items) == len(asked())
    for one in figures.items:
        key = (one.item.lab, one.item.name)
        answers = [p.answers[key] for p in plans if key in p.answers]
        assert (one.n, one.right) == (len(answers), sum(right for _, right, _, _ in answers))
        for option in one.options:
            assert option.chosen == sum(choice == option.choice for choice, *_ in answers)
            assert option.right == (option.choice == one.item.right)


def test_how_far_off(figures, plans):
    (lab, question, _) = asked()[0]
    one = next(item for item in figures.items if (item.item.lab, item.item.name) == (lab, question.name))
    truth = 989e12 / 1e9  # the datasheets': 989 TFLOP/s in FP16 against 1 GFLOP/s, 500 MHz with two operations a cycle
    values = {"e2": 1e2, "e4": 1e4, "e6": 1e6, "e9": 1e9}
    distances = [math.log10(values[p.answers[lab, question.name][0]] / truth) for p in plans]
    assert one.orders == pytest.approx(median(distances), abs=0.02) and one.off == pytest.approx(median(map(abs, distances)), abs=0.02)
    wrong = [d for d, p in zip(distances, plans, strict=True) if not p.answers[lab, question.name][1]]
    assert (one.too_high, one.too_low) == (sum(d > 0 for d in wrong), sum(d < 0 for d in wrong))
    first = rows("predictions.csv", figures)[0]
    assert float(first["predicted_over_true"]) == pytest.approx(10 ** float(first["orders_off"]), rel=1e-4)


def test_which_questions_separate_as_scipy_says(figures, plans):
    for one in figures.items:
        key = (one.item.lab, one.item.name)
        here = [p for p in plans if key in p.answers]
        right = [p.answers[key][1] for p in here]
        rest = [mean(a[1] for k, a in p.answers.items() if k != key) for p in here]
        expected = scipy_stats.pointbiserialr(right, rest)
        assert one.compared == len(here) and one.separates == pytest.approx(expected.statistic)
        low, high = scipy_stats.pearsonr(right, rest).confidence_interval(0.95)
        assert one.interval == pytest.approx((low, high))


def test_misconceptions_by_share(figures, plans):
    questions = {(slug, question.name): (question, right) for slug, question, right in asked()}
    met, chose, sure = {}, {}, {}
    for p in plans:
        for key, (choice, right, confidence, _) in p.answers.items():
            question, key_id = questions[key]
            for option in question.options:
                if option.id != key_id:
                    met.setdefault(option.misconception, set()).add(p.number)
                if option.id == choice and not right:
                    chose.setdefault(option.misconception, set()).add(p.number)
                    if confidence in (4, 5):
                        sure.setdefault(option.misconception, set()).add(p.number)
    listed = {one.name: (one.met, one.chose, one.sure) for one in figures.beliefs}
    assert listed == {name: (len(met[name]), len(who), len(sure.get(name, ()))) for name, who in chose.items()}
    shares = [one.share for one in figures.beliefs]
    assert shares == sorted(shares, reverse=True)


def test_what_is_alive_is_on_the_first_screen_with_a_case_that_refutes_it(figures):
    first, second, *_ = figures.beliefs
    page = overview(figures)
    assert f"{first.says}”</strong> {100 * first.chose / first.met:.0f}% hold it ({first.chose} of {first.met})" in page
    assert escape(counterexample(first.name).text) in page and page.count('class="say"') == 3
    given_up = overview(replace(figures, beliefs=(replace(first, given_up=first.chose), replace(second, given_up=second.chose - 1))))
    assert f"{first.says}”</strong>" not in given_up and f"hold it (1 of {second.met})" in given_up


def test_calibration(figures, plans):
    stated = [(c, right) for p in plans for _, right, c, _ in p.answers.values() if c is not None]
    (one,) = figures.calibration
    for row in one.rows:
        assert (row.answers, row.right) == (sum(c == row.confidence for c, _ in stated), sum(r for c, r in stated if c == row.confidence))
    assert one.brier == pytest.approx(mean((STATED[c] - r) ** 2 for c, r in stated))


def test_time_per_step_without_the_hours_away(figures, plans):
    for one in figures.steps:
        key = (one.lab, one.step.removesuffix(".lock"))
        here = [p for p in plans if key in p.answers]
        seconds = [p.answers[key][3] for p in here if key not in p.breaks]
        assert (one.n, one.left_out) == (len(seconds), len(here) - len(seconds))
        assert one.quartiles[1] == median(seconds)
    for learner, p in zip(figures.learners, plans, strict=True):
        assert sum(learner.work.active_s.values()) == sum(a[3] for key, a in p.answers.items() if key not in p.breaks)
        assert learner.work.gaps == len(p.breaks)


def test_who_did_what(figures, plans):
    for row, p in zip(rows("learners.csv", figures), plans, strict=True):
        assert (row["learner"], int(row["questions_answered"])) == (p.name, len(p.answers))
        assert int(row["right_first"]) == sum(right for _, right, _, _ in p.answers.values())
        assert int(row["labs_finished"]) == (1 if p.number % 3 == 0 else 2)


def test_the_same_files_give_the_same_report(figures, folder, tmp_path):
    first, second = write(figures, tmp_path / "a"), write(count(collect(folder)), tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    page = first[0].read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "") and "src=" not in page and "300 learners" in page
    assert all(refusal.file in page for refusal in figures.hand_ins.refused)


def test_doubled_files_the_longest_counts(tmp_path):
    one, other = plan(1), plan(2)
    files = {"a-early.json": again(one, 3), "b-whole.json": export(one), "c-same.json": again(one, 0), "d.json": export(other)}
    for name, data in files.items():
        (tmp_path / name).write_text(text(data))
    hand_ins = collect(tmp_path)
    assert [ledger.file for ledger in hand_ins.ledgers] == ["b-whole.json", "d.json"]
    assert {r.file: r.kind for r in hand_ins.refused} == {"a-early.json": "doubled", "c-same.json": "doubled"}
    early, same = hand_ins.refused
    assert "3 events fewer; b-whole.json counts" in early.words() and "the same events" in same.words()


def test_what_counts_and_is_worth_a_look(tmp_path):
    one, other = plan(1), plan(2)
    unchained = {key: value for key, value in export(one).items() if key != "chain"} | {"format": "ironlaw-ledger/1"}
    unchained["events"] = [{k: v for k, v in item.items() if k != "hash"} for item in unchained["events"]]
    (tmp_path / "old.json").write_text(text(unchained))
    from made_class import events, renamed

    (tmp_path / "copy.json").write_text(text(export(other, [*events(other), *events(one)[2:]])))
    (tmp_path / "twin.json").write_text(text(export(renamed(plan(3), one.name), events(renamed(plan(3), one.name)))), encoding="utf-16")
    hand_ins = collect(tmp_path)
    notes = {(note.file, note.kind): note.words() for note in hand_ins.notes}
    assert len(hand_ins.ledgers) == 3 and not hand_ins.refused
    assert "unverified" in notes["old.json", "unverified"]
    assert "13 of its 28 events are those of old.json" in notes["copy.json", "shared"]
    assert ("twin.json", "same name") in notes and ("old.json", "same name") in notes
    labels = [learner.label for learner in count(hand_ins).learners]
    assert labels == ["Learner 001 (old.json)", "Learner 001 (twin.json)", "Learner 002"]


def test_the_statistics_against_scipy_and_by_hand():
    assert wilson(3, 10) == pytest.approx(tuple(scipy_stats.binomtest(3, 10).proportion_ci(method="wilson")))
    assert wilson(0, 0) is None and wilson(10, 10)[1] == 1.0
    assert quartiles([]) is None and quartiles([4.0]) == (4.0, 4.0, 4.0) and quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)
    right = [True] * 5 + [False] * 15
    assert point_biserial(right[:-1], [0.5] * 19) is None  # too few
    assert point_biserial([True] * 4 + [False] * 16, list(range(20))) is None  # too few were right
    assert point_biserial(right, [0.5] * 20) is None  # nobody differs
    assert point_biserial(right, list(range(20))) == pytest.approx(scipy_stats.pearsonr(right, range(20)).statistic)
    assert fisher(1.0, 20)[1] < 1.0 and fisher(0.0, 103) == pytest.approx((-0.1936, 0.1936), abs=1e-3)


def test_a_ledger_of_the_database_is_read_like_the_made_ones(tmp_path, ironlaw_home):
    from ironlaw.ledger import open_ledger

    with open_ledger() as ledger:
        ledger.set_learner_name("Ada")
        ledger.append("lab_01_magnitude", "opened", {})
        ledger.commit_prediction("lab_01_magnitude", "act1", "e4", 1e4, 5, False)
        ledger.commit_prediction("lab_01_magnitude", "act1", "e6", 1e6, 5, True, attempt=2)
        ledger.reset()
        ledger.commit_prediction("lab_01_magnitude", "act1", "e6", 1e6, 5, True)
        (tmp_path / "ada.json").write_text(json.dumps(ledger.export(), indent=1))
    figures = count(collect(tmp_path))
    (learner,) = figures.learners
    (answer,) = learner.work.answers.values()
    assert (learner.label, learner.work.resets, learner.hand_in.verified) == ("Ada", 1, True)
    assert (answer.choice, answer.correct, answer.attempts) == ("e4", False, 3)  # the first counts, whatever came after it
    (belief,) = figures.beliefs
    assert (belief.name, belief.chose, belief.sure, belief.given_up) == ("scale_one_generation", 1, 1, 1)


def test_the_truth_has_the_unit_that_the_question_asks_in():
    items = {(lab, name): item for lab in ("lab_07_fusion", "lab_v2_02_interconnect") for name, item in sheet(lab).items.items()}
    assert items["lab_07_fusion", "act1"].unit == "%" and items["lab_v2_02_interconnect", "act1"].unit == "GB/s"
    assert not said_unit([Choice("1 ms", 0.001), Choice("1,000 ms", 1.0)]), "the figure is in another unit than the words"
