"""SmolLM2-135M-Instruct in plain PyTorch, for generating text in batches of thousands of sequences.

All sequences of a batch have prompts of one length, so that they stay in step: no padding, no masks, one static cache.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import ggufio

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def tokenizer(metadata):
    """The tokenizer that the file's metadata describes."""
    tokens = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
        pre_tokenizers.Split(Regex(GPT2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    made.decoder = decoders.ByteLevel()
    kinds = metadata["tokenizer.ggml.token_type"]
    made.add_special_tokens([AddedToken(t, special=True) for t, k in zip(tokens, kinds) if k == 3])
    return made


# Replies are plain sentences: no lists, no markup, no paragraphs.
ALLOWED = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,!?'\"-")


def plain_tokens(metadata, tokenizer, limit):
    """The ids of the end token, and of the tokens below `limit` that consist of allowed characters.

    The vocabulary is in order of frequency, so a limit keeps the replies to common words."""
    kinds = metadata["tokenizer.ggml.token_type"]
    ids = [metadata["tokenizer.ggml.eos_token_id"]]
    for i in range(min(limit, len(kinds))):
        text = tokenizer.decode([i], skip_special_tokens=False)
        if kinds[i] == 1 and text and ALLOWED.issuperset(text):
            ids.append(i)
    return ids


@dataclass(frozen=True)
class Options:
    """How to sample."""

    temperature: float = 0.5
    min_p: float = 0.05
    presence: float = 0.3  # Subtracted from the logits of tokens that were generated already.
    no_repeat: int = 4  # Runs of this many tokens do not come twice.
    longest: int = 52  # Most tokens of a sentence; a sequence with a longer one is given up.
    usual: int = 28  # Tokens of a sentence that are reckoned with.
    patience: float = 0.03  # The share of sequences that may be given up so that the others need not wait.


class SmolLM:
    """The weights, ready to generate from."""

    def __init__(self, metadata, tensors, tokenizer, device, dtype, limit):
        key = lambda name: metadata[f"llama.{name}"]
        self.layers = key("block_count")
        self.heads, self.kv_heads = key("attention.head_count"), key("attention.head_count_kv")
        self.hidden = key("embedding_length")
        self.width = self.hidden // self.heads
        self.eps = key("attention.layer_norm_rms_epsilon")
        self.base = key("rope.freq_base")
        self.device, self.dtype = device, dtype
        w = lambda name: torch.from_numpy(tensors[name]).to(device, dtype)
        cat = lambda layer, names: torch.cat([w(f"blk.{layer}.{name}.weight") for name in names])
        self.embed = w("token_embd.weight")
        self.norm = w("output_norm.weight")
        self.blocks = [
            dict(
                attn_norm=w(f"blk.{i}.attn_norm.weight"),
                qkv=cat(i, ["attn_q", "attn_k", "attn_v"]),
                out=w(f"blk.{i}.attn_output.weight"),
                ffn_norm=w(f"blk.{i}.ffn_norm.weight"),
                gate_up=cat(i, ["ffn_gate", "ffn_up"]),
                down=w(f"blk.{i}.ffn_down.weight"),
            )
            for i in range(self.layers)
        ]
        ids = plain_tokens(metadata, tokenizer, limit)
        self.choices = torch.tensor(ids, device=device)
        self.head = self.embed[self.choices].contiguous()
        # For each token: its index in `choices`, how many quotation marks it has, and whether a sentence can end with it.
        vocab = len(metadata["tokenizer.ggml.tokens"])
        texts = [tokenizer.decode([i], skip_special_tokens=False) for i in range(vocab)]
        self.index_of = torch.zeros(vocab, dtype=torch.long, device=device)
        self.index_of[self.choices] = torch.arange(len(ids), device=device)
        self.quotes = torch.tensor([text.count('"') for text in texts], device=device)
        ends = lambda text: text.rstrip('"').endswith((".", "!", "?")) and not text.endswith(('!"', '?"', "..", '.."'))
        self.stops = torch.tensor([ends(text) for text in texts], device=device)

    def cache(self, batch, length):
        """An empty cache: keys and values of each layer, `[batch, kv heads, length, width]`."""
        shape = (2, batch, self.kv_heads, length, self.width)
        return [torch.empty(shape, device=self.device, dtype=self.dtype) for _ in range(self.layers)]

    def angles(self, length):
        """The rotations of the rotary embedding as complex numbers, `[length, 1, width / 2]`."""
        power = torch.arange(0, self.width, 2, device=self.device, dtype=torch.float32) / self.width
        angle = torch.arange(length, device=self.device, dtype=torch.float32)[:, None] * self.base**-power
        return torch.polar(torch.ones_like(angle), angle)[:, None, :]

    @staticmethod
    def rotate(x, rotations):
        """Rotates pairs of neighbours: the file's weights are in that order. `x` is `[batch, tokens, heads, width]`."""
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * rotations).flatten(-2).to(x.dtype)

    def forward(self, tokens, cache, start, angles):
        """Logits of `choices` after the last of `tokens`, `[batch, tokens]`, whose first is at position `start`."""
        batch, count = tokens.shape
        end = start + count
        rotations = angles[start:end]
        q_width = self.heads * self.width
        x = F.embedding(tokens, self.embed)
        for block, kv in zip(self.blocks, cache):
            normed = F.rms_norm(x, (self.hidden,), block["attn_norm"], self.eps)
            qkv = F.linear(normed, block["qkv"]).view(batch, count, -1, self.width)
            turned = self.rotate(qkv[:, :, : self.heads + self.kv_heads], rotations)
            q = turned[:, :, : self.heads]
            kv[0, :, :, start:end] = turned[:, :, self.heads :].transpose(1, 2)
            kv[1, :, :, start:end] = qkv[:, :, self.heads + self.kv_heads :].transpose(1, 2)
            keys, values = kv[0, :, :, :end], kv[1, :, :, :end]
            if count == 1:
                # The query heads that share a head of keys take the place of tokens, so that keys are read once.
                grouped = q.reshape(batch, self.kv_heads, self.heads // self.kv_heads, self.width)
                mixed = F.scaled_dot_product_attention(grouped, keys, values)
                mixed = mixed.reshape(batch, 1, q_width)
            else:
                if start:
                    raise ValueError("several tokens at once are for the prompt only")
                share = self.heads // self.kv_heads
                keys, values = (t.repeat_interleave(share, 1) for t in (keys, values))
                mixed = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, is_causal=True)
                mixed = mixed.transpose(1, 2).reshape(batch, count, q_width)
            x = x + F.linear(mixed, block["out"])
            normed = F.rms_norm(x, (self.hidden,), block["ffn_norm"], self.eps)
            gate, up = F.linear(normed, block["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, block["down"])
        x = F.rms_norm(x[:, -1], (self.hidden,), self.norm, self.eps)
        return F.linear(x, self.head)

    def sample(self, logits, options, generator):
        """Draws indices into `choices` from those at least `min_p` times as likely as the likeliest."""
        if options.temperature == 0:
            return logits.argmax(-1)
        scaled = logits.float() / options.temperature
        floor = scaled.amax(-1, keepdim=True) + math.log(options.min_p)
        # The largest of logits plus Gumbel noise is a sample of their softmax: -ln of an exponential is such noise.
        noise = torch.empty_like(scaled).exponential_(generator=generator).log_()
        return torch.where(scaled >= floor, scaled - noise, -torch.inf).argmax(-1)

    def penalise(self, logits, history, seen, options):
        """Makes repetition less likely: of any token by `presence`, of runs of `no_repeat` tokens not at all."""
        logits = logits - options.presence * seen
        n, length = options.no_repeat, history.shape[1]
        if length >= n:
            match = torch.ones_like(history[:, n - 1 :], dtype=torch.bool)
            for back in range(n - 1):
                match &= history[:, back : length - (n - 1) + back] == history[:, length - (n - 1) + back, None]
            # Index 0 is the end token, which is not drawn at all.
            banned = torch.where(match, self.index_of[history[:, n - 1 :]], 0)
            logits = logits.scatter(1, banned, -torch.inf)
        logits[:, 0] = -torch.inf
        # Nobody speaks in generated sentences: who says what is up to the scripts.
        return logits.masked_fill(self.quotes[self.choices] > 0, -torch.inf)

    @torch.inference_mode()
    def follow(self, heads, scripts, options, generator, prefill=1024):
        """Follows scripts. After its head, a sequence gets the tokens of its first segment, then as many generated
        sentences as the segment says, then the next segment.

        All sequences advance by a token at a time, given or generated, and so stay in step whatever their lengths.
        Returns, for each, the tokens after the head and whether it came to its end; and the number of steps."""
        device, batch = self.device, len(heads)
        wholes = [head + script[0][0] for head, script in zip(heads, scripts)]
        prefix = min(len(whole) for whole in wholes) - 1
        given = [[whole[prefix:]] + [t for t, _ in script[1:]] for whole, script in zip(wholes, scripts)]
        most = max(len(segments) for segments in given)
        longest = max(len(tokens) for segments in given for tokens in segments)
        table = np.zeros((batch, most, longest), np.int64)
        lengths, sentences = np.zeros((batch, most), np.int64), np.zeros((batch, most), np.int64)
        for i, segments in enumerate(given):
            for j, tokens in enumerate(segments):
                table[i, j, : len(tokens)] = tokens
                lengths[i, j], sentences[i, j] = len(tokens), scripts[i][j][1]
        limit = int((lengths.sum(1) + sentences.sum(1) * options.usual).max()) + 16
        count = torch.tensor([len(segments) for segments in given], device=device)
        table, lengths, sentences = (torch.from_numpy(t).to(device) for t in (table, lengths, sentences))

        angles = self.angles(prefix + limit)
        cache = self.cache(batch, prefix + limit)
        prompts = torch.tensor([whole[:prefix] for whole in wholes], device=device)
        logits = torch.cat([
            self.forward(prompts[at : at + prefill], [kv[:, at : at + prefill] for kv in cache], 0, angles)
            for at in range(0, batch, prefill)
        ])
        out = torch.zeros((batch, limit), device=device, dtype=torch.long)
        size = torch.zeros(batch, device=device, dtype=torch.long)
        done = torch.zeros(batch, device=device, dtype=torch.bool)
        # The state of the sequences that still run, a row each.
        rows = torch.arange(batch, device=device)
        segment, offset, made, in_sentence, quotes = (torch.zeros_like(rows) for _ in range(5))
        seen = torch.zeros(logits.shape, device=device, dtype=torch.bool)
        history, running = out.clone(), ~done
        for step in range(limit):
            if step % 16 == 15:
                left = int(running.sum())
                if left <= options.patience * batch:
                    break
                if left < 0.85 * len(rows):
                    state = rows, logits, seen, table, lengths, sentences, count, segment, offset, made, in_sentence, quotes, history
                    state = [t[running] for t in state]
                    cache = [self.keep(kv, running, prefix + step) for kv in cache]
                    rows, logits, seen, table, lengths, sentences, count, segment, offset, made, in_sentence, quotes, history = state
                    running = running[running]
            at = torch.arange(len(rows), device=device)
            here = segment.clamp(max=most - 1)
            length = lengths[at, here]
            forced = offset < length
            drawn = self.sample(self.penalise(logits, history[:, :step], seen, options), options, generator)
            token = torch.where(forced, table[at, here, offset.clamp(max=longest - 1)], self.choices[drawn])
            history[:, step] = token
            out[rows, step] = token
            size[rows] += running
            seen.scatter_(1, torch.where(forced, 0, drawn)[:, None], True)
            quotes = quotes + self.quotes[token]
            offset = offset + forced
            free = running & ~forced
            stop = free & self.stops[token] & (quotes % 2 == 0)
            made = made + stop
            in_sentence = torch.where(free & ~stop, in_sentence + 1, 0)
            # A segment is over once its tokens are given and its sentences made.
            over = running & (offset >= length) & (made >= sentences[at, here])
            segment = segment + over
            offset, made, quotes = (torch.where(over, 0, t) for t in (offset, made, quotes))
            done[rows] |= segment >= count
            running = running & (segment < count) & (in_sentence < options.longest)
            if step < limit - 1:
                logits = self.forward(token[:, None], cache, prefix + step, angles)
        results = []
        for head, whole, tokens, n, ended in zip(heads, wholes, out.tolist(), size.tolist(), done.tolist()):
            results.append(((whole[:prefix] + tokens[:n])[len(head) :], ended))
        return results, step

    @staticmethod
    def keep(kv, alive, used):
        """The rows of a layer's cache that are `alive`, of which `used` positions are filled."""
        kept = torch.empty((2, int(alive.sum()), *kv.shape[2:]), device=kv.device, dtype=kv.dtype)
        kept[:, :, :, :used] = kv[:, alive, :, :used]
        return kept
