//! Sentinels: characters that mark data on its way through a template.
//!
//! A template is a program: it strips, splits, joins and dumps the values it is given. A sentinel beside a character
//! survives all of that, so it shows in the output that the character came from a value. Sentinels must be printable,
//! because templates print lists with Python's `repr`, and neither letters nor white space. Two signs of the Phaistos
//! Disc are; where a value contains them, they are escaped.

/// Follows a character that no control token may contain.
pub(super) const MARK: char = '\u{101D0}';
/// Begins an escape: the next character is [`MARK_CODE`] or [`ESCAPE_CODE`].
pub(super) const ESCAPE: char = '\u{101D1}';
/// After [`ESCAPE`]: a [`MARK`] of the value itself.
const MARK_CODE: char = '\u{101D2}';
/// After [`ESCAPE`]: an [`ESCAPE`] of the value itself.
const ESCAPE_CODE: char = '\u{101D3}';
/// The first byte of both sentinels in UTF-8.
pub(super) const FIRST_BYTE: u8 = 0xF0;

/// The code of a sentinel in an escape; `None` if `c` is none.
pub(super) fn code(c: char) -> Option<char> {
    match c {
        MARK => Some(MARK_CODE),
        ESCAPE => Some(ESCAPE_CODE),
        _ => None,
    }
}

/// The sentinel that an escape's code stands for.
pub(super) fn of_code(code: char) -> Option<char> {
    match code {
        MARK_CODE => Some(MARK),
        ESCAPE_CODE => Some(ESCAPE),
        _ => None,
    }
}

/// Removes the sentinels from a template's output. Returns the text and the ends of its marked characters, in bytes.
pub(super) fn remove(output: String) -> (String, Vec<usize>) {
    if !output.contains([MARK, ESCAPE]) {
        return (output, Vec::new());
    }
    let (mut text, mut marks) = (String::with_capacity(output.len()), Vec::new());
    let mut chars = output.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == ESCAPE { chars.peek().and_then(|&code| of_code(code)) } else { None };
        match (c, escaped) {
            (MARK, _) => {
                if marks.last() != Some(&text.len()) {
                    marks.push(text.len());
                }
            }
            (_, Some(escaped)) => {
                chars.next();
                text.push(escaped);
            }
            // An escape that the template cut in two shows as it is.
            _ => text.push(c),
        }
    }
    (text, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_marks() {
        let [mark_code, escape_code] = [MARK, ESCAPE].map(|c| code(c).unwrap());
        assert_eq!(remove("plain <b>".into()), ("plain <b>".into(), vec![]));
        assert_eq!(remove(format!("é<{MARK}|x")), ("é<|x".into(), vec![3]));
        assert_eq!(remove(format!("{MARK}a{MARK}{MARK}")), ("a".into(), vec![0, 1]));
        assert_eq!(
            remove(format!("{ESCAPE}{mark_code}{ESCAPE}{escape_code}{MARK}")),
            (format!("{MARK}{ESCAPE}"), vec![8])
        );
        assert_eq!(remove(format!("{ESCAPE}a{ESCAPE}")), (format!("{ESCAPE}a{ESCAPE}"), vec![]));
        for c in [MARK, ESCAPE] {
            assert_eq!(c.to_string().as_bytes()[0], FIRST_BYTE);
            assert_eq!(format!("{c:?}"), format!("'{c}'"), "printable");
            assert!(!c.is_alphanumeric() && !c.is_whitespace());
        }
    }
}
