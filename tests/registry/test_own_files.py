"""A user's own machines, boxes, hosts, prices, engines and stacks: by name and by path, listed with others, no hindrance when broken."""

import re
from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.errors import BadRegistry, BadValue, UnknownName
from ironlaw.kit.context import contexts
from ironlaw.registry import own_files
from ironlaw.registry.boxes import box, box_with
from ironlaw.registry.engines import engine
from ironlaw.registry.hosts import host
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import machines, own_machines
from ironlaw.registry.prices import price
from ironlaw.registry.stacks import stack

DEVICE = [{"device": "h100_sxm", "label": "H100", "format": "fp16"}]


def changed(kind: str, slug: str, **texts: str) -> str:
    """A file of the registry with other values for some of its first texts, and no name that belongs to another."""
    text = (folder(kind) / f"{slug}.toml").read_text()
    text = re.sub(r"^(aliases|reported) = .*\n", "", text, flags=re.M)
    for key, value in texts.items():
        text, count = re.subn(rf"^{key} = .*$", lambda _, key=key, value=value: f"{key} = {value}", text, count=1, flags=re.M)
        assert count, key
    return text


@pytest.fixture
def own(ironlaw_home, monkeypatch):
    monkeypatch.setattr(own_files, "_named", {})

    def write(kind, slug, text):
        place = ironlaw_home / kind / f"{slug}.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    return write


@pytest.fixture
def chip(own):
    return own(
        "hardware", "mychip", changed("hardware", "a100_80gb_sxm", name='"My chip"').replace("name =", 'aliases = ["chippy"]\nname =', 1)
    )


def test_a_machine_by_its_name_alias_and_path(chip, tmp_path):
    like = il.hardware("a100_80gb_sxm")
    for name in ("mychip", "MyChip", "chippy"):
        assert il.hardware(name).name == "My chip" and il.hardware(name).peaks == like.peaks
    other = tmp_path / "Other-Chip.toml"
    other.write_text(chip.read_text().replace("My chip", "Another").replace("chippy", "elsewhere"))
    assert il.hardware(str(other)).name == "Another"
    assert il.hardware("other_chip").slug == "other_chip"  # by its slug from then on
    assert "mychip" in machines()


def test_it_is_predicted_as_its_twin_that_nobody_measured(chip):
    """An A100 is transferred, not calibrated; the same figures under another name are the same prediction."""
    graph = il.workload("resnet50", batch=8)
    mine, twin = (il.predict(graph, il.hardware(name)) for name in ("mychip", "a100_80gb_sxm"))
    assert mine.basis == twin.basis == "transferred"
    assert mine.seconds == pytest.approx(twin.seconds, rel=1e-9)


def test_a_copy_of_a_measured_machine_is_not_measured(own):
    own("hardware", "copied", changed("hardware", "h200_sxm"))
    assert il.hardware("copied").calibration is None and il.hardware("h200_sxm").calibration is not None


def test_a_change_is_seen(chip):
    before = il.hardware("mychip").power
    chip.write_text(chip.read_text().replace('value = "400 W"', 'value = "300 W"'))
    assert (before, il.hardware("mychip").power) == (400, 300)


def test_labs_offer_it_unless_their_contexts_are_fixed(chip):
    assert [each.slug for each in contexts(DEVICE)] == ["h100_sxm", "mychip"]
    assert [each.slug for each in contexts([DEVICE[0] | {"fixed": True}])] == ["h100_sxm"]


def test_a_broken_file_hinders_nothing_and_says_why(chip, own):
    place = own("hardware", "broken", 'name = "Broken"\n')
    assert "mychip" in machines() and "broken" not in machines()
    assert str(place) in own_machines()["broken"] and "has no [memory]" in own_machines()["broken"]
    with pytest.raises(BadRegistry, match="has no \\[memory\\]"):
        il.hardware("broken")


