//! The limits of grammars in Lark that come from a request: their patterns have those of a schema's.

use crate::error::{GrammarError, Place};
use crate::limits;
use crate::schema::check as check_pattern;

/// Checks the patterns of a grammar.
///
/// # Errors
/// Says which is wrong, and in which line.
pub(super) fn check(text: &str) -> Result<(), GrammarError> {
    let refuse = |at: usize, why: &str| {
        let line = 1 + text[..at].matches('\n').count();
        Err(GrammarError::new(Place::Request, "", format!("line {line} of the grammar: {why}")))
    };
    for (count, (at, pattern)) in patterns(text).into_iter().enumerate() {
        if count == limits::PATTERNS {
            return refuse(at, &format!("expected at most {} patterns", limits::PATTERNS));
        }
        if let Err(why) = check_pattern(pattern) {
            return refuse(at, &why);
        }
    }
    Ok(())
}

/// The patterns of a grammar, which stand between slashes outside of literals and comments, and where each begins.
fn patterns(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['"', '/', '#']) {
        at += next;
        let rest = &text[at..];
        let end = match rest.as_bytes() {
            [b'#', ..] | [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [quote, ..] => {
                let (inner, end) = until(&rest[1..], *quote);
                if *quote == b'/' {
                    found.push((at, inner));
                }
                1 + end
            }
            [] => return found,
        };
        at += end;
    }
    found
}

/// The text up to a quote that no backslash escapes, and where what follows it begins. All of it if there is none.
fn until(text: &str, quote: u8) -> (&str, usize) {
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return (&text[..i], i + 1),
            _ => {}
        }
    }
    (text, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_between_slashes() {
        let text = "start: \"a/b\\\"/c/\" // a /comment/\nT: /x\\/y{3}/i | \"é\" # /more/\nU: /z\"/ \"/\"\n";
        let found: Vec<&str> = patterns(text).into_iter().map(|(_, pattern)| pattern).collect();
        assert_eq!(found, ["x\\/y{3}", "z\""]);
        for text in ["", "/", "\"", "start: /a", "start: \"a\\", "#", "//", "é/é\\"] {
            patterns(text);
        }
    }

    #[test]
    fn patterns_have_limits() {
        let why = |text: &str| check(text).unwrap_err().to_string();
        assert_eq!(check("start: /[a-z]{1,1000}/"), Ok(()));
        assert!(
            why("start: A\nA: /a{1001}/")
                .starts_with("line 2 of the grammar: expected at most 1000 repetitions")
        );
        assert!(why(&format!("start: /{}/", "a".repeat(1_001))).contains("at most 1000 bytes, found 1001"));
        assert!(why(&format!("start: {}", "/a/ ".repeat(201))).contains("at most 200 patterns"));
        assert!(why("start: /(?!x)y/").contains("look-around"));
    }
}
