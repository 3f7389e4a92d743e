"""Outlines of stories.

`{slot}` is filled from a list, `[a|b]` picks one, and the language model writes one sentence for each `~`: what follows a
`~` is given to it, and so on to the end. So a story holds together, which a model of 135 M parameters alone cannot do.
"""

# {n} is the hero, {m} a friend ({fk}: what kind), {o} an object, {he} {his} {him} the hero's pronouns.
OPENINGS = [
    "Once upon a time, there was a {t} {k} named {n}. {He} lived {home}. {He} ~",
    "Once upon a time, a {t} {k} named {n} lived {home}. {He} loved ~",
    "Once upon a time, there was a {t} {k} named {n}. {He} loved to {skill}. ~",
    "Once there was a {t} {k} called {n}. {He} [was|had|loved|liked] ~",
    "There was once a {t} {k} who lived {home}. {His} name was {n}. {He} [was|had|liked] ~",
    "{n} was a {t} {k}. {He} lived {home}. {n} ~",
    "{n} was a {t} {k} who loved to {skill}. {He} ~",
    "In a house {home2}, there lived a {t} {k} named {n}. {He} ~",
    "A long time ago, a {t} {k} named {n} lived {home}. {He} [was|had|loved] ~",
    "{n} the {k} lived {home}. {He} was ~",
    "One {w} [day|morning|afternoon], a {t} {k} named {n} went for a walk {p}. {He} ~",
    "Once upon a time, there were two friends, {n} the {k} and {m} the {fk}. They ~",
]
PLOTS = [
    "[One day|One morning|One afternoon], {n} could not find {his} {o}. ~ {n} looked {spot}, but it was not there. ~ Then {n} met {m} the {fk}. {m} said, \"~ [Together|Side by side], they looked everywhere. At last, they found the {o} {spot2}. ~",
    "One {w} morning, {n} found a {o} {p}. ~ \"Whose {o} is this?\" {he} asked. ~ {n} [went to see|asked] {m} the {fk}. ~ The {o} belonged to {m}'s [sister|brother|mother|friend], who had lost it. ~ {n} gave it back. ~",
    "One night, there was a big storm. ~ {n} heard a knock at the door. It was {m} the {fk}, who was wet and cold. ~ {n} gave {m} some {food} and a warm blanket. ~ In the morning, ~",
    "{n} was afraid of {fear}. ~ One day, {his} friend {m} the {fk} needed help. ~ {n} was scared, but {he} [took a deep breath|wanted to be brave]. ~ After that, {n} was not so afraid any more. ~",
    "{n} wanted to learn to {skill}. ~ At first, it was very hard. ~ \"Do not give up,\" said {m} the {fk}. \"~ {n} tried again and again. ~ At last, {he} could {skill}! ~",
    "It was {n}'s birthday, but nobody said a word. ~ {n} felt [sad|a little sad]. {He} went for a walk {p}. ~ When {n} came home, all {his} friends were there! \"Happy birthday!\" they shouted. ~ {m} the {fk} had brought a {o}. ~",
    "[Today|One day], {n} wanted to bake a cake for {m} the {fk}. ~ But there was no [sugar|flour|milk|butter] in the kitchen. ~ So {n} went to the market. ~ When the cake was ready, it [smelled|looked] wonderful. ~ {m} took a bite and said, \"~",
    "{n} had [a lot of|some] {food2}. {m} the {fk} had nothing to eat. ~ At first, {n} did not want to share. ~ But {m} looked so hungry. ~ So they [sat down and|] ate together. ~",
    "One day, {n} planted a {seed} seed {p}. ~ {He} gave it water every day. ~ But nothing happened. \"Be patient,\" said {m} the {fk}. ~ Then, one {w} morning, {n} saw a tiny green leaf! ~ The {seed} grew and grew. ~",
    "One day, {n} found a little bird {p}. Its wing was hurt. ~ {n} carried the bird home and made a soft bed for it. ~ Every day, {n} fed the bird. ~ Soon, the bird could fly again. ~ The bird never forgot {n}. ~",
    "One day, {n} went too far and got lost. ~ It was getting dark. ~ {n} sat down [under a tree|on a stone] and began to cry. ~ Then a {fk} named {m} came by. \"~ {m} showed {n} the way home. ~ {His} [mother|family] was so happy to see {him}. ~",
    "One day, {n} broke {his} [mother's|father's|grandmother's] {o}. ~ {n} was afraid and hid it {spot}. ~ That night, {n} could not sleep. ~ In the morning, {he} told the truth. ~ \"Thank you for telling me,\" said {his} [mother|father|grandmother]. \"~",
    "One day, there was a big race. {n} wanted to win. ~ {m} the {fk} was very fast. ~ When the race began, {n} ran as fast as {he} could. ~ But then {m} fell down. {n} stopped to help. ~ They did not win, but ~",
    "A new neighbour came to live next door. Her name was Mrs. Brown. ~ {n} was shy and did not know what to say. ~ Then {n} had an idea. {He} took some {food} and went to her door. ~ Mrs. Brown smiled and said, \"~",
    "{n} and {m} the {fk} wanted to build a [tree house|little boat|snow house|bridge]. ~ First, they [looked for|collected] wood. ~ It was hard work, and it fell down two times. ~ But they did not give up. ~ When it was done, ~",
    "One {w} day, {n} and {m} the {fk} had a picnic {p}. They had {food} and {food2}. ~ Suddenly, it began to rain. ~ They ran and hid {hide}. ~ When the rain stopped, there was a big rainbow in the sky. ~",
    "Every night, {n} looked at the moon. {He} wanted to touch it. ~ So {n} climbed the tallest [tree|hill] {he} could find. ~ But the moon was still far away. ~ A wise old owl saw {him} and said, \"~ {n} smiled. ~",
    "One morning, everything was white. Snow had fallen in the night! ~ {n} put on {his} [coat|hat|boots] and ran outside. ~ {m} the {fk} was already there. ~ They made a big snowman. ~ In the evening, they drank hot milk by the fire. ~",
    "In the summer, {n} went to the beach with {m} the {fk}. ~ They found a {o} in the sand. ~ A big wave came and took it away! ~ {n} was sad, but {m} had an idea. ~ At the end of the day, ~",
    "It was {n}'s first day at school. ~ {n} did not know anybody. ~ At lunch, a {fk} named {m} sat down next to {him}. \"~ After lunch, they played together. ~ When {n} came home, {he} said, \"~",
    "{n} and {m} the {fk} were best friends. But one day, they had a fight about a {o}. ~ {n} went home and felt angry. ~ Later, {n} felt sad and missed {m}. ~ {n} went to {m} and said, \"~ {m} gave {n} a hug. ~",
    "One day, {n} went to the market to buy {food}. ~ On the way, {he} met {m} the {fk}. ~ At the market, there were so many things to see. ~ {n} had only one coin left. ~ In the end, {n} bought ~",
    "One day, {n} found a magic {o}. \"You can have one wish,\" said a soft voice. ~ {n} thought about it for a long time. ~ {He} could wish for gold, or for a big house. ~ Then {he} thought of {m} the {fk}, who was ill. ~ {n} made a wish, and ~",
    "One night, {n} heard a strange noise. ~ \"What was that?\" {he} whispered. ~ {n} took a lamp and went to look. ~ The noise came from {spot3}. ~ It was only {m} the {fk}! ~ They both laughed. ~",
    "One day, {n} was sitting by the river. {He} saw a little fish in a net. ~ \"Please help me,\" said the fish. ~ {n} cut the net, and the fish swam away. ~ The next day, {n} fell into the river. ~ The little fish came back with its friends. ~",
    "On Sunday, {n} went to visit {his} grandmother. ~ Her house was {home}. ~ Grandmother had made {food}. ~ After lunch, she told {n} a story. ~ When it was time to go home, ~",
    "One day, {n} found an old map {spot}. ~ \"It is a treasure map!\" said {m} the {fk}. ~ They walked over the hill and through the woods. ~ Under a big tree, they found a box. ~ Inside the box, there was ~ They were very happy. ~",
    "It was a windy day, and {n} was flying a {c} kite. ~ Suddenly, the kite got stuck in a tall tree. ~ {n} was too small to reach it. ~ {m} the {fk} saw it and said, \"~ Soon, the kite was flying again. ~",
    "It was late, but {n} could not sleep. ~ {He} counted sheep, and {he} drank some milk. ~ Then {m} the {fk} came and sang a quiet song. ~ {n} closed {his} eyes. ~ All night long, {n} dreamed of ~",
    "{n} had many {o}s, but {he} always wanted more. ~ One day, {m} the {fk} asked for just one. \"No!\" said {n}. ~ After that, nobody wanted to play with {n}. ~ {n} felt alone. ~ The next day, {he} gave one to {m}. ~",
    "One day, {n} heard beautiful music {p}. ~ {He} followed the sound. ~ It was {m} the {fk}, who was playing a little flute. ~ \"Can you teach me?\" asked {n}. ~ From then on, they played together every day. ~",
    "{n} had never been on a [train|boat|bus]. ~ One {w} morning, {he} and {m} the {fk} went on a trip. ~ From the window, they saw ~ {n} was so excited. ~ When they came to the sea, ~",
    "{n} loved to paint. One day, {he} had only {c} paint left. ~ {He} painted a {c} sun, a {c} tree and a {c} {fk}. ~ {m} the {fk2} looked at the picture and laughed. ~ But then {n} had an idea. ~ In the end, everybody loved the picture. ~",
    "Every morning, some carrots were missing from {n}'s garden. ~ \"Who took my carrots?\" {he} asked. ~ That night, {n} stayed awake and watched. ~ A small, hungry {fk} came out of the dark. Its name was {m}. ~ {n} was not angry any more. ~ From that day on, they shared the garden. ~",
    "One day, a big {fk} named {m} came to the village. Everybody was afraid of {m}. ~ But {n} was not afraid. {He} walked up and said, \"~ {m} began to cry. \"I only want a friend,\" said {m}. ~ {n} took {m} by the hand. ~",
    "It was very hot, and there was no water in the village. ~ {n} wanted to help. {He} took a bucket and walked for a long time. ~ On the way, {he} met {m} the {fk}, who was very thirsty. ~ {n} gave {m} the last drops of water. ~ Then, {m} showed {him} a secret spring. ~",
    "{n} found a small {c} egg {p}. ~ {He} kept it warm, day and night. ~ One morning, the egg began to move. ~ Out came a tiny baby {fk}! ~ {n} named it {m}. ~ They became ~",
    "{n} did not like to [clean up|wash|get up early|help at home]. ~ \"I will do it tomorrow,\" {he} always said. ~ One day, {n} wanted to find {his} {o}, but {his} room was such a mess. ~ So {n} began to work, and {m} the {fk} helped. ~ When they were done, ~",
]
ENDINGS = [
    "From that day on, {n} ~", "{n} was very happy. ~", "In the end, ~", "And so, {n} ~", "{n} learned that ~", "That night, {n} ~",
    "{n} smiled. ~", "They all lived happily ever after.", "And they were friends forever.", "{n} never forgot that day.", "The end.", "", "",
]
