"""Jobs for the generator: what SmolLM2 is asked, the frame of its reply, and what the user says in the training text.

Job number `i` of a seed is always the same. There are far more jobs than are ever run: a story alone has over 10¹² frames.
"""

import random
import re
from dataclasses import dataclass, field

import plots
import words

SHORT = " Answer in one short sentence."
SHORT2 = " Answer in two short sentences."


@dataclass
class Turn:
    """A turn of a conversation."""

    user: str  # What the user says in the training text.
    ask: str  # What the generator is asked instead.
    # The reply: texts, each followed by a number of sentences to generate, and what takes the place of one that does not
    # fit (nothing, if it may be left out; None, if the reply is worth nothing without it).
    reply: list = field(default_factory=list)


@dataclass
class Job:
    kind: str
    turns: list
    people: list = field(default_factory=list)  # Who is in the story: name, kind and pronoun of each.


def job(seed, number):
    """Job number `number` of a seed."""
    r = random.Random(f"{seed}/{number}")
    kind = r.choices(["story", "question", "chat"], [90, 4, 6])[0]
    if kind == "story":
        turn, people = story(r)
        return Job(kind, [turn], people)
    if kind == "question":
        return Job(kind, [question(r)])
    return Job(kind, chat(r))


def pick(r, text):
    """Picks one of each `[a|b]`."""
    return re.sub(r"\[([^\]]*)\]", lambda m: r.choice(m[1].split("|")), text)


def script(text, optional=False):
    """Splits a text at each `~`, where sentences are to be generated.

    `~<a|b>` is replaced by `a` or `b` if need be; a `~` alone may be left out if it is `optional`."""
    segments = []
    at, carried = 0, ""
    for slot in re.finditer(r"~(?:<([^>]*)>)?", text):
        if slot[1] and text[: slot.start()].endswith('"'):
            # What is said turns a story: the generator's replies seldom fit, so that those written by hand are taken.
            carried += text[at : slot.start()] + slot[1]
            at = slot.end()
            continue
        given = carried + text[at : slot.start()].rstrip(" ")
        carried = ""
        instead = slot[1] if slot[1] is not None else ("" if optional else None)
        segments.append((given, 1, instead))
        at = slot.end()
    rest = carried + text[at:].rstrip()
    if rest.strip():
        segments.append((rest, 0, None))
    return segments


def plain(turn):
    """A reply without anything generated."""
    text = ""
    for given, sentences, instead in turn.reply:
        text += given
        if sentences and instead:
            text += ("" if given.endswith('"') else " ") + instead
    return re.sub(r" +", " ", text).strip()


def article(noun):
    return f"an {noun}" if noun[0] in "aeiou" and not noun.startswith("uni") else f"a {noun}"


def hero(r, sea=False):
    """A name, a kind of being and its pronouns."""
    if r.random() < 0.5:
        name, roles, pronouns = r.choice(words.GIRLS), words.GIRL_ROLES, ("she", "her", "her")
    else:
        name, roles, pronouns = r.choice(words.BOYS), words.BOY_ROLES, ("he", "his", "him")
    animals = words.SEA_ANIMALS if sea else words.ANIMALS
    kind = r.choices([r.choice(animals), r.choice(roles), r.choice(words.THINGS)], [1, 0, 0] if sea else [60, 35, 5])[0]
    return name, kind, pronouns


