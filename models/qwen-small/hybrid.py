"""The architecture of Qwen3.6-35B-A3B in plain PyTorch: three of four layers with the gated delta rule, every fourth with gated
attention; experts with a softmax router, and a shared one; and a block that predicts tokens after the next (MTP). For
training: all experts are computed for all tokens, with weight zero for those that were not chosen.

Heads of values are in the order of GGUF files: head h shares the keys of head h mod `keys`."""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

import delta
import shared  # noqa: F401: it makes the next import find glm-small's file.
from model import Linear, RmsNorm, angles


@dataclass(frozen=True)
class Shape:
    vocab: int = 4096
    context: int = 1024
    hidden: int = 256
    layers: int = 8  # Without the MTP block.
    interval: int = 4  # Every layer of this number has attention.
    heads: int = 4
    kv_heads: int = 2
    width: int = 64  # Of a head of attention.
    rope: int = 16
    keys: int = 2  # Heads of keys of the delta rule.
    values: int = 4
    state: int = 64  # Width of a head of the delta rule.
    taps: int = 4
    experts: int = 8
    used: int = 3
    expert: int = 64
    shared: int = 64
    depths: int = 3  # How many tokens MTP is trained to predict, one after the other.
    eps: float = 1e-6
    base: float = 1e7

    def dict(self):
        return asdict(self)

    def recurrent(self, layer):
        return (layer + 1) % self.interval != 0


def rotate(x, cos, sin):
    """Rotates the first values of each head: pairs of the first and the second half. `x` is `[batch, tokens, heads, width]`."""
    half = cos.shape[-1]
    one, two, rest = x.split([half, half, x.shape[-1] - 2 * half], -1)
    cos, sin = cos[:, None, :], sin[:, None, :]
    first, second = one.float() * cos - two.float() * sin, two.float() * cos + one.float() * sin
    return torch.cat([first.to(x.dtype), second.to(x.dtype), rest], -1)


class Attention(nn.Module):
    """Grouped-query attention whose result has a gate."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.q = Linear(s.hidden, 2 * s.heads * s.width)  # Of each head, first the query and then the gate.
        self.k, self.v = Linear(s.hidden, s.kv_heads * s.width), Linear(s.hidden, s.kv_heads * s.width)
        self.q_norm, self.k_norm = RmsNorm(s.width, s.eps), RmsNorm(s.width, s.eps)
        self.output = Linear(s.heads * s.width, s.hidden)

    def forward(self, x, cos, sin, past=(), mask=None):
        """The result, and keys and values. `past` lists those that come before x's own, and `mask` is then over all."""
        s = self.s
        batch, tokens, _ = x.shape
        q, gate = self.q(x).view(batch, tokens, s.heads, 2 * s.width).split(s.width, -1)
        k, v = (f(x).view(batch, tokens, s.kv_heads, s.width) for f in (self.k, self.v))
        q, k = rotate(self.q_norm(q), cos, sin), rotate(self.k_norm(k), cos, sin)
        k, v = (t.repeat_interleave(s.heads // s.kv_heads, 2).transpose(1, 2) for t in (k, v))
        q = q.transpose(1, 2)
        every = [*past, (k, v)]
        keys, values = (torch.cat([pair[i] for pair in every], 2) if past else every[0][i] for i in (0, 1))
        q, keys, values = q.to(values.dtype), keys.to(values.dtype), values
        mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, is_causal=mask is None)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, -1) * gate.reshape(batch, tokens, -1).sigmoid()
        return self.output(mixed), (k, v)


