//! Tests of setting text for a terminal.

use super::*;

/// Sets `text` in pieces of `step` characters.
fn set_in(text: &str, step: usize, columns: Option<usize>, styled: bool) -> String {
    let mut typesetter = Typesetter::new(styled, Style::Plain);
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    for piece in chars.chunks(step) {
        out += &typesetter.push(&piece.iter().collect::<String>(), columns);
    }
    out + &typesetter.finish(columns)
}

/// The visible text, without styles, whose place may depend on the pieces.
fn seen(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out += &rest[..at];
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    out + rest
}

/// Styles by name, with the resets between pieces left out.
fn styles(text: &str) -> String {
    let out = set_in(text, 1000, None, true);
    let named = [("\x1b[0m", "}"), ("\x1b[1m", "b{"), ("\x1b[2m", "d{"), ("\x1b[36m", "c{")];
    let named = named.iter().chain(&[("\x1b[35m", "k{"), ("\x1b[32m", "l{")]);
    let named = named.chain(&[("\x1b[3m", "i{"), ("\x1b[9m", "s{"), ("\x1b[4m", "u{")]);
    named.fold(out, |out, (from, to)| out.replace(from, to))
}

#[test]
fn a_word_longer_than_a_line_appears_as_it_comes() {
    let mut typesetter = Typesetter::new(true, Style::Plain);
    let mut shown = typesetter.push("so ", Some(17));
    for pushed in 1..=100 {
        shown += &typesetter.push("a", Some(17));
        // It may still be a word that fits.
        let expected = if pushed > 16 { pushed } else { 0 };
        assert_eq!(seen(&shown).matches('a').count(), expected);
    }
    shown += &typesetter.push(" b", Some(17));
    shown += &typesetter.finish(Some(17));
    let lines = format!("{}\n", "a".repeat(16)).repeat(6);
    assert_eq!(seen(&shown), format!("so\n{lines}aaaa b\n"));
}

#[test]
fn lines_break_between_words() {
    for (text, columns, expected) in [
        ("The quick brown fox jumps", 17, "The quick brown\nfox jumps\n"),
        // The last column stays free.
        ("exactly sixteen.", 17, "exactly sixteen.\n"),
        ("exactly sixteen..", 17, "exactly\nsixteen..\n"),
        ("one\n\n  two", 20, "one\n\n  two\n"),
        ("- a list item that is long", 16, "• a list item\n  that is long\n"),
        ("- [ ] a task that is long", 16, "☐ a task that\n  is long\n"),
        ("> a quote that is long\n> > two", 16, "│ a quote that\n│ is long\n│ │ two\n"),
        ("> - an item that is long", 16, "│ • an item\n│   that is\n│   long\n"),
        ("see [a page](http://x.org/) now", 40, "see a page (http://x.org/) now\n"),
        ("12. a list item that is long", 16, "12. a list item\n    that is\n    long\n"),
        ("a abcdefghijklmnopqrstuvwxyz", 16, "a\nabcdefghijklmno\npqrstuvwxyz\n"),
        ("a well-considered word", 16, "a well-\nconsidered word\n"),
        // Wide characters need no spaces to break at, and take two columns.
        ("日本語日本語日本語", 16, "日本語日本語日\n本語\n"),
        ("| a | table with many cells |", 16, "| a | table with many cells |\n"),
        ("| a | b |\n|--:|---|\n| 10 | x |\n\nend", 16, " a │ b\n───┼──\n10 │ x\n\nend\n"),
        ("|a|b|\n|-|-|\n|c `x|y`|", 16, "a     │ b\n──────┼──\nc x|y │\n"),
        ("|a|b|\n|-|-|\n|too wide|for this|\nend", 16, "|a|b|\n|-|-|\n|too wide|for this|\nend\n"),
        ("```\ncode that is longer than the line\n```", 16, "```\ncode that is longer than the line\n```\n"),
        ("too narrow for anything", 8, "too narrow for anything\n"),
        ("done\n", 16, "done\n"),
        ("", 16, ""),
    ] {
        for step in [1, 2, 3, 7, 1000] {
            let out = set_in(text, step, Some(columns), true);
            assert_eq!(seen(&out), expected, "{text} in steps of {step}");
            assert!(!out.contains('\x1b') || out.ends_with("\x1b[0m\n") || out.ends_with('\n'));
        }
    }
}

#[test]
fn without_styles_nothing_is_left_out() {
    let text = "# A\n**bold** and `code`, 2 * 3 ** 4\n```rust\nfn f() {}\n```\n";
    for step in [1, 2, 5, 1000] {
        assert_eq!(set_in(text, step, None, false), text);
    }
}

#[test]
fn markdown_is_styled() {
    for (text, expected) in [
        ("a **b c** d", "a b{b} b{c} d\n"),
        ("use `a b` now", "use c{a} c{b} now\n"),
        ("``a ` b``", "c{a} c{`} c{b}\n"),
        ("## Title", "b{Title}\n"),
        ("a *b c* d", "a i{b} i{c} d\n"),
        ("_a_ snake_case_name, *open", "i{a} snake_case_name, *open\n"),
        ("***a*** b", "b{a} b\n"),
        ("~~a~~ ~5", "s{a} ~5\n"),
        ("[a](b)!", "u{a} d{(b)}!\n"),
        ("[http://a](http://a) [1] [a] (b)", "u{http://a} [1] [a] (b)\n"),
        ("\\*a* \\(x\\)", "\\*a* \\(x\\)\n"),
        ("> a *b*", "d{│} a i{b}\n"),
        ("|a|\n|-|\n|`c`|", "b{a}\n─\nc{c}\n"),
        ("#hashtag", "#hashtag\n"),
        ("2**3 and 2 ** 3 * 4", "2**3 and 2 ** 3 * 4\n"),
        ("**open\nnext", "b{open}\nnext\n"),
        ("* item **b**", "• item b{b}\n"),
    ] {
        assert_eq!(styles(text), expected, "{text}");
    }
}

#[test]
fn code_is_styled() {
    for (text, expected) in [
        ("```rust\nlet x = \"a // b\"; // c\n```", "d{```rust}\nk{let} x = l{\"a // b\"}; d{// c}\nd{```}\n"),
        ("```rust\nfn f<'a>() {}\n```", "d{```rust}\nk{fn} f<'a>() {}\nd{```}\n"),
        ("```py\nx = 'it\\'s' # c\nif x: pass", "d{```py}\nx = l{'it\\'s'} d{# c}\nk{if} x: k{pass}\n"),
        ("```\nif # not styled\n```\nif", "d{```}\nif # not styled\nd{```}\nif\n"),
    ] {
        assert_eq!(styles(text), expected, "{text}");
        for step in [1, 2, 3] {
            assert_eq!(seen(&set_in(text, step, None, true)), format!("{}\n", text), "{text}");
        }
    }
}

#[test]
fn each_piece_ends_without_a_style() {
    let mut typesetter = Typesetter::new(true, Style::Plain);
    assert!(typesetter.push("**bold words", Some(80)).ends_with(RESET));
    let mut aside = Typesetter::new(true, Style::Dim);
    assert_eq!(aside.push("**a** b", Some(80)), "\x1b[2m**a**\x1b[0m");
}
