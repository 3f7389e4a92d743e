//! Stop strings, which end a reply and are not part of it.

/// Watches a stream of text for stop strings.
///
/// Text that could be the beginning of a stop string is held back until that is decided, so no part of a stop string ever
/// gets through. The result does not depend on how the stream is cut into pieces: the first stop string to be completed
/// wins, and of several completed by the same character the longest.
#[derive(Clone, Debug)]
pub struct StopMatcher {
    stops: Vec<String>,
    held: String,
    stopped: Option<usize>,
}

impl StopMatcher {
    /// Creates a matcher for these strings. Empty strings never match.
    pub fn new<S: Into<String>>(stops: impl IntoIterator<Item = S>) -> StopMatcher {
        StopMatcher { stops: stops.into_iter().map(Into::into).collect(), held: String::new(), stopped: None }
    }

    /// Takes the next piece of text, and appends to `out` all text that is known not to be part of a stop string.
    ///
    /// Returns the index of the stop string that was found, in the list given to [`new`](StopMatcher::new). Any further
    /// text is dropped.
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

    /// Ends the stream: appends the text that was held back.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&self.held);
        self.held.clear();
    }

    /// The length of the longest suffix of the held text that a stop string begins with.
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

    /// The text that comes out, and the stop string found.
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
    fn stop_strings_span_pieces() {
        assert_eq!(run(&["</end>"], &["a <", "/e", "nd> b", "c"]), ("a ".into(), Some(0)));
        assert_eq!(run(&["</end>"], &["a <", "/e", "n b"]), ("a </en b".into(), None));
        assert_eq!(run(&["aab"], &["aa", "aab!"]), ("aa".into(), Some(0)));
        assert_eq!(run(&["stop", ""], &["no s", "top here"]), ("no ".into(), Some(0)));
        assert_eq!(run(&["你们"], &["我你", "他你", "们好"]), ("我你他".into(), Some(0)));
    }

    #[test]
    fn the_first_to_complete_wins_then_the_longest() {
        assert_eq!(run(&["abcdef", "cd"], &["xabcdef"]), ("xab".into(), Some(1)));
        assert_eq!(run(&["bc", "abc"], &["xabc"]), ("x".into(), Some(1)));
    }

    #[test]
    fn holds_back_no_more_than_necessary() {
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
