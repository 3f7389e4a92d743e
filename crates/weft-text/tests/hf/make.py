r"""Writes vocabulary.json, cases.txt and characters.txt: the results of HF `tokenizers` on awkward texts.

The vocabulary is trained here, on whole lines: its tokens cross word boundaries, so the ids show where words were
split. The pipelines are copied from the models' `tokenizer.json` and share nothing with the table under test. Needs
`pip install tokenizers` (made with 0.23.2 and Python 3.11, which has Unicode 14); run it in this folder after changing
a text or a pipeline.

A tokenization is written as the length of each token in bytes, one digit each: 1 to 9, then letters. This identifies
the ids, because no two tokens that can occur have the same bytes; `digits` checks that.

cases.txt       a line with the names of the families; then for each text a line of JSON and, below it, the
                tokenizations, each after the numbers of the families that have it, one digit each
characters.txt  a line with the names of the families; then `FROM DIGITS…`, a tokenization for each family: from the
                character FROM (hexadecimal) up to that of the next line, these are the tokens of "éC9 C\n" for a
                character C. Repeated tokenizations are given by number, from 0; a dash stands for characters that
                Unicode may yet assign
"""

import json
import random
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

from texts import AWKWARD, FRAGMENTS, TRAINING

CONTROL = ["<|im_start|>", "<|im_end|>", "<|im", "<s>", "[gMASK]", "<｜end▁of▁sentence｜>"]
USER_DEFINED = ["<think>", "    ", "é!"]

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DEEPSEEK_LETTERS = r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
KIMI = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

CASED = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+{0}|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*{0}"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = CASED.replace("{0}", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?") + r"|\p{N}{1,3}" + REST
TEKKEN = CASED.replace("{0}", "") + r"|\p{N}" + REST
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


SEED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
THOUSANDS = r"\d{1,3}(?=(?:\d{3})*\b)"


def splits(*patterns, digits=False, last=ByteLevel(add_prefix_space=False, use_regex=False)):
    """Splits by pattern, then perhaps digits one by one, then bytes."""
    stages = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return Sequence(stages + [Digits(individual_digits=True)] * digits + [last])


# HF's own implementation of GPT-2's pattern.
BYTES_OF_GPT2 = ByteLevel(add_prefix_space=False, use_regex=True)

