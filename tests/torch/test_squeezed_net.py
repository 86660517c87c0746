"""The convolutions of the squeezed nets, which NumPy runs, beside PyTorch's."""

import pytest
import torch

from ironlaw.measure.compression import images, load, logits


def test_the_convolutions_are_pytorchs():
    net, x = load("ds_cnn"), images()[0][:20]
    y = torch.tensor(x).reshape(-1, 1, 8, 8)
    for layer in net.layers[:-1]:
        weight, bias = torch.tensor(layer.weight).double(), torch.tensor(layer.bias).double()
        groups = weight.shape[0] if layer.kind == "depthwise" else 1
        y = torch.nn.functional.conv2d(y, weight, bias, layer.stride, weight.shape[-1] // 2, groups=groups).relu()
    last = net.layers[-1]
    expected = y.mean((2, 3)) @ torch.tensor(last.weight).double().T + torch.tensor(last.bias).double()
    assert logits(net, x) == pytest.approx(expected.numpy(), abs=1e-9)
    assert [layer.kind for layer in net.layers] == ["conv", "depthwise", "conv", "depthwise", "conv", "linear"]
