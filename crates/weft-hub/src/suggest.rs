//! Names that may have been meant by a wrong one.

/// The most letters that may be wrong.
const MAX_WRONG: usize = 2;

/// The names close to a wrong one, the closest first: those whose last part it is, as `tail` is of `fuse.tail`, and those
/// that differ from it in one or two letters. Empty if none is close.
///
/// ```
/// assert_eq!(weft_hub::suggest("smolm2", &["smollm2", "mine"]), ["smollm2"]);
/// ```
pub fn suggest<'n>(wrong: &str, names: &[&'n str]) -> Vec<&'n str> {
    let is_last_part = |name: &str| name.rsplit('.').next() == Some(wrong);
    let mut close: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (if is_last_part(name) { 0 } else { distance(wrong, name) }, *name))
        // That many wrong letters leave nothing of a short name.
        .filter(|(distance, name)| *distance <= MAX_WRONG.min(name.len() / 3))
        .collect();
    close.sort_unstable();
    close.into_iter().map(|(_, name)| name).collect()
}

/// How many letters have to be inserted, removed or replaced to make one text of another (Levenshtein's distance). Takes time
/// proportional to the product of their lengths.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        // `corner` is the entry above and to the left of the next one.
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
    fn last_parts_and_slips_are_suggested_and_the_closest_first() {
        let names = ["fuse.rows", "fuse.rope", "fuse.round", "on"];
        assert_eq!(suggest("fuse.rop", &names), ["fuse.rope", "fuse.rows"]);
        assert_eq!(suggest("round", &names), ["fuse.round"]);
        assert_eq!(suggest("of", &names), [""; 0]);
        assert_eq!(suggest("", &names), [""; 0]);
    }
}
