//! Text to tokenise: some to train a small vocabulary on, and some that is awkward to cut.

/// Prose and code in several scripts.
pub(crate) const TRAINING: &str = r#"The loom was older than the house, and nobody in the house could say who had built it.
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
"#;

/// Whole texts that show one difficulty each.
pub(crate) const AWKWARD: &[&str] = &[
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
    "no\u{A0}break\u{A0}\u{A0}space \u{3000}\u{3000}wide\u{2003} em\u{200B}zero\u{85}next\u{2028}line",
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
    "e\u{301}a\u{300}o\u{302}\u{323} \u{301}\u{301} n\u{303}",
    "👩‍👩‍👧‍👦👍🏽🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿❤️‍🔥 😀x😀 1️⃣",
    "\0\u{1}\u{7}\u{8}\u{B}\u{C}\u{E}\u{1B}[0m\u{1C}\u{1F}\u{7F}\u{80}\u{9F}\u{AD}",
    "\u{FEFF}bom \u{FFFD} \u{FFFE} \u{E000} \u{10FFFF} \u{1D400}\u{1D7D8}",
    "ÀÁõö÷øùúûüýþÿ ß ẞ ŉ ǅ ʰ ª º K Å Ω ﬁ ﬀ",
    "Ġ Ċ ĉ Ã© <0x0A> <0x-1>",
    "\u{10400}\u{10428} Ꭰꭰ Ა ᲀ Ჿ ა Ⴀ ⴀ \u{A7D0} \u{1E900}",
    "\\n \\t \\\\ \"q\" 'q' `q` #!/bin/sh && || ;; // /* */ :: -> => != <= >= ++ -- += ** __init__",
];

/// Pieces to make random text of.
pub(crate) const FRAGMENTS: &[&str] = &[
    " ",
    "  ",
    "   ",
    "    ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u{A0}",
    "\u{3000}",
    "\u{2028}",
    "\u{85}",
    "\u{200B}",
    "\u{200D}",
    "a",
    "b",
    "the",
    " the",
    "Th",
    "THE",
    "é",
    "É",
    "ß",
    "ſ",
    "s",
    "S",
    "'",
    "'s",
    "'S",
    "'ll",
    "'Re",
    "’",
    "0",
    "1",
    "12",
    "123",
    "1234",
    "٣",
    "²",
    "Ⅻ",
    ".",
    ",",
    "!",
    "?",
    "...",
    "-",
    "_",
    "+",
    "=",
    "$",
    "^",
    "|",
    "<",
    ">",
    "~",
    "`",
    "/",
    "\\",
    "\"",
    "(",
    ")",
    "{",
    "}",
    "#",
    "@",
    "&",
    "。",
    "，",
    "！",
    "“",
    "”",
    "…",
    "　",
    "中",
    "文字",
    "龥",
    "㐀",
    "々",
    "ひ",
    "カ",
    "ー",
    "한",
    "글",
    "ㄱ",
    "ا",
    "ل",
    "ّ",
    "ש",
    "ה",
    "ִ",
    "क",
    "्",
    "ष",
    "ไ",
    "ท",
    "่",
    "я",
    "Я",
    "ω",
    "Ω",
    "ǅ",
    "ʰ",
    "ª",
    "K",
    "\u{301}",
    "😀",
    "👍",
    "🏽",
    "👩",
    "❤",
    "\u{FE0F}",
    "🇩",
    "🇪",
    "\0",
    "\u{7F}",
    "\u{AD}",
    "\u{FFFD}",
    "\u{10FFFF}",
    "𐐀",
    "<|im_start|>",
    "<|im_end|>",
    "<|im",
    "<s>",
    "[gMASK]",
    "<think>",
    "é!",
];