PIPELINES = {
    "llama-bpe": splits(LLAMA3),
    "glm4": splits(LLAMA3),
    "gpt-2": BYTES_OF_GPT2,
    "smollm": splits(digits=True, last=BYTES_OF_GPT2),
    "qwen2": splits(QWEN2),
    "deepseek-llm": splits(
        "[\r\n]", DEEPSEEK_LETTERS, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", "[一-龥ࠀ-一가-퟿]+", digits=True
    ),
    "deepseek-coder": splits("[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", digits=True),
    "deepseek-v3": splits(
        "\\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    ),
    "default": splits(r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "kimi-k2": splits(KIMI),
    "gpt-4o": splits(GPT4O),
    "tekken": splits(TEKKEN),
    "qwen35": splits(QWEN35),
    # From the comments in llama.cpp.
    "seed-coder": splits(SEED),
    "cohere2moe": splits(THOUSANDS, GPT4O),
    # From llama.cpp.
    "falcon": splits(r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"),
}


def train():
    """The vocabulary in the order of ids, its merges, and all other pairs of tokens that join to a token."""
    alphabet = sorted(ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=1500, min_frequency=2, initial_alphabet=alphabet, show_progress=False)
    spaces = ["    \n\n\n  12345678 ", "\t\t\t .\n\n", "\r\n\r\n  "]
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = splits()
    trained.train_from_iterator((line for line in TRAINING.splitlines(True) + spaces for _ in range(2)), trainer)
    saved = json.loads(trained.to_str())["model"]
    # The last byte of é and the space merge with any byte after them, before all others, so that every split shows.
    pairs = [(first, second) for first in "©Ġ" for second in alphabet]
    merges = list(dict.fromkeys(pairs + [tuple(pair) for pair in saved["merges"]]))
    tokens = list(dict.fromkeys(sorted(saved["vocab"], key=saved["vocab"].get) + ["".join(pair) for pair in pairs]))
    known, merged = set(tokens), set(merges)
    halves = [(token[:cut], token[cut:]) for token in tokens for cut in range(1, len(token))]
    return tokens, merges, [pair for pair in halves if known.issuperset(pair) and pair not in merged]


def spelled_bytes():
    """The byte that each character of a token spells: itself if it is printable, else one from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in seen]
    return {chr(char): byte for char, byte in [*zip(seen, seen), *zip(range(0x100, 0x200), unseen)]}


def tokenizer(pipeline, merges, ignore_merges):
    made = Tokenizer(models.BPE(vocab=IDS, merges=merges, ignore_merges=ignore_merges))
    made.pre_tokenizer = pipeline
    made.add_special_tokens([AddedToken(token, special=True) for token in CONTROL])
    made.add_tokens([AddedToken(token, special=False) for token in USER_DEFINED])
    return made


def like_tiktoken(text):
    """Kimi's tokenizer is tiktoken: a word that is a token stays whole; neighbours whose bytes are a token merge, the
    lowest id first. HF `tokenizers` only splits the words."""
    for word, _ in PIPELINES["kimi-k2"].pre_tokenize_str(text):
        parts = [word] if word in IDS else list(word)
        while pairs := [(IDS[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in IDS]:
            place = min(pairs)[1]
            parts[place : place + 2] = ["".join(parts[place : place + 2])]
        yield from parts


def ids(family, text):
    if family == "kimi-k2":
        return [IDS[part] for part in like_tiktoken(text)]
    return TOKENIZERS[family].encode(text).ids


def digits(family, text):
    """The lengths of the tokens of a text."""
    found = ids(family, text)
    written = "".join(DIGITS[len(SPELLINGS[token])] for token in found)
    # Read again as the test does.
    rest, read = text.encode(), []
    for digit in written:
        piece, rest = rest[: DIGITS.index(digit)], rest[DIGITS.index(digit) :]
        read.append(ADDED[piece] if family != "kimi-k2" and piece in ADDED else NORMAL[piece])
    assert read == found and not rest, (family, text)
    return written


def is_settled(char):
    """Whether the class of a character will not change: it is assigned, or never will be."""
    return unicodedata.category(chr(char)) not in ("Cn", "Cs") or char & 0xFFFE == 0xFFFE


def any_character(random):
    """One of all planes, with a bias for those that are in use."""
    limit = random.choice([0x80, 0x800, 0x3100, 0x10000, 0x20000, 0x110000])
    while not is_settled(char := random.randrange(limit)):
        pass
    return chr(char)


def random_text(random):
    """Fragments that patterns treat differently, and any characters."""

    def fragment():
        kind = random.randrange(6)
        if kind == 0:
            return any_character(random)
        return random.choice(FRAGMENTS) * (random.randrange(1, 20) if kind == 1 else 1)

    return "".join(fragment() for _ in range(random.randrange(30)))


TOKENS, MERGES, OTHER_PAIRS = train()
IDS = {token: id for id, token in enumerate(TOKENS)}
BYTES = spelled_bytes()
NORMAL = {bytes(BYTES[char] for char in token): id for token, id in IDS.items()}
ADDED = {token.encode(): id for id, token in enumerate(CONTROL + USER_DEFINED, len(TOKENS))}
SPELLINGS = [*NORMAL, *ADDED]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
TOKENIZERS = {
    family: tokenizer(pipeline, MERGES + OTHER_PAIRS * (family in ("llama-bpe", "glm4")), family in ("llama-bpe", "tekken"))
    for family, pipeline in PIPELINES.items()
    if family != "kimi-k2"
}

with open("vocabulary.json", "w", encoding="utf-8") as file:
    vocabulary = {
        "control": CONTROL,
        "user_defined": USER_DEFINED,
        "tokens": TOKENS,
        "merges": [" ".join(pair) for pair in MERGES],
        "other_pairs": [" ".join(pair) for pair in OTHER_PAIRS],
    }
    json.dump(vocabulary, file, ensure_ascii=False, separators=(",", ":"))
    file.write("\n")

seeded = random.Random(1)
texts = [TRAINING, *AWKWARD, "".join(AWKWARD), *(random_text(seeded) for _ in range(1000))]
# A token by itself: it is taken whole, or as the merges make it.
texts += [text for token in NORMAL if (text := token.decode(errors="ignore")).encode() == token and len(token) > 1]
with open("cases.txt", "w", encoding="utf-8", newline="\n") as file:
    print(*PIPELINES, file=file)
    for text in texts:
        print(json.dumps(text), file=file)
        agreeing = {}
        for number, family in enumerate(PIPELINES):
            agreeing.setdefault(digits(family, text), []).append(DIGITS[number])
        for written, families in agreeing.items():
            print("".join(families), written, file=file)

with open("characters.txt", "w", encoding="utf-8", newline="\n") as file:
    print(*PIPELINES, file=file)
    numbers, last = {"-": "-"}, None
    for char in range(0x20000):
        text = f"é{chr(char)}9 {chr(char)}\n"
        written = " ".join(digits(family, text) for family in PIPELINES) if is_settled(char) else "-"
        if written != last:
            print(f"{char:X}", numbers.get(written, written), file=file)
            numbers.setdefault(written, len(numbers) - 1)
            last = written
