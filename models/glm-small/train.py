#!/usr/bin/env python3
"""Trains glm-small on the rows that `tokens.py` wrote, for a given time.

    python3 train.py --data data --out run --seconds 300 --compile

The weights with the lowest loss on held-out rows, which is measured every so often, are kept. Writes `OUT/weights.safetensors` with `OUT/shape.json`, `OUT/log.jsonl`, and every so often `OUT/resume.pt`, from which a
second run with `--resume` goes on.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from model import Shape, angles, build
from muon import optimisers


def rate(done, warm=0.02, decay=0.5, last=0.02):
    """The learning rate, as a share of the highest, after a share `done` of the time: up, level, and down to the end."""
    return min(1.0, done / warm, max(last, (1 - done) / decay))


class Rows:
    """Rows in random order, again and again, without repetition within a pass."""

    def __init__(self, rows, batch, seed, device):
        self.rows, self.batch, self.device = rows.to(device), batch, device
        self.generator = torch.Generator().manual_seed(seed)
        self.order, self.at, self.passes = None, len(rows), -1

    def next(self):
        if self.at + self.batch > len(self.rows):
            self.order = torch.randperm(len(self.rows), generator=self.generator).to(self.device)
            self.at, self.passes = 0, self.passes + 1
        chosen = self.order[self.at : self.at + self.batch]
        self.at += self.batch
        return self.rows[chosen]


@torch.no_grad()
def evaluate(model, rows, batch, autocast):
    """The mean losses of the next token and of the one after it."""
    model.eval()
    sums = [0.0, 0.0]
    for part in rows.split(batch):
        with autocast():
            losses = model.losses(part)
        for i, loss in enumerate(losses):
            sums[i] += loss.item() * len(part)
    model.train()
    return [total / len(rows) for total in sums]


@torch.no_grad()
def expert_use(model, rows, autocast):
    """For each layer with experts, the least and the largest share of tokens that an expert gets."""
    experts = model.experts()
    for e in experts:
        e.load.zero_()
    model.train()  # Only then are tokens counted.
    with autocast():
        model.losses(rows)
    shares = [(e.load / (e.load.sum() / e.s.used)).tolist() for e in experts]
    for e in experts:
        e.load.zero_()
    return [(round(min(s), 3), round(max(s), 3)) for s in shares]


@torch.no_grad()
def accepted(model, rows, autocast):
    """How often the MTP layer's likeliest token is also the model's own, one step later."""
    model.eval()
    rows = rows.long()
    tokens = rows.clamp(min=0)
    with autocast():
        hidden = model.hidden(tokens)
        own = model.head(hidden).argmax(-1)
        cos, sin = angles(model.s, tokens.shape[1] - 1, rows.device)
        drafted = model.head(model.mtp(hidden[:, :-1], model.embed(tokens[:, 1:]).to(hidden.dtype), cos, sin)).argmax(-1)
    model.train()
    real = rows[:, 1:] >= 0
    return ((drafted == own[:, 1:]) & real).sum().item() / real.sum().item()


@torch.no_grad()
def complete(model, tokenizer, prompts, most, temperature, device, autocast):
    """Continues prompts, one at a time, and returns the texts."""
    model.eval()
    generator = torch.Generator(device).manual_seed(0)
    ends = [tokenizer.token_to_id(t) for t in ("<|endoftext|>", "<|user|>")]
    texts = []
    for prompt in prompts:
        ids = tokenizer.encode(prompt).ids
        start = len(ids)
        while len(ids) < start + most:
            with autocast():
                logits = model(torch.tensor([ids], device=device))[0, -1].float()
            if temperature:
                p = (logits / temperature).softmax(-1)
                p = torch.where(p < 0.05 * p.max(), 0, p)
                token = torch.multinomial(p, 1, generator=generator).item()
            else:
                token = logits.argmax().item()
            if token in ends:
                break
            ids.append(token)
        texts.append(tokenizer.decode(ids[start:], skip_special_tokens=False))
    model.train()
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300, help="from the start of the program to the last step")
    parser.add_argument("--batch", type=int, default=64, help="rows per step")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--decay", type=float, default=0.05, help="weight decay")
    parser.add_argument("--mtp", type=float, default=0.3, help="weight of the MTP layer's loss")
    parser.add_argument("--balance", type=float, default=1e-3, help="how far a step moves the routers' biases")
    parser.add_argument("--adamw", action="store_true", help="AdamW for everything instead of Muon")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/resume.pt, if it is there")
    parser.add_argument("--start", type=Path, help="a folder with weights to begin with")
    parser.add_argument("--shape", type=json.loads, default={}, help="JSON: sizes that differ from the defaults")
    parser.add_argument("--report", type=float, default=10, help="seconds between lines of progress")
    parser.add_argument("--check", type=float, default=20, help="seconds between measurements of the held-out loss")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10**9, help="stop after this many steps (the schedule stays)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    began = time.monotonic()
    clock = lambda: time.monotonic() - began
    cuda = args.device == "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    autocast = lambda: torch.autocast(args.device, dtype=torch.bfloat16, enabled=cuda)

    train = torch.from_numpy(np.load(args.data / "train.npy"))
    valid = torch.from_numpy(np.load(args.data / "valid.npy")).to(args.device)[:512]
    shape = Shape(**{"context": train.shape[1] - 1, **args.shape})
    model = build(shape, args.seed).to(args.device)
    if args.start:
        model.load_state_dict(load_file(args.start / "weights.safetensors"))
    made = optimisers(model, args.lr, args.decay, not args.adamw)
    rows = Rows(train, args.batch, args.seed, args.device)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "shape.json").write_text(json.dumps(shape.dict()))
    log = open(args.out / "log.jsonl", "a")
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters / 1e6:.2f} M parameters; {len(train)} rows of {shape.context}; {clock():.0f} s", flush=True)

    step = 0
    resume = args.out / "resume.pt"
    if args.resume and resume.exists():
        state = torch.load(resume, map_location=args.device)
        model.load_state_dict(state["model"])
        for optimiser, saved in zip(made, state["optimisers"]):
            optimiser.load_state_dict(saved)
        step = state["step"]
        rows.generator.manual_seed(args.seed + step)
        print(f"resumed at step {step}", flush=True)

    losses_of = torch.compile(model.losses, dynamic=False) if args.compile else model.losses
    experts = model.experts()
    parameters = list(model.parameters())
    batch = rows.next()
    first = None
    saved = reported = checked = clock()
    best, kept = float("inf"), None
    window, seen = [], 0
    model.train()
    while True:
        now = clock()
        # The schedule counts from the end of the first step, which may have compiled.
        done = 0.0 if first is None else (now - first) / max(args.seconds - first, 1e-9)
        if done >= 1 or step >= args.steps:
            break
        share = rate(max(done, 1e-3))
        for optimiser in made:
            for group in optimiser.param_groups:
                group["lr"] = args.lr * share
        with autocast():
            one, two = losses_of(batch)
            loss = one + args.mtp * two
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for optimiser in made:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        for e in experts:
            e.balance(args.balance * min(1.0, 2 * share))
        batch = rows.next()
        window.append(torch.stack([one.detach(), two.detach()]))
        step += 1
        seen += args.batch * shape.context
        if first is None:
            loss.item()
            first = clock()
            print(f"first step after {first:.1f} s", flush=True)
            reported, seen = first, 0
        if cuda and step % 8 == 0:
            window[-1].sum().item()  # Keep the clock honest: the host must not run ahead.
        if clock() - reported > args.report:
            mean = torch.stack(window).mean(0).tolist()
            now = clock()
            speed = seen / (now - reported)
            print(f"{now:5.0f} s  step {step}  pass {rows.passes}  rate {args.lr * share:.5f}  loss {mean[0]:.4f}  mtp {mean[1]:.4f}  "
                  f"{speed / 1e3:.0f} k tokens/s", flush=True)
            log.write(json.dumps(dict(t=now, step=step, loss=mean[0], mtp=mean[1], speed=speed, rate=args.lr * share)) + "\n")
            reported, seen, window = now, 0, []
        if clock() - checked > args.check:
            held = evaluate(model, valid, args.batch, autocast)
            use = expert_use(model, valid[: args.batch], autocast)
            print(f"{clock():5.0f} s  held out: loss {held[0]:.4f}  mtp {held[1]:.4f}  experts' shares {min(u for u, _ in use)} to {max(u for _, u in use)}",
                  flush=True)
            log.write(json.dumps(dict(t=clock(), step=step, passes=rows.passes + rows.at / len(train), valid=held[0], valid_mtp=held[1], experts=use)) + "\n")
            if held[0] < best:
                best, kept = held[0], {k: v.clone() for k, v in model.state_dict().items()}
            checked = clock()
        if clock() - saved > 60:
            torch.save(dict(model=model.state_dict(), optimisers=[o.state_dict() for o in made], step=step), resume)
            saved = clock()

    final = evaluate(model, valid, args.batch, autocast)
    if final[0] > best:
        print(f"the last weights lose {final[0]:.4f}, earlier ones lost {best:.4f}: those are kept", flush=True)
        model.load_state_dict(kept)
        final = evaluate(model, valid, args.batch, autocast)
    save_file({k: v.float().cpu().contiguous() for k, v in model.state_dict().items()}, args.out / "weights.safetensors")
    facts = dict(step=step, tokens=step * args.batch * shape.context, passes=rows.passes + rows.at / len(train), valid=final[0],
                 valid_mtp=final[1], seconds=clock(), accepted=accepted(model, valid[:64], autocast),
                 experts=expert_use(model, valid[: args.batch], autocast))
    print(json.dumps(facts), flush=True)
    log.write(json.dumps(facts) + "\n")

    tokenizer_path = args.data / "tokenizer.json"
    if tokenizer_path.exists():
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(tokenizer_path))
        asks = ["Tell me a story about a fox.", "Tell me a story about a girl who finds a key.", "Once upon a time", "Write a story about a bear and a boat.",
                "What is the moon?", "What is 17 + 6?", "Hello!", "I feel sad today."]
        chats = [f"[gMASK]<sop><|user|>{ask}<|assistant|>" for ask in asks]
        most = 160 if cuda else 24
        for ask, text in zip(asks + ["(plain)"], complete(model, tokenizer, chats + ["One day, a little"], most, 0.5, args.device, autocast)):
            print(f"--- {ask}\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
