"""What torch.compile fuses: chains of its own loops, and nothing onto a library's product."""

import ironlaw as il
from ironlaw.backends.inductor import INDUCTOR, WRITTEN
from ironlaw.engine.device.work import CATEGORIES


def test_products_keep_to_themselves_and_siblings_stay_apart():
    assert (INDUCTOR.epilogue, INDUCTOR.horizontal, INDUCTOR.vertical) == (False, False, True)
    patterns = {p for group in il.fuse(il.workload("gpt2_layer"), INDUCTOR).groups for p in group.patterns}
    assert patterns <= {"pointwise", "vertical"} and patterns


def test_what_it_writes_itself_is_what_no_library_brings():
    assert set(CATEGORIES) - set(WRITTEN) == {"contraction", "attention", "window", "lookup", "free", "opaque"}
    assert set(WRITTEN) <= set(CATEGORIES)
