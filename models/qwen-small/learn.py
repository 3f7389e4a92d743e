#!/usr/bin/env python3
"""Trains qwen-small on the rows that `rows.py` wrote, for a given time.

    python3 learn.py --data data --out run --seconds 270 --compile

The weights with the lowest loss on held-out rows, which is measured every so often, are kept. Writes
`OUT/weights.safetensors` with `OUT/shape.json`, and `OUT/log.jsonl`.
"""

import argparse
import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import rows as layout
from hybrid import Shape, build
from muon import Muon
from train import Rows, rate


def optimisers(model, lr, weight_decay):
    """Muon for the large matrices within layers; AdamW for the embedding, the head, routers, gates, convolutions and norms."""
    inner, outer, plain = [], [], []
    for name, p in model.named_parameters():
        if p.dim() < 2 or name.endswith("conv"):
            plain.append(p)
        elif name in ("embed.weight", "head.weight") or name.endswith(("router", "alpha.weight", "beta.weight")):
            outer.append(p)
        else:
            inner.append(p)
    groups = [dict(params=outer, weight_decay=weight_decay), dict(params=plain, weight_decay=0.0)]
    fused = next(model.parameters()).is_cuda
    adam = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-10, fused=fused)
    return [adam, Muon(inner, lr, weight_decay=weight_decay)]


@torch.no_grad()
def evaluate(model, rows, batch, autocast):
    """The mean losses of the next token and of each depth of MTP, and the shares of tokens of experts by layer."""
    sums, shares = None, None
    for part in rows.split(batch):
        with autocast():
            losses, _, share = model.losses(part)
        losses = torch.stack(losses).double() * len(part) / len(rows)
        share = share.double() * len(part) / len(rows)
        sums, shares = (losses, share) if sums is None else (sums + losses, shares + share)
    return sums.tolist(), [(round(min(s), 3), round(max(s), 3)) for s in shares.tolist()]


@torch.no_grad()
def accepted(model, rows, batch, autocast):
    """How often the likeliest token of each depth is the model's own; and how often it and those of the depths before are."""
    alone, chained, count = [0] * model.s.depths, [0] * model.s.depths, 0
    for part in rows.split(batch):
        part = part.long()
        tokens = part.clamp(min=0)
        with autocast():
            hidden, _ = model.hidden(tokens)
            own = model.head(hidden).argmax(-1)
            drafted = [model.head(x).argmax(-1) for x in model.drafts(hidden[:, :-1], tokens[:, 1:])[0]]
        # Row t of a draft is about the token after t + 1, and its chain began at row t - depth.
        same = [d == own[:, 1:] for d in drafted]
        starts = F.pad(part[:, 3:] >= 0, (0, 2))
        starts[:, -model.s.depths :] = False
        chain = starts
        count += starts.sum().item()
        for depth, one in enumerate(same):
            shifted = F.pad(one[:, depth:], (0, depth))
            alone[depth] += (shifted & starts).sum().item()
            chain = chain & shifted
            chained[depth] += chain.sum().item()
    return dict(alone=[round(n / max(1, count), 4) for n in alone], chained=[round(n / max(1, count), 4) for n in chained])


@torch.no_grad()
def complete(model, tokenizer, prompts, most, temperature, device, autocast):
    """Continues prompts, all at once, and returns the texts."""
    generator = torch.Generator(device).manual_seed(0)
    ends = {tokenizer.token_to_id(t) for t in (layout.END, layout.STOP)}
    every = [tokenizer.encode(prompt).ids for prompt in prompts]
    starts, open_ = [len(ids) for ids in every], set(range(len(every)))
    while open_:
        width = max(map(len, every))
        padded = torch.tensor([ids + [0] * (width - len(ids)) for ids in every], device=device)
        last = torch.tensor([len(ids) - 1 for ids in every], device=device)
        with autocast():
            hidden, _ = model.hidden(padded)
            logits = model.head(hidden[torch.arange(len(every), device=device), last]).float()
        p = (logits / temperature).softmax(-1)
        p = torch.where(p < 0.05 * p.amax(-1, keepdim=True), 0, p)
        chosen = torch.multinomial(p, 1, generator=generator).squeeze(1).tolist()
        for i in sorted(open_):
            if chosen[i] in ends or len(every[i]) - starts[i] >= most:
                open_.remove(i)
            else:
                every[i].append(chosen[i])
    return [tokenizer.decode(ids[start:], skip_special_tokens=False) for ids, start in zip(every, starts)]


