"""Trains the digit reader and its kin, and writes registry/trained/digits.npz and digits.toml.

    python benchmarks/train_digits.py            needs PyTorch, and scikit-learn for the data: tools of development, not dependencies

1,000 of the 1,797 images of 8 × 8 pixels that scikit-learn carries (E. Alpaydin, C. Kaynak, UCI Optical Recognition of Handwritten Digits,
CC BY 4.0) train, the other 797 test. The students are trained with eight seeds each, with and without the reader as their teacher:
whether distilling helps is a question for more than one seed. The first seed's weights are kept.
"""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

HERE = Path(__file__).resolve().parents[1] / "src/ironlaw/registry/trained"
SEED, SEEDS, TRAIN = 10, 8, 1000
EPOCHS, BATCH, RATE = 60, 50, 3e-3
TEMPERATURE, SOFT = 4.0, 0.7  # Hinton et al. 2015: the teacher's outputs at a temperature, and how much they count
WIDTHS = {"half": 2, "quarter": 4, "eighth": 8}


def mlp(divisor=1):
    hidden = (256 // divisor, 128 // divisor)
    return nn.Sequential(nn.Linear(64, hidden[0]), nn.ReLU(), nn.Linear(hidden[0], hidden[1]), nn.ReLU(), nn.Linear(hidden[1], 10))


def block(inputs, outputs, groups=1, size=3, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()


def ds_cnn():
    """Depthwise and pointwise convolutions, as in MobileNet."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), *block(1, 16), *block(16, 16, 16), *block(16, 32, size=1), *block(32, 32, 32, stride=2),
        *block(32, 64, size=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def train(make, data, seed, teacher=None):
    torch.manual_seed(seed)
    net, (x, y) = make(), data
    soft = teacher(x).detach() if teacher is not None else None
    steps = EPOCHS * len(x) // BATCH
    optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH):
            logits = net(x[chosen])
            loss = F.cross_entropy(logits, y[chosen])
            if soft is not None:
                near = F.kl_div(F.log_softmax(logits / TEMPERATURE, 1), F.softmax(soft[chosen] / TEMPERATURE, 1), reduction="batchmean")
                loss = SOFT * TEMPERATURE**2 * near + (1 - SOFT) * loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return net.eval()


def hits(net, data):
    with torch.no_grad():
        return int((net(data[0]).argmax(1) == data[1]).sum())


def layers(net):
    """Weights and biases in order; batch norms are folded into the convolution before them."""
    found = []
    for module in net:
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            bias = module.bias if module.bias is not None else torch.zeros(module.weight.shape[0])
            found.append([module.weight.detach().clone(), bias.detach().clone()])
        elif isinstance(module, nn.BatchNorm2d):
            gain = (module.weight / torch.sqrt(module.running_var + module.eps)).detach()
            weight, bias = found[-1]
            found[-1] = [weight * gain.view(-1, 1, 1, 1), (bias - module.running_mean) * gain + module.bias.detach()]
    return [(weight.numpy().astype(np.float32), bias.numpy().astype(np.float32)) for weight, bias in found]


def stored(arrays):
    """An .npz that is the same bytes each time it is written."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.save(entry, np.ascontiguousarray(array))
            info = zipfile.ZipInfo(f"{name}.npy", (2026, 11, 16, 0, 0, 0))
            archive.writestr(info, entry.getvalue(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def main():
    torch.set_num_threads(1)
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.data))
    x, y = torch.tensor(digits.data[order], dtype=torch.float32) / 16.0, torch.tensor(digits.target[order])
    training, test = (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])
    nets = {"mlp": train(mlp, training, SEED), "ds_cnn": train(ds_cnn, training, SEED)}
    trials = []
    for name, divisor in WIDTHS.items():
        for seed in range(SEED, SEED + SEEDS):
            for teacher in (None, nets["mlp"]):
                net = train(lambda d=divisor: mlp(d), training, seed, teacher)
                kind = name if teacher is None else f"{name}_distilled"
                trials.append((kind, seed, hits(net, test)))
                if seed == SEED:
                    nets[kind] = net
        print(name, trials[-2 * SEEDS :], flush=True)
    arrays = {"images": np.round(test[0].numpy() * 16).astype(np.uint8), "labels": test[1].numpy().astype(np.uint8)}
    for name, net in nets.items():
        for i, (weight, bias) in enumerate(layers(net)):
            arrays |= {f"{name}.{i}.weight": weight, f"{name}.{i}.bias": bias}
    data = stored(arrays)
    (HERE / "digits.npz").write_bytes(data)
    shades = np.minimum(np.round(training[0].numpy() * 16), 15).astype(int)
    lines = (f"{label} {''.join(f'{shade:x}' for shade in image)}\n" for image, label in zip(shades, training[1].tolist(), strict=True))
    (HERE / "digits_training.txt").write_text("".join(lines))
    lines = [
        "# Written by benchmarks/train_digits.py, with the weights beside it. Change that, and run it again.",
        'name = "Digit reader"',
        'source = "trained by benchmarks/train_digits.py on 1,000 images of the UCI Optical Recognition of Handwritten Digits '
        '(E. Alpaydin, C. Kaynak), as scikit-learn carries them; tested on the other 797"',
        'license = "images: CC BY 4.0, UCI Machine Learning Repository, doi 10.24432/C50P49; weights: as ironlaw"',
        'date = "2026-11-16"',
        f"seed = {SEED}",
        f"tested = {len(test[1])}",
        f'sha256 = "{hashlib.sha256(data).hexdigest()}"',
    ]
    for name, net in nets.items():
        count = sum(weight.size + bias.size for weight, bias in layers(net))
        lines += ["", f"[nets.{name}]", f"parameters = {count}", f"hits = {hits(net, test)}"]
    lines += ["", "# hits of each student by seed, trained on the labels alone and with the reader as its teacher", "[students]"]
    for kind in dict.fromkeys(kind for kind, _, _ in trials):
        lines.append(f"{kind} = {[right for each, _, right in trials if each == kind]}")
    (HERE / "digits.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines), len(data))


if __name__ == "__main__":
    main()
