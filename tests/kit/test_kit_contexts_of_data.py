"""A lab that no device changes: its contexts are data."""

import pytest

from ironlaw.errors import BadRegistry, BadValue
from ironlaw.kit import context
from ironlaw.ledger import open_ledger

ENTRIES = ({"data": "compas", "label": "COMPAS"}, {"data": "credit", "label": "Credit scores"})


def test_contexts_may_be_data():
    found = context.contexts(ENTRIES)
    assert [each.slug for each in found] == ["compas", "credit"] and {each.regime for each in found} == {"data"}
    assert found[0].menu_label == "COMPAS" and found[0].regime_label == "Data"
    with pytest.raises(BadValue, match="compas"):
        _ = found[0].hardware
    options = context.options(found)
    assert [(option["label"], option["note"]) for option in options] == [("COMPAS", ""), ("Credit scores", "")]


def test_this_machine_is_no_data(monkeypatch):
    monkeypatch.setattr(context, "known_local", lambda: context.hardware("pi5"))
    assert len(context.contexts(ENTRIES)) == 2 and len(context.contexts([{"device": "h100_sxm", "label": "H100", "format": "fp16"}])) == 2


def test_a_lab_is_about_the_one_or_the_other():
    with pytest.raises(BadRegistry, match="devices or about data"):
        context.contexts([ENTRIES[0], {"device": "h100_sxm", "label": "H100", "format": "fp16"}])


def test_data_that_was_chosen_is_no_track_for_devices(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append("lab_07_fusion", "context", {"context": "orin_nx_16gb"})
        ledger.append("lab_15_parity", "context", {"context": "credit"})
        assert ledger.track() == "credit" and ledger.track(["h100_sxm", "orin_nx_16gb"]) == "orin_nx_16gb"
        assert ledger.track(["compas", "credit"]) == "credit" and ledger.track(["pi5"]) is None


@pytest.mark.parametrize(
    ("label", "said"), [("Cortex-M7 MCU", "the Cortex-M7 MCU"), ("Our workstation", "our workstation"), ("Ourania", "the Ourania")]
)
def test_a_name_in_a_sentence(label, said):
    assert context.the(context.Context("one", label, "edge", context.hardware("pi5"), "fp16")) == said