ASKS = ["Tell me a story about a fox.", "Tell me a story about a girl who finds a key.", "Once upon a time", "Write a story about a bear and a boat.",
        "What is the moon?", "What is 7 + 6?", "Hello!", "I feel sad today.", "What is your name?"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=270, help="from start to end of training, compiling included")
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--batch", type=int, default=64, help="rows a step")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--mtp", type=float, nargs="+", default=[0.3, 0.15, 0.1], help="factors of the losses of MTP's depths")
    parser.add_argument("--balance", type=float, default=0.01, help="factor of the loss of uneven experts")
    parser.add_argument("--report", type=float, default=10)
    parser.add_argument("--check", type=float, default=30, help="seconds between looks at held-out rows")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--quick", action="store_true", help="end after the last step, with a short look at held-out rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", type=json.loads, default={}, help="fields of Shape, as JSON")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    start = time.monotonic()
    clock = lambda: time.monotonic() - start
    cuda = args.device == "cuda"
    if cuda:
        torch.set_float32_matmul_precision("high")
    autocast = lambda: torch.autocast("cuda", torch.bfloat16) if cuda else nullcontext()
    train = torch.from_numpy(np.load(args.data / "train.npy"))
    valid = torch.from_numpy(np.load(args.data / "valid.npy")).to(args.device)[:256]
    shape = Shape(**{"context": train.shape[1] - 1, **args.shape})
    model = build(shape, args.seed).to(args.device)
    if args.compile:
        model.compile()
    made = optimisers(model, args.lr, args.decay)
    batch_rows = min(args.batch, len(train))
    rows = Rows(train, batch_rows, args.seed, args.device)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "shape.json").write_text(json.dumps(shape.dict()))
    log = open(args.out / "log.jsonl", "a")
    count = sum(p.numel() for p in model.parameters())
    print(f"{count / 1e6:.2f} M parameters; {len(train)} rows of {shape.context}; {clock():.0f} s", flush=True)

    def save(state):
        """Writes the weights so that a file is there at all times."""
        part = args.out / "weights.part"
        save_file({k: v.float().cpu().contiguous() for k, v in state.items()}, part)
        part.rename(args.out / "weights.safetensors")

    parameters = list(model.parameters())
    factors = torch.tensor(args.mtp[: shape.depths], device=args.device)
    batch = rows.next()
    step, seen, first, window = 0, 0, None, []
    reported = checked = clock()
    best, kept, skipped = float("inf"), None, 0
    while True:
        now = clock()
        # The schedule counts from the end of the first steps, which may have compiled.
        done = 0.0 if first is None else (now - first) / max(args.seconds - first, 1e-9)
        if done >= 1 or step >= args.steps:
            break
        share = rate(max(done, 1e-3))
        for optimiser in made:
            for group in optimiser.param_groups:
                group["lr"] = args.lr * share
        with autocast():
            losses, uneven, _ = model.losses(batch)
            loss = losses[0] + (factors * torch.stack(losses[1:])).sum() + args.balance * uneven
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        if step % 8 == 0 and not torch.isfinite(norm):
            # Rare, and no reason to lose the run.
            skipped += 1
            print(f"step {step}: the gradient is not finite; skipped", flush=True)
            if skipped > 50:
                raise SystemExit("too many gradients are not finite")
            for p in parameters:
                p.grad = None
            if kept and any(not torch.isfinite(p).all() for p in parameters):
                model.load_state_dict(kept)
            batch, step = rows.next(), step + 1
            continue
        for p in parameters:
            if p.grad is not None:
                torch.nan_to_num_(p.grad, 0.0, 0.0, 0.0)
        for optimiser in made:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        batch = rows.next()
        window.append(torch.stack([*losses, uneven]).detach())
        step += 1
        seen += batch_rows * shape.context
        if first is None and step == 2:
            loss.item()
            first = clock()
            print(f"two steps after {first:.1f} s", flush=True)
            reported, seen, checked = first, 0, first
        if cuda and step % 8 == 0:
            window[-1].sum().item()  # Keep the clock honest: the host must not run ahead.
        if clock() - reported > args.report:
            mean = torch.stack(window).mean(0).tolist()
            now = clock()
            speed = seen / (now - reported)
            shown = " ".join(f"{x:.4f}" for x in mean[:-1])
            print(f"{now:5.0f} s  step {step}  pass {rows.passes}  rate {args.lr * share:.5f}  losses {shown}  uneven {mean[-1]:.3f}  "
                  f"{speed / 1e3:.0f} k tokens/s", flush=True)
            log.write(json.dumps(dict(t=now, step=step, losses=mean[:-1], uneven=mean[-1], speed=speed, rate=args.lr * share)) + "\n")
            log.flush()
            reported, seen, window = now, 0, []
        if clock() - checked > args.check:
            held, use = evaluate(model, valid, args.batch, autocast)
            print(f"{clock():5.0f} s  held out: losses {' '.join(f'{x:.4f}' for x in held)}  experts' shares "
                  f"{min(u for u, _ in use)} to {max(u for _, u in use)}", flush=True)
            log.write(json.dumps(dict(t=clock(), step=step, passes=rows.passes + rows.at / len(train), valid=held, experts=use)) + "\n")
            log.flush()
            if held[0] < best:
                best, kept = held[0], {k: v.clone() for k, v in model.state_dict().items()}
                save(kept)
            checked = clock()

    if args.quick:
        print(f"experts' shares {evaluate(model, valid[:64], args.batch, autocast)[1]}; {clock():.0f} s", flush=True)
        return
    final, use = evaluate(model, valid, args.batch, autocast)
    if not final[0] <= best:
        print(f"the last weights lose {final[0]:.4f}, earlier ones lost {best:.4f}: those are kept", flush=True)
        model.load_state_dict(kept)
        final, use = evaluate(model, valid, args.batch, autocast)
    save(model.state_dict())
    facts = dict(step=step, tokens=step * batch_rows * shape.context, passes=rows.passes + rows.at / len(train), valid=final, seconds=clock(),
                 compile_seconds=first, accepted=accepted(model, valid[:64], args.batch, autocast), experts=use)
    if cuda:
        facts["memory"] = torch.cuda.max_memory_allocated() / 2**30
    print(json.dumps(facts), flush=True)
    log.write(json.dumps(facts) + "\n")
    log.close()

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(args.data / "tokenizer.json"))
    prompts = [layout.prompt(ask) for ask in ASKS] + ["One day, a little"]
    most = 200 if cuda else 16
    for ask, text in zip(ASKS + ["(plain)"], complete(model, tokenizer, prompts, most, 0.5, args.device, autocast)):
        print(f"--- {ask}\n{text}", flush=True)
    print(f"{clock():.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
