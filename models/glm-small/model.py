"""The architecture of GLM-4.7-Flash in plain PyTorch: latent attention, experts with a sigmoid router, and a layer that
predicts one token more (MTP). For training: keys and values are expanded, and all experts are computed for all tokens, with
weight zero for those that were not chosen. That is exact, and fastest at this size."""

from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Shape:
    vocab: int = 4096
    context: int = 1024
    hidden: int = 256
    layers: int = 7  # Without the MTP layer.
    dense_layers: int = 1
    heads: int = 4
    q_rank: int = 128
    kv_rank: int = 128
    nope: int = 64
    rope: int = 32
    value: int = 64
    dense: int = 1024
    experts: int = 8
    used: int = 3
    expert: int = 128
    scale: float = 1.8
    eps: float = 1e-5
    base: float = 1e6

    def dict(self):
        return asdict(self)


class Linear(nn.Linear):
    """A linear map without bias."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs, bias=False)


class RmsNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x.float(), self.weight.shape, self.weight.float(), self.eps).to(x.dtype)


def angles(shape, length, device):
    """Cosines and sines of the rotary embedding, `[length, rope / 2]`."""
    power = torch.arange(0, shape.rope, 2, device=device, dtype=torch.float32) / shape.rope
    angle = torch.arange(length, device=device, dtype=torch.float32)[:, None] * shape.base**-power
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Rotates pairs of neighbours. `x` is `[batch, tokens, heads, rope]`."""
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    """Multi-head latent attention."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.q_a, self.q_a_norm = Linear(s.hidden, s.q_rank), RmsNorm(s.q_rank, s.eps)
        self.q_b = Linear(s.q_rank, s.heads * (s.nope + s.rope))
        self.kv_a, self.kv_a_norm = Linear(s.hidden, s.kv_rank + s.rope), RmsNorm(s.kv_rank, s.eps)
        self.k_b, self.v_b = Linear(s.kv_rank, s.heads * s.nope), Linear(s.kv_rank, s.heads * s.value)
        self.output = Linear(s.heads * s.value, s.hidden)

    def forward(self, x, cos, sin):
        s = self.s
        batch, tokens, _ = x.shape
        q = self.q_b(self.q_a_norm(self.q_a(x))).view(batch, tokens, s.heads, s.nope + s.rope)
        q_nope, q_rope = q.split([s.nope, s.rope], -1)
        latent, k_rope = self.kv_a(x).split([s.kv_rank, s.rope], -1)
        latent = self.kv_a_norm(latent)
        k_rope = rotate(k_rope.unsqueeze(2), cos, sin).expand(-1, -1, s.heads, -1)
        k = torch.cat([self.k_b(latent).view(batch, tokens, s.heads, s.nope), k_rope], -1)
        q = torch.cat([q_nope, rotate(q_rope, cos, sin)], -1)
        v = self.v_b(latent).view(batch, tokens, s.heads, s.value)
        v = F.pad(v, (0, s.nope + s.rope - s.value))  # Fast kernels want values as wide as keys.
        mixed = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True)
        mixed = mixed.transpose(1, 2)[..., : s.value].reshape(batch, tokens, s.heads * s.value)
        return self.output(mixed)


class Dense(nn.Module):
    """A gated network."""

    def __init__(self, s):
        super().__init__()
        self.gate, self.up, self.down = Linear(s.hidden, s.dense), Linear(s.hidden, s.dense), Linear(s.dense, s.hidden)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Routed experts and a shared one, which is the last of the stacked weights."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.router = nn.Parameter(torch.empty(s.experts, s.hidden))
        self.gate = nn.Parameter(torch.empty(s.experts + 1, s.expert, s.hidden))
        self.up = nn.Parameter(torch.empty(s.experts + 1, s.expert, s.hidden))
        self.down = nn.Parameter(torch.empty(s.experts + 1, s.hidden, s.expert))
        # Added to the scores when experts are chosen, not when they are weighted. It is not trained by gradients.
        self.register_buffer("bias", torch.zeros(s.experts))
        # Tokens per expert since the bias was last adjusted.
        self.register_buffer("load", torch.zeros(s.experts), persistent=False)

    def forward(self, x):
        s = self.s
        with torch.autocast(x.device.type, enabled=False):
            scores = F.linear(x.float(), self.router.float()).sigmoid()
            chosen = torch.topk(scores.detach() + self.bias, s.used, -1).indices
            mask = torch.zeros_like(scores).scatter(-1, chosen, 1.0)
            weights = scores * mask
            weights = weights / weights.sum(-1, keepdim=True) * s.scale
            weights = F.pad(weights, (0, 1), value=1.0)
        if self.training:
            with torch.no_grad():
                self.load += mask.flatten(0, -2).sum(0)
        inner = F.silu(F.linear(x, self.gate.flatten(0, 1))) * F.linear(x, self.up.flatten(0, 1))
        inner = (inner.unflatten(-1, (s.experts + 1, s.expert)) * weights.to(inner.dtype).unsqueeze(-1)).flatten(-2)
        return F.linear(inner, self.down.transpose(0, 1).flatten(1))

    @torch.no_grad()
    def balance(self, rate):
        """Raises the bias of experts with less than the mean load, and lowers that of the others."""
        self.bias += rate * torch.sign(self.load.mean() - self.load)
        self.load.zero_()


class Layer(nn.Module):
    def __init__(self, s, dense):
        super().__init__()
        self.attn_norm, self.attn = RmsNorm(s.hidden, s.eps), Attention(s)
        self.ffn_norm, self.ffn = RmsNorm(s.hidden, s.eps), Dense(s) if dense else Experts(s)

    def forward(self, x, cos, sin):
        x = x + self.attn(self.attn_norm(x), cos, sin)
        return x + self.ffn(self.ffn_norm(x))


class Mtp(nn.Module):
    """Predicts the token after the next, from the hidden state and the embedding of the next token."""

    def __init__(self, s):
        super().__init__()
        self.enorm, self.hnorm = RmsNorm(s.hidden, s.eps), RmsNorm(s.hidden, s.eps)
        self.eh_proj = Linear(2 * s.hidden, s.hidden)
        self.layer = Layer(s, False)
        self.norm = RmsNorm(s.hidden, s.eps)

    def forward(self, hidden, embedded, cos, sin):
        x = self.eh_proj(torch.cat([self.enorm(embedded), self.hnorm(hidden)], -1))
        return self.norm(self.layer(x, cos, sin))


class Glm(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embed = nn.Embedding(s.vocab, s.hidden)
        self.layers = nn.ModuleList(Layer(s, i < s.dense_layers) for i in range(s.layers))
        self.norm = RmsNorm(s.hidden, s.eps)
        self.head = Linear(s.hidden, s.vocab)
        self.mtp = Mtp(s)
        deep = 0.02 / (2 * s.layers) ** 0.5
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=deep if name.endswith(("output.weight", "down.weight", "down")) else 0.02)

    def hidden(self, tokens):
        """The hidden states after the last norm, `[batch, tokens, hidden]`."""
        cos, sin = angles(self.s, tokens.shape[1], tokens.device)
        x = self.embed(tokens)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def forward(self, tokens):
        """Logits, `[batch, tokens, vocab]`."""
        return self.head(self.hidden(tokens))

    def losses(self, rows):
        """The losses of the next token and of the one after it, over rows of `tokens + 1` ids; negative ids are padding."""
        rows = rows.long()
        tokens = rows.clamp(min=0)
        hidden = self.hidden(tokens[:, :-1])
        first = self.loss(self.head(hidden), rows[:, 1:])
        embedded = self.embed(tokens[:, 1:-1]).to(hidden.dtype)
        cos, sin = angles(self.s, embedded.shape[1], rows.device)
        second = self.loss(self.head(self.mtp(hidden[:, :-1], embedded, cos, sin)), rows[:, 2:])
        return first, second

    def loss(self, logits, targets):
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=-1)

    def experts(self):
        return [m for m in self.modules() if isinstance(m, Experts)]


def build(shape, seed):
    torch.manual_seed(seed)
    return Glm(shape)


if __name__ == "__main__":
    made = Glm(Shape())
    total = sum(p.numel() for p in made.parameters())
    mtp = sum(p.numel() for p in made.mtp.parameters())
    print(f"{total / 1e6:.2f} M parameters, of which {mtp / 1e6:.2f} M MTP; Q8_0 about {total * 34 / 32 / 2**20:.2f} MiB")
