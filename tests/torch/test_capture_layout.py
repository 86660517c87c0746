"""How tensors lie in memory decides which kernels run: attention's paths, strided streams, copies before norms."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.tracing.memory_layout import dense, nearest, strided  # noqa: E402

transformers.logging.set_verbosity_error()


def heads(b: int = 2, s: int = 8, h: int = 4, d: int = 16) -> Any:
    return torch.empty(b, s, h, d, dtype=torch.float16, device="meta").transpose(1, 2)


def only(function: Any, *args: Any) -> Any:
    (found,) = il.capture(function, args).ops
    return found


# ---- attention


def test_a_mask_that_is_not_contiguous_takes_the_maths() -> None:
    flat = torch.empty(2, 4, 8, 8, dtype=torch.float16, device="meta")
    turned = torch.empty(2, 8, 8, 4, dtype=torch.float16, device="meta").permute(0, 3, 1, 2)
    column = torch.empty(2, 4, 8, 1, dtype=torch.float16, device="meta").expand(2, 4, 8, 8)
    q = heads()

    def under(mask: Any) -> Any:
        return only(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), q, mask)

    assert "path" not in under(flat).attrs
    assert under(turned).attrs["path"] == under(column).attrs["path"] == "math"
    assert len(under(flat).inputs) == 4
    assert "path" not in only(lambda q: F.scaled_dot_product_attention(q, q, q), q).attrs
    odd = torch.empty(2, 4, 16, 8, dtype=torch.float16, device="meta").transpose(2, 3)
    assert only(lambda q, k: F.scaled_dot_product_attention(q, k, q), q, odd).attrs["path"] == "math"


def test_heads_that_are_broadcast_take_no_fused_kernel():
    """One key head for all query heads: PyTorch's fused kernels take it only where it is told that they are grouped."""
    q, k = torch.empty(2, 8, 16, 32, device="meta"), torch.empty(2, 1, 16, 32, device="meta")
    assert only(lambda q, k: F.scaled_dot_product_attention(q, k, k), q, k).attrs["path"] == "math"
    assert "path" not in only(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), q, k).attrs
    assert "path" not in only(lambda q: F.scaled_dot_product_attention(q, q, q), q[0]).attrs
    assert "path" not in only(lambda q: F.scaled_dot_product_attention(q, q, q), q[0, 0]).attrs


def test_a_mask_that_is_spelled_out_does_not_hide_one_that_is_not():
    """ModernBERT has both: a compiler gets a mask in the layers that a plain call runs without."""
    transformers = pytest.importorskip("transformers")
    config = transformers.ModernBertConfig(
        vocab_size=99, hidden_size=64, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64, pad_token_id=0, local_attention=8
    )
    with torch.device("meta"):
        model, ids = transformers.ModernBertModel(config).eval(), torch.ones(1, 32, dtype=torch.long)
    found = [op.attrs["mask"] for op in il.capture(model, (ids,)).ops if op.kind == "attention"]
    assert found == ["bidirectional", "", ""]  # the first of three sees everything, the others a window


def test_the_output_lies_in_memory_as_the_queries_do() -> None:
    def merged(q: Any) -> Any:
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(2, 8, 64)

    assert len(il.capture(merged, (heads(),)).ops) == 1  # heads are next to each other already
    assert [op.kind for op in il.capture(merged, (heads().contiguous(),)).ops] == ["attention", "copy"]


@pytest.mark.parametrize(("name", "apart"), [("BertModel", True), ("CLIPVisionModel", False)])
def test_a_mask_that_transformers_spells_out_for_a_compiler(name: str, apart: bool) -> None:
    cls = getattr(transformers, name)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    with torch.device("meta"):
        model = cls(cls.config_class(**sizes)).eval()
        given = torch.zeros(1, 8, dtype=torch.long) if name == "BertModel" else torch.zeros(1, 3, 224, 224)
    (found,) = (op for op in il.capture(model, (given,)).ops if op.kind == "attention")
    assert found.attrs["mask"] == ("bidirectional" if apart else "")
    plain = only(lambda q: F.scaled_dot_product_attention(q, q, q), heads())
    assert plain.attrs["mask"] == ""  # nothing is left over from another capture


# ---- streams


