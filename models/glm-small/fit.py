"""Whether a generated sentence fits into its story.

The generator, a model of 135 M parameters, mixes up who is who, repeats what was just said, and contradicts it. These are
tests for that. They are strict: an outline does without any addition, so a good sentence lost is no harm.
"""

import re

import words

WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
NAMES = set(words.GIRLS + words.BOYS)
BEINGS = set(" ".join(words.ANIMALS + words.SEA_ANIMALS + words.BIRDS + words.GIRL_ROLES + words.BOY_ROLES + words.THINGS).split())
BEINGS -= {"toy", "teddy", "sea", "star"}
KIN = set("brother sister brothers sisters mother father mom dad mommy daddy mum parents grandmother grandfather grandma grandpa son daughter wife husband baby "
          "child children kids uncle aunt cousin".split())
HIS, HER = {"he", "his", "him", "himself"}, {"she", "her", "hers", "herself"}
GLAD = set("happy happily glad proud joy excited smiled laughed smiling laughing fun wonderful delighted cheerful love loved enjoyed".split())
SORRY = set("sad sadly cried crying cry tears afraid scared fear angry worried alone lonely hurt lost upset frightened ill sick tired cold wet".split())
PRESENT = set("is are am will can has have don't doesn't isn't aren't can't won't does do it's he's she's i'm they're we're that's there's i've i'll".split())
LITTLE = set("the a an and or but of to in on at for with from by as it its was were had be been so very too not no that this then there he she they him her his "
             "their them all up out down into over some who when".split())
# What the generator writes out of its element: talk of stories, lessons, tips, and its favourite empty words.
EMPTY = re.compile(r"\b(stor(y|ies)|lesson|tip|special|magical?|adventures?|journey|game-changer|world|important|quick|example|answer|short|simple|everyone|"
                   r"forever|ever since|the end|village named|town of|named|called|body|tail|head|eyes|skin|nose|fur|blood|dead|died?|death|eat (him|her|them)|"
                   r"husband|wife|married|money|million|thousand|hundred|years? old|dollars?)\b", re.I)


def content(text):
    """The words of a text that carry its meaning."""
    return [w for w in (w.lower() for w in WORD.findall(text)) if w not in LITTLE and len(w) > 2]


def same(a, b):
    """Whether two words are forms of one, as far as their beginnings tell."""
    return a == b or (min(len(a), len(b)) > 3 and a[: max(4, min(len(a), len(b)) - 2)] == b[: max(4, min(len(a), len(b)) - 2)])


def last_sentence(text):
    return re.split(r'(?<=[.!?])"?\s+', text.strip())[-1]


def first_sentence(text):
    return re.split(r'(?<=[.!?])"?\s+', text.strip())[0]


def misfit(text, stem, before, after, people):
    """Why a generated sentence does not fit into a story; None if it does.

    `stem` is the beginning of it that was given, `before` the story up to that, `after` what is given next. `people` are the
    hero and the friend: name, kind, pronoun."""
    speech = stem.rstrip().endswith('"')
    whole = (stem.rsplit('"', 1)[-1] if speech else stem + " ") + text
    body = text.strip()
    found = WORD.findall(body)
    low = [w.lower() for w in found]
    if not body.isascii() or re.search(r"[0-9:;()\[\]*/#<>\n]|\.\.|--| ,| \.", body):
        return "characters"
    if speech:
        if not re.fullmatch(r'[^"]+[.!?]"', body) or not body[0].isupper():
            return "quotes"
        if not 2 <= len(found) <= 14:
            return "length"
    else:
        if '"' in body:
            return "quotes"
        if not re.fullmatch(r"[^.!?]+[.!]", body):
            return "form"
        if not (3 if not stem else 1) <= len(found) <= 11:
            return "length"
        if set(low) & PRESENT:
            return "tense"
        if set(low) & {"i", "my", "me", "we", "our", "us", "you", "your"}:
            return "person"
    known = [p for p in people if p[0] in before + stem]
    names = {p[0] for p in known}
    capital = [w for i, w in enumerate(found) if w[0].isupper() and (i or stem and not speech) and w != "I" and not w.startswith("I'")]
    if any(w not in names for w in capital) or any(w in NAMES and w not in names for w in found):
        return "names"
    if any(low.count(name.lower()) > 1 for name in names):
        return "names"
    # The speaker does not speak of himself, or to himself.
    if speech and (speaker := re.findall(r"(?:said|called|asked) ([A-Z]\w+)|([A-Z]\w+)[^.\"]* said", before[-60:] + stem)):
        if "".join(speaker[-1]) in found:
            return "names"
    kinds = set(" ".join(p[1] for p in known).split())
    seen = {w.lower() for w in WORD.findall(before + stem)}
    if any((w in BEINGS or w.rstrip("s") in BEINGS) and w not in kinds and w not in seen for w in low):
        return "beings"
    if set(low) & KIN - seen:
        return "beings"
    if not speech:
        # Whom does "a bear" call a fox; and "the bear" says less than a name.
        if any(re.search(rf"\b(a|an|another|other|little|big) (\w+ )?{k}\b", body.lower()) for k in kinds):
            return "beings"
        pronouns = {p[2] for p in known}
        if (set(low) & HIS and "he" not in pronouns and "king" not in seen) or (set(low) & HER and "she" not in pronouns and not seen & {"mother", "grandmother"}):
            return "pronouns"
        if set(low) & {"they", "their", "them", "together", "both"} and len(known) < 2:
            return "pronouns"
        if not stem and not re.match(r"(He|She|They|It|The|His|Her|Then|So|All|Everybody|Soon|Suddenly|" + "|".join(names) + r")\b", body):
            return "beginning"
        # What would need to be known later on, or does not agree with what comes.
        if re.search(r"\b(not|never|no|nothing|nobody|\w+n't|day|days|morning|night|week|year|until|found|find|saw|met|meet|decided|became|turned|won|lost|"
                     r"always|again|but|because|if|once|first|last|another|also|even|just like|only)\b", whole, re.I) and len(low) > 1:
            return "news"
        if any(re.search(rf"\bthe {k}\b", body.lower()) for k in kinds):
            return "beings"
    if EMPTY.search(whole):
        return "empty"
    mine = content(whole)
    if not mine or any(same(a, b) for i, a in enumerate(mine) for b in mine[:i] if a.capitalize() not in names):
        return "repetition"
    near = set(content(last_sentence(before))) - {n.lower() for n in names}
    next_ = set(content(first_sentence(after))) - {n.lower() for n in names}
    plain = [w for w in mine if w.capitalize() not in names]
    if not plain:
        return "repetition"
    for other in (near, next_):
        if sum(any(same(a, b) for b in other) for a in plain) * 2 >= max(2, len(plain)):
            return "echo"
    # A run of four words that the story has already, before or after.
    story = " " + " ".join(w.lower() for w in WORD.findall(before + stem)) + " "
    rest = " " + " ".join(w.lower() for w in WORD.findall(after)) + " "
    runs = [" ".join(low[i : i + 4]) for i in range(len(low) - 3)]
    if any(f" {run} " in story or f" {run} " in rest for run in runs):
        return "echo"
    feeling = set(low)
    around = set(w.lower() for w in WORD.findall(last_sentence(before) + " " + stem + " " + first_sentence(after)))
    if (feeling & GLAD and around & SORRY) or (feeling & SORRY and around & GLAD) or (feeling & GLAD and feeling & SORRY):
        return "mood"
    if not speech and feeling & {"not", "never", "didn't", "couldn't", "wasn't"} and len(low) > 9:
        return "mood"
    return None