def story(r):
    sea = r.random() < 0.06
    name, kind, (he, his, him) = hero(r, sea)
    friend, friend_kind, (mhe, mhis, mhim) = hero(r, sea)
    while friend == name or friend_kind == kind:
        friend, friend_kind, (mhe, mhis, mhim) = hero(r, sea)
    trait = r.choice(words.TRAITS)
    thing = r.choice(words.OBJECTS)
    short = thing.split(" ")[-1] if thing.split(" ")[-1] in ("ball", "hat", "key", "bell", "boat", "stone", "scarf", "train", "ring", "brush", "coat",
                                                             "bottle", "balloon", "watch", "car", "pot", "wand") else thing
    spots = r.sample(words.SPOTS, 2)
    foods = r.sample(words.FOODS, 2)
    home, far = r.sample(words.HOMES, 2)
    bird = r.choice([b for b in words.BIRDS if b not in (kind, friend_kind)])
    opening = r.choice(plots.SEA_OPENINGS if sea else plots.OPENINGS)
    abouts, plot = r.choice(plots.SEA_PLOTS if sea else plots.PLOTS)
    hatched = "baby {bird}" in plot
    if hatched:
        friend_kind = bird
    slots = dict(
        n=name, k=kind, m=friend, fk=friend_kind, t=trait, o=thing, o1=short, os=plural(thing), he=he, his=his, him=him, He=he.capitalize(),
        His=his.capitalize(), His2=mhis.capitalize(), mhe=mhe, mhis=mhis, mhim=mhim, home=home, home3=far, p=r.choice(words.PLACES), spot=spots[0], spot2=spots[1],
        hide=r.choice(["under a tree", "in a barn", "in a cave", "under a bridge"]), food=foods[0], food2=r.choice(words.FRUITS),
        w=r.choice(words.WEATHER), w1=r.choice(["sunny", "warm", "bright"]), skill=r.choice(words.SKILLS), fear=r.choice(words.FEARS),
        seed=r.choice(words.SEEDS), c=r.choice(words.COLOURS), v=r.choice(["train", "boat", "bus"]), bird=bird,
        b=r.choice(["tree house", "little boat", "bridge", "bench", "bird house", "cart"]),
        ak=article(kind), afk=article(friend_kind), ao=article(short),
    )
    if "{skill}" in opening and "{skill}" in plot:
        opening = plots.OPENINGS[0]
    text = pick(r, f"{opening} // {plot}" if r.random() < 0.5 else f"{opening} {plot}").format(**slots)
    text = re.sub(r"~<([^>]*)>", lambda m: f"~<{r.choice(m[1].split('|'))}" + ('"' if text[: m.start()].endswith('"') else "") + ">", text)
    # After the article, a kind may begin with a vowel.
    text = re.sub(r"\b([Aa]) (?=[aeiou](?!ni))", r"\1n ", text)
    # Not every story has as many additions.
    share = r.choice([0.35, 0.6, 0.85])
    text = re.sub(r" ~(?!<)", lambda m: m[0] if r.random() < share else "", text)
    text = re.sub(r" ?// ?", "\n\n", text)
    if text.endswith("."):
        text += r.choice(["", "", "", "", " The end.", "\n\nThe end."])
    about = r.choice(abouts).format(**slots)
    about = re.sub(r"^a (?=[aeiou](?!ni))", "an ", about)
    people = f"{name} the {kind}"
    whats = [article(kind)] * 3 + [f"{article(kind)} named {name}", f"{article(kind)} called {name}", people, f"{article(trait)} {kind}"] + [about] * 5
    if friend in text and not hatched:
        whats += [f"{article(kind)} and {article(friend_kind)}", f"{name} and {friend}"]
    what = r.choice(whats)
    user = r.choice([
        "Tell me a story about {}.", "Tell me a story about {}.", "Tell me a story about {}.", "Tell me a short story about {}.", "Write a story about {}.",
        "Write a story about {}.", "Write a short story about {}.", "Can you tell me a story about {}?", "Please tell me a story about {}.",
        "I would like to hear a story about {}.", "Make up a story about {}.", "A story about {}, please.", "tell me a story about {}",
        "Tell me a bedtime story about {}.", "Do you know a story about {}?", "Tell my little sister a story about {}.",
        "Tell me a story.", "Write a story.", "Once upon a time", "Tell me a bedtime story.",
    ]).format(what)
    ask = f"Write a story for small children about {name} the {kind} and {friend} the {friend_kind}. Use simple words."
    return Turn(user, ask, script(text, True)), [[name, kind, he], [friend, friend_kind, mhe]]


def plural(noun):
    """The plural of a noun."""
    if noun.endswith(("x", "ch", "sh", "s")):
        return noun + "es"
    return noun + "s"


