"""A busy machine is recognised: processor time of others, of other virtual machines, and a reference that drifts."""

import os

import pytest

from ironlaw.measure.noise import Noise, Reading, Watch, own, processors, settled

HERTZ = os.sysconf("SC_CLK_TCK")


class Machine:
    """Two processors, counters that a test moves."""

    def __init__(self) -> None:
        self.busy = self.total = self.stolen = self.ours = 0.0

    def run(self, seconds: float, ours: float, others: float = 0.0, stolen: float = 0.0) -> None:
        self.total += 2 * seconds
        self.busy += ours + others
        self.ours += ours
        self.stolen += stolen

    def watch(self) -> Watch:
        return Watch(lambda: Reading(self.busy, self.total, self.stolen), lambda: self.ours)


def test_a_quiet_machine():
    machine = Machine()
    machine.run(100, ours=3, others=90)  # before the watch: no matter
    watch = machine.watch()
    for _ in range(4):
        machine.run(5, ours=9, others=0.2)
        watch.reference(1.0e-3)
    noise = watch.verdict()
    assert noise.others == pytest.approx(0.8 / 40)
    assert not noise.noisy
    assert noise.reasons == ()


def watched(**times: float) -> Noise:
    """Ten seconds of two processors, shared out as it is told."""
    machine = Machine()
    watch = machine.watch()
    machine.run(10, **times)
    return watch.verdict()


def test_other_processes_are_noise():
    noise = watched(ours=8, others=6)
    assert noise.others == pytest.approx(0.3)
    assert "other processes took 30%" in noise.reasons[0]


def test_our_own_time_is_not_noise():
    assert watched(ours=20).others == 0


def test_a_neighbour_on_the_same_host_is_noise():
    noise = watched(ours=5, stolen=4)
    assert noise.stolen == pytest.approx(0.2)
    assert "hypervisor" in noise.reasons[0]


def test_a_drifting_reference_is_noise():
    watch = Machine().watch()
    for seconds in (1.0e-3, 1.01e-3, 1.02e-3, 1.5e-3):
        watch.reference(seconds)
    noise = watch.verdict()
    assert noise.drift == pytest.approx(0.5 / 1.015)
    assert noise.noisy
    assert "reference" in noise.reasons[0]


def test_one_visit_can_not_drift():
    watch = Machine().watch()
    watch.reference(1.0)
    assert watch.verdict().drift == 0


def test_a_system_that_tells_nothing():
    watch = Watch(lambda: None, lambda: 0.0)
    watch.reference(1.0)
    watch.reference(2.0)
    noise = watch.verdict()
    assert noise.others is None
    assert noise.noisy  # the reference still speaks
    assert noise.as_json() == {"drift": 0.6667, "noisy": True, "reasons": list(noise.reasons)}


def test_what_the_evidence_keeps():
    assert Noise(0.01234567, 0.0, 0.05).as_json() == {"others": 0.0123, "stolen": 0.0, "drift": 0.05, "noisy": False, "reasons": []}


def test_waiting_for_a_quiet_moment():
    machine, told, shares = Machine(), [], iter([1.6, 0.8, 0.01, 5.0])

    def sleep(seconds):
        machine.run(seconds, ours=0, others=next(shares) * seconds)

    noise = settled(10, told.append, machine.watch, sleep)
    assert not noise.noisy
    assert told == pytest.approx([0.8, 0.4])


def test_a_quiet_moment_that_never_comes():
    machine, looks = Machine(), []

    def sleep(seconds):
        looks.append(seconds)
        machine.run(seconds, ours=0, others=seconds)

    noise = settled(3, watch=machine.watch, sleep=sleep)
    assert noise.others == pytest.approx(0.5)
    assert sum(looks) == pytest.approx(3)


def test_proc_stat_is_read(tmp_path):
    stat = tmp_path / "stat"
    #                user nice system idle iowait irq softirq steal guest guest_nice
    stat.write_text("cpu  400 20 100 3000 50 5 5 20 300 10\ncpu0 1 2 3 4\n")
    reading = processors(stat)
    assert reading.total == 3600 / HERTZ
    assert reading.busy == (400 + 20 + 100 + 5 + 5) / HERTZ
    assert reading.stolen == 20 / HERTZ


@pytest.mark.parametrize("text", ["", "cpu", "cpu a b c d e\n", "intr 1 2 3 4 5 6 7 8\n"])
def test_no_proc_stat(tmp_path, text):
    assert processors(tmp_path / "missing") is None
    (tmp_path / "stat").write_text(text)
    assert processors(tmp_path / "stat") is None


def test_our_own_time_grows():
    before = own()
    sum(range(2_000_000))
    assert own() >= before
