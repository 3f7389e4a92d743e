"""Word lists that prompts are made of."""


def split(text):
    """The items between commas."""
    return [" ".join(item.split()) for item in text.split(",") if item.strip()]


GIRLS = split("""Lily, Mia, Anna, Sara, Lucy, Emma, Ella, Rosie, Nora, Ruby, Daisy, Zoe, Molly, Grace, Ivy, Kate, Amy, Clara, Ada,
    Bella, Jane, Mary, Penny, Sophie, Tina, Hana, Lena, Maya, Nina, Olive, Poppy, Hazel, Alice, Betty, Cora, Dora, Elsie, Fay""")
BOYS = split("""Tim, Tom, Ben, Sam, Max, Leo, Jack, Finn, Oscar, Noah, Adam, Charlie, Danny, Eddie, Felix, George, Harry, Ivan, Jim,
    Luke, Milo, Nick, Otto, Paul, Simon, Theo, Alex, Bobby, Carl, David, Eric, Frank, Gus, Hugo, Jonah, Peter""")
ANIMALS = split("""fox, rabbit, bear, mouse, cat, dog, owl, duck, frog, squirrel, hedgehog, deer, pig, sheep, goat, horse, cow, hen,
    turtle, lion, elephant, monkey, tiger, penguin, kitten, puppy, bird, goose, badger, beaver, otter, mole, wolf, donkey, panda,
    koala, parrot, snail, bee, ant, butterfly, dragon, swan, camel, giraffe, dinosaur, unicorn, zebra, kangaroo, raccoon, chicken,
    ladybug, lamb, pony, bat, crocodile, hippo, cricket, spider, snake""")
SEA_ANIMALS = split("fish, whale, dolphin, crab, seal, octopus, shark, sea turtle, seahorse, starfish")
BIRDS = split("bird, duck, owl, swan, parrot, dragon, goose, robin")
GIRL_ROLES = split("""girl, girl, girl, girl, princess, queen, farmer, baker, teacher, fairy, painter, dancer, sailor,
    doctor, gardener, witch, cook, woman, pirate, singer""")
BOY_ROLES = split("""boy, boy, boy, boy, prince, king, farmer, baker, teacher, fisherman, painter, singer, sailor,
    doctor, gardener, wizard, knight, cook, man, pirate""")
THINGS = split("robot, teddy bear, snowman, doll, giant, elf, clown")
TRAITS = split("""little, kind, brave, shy, happy, clever, curious, lazy, funny, gentle, small, young, quiet, cheerful, hungry, friendly,
    sleepy, silly, lonely, careful, proud, old, playful, good, sweet, busy, tiny, wise""")
HOMES = split("""in a small house, near the forest, in a big forest, on a farm, by the sea, in a little village, next to a river, on a
    green hill, in a tall tree, in a sunny garden, near a lake, in a busy town, under a big oak tree, in a cosy cottage, on a small
    island, at the edge of a wood, in a quiet valley, behind an old mill, on a mountain, in a warm barn""")
PLACES = split("""in the forest, by the river, in the garden, at the park, on the beach, near the pond, in the field, on the hill, behind
    the house, in the barn, by the lake, under a tree, at the market, in the meadow, near the bridge, by the road""")
SPOTS = split("""under the bed, behind the sofa, in the tall grass, under a leaf, near the old well, inside a basket, behind a rock, in a
    hollow log, on top of the shelf, under the stairs, in the shed, beside the gate, in the kitchen, under a bush, by the window""")
OBJECTS = split("""red ball, blue hat, golden key, little bell, teddy bear, kite, book, wooden boat, shiny stone, red scarf, toy train,
    drum, silver ring, umbrella, paint brush, warm coat, basket, green bottle, yellow balloon, pocket watch, flute, doll, map, lamp,
    button, blanket, box, cup, shell, feather, coin, pencil, mirror, bucket, lantern, bag, key, ball, boat, hat, toy car, shoe, ring,
    bell, rope, clock, crown, magic wand, letter, spoon, bicycle, flower pot, star, candle, necklace, stone""")
FOODS = split("""soup, apple pie, bread, cake, pancakes, cookies, berries, porridge, honey, cheese, carrots, apples, pears, nuts, jam,
    tea, hot milk, strawberries, corn, sandwiches, plums, rice, bananas, cherries""")
FRUITS = split("berries, cookies, nuts, apples, pears, plums, cherries, strawberries, pancakes, bananas, carrots, sweets")
WEATHER = split("sunny, rainy, cold, windy, warm, snowy, bright, foggy, quiet, cloudy")
SKILLS = split("""swim, ride a bike, bake bread, paint, fly a kite, sing, whistle, dance, climb, skate, read, write, play the drum, cook,
    jump rope, juggle, draw, plant flowers, tell stories, build a boat, play the piano, fish, knit, run fast, tie a knot""")
