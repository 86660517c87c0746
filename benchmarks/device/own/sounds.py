"""Music taken apart band by band, speech written down, sounds beside their captions, waves from the spectra of frames."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from own.listing import model


class DualPath(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm_t, self.norm_k = nn.GroupNorm(1, dim), nn.GroupNorm(1, dim)
        self.rnn_t = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.rnn_k = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc_t, self.fc_k = nn.Linear(2 * hidden, dim), nn.Linear(2 * hidden, dim)

    def forward(self, z):  # batch, dim, bands, frames
        b, n, k, t = z.shape
        y = self.norm_t(z).permute(0, 2, 3, 1).reshape(b * k, t, n)
        y = self.fc_t(self.rnn_t(y)[0]).view(b, k, t, n).permute(0, 3, 1, 2)
        z = z + y
        y = self.norm_k(z).permute(0, 3, 2, 1).reshape(b * t, k, n)
        y = self.fc_k(self.rnn_k(y)[0]).view(b, t, k, n).permute(0, 3, 2, 1)
        return z + y


class BandSplitter(nn.Module):
    """A voice out of a song: the spectrum cut into bands, read along time and across bands by turns, and a complex mask per band."""

    def __init__(self, n_fft, hop, widths, dim, hidden, depth, channels=2):
        super().__init__()
        assert sum(widths) == n_fft // 2 + 1
        self.n_fft, self.hop, self.widths, self.channels = n_fft, hop, widths, channels
        self.register_buffer("window", torch.hann_window(n_fft))
        self.enter = nn.ModuleList(nn.Sequential(nn.LayerNorm(2 * channels * w), nn.Linear(2 * channels * w, dim)) for w in widths)
        self.blocks = nn.Sequential(*[DualPath(dim, hidden) for _ in range(depth)])
        self.masks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Tanh(), nn.Linear(4 * dim, 4 * channels * w), nn.GLU(-1))
            for w in widths
        )

    def forward(self, wave):
        b, c, n = wave.shape
        spec = torch.stft(wave.view(b * c, n), self.n_fft, self.hop, window=self.window, return_complex=True)
        f, t = spec.shape[1:]
        real = torch.view_as_real(spec).view(b, c, f, t, 2)
        bands = [part.permute(0, 3, 1, 4, 2).flatten(2) for part in real.split(self.widths, dim=2)]
        z = torch.stack([enter(band) for enter, band in zip(self.enter, bands)], 2)  # b t k d
        z = self.blocks(z.permute(0, 3, 2, 1)).permute(0, 3, 2, 1)
        out = []
        for k, (mask, width) in enumerate(zip(self.masks, self.widths)):
            out.append(mask(z[:, :, k]).view(b, t, c, 2, width))
        m = torch.cat(out, -1).permute(0, 2, 4, 1, 3).float().contiguous()
        masked = spec.view(b, c, f, t) * torch.view_as_complex(m)
        return torch.istft(masked.flatten(0, 1), self.n_fft, self.hop, window=self.window, length=n).view(b, c, n)


@model("audio", half=False, compiles=False)
def voice_out_of_a_song(small):
    b, n, n_fft, hop, widths, dim, hidden, depth = 1, 600, 64, 16, (8, 8, 17), 8, 6, 1
    if not small:
        b, n, n_fft, hop, dim, hidden, depth = 4, 3 * 44_100, 2048, 512, 128, 256, 6
        widths = (*[8] * 16, *[16] * 12, *[32] * 10, *[64] * 5, 65)
    voice = torch.randn(b, 2, n)
    return BandSplitter(n_fft, hop, widths, dim, hidden, depth), (torch.randn(b, 2, n),), lambda out: F.l1_loss(out, voice)


class SpeechAttention(nn.Module):
    def __init__(self, n_state: int, n_head: int):
        super().__init__()
        self.n_head = n_head
        self.query, self.value, self.out = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state), nn.Linear(n_state, n_state)
        self.key = nn.Linear(n_state, n_state, bias=False)

    def forward(self, x, xa=None, causal=False):
        src = x if xa is None else xa
        q, k, v = (y.view(*y.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) for y in (self.query(x), self.key(src), self.value(src)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.permute(0, 2, 1, 3).flatten(start_dim=2))


class SpeechBlock(nn.Module):
    def __init__(self, n_state: int, n_head: int, cross: bool = False):
        super().__init__()
        self.attn, self.attn_ln = SpeechAttention(n_state, n_head), nn.LayerNorm(n_state)
        self.cross_attn = SpeechAttention(n_state, n_head) if cross else None
        self.cross_ln = nn.LayerNorm(n_state) if cross else None
        self.mlp = nn.Sequential(nn.Linear(n_state, 4 * n_state), nn.GELU(), nn.Linear(4 * n_state, n_state))
        self.mlp_ln = nn.LayerNorm(n_state)

    def forward(self, x, xa=None):
        x = x + self.attn(self.attn_ln(x), causal=xa is not None)
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.cross_ln(x), xa)
        return x + self.mlp(self.mlp_ln(x))


class Transcriber(nn.Module):
    """Thirty seconds of log-mel frames in, words out: convolutions halve the frames, then an encoder and a decoder."""

    def __init__(self, mels, frames, vocab, words, n_state, n_head, layers):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(mels, n_state, 3, padding=1), nn.Conv1d(n_state, n_state, 3, stride=2, padding=1)
        scale = torch.exp(-math.log(10000) / (n_state // 2 - 1) * torch.arange(n_state // 2))
        angle = torch.arange(frames // 2)[:, None] * scale
        self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], 1))
        self.encoder = nn.ModuleList(SpeechBlock(n_state, n_head) for _ in range(layers))
        self.decoder = nn.ModuleList(SpeechBlock(n_state, n_head, cross=True) for _ in range(layers))
        self.ln_post, self.ln = nn.LayerNorm(n_state), nn.LayerNorm(n_state)
        self.token, self.place = nn.Embedding(vocab, n_state), nn.Parameter(torch.randn(words, n_state) * 0.02)

    def forward(self, mel, tokens):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).permute(0, 2, 1)
        x = (x + self.positions).to(x.dtype)
        for block in self.encoder:
            x = block(x)
        xa = self.ln_post(x)
        y = self.token(tokens) + self.place[: tokens.shape[-1]]
        for block in self.decoder:
            y = block(y, xa)
        return self.ln(y) @ self.token.weight.t()


@model("speech")
def speech_written_down(small):
    b, mels, frames, vocab, words, d, heads, layers = (2, 8, 12, 20, 4, 16, 2, 1) if small else (8, 80, 3000, 32_000, 160, 512, 8, 6)
    tokens = torch.randint(vocab, (b, words + 1))
    net = Transcriber(mels, frames, vocab, words, d, heads, layers)
    goal = tokens[:, 1:].flatten()
    return (
        net,
        (torch.randn(b, mels, frames), tokens[:, :-1].clone()),
        lambda out: F.cross_entropy(out.flatten(0, 1), goal, label_smoothing=0.1),
    )


class ConvPair(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(cin, cout, 3, 1, 1, bias=False), nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(cout), nn.BatchNorm2d(cout)

    def forward(self, x):
        x = F.relu_(self.bn1(self.conv1(x)))
        x = F.relu_(self.bn2(self.conv2(x)))
        return F.dropout(F.avg_pool2d(x, 2), 0.2, self.training)


class SoundTower(nn.Module):
    def __init__(self, mels, widths, d):
        super().__init__()
        self.bn0 = nn.BatchNorm2d(mels)
        self.blocks = nn.ModuleList(ConvPair(a, b) for a, b in zip((1, *widths), widths))
        self.fc, self.proj1, self.proj2, self.ln = (
            nn.Linear(widths[-1], widths[-1]),
            nn.Linear(widths[-1], d),
            nn.Linear(d, d),
            nn.LayerNorm(d),
        )

    def forward(self, mel):  # batch, frames, mels
        x = self.bn0(mel.unsqueeze(1).transpose(1, 3)).transpose(1, 3)
        for block in self.blocks:
            x = block(x)
        x = x.mean(dim=3)
        x = x.amax(dim=2) + x.mean(dim=2)
        e = self.proj1(F.relu_(self.fc(x)))
        return self.ln(e + F.dropout(self.proj2(F.gelu(e)), 0.5, self.training))


class CaptionTower(nn.Module):
    def __init__(self, vocab, words, width, heads, layers, d):
        super().__init__()
        self.embed, self.pos = nn.Embedding(vocab, width, padding_idx=0), nn.Parameter(torch.randn(words, width) * 0.02)
        self.blocks = nn.ModuleList(SpeechBlock(width, heads) for _ in range(layers))
        self.ln, self.proj = nn.LayerNorm(width), nn.Linear(width, d, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.pos
        for block in self.blocks:
            x = block(x)
        keep = ids.ne(0).unsqueeze(-1).to(x.dtype)
        return self.proj((self.ln(x) * keep).sum(1) / keep.sum(1).clamp(min=1))


class SoundsAndCaptions(nn.Module):
    """Two towers that meet in one space: a sound's vector should be nearest to its own caption's among all in the batch."""

    def __init__(self, mels, widths, vocab, words, width, heads, layers, d):
        super().__init__()
        self.sound, self.caption = SoundTower(mels, widths, d), CaptionTower(vocab, words, width, heads, layers, d)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, mel, ids):
        a, t = F.normalize(self.sound(mel), dim=-1), F.normalize(self.caption(ids), dim=-1)
        return self.logit_scale.exp().clamp(max=100) * a @ t.t()


@model("contrastive loss")
def captions_beside_sounds(small):
    b, mels, frames, widths, vocab, words, width, heads, layers, d = 64, 64, 1000, (64, 128, 256, 512), 30_000, 64, 512, 8, 8, 512
    if small:
        b, mels, frames, widths, vocab, words, width, heads, layers, d = 3, 8, 16, (4, 8), 20, 5, 8, 2, 1, 8
    same = torch.arange(b)
    net = SoundsAndCaptions(mels, widths, vocab, words, width, heads, layers, d)
    inputs = torch.randn(b, frames, mels), torch.randint(vocab, (b, words))
    return net, inputs, lambda out: 0.5 * (F.cross_entropy(out, same) + F.cross_entropy(out.t(), same))


class WideConv(nn.Module):
    """ConvNeXt along time."""

    def __init__(self, d, hidden, depth):
        super().__init__()
        self.dwconv = nn.Conv1d(d, d, 7, padding=3, groups=d)
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.pw1, self.act, self.pw2 = nn.Linear(d, hidden), nn.GELU(), nn.Linear(hidden, d)
        self.gamma = nn.Parameter(torch.full((d,), 1 / depth))

    def forward(self, x):
        y = self.dwconv(x).transpose(1, 2)
        y = self.gamma * self.pw2(self.act(self.pw1(self.norm(y))))
        return x + y.transpose(1, 2)


class WavesOfFrames(nn.Module):
    """A vocoder that never upsamples: for each frame a magnitude and a phase, and the inverse transform adds them up."""

    def __init__(self, mels, d, hidden, depth, n_fft, hop):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.embed, self.norm = nn.Conv1d(mels, d, 7, padding=3), nn.LayerNorm(d, eps=1e-6)
        self.blocks = nn.ModuleList([WideConv(d, hidden, depth) for _ in range(depth)])
        self.final, self.out = nn.LayerNorm(d, eps=1e-6), nn.Linear(d, n_fft + 2)
        self.register_buffer("window", torch.hann_window(n_fft))

    def overlap(self, frames, length):
        return F.fold(frames, (1, length), (1, self.n_fft), stride=(1, self.hop))[:, 0, 0]

    def forward(self, mel):
        x = self.norm(self.embed(mel).transpose(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        mag, phase = self.out(self.final(x.transpose(1, 2))).transpose(1, 2).float().chunk(2, dim=1)
        mag = torch.clip(torch.exp(mag), max=1e2)
        spec = mag * (torch.cos(phase) + 1j * torch.sin(phase))
        frames = torch.fft.irfft(spec, self.n_fft, dim=1) * self.window[None, :, None]
        length = (spec.shape[-1] - 1) * self.hop + self.n_fft
        cut = (self.n_fft - self.hop) // 2
        wave = self.overlap(frames, length)[:, cut:-cut]
        envelope = self.overlap(self.window.square()[None, :, None].expand(1, -1, spec.shape[-1]), length)[:, cut:-cut]
        return wave / envelope


@model("speech", half=False, compiles=False)
def waves_from_spectra_of_frames(small):
    b, mels, frames, d, hidden, depth, n_fft, hop = (1, 6, 9, 8, 16, 1, 16, 4) if small else (16, 100, 768, 512, 1536, 8, 1024, 256)
    truth = torch.randn(b, frames * hop)
    sizes = (16, 32) if small else (512, 1024, 2048)
    windows = [torch.hann_window(n) for n in sizes]

    def loss(wave):
        total = 0.0
        for n, window in zip(sizes, windows):
            a, t = (torch.stft(y, n, n // 4, window=window, return_complex=True).abs().clamp(min=1e-5) for y in (wave, truth))
            total = total + torch.norm(t - a) / torch.norm(t) + F.l1_loss(a.log(), t.log())
        return total

    return WavesOfFrames(mels, d, hidden, depth, n_fft, hop), (torch.randn(b, mels, frames),), loss
