"""Voices, microphones and notes: streams of codes with a delay, frames stretched to their lengths, beams steered at a speaker."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from own.listing import model


def sinusoids(length, d, device, dtype):
    pos = torch.arange(length, device=device).unsqueeze(1)
    freq = torch.exp(torch.arange(0, d, 2, device=device) * (-math.log(10000.0) / d))
    return torch.cat([torch.sin(pos * freq), torch.cos(pos * freq)], dim=1).to(dtype)


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, cross: bool = False):
        super().__init__()
        self.n_heads, self.cross = n_heads, cross
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.kv_proj = nn.Linear(d_model, 2 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, memory=None):
        b, t, d = x.shape
        src = memory if self.cross else x
        q = self.q_proj(x).view(b, t, self.n_heads, -1).transpose(1, 2)
        k, v = self.kv_proj(src).view(b, src.shape[1], 2, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=not self.cross)
        return self.out_proj(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn, self.cross = Attention(d, heads), Attention(d, heads, cross=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d, bias=False))

    def forward(self, x, memory):
        x = x + self.attn(self.norm1(x))
        x = x + self.cross(self.norm2(x), memory)
        return x + self.ff(self.norm3(x))


class MusicLM(nn.Module):
    """Four codebooks of a sound, each a step later than the one before it, written by one decoder that has read a description."""

    def __init__(self, codebooks, card, d, heads, layers, text):
        super().__init__()
        self.card, self.codebooks = card, codebooks
        self.emb = nn.ModuleList([nn.Embedding(card + 1, d) for _ in range(codebooks)])
        self.text = nn.Linear(text, d)
        self.layers = nn.ModuleList([Layer(d, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(d)
        self.heads = nn.ModuleList([nn.Linear(d, card, bias=False) for _ in range(codebooks)])

    def forward(self, codes, description):
        b, k, t = codes.shape
        rolled = torch.full((b, k, t + k - 1), self.card, dtype=codes.dtype, device=codes.device)
        for i in range(k):
            rolled[:, i, i : i + t] = codes[:, i]
        x = sum(emb(rolled[:, i]) for i, emb in enumerate(self.emb))
        x = x + sinusoids(x.shape[1], x.shape[2], x.device, x.dtype)
        memory = self.text(description)
        for layer in self.layers:
            x = layer(x, memory)
        x = self.norm(x)
        logits = torch.stack([head(x) for head in self.heads], dim=1)
        return torch.stack([logits[:, i, i : i + t] for i in range(k)], 1)


@model("music")
def four_codebooks_delayed(small):
    b, t, card, d, heads, layers, text, words = (2, 5, 16, 16, 2, 1, 8, 3) if small else (6, 500, 2048, 768, 12, 10, 768, 24)
    codes = torch.randint(card, (b, 4, t))
    net = MusicLM(4, card, d, heads, layers, text)
    return net, (codes, torch.randn(b, words, text)), lambda out: F.cross_entropy(out[:, :, :-1].flatten(0, 2), codes[:, :, 1:].flatten())


class FFTBlock(nn.Module):
    def __init__(self, d, heads, hidden, kernel=9, dropout=0.1):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads, dropout=dropout, batch_first=True)
        self.ln1, self.ln2, self.drop = nn.LayerNorm(d), nn.LayerNorm(d), nn.Dropout(dropout)
        self.w1, self.w2 = nn.Conv1d(d, hidden, kernel, padding=kernel // 2), nn.Conv1d(hidden, d, 1)

    def forward(self, x, pad):
        y, _ = self.attn(x, x, x, key_padding_mask=pad, need_weights=False)
        x = self.ln1(x + self.drop(y)).masked_fill(pad.unsqueeze(-1), 0)
        y = self.w2(F.relu(self.w1(x.transpose(1, 2)))).transpose(1, 2)
        return self.ln2(x + self.drop(y)).masked_fill(pad.unsqueeze(-1), 0)


class VariancePredictor(nn.Module):
    def __init__(self, d, filt):
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(d, filt, 3, padding=1), nn.Conv1d(filt, filt, 3, padding=1)
        self.n1, self.n2, self.out = nn.LayerNorm(filt), nn.LayerNorm(filt), nn.Linear(filt, 1)

    def forward(self, x):
        x = F.dropout(self.n1(F.relu(self.c1(x.transpose(1, 2))).transpose(1, 2)), 0.5, self.training)
        x = F.dropout(self.n2(F.relu(self.c2(x.transpose(1, 2))).transpose(1, 2)), 0.5, self.training)
        return self.out(x).squeeze(-1)


class StretchedSpeech(nn.Module):
    """Phonemes to a spectrogram at once: each is repeated for as many frames as it lasts, with pitch and energy added in bins."""

    def __init__(self, phonemes, d, heads, hidden, layers, frames, mels=80, bins=256):
        super().__init__()
        self.embed, self.frames = nn.Embedding(phonemes, d, padding_idx=0), frames
        self.encoder = nn.ModuleList([FFTBlock(d, heads, hidden) for _ in range(layers)])
        self.decoder = nn.ModuleList([FFTBlock(d, heads, hidden) for _ in range(layers)])
        self.duration, self.pitch, self.energy = VariancePredictor(d, d), VariancePredictor(d, d), VariancePredictor(d, d)
        self.register_buffer("edges", torch.linspace(-3, 3, bins - 1))
        self.pitch_embed, self.energy_embed = nn.Embedding(bins, d), nn.Embedding(bins, d)
        self.mel = nn.Linear(d, mels)
        self.post = nn.ModuleList(
            nn.Sequential(nn.Conv1d(a, b, 5, padding=2), nn.BatchNorm1d(b))
            for a, b in ((mels, 512), (512, 512), (512, 512), (512, 512), (512, mels))
        )

    def stretch(self, x, lasts):
        """Which phoneme each frame belongs to: where the running sum of lengths passes the frame's number."""
        ends = lasts.cumsum(1)
        number = torch.arange(self.frames, device=x.device).expand(len(x), -1).contiguous()
        which = torch.searchsorted(ends, number, right=True)
        pad = which >= x.shape[1]
        which = which.clamp(max=x.shape[1] - 1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
        return x.gather(1, which).masked_fill(pad.unsqueeze(-1), 0), pad

    def forward(self, text, lasts, pitch, energy):
        pad = text == 0
        x = self.embed(text)
        x = x + sinusoids(x.shape[1], x.shape[2], x.device, x.dtype)
        for block in self.encoder:
            x = block(x, pad)
        log_duration = self.duration(x)
        x, pad = self.stretch(x, lasts)
        p, e = self.pitch(x), self.energy(x)
        x = x + self.pitch_embed(torch.bucketize(pitch, self.edges)) + self.energy_embed(torch.bucketize(energy, self.edges))
        x = x + sinusoids(x.shape[1], x.shape[2], x.device, x.dtype)
        for block in self.decoder:
            x = block(x, pad)
        mel = self.mel(x)
        y = mel.transpose(1, 2)
        for i, conv in enumerate(self.post):
            y = conv(y)
            y = F.dropout(torch.tanh(y) if i < 4 else y, 0.5, self.training)
        return mel, mel + y.transpose(1, 2), log_duration, p, e


@model("speech")
def phonemes_stretched_to_frames(small):
    b, n, frames, d, heads, hidden, layers = (2, 5, 12, 16, 2, 32, 1) if small else (24, 110, 800, 256, 2, 1024, 4)
    text, lasts = torch.randint(1, 80, (b, n)), torch.randint(1, 2 * frames // n, (b, n))
    pitch, energy, mel = torch.randn(b, frames), torch.randn(b, frames), torch.randn(b, frames, 80)

    def loss(out):
        first, last, long, p, e = out
        length = F.mse_loss(long, torch.log(lasts.float() + 1))
        return F.l1_loss(first, mel) + F.l1_loss(last, mel) + length + F.mse_loss(p, pitch) + F.mse_loss(e, energy)

    return StretchedSpeech(80, d, heads, hidden, layers, frames), (text, lasts, pitch, energy), loss


class MaskNet(nn.Module):
    def __init__(self, bins, hidden):
        super().__init__()
        self.rnn = nn.LSTM(bins, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.speech, self.noise = nn.Linear(2 * hidden, bins), nn.Linear(2 * hidden, bins)

    def forward(self, loud):
        h, _ = self.rnn(loud)
        return torch.sigmoid(self.speech(h)), torch.sigmoid(self.noise(h))


class SteeredMicrophones(nn.Module):
    """Masks say where speech is; its covariance over noise's gives, frequency by frequency, the filter that keeps it undistorted."""

    def __init__(self, n_fft, hop, hidden, reference=0):
        super().__init__()
        self.n_fft, self.hop, self.reference = n_fft, hop, reference
        self.register_buffer("window", torch.hann_window(n_fft))
        self.masks = MaskNet(n_fft // 2 + 1, hidden)

    @staticmethod
    def covariance(X, mask):
        weighted = X * mask.unsqueeze(1)
        psd = torch.einsum("bcft,bdft->bfcd", weighted, X.conj())
        return psd / mask.sum(-1).clamp(min=1e-6)[..., None, None]

    def forward(self, waves):
        b, c, n = waves.shape
        X = torch.stft(waves.flatten(0, 1), self.n_fft, self.hop, window=self.window, return_complex=True)
        X = X.view(b, c, *X.shape[1:])
        loud = torch.log1p(X.abs()).flatten(0, 1).transpose(1, 2)
        speech, noise = (m.view(b, c, *m.shape[1:]).mean(1).transpose(1, 2) for m in self.masks(loud))
        phi_s, phi_n = self.covariance(X, speech), self.covariance(X, noise)
        eye = torch.eye(c, device=waves.device, dtype=phi_n.dtype)
        trace = phi_n.diagonal(dim1=-2, dim2=-1).sum(-1).real[..., None, None]
        ratio = torch.linalg.solve(phi_n + (1e-3 * trace + 1e-6) * eye, phi_s)
        w = ratio[..., self.reference] / (ratio.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True) + 1e-6)
        Y = torch.einsum("bfc,bcft->bft", w.conj(), X)
        return torch.istft(Y, self.n_fft, self.hop, window=self.window, length=n)


@model("audio", half=False, compiles=False)
def microphones_steered(small):
    b, c, n, n_fft, hop, hidden = (1, 2, 400, 64, 16, 8) if small else (8, 6, 48_000, 512, 128, 300)
    clean = torch.randn(b, n)

    def loss(wave):
        target = (wave * clean).sum(1, keepdim=True) / clean.square().sum(1, keepdim=True) * clean
        return -10 * torch.log10(target.square().sum(1) / ((wave - target).square().sum(1) + 1e-6)).mean()

    return SteeredMicrophones(n_fft, hop, hidden), (torch.randn(b, c, n),), loss
