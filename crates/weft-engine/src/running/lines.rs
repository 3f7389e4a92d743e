//! Where a reply may end that has to keep an indentation, or a time.

use std::time::Duration;

use crate::request::LineLimits;

/// The text of a reply, line by line. What may be cut off is held back: line breaks, and the beginning of the line after them.
#[derive(Debug)]
pub(crate) struct Lines {
    limits: LineLimits,
    /// Whether a line break has come.
    broken: bool,
    /// Line breaks and white space behind them, if nothing else followed yet.
    held: String,
    ended: bool,
}

impl Lines {
    pub(crate) fn new(limits: LineLimits) -> Lines {
        Lines { limits, broken: false, held: String::new(), ended: false }
    }

    /// Takes more text of a reply that began this long ago. Adds what is certain to `shown`, and returns whether the reply ends.
    pub(crate) fn push(&mut self, text: &str, began: Duration, shown: &mut String) -> bool {
        if self.limits == LineLimits::default() {
            shown.push_str(text);
            return false;
        }
        for c in text.chars() {
            self.broken |= c == '\n';
            let holds = self.limits.indent > 0 && (c == '\n' || !self.held.is_empty());
            if holds && c.is_whitespace() {
                self.held.push(c);
                continue;
            }
            if holds && self.indent() < self.limits.indent {
                self.held.clear();
                self.ended = true;
                return true;
            }
            shown.push_str(&std::mem::take(&mut self.held));
            shown.push(c);
        }
        self.ended = self.broken && self.limits.time.is_some_and(|most| began > most);
        self.ended
    }

    /// Whether a limit has ended the reply.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// The text that was held back, if the reply ends for another reason.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The number of spaces and tabs that the last line begins with.
    fn indent(&self) -> usize {
        self.held.chars().rev().take_while(|c| matches!(c, ' ' | '\t')).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of these pieces, and whether the reply ended with the last.
    fn shown(limits: LineLimits, pieces: &[(&str, u64)]) -> (String, bool) {
        let (mut lines, mut text) = (Lines::new(limits), String::new());
        let ended = pieces.iter().any(|&(piece, ms)| lines.push(piece, Duration::from_millis(ms), &mut text));
        if !ended {
            text += &lines.rest();
        }
        (text, ended)
    }

    #[test]
    fn a_line_that_is_indented_less_ends_the_reply() {
        let limits = LineLimits { indent: 4, time: None };
        let cases: [(&[&str], &str, bool); 7] = [
            (&["a = 1\n    b = 2\nc"], "a = 1\n    b = 2", true),
            (&["a\n", "    b\n", "\n", "  ", "c"], "a\n    b", true),
            (&["a\n\n    b\n"], "a\n\n    b\n", false),
            (&["a\r\n\t\t\t\tb\r\n", "c"], "a\r\n\t\t\t\tb\r", true),
            (&["no break, and no indentation"], "no break, and no indentation", false),
            (&["a\n  ", "  ", "  b"], "a\n      b", false),
            (&["\n}"], "", true),
        ];
        for (pieces, expected, ended) in cases {
            let pieces: Vec<(&str, u64)> = pieces.iter().map(|piece| (*piece, 0)).collect();
            assert_eq!(shown(limits, &pieces), (expected.to_string(), ended), "{pieces:?}");
        }
    }

    #[test]
    fn time_ends_a_reply_once_a_line_is_complete() {
        let limits = LineLimits { indent: 0, time: Some(Duration::from_millis(50)) };
        assert_eq!(shown(limits, &[("one line ", 40), ("only", 400)]), ("one line only".into(), false));
        assert_eq!(shown(limits, &[("a\n", 40), ("b", 51), ("c", 52)]), ("a\nb".into(), true));
        assert_eq!(shown(limits, &[("a", 60), ("\nb", 61), ("c", 62)]), ("a\nb".into(), true));
        assert_eq!(shown(limits, &[("a\n", 10), ("b\n", 20)]), ("a\nb\n".into(), false));
    }
}
