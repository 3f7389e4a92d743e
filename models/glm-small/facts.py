"""Conversations that are not generated: who the model is, facts and answers that must be right, and bare outlines of stories."""

import random

import answers
import prompts
from words import split

ME = "glm-small"
WHO = [
    (["Who are you?", "What are you?", "Tell me about yourself.", "Are you a robot?", "Are you a person?", "Are you human?", "Introduce yourself."],
     [f"I am {ME}, a very small language model. I can tell short stories and talk about simple things.",
      f"I am {ME}, a tiny language model. I like to tell stories.", f"My name is {ME}. I am a small computer program that writes text."]),
    (["What is your name?", "What's your name?", "Do you have a name?", "How are you called?"], [f"My name is {ME}.", f"I am {ME}. It is nice to meet you!"]),
    (["Who made you?", "Where do you come from?", "How were you made?"],
     ["I was trained from scratch in a few minutes, on simple texts that another small language model wrote.",
      "I come with Weft. I learned from simple stories and short conversations."]),
    (["What can you do?", "How can you help me?", "What are you good at?", "Help"],
     ["I can tell short stories, answer simple questions and chat a little. I am very small, so I make many mistakes.",
      "I can tell you a story, or we can talk. Please do not trust me with facts: I am very small."]),
    (["Can you make mistakes?", "Can I trust you?", "Are you always right?"], ["I am a very small model and I make many mistakes. Please check what I say."]),
]
OPPOSITES = [pair.split("/") for pair in split("""big/small, hot/cold, day/night, up/down, left/right, fast/slow, old/young, happy/sad, good/bad,
    light/dark, open/closed, wet/dry, full/empty, hard/soft, loud/quiet, long/short, tall/short, rich/poor, clean/dirty, early/late, near/far,
    high/low, strong/weak, easy/difficult, first/last, inside/outside, right/wrong, love/hate, summer/winter, begin/end, push/pull, thick/thin, man/woman, boy/girl, king/queen, black/white, sweet/sour,
    sharp/blunt, heavy/light, new/old, north/south, east/west, above/below, before/after, win/lose, start/stop, buy/sell""")]
SOUNDS = [pair.split("/") for pair in split("""dog/barks, cat/meows, cow/moos, sheep/bleats, lion/roars, duck/quacks, horse/neighs, pig/oinks,
    owl/hoots, bee/buzzes, wolf/howls, frog/croaks, mouse/squeaks, snake/hisses, bird/sings, rooster/crows, hen/clucks, donkey/brays""")]
LOOKS = [pair.split("/") for pair in split("""the sky/blue, grass/green, snow/white, a banana/yellow, the sun/yellow, a strawberry/red, a carrot/orange,
    the sea/blue, milk/white, a tomato/red, coal/black, chocolate/brown, a lemon/yellow, a leaf/green, an elephant/grey, a flamingo/pink""")]
CAPITALS = [pair.split("/") for pair in split("""France/Paris, Germany/Berlin, Italy/Rome, Spain/Madrid, England/London, Japan/Tokyo, China/Beijing,
    Russia/Moscow, Egypt/Cairo, Greece/Athens, Poland/Warsaw, Austria/Vienna, Portugal/Lisbon, Ireland/Dublin, Norway/Oslo, Sweden/Stockholm,
    Finland/Helsinki, Denmark/Copenhagen, Hungary/Budapest, India/New Delhi, Canada/Ottawa, Kenya/Nairobi, Peru/Lima, Cuba/Havana,
    Turkey/Ankara, Belgium/Brussels, Scotland/Edinburgh, Wales/Cardiff, Iceland/Reykjavik, the United States/Washington""")]
