"""Conversations that are not generated: who the model is, and a few facts that must be right."""

import random

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
    high/low, strong/weak, easy/difficult, first/last, inside/outside, right/wrong, love/hate, summer/winter, begin/end, push/pull, thick/thin""")]
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


def fact(r):
    """A question and its answer."""
    kind = r.choices(["who", "opposite", "sound", "look", "capital", "next", "sum", "count"], [30, 10, 8, 8, 14, 10, 12, 8])[0]
    if kind == "who":
        asks, answers = r.choice(WHO)
        return r.choice(asks), r.choice(answers)
    if kind == "opposite":
        a, b = r.choice(OPPOSITES)
        return r.choice(["What is the opposite of {}?", "What's the opposite of {}?"]).format(a), f"The opposite of {a} is {b}."
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
        a, b = r.randrange(1, 11), r.randrange(1, 11)
        if r.random() < 0.5:
            return r.choice([f"What is {a} plus {b}?", f"What is {a} + {b}?", f"How much is {a} and {b}?"]), f"{a} plus {b} is {a + b}."
        return f"What is {NUMBERS[a]} plus {NUMBERS[b]}?", f"{NUMBERS[a].capitalize()} plus {NUMBERS[b]} is {NUMBERS[a + b]}."
    ask, answer = r.choice(COUNTS)
    return f"How many {ask}?", answer


def conversation(seed, number):
    """Conversation number `number` of a seed, as a line of the cleaned data: one to three facts."""
    r = random.Random(f"facts/{seed}/{number}")
    pairs = [fact(r) for _ in range(r.choice([1, 1, 2, 3]))]
    if r.random() < 0.3:
        hello = r.choice([("Hello!", "Hello! How can I help you today?"), ("Hi!", "Hi! It is nice to meet you."), ("Good morning!", "Good morning! How are you?")])
        pairs.insert(0, hello)
    return {"k": "fact", "u": [u for u, _ in pairs], "r": [a for _, a in pairs], "n": []}
