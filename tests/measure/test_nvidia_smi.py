"""What nvidia-smi prints, read; and what is said where it is missing."""

import pytest

from ironlaw.measure.devices import nvidia_smi


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ("0x0000000000000000", "throttled: no"),
        ("0x0000000000000024", "throttled: power cap, heat (software)"),
        ("0x8000000000000000", "for reasons 0x8"),
        ("[N/A]", "not reported"),
    ],
)
def test_a_gpus_clocks_and_throttling(monkeypatch, reasons, words):
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *_: f"1980 MHz, 1980 MHz, 3201 MHz, 41, 120.00 W, 700.00 W, {reasons}, 0 %")
    clocks, throttled = nvidia_smi.clock_notes()
    assert clocks == "GPU clock 1980 MHz of at most 1980 MHz, memory 3201 MHz, 41 °C, 120.00 W of 700.00 W, in use 0 %"
    assert words in throttled


def test_power(monkeypatch):
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *_: "700.00\n350.00")
    assert nvidia_smi.power_limit() == 700
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *_: "[N/A]")
    assert nvidia_smi.power_limit() is None


def test_one_of_several_gpus_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *words: asked.append(words) or "350.00")
    assert nvidia_smi.power_limit("GPU-1f2e") == 350
    assert asked == [("nvidia-smi", "--query-gpu=power.limit", "--format=csv,noheader,nounits", "--id=GPU-1f2e")]


def test_without_nvidia_smi_nothing_is_reported(monkeypatch):
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *_: "")
    assert nvidia_smi.clock_notes() == ["nvidia-smi reports no clocks here"]
    assert (nvidia_smi.power_limit(), nvidia_smi.driver()) == (None, "")
