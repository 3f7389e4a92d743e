//! Suggestions for misspelled names.

/// The greatest distance of a suggestion.
const MAX_DISTANCE: usize = 2;

/// Returns the names close to a wrong one, the closest first: names whose last part it is, as `tail` is of `fuse.tail`,
/// and names that differ from it by one or two letters.
///
/// ```
/// assert_eq!(weft_hub::suggest("smolm2", &["smollm2", "mine"]), ["smollm2"]);
/// ```
pub fn suggest<'n>(wrong: &str, names: &[&'n str]) -> Vec<&'n str> {
    let is_last_part = |name: &str| name.rsplit('.').next() == Some(wrong);
    let mut close: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (if is_last_part(name) { 0 } else { distance(wrong, name) }, *name))
        // Two wrong letters are too many for a short name.
        .filter(|(distance, name)| *distance <= MAX_DISTANCE.min(name.len() / 3))
        .collect();
    close.sort_unstable();
    close.into_iter().map(|(_, name)| name).collect()
}

/// The Levenshtein distance: how many letters have to be inserted, removed or replaced to turn one text into the other.
/// Takes time proportional to the product of their lengths.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        // The entry above and to the left of the next one.
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("tale", "tail", 2),
            ("größe", "grösse", 2),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn last_parts_and_misspellings_are_suggested_closest_first() {
        let names = ["fuse.rows", "fuse.rope", "fuse.round", "on"];
        assert_eq!(suggest("fuse.rop", &names), ["fuse.rope", "fuse.rows"]);
        assert_eq!(suggest("round", &names), ["fuse.round"]);
        assert_eq!(suggest("of", &names), [""; 0]);
        assert_eq!(suggest("", &names), [""; 0]);
    }
}
