//! Sentinels: characters that mark data on its way through a template.
//!
//! A template is a program: it strips, splits, joins and dumps the values it is given. A sentinel beside a character
//! survives all of that, so it shows in the output that the character came from a value. There is one on either side: a
//! template that cuts a value in two (`content[:-1]`) can part a character from one of them, but not from both. Sentinels
//! must be printable, because templates print lists with Python's `repr`, and neither letters nor white space. Three signs
//! of the Phaistos Disc are; where a value contains them, they are escaped.

/// Precedes a character that no control token may contain, if no other sentinel is between them.
pub(super) const BEFORE: char = '\u{101D4}';
/// Follows a character that no control token may contain.
pub(super) const AFTER: char = '\u{101D0}';
/// Begins an escape: the next character is one of the codes.
pub(super) const ESCAPE: char = '\u{101D1}';
/// After [`ESCAPE`]: a [`BEFORE`] of the value itself.
const BEFORE_CODE: char = '\u{101D5}';
/// After [`ESCAPE`]: an [`AFTER`] of the value itself.
const AFTER_CODE: char = '\u{101D2}';
/// After [`ESCAPE`]: an [`ESCAPE`] of the value itself.
const ESCAPE_CODE: char = '\u{101D3}';
/// The first byte of all sentinels in UTF-8.
pub(super) const FIRST_BYTE: u8 = 0xF0;

/// The code of a sentinel in an escape; `None` if `c` is none.
pub(super) fn code(c: char) -> Option<char> {
    match c {
        BEFORE => Some(BEFORE_CODE),
        AFTER => Some(AFTER_CODE),
        ESCAPE => Some(ESCAPE_CODE),
        _ => None,
    }
}

/// The sentinel that an escape's code stands for.
pub(super) fn of_code(code: char) -> Option<char> {
    match code {
        BEFORE_CODE => Some(BEFORE),
        AFTER_CODE => Some(AFTER),
        ESCAPE_CODE => Some(ESCAPE),
        _ => None,
    }
}

/// Removes the sentinels from a template's output. Returns the text and the ends of its marked characters, in bytes.
pub(super) fn remove(output: String) -> (String, Vec<usize>) {
    if !output.contains([BEFORE, AFTER, ESCAPE]) {
        return (output, Vec::new());
    }
    let (mut text, mut marks) = (String::with_capacity(output.len()), Vec::new());
    let mark = |marks: &mut Vec<usize>, end: usize| {
        if marks.last() != Some(&end) {
            marks.push(end);
        }
    };
    let mut is_next = false;
    let mut chars = output.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == ESCAPE { chars.peek().and_then(|&code| of_code(code)) } else { None };
        match (c, escaped) {
            (BEFORE, _) => {
                is_next = true;
                continue;
            }
            (AFTER, _) => {
                mark(&mut marks, text.len());
                continue;
            }
            (_, Some(escaped)) => {
                chars.next();
                text.push(escaped);
            }
            // An escape that the template cut in two shows as it is.
            _ => text.push(c),
        }
        if std::mem::take(&mut is_next) {
            mark(&mut marks, text.len());
        }
    }
    (text, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_marks() {
        let [before, after, escape] = [BEFORE, AFTER, ESCAPE].map(|c| code(c).unwrap());
        assert_eq!(remove("plain <b>".into()), ("plain <b>".into(), vec![]));
        assert_eq!(remove(format!("{AFTER}a{AFTER}{AFTER}")), ("a".into(), vec![0, 1]));
        assert_eq!(
            remove(format!("{ESCAPE}{before}{ESCAPE}{after}{ESCAPE}{escape}{AFTER}")),
            (format!("{BEFORE}{AFTER}{ESCAPE}"), vec![12])
        );
        assert_eq!(remove(format!("{ESCAPE}a{ESCAPE}")), (format!("{ESCAPE}a{ESCAPE}"), vec![]));
        for c in [BEFORE, AFTER, ESCAPE] {
            assert_eq!(c.to_string().as_bytes()[0], FIRST_BYTE);
            assert_eq!(format!("{c:?}"), format!("'{c}'"), "printable");
            assert!(!c.is_alphanumeric() && !c.is_whitespace());
        }
    }

    #[test]
    fn a_character_is_marked_by_either_side() {
        for (begin, end) in
            [(format!("{BEFORE}<"), ""), (format!("{BEFORE}<{AFTER}"), ""), ("<".into(), "\u{101D0}")]
        {
            assert_eq!(remove(format!("é{begin}{end}|x")), ("é<|x".into(), vec![3]), "{begin:?} {end:?}");
        }
        let nothing_follows = format!("a{BEFORE}");
        assert_eq!(remove(nothing_follows), ("a".into(), vec![]));
        assert_eq!(remove(format!("{BEFORE}{AFTER}{BEFORE}a")), ("a".into(), vec![0, 1]));
    }
}