class Delta(nn.Module):
    """Linear attention by the gated delta rule, after a short convolution."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        inner = s.values * s.state
        self.channels = 2 * s.keys * s.state + inner
        self.qkv, self.z = Linear(s.hidden, self.channels), Linear(s.hidden, inner)
        self.alpha, self.beta = Linear(s.hidden, s.values), Linear(s.hidden, s.values)
        self.conv = nn.Parameter(torch.empty(self.channels, s.taps))
        self.a_log, self.dt = nn.Parameter(torch.zeros(s.values)), nn.Parameter(torch.zeros(s.values))
        self.norm = RmsNorm(s.state, s.eps)
        self.output = Linear(inner, s.hidden)

    def forward(self, x):
        s = self.s
        batch, tokens, _ = x.shape
        joined = F.pad(self.qkv(x), (0, 0, s.taps - 1, 0))
        convolved = sum(joined[:, i : i + tokens] * self.conv[:, i] for i in range(s.taps))
        active = F.silu(convolved).unflatten(-1, (-1, s.state)).transpose(1, 2)
        with torch.autocast(x.device.type, enabled=False):
            q, k, v = active.split([s.keys, s.keys, s.values], 1)
            q, k = (t * torch.rsqrt((t * t).sum(-1, keepdim=True) + s.eps) for t in (q, k))
            q, k = (t.repeat(1, s.values // s.keys, 1, 1) for t in (q, k))
            exact = self.conv.dtype
            alpha, beta = (F.linear(x.to(exact), f.weight).transpose(1, 2).contiguous() for f in (self.alpha, self.beta))
            g = -self.a_log.exp()[:, None] * F.softplus(alpha + self.dt[:, None])
            out = delta.chunked(q, k, v, g, beta.sigmoid())
        out = self.norm(out.transpose(1, 2).contiguous()) * F.silu(self.z(x).view(batch, tokens, s.values, s.state).float())
        return self.output(out.to(x.dtype).reshape(batch, tokens, -1))


class Experts(nn.Module):
    """Routed experts, and a shared one that a score weights."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.router = nn.Parameter(torch.empty(s.experts, s.hidden))
        self.gate, self.up = (nn.Parameter(torch.empty(s.experts, s.expert, s.hidden)) for _ in range(2))
        self.down = nn.Parameter(torch.empty(s.experts, s.hidden, s.expert))
        self.shared_score = nn.Parameter(torch.zeros(s.hidden))
        self.shared_gate, self.shared_up = Linear(s.hidden, s.shared), Linear(s.hidden, s.shared)
        self.shared_down = Linear(s.shared, s.hidden)

    def forward(self, x):
        """The result; a loss that is 1 if the experts' loads are even, and more if not; and the share of tokens of each expert."""
        s = self.s
        with torch.autocast(x.device.type, enabled=False):
            exact = x.to(self.router.dtype)
            p = F.linear(exact, self.router).softmax(-1)
            chosen = torch.topk(p.detach(), s.used, -1).indices
            mask = torch.zeros_like(p).scatter(-1, chosen, 1.0)
            weights = p * mask
            weights = weights / weights.sum(-1, keepdim=True)
            share = mask.flatten(0, -2).mean(0)
            uneven = (share * p.flatten(0, -2).mean(0)).sum() * s.experts / s.used
            score = (exact * self.shared_score).sum(-1, keepdim=True).sigmoid()
        inner = F.silu(F.linear(x, self.gate.flatten(0, 1))) * F.linear(x, self.up.flatten(0, 1))
        inner = (inner.unflatten(-1, (s.experts, s.expert)) * weights.to(inner.dtype).unsqueeze(-1)).flatten(-2)
        out = F.linear(inner, self.down.transpose(0, 1).flatten(1))
        shared = self.shared_down(F.silu(self.shared_gate(x)) * self.shared_up(x))
        return out + shared * score.to(shared.dtype), uneven, share.detach()


class Layer(nn.Module):
    def __init__(self, s, recurrent):
        super().__init__()
        self.recurrent = recurrent
        self.mix_norm, self.mix = RmsNorm(s.hidden, s.eps), Delta(s) if recurrent else Attention(s)
        self.ffn_norm, self.ffn = RmsNorm(s.hidden, s.eps), Experts(s)

    def forward(self, x, cos, sin):
        normed = self.mix_norm(x)
        x = x + (self.mix(normed) if self.recurrent else self.mix(normed, cos, sin)[0])
        out, uneven, share = self.ffn(self.ffn_norm(x))
        return x + out, uneven, share