def test_one_layout_throughout_is_as_good_as_contiguous() -> None:
    x = torch.empty(2, 6, 5)
    turned = x.transpose(1, 2)
    assert strided([x], [x]) == strided([turned], [turned]) == strided([turned, turned], [turned]) == {}
    assert strided([turned, torch.empty(2, 5, 6)], [torch.empty(2, 5, 6)]) == {"strided": "columns"}
    split = torch.empty(2, 5, 12)[:, :, :6]
    assert strided([split], [torch.empty(2, 5, 6)]) == {"strided": True}  # rows with gaps between them
    assert strided([split, split], [split]) == {"strided": True}
    assert strided([turned], []) == {"strided": True}
    assert strided([torch.empty(())], [x]) == {}


def test_dense_and_nearest() -> None:
    x = torch.empty(2, 6, 5)
    assert dense(x) and dense(x.permute(2, 0, 1)) and dense(x[:, :1]) is False
    assert not dense(x[:, :, ::2]) and not dense(torch.empty(1, 5).expand(3, 5))
    assert [nearest(t) for t in (x, x.transpose(1, 2), x.permute(2, 0, 1))] == [2, 1, 0]
    assert nearest(torch.empty(4, 1).expand(4, 3)) == 0
    assert nearest(torch.empty(1)) == -1


def test_a_norm_copies_what_is_not_contiguous() -> None:
    x = torch.empty(2, 6, 8, device="meta").transpose(1, 2)
    copy, norm = il.capture(lambda x: F.layer_norm(x, (6,)), (x,)).ops
    assert (copy.kind, copy.attrs) == ("copy", {"strided": "columns"})
    assert norm.kind == "layer_norm"
    assert norm.inputs[0].name == copy.outputs[0].name
    assert norm.inputs[0].shape == (2, 8, 6)
    assert only(lambda x: F.layer_norm(x, (6,)), x.contiguous()).kind == "layer_norm"


def test_a_roll_and_a_sum_in_place() -> None:
    x = torch.empty(2, 6, 8, device="meta")
    assert only(lambda x: torch.roll(x, (1, 2), (0, 1)), x).attrs["rolled"] == 2
    assert only(lambda x: torch.roll(x, 3), x).attrs["rolled"] == 1
    a, b = torch.empty(2, 6, 8, device="meta"), torch.empty(2, 8, 5, device="meta")
    start = torch.empty(2, 6, 5, device="meta")
    copy, product = il.capture(torch.baddbmm, (start, a, b)).ops
    assert (copy.kind, product.kind) == ("copy", "bmm")
    assert product.inputs[2].name == copy.outputs[0].name


# ---- gradients


def test_a_training_step_has_its_own_kernels() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.conv, self.norm = nn.Embedding(10, 16), nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)

        def forward(self, ids: Any) -> Any:
            return F.max_pool2d(F.gelu(self.norm(self.conv(self.table(ids)[:, None]))), 2).square()

    with torch.device("meta"):
        model, ids = Net(), torch.zeros(2, 8, dtype=torch.long)
    found = {op.kind: op for op in il.capture(model, (ids,), training=True).ops}
    assert {"batch_norm_train", "batch_norm_backward", "gelu_backward", "max_pool2d_backward", "embedding_backward"} <= set(found)
    assert found["batch_norm_train"].attrs == found["batch_norm_backward"].attrs == {"row": 2 * 8 * 16, "axis": 1}
    assert [t.shape for t in found["max_pool2d_backward"].inputs] == [(2, 4, 4, 8)] * 2
    assert found["max_pool2d_backward"].inputs[1].dtype == "int64"
    assert found["embedding_backward"].outputs[0].shape == (10, 16)
    assert il.predict(il.capture(model, (ids,), training=True), il.hardware("h200_sxm")).busy_s > 0
    model.eval()
    assert "batch_norm" in [op.kind for op in il.capture(model, (ids,)).ops]


def test_a_gradient_down_an_axis_says_so_and_lookups_by_a_column_of_places_are_told() -> None:
    x = torch.empty(4, 100, 64, device="meta", requires_grad=True)

    def step(x: Any) -> None:
        (torch.log_softmax(x, 1) + torch.softmax(x, -1)).sum().backward()

    attrs = [dict(op.attrs) for op in il.capture(step, (x,)).ops if op.kind == "softmax" and len(op.inputs) > 1]
    assert sorted(attrs, key=len) == [{}, {"row": 100, "axis": 1, "backward": "log_softmax"}]
    table, places = torch.empty(256, 8, device="meta"), torch.empty(100, 3, dtype=torch.long, device="meta")
    looked_up = il.capture(lambda w, i: (w[i[:, 0]], torch.nn.functional.embedding(i[:, 1], w), torch.nn.functional.embedding(i, w)),
                           (table, places))  # fmt: skip
    assert [op.attrs.get("how") for op in looked_up.ops if op.kind == "embedding"] == ["elements", None]
