"""Curves as a file holds them: a good file is read as it stands, and whatever is wrong in one is named."""

import copy
import math
from dataclasses import replace

import pytest

from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.stored_curves import arguments, host_json
from ironlaw.engine.device.host import Host

CURVE = {
    "floor": 1e-6,
    "cache": 2e12,
    "main": 1e12,
    "rate": 1e14,
    "knee": 8.0,
    "row": 1e-9,
    "step": 2e-9,
    "p": 2,
    "error": 0.1,
    "samples": 9,
}
FILE = {
    "curves": {"gemm": CURVE}, "launches": {"default": 2e-6, "linear": 3e-6}, "cache_bytes": 1e8, "graph_gap": 1e-7, "graph_start": 5e-6,
    "slower": 1.5, "entry": 4e-6, "compile_kernel_s": 0.25, "scatter": {"eager": [0.05, 0.1]}, "stand_in": 0.5, "common": 0.25,
    "sources": ["by hand"], "host": "a host",
    "backend": "cpu",
}  # fmt: skip
TOP = ("cache_bytes", "graph_gap", "graph_start", "slower", "entry", "compile_kernel_s", "stand_in", "common")
FIGURES = [(key,) for key in TOP] + [("curves", "gemm", key) for key in CURVE] + [("launches", "linear"), ("scatter", "eager", 1)]
TEXTS = [("host",), ("backend",), ("sources", 0)]


def changed(path, value):
    """The good file with one thing in it exchanged."""
    data = copy.deepcopy(FILE)
    *folders, last = path
    inner = data
    for name in folders:
        inner = inner[name]
    inner[last] = value
    return data


def test_a_good_file_is_read_as_it_stands():
    found = arguments(FILE)
    assert found["curves"] == {"gemm": Curve(**CURVE)}
    assert found["host"] == Host({"default": 2e-6, "linear": 3e-6}, 4e-6, 5e-6, name="a host")
    own = [key for key in (*TOP, "backend") if key not in ("entry", "graph_start")]
    assert {key: found[key] for key in own} == {key: FILE[key] for key in own}
    assert (found["scatter"], found["sources"]) == ({"eager": (0.05, 0.1, 1.0)}, ("by hand",))  # as files of earlier versions have it
    assert arguments(changed(("scatter", "eager", 0), -0.05))["scatter"] == {"eager": (-0.05, 0.1, 1.0)}  # a bias goes either way
    with pytest.raises(ValueError, match="eager is inf, not a valid number"):
        arguments(changed(("scatter", "eager", 0), math.inf))
    assert Calibration.from_json(Calibration(**found).to_json()) == Calibration(**found)


def test_a_host_has_a_table_of_its_own_since():
    """Earlier versions stored its figures beside the curves."""
    known = {"launches", "entry", "graph_start", "host"}
    host = {"launches": FILE["launches"], "entry": 4e-6, "graph_start": 5e-6, "name": "a host", "caveats": ["busy"], "estimate": True}
    apart = {key: value for key, value in FILE.items() if key not in known} | {"host": host}
    found = arguments(apart)["host"]
    assert found == replace(arguments(FILE)["host"], caveats=("busy",), estimate=True)
    assert host_json(found) == host | {"caveats": ("busy",)}


def test_what_may_be_left_out():
    bare = arguments({"curves": {}, "launches": {"default": 0.0}})
    assert bare == {"curves": {}, "host": Host({"default": 0.0}), "scatter": {}, "sources": (), "families": {}}


def test_a_curve_of_an_earlier_version_keeps_its_name_of_today():
    assert set(arguments(changed(("curves", "fused_dear"), CURVE))["curves"]) == {"gemm", "fused_transcendental"}


@pytest.mark.parametrize("path", FIGURES, ids=str)
@pytest.mark.parametrize("value", ["1", None, True, -1.0, math.inf, math.nan, 2e30, [1.0]], ids=repr)
def test_what_is_not_a_figure_is_named(path, value):
    word = path[1] if path[0] in ("launches", "scatter") else path[-1]
    with pytest.raises(ValueError, match=rf"\b{word}\b.* is .*{str(value)[:3].strip('[')}.*, not a valid number$"):
        arguments(changed(path, value))


