//! Stop strings: text at which generation ends, and which is not shown.

/// Watches a stream of text for stop strings.
///
/// Text that may turn out to be the beginning of a stop string is held back until it is clear, so no part of one is ever
/// let through. How the stream is cut into pieces makes no difference: the first stop string to be completed wins, and of
/// two completed by the same character the longer one.
#[derive(Clone, Debug)]
pub struct StopMatcher {
    stops: Vec<String>,
    held: String,
    stopped: Option<usize>,
}

impl StopMatcher {
    /// A matcher for these strings; empty ones match nothing.
    pub fn new<S: Into<String>>(stops: impl IntoIterator<Item = S>) -> StopMatcher {
        StopMatcher { stops: stops.into_iter().map(Into::into).collect(), held: String::new(), stopped: None }
    }

    /// Takes the next piece of text and appends to `out` what is certainly not part of a stop string.
    ///
    /// Returns the place, in the list given to [`new`](StopMatcher::new), of the stop string found. From then on all text
    /// is dropped.
    pub fn push(&mut self, text: &str, out: &mut String) -> Option<usize> {
        if self.stopped.is_some() {
            return self.stopped;
        }
        self.held.push_str(text);
        let first = (0..)
            .zip(&self.stops)
            .filter(|(_, stop)| !stop.is_empty())
            .filter_map(|(place, stop)| Some((self.held.find(stop)?, stop.len(), place)))
            .min_by_key(|&(start, length, place)| (start + length, start, place));
        match first {
            Some((start, _, place)) => {
                out.push_str(&self.held[..start]);
                self.held.clear();
                self.stopped = Some(place);
            }
            None => {
                let certain = self.held.len() - self.undecided();
                out.push_str(&self.held[..certain]);
                self.held.drain(..certain);
            }
        }
        self.stopped
    }

    /// Ends the text: appends what was held back, for no stop string came of it.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&self.held);
        self.held.clear();
    }

    /// The length of the longest end of the text that some stop string begins with.
    fn undecided(&self) -> usize {
        let begins = |stop: &String| {
            (1..stop.len().min(self.held.len() + 1))
                .rev()
                .find(|&length| self.held.as_bytes().ends_with(&stop.as_bytes()[..length]))
        };
        self.stops.iter().filter_map(begins).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What comes through, and the stop string found.
    fn run(stops: &[&str], pieces: &[&str]) -> (String, Option<usize>) {
        let (mut matcher, mut out) = (StopMatcher::new(stops.iter().copied()), String::new());
        let mut found = None;
        for piece in pieces {
            found = matcher.push(piece, &mut out);
        }
        matcher.finish(&mut out);
        (out, found)
    }

    #[test]
    fn across_pieces() {
        assert_eq!(run(&["</end>"], &["a <", "/e", "nd> b", "c"]), ("a ".into(), Some(0)));
        assert_eq!(run(&["</end>"], &["a <", "/e", "n b"]), ("a </en b".into(), None));
        assert_eq!(run(&["aab"], &["aa", "aab!"]), ("aa".into(), Some(0)));
        assert_eq!(run(&["stop", ""], &["no s", "top here"]), ("no ".into(), Some(0)));
        assert_eq!(run(&["你们"], &["我你", "他你", "们好"]), ("我你他".into(), Some(0)));
    }

    #[test]
    fn the_first_completed_wins_and_then_the_longer() {
        assert_eq!(run(&["abcdef", "cd"], &["xabcdef"]), ("xab".into(), Some(1)));
        assert_eq!(run(&["bc", "abc"], &["xabc"]), ("x".into(), Some(1)));
    }

    #[test]
    fn holds_back_no_more_than_it_must() {
        let (mut matcher, mut out) = (StopMatcher::new(["\n\nUser:"]), String::new());
        assert_eq!(matcher.push("Hi.\n", &mut out), None);
        assert_eq!(out, "Hi.");
        assert_eq!(matcher.push("\n\n", &mut out), None);
        assert_eq!(out, "Hi.\n");
        assert_eq!(matcher.push("User", &mut out), None);
        assert_eq!(out, "Hi.\n");
        assert_eq!(matcher.push("s", &mut out), None);
        assert_eq!(out, "Hi.\n\n\nUsers");
    }

    proptest! {
        #[test]
        fn how_text_is_cut_makes_no_difference(
            stops in prop::collection::vec("[abé]{0,4}", 0..4),
            pieces in prop::collection::vec("[abé]{0,5}", 0..8),
        ) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let whole = pieces.concat();
            let whole_at_once = run(&stops, &[&whole]);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(&run(&stops, &pieces), &whole_at_once);
            let characters: Vec<String> = whole.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            prop_assert_eq!(&run(&stops, &characters), &whole_at_once);
            let (shown, found) = whole_at_once;
            prop_assert!(whole.starts_with(&shown));
            match found {
                Some(place) => prop_assert!(whole[shown.len()..].starts_with(stops[place])),
                None => prop_assert_eq!(shown, whole),
            }
        }
    }
}