FEARS = split("the dark, deep water, thunder, loud noises, spiders, high places, the big dog next door, being alone, the old bridge, ghosts")
COLOURS = split("red, blue, green, yellow, pink, purple, orange, white, brown, golden")
SEEDS = split("sunflower, pumpkin, apple tree, rose, bean, tomato, carrot, strawberry, tulip, pear tree")

# Nouns to ask about, with what they are called at the beginning of an answer.
NOUNS = split("""a dog, a cat, a cow, a horse, a bee, a spider, a whale, a bird, an owl, a fish, a frog, a butterfly, an elephant, a
    lion, a mouse, a rabbit, a sheep, a snake, a turtle, a penguin, a wolf, a bear, a dolphin, a duck, a kangaroo, a squirrel, the
    sun, the moon, a star, a planet, the sky, a cloud, rain, snow, wind, ice, fire, water, thunder, a rainbow, fog, a storm, the
    sea, a river, a lake, an island, a mountain, a hill, a forest, a desert, a beach, a volcano, a cave, a field, a valley, a tree,
    a flower, grass, a leaf, a seed, a fruit, an apple, a banana, an orange, a strawberry, a carrot, a potato, a tomato, bread,
    cheese, milk, an egg, honey, soup, rice, sugar, salt, chocolate, cake, tea, coffee, juice, a house, a door, a window, a roof, a
    kitchen, a bed, a chair, a table, a lamp, a clock, a key, a mirror, a book, a pencil, a letter, a newspaper, a library, a
    school, a hospital, a museum, a market, a bakery, a farm, a park, a playground, a garden, a zoo, a bridge, a road, a city, a
    village, a country, a map, a flag, a car, a bus, a train, a plane, a boat, a ship, a bicycle, a rocket, a truck, an engine, a
    wheel, a computer, a phone, a camera, a radio, a robot, a machine, a tool, a hammer, a knife, a spoon, a cup, a bottle, a box, a
    bag, a shoe, a hat, a coat, a shirt, a sock, a scarf, an umbrella, a ball, a toy, a doll, a puzzle, a game, a kite, a song,
    music, a drum, a guitar, a piano, a painting, a story, a poem, a joke, a friend, a family, a baby, a neighbour, a teacher, a
    doctor, a farmer, a king, a pirate, a birthday, a holiday, a party, a gift, a dream, a secret, love, happiness, fear, anger,
    sleep, time, a day, a week, a month, a year, spring, summer, autumn, winter, the morning, the night, money, gold, silver, glass,
    paper, wood, stone, metal, sand, air, light, a shadow, sound, colour, heat, energy, a magnet, electricity, the heart, the brain,
    the eye, the ear, the nose, skin, a bone, a tooth, the hand, blood, health, exercise, sport, football, swimming, dancing,
    cooking, reading, writing, drawing, singing, gardening, travel, camping, fishing""")
JOBS = split("""farmer, baker, teacher, doctor, nurse, pilot, sailor, painter, singer, dancer, writer, cook, gardener, builder, firefighter,
    police officer, dentist, vet, librarian, shopkeeper, mail carrier, bus driver, scientist, astronaut, carpenter, fisherman, tailor,
    musician, actor, photographer, waiter, judge, engineer, plumber, zookeeper, coach, clown, king, detective, shepherd""")
USES = split("""a knife, a spoon, a hammer, a pencil, a book, a phone, a computer, a rope, a bucket, a broom, a map, a lamp, a key, a clock,
    a basket, an umbrella, a ladder, a mirror, a blanket, a bicycle, a camera, a box, a boat, a needle, scissors, soap, a towel, a
    candle, paper, glue, a ruler, a bag, a cup, a pan, an oven, a fridge, a tent, a torch, a whistle, a ball""")
