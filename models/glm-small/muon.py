"""Muon (Jordan et al., 2024) for matrices, with AdamW's step size (Liu et al., 2025, <https://arxiv.org/abs/2502.16982>)."""

import torch


@torch.no_grad()
def orthogonalise(g, steps=5):
    """Newton-Schulz iteration: moves the singular values of each matrix in `[n, rows, columns]` to about 1."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16() if g.is_cuda else g.float()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """For parameters of two dimensions, or of three: a stack of matrices."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.05):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            # Matrices of one shape are stacked, so that there are few kernels.
            shapes = {}
            for p in group["params"]:
                if p.grad is not None:
                    shapes.setdefault(tuple(p.shape[-2:]), []).append(p)
            for (rows, columns), params in shapes.items():
                updates = []
                for p in params:
                    state = self.state[p]
                    if not state:
                        state["momentum"] = torch.zeros_like(p)
                    state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                    update = p.grad.lerp(state["momentum"], group["momentum"])
                    updates.append(update.view(-1, rows, columns))
                sizes = [u.shape[0] for u in updates]
                stacked = orthogonalise(torch.cat(updates)).to(params[0].dtype)
                scale = 0.2 * max(rows, columns) ** 0.5
                for p, update in zip(params, stacked.split(sizes)):
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(update.view_as(p), alpha=-group["lr"] * scale)


def optimisers(model, lr, weight_decay, muon=True):
    """Muon for the matrices within layers; AdamW for the embedding, the head, routers and norms."""
    inner, outer, plain = [], [], []
    for name, p in model.named_parameters():
        if p.dim() < 2:
            plain.append(p)
        elif name in ("embed.weight", "head.weight") or name.endswith("router") or not muon:
            outer.append(p)
        else:
            inner.append(p)
    groups = [dict(params=outer, weight_decay=weight_decay), dict(params=plain, weight_decay=0.0)]
    fused = next(model.parameters()).is_cuda
    made = [torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-10, fused=fused)]
    if inner:
        made.append(Muon(inner, lr, weight_decay=weight_decay))
    return made