def question(r):
    kind = r.choices(["noun", "job", "use", "why", "how", "trouble", "about", "like"], [34, 7, 8, 18, 13, 9, 6, 5])[0]
    if kind == "noun":
        noun = r.choice(words.NOUNS)
        base = noun.capitalize()
        form = r.choice(["is", "is", "is", "look", "where", "fact", "good"])
        if form == "look" and noun.startswith("a"):
            return Turn(f"What does {noun} look like?", f"What does {noun} look like?{SHORT}", script(f"{base} ~"))
        if form == "where":
            return Turn(f"Where can I find {noun}?", f"Where can you find {noun}?{SHORT}", script(f"You can find {noun} ~"))
        if form == "fact":
            user = r.choice(["Tell me something about {}.", "Tell me a fact about {}.", "What do you know about {}?"])
            return Turn(user.format(noun), f"Tell me a simple fact about {noun}.{SHORT2}", script(f"{base} ~ ~"))
        if form == "good":
            return Turn(f"Why is {noun} important?", f"Why is {noun} important?{SHORT}", script(f"{base} is important because ~"))
        user = r.choice(["What is {}?", "What is {}?", "Can you explain what {} is?", "Explain to me what {} is.",
                         "Do you know what {} is?", "What's {}?"])
        return Turn(user.format(noun), f"What is {noun}?{SHORT}", script(f"{base} is ~" + r.choice(["", "", " It ~"])))
    if kind == "job":
        who = article(r.choice(words.JOBS))
        user = r.choice(["What does {} do?", "Who is {}?", "What is {}?", "What is the job of {}?"])
        return Turn(user.format(who), f"What does {who} do?{SHORT}", script(f"{who.capitalize()} is someone who ~"))
    if kind == "use":
        tool = r.choice(words.USES)
        user = r.choice(["What can I do with {}?", "What is {} for?", "What do you use {} for?", "How do I use {}?"])
        if tool == "scissors":
            user = user.replace("What is {}", "What are {}")
        return Turn(user.format(tool), f"What do you use {tool} for?{SHORT}", script(f"You can use {tool} to ~"))
    if kind == "why":
        why, because = r.choice(words.WHYS)
        return Turn(why, why + SHORT, script(f"{because} ~"))
    if kind == "how":
        goal = r.choice(words.GOALS)
        yours = second(goal)
        user = r.choice(["How can I {}?", "How do I {}?", "I want to {}. What can I do?", "Give me a tip: how can I {}?"])
        start = r.choice(["To {}, you can ~", "To {}, try to ~", "If you want to {}, ~", "You can ~"])
        return Turn(user.format(goal), f"How can I {goal}?{SHORT2}", script(start.format(yours) + r.choice(["", " You can also ~"])))
    if kind == "trouble":
        return trouble(r)
    if kind == "about":
        subject = r.choice(words.SUBJECTS)
        user = r.choice(["Tell me about {}.", "Can you tell me about {}?", "I want to know more about {}."])
        return Turn(user.format(subject), f"Tell me about {subject}.{SHORT2}", script(f"{subject.capitalize()} ~ ~"))
    subject = r.choice(words.SUBJECTS)
    start = r.choice(["Yes, I like {} very much.", "I think {} can be wonderful.", "Oh yes!"]).format(subject)
    return Turn(f"Do you like {subject}?", f"Tell me why people like {subject}.{SHORT}", script(f"{start} {subject.capitalize()} ~"))


def second(text):
    """Turns a text in the first person to the second."""
    swaps = {"my": "your", "am": "are", "I": "you", "me": "you"}
    return " ".join(swaps.get(word, word) for word in text.split(" "))


def trouble(r):
    what = r.choice(words.TROUBLES)
    yours = second(what)
    user = r.choice(["I {}.", "I {}. What should I do?", "What should I do if I {}?", "What can I do when I {}?"]).format(what)
    start = r.choice(["I am sorry to hear that. You can ~", "If you {}, you should ~", "When you {}, try to ~", "Do not worry. You can ~",
                      "If you {}, it can help to ~"]).format(yours)
    return Turn(user, f"What should I do if I {what}?{SHORT}", script(start + r.choice(["", "", " I hope you feel better soon!"])))


