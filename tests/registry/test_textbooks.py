"""Models as the course states them."""

import pytest

from ironlaw.claims import NAMESPACE
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import loader
from ironlaw.registry.textbooks import textbook, textbooks


def test_all_of_them_load_with_a_source():
    assert {"kws", "resnet50", "gpt2_layer"} <= set(textbooks())
    for name in textbooks():
        model = textbook(name)
        assert model.source and model.date and model.kernels >= 1 and model.kernel_s > 0


def test_figures_by_hand():
    spotter, resnet = textbook("kws"), textbook("resnet50")
    assert spotter.compute_s == pytest.approx(5e-3)
    assert (spotter.compile_s, spotter.gain, spotter.per_hour) == (10.0, 0.4, 100)
    assert resnet.gain == pytest.approx(700 / 1450)
    assert textbook("gpt2_layer").compile_s is None  # the course does not say
    assert NAMESPACE["textbook"] is textbook


def test_an_unknown_one_is_named_with_the_known():
    with pytest.raises(UnknownName, match=r"vgg.*kws"):
        textbook("vgg")


ODD = 'name = "x"\nkernels = {kernels}\nkernel = "{kernel}"\nremoved = 0.5\ndate = "2026"\n{more}'
HALF = 'source = "s"\n[compiled]\ncompile = "3 s"\nsource = "s"\ndate = "2026"'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ODD.format(kernels=3, kernel="5 us", more=""), "no source"),
        (ODD.format(kernels=0, kernel="5 us", more='source = "s"'), "whole number above 0"),
        (ODD.format(kernels=3, kernel="5", more='source = "s"'), "has no unit"),
        (ODD.format(kernels=3, kernel="5 us", more=HALF), "either gain"),
    ],
)
def test_a_file_that_says_too_little_is_refused(tmp_path, monkeypatch, text, complaint):
    (tmp_path / "odd.toml").write_text(text)
    monkeypatch.setattr(loader, "folder", lambda kind: tmp_path)
    monkeypatch.setattr(loader, "slugs", lambda kind: ("odd",))
    with pytest.raises(BadRegistry, match=complaint):
        textbook.__wrapped__("odd")