# Why questions: the question, and the beginning of the answer.
WHYS = [tuple(line.strip().split(" = ")) for line in """
Why do birds sing? = Birds sing because
Why is the sky blue? = The sky is blue because
Why do we sleep? = We sleep because
Why do leaves fall in autumn? = Leaves fall in autumn because
Why does it rain? = It rains because
Why do we eat breakfast? = We eat breakfast because
Why do cats purr? = Cats purr because
Why do dogs bark? = Dogs bark because
Why do bees make honey? = Bees make honey because
Why is the sea salty? = The sea is salty because
Why do we brush our teeth? = We brush our teeth because
Why do we wash our hands? = We wash our hands because
Why do plants need water? = Plants need water because
Why do plants need sunlight? = Plants need sunlight because
Why do people laugh? = People laugh because
Why do people cry? = People cry because
Why do we go to school? = We go to school because
Why is ice cold? = Ice is cold because
Why does ice melt? = Ice melts because
Why do fish live in water? = Fish live in water because
Why do birds fly south in winter? = Birds fly south in winter because
Why do we have friends? = We have friends because
Why is it good to share? = It is good to share because
Why should we be kind? = We should be kind because
Why should we tell the truth? = We should tell the truth because
Why do we dream? = We dream because
Why is fire hot? = Fire is hot because
Why do trees have roots? = Trees have roots because
Why do flowers smell nice? = Flowers smell nice because
Why do we need air? = We need air because
Why does the moon shine? = The moon shines because
Why do we wear shoes? = We wear shoes because
Why do we wear coats in winter? = We wear coats in winter because
Why do bears sleep in winter? = Bears sleep in winter because
Why do rabbits have long ears? = Rabbits have long ears because
Why do giraffes have long necks? = Giraffes have long necks because
Why do ducks swim? = Ducks swim because
Why do spiders make webs? = Spiders make webs because
Why do owls stay awake at night? = Owls stay awake at night because
Why do people listen to music? = People listen to music because
Why do people read books? = People read books because
Why do people travel? = People travel because
Why do people dance? = People dance because
Why do people keep pets? = People keep pets because
Why is exercise good for us? = Exercise is good for us because
Why are vegetables good for us? = Vegetables are good for us because
Why is water important? = Water is important because
Why are bees important? = Bees are important because
Why are trees important? = Trees are important because
Why are friends important? = Friends are important because
Why is sleep important? = Sleep is important because
Why is family important? = Family is important because
Why is it dark at night? = It is dark at night because
Why do we get hungry? = We get hungry because
Why do we get tired? = We get tired because
Why do boats float? = Boats float because
Why do balloons fly? = Balloons fly because
Why do we celebrate birthdays? = We celebrate birthdays because
Why do we say thank you? = We say thank you because
Why do we say sorry? = We say sorry because
Why do people work? = People work because
Why do farmers get up early? = Farmers get up early because
Why do wolves howl? = Wolves howl because
Why do horses run fast? = Horses run fast because
Why do kittens play? = Kittens play because
Why does bread rise? = Bread rises because
Why is snow white? = Snow is white because
Why is the sun important? = The sun is important because
Why do we recycle? = We recycle because
Why do cars need fuel? = Cars need fuel because
""".strip().splitlines()]
GOALS = split("""sleep better, make new friends, learn to read faster, stay healthy, save money, be more patient, calm down, cook rice, bake
    a cake, make tea, grow tomatoes, take care of a cat, take care of a dog, clean my room, wake up early, learn a new language,
    write a story, draw a cat, remember things better, feel less nervous, help my parents, be a good friend, say sorry, cheer up my
    friend, make a sandwich, plant a tree, keep warm in winter, stay cool in summer, find my lost keys, do my homework, learn to
    swim, ride a bike, sing better, paint a picture, plan a party, choose a gift, wrap a present, write a letter, make soup, eat
    more fruit, drink more water, spend less time on my phone, have fun on a rainy day, prepare for a trip, pack a bag, fly a kite,
    build a snowman, train my puppy, feed the birds, keep my plants alive, get better at football, learn to dance, make my mother
    happy, thank my teacher, share my toys, stop a hiccup, keep my desk tidy, make a paper boat, tell a good story, be brave""")
TROUBLES = split("""feel sad, feel lonely, feel tired, feel angry, feel nervous, feel bored, am cold, am hungry, am thirsty, am lost, lost my
    keys, broke a cup, forgot my homework, missed the bus, have a headache, cannot sleep, had a bad dream, had a fight with my friend,
    got wet in the rain, spilled my milk, am late for school, am afraid of the dark, lost my favourite toy, have a cold, made a
    mistake, do not understand my homework, want to learn something new, see a lost dog, find some money on the street, hurt my knee,
    am new at school, have too much work, feel shy, have nothing to do""")
HOBBIES = split("""playing football, reading books, drawing, painting, singing, dancing, cooking, baking, swimming, running, riding my bike,
    playing the piano, playing chess, walking in the forest, gardening, watching birds, looking at the stars, fishing, camping,
    telling stories, playing with my dog, playing with my cat, building things, listening to music, taking photos, writing letters,
    flying kites, collecting shells, climbing trees, visiting my grandmother""")
PLANS = split("""go to the park, visit my grandmother, bake a cake, play football, read a book, go to the beach, clean my room, plant some
    flowers, go to the market, watch a film, write a letter, have a picnic, go swimming, go to school, meet my friends, cook dinner,
    paint a picture, ride my bike, go to the zoo, stay at home, take a train, climb a hill, feed the ducks, learn a new song, go to
    the library, build a tree house, go to a party, walk my dog, go camping, make soup""")
SUBJECTS = split("""animals, the sea, space, food, music, books, friends, the weather, school, games, sports, family, holidays, birds,
    trees, flowers, cats, dogs, dreams, summer, winter, trains, farms, cities, mountains, rivers, stories, colours, fruit, birthdays""")