def chat(r):
    """A conversation of two to four turns."""
    turns = []
    if r.random() < 0.45:
        hello = r.choice(["Hello!", "Hi!", "Hi there!", "Good morning!", "Good evening!", "Hello, how are you?", "Hey!", "Hi, how are you today?"])
        reply = r.choice(["Hello! How can I help you today?", "Hi! It is nice to meet you. What would you like to talk about?",
                          "Hello! What can I do for you?", "Hi there! How are you today?"])
        if "how are" in hello:
            reply = r.choice(["I am fine, thank you! How are you?", "I am very well, thank you. How can I help you?", "I am good, thank you! And you?"])
        turns.append(Turn(hello, hello, script(reply)))
    for _ in range(r.choice([1, 1, 2, 2])):
        turns.append(r.choice([question, question, trouble, hobby, plan, feeling, hobby, plan])(r))
    if r.random() < 0.3 or len(turns) == 1:
        turns.append(follow_up(r))
    if r.random() < 0.35:
        user = r.choice(["Thank you!", "Thanks!", "Thank you very much.", "That helps, thank you.", "Thanks a lot!", "OK, thank you. Bye!",
                         "Good night!", "Goodbye!", "That is nice. Thank you!"])
        bye = any(word in user.lower() for word in ("bye", "night"))
        reply = r.choice(["Goodbye! Have a nice day!", "Bye! See you soon."] if bye else
                         ["You are welcome!", "You are welcome! Let me know if you have more questions.", "I am happy to help!", "Any time!"])
        turns.append(Turn(user, user, script("Good night! Sleep well." if "night" in user else reply)))
    return turns


def hobby(r):
    what = r.choice(words.HOBBIES)
    user = r.choice(["I like {}.", "I love {}.", "My hobby is {}.", "My friend likes {}.", "I enjoy {} with my friends."]).format(what)
    start = r.choice(["That sounds like fun! {} ~", "How nice! {} ~", "{} is a great hobby. It ~", "That is wonderful. {} ~"])
    start = start.format(second(what).capitalize())
    return Turn(user, f"Tell me why {what} is fun.{SHORT}", script(start + r.choice(["", " Do you do it often?", " What do you like most about it?"])))


def plan(r):
    what = r.choice(words.PLANS)
    user = r.choice(["Today I will {}.", "I want to {} tomorrow.", "I am going to {} today.", "My family and I will {}."]).format(what)
    start = r.choice(["That sounds like a good plan! You can ~", "How nice! When you {}, you can ~", "That is great! Do not forget to ~",
                      "Have fun! If you {}, try to ~"]).format(second(what))
    return Turn(user, f"I am going to {what}. Give me one tip.{SHORT}", script(start))


def feeling(r):
    good = r.random() < 0.5
    if good:
        how = r.choice(["happy", "great", "good", "excited", "very well", "proud", "calm"])
        start = r.choice(["I am glad to hear that!", "That is wonderful!", "That makes me happy too!", "How nice!"])
        reply = start + r.choice([" What made you so happy?", " Feeling {} is ~", " I hope you ~", ""]).format(how if how != "very well" else "good")
    else:
        how = r.choice(["sad", "tired", "lonely", "nervous", "angry", "bored", "sick", "afraid"])
        start = r.choice(["I am sorry to hear that.", "Oh no, I am sorry.", "That must be hard."])
        reply = start + r.choice([" When you feel {}, you can ~", " It can help to ~", " Would you like to talk about it?", " Maybe you can ~"]).format(how)
    user = r.choice(["I feel {} today.", "I am {}.", "I am feeling {}.", "Today I am {}."]).format(how)
    return Turn(user, f"What can I do when I feel {how}?{SHORT}", script(reply))


def follow_up(r):
    user, start = r.choice([
        ("Tell me more.", "~ ~"), ("Why?", "Because ~"), ("Can you give me an example?", "For example, ~"), ("Really?", "Yes, ~"),
        ("What else?", "You can also ~"), ("Is that true?", "Yes, ~"), ("How do you know that?", "I learned that ~"),
        ("I did not know that.", "Yes, ~"), ("That is interesting!", "Yes, it is! ~"), ("Can you say that in other words?", "In other words, ~"),
    ])
    return Turn(user, user + SHORT, script(start))