@pytest.mark.parametrize("path", FIGURES, ids=str)
def test_only_what_divides_must_be_above_zero(path):
    if path[-1] in ("cache", "main", "rate", "cache_bytes", "slower"):
        with pytest.raises(ValueError, match=f"^{path[-1]}.* is 0, not a valid number$"):
            arguments(changed(path, 0))
    elif path[-1] != "p":
        arguments(changed(path, 0))
    assert path[-1] == "p" or arguments(changed(path, 1e30))


@pytest.mark.parametrize("p", [0, 3, 5, 1.5])
def test_a_power_is_one_that_a_curve_can_take(p):
    assert all(arguments(changed(("curves", "gemm", "p"), good)) for good in (1, 2, 4))
    with pytest.raises(ValueError, match=rf"^p of gemm is {p}, and not one of \(1, 2, 4\)$"):
        arguments(changed(("curves", "gemm", "p"), p))


@pytest.mark.parametrize("path", TEXTS, ids=str)
@pytest.mark.parametrize("value", [3, None, ["a"]], ids=repr)
def test_what_is_not_a_text_is_named(path, value):
    with pytest.raises(ValueError, match=rf"^(a source|{path[0]}) is .*{str(value)[:3].strip('[')}.*, not text$"):
        arguments(changed(path, value))


def test_a_launch_has_a_name_and_one_is_the_default():
    with pytest.raises(ValueError, match=r"^launch is 7, not text$"):
        arguments(changed(("launches", 7), 1e-6))
    with pytest.raises(ValueError, match=r"^there is no default launch$"):
        arguments(changed(("launches",), {"linear": 1e-6}))


def test_a_long_value_is_cut_and_an_unknown_constant_refused():
    with pytest.raises(ValueError, match=r"^host is \[0, 0.{55}, not text$"):
        arguments(changed(("host",), [0] * 1000))
    with pytest.raises(TypeError, match="warp_drive"):
        arguments(changed(("curves", "gemm", "warp_drive"), 9.0))


FAMILY = {
    "scales": [1.0, 2.0], "noise": 0.05, "signal": 0.3, "widen": 1.2, "places": [[1.0, 2.0], [-3.0, 0.0]], "residuals": [0.1, -0.1],
    "extras": [0.0, 2.0],
}  # fmt: skip


def family_with(**values):
    return FILE | {"families": {"gelu 16 bit": FAMILY | values}}


def test_a_family_is_read_as_it_stands():
    (found,) = arguments(family_with())["families"].values()
    assert found.places == ((1.0, 1.0), (-3.0, 0.0))  # in steps of the scales
    assert {key: values for key, values in found.to_json().items() if key in FAMILY} == FAMILY


@pytest.mark.parametrize("key", ["noise", "signal", "widen"])
def test_what_a_family_divides_by_is_above_zero(key):
    with pytest.raises(ValueError, match=f"^{key} of gelu 16 bit is 0$"):
        arguments(family_with(**{key: 0}))
    with pytest.raises(ValueError, match=f"^{key} of gelu 16 bit is -1, not a valid number$"):
        arguments(family_with(**{key: -1}))
    with pytest.raises(KeyError):
        arguments(FILE | {"families": {"gelu 16 bit": {name: value for name, value in FAMILY.items() if name != key}}})


@pytest.mark.parametrize("value", ["1", None, math.inf, math.nan, -2e30, 2e30])
@pytest.mark.parametrize("key", ["scales", "residuals", "extras", "places"])
def test_every_number_of_a_family_is_a_figure(key, value):
    wrong = [[1.0, value], [1.0, 1.0]] if key == "places" else [1.0, value]
    with pytest.raises(ValueError, match="gelu 16 bit has a value that is not a valid number"):
        arguments(family_with(**{key: wrong}))


@pytest.mark.parametrize("scale", [0, -1.0])
def test_a_length_is_above_zero(scale):
    with pytest.raises(ValueError, match="not a valid number"):
        arguments(family_with(scales=[1.0, scale]))


@pytest.mark.parametrize(("places", "residuals"), [([[1.0, 2.0]], [0.1, 0.2]), ([[1.0, 2.0]] * 3, [0.1, 0.2]), ([], [])])
def test_a_family_has_a_residual_for_each_place(places, residuals):
    with pytest.raises(ValueError, match=f"^gelu 16 bit has {len(places)} places and {len(residuals)} residuals$"):
        arguments(family_with(places=places, residuals=residuals))