class Mtp(nn.Module):
    """Predicts the token after the next, from a hidden state and the embedding of the next token. Its own result takes the
    place of the hidden state for the token after that."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.enorm, self.hnorm = RmsNorm(s.hidden, s.eps), RmsNorm(s.hidden, s.eps)
        self.eh_proj = Linear(2 * s.hidden, s.hidden)
        self.layer = Layer(s, False)
        self.norm = RmsNorm(s.hidden, s.eps)

    def forward(self, hidden, embedded, cos, sin):
        """The normed results of each depth, `[batch, tokens, hidden]`, and the first depth's loads of experts.

        Row t of each depth gets token t + 1 and predicts t + 2. A depth gets the results of the one before, of row t − 1, and
        sees what a drafter's cache holds: the first depth's keys up to row t − depth, and one row of each depth between."""
        tokens = embedded.shape[1]
        embedded = self.enorm(embedded)
        row = torch.arange(tokens, device=hidden.device)
        behind = row[:, None] - row[None, :]
        results, past, loads = [], [], None
        for depth in range(self.s.depths):
            x = self.eh_proj(torch.cat([embedded, self.hnorm(hidden)], -1))
            mask = None
            if depth:
                mask = torch.cat([behind >= depth] + [behind == depth - 1 - i for i in range(depth)], 1)
            mixed, own = self.layer.mix(self.layer.mix_norm(x), cos, sin, past, mask)
            past = [*past, own]
            x = x + mixed
            out, uneven, share = self.layer.ffn(self.layer.ffn_norm(x))
            loads = loads or (uneven, share)
            results.append(self.norm(x + out))
            hidden = F.pad(results[-1][:, :-1], (0, 0, 1, 0))
        return results, *loads


class Hybrid(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embed = nn.Embedding(s.vocab, s.hidden)
        self.layers = nn.ModuleList(Layer(s, s.recurrent(i)) for i in range(s.layers))
        self.norm = RmsNorm(s.hidden, s.eps)
        self.head = Linear(s.hidden, s.vocab)
        self.mtp = Mtp(s)
        self.fast = {}  # Compiled functions, for steps of training.
        deep = 0.02 / (2 * s.layers) ** 0.5
        for name, p in self.named_parameters():
            if name.endswith("conv"):
                nn.init.uniform_(p, -(s.taps**-0.5), s.taps**-0.5)
            elif name.endswith("a_log"):
                p.data.uniform_(1, 16).log_()
            elif name.endswith("dt"):
                # The inverse of softplus, of steps between 0.001 and 0.1.
                step = torch.empty_like(p).uniform_(math.log(1e-3), math.log(1e-1)).exp()
                p.data.copy_(step + torch.log(-torch.expm1(-step)))
            elif p.dim() > 1:
                nn.init.normal_(p, std=deep if name.endswith(("output.weight", "down.weight", "down")) else 0.02)

    def compile(self):
        """Compiles the parts of a step: layers of one kind share what is compiled."""
        self.fast = {id(layer): torch.compile(layer.forward, dynamic=False) for layer in self.layers}
        self.fast["mtp"] = torch.compile(self.mtp.forward, dynamic=False)
        self.fast["loss"] = torch.compile(self.head_loss, dynamic=False)

    def part(self, key, plain):
        return self.fast.get(key, plain) if torch.is_grad_enabled() else plain

    def embedding(self, tokens):
        x = self.embed(tokens)
        return x.to(torch.get_autocast_dtype(x.device.type)) if torch.is_autocast_enabled(x.device.type) else x

    def hidden(self, tokens):
        """The hidden states after the last norm, `[batch, tokens, hidden]`, and the loads of experts of each layer."""
        cos, sin = angles(self.s, tokens.shape[1], tokens.device)
        x = self.embedding(tokens)
        loads = []
        for layer in self.layers:
            x, *load = self.part(id(layer), layer)(x, cos, sin)
            loads.append(load)
        return self.norm(x), loads

    def forward(self, tokens):
        """Logits, `[batch, tokens, vocab]`."""
        return self.head(self.hidden(tokens)[0])

    def drafts(self, hidden, tokens):
        """The results of the MTP block at each depth, for hidden states and the tokens after them; and its loads."""
        cos, sin = angles(self.s, tokens.shape[1], tokens.device)
        return self.part("mtp", self.mtp)(hidden, self.embedding(tokens), cos, sin)

    def head_loss(self, hidden, targets):
        return F.cross_entropy(self.head(hidden).flatten(0, 1).float(), targets.flatten(), ignore_index=-1)

    def losses(self, rows):
        """The losses of the next token and of the ones after it, over rows of `tokens + 1` ids; negative ids are padding. Then
        the mean loss of uneven loads, and each layer's share of tokens of each expert."""
        rows = rows.long()
        tokens = rows.clamp(min=0)
        hidden, loads = self.hidden(tokens[:, :-1])
        loss = self.part("loss", self.head_loss)
        losses = [loss(hidden, rows[:, 1:].contiguous())]
        results, *load = self.drafts(hidden, tokens[:, 1:])
        after = F.pad(rows[:, 2:], (0, 1), value=-1)
        for depth, result in enumerate(results):
            first = torch.arange(after.shape[1], device=rows.device) < depth  # Rows without the depth before.
            losses.append(loss(result, after.masked_fill(first, -1)))
        loads.append(load)
        return losses, torch.stack([uneven for uneven, _ in loads]).mean(), torch.stack([share for _, share in loads])


def build(shape, seed):
    torch.manual_seed(seed)
    return Hybrid(shape)


if __name__ == "__main__":
    made = Hybrid(Shape())
    total = sum(p.numel() for p in made.parameters())
    mtp = sum(p.numel() for p in made.mtp.parameters())
    print(f"{total / 1e6:.2f} M parameters, of which {mtp / 1e6:.2f} M MTP; Q8_0 about {total * 34 / 32 / 1e6:.2f} MB")
