"""What adversarial training costs: a step of ResNet-18 on 32 x 32 images, plain and after K steps of PGD.

    PYTHONPATH=src python3 benchmarks/device/attack_steps.py --out DIR

Writes DIR/attack_steps.json: a row per number of attack steps, batch and format. Without a GPU a small batch runs on the processor, to
try the program.
"""

import argparse

import torch
from gpu import clock, write
from torch.nn import functional as F
from torchvision.models import resnet18

METHOD = (
    "One training step of ResNet-18 with the 3 x 3 first layer used on 32 x 32 images, SGD with momentum, channels last, autocast to the "
    "format; before it `steps` steps of PGD on the batch, each a forward pass and a gradient by the input alone (the weights' gradients "
    "are not asked for). wall_s: median of synchronised steps; piped_s: queued back to back. mode compiled: network under torch.compile."
)
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
EPSILON, STRIDE = 8 / 255, 2 / 255
CASES = [(mode, batch, steps) for mode in ("eager", "compiled") for batch in (128, 1024) for steps in (0, 1, 7, 10)]


def network():
    net = resnet18(num_classes=10)
    net.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    net.maxpool = torch.nn.Identity()
    return net.to(DEVICE, memory_format=torch.channels_last)


def training_step(net, batch, steps):
    images = torch.rand(batch, 3, 32, 32, device=DEVICE).to(memory_format=torch.channels_last)
    labels = torch.randint(10, (batch,), device=DEVICE)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, foreach=True)
    weights = list(net.parameters())

    def loss(x):
        with torch.autocast(DEVICE, torch.bfloat16):
            return F.cross_entropy(net(x), labels)

    def step():
        x = images
        for weight in weights:
            weight.requires_grad_(False)
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(loss(x), x)
            x = (x + STRIDE * slope.sign()).clamp(images - EPSILON, images + EPSILON).clamp(0, 1)
        for weight in weights:
            weight.requires_grad_(True)
        optimiser.zero_grad(set_to_none=True)
        loss(x.detach()).backward()
        optimiser.step()

    return step


def main():
    parser = argparse.ArgumentParser(description=METHOD)
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    rows = []
    for mode, batch, steps in CASES if CUDA else [("eager", 4, 0), ("eager", 4, 1)]:
        torch.compiler.reset()
        net = network()
        run = training_step(torch.compile(net) if mode == "compiled" else net, batch, steps)
        for _ in range(3):
            run()
        wall, piped = clock(run)
        params = {"model": "resnet18_32", "batch": batch, "steps": steps, "dtype": "bf16"}
        rows.append({"kind": "function", "name": "attack_step", "params": params, "mode": mode, "wall_s": wall, "piped_s": piped})
        print(mode, batch, steps, f"{1e3 * piped:.3f} ms", flush=True)
    write(f"{out}/attack_steps.json", METHOD, rows)


if __name__ == "__main__":
    main()
