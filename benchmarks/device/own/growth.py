"""Grown step by step: programs held to a grammar, spans added into trees, moves searched in a tree, molecules out of noise."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class HeldToAGrammar(nn.Module):
    """A program by the rules of its grammar: a cell that feeds on its parent's state, rules masked by what the open node allows, or a copied name."""

    def __init__(self, words, rules, kinds, d, longest):
        super().__init__()
        self.word, self.rule, self.kind = nn.Embedding(words, d), nn.Embedding(rules, d), nn.Embedding(kinds, d // 4)
        self.read = nn.GRU(d, d // 2, num_layers=2, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(3 * d + d // 4, d)
        self.key, self.look, self.att = nn.Linear(d, d, bias=False), nn.Linear(d, d), nn.Linear(2 * d, d)
        self.to_rule, self.copy, self.switch = nn.Linear(d, rules), nn.Linear(d, d, bias=False), nn.Linear(d, 1)
        allowed = torch.rand(kinds, rules) < 0.3
        allowed[:, 0] = True
        self.register_buffer("allowed", allowed)
        self.register_buffer("opens", torch.randint(kinds, (rules,)))
        self.longest = longest

    def forward(self, text):
        b = len(text)
        pad = text == 0
        seen, _ = self.read(self.word(text))
        keys = self.key(seen)
        h = torch.tanh(self.look(seen.mean(1)))
        c = torch.zeros_like(h)
        context, last = torch.zeros_like(h), torch.zeros(b, dtype=torch.long, device=text.device)
        kind, states, program, score = torch.zeros_like(last), [h], [], 0.0
        parent = torch.zeros_like(last)
        for _ in range(self.longest):
            above = torch.stack(states, 1)[torch.arange(b, device=text.device), parent]
            h, c = self.cell(torch.cat([self.rule(last), context, above, self.kind(kind)], -1), (h, c))
            w = torch.bmm(keys, h.unsqueeze(2)).squeeze(2).masked_fill(pad, -1e4).softmax(-1)
            context = torch.bmm(w.unsqueeze(1), seen).squeeze(1)
            a = torch.tanh(self.att(torch.cat([h, context], -1)))
            rule = self.to_rule(a).masked_fill(~self.allowed[kind], -1e4).float().log_softmax(-1)
            name = torch.bmm(seen, self.copy(a).unsqueeze(2)).squeeze(2).masked_fill(pad, -1e4).float().log_softmax(-1)
            p = self.switch(a).float()
            both = torch.cat([rule + F.logsigmoid(p), name + F.logsigmoid(-p)], -1)
            best, pick = both.max(-1)
            copied = pick >= rule.shape[-1]
            last = torch.where(copied, 0, pick)
            kind = torch.where(copied, kind, self.opens[last])
            parent = torch.where(copied, (parent - 1).clamp_min(0), len(states) - 1)
            states.append(h)
            program.append(pick)
            score = score + best
        return torch.stack(program, 1), score


@model("program synthesis", compiles=False)
def programs_held_to_a_grammar(small):
    b, n, words, rules, kinds, d, longest = (2, 5, 20, 7, 3, 8, 3) if small else (64, 128, 12_000, 300, 90, 512, 60)
    return HeldToAGrammar(words, rules, kinds, d, longest), (torch.randint(words, (b, n)),), None


class SpansIntoTrees(nn.Module):
    """A parser: every span of a sentence scored, all trees summed from short spans to long ones, the chart kept as a square."""

    def __init__(self, words, d, layers, heads, labels):
        super().__init__()
        self.emb = nn.Embedding(words, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.1, "gelu", batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.left, self.right = nn.Linear(d, d // 2), nn.Linear(d, d // 2)
        self.W = nn.Parameter(torch.randn(labels, d // 2 + 1, d // 2 + 1) * 0.02)

    def scores(self, words):
        x = self.enc(self.emb(words))
        a, b = F.leaky_relu(self.left(x), 0.1), F.leaky_relu(self.right(x), 0.1)
        one = a.new_ones(*a.shape[:2], 1)
        a, b = torch.cat([a, one], -1), torch.cat([b, one], -1)
        return torch.einsum("bxi,lij,byj->bxyl", a, self.W.to(a.dtype), b).float().logsumexp(-1)

    def forward(self, words):
        s = self.scores(words)
        n = words.shape[1]
        chart = torch.diag_embed(s.diagonal(dim1=1, dim2=2))  # from the left; its transpose, from the right
        lefts, rights = chart.clone(), chart.clone()
        inside = s.diagonal(dim1=1, dim2=2)
        for w in range(1, n):
            m = n - w
            start = torch.arange(m, device=s.device)
            within = torch.arange(w, device=s.device)
            one = lefts[:, start[:, None], start[:, None] + within]
            two = rights[:, start[:, None] + within + 1, (start + w)[:, None]]
            inside = torch.logsumexp(one + two, -1) + s.diagonal(w, dim1=1, dim2=2)
            lefts = lefts.diagonal_scatter(inside, w, 1, 2)
            rights = rights.diagonal_scatter(inside, w, 1, 2)
        return inside.squeeze(-1), s


@model("parsing", compiles=False)
def spans_added_into_trees(small):
    b, n, words, d, layers, heads, labels = (2, 5, 20, 16, 1, 2, 3) if small else (32, 48, 20_000, 512, 6, 8, 24)
    at, length = torch.randint(n // 2, (b, n // 2)), torch.randint(1, n // 2, (b, n // 2))

    def loss(out):
        total, s = out
        gold = s.flatten(1).gather(1, at * n + at + length).sum(1) + s[:, 0, -1]
        return F.softplus((total - gold) / n).mean()

    return SpansIntoTrees(words, d, layers, heads, labels), (torch.randint(words, (b, n)),), loss


class SearchedMoves(nn.Module):
    """Boards side by side, each with a tree of its own in tables: walk down by upper bounds, ask the net, add a leaf, tell the way back up."""

    def __init__(self, planes, width, blocks, moves, visits, deep):
        super().__init__()
        self.stem = nn.Conv2d(planes, width, 3, padding=1, bias=False)
        self.body = nn.ModuleList(nn.Sequential(
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1, bias=False)) for _ in range(blocks))  # fmt: skip
        self.policy, self.value = nn.Conv2d(width, 2, 1), nn.Conv2d(width, 1, 1)
        self.pi, self.v = nn.LazyLinear(moves), nn.LazyLinear(1)
        self.act = nn.Embedding(moves, width)
        self.step = nn.Conv2d(2 * width, width, 3, padding=1)
        self.moves, self.visits, self.deep = moves, visits, deep

    def judge(self, x):
        for block in self.body:
            x = x + block(x)
        return (
            self.pi(F.relu(self.policy(x)).flatten(1)).float().softmax(-1),
            self.v(F.relu(self.value(x)).flatten(1)).float().tanh().squeeze(1),
            x,
        )

    def forward(self, boards):
        b, M, dev = len(boards), self.visits + 1, boards.device
        prior, value, root = self.judge(self.stem(boards))
        rows = torch.arange(b, device=dev)
        P, N, W = (torch.zeros(b, M, self.moves, device=dev) for _ in range(3))
        child = torch.full((b, M, self.moves), -1, dtype=torch.long, device=dev)
        hidden = torch.zeros(b, M, *root.shape[1:], device=dev, dtype=root.dtype)
        P[:, 0], hidden[:, 0] = prior, root
        for new in range(1, M):
            node = torch.zeros(b, dtype=torch.long, device=dev)
            alive = torch.ones(b, dtype=torch.bool, device=dev)
            way, last_node, last_move = [], node, node
            for _ in range(self.deep):
                n = N[rows, node]
                q = W[rows, node] / n.clamp_min(1)
                u = q + 1.25 * P[rows, node] * n.sum(-1, keepdim=True).add(1).sqrt() / (1 + n)
                move = u.argmax(-1)
                way.append((node, move, alive))
                last_node, last_move = torch.where(alive, node, last_node), torch.where(alive, move, last_move)
                below = child[rows, node, move]
                alive = alive & (below >= 0)
                node = torch.where(alive, below, node)
            act = self.act(last_move)[:, :, None, None].expand_as(root)
            prior, value, state = self.judge(F.relu(self.step(torch.cat([hidden[rows, last_node], act], 1))))
            hidden[:, new], P[:, new] = state, prior
            child[rows, last_node, last_move] = new
            for depth, (at, move, on) in enumerate(way):
                sign = -1.0 if depth % 2 else 1.0
                N[rows, at, move] += on
                W[rows, at, move] += sign * value * on
        return N[:, 0] / N[:, 0].sum(-1, keepdim=True), value


@model("planning", compiles=False)
def moves_searched_in_trees(small):
    b, size, planes, width, blocks, visits, deep = (2, 3, 4, 8, 1, 2, 2) if small else (128, 9, 17, 128, 6, 16, 6)
    net = SearchedMoves(planes, width, blocks, size * size + 1, visits, deep)
    boards = (torch.rand(b, planes, size, size) < 0.3).float()
    net.pi = nn.Linear(2 * size * size, size * size + 1)
    net.v = nn.Linear(size * size, 1)
    return net, (boards,), None


class MoleculesOutOfNoise(nn.Module):
    """Atoms of unknown kinds at unknown places: denoised together, by messages between all pairs that no turn of the molecule changes."""

    def __init__(self, kinds, d, layers, steps):
        super().__init__()
        self.enter, self.leave, self.steps = nn.Linear(kinds + 1, d), nn.Linear(d, kinds), steps

        def mlp(*sizes):
            return nn.Sequential(*(f for a, b in itertools.pairwise(sizes) for f in (nn.Linear(a, b), nn.SiLU())))

        self.edge = nn.ModuleList(mlp(2 * d + 2, d, d) for _ in range(layers))
        self.node = nn.ModuleList(nn.Sequential(mlp(2 * d, d), nn.Linear(d, d)) for _ in range(layers))
        self.coord = nn.ModuleList(nn.Sequential(mlp(2 * d + 2, d, d), nn.Linear(d, 1, bias=False)) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(d, 1) for _ in range(layers))
        t = torch.linspace(0, 1, 501)
        self.register_buffer("alpha", ((1 - t**2) ** 2).clamp(1e-4, 0.9999))

    def eps(self, x, h, t, mask):
        b, n, _ = x.shape
        start, pair = (
            x,
            (mask.unsqueeze(1) * mask.unsqueeze(2)).unsqueeze(-1) * (1 - torch.eye(n, device=x.device, dtype=x.dtype)).unsqueeze(-1),
        )
        h = self.enter(torch.cat([h, t.view(-1, 1, 1).expand(b, n, 1).to(h.dtype)], -1))
        d0 = (x.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1, keepdim=True)
        for edge, node, coord, gate in zip(self.edge, self.node, self.coord, self.gate):
            gap = x.unsqueeze(2) - x.unsqueeze(1)
            d = gap.square().sum(-1, keepdim=True)
            seen = torch.cat([h.unsqueeze(2).expand(-1, -1, n, -1), h.unsqueeze(1).expand(-1, n, -1, -1), d, d0], -1)
            m = edge(seen)
            m = m * torch.sigmoid(gate(m)) * pair
            x = x + (gap / (d.sqrt() + 1) * torch.tanh(coord(seen)) * pair).sum(2)
            h = (h + node(torch.cat([h, m.sum(2) / 100], -1))) * mask.unsqueeze(-1)
        shift = (x - start) * mask.unsqueeze(-1)
        return shift - shift.sum(1, keepdim=True) / mask.sum(1).view(-1, 1, 1), self.leave(h)

    def forward(self, x, h, mask):
        b = len(x)
        if self.training:
            t = torch.randint(1, 500, (b,), device=x.device)
            a = self.alpha[t].view(-1, 1, 1)
            ex, eh = torch.randn_like(x), torch.randn_like(h)
            px, ph = self.eps(a.sqrt() * x + (1 - a).sqrt() * ex, a.sqrt() * h + (1 - a).sqrt() * eh, t / 500, mask)
            return ((px - ex) * mask.unsqueeze(-1)).square().mean() + ((ph - eh) * mask.unsqueeze(-1)).square().mean()
        x, h = torch.randn_like(x), torch.randn_like(h)
        times = [500 - 500 * i // self.steps for i in range(self.steps)]
        for now, then in zip(times, [*times[1:], 0]):
            a, c = self.alpha[now], self.alpha[then]
            ex, eh = self.eps(x, h, x.new_full((b,), now / 500), mask)
            ratio, sigma = (a / c).sqrt(), ((1 - a / c) * (1 - c) / (1 - a)).clamp_min(0).sqrt()
            x = (x - (1 - a / c) / (1 - a).sqrt() * ex) / ratio + sigma * torch.randn_like(x)
            h = (h - (1 - a / c) / (1 - a).sqrt() * eh) / ratio + sigma * torch.randn_like(h)
        return x, h.argmax(-1)


@model("diffusion", compiles=False)
def molecules_out_of_noise(small):
    b, n, d, layers, steps = (2, 4, 8, 1, 2) if small else (64, 24, 128, 5, 15)
    mask = (torch.arange(n) < torch.randint(n // 2, n + 1, (b, 1))).float()
    return MoleculesOutOfNoise(6, d, layers, steps), (torch.randn(b, n, 3), torch.randn(b, n, 6), mask), lambda out: out
