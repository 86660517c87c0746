"""registry/run: layouts that multiply to the devices, and rows that say what they count."""

import pytest

from ironlaw.engine.cluster.layouts import check
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import runs as files
from ironlaw.registry.boxes import box
from ironlaw.registry.loader import folder
from ironlaw.registry.runs import about, between_failures, run_files, runs, unit_between_failures


@pytest.mark.parametrize("slug", run_files())
def test_every_row_divides_and_has_a_source(slug: str) -> None:
    for run in runs(slug):
        check(run.shape, run.layout, run.batch, run.seq)
        assert run.source and run.seconds > 0 and box(run.box).slug == run.box and run.tokens == run.batch * run.seq


def test_llamas_rows_are_the_published_table() -> None:
    assert [(r.layout.devices, r.layout.data, r.layout.context, r.seq, r.tokens) for r in runs("llama3_2024")] == [
        (8192, 64, 1, 8192, 2**24), (16384, 128, 1, 8192, 2**24), (16384, 8, 16, 131072, 2**24),
    ]  # fmt: skip
    assert between_failures("llama3_2024") == 54 * 86400 / 419 and about("llama3_2024")["storage"]["sustained"] == 2e12
    assert unit_between_failures("llama3_2024") / 3600 == pytest.approx(50_677, abs=1)


def test_an_unknown_publication_says_where_to_add_one() -> None:
    with pytest.raises(UnknownName, match=r"no publication of runs 'gpt9'.*registry/run/gpt9\.toml"):
        runs("gpt9")


GOOD = (folder("run") / "palm_2022.toml").read_text().replace("palm_540b", "other_540b")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('date = "2022-04"', "", "no date"),
        ("layers = 118", "", r"\[model\.other_540b\].*give layers, hidden"),
        ('model = "other_540b"', 'model = "gone"', "a row's model is 'gone'"),
        ("devices = 6144", "devices = 6145", "on 6145 devices is not"),
        ("seconds = 17.601", "", "needs seconds, or device_flops and counts"),
        ("seconds = 17.601", "device_flops = 1e14", "counts is None; say whether"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, monkeypatch, old: str, new: str, message: str) -> None:
    (tmp_path / "other.toml").write_text(GOOD.replace(old, new))
    monkeypatch.setattr(files, "folder", lambda kind: tmp_path)
    monkeypatch.setattr(files, "run_files", lambda: ("other",))
    for cached in (files.about, files.published_shapes, files.runs):
        monkeypatch.setattr(files, cached.__name__, cached.__wrapped__)
    with pytest.raises(BadRegistry, match=message):
        files.runs("other")
