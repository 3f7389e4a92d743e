//! Recognises replies that only repeat themselves.

/// The least length of a repeated text, in bytes, and the least number of times.
const LENGTH: usize = 400;
const TIMES: usize = 8;

/// The longest piece that is recognised.
const LONGEST: usize = 200;

/// Whether a text ends in one piece over and over: in words, so that lines and tables do not count.
pub(super) fn only_repeats(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=LONGEST).any(|period| {
        let length = LENGTH.max(TIMES * period);
        let Some(tail) = bytes.len().checked_sub(length).map(|from| &bytes[from..]) else { return false };
        let piece = &tail[..period];
        piece.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
            && tail[period..].iter().zip(tail).all(|(a, b)| a == b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_over_and_over_are_recognised() {
        assert!(only_repeats(&"I am a cat. ".repeat(40)));
        assert!(only_repeats(&format!("Well: {}", "no ".repeat(200))));
        assert!(only_repeats(&"猫です。".repeat(50)));
        // Too short, too few repeats, no words, or something new each time.
        assert!(!only_repeats(&"I am a cat. ".repeat(20)));
        assert!(!only_repeats(&"x".repeat(100).repeat(3)));
        assert!(!only_repeats(&"-".repeat(1000)));
        let counted: String = (0..200).map(|n| format!("{n} cats, ")).collect();
        assert!(!only_repeats(&counted));
        assert!(!only_repeats(""));
    }
}
