"""What one operator takes of a GPU's memory beside its inputs and results: evidence of kind `scratch`.

    PYTHONPATH=src python3 benchmarks/device/scratch_probes.py --out DIR [--seconds 90]

Writes DIR/scratch.json. Each case is called twice; the second call's peak, less what was allocated before it and less what it returned,
is its scratch. What the first call left behind (a library's workspace) is kept apart. Without a GPU the same calls run small and count
nothing, to try the program.
"""

import argparse
import gc
import time

import torch
import torch.nn.functional as F
from gpu import DTYPES, sync, write
from torch import nn

METHOD = (
    "Single calls with random inputs under PyTorch's defaults. scratch_bytes: max_memory_allocated during the second call, less "
    "memory_allocated before it, less result_bytes; result_bytes: storages that the call returned and that were not inputs; kept_bytes: "
    "what the first call left allocated beside its result. Gradients: autograd.grad of a forward pass run before. cuBLAS' workspaces "
    "were cleared before each case. input_bytes: of all inputs and weights."
)
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
SIZES = ((16, 64, 56), (64, 256, 28), (8, 32, 256))
BATCHED = ((4096, 16), (512, 128), (64, 512))


def randn(*shape, dtype="fp32"):
    return torch.randn(*shape, device=DEVICE).to(DTYPES[dtype])


def convolutions():
    """(op, params, build): `build` gives the call and its inputs."""
    kinds = {
        "3x3": lambda c: nn.Conv2d(c, c, 3, padding=1),
        "1x1": lambda c: nn.Conv2d(c, c, 1),
        "stride2": lambda c: nn.Conv2d(c, 2 * c, 3, stride=2, padding=1),
        "depthwise": lambda c: nn.Conv2d(c, c, 3, padding=1, groups=c),
        "7x7": lambda c: nn.Conv2d(c, c, 7, padding=3),
        "transposed": lambda c: nn.ConvTranspose2d(c, c, 4, stride=2, padding=1),
    }
    for dtype in ("fp32", "bf16"):
        for n, c, s in SIZES:
            for name, make in kinds.items():
                for last in (False, True):
                    yield "conv2d", dict(n=n, c=c, size=s, what=name, channels_last=last, dtype=dtype), make(c), (n, c, s, s), last
        for n, c, s in ((8, 64, 4096), (32, 256, 1024)):
            yield (
                "conv1d",
                dict(n=n, c=c, size=s, what="5", channels_last=False, dtype=dtype),
                nn.Conv1d(c, c, 5, padding=2),
                (n, c, s),
                False,
            )
        for n, c, s in ((2, 32, 48), (4, 64, 24)):
            volume = nn.Conv3d(c, c, 3, padding=1)
            yield "conv3d", dict(n=n, c=c, size=s, what="3x3x3", channels_last=False, dtype=dtype), volume, (n, c, s, s, s), False


def layers():
    """(op, params, module, shape of its input, whether channels lie last)."""
    yield from convolutions()
    for dtype in ("fp32", "bf16"):
        for cell, make in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
            for batch, steps, width, count in ((64, 128, 256, 1), (32, 512, 512, 1), (64, 128, 256, 2), (16, 64, 1024, 1)):
                about = dict(batch=batch, steps=steps, width=width, layers=count, dtype=dtype)
                yield cell, about, make(width, width, count, batch_first=True), (batch, steps, width), False
        for n, c, s in SIZES:
            about = dict(n=n, c=c, size=s, dtype=dtype)
            yield "max_pool2d", about, nn.MaxPool2d(2), (n, c, s, s), False
            yield "batch_norm", about, nn.BatchNorm2d(c), (n, c, s, s), False
            yield "group_norm", about, nn.GroupNorm(8, c), (n, c, s, s), False
            yield "interpolate", about, nn.Upsample(scale_factor=2, mode="bilinear"), (n, c, s, s), False
            yield "instance_norm", about, nn.InstanceNorm2d(c, affine=True), (n, c, s, s), False
        for rows, cols in ((8192, 1024), (65536, 256)):
            about = dict(rows=rows, cols=cols, dtype=dtype)
            yield "layer_norm", about, nn.LayerNorm(cols), (rows, cols), False
            yield "linear", about, nn.Linear(cols, cols), (rows, cols), False
            yield "gelu", about, nn.GELU(), (rows, cols), False
            yield "softmax", about, nn.Softmax(-1), (rows, cols), False


