"""Trained nets: the weights are those that were trained, and the head says where they come from."""

import pytest

from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import trained_nets as registry
from ironlaw.registry.loader import folder, read
from ironlaw.registry.trained_nets import parse_head, trained, trained_nets

HEAD = read(folder("trained") / "digits.toml")


def test_the_digit_reader_says_what_it_is():
    digits = trained("digits")
    assert "CC BY 4.0" in digits.license and "train_digits.py" in digits.source and digits.tested == 797
    assert digits.nets["mlp"]["parameters"] == 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert digits.nets["mlp"]["hits"] / digits.tested > 0.96
    assert digits.weights_file().name == "digits.npz"
    assert {len(hits) for hits in digits.students.values()} == {8} and set(digits.students) <= set(digits.nets)
    assert all(digits.students[kind][0] == digits.nets[kind]["hits"] for kind in digits.students)  # the first seed's weights are kept


@pytest.mark.parametrize(
    ("change", "complaint"),
    [({"license": ""}, "no license"), ({"nets": {"mlp": {"parameters": 5}}}, "hits of at most 797"), ({"tested": 3}, "hits of at most 3")],
)
def test_a_head_that_says_too_little_is_refused(change, complaint):
    with pytest.raises(BadRegistry, match=complaint):
        parse_head("odd", HEAD | change)


def test_other_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "folder", lambda kind: tmp_path)
    with pytest.raises(BadRegistry, match=r"digits\.npz can't be read"):
        parse_head("digits", HEAD).weights_file()
    (tmp_path / "digits.npz").write_bytes(b"others")
    with pytest.raises(BadRegistry, match="is not the file that was trained"):
        parse_head("digits", HEAD).weights_file()


def test_an_unknown_one_is_named_with_the_known():
    assert trained_nets() == ("digits", "digits_hardened")
    with pytest.raises(UnknownName, match=r"letters.*digits"):
        trained("letters")
