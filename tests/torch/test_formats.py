"""The one table of number formats, held against what PyTorch and NumPy say of theirs."""

import pytest

from ironlaw.formats import BYTES, FORMATS, MODEL_FORMATS, computed_in, is_float, of_torch, spelled

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
IN_TORCH = [name for name, fmt in FORMATS.items() if fmt.torch]


@pytest.mark.parametrize("name", IN_TORCH)
def test_an_element_is_as_wide_in_pytorch(name: str) -> None:
    dtype = FORMATS[name].in_torch(torch)
    assert dtype.itemsize == BYTES[name]
    assert (dtype.is_floating_point or dtype.is_complex) == is_float(name)
    assert of_torch(FORMATS[name].torch, dtype.itemsize) == ("fp32" if name == "tf32" else name)


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.numpy])
def test_an_element_is_as_wide_in_numpy(name: str) -> None:
    assert numpy.dtype(FORMATS[name].numpy).itemsize == BYTES[name]


def test_four_bits_are_half_a_byte_and_nothing_to_compute_with() -> None:
    for name in ("fp4", "int4"):
        assert (BYTES[name], FORMATS[name].torch, FORMATS[name].numpy) == (0.5, "", "")
        with pytest.raises(AttributeError, match=name):
            FORMATS[name].in_torch(torch)


def test_what_is_not_listed_moves_as_many_bytes() -> None:
    assert [of_torch(dtype, width) for dtype, width in (("uint16", 2), ("uint32", 4), ("quint8", 1), ("float8_e5m2", 1))] == [
        "int16", "int32", "int8", "fp8",
    ]  # fmt: skip
    assert of_torch("uint64", 8) == "int64"


def test_every_eight_bit_float_is_one() -> None:
    """AMD's and the scales' too: as integers they would be counted in OP and run at INT8's rate."""
    names = [name for name in dir(torch) if name.startswith("float8_")]
    assert len(names) >= 4 and {of_torch(name, 1) for name in names} == {"fp8"}


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_a_complex_number_has_two_parts(name: str) -> None:
    part = computed_in(name)
    assert torch.empty(1, dtype=FORMATS[name].in_torch(torch)).real.dtype == FORMATS[part].in_torch(torch)
    assert BYTES[name] == 2 * BYTES[part] and computed_in(part) == part


@pytest.mark.parametrize("name", IN_TORCH)
def test_pytorchs_own_names_are_read(name: str) -> None:
    dtype = FORMATS[name].in_torch(torch)
    assert spelled(str(dtype)) == spelled(FORMATS[name].torch) == ("fp32" if name == "tf32" else name) and spelled(name) == name
    short = {"fp64": "double", "fp32": "float", "fp16": "half", "int64": "long", "int32": "int", "int16": "short"}.get(name, "")
    assert not short or (getattr(torch, short) == dtype and spelled(short) == name)


def test_a_model_can_be_turned_into_floats_only() -> None:
    for name in MODEL_FORMATS:
        assert torch.nn.Linear(2, 2).to(FORMATS[name].in_torch(torch))(torch.ones(1, 2, dtype=FORMATS[name].in_torch(torch))).shape == (
            1,
            2,
        )