def rows_of(dtype):
    """(op, function of one matrix)."""
    yield "sort", lambda x: x.sort(-1)
    yield "argsort", lambda x: x.argsort(-1)
    yield "sort_first", lambda x: x.sort(0)
    yield "topk", lambda x: x.topk(8, -1)
    yield "cumsum", lambda x: x.cumsum(-1)
    yield "cumsum_first", lambda x: x.cumsum(0)
    yield "logsumexp", lambda x: x.logsumexp(-1)
    yield "sum", lambda x: x.sum()
    yield "sum_first", lambda x: x.sum(0)
    yield "var", lambda x: x.var(-1)
    yield "norm", lambda x: x.norm(dim=-1)
    yield "median", lambda x: x.median(-1)
    yield "nonzero", lambda x: x.nonzero()
    yield "masked_select", lambda x: x[x > 0]
    yield "cdist", lambda x: torch.cdist(x[:2048], x[2048:4096])
    yield "gram", lambda x: x @ x.mT if x.shape[0] <= 8192 else x.mT @ x
    if dtype == "fp32":
        yield "fft", torch.fft.fft
        yield "rfft", torch.fft.rfft
        yield "irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x))
        yield "rfft2", torch.fft.rfft2
        yield "stft", lambda x: torch.stft(x, 64, window=torch.ones(64, device=x.device), return_complex=True)
        yield "multinomial", lambda x: torch.multinomial(x.abs(), 4)
        yield "quantile", lambda x: x.quantile(0.9, dim=-1)
        yield "unique", lambda x: torch.unique((x * 100).int())
        yield "bincount", lambda x: torch.bincount((x * 100).int().abs().flatten())
    yield "index_rows", lambda x: x[torch.arange(0, x.shape[0], 2, device=x.device)]
    yield "index_add", lambda x: torch.zeros_like(x).index_add(0, torch.arange(x.shape[0], device=x.device) // 4, x)
    yield "scatter_add", lambda x: torch.zeros_like(x).scatter_add(0, (x > 0).long(), x)
    yield "index_put", lambda x: torch.zeros_like(x).index_put((torch.arange(x.shape[0], device=x.device) // 4,), x, accumulate=True)


def algebra():
    """(op, function of a batch of square matrices)."""
    yield "cholesky", lambda x: torch.linalg.cholesky(x)
    yield "solve", lambda x: torch.linalg.solve(x, x[..., :4])
    yield "inv", torch.linalg.inv
    yield "det", torch.linalg.det
    yield "qr", torch.linalg.qr
    yield "svd", torch.linalg.svd
    yield "eigh", torch.linalg.eigh
    yield "cholesky_solve", lambda x: torch.cholesky_solve(x[..., :4], x)
    yield "triangular", lambda x: torch.linalg.solve_triangular(x, x[..., :4], upper=False)
    yield "bmm", lambda x: x @ x
    yield "matrix_exp", torch.linalg.matrix_exp


def attention():
    for dtype in ("fp32", "bf16"):
        for b, h, s, d in ((8, 16, 1024, 64), (2, 8, 4096, 128)):
            q = randn(b, h, s, d, dtype=dtype).requires_grad_()
            mask = randn(1, h, s, s, dtype=dtype)
            about = dict(batch=b, heads=h, seq=s, dim=d, dtype=dtype)
            yield "attention", about | {"mask": "none"}, lambda q=q: F.scaled_dot_product_attention(q, q, q), (q,)
            yield "attention", about | {"mask": "causal"}, lambda q=q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (q,)
            yield "attention", about | {"mask": "tensor"}, lambda q=q, m=mask: F.scaled_dot_product_attention(q, q, q, m), (q, mask)


def others():
    """(op, params, call, inputs), with gradients where an input wants them."""
    yield from attention()
    for dtype in ("fp32", "bf16"):
        for tokens, vocab, dim in ((16384, 50000, 256), (131072, 100000, 64)):
            table = randn(vocab, dim, dtype=dtype).requires_grad_()
            ids = torch.randint(vocab, (tokens,), device=DEVICE)
            about = dict(tokens=tokens, vocab=vocab, dim=dim, dtype=dtype)
            yield "embedding", about, lambda t=table, i=ids: F.embedding(i, t), (table, ids)
            bags = ids.view(-1, 16)
            yield "embedding_bag", about, lambda t=table, i=bags: F.embedding_bag(i, t, mode="sum"), (table, ids)
        for rows, words in ((4096, 32000), (16384, 1000)):
            logits = randn(rows, words, dtype=dtype).requires_grad_()
            target = torch.randint(words, (rows,), device=DEVICE)
            yield (
                "cross_entropy",
                dict(rows=rows, cols=words, dtype=dtype),
                lambda a=logits, b=target: F.cross_entropy(a, b),
                (logits, target),
            )
        for n, c, s in SIZES:
            image, grid = randn(n, c, s, s, dtype=dtype).requires_grad_(), randn(n, s, s, 2, dtype=dtype)
            about = dict(n=n, c=c, size=s, dtype=dtype)
            yield "grid_sample", about, lambda a=image, b=grid: F.grid_sample(a, b, align_corners=False), (image, grid)


def cases():
    """(op, params, build): build gives (call, inputs, whether to take gradients)."""
    for op, about, module, shape, last in layers():

        def built(module=module, shape=shape, last=last, about=about):
            form = {"memory_format": torch.channels_last} if last else {}
            net, x = module.to(device=DEVICE, dtype=DTYPES[about["dtype"]], **form), randn(*shape, dtype=about["dtype"])
            x = (x.contiguous(**form) if form else x).requires_grad_()
            return lambda: net(x), [x, *net.parameters()]

        yield op, about, built, True
    for dtype in ("fp32", "bf16"):
        for rows, cols in ((65536, 256), (4096, 4096), (256, 65536)):
            for op, call in rows_of(dtype):

                def matrix(call=call, rows=rows, cols=cols, dtype=dtype):
                    x = randn(rows, cols, dtype=dtype)
                    return lambda: call(x), [x]

                yield op, dict(rows=rows, cols=cols, dtype=dtype), matrix, False
    for batch, size in BATCHED:
        for op, call in algebra():

            def square(call=call, batch=batch, size=size):
                x = randn(batch, size, size)
                x = x @ x.mT + size * torch.eye(size, device=DEVICE)
                return lambda: call(x), [x]

            yield op, dict(batch=batch, size=size, dtype="fp32"), square, False
    for op, about, call, inputs in others():
        yield op, about, lambda call=call, inputs=inputs: (call, list(inputs)), True


def storages(values):
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in values if isinstance(t, torch.Tensor)}


def flat(value):
    return (
        [value]
        if isinstance(value, torch.Tensor)
        else [t for each in value for t in flat(each)]
        if isinstance(value, (tuple, list))
        else []
    )


def peak(call, inputs):
    """(scratch, result, kept) of a call, in bytes."""
    gc.collect()
    sync()
    counted = torch.cuda.memory_allocated if CUDA else (lambda: 0)
    bare = counted()
    out = call()
    first = sum(storages(flat(out)).values())
    kept = counted() - bare - first
    del out
    sync()
    before = counted()
    if CUDA:
        torch.cuda.reset_peak_memory_stats()
    out = call()
    sync()
    most = torch.cuda.max_memory_allocated() if CUDA else 0
    mine = storages(flat(out))
    result = sum(size for place, size in mine.items() if place not in storages(inputs))
    return most - before - result, result, kept


def measured(op, about, build, gradients):
    """A row of the call without gradients, and one of its gradients."""
    if CUDA:
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
    call, inputs = build()
    given = sum(storages(inputs).values())
    row = {"kind": "scratch", "op": op, "params": about, "input_bytes": given}
    with torch.no_grad():
        names = ("scratch_bytes", "result_bytes", "kept_bytes")
        yield row | dict(zip(names, peak(call, inputs), strict=True))
    wanted = [x for x in inputs if x.requires_grad]
    if gradients and wanted:
        out = flat(call())[0]
        seed = torch.ones_like(out)
        back = peak(lambda: torch.autograd.grad(out, wanted, seed, retain_graph=True), inputs)
        yield row | {"op": f"{op}_backward"} | dict(zip(names, back, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=90.0)
    args = parser.parse_args()
    rows, begun = [], time.time()
    for op, about, build, gradients in cases():
        if time.time() - begun > args.seconds:
            break
        try:
            rows += measured(op, about, build, gradients)
        except Exception as error:
            rows.append({"kind": "error", "op": op, "params": about, "error": f"{type(error).__name__}: {str(error)[:120]}"})
    write(f"{args.out}/scratch.json", METHOD, rows)
    print(f"{len(rows)} rows, {sum(row['kind'] == 'error' for row in rows)} failed, {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
