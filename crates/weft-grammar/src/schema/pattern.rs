//! Regular expressions of `pattern` and `patternProperties`.

use llguidance::derivre::RegexBuilder;
use llguidance::regex_to_lark;

use crate::limits;

/// Checks a pattern.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(format!(
            "expected a pattern of at most {} bytes, found {}",
            limits::PATTERN_BYTES,
            pattern.len()
        ));
    }
    if let Some(count) = repeats(pattern).find(|&count| count > limits::PATTERN_REPEAT) {
        return Err(format!(
            "expected at most {} repetitions in a pattern, found {count}",
            limits::PATTERN_REPEAT
        ));
    }
    let parsed = RegexBuilder::new().mk_regex_for_serach(&regex_to_lark(pattern, "dw"));
    parsed.map(|_| ()).map_err(|why| {
        let why = why.to_string();
        // The parser's message shows the pattern with a marker over several lines; the last one says what is wrong.
        let what = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("the pattern is not supported: {what}")
    })
}

/// The numbers of counted repetitions, such as 3 and 5 of `a{3,5}`.
fn repeats(pattern: &str) -> impl Iterator<Item = u32> {
    pattern.split('{').skip(1).filter_map(|rest| rest.split_once('}')).flat_map(|(counts, _)| {
        let counts = counts.split(',').map(str::trim).filter(|count| !count.is_empty());
        let all: Option<Vec<u32>> = counts
            .map(|count| count.bytes().all(|b| b.is_ascii_digit()).then(|| count.parse().unwrap_or(u32::MAX)))
            .collect();
        all.unwrap_or_default()
    })
}

/// A pattern as a regular expression for a whole text, to go between slashes: `^a+$` is `a+`, and `a` is `(?s:.*)a(?s:.*)`.
/// `None` if it has anchors anywhere else.
pub(crate) fn unanchored(pattern: &str) -> Option<String> {
    let (begins, rest, ends) = anchors(pattern);
    let mut chars = rest.chars();
    let (mut depth, mut class) = (0, false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('b' | 'B' | 'A' | 'z' | 'Z') if !class => return None,
                _ => {}
            },
            '[' => class = true,
            ']' => class = false,
            _ if class => {}
            '(' => depth += 1,
            ')' => depth -= 1,
            // An alternative has anchors of its own.
            '|' if depth == 0 && (begins || ends) => return None,
            '^' | '$' => return None,
            _ => {}
        }
    }
    let any = |anchored| if anchored { "" } else { "(?s:.*)" };
    Some(format!("{}({}){}", any(begins), regex_to_lark(rest, "dw"), any(ends)))
}

/// A pattern that a whole text must match, as a regular expression to go between slashes: `a+` and `^a+$` are `(a+)`. `None` if it
/// has anchors elsewhere than at its ends.
pub(crate) fn whole(pattern: &str) -> Option<String> {
    let (_, rest, _) = anchors(pattern);
    unanchored(&format!("^({rest})$"))
}

/// Splits off anchors: whether the pattern begins with one, the text between, and whether it ends with one.
fn anchors(pattern: &str) -> (bool, &str, bool) {
    let (begins, rest) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    match rest.strip_suffix('$') {
        Some(shorter) if shorter.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 0 => {
            (begins, shorter, true)
        }
        _ => (begins, rest, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_patterns_say_why() {
        assert_eq!(check(r"^\d{3}-[a-z]+$"), Ok(()));
        assert_eq!(repeats("{a}{}{,}{3}{,5}{6,7}").collect::<Vec<_>>(), [3, 5, 6, 7]);
        for (pattern, part) in [
            ("(?!x)y", "look-around"),
            ("[a", "unclosed"),
            (r"(a)\1", "backreferences"),
            ("a{1001}", "1000 repetitions"),
            ("a{1,99999999999}", "1000 repetitions"),
        ] {
            let why = check(pattern).unwrap_err();
            assert!(why.contains(part), "{pattern}: {why}");
        }
        assert!(check(&"a".repeat(1_001)).unwrap_err().contains("1001"));
    }

    #[test]
    fn anchors_become_a_whole_match() {
        assert_eq!(unanchored("^a+$").as_deref(), Some("(a+)"));
        assert_eq!(unanchored("a").as_deref(), Some("(?s:.*)(a)(?s:.*)"));
        assert_eq!(unanchored(r"^a\$").as_deref(), Some(r"(a\$)(?s:.*)"));
        assert_eq!(unanchored("a|b").as_deref(), Some("(?s:.*)(a|b)(?s:.*)"));
        assert_eq!(unanchored("^(a|b)$").as_deref(), Some("((a|b))"));
        assert_eq!(unanchored(r"^[$^|]/\d$").as_deref(), Some(r"([$^|]\/[0-9])"));
        for pattern in ["^a|b$", "a^b", "(^a)", r"\ba", "a$b"] {
            assert_eq!(unanchored(pattern), None, "{pattern}");
        }
        for pattern in ["a|b", "^a|b$", "a|b$"] {
            assert_eq!(whole(pattern).as_deref(), Some("((a|b))"));
        }
        assert_eq!(whole(r"a\$").as_deref(), Some(r"((a\$))"));
        for pattern in ["a^b", "(^a)", r"\ba", "a$b"] {
            assert_eq!(whole(pattern), None, "{pattern}");
        }
    }
}