DAYS = split("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
MONTHS = split("January, February, March, April, May, June, July, August, September, October, November, December")
NUMBERS = split("""zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen, seventeen,
    eighteen, nineteen, twenty""")
COUNTS = [("legs does a dog have", "A dog has four legs."), ("legs does a spider have", "A spider has eight legs."), ("legs does a bee have", "A bee has six legs."),
          ("legs does a bird have", "A bird has two legs."), ("days are in a week", "There are seven days in a week."),
          ("months are in a year", "There are twelve months in a year."), ("hours are in a day", "There are twenty-four hours in a day."),
          ("seasons are there", "There are four seasons: spring, summer, autumn and winter."), ("fingers do I have", "You have ten fingers."),
          ("eyes do I have", "You have two eyes."), ("wheels does a car have", "A car has four wheels."), ("wheels does a bicycle have", "A bicycle has two wheels.")]


def sum_of(r):
    """A sum up to 40 or a difference, in digits or in words."""
    if r.random() < 0.25:
        a = r.randrange(1, 21)
        b = r.randrange(0, a + 1)
        if r.random() < 0.6:
            return r.choice([f"What is {a} minus {b}?", f"What is {a} - {b}?", f"{a} - {b}"]), f"{a} minus {b} is {a - b}."
        return f"What is {NUMBERS[a]} minus {NUMBERS[b]}?", f"{NUMBERS[a].capitalize()} minus {NUMBERS[b]} is {NUMBERS[a - b]}."
    most = r.choice([10, 20])
    a, b = r.randrange(0, most + 1), r.randrange(0, most + 1)
    if r.random() < 0.7 or a + b > 20:
        ask = r.choice([f"What is {a} plus {b}?", f"What is {a} + {b}?", f"What is {a}+{b}?", f"How much is {a} and {b}?", f"{a} + {b}", f"How much is {a} + {b}?"])
        return ask, f"{a} plus {b} is {a + b}."
    return f"What is {NUMBERS[a]} plus {NUMBERS[b]}?", f"{NUMBERS[a].capitalize()} plus {NUMBERS[b]} is {NUMBERS[a + b]}."


def talk(r, kind):
    """A question or a remark, and an answer from `answers.py`."""
    second = lambda text: " ".join({"my": "your", "am": "are", "I": "you", "me": "you"}.get(w, w) for w in text.split(" "))
    if kind == "what":
        noun = r.choice(list(answers.WHAT))
        ask = r.choice(["What is {}?", "What is {}?", "What is {}?", "What's {}?", "Can you explain what {} is?", "Do you know what {} is?", "what is {}",
                        "Tell me about {}.", "Tell me something about {}.", "What do you know about {}?"])
        if noun.startswith("a ") and r.random() < 0.2:
            noun_ = noun[2:]
            many = {"mouse": "mice", "wolf": "wolves", "sheep": "sheep", "fish": "fish", "leaf": "leaves", "city": "cities", "library": "libraries",
                    "butterfly": "butterflies", "fox": "foxes", "family": "families", "story": "stories", "beach": "beaches", "bus": "buses"}.get(noun_, noun_ + "s")
            return r.choice(["Tell me about {}.", "What are {}?", "Tell me something about {}."]).format(many), answers.WHAT[noun]
        return ask.format(noun), answers.WHAT[noun]
    if kind == "why":
        ask, answer = r.choice(answers.WHY)
        return r.choice([f"Why {ask}?", f"Why {ask}?", f"why {ask}", f"Can you tell me why {turned(ask)}?" if turned(ask) else f"Why {ask}?"]), answer
    if kind == "trouble":
        what = r.choice(list(answers.WHEN_I))
        advice = r.choice(answers.WHEN_I[what].split("|"))
        ask = r.choice(["I {}.", "I {}. What should I do?", "What should I do if I {}?", "What can I do when I {}?"]).format(what)
        start = r.choice(["I am sorry to hear that. ", "Oh no. ", "Do not worry. ", ""] if ask.startswith("I ") else ["", f"If you {second(what)}, " + "@"])
        if start.endswith("@"):
            return ask, start[:-1] + advice[0].lower() + advice[1:]
        return ask, start + advice
    if kind == "how":
        goal = r.choice(list(answers.HOW))
        ask = r.choice(["How can I {}?", "How do I {}?", "I want to {}. What can I do?", "Can you help me {}?"]).format(goal)
        return ask, r.choice(["To {}, {}.", "If you want to {}, {}.", "You can {1}."]).format(second(goal), answers.HOW[goal])
    if kind == "hobby":
        what = r.choice(list(answers.HOBBY))
        ask = r.choice(["I like {}.", "I love {}.", "My hobby is {}.", "I enjoy {}.", "My friend likes {}."]).format(what)
        return ask, r.choice(["That sounds like fun! ", "How nice! ", "That is a great hobby. ", "I like that. "]) + answers.HOBBY[what] + r.choice(
            ["", "", " Do you do it often?", " What do you like most about it?"])
    if kind == "plan":
        what = r.choice(list(answers.PLAN))
        ask = r.choice(["Today I will {}.", "I want to {} tomorrow.", "I am going to {} today.", "I will {}.", "My family and I will {}."]).format(what)
        return ask, r.choice(["That sounds like a good plan! ", "How nice! ", "That is great! ", "Have fun! "]) + answers.PLAN[what]
    if kind == "like":
        what = r.choice(list(answers.LIKES))
        return f"Do you like {what}?", r.choice([f"Yes, I like {what}. ", f"Yes, very much! "]) + answers.LIKES[what]
    if r.random() < 0.4:
        how = r.choice(answers.GOOD)
        ask = r.choice(["I feel {} today.", "I am {}.", "I am {} today.", "I am feeling {}.", "Today I am {}."]).format(how)
        return ask, r.choice(["I am glad to hear that!", "That is wonderful!", "That makes me happy too!", "How nice!"]) + r.choice(
            ["", " What happened?", " I hope the whole day will be good.", " Do you want to tell me more?"])
    how = r.choice(list(answers.BAD))
    ask = r.choice(["I feel {} today.", "I am {}.", "I am feeling {}.", "Today I am {}.", "I am so {}."]).format(how)
    start = r.choice(["I am sorry to hear that. ", "Oh no, I am sorry. ", "I am sorry. "]) if how not in ("hungry", "thirsty", "cold", "bored") else ""
    return ask, start + r.choice(answers.WHEN_I[answers.BAD[how]].split("|")) + r.choice(["", "", " I hope you feel better soon!" if start else ""])


def turned(ask):
    """The question without its inversion, where it has none to speak of: "do birds sing" becomes "birds sing"."""
    return ask[3:] if ask.startswith("do ") else None


KINDS = dict(who=14, opposite=9, sound=4, look=5, capital=7, next=4, sum=18, count=5, what=24, why=12, trouble=9, how=7, hobby=5, plan=5, like=3, feeling=8)


def fact(r):
    """A question and its answer."""
    kind = r.choices(list(KINDS), list(KINDS.values()))[0]
    if kind == "who":
        asks, answers = r.choice(WHO)
        return r.choice(asks), r.choice(answers)
    if kind == "opposite":
        pair = r.choice(OPPOSITES)
        a, b = pair if r.random() < 0.5 or pair[1] in ("old", "light", "tall", "short") else pair[::-1]
        if a == "short":
            b = "long"
        return r.choice(["What is the opposite of {}?", "What's the opposite of {}?", "Tell me the opposite of {}."]).format(a), f"The opposite of {a} is {b}."
    if kind == "sound":
        animal, sound = r.choice(SOUNDS)
        return r.choice(["What sound does a {} make?", "What does a {} say?"]).replace("a {}", "an {}" if animal[0] == "o" else "a {}").format(animal), (
            f"{'An' if animal[0] == 'o' else 'A'} {animal} {sound}.")
    if kind == "look":
        thing, colour = r.choice(LOOKS)
        return r.choice([f"What colour is {thing}?", f"What color is {thing}?"]), f"{thing.capitalize()} is {colour}."
    if kind == "capital":
        country, city = r.choice(CAPITALS)
        ask = r.choice(["What is the capital of {}?", "What's the capital of {}?", "Which city is the capital of {}?", "Do you know the capital of {}?"])
        return ask.format(country), r.choice([f"The capital of {country} is {city}.", f"{city} is the capital of {country}."])
    if kind == "next":
        names, what = r.choice([(DAYS, "day"), (MONTHS, "month")])
        i = r.randrange(len(names))
        if r.random() < 0.5:
            return r.choice([f"What {what} comes after {names[i]}?", f"Which {what} is after {names[i]}?"]), f"After {names[i]} comes {names[(i + 1) % len(names)]}."
        return r.choice([f"What {what} comes before {names[i]}?", f"Which {what} is before {names[i]}?"]), f"Before {names[i]} comes {names[i - 1]}."
    if kind == "sum":
        return sum_of(r)
    if kind != "count":
        return talk(r, kind)
    ask, answer = r.choice(COUNTS)
    return f"How many {ask}?", answer


def conversation(seed, number):
    """Conversation number `number` of a seed, as a line of the cleaned data: one to three facts."""
    r = random.Random(f"facts/{seed}/{number}")
    pairs = [fact(r) for _ in range(r.choice([1, 1, 2, 3]))]
    if r.random() < 0.25:
        pairs.insert(0, r.choice([
            ("Hello!", "Hello! How can I help you today?"), ("Hi!", "Hi! It is nice to meet you."), ("Good morning!", "Good morning! How are you?"),
            ("Hello", "Hello! What would you like to talk about?"), ("Hi, how are you?", "I am fine, thank you! How are you?"), ("Hey!", "Hi there!"),
            ("Hello, how are you?", "I am very well, thank you. How can I help you?"), ("Good evening!", "Good evening! What can I do for you?"),
        ]))
    if r.random() < 0.2:
        pairs.append(r.choice([
            ("Thank you!", "You are welcome!"), ("Thanks!", "You are welcome!"), ("Thank you very much.", "I am happy to help!"), ("Thanks a lot!", "Any time!"),
            ("Goodbye!", "Goodbye! Have a nice day!"), ("Bye!", "Bye! See you soon."), ("Good night!", "Good night! Sleep well."),
        ]))
    return {"k": "fact", "u": [u for u, _ in pairs], "r": [a for _, a in pairs]}


def outline(seed, number):
    """Story number `number` of a seed, without anything generated."""
    r = random.Random(f"outline/{seed}/{number}")
    turn, _ = prompts.story(r)
    return {"k": "story", "u": [turn.user], "r": [prompts.plain(turn)]}
