"""Text to tokenise: some to train a small vocabulary on, and some that is awkward to cut."""

# Prose and code in several scripts.
TRAINING = r'''The loom was older than the house, and nobody in the house could say who had built it.
They'd say it's been there since 1874; we've heard 1875 too. I'll believe whichever you'd like, but don't ask me again.
"What's the difference," she said, "between a thread and a rope? It isn't 3, or 30, or 300: it's 3.14159 times as many."
THE WEAVER'S GUIDE, CHAPTER 12: HOW TO TIE 100 KNOTS. Don't hurry. DON'T HURRY. We'RE not IN a RACE.
Visit https://example.org/weaving?page=2&lang=en#knots or write to weaver@example.org, Mon-Fri 09:00-17:30 (UTC+01:00).
def weave(threads: list[str], width: int = 80) -> str:
    """Return the cloth, line by line."""
    lines = []
    for i, thread in enumerate(threads):
        if i % 2 == 0 and thread != "":
            lines.append(thread * (width // len(thread)))	# over
        else:
            lines.append(" " * width)						# under
    return "\n".join(lines)
fn main() { let mut x = vec![1, 2, 3]; x.iter_mut().for_each(|v| *v += 1); println!("{:?} {}", x, x.len() == 3 && true); }
<div class="cloth"><p>Hello, <b>world</b>!</p><!-- a comment --></div> {"key": [1, 2.5e-3, null, true], "other": "va\"lue"}
SELECT name, COUNT(*) FROM threads WHERE colour <> 'red' GROUP BY name HAVING COUNT(*) >= 10; -- the end
Der alte Webstuhl steht immer noch da, größer als man denkt; „schön“, sagte sie, „aber laß ihn stehen“. Straße, Äpfel, Öl.
Le métier à tisser est là depuis toujours, n'est-ce pas ? L'été, c'était différent : où étaient les élèves, déjà ?
El telar está aquí desde hace años. ¿Quién lo construyó? ¡Nadie lo sabe! Mañana será otro día, señor Núñez.
Старый ткацкий станок стоит здесь уже давно. Кто его построил? Никто не знает, но в 1874 году он уже был.
Ο παλιός αργαλειός είναι εδώ πολλά χρόνια. Ποιος τον έφτιαξε; Κανείς δεν ξέρει.
النول القديم هنا منذ سنوات طويلة. من صنعه؟ لا أحد يعرف، ولكن في عام ١٨٧٤ كان هنا.
הנול הישן עומד כאן כבר שנים רבות. מי בנה אותו? איש אינו יודע.
पुराना करघा यहाँ कई वर्षों से है। इसे किसने बनाया? कोई नहीं जानता।
古い織機は長い間ここにあります。誰が作ったのですか？誰も知りません。カタカナとひらがな、そして漢字。
这台古老的织布机在这里已经很多年了。是谁造的？没有人知道，但是在1874年它就在这里。你好，世界！
오래된 베틀은 여기에 오랫동안 있었습니다. 누가 만들었습니까? 아무도 모릅니다.
เครื่องทอผ้าเก่าอยู่ที่นี่มานานแล้ว ใครสร้างมัน ไม่มีใครรู้
Smileys 😀😃 and families 👩‍👩‍👧‍👦 and flags 🇩🇪🇫🇷 and thumbs 👍🏽👍🏿 and hearts ❤️ in one line.
'''

# Whole texts that show one difficulty each.
AWKWARD = [
    "",
    " ",
    "\n",
    "   ",
    "a",
    "  a",
    "a  ",
    " \n",
    "\n ",
    "\n\n\n   x\n  \n\ny   \n",
    "\r\n\r\nline\r\nline \r\n\r\n",
    "\ttab\t\ttabs\t \t mixed",
    "no\u00a0break\u00a0\u00a0space \u3000\u3000wide\u2003 em\u200bzero\u0085next\u2028line",
    "I'm you're he's we've they'll I'd isn't",
    "I'M YOU'RE HE'S WE'VE THEY'LL I'D ISN'T",
    "I'm You'Re hE'S 'ſ 's's''s ' s 'x 'll'LL'lL",
    "1 12 123 1234 12345 123456 1234567 12345678901234567890",
    "1,234,567.89 3.14 1e-10 0xFF ½ ² Ⅻ ٣٤٥ १२३ 一二三 ①②③",
    "a1b22c333d4444 x1 1x",
    "!!! ??? ... --- === <=> ^~` $+| «» “” ‘’ – — …",
    " !x !!x\n!\n\n x! y!!\r\n\r\n",
    "<|im_start|>user\nhi<|im_end|><|im<|im_<s><s >[gMASK]<｜end▁of▁sentence｜><think>x</think>é!é!!",
    "<|im_start|im_end|><|im_end|",
    "camelCase PascalCase HTMLParser snake_case SCREAMING_CASE iPhone eBay McDonald",
    "中文English混合 中文 12中3文。，、！",
    "ひらがなカタカナ漢字ｶﾀｶﾅー々〆",
    "한국어 조선말 ㄱㄴㄷ",
    "ة العربيّة نصٌّ ١٢٣ — עִבְרִית",
    "हिन्दी देवनागरी क्षत्रिय",
    "ภาษาไทยไม่มีช่องว่าง",
    "e\u0301a\u0300o\u0302\u0323 \u0301\u0301 n\u0303",
    "👩‍👩‍👧‍👦👍🏽🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿❤️‍🔥 😀x😀 1️⃣",
    "\0\u0001\u0007\u0008\u000b\u000c\u000e\u001b[0m\u001c\u001f\u007f\u0080\u009f\u00ad",
    "\ufeffbom \ufffd \ufffe \ue000 \U0010ffff \U0001d400\U0001d7d8",
    "ÀÁõö÷øùúûüýþÿ ß ẞ ŉ ǅ ʰ ª º K Å Ω ﬁ ﬀ",
    "Ġ Ċ ĉ Ã© <0x0A> <0x-1>",
    "\U00010400\U00010428 Ꭰꭰ Ა ᲀ Ჿ ა Ⴀ ⴀ \ua7d0 \U0001e900",
    "\\n \\t \\\\ \"q\" 'q' `q` #!/bin/sh && || ;; // /* */ :: -> => != <= >= ++ -- += ** __init__",
]

# Pieces to make random text of.
FRAGMENTS = [
    " ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\r", "\t", "\u00a0", "\u3000", "\u2028", "\u0085",
    "\u200b", "\u200d", "a", "b", "the", " the", "Th", "THE", "é", "É", "ß", "ſ", "s", "S", "'", "'s", "'S",
    "'ll", "'Re", "’", "0", "1", "12", "123", "1234", "٣", "²", "Ⅻ", ".", ",", "!", "?", "...", "-", "_", "+",
    "=", "$", "^", "|", "<", ">", "~", "`", "/", "\\", "\"", "(", ")", "{", "}", "#", "@", "&", "。", "，", "！",
    "“", "”", "…", "　", "中", "文字", "龥", "㐀", "々", "ひ", "カ", "ー", "한", "글", "ㄱ", "ا", "ل", "ّ", "ש", "ה", "ִ",
    "क", "्", "ष", "ไ", "ท", "่", "я", "Я", "ω", "Ω", "ǅ", "ʰ", "ª", "K", "\u0301", "😀", "👍", "🏽", "👩", "❤",
    "\ufe0f", "🇩", "🇪", "\0", "\u007f", "\u00ad", "\ufffd", "\U0010ffff", "𐐀", "<|im_start|>", "<|im_end|>",
    "<|im", "<s>", "[gMASK]", "<think>", "é!",
]
