"""ATen op -> engine op kind: the tables, and for what no table can say, the rules."""

from __future__ import annotations

from ironlaw.backends.multi_tensor import list_launches
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import STAND_IN
from ironlaw.tracing import (
    adapters,
    aten_rules,
    collective_rules,
    linear_algebra_rules,
    loss_rules,
    movement_rules,
    product_rules,
    quantised_rules,
    registered_costs,
)
from ironlaw.tracing.aten import Call, OpDraft, Rule
from ironlaw.tracing.aten_tables import BINARY, COUNTED, FILLS, LOOKUPS, MOVES, ROUTES, STAND_INS, UNARY

RULES: dict[str, Rule] = product_rules.RULES | aten_rules.RULES | movement_rules.RULES | quantised_rules.RULES | loss_rules.RULES
RULES |= linear_algebra_rules.RULES | collective_rules.RULES | adapters.RULES


def translate(call: Call) -> list[OpDraft]:
    """Nothing: free. An op that no table knows becomes kind "unknown"; one that is priced as another says whose place it takes."""
    drafts = _translate(call)
    if call.name in STAND_INS:
        for draft in drafts:
            draft.attrs[STAND_IN] = call.name
    return drafts


def _translate(call: Call) -> list[OpDraft]:
    name = call.name
    if name in RULES:
        drafts = RULES[name](call)
        return drafts if isinstance(drafts, list) else [drafts]
    if "::" in name:
        return [from_outside(call, name)]
    out = call.outputs[:1]
    if name in UNARY:
        return [OpDraft(UNARY[name], call.inputs[:1], out)]
    if name in BINARY:
        pair = BINARY[name]
        return [OpDraft(pair[0] if len(call.inputs) > 1 else pair[1], call.inputs, out)]
    if name in FILLS:
        return [OpDraft("fill", [], out, {"how": "counted"} if name in COUNTED else {})]
    if name in MOVES:
        return [OpDraft(MOVES[name], call.inputs, out)]
    if name in LOOKUPS:
        return [OpDraft("gather", call.inputs[:2], out)]
    if name in ROUTES:
        return [OpDraft(ROUTES[name], call.inputs, call.outputs)]
    if name.startswith(("_foreach_", "_fused_adam", "_fused_sgd", "_amp_foreach_")):
        inputs, outputs = ([t for t in tensors if t.size] for tensors in (call.inputs, call.outputs))  # a weight may be empty
        if name.startswith("_fused_"):
            return [fused_optimiser(call, inputs, outputs)]
        return [OpDraft("foreach", inputs, outputs, {"launches": list_launches(inputs, outputs)})] if outputs or inputs else []
    if name.endswith("_backward") and call.inputs and len(call.outputs) == 1:
        elementwise = all(t.size in (out[0].size, 1) for t in call.inputs)
        return [OpDraft("mul", call.inputs, out, {} if elementwise else {STAND_IN: name})]
    return [from_outside(call, f"aten::{name}")]


def fused_optimiser(call: Call, inputs: list[Tensor], outputs: list[Tensor]) -> OpDraft:
    """Lists side by side: weights, gradients, state. The gradients are among what may be written, for a scaler's sake, and are not."""
    weights = len(call.arguments["self"])
    kept = outputs[:weights] + outputs[2 * weights :]
    return OpDraft("foreach", inputs, kept, {"launches": list_launches(inputs, outputs[:weights])})


def from_outside(call: Call, name: str) -> OpDraft:
    """An operator that no table holds: by the cost that was registered for it, or unknown."""
    attrs = registered_costs.attributes(name, tuple(call.arguments.values()), {})
    return OpDraft("unknown" if attrs is None else "custom", call.inputs, call.outputs, attrs or {"op": name.removeprefix("aten::")})
