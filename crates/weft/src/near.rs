//! Which of the names there are somebody may have meant.

/// Wrong letters in a name, at most, for it to be a slip.
const SLIPS: usize = 2;

/// The names near a wrong one, the nearest first: those that end in it, as `tail` does in `fuse.tail`, and those it is a slip away from.
/// None if nothing is near.
pub(crate) fn near<'n>(wrong: &str, names: &[&'n str]) -> Vec<&'n str> {
    let end = |name: &str| name.rsplit('.').next().is_some_and(|end| end == wrong);
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (if end(name) { 0 } else { distance(wrong, name) }, *name))
        // Of a short name, that many wrong letters leave nothing.
        .filter(|(slips, name)| *slips <= SLIPS.min(name.len() / 3))
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many letters have to be put in, taken out or replaced to make one text of another (Levenshtein's distance). The time is the
/// product of their lengths.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        // `corner` is what was left above of the entry being made.
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
    fn slips_and_ends_are_near_and_the_nearest_is_first() {
        let names = ["fuse.rows", "fuse.rope", "fuse.round", "on"];
        assert_eq!(near("fuse.rop", &names), ["fuse.rope", "fuse.rows"]);
        assert_eq!(near("round", &names), ["fuse.round"]);
        assert_eq!(near("of", &names), [""; 0]);
        assert_eq!(near("", &names), [""; 0]);
    }
}
