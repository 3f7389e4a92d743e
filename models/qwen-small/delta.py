"""The gated delta rule (Yang et al., 2024, <https://arxiv.org/abs/2412.06464>) over whole sequences.

`recurrent` is the definition, token by token. `chunked` computes the same with matrix products: within chunks of tokens by the
inverse of a triangular matrix, between chunks by a parallel scan over their transitions. Both take

    q, k, v   [batch, heads, tokens, width], q and k with unit length
    g, beta   [batch, heads, tokens]: logarithms of decays, at most 0; and the strength of updates

and return `[batch, heads, tokens, width]`. `python3 delta.py` compares them.
"""

import torch
import torch.nn.functional as F

CHUNK = 64
BLOCK = 16  # The smallest blocks of the triangular inverse.


def recurrent(q, k, v, g, beta):
    """S ← e^g S; u = β (v − Sᵀ k); S ← S + k uᵀ; o = Sᵀ q / √width."""
    width = q.shape[-1]
    state = q.new_zeros(*q.shape[:2], width, v.shape[-1])
    out = []
    for t in range(q.shape[2]):
        state = state * g[:, :, t, None, None].exp()
        error = beta[:, :, t, None] * (v[:, :, t] - torch.einsum("bhij,bhi->bhj", state, k[:, :, t]))
        state = state + torch.einsum("bhi,bhj->bhij", k[:, :, t], error)
        out.append(torch.einsum("bhij,bhi->bhj", state, q[:, :, t]) / width**0.5)
    return torch.stack(out, 2)


def product(a, b):
    """A product of small matrices in full precision: tensor cores would round the factors."""
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


def inverse(a):
    """The inverse of 1 + a, with strictly lower triangular matrices `a` of `CHUNK` rows. Constant for gradients."""
    blocks = CHUNK // BLOCK
    split = a.unflatten(-1, (blocks, BLOCK)).unflatten(-3, (blocks, BLOCK)).transpose(-3, -2)
    small = torch.stack([split[..., i, i, :, :] for i in range(blocks)], -3)
    # The powers from the 16th on are 0: (1 + a)⁻¹ = (1 − a)(1 + a²)(1 + a⁴)(1 + a⁸).
    power = product(small, small)
    made = torch.eye(BLOCK, dtype=a.dtype, device=a.device) - small
    for _ in range(2):
        made = made + product(made, power)
        power = product(power, power)
    made = made + product(made, power)
    size = BLOCK
    while size < CHUNK:
        # Two blocks T, T' on the diagonal and L below the first make one of twice the size, with −T' L T below.
        pairs = CHUNK // size // 2
        below = torch.stack([a[..., (2 * i + 1) * size : (2 * i + 2) * size, 2 * i * size : (2 * i + 1) * size] for i in range(pairs)], -3)
        first, second = made[..., 0::2, :, :], made[..., 1::2, :, :]
        corner = -product(product(second, below), first)
        upper = torch.cat([first, torch.zeros_like(first)], -1)
        made = torch.cat([upper, torch.cat([corner, second], -1)], -2)
        size *= 2
    return made.squeeze(-3)


def chunked(q, k, v, g, beta):
    batch, heads, tokens, width = q.shape
    missing = -tokens % CHUNK
    if missing:
        q, k, v = (F.pad(x, (0, 0, 0, missing)) for x in (q, k, v))
        g, beta = (F.pad(x, (0, missing)) for x in (g, beta))
    q, k, v = (x.reshape(batch, heads, -1, CHUNK, x.shape[-1]) for x in (q, k, v))
    g, beta = (x.reshape(batch, heads, -1, CHUNK) for x in (g, beta))
    chunks = q.shape[2]
    total = g.cumsum(-1)
    # Only differences to earlier tokens are exponentiated, so that nothing overflows.
    lower = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).tril()
    decay = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(~lower, -1e9).exp()
    strict = lower.tril(-1)
    a = (beta.unsqueeze(-1) * (k @ k.mT) * decay).masked_fill(~strict, 0)
    with torch.no_grad():
        solved = inverse(a.detach())
    # The value is `solved`, since the difference is 0; the gradient is that of the inverse.
    solved = solved - solved @ (a - a.detach()) @ solved
    since = total.exp().unsqueeze(-1)
    u = solved @ (beta.unsqueeze(-1) * v)
    w = solved @ (beta.unsqueeze(-1) * k * since)
    until = (total[..., -1:] - total).exp().unsqueeze(-1)
    kept = (k * until).mT
    # A chunk takes the state S to M S + R.
    whole = total[..., -1].exp()[..., None, None]
    move = whole * torch.eye(width, dtype=q.dtype, device=q.device) - kept @ w
    add = kept @ u
    # Each is joined with those before, over 1, 2, 4, … chunks.
    reach = 1
    while reach < chunks:
        joined = move[:, :, reach:] @ torch.cat([move[:, :, :-reach], add[:, :, :-reach]], -1)
        to, more = joined.split([width, add.shape[-1]], -1)
        move = torch.cat([move[:, :, :reach], to], 2)
        add = torch.cat([add[:, :, :reach], add[:, :, reach:] + more], 2)
        reach *= 2
    state = F.pad(add[:, :, :-1], (0, 0, 0, 0, 1, 0))
    fresh = u - w @ state
    out = ((q * since) @ state + ((q @ k.mT) * decay) @ fresh) / width**0.5
    return out.flatten(2, 3)[:, :, :tokens]


def main():
    torch.manual_seed(1)
    for tokens, alike in ((1, 0.0), (63, 0.0), (200, 0.0), (333, 0.95)):
        shape = (2, 3, tokens, 32)
        base = F.normalize(torch.randn(1, 1, 1, 32, dtype=torch.float64), dim=-1)
        q, k = (F.normalize(torch.randn(shape, dtype=torch.float64) * (1 - alike) + 8 * alike * base, dim=-1) for _ in range(2))
        v = torch.randn(shape, dtype=torch.float64)
        g = -torch.rand(shape[:3], dtype=torch.float64) ** 4 * 3
        beta = torch.rand(shape[:3], dtype=torch.float64)
        inputs = [x.requires_grad_() for x in (q, k, v, g, beta)]
        weight = torch.randn(shape, dtype=torch.float64)
        wanted, found = recurrent(*inputs), chunked(*inputs)
        there = torch.autograd.grad((wanted * weight).sum(), inputs)
        here = torch.autograd.grad((found * weight).sum(), inputs)
        far = lambda a, b: ((a - b).norm() / b.norm().clamp(min=1e-30)).item()
        single = chunked(*(x.detach().float() for x in inputs))
        errors = [far(found, wanted), *(far(a, b) for a, b in zip(here, there))]
        print(f"{tokens} tokens: f64 {max(errors):.1e}, f32 {far(single.double(), wanted):.1e}")
        if max(errors) > 1e-9 or far(single.double(), wanted) > 1e-4:
            raise SystemExit("FAILED: the two forms differ")


if __name__ == "__main__":
    main()
