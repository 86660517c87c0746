"""Calls of recurrent layers."""

from __future__ import annotations

import torch

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}


def layer(op: str) -> Make:
    def make(i: SweepInputs, p: Params) -> Call:
        torch.backends.cudnn.allow_tf32 = True  # as PyTorch is set when it starts
        cell = CELLS[op](p["features"], p["hidden"], p["layers"], bidirectional=bool(p["both"]))
        cell = cell.to(i.device, FORMATS[p["dtype"]].in_torch(torch)).eval()
        x = i.act((p["steps"], p["batch"], p["features"]), p["dtype"])
        return lambda: cell(x)

    return make


CALLS: dict[str, Make] = {op: layer(op) for op in CELLS}