@pytest.mark.parametrize("kind", ["hardware", "box", "host"])
def test_the_registry_keeps_its_names(kind, own, tmp_path):
    slug = {"hardware": "t4", "box": "dgx_h100", "host": "typical"}[kind]
    find = {"hardware": il.hardware, "box": box, "host": host}[kind]
    own(kind, slug, changed(kind, slug))
    assert find(slug).slug == slug  # the registry's
    copy = tmp_path / f"{slug}.toml"
    copy.write_text(changed(kind, slug))
    with pytest.raises(BadRegistry, match=r"name of the registry's own .* give the file another name"):
        find(str(copy))


def test_a_box_of_ones_own_machines(chip, own):
    own("box", "mybox", changed("box", "dgx_a100", name='"My box"', device='"chippy"', devices="4"))
    assert (box("mybox").device, box("mybox").devices) == ("mychip", 4)
    assert box_with("mychip") == box("mybox") and box_with("a100_80gb_sxm").slug != "mybox"


def test_a_host_and_a_price(chip, own):
    own("host", "myhost", changed("host", "xeon_vm", name='"My host"'))
    assert host("myhost").name == "My host"
    own("price", "mychip", 'vendor = "us"\n[hour]\nvalue = "2 USD"\nsource = "our ledger"\ndate = "2026-11-18"\n')
    own("price", "h100_sxm", 'vendor = "us"\n[hour]\nvalue = "1.25 USD"\nsource = "our contract"\ndate = "2026-11-18"\n')
    assert (price("mychip").per_hour, price("h100_sxm").per_hour) == (2.0, 1.25)


def test_an_engine_and_a_stack(own, tmp_path):
    own("engine", "ours", changed("engine", "vllm", name='"Our vLLM"').replace('"1.59 ms"', '"0.8 ms"'))
    assert (engine("Ours").name, engine("ours").step, engine("ours").starts) == ("Our vLLM 0.11.0", 0.0008, "ours")
    place = tmp_path / "named.toml"
    place.write_text('starts = "sglang"\n' + changed("engine", "vllm"))
    assert engine(str(place)).starts == "sglang" and engine("named").request == engine("vllm").request
    own("stack", "fork", 'starts = "torchtitan"\n' + changed("stack", "torchtitan", name='"Our fork"'))
    ours, theirs = (replace(stack(name), slug="", name="", sources=()) for name in ("fork", "torchtitan"))
    assert ours == theirs and "Our fork" in stack("fork").name
    with pytest.raises(UnknownName, match=r"did you mean ours.*engine/fork\.toml"):
        engine("fork")


@pytest.mark.parametrize(
    ("kind", "like", "old", "new", "said"),
    [
        ("engine", "vllm", 'name = "vLLM"', 'name = "vLLM"\nstarts = "vlm"', "name the engine whose command starts it"),
        ("engine", "vllm", "budget = 8192", "budget = 0.5", "write a whole number"),
        ("engine", "vllm", 'gpus = ["a10"', 'gpus = [7, "a10"', "how slugs of such GPUs begin"),
        ("stack", "torchtitan", "pad = 1", 'pad = "one"', "write whole numbers"),
        ("stack", "torchtitan", "zero = [3, 2]", "zero = [4]", "a list of some of 0, 1, 2, 3"),
        ("stack", "torchtitan", 'mode = "compiled"', 'mode = "fast"', "one of eager, compiled"),
        ("stack", "torchtitan", 'name = "torchtitan"', 'name = "x"\nstarts = "titan"', "name the stack whose options start it"),
    ],
)
def test_what_is_wrong_in_an_engine_or_a_stack(kind, like, old, new, said, own):
    text = changed(kind, like)
    assert text.count(old) == 1
    own(kind, "ours", text.replace(old, new))
    with pytest.raises(BadRegistry, match=said):
        {"engine": engine, "stack": stack}[kind]("ours")


def test_what_is_wrong_says_where_to_put_it(chip, ironlaw_home):
    with pytest.raises(UnknownName, match=re.escape(str(ironlaw_home / "hardware" / "mychap.toml"))) as error:
        il.hardware("mychap")
    assert "did you mean mychip" in str(error.value)
    with pytest.raises(BadValue, match=r"no file nowhere\.toml"):
        il.hardware("./nowhere.toml")
