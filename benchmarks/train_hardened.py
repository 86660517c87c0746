"""Trains the digit reader on attacked images, and writes registry/trained/digits_hardened.npz and digits_hardened.toml.

    python benchmarks/train_hardened.py          needs NumPy, and scikit-learn for the data: a tool of development, not a dependency

The same network and the same 1,000 training images as benchmarks/train_digits.py has; each batch is attacked first, in seven steps
from a random start, by up to a tenth of the shades (Madry et al. 2018).
"""

import hashlib
import io
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1] / "src/ironlaw/registry/trained"
SEED, TRAIN = 10, 1000
EPOCHS, BATCH, RATE, DECAY = 60, 50, 3e-3, 1e-2
EPSILON, STEPS = 0.1, 7
SIZES = (64, 256, 128, 10)


def activations(net, x):
    values = [x]
    for i, (weight, bias) in enumerate(net):
        x = x @ weight.T + bias
        values.append(np.maximum(x, 0) if i < len(net) - 1 else x)
        x = values[-1]
    return values


def error(scores, y):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(y)), y] -= 1
    return shares


def attacked(net, x, y, rng):
    low, high = np.maximum(x - EPSILON, 0), np.minimum(x + EPSILON, 1)
    moved = np.clip(x + rng.uniform(-EPSILON, EPSILON, x.shape), low, high)
    for _ in range(STEPS):
        values = activations(net, moved)
        slope = error(values[-1], y)
        for i in range(len(net) - 1, 0, -1):
            slope = (slope @ net[i][0]) * (values[i] > 0)
        moved = np.clip(moved + 2.5 * EPSILON / STEPS * np.sign(slope @ net[0][0]), low, high)
    return moved


def train(x, y):
    """AdamW with a cosine, as PyTorch has them."""
    rng = np.random.default_rng(SEED)
    net = [[rng.uniform(-1, 1, (out, inner)) / inner**0.5, rng.uniform(-1, 1, out) / inner**0.5] for inner, out in pairwise(SIZES)]
    first, second = ([[np.zeros_like(part) for part in layer] for layer in net] for _ in range(2))
    total, step = EPOCHS * len(x) // BATCH, 0
    for _ in range(EPOCHS):
        for chosen in rng.permutation(len(x)).reshape(-1, BATCH):
            rate = RATE * (1 + np.cos(np.pi * step / total)) / 2
            step += 1
            values = activations(net, attacked(net, x[chosen], y[chosen], rng))
            slope = error(values[-1], y[chosen]) / BATCH
            for i in range(len(net) - 1, -1, -1):
                gradients = slope.T @ values[i], slope.sum(axis=0)
                slope = (slope @ net[i][0]) * (values[i] > 0) if i else slope
                for j, gradient in enumerate(gradients):
                    first[i][j] = 0.9 * first[i][j] + 0.1 * gradient
                    second[i][j] = 0.999 * second[i][j] + 0.001 * gradient**2
                    move = first[i][j] / (1 - 0.9**step) / (np.sqrt(second[i][j] / (1 - 0.999**step)) + 1e-8)
                    net[i][j] = net[i][j] * (1 - rate * DECAY) - rate * move
    return net


def stored(arrays):
    """An .npz that is the same bytes each time it is written."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.save(entry, np.ascontiguousarray(array))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (2026, 11, 17, 0, 0, 0)), entry.getvalue(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def main():
    from sklearn.datasets import load_digits

    digits = load_digits()
    write(digits.data, digits.target)


def write(data, target):
    order = np.random.default_rng(SEED).permutation(len(data))
    x, y = data[order] / 16.0, target[order].astype(int)
    net = [(weight.astype(np.float16), bias.astype(np.float16)) for weight, bias in train(x[:TRAIN], y[:TRAIN])]
    arrays = {f"mlp.{i}.{part}": array for i, layer in enumerate(net) for part, array in zip(("weight", "bias"), layer, strict=True)}
    held = [[part.astype(float) for part in layer] for layer in net]
    right = int((activations(held, x[TRAIN:])[-1].argmax(axis=1) == y[TRAIN:]).sum())
    file = stored(arrays)
    (HERE / "digits_hardened.npz").write_bytes(file)
    lines = [
        "# Written by benchmarks/train_hardened.py, with the weights beside it. Change that, and run it again.",
        'name = "Digit reader, trained on attacked images"',
        f'source = "trained by benchmarks/train_hardened.py on the images of digits.toml, each batch attacked first: {STEPS} steps, '
        f'pixels off by up to {EPSILON}; stored in FP16"',
        'license = "images: CC BY 4.0, UCI Machine Learning Repository, doi 10.24432/C50P49; weights: as ironlaw"',
        'date = "2026-11-17"',
        f"seed = {SEED}",
        f"tested = {len(y) - TRAIN}",
        f'sha256 = "{hashlib.sha256(file).hexdigest()}"',
        "",
        "[nets.mlp]",
        f"parameters = {sum(weight.size + bias.size for weight, bias in net)}",
        f"hits = {right}",
    ]
    (HERE / "digits_hardened.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines), len(file))


if __name__ == "__main__":
    main()
