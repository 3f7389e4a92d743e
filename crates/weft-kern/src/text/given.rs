//! Reads the texts that follow a kernel.

use std::collections::BTreeMap;

use weft_ir::{Dim, Sym};

use super::line::{Attrs, ParseError, number};
use crate::given::{GivenText, TextGroups, TextHead, TextLanguage, TextPlace};
use crate::program::Param;

/// The line that closes a text.
const END: &str = "end";

/// The most texts of a kernel.
const MOST_TEXTS: usize = 32;

/// The lines of a plan or replacement: with their numbers, trimmed, without those that are empty or comments. Of texts only
/// their heads are among them.
pub(super) struct Lines<'a> {
    lines: std::vec::IntoIter<(usize, &'a str)>,
    /// The text that follows a head, by the head's line.
    texts: BTreeMap<usize, &'a str>,
}

impl<'a> Lines<'a> {
    /// # Errors
    /// If a text is not closed.
    pub(super) fn new(all: &'a str) -> Result<Lines<'a>, ParseError> {
        let (mut lines, mut texts) = (Vec::new(), BTreeMap::new());
        // The head of the text that goes on, and where that begins.
        let mut open: Option<(usize, usize)> = None;
        let mut at = 0;
        for (i, whole) in all.split_inclusive('\n').enumerate() {
            let (number, line, begin) = (i + 1, whole.trim(), at);
            at += whole.len();
            match open {
                Some((head, from)) if line == END => {
                    texts.insert(head, &all[from..begin]);
                    open = None;
                }
                Some(_) => {}
                None if line.is_empty() || line.starts_with('#') => {}
                None => {
                    lines.push((number, line));
                    open = language(line).map(|_| (number, at));
                }
            }
        }
        match open {
            Some((line, _)) => {
                Err(ParseError { line, why: format!("the text is not closed by a line `{END}`") })
            }
            None => Ok(Lines { lines: lines.into_iter(), texts }),
        }
    }

    /// The texts that come next, of a kernel with these parameters.
    pub(super) fn texts(&mut self, params: &[Param]) -> Result<Vec<GivenText>, ParseError> {
        let mut all: Vec<GivenText> = Vec::new();
        while let Some((line, head)) = self.lines.as_slice().first().copied()
            && let Some(language) = language(head)
        {
            self.lines.next();
            let fail = |why: String| ParseError { line, why };
            let source = self.texts.remove(&line).unwrap_or_default().to_string();
            let head = text_head(language, head, params.len()).map_err(fail)?;
            if source.trim().is_empty() {
                return Err(fail("the text is empty".into()));
            }
            let is_beside =
                |other: &&GivenText| other.language == language && other.head.tokens == head.tokens;
            if all.iter().filter(is_beside).any(|other| other.head.slots != head.slots) {
                return Err(fail("texts that run one after another need the same slots".into()));
            }
            if all.len() == MOST_TEXTS {
                return Err(fail(format!("expected at most {MOST_TEXTS} texts")));
            }
            all.push(GivenText { language, head, source, place: TextPlace { file: String::new(), line } });
        }
        Ok(all)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        self.lines.next()
    }
}

/// The language of the text that a line begins.
fn language(line: &str) -> Option<TextLanguage> {
    let word = line.split_whitespace().next()?;
    TextLanguage::ALL.into_iter().find(|language| language.word() == word)
}

fn text_head(language: TextLanguage, line: &str, params: usize) -> Result<TextHead, String> {
    let attrs = Attrs::new(line)?;
    let is_cuda = language == TextLanguage::Cuda;
    let (all, own): (&[&str], &str) = match is_cuda {
        true => (
            &["tokens", "entry", "lanes", "groups", "slots", "shared", "scratch"],
            "`tokens`, `entry`, `lanes`, `groups`, `slots`, `shared` and `scratch`",
        ),
        false => (&["tokens", "groups", "slots", "scratch"], "`tokens`, `groups`, `slots` and `scratch`"),
    };
    if let Some((key, _)) = attrs.pairs.iter().find(|(key, _)| !all.contains(key)) {
        return Err(format!("a text in {} has no `{key}`, only {own}", language.name()));
    }
    let own_architecture = match attrs.plain[1..] {
        [] => false,
        ["own_architecture"] if is_cuda => true,
        _ => {
            return Err(format!(
                "expected `key=value` after `{}`, found `{}`",
                language.word(),
                attrs.plain[1]
            ));
        }
    };
    let or_zero = |key: &str| attrs.get(key).ok().map_or(Ok(0), |value| number(value, ""));
    let tokens = attrs.num("tokens")?;
    if tokens == 0 {
        return Err("`tokens` needs to be at least 1".into());
    }
    let slots =
        attrs.get("slots")?.split(',').map(|slot| number(slot, "")).collect::<Result<Vec<usize>, _>>()?;
    if slots.len() != params {
        return Err(format!("expected the slots of {params} parameters, found {}", slots.len()));
    }
    let mut next = 0;
    for slot in &slots {
        if *slot > next {
            return Err(format!("slots are numbered in order: expected at most {next}, found {slot}"));
        }
        next = next.max(slot + 1);
    }
    let (entry, lanes) = match is_cuda {
        true => (attrs.get("entry")?.to_string(), number(attrs.get("lanes")?, "")?),
        false => ("main".into(), 0),
    };
    if !entry.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        || !entry.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        return Err(format!("expected the name of a function after `entry=`, found `{entry}`"));
    }
    if is_cuda && lanes == 0 {
        return Err("`lanes` needs to be at least 1".into());
    }
    Ok(TextHead {
        tokens,
        entry,
        lanes,
        groups: groups(attrs.get("groups")?)?,
        slots,
        shared_bytes: u32::try_from(or_zero("shared")?).map_err(|_| "`shared` is larger than 32 bits")?,
        scratch_bytes: or_zero("scratch")?,
        own_architecture,
    })
}

/// Reads a sum of workgroups: `ceil(T*2/16)*8+4`.
fn groups(text: &str) -> Result<Vec<TextGroups>, String> {
    outside(text, '+').into_iter().map(|term| one(term).ok_or_else(|| {
        format!(
            "expected workgroups such as `8`, `T*8`, `ceil(T*2/16)*8` or a sum of these, of sizes T, R, S or P, found `{text}`"
        )
    })).collect()
}

/// Reads one term: a product of numbers and at most one size, or tiles of one.
fn one(term: &str) -> Option<TextGroups> {
    let mut all = TextGroups::plain(1);
    for factor in outside(term, '*') {
        if let Ok(times) = factor.parse::<u32>() {
            all.times = all.times.checked_mul(times)?;
            continue;
        }
        // At most one size.
        all.axis.known()?;
        let times = all.times;
        all = TextGroups { times, ..tiles(factor)? };
    }
    Some(all)
}

/// Reads `T`, `ceil(T/16)`, `ceil(T*2/16)` or `(ceil(T*2/16)+6)`.
fn tiles(text: &str) -> Option<TextGroups> {
    let plain = |axis| TextGroups { axis, ..TextGroups::plain(1) };
    if let Some(axis) = size(text) {
        return Some(plain(axis));
    }
    if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        let (tiled, more) = inner.rsplit_once('+')?;
        return Some(TextGroups { more: more.parse().ok()?, ..tiles(tiled)? });
    }
    let (rows, tile) = text.strip_prefix("ceil(")?.strip_suffix(')')?.split_once('/')?;
    let (axis, inner) = rows.split_once('*').unwrap_or((rows, "1"));
    let (inner, tile) = (inner.parse().ok()?, tile.parse().ok().filter(|tile| *tile > 0)?);
    Some(TextGroups { inner, tile, ..plain(size(axis)?) })
}

fn size(letter: &str) -> Option<Dim> {
    Sym::ALL.into_iter().find(|sym| sym.letter() == letter).map(Dim::Sym)
}

/// Splits at a character outside of parentheses.
fn outside(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0i32;
    let splits = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == at && depth == 0
    };
    text.split(splits).collect()
}

#[cfg(test)]
mod tests {
    use weft_ir::Sizes;

    use crate::parse_replacement;

    const KERNEL: &str = "  p0 read f32
  p1 write f32
  rows [T] cols 3
  map
  v0 = load 3 p0[0; 3; 1]
  v1 = add v0 v0
  v2 = store v1 p1[0; 3; 1]
}
";

    fn with(texts: &str) -> String {
        format!("replace\nkernel any {{\n{KERNEL}with\nkernel twice {{\n{KERNEL}{texts}")
    }

    #[test]
    fn texts_print_as_they_are_read() {
        let texts = "wgsl tokens=1 groups=8 slots=0,1
// A comment; # is not one here, and neither is an empty line left out.

  #  fn main()
end
cuda tokens=512 entry=twice_2 lanes=32 groups=(ceil(T*2/16)+6)*8+ceil(R/4)+T*3+2 slots=0,0 shared=50000 scratch=64 own_architecture
__global__ void twice_2() {}
end
cuda tokens=512 entry=after lanes=64 groups=T slots=0,0
x
end
";
        let read = parse_replacement(&with(texts)).unwrap();
        assert_eq!(read.to_string(), with(texts));
        let [wgsl, cuda, after] = &read.by.texts[..] else { panic!("{:?}", read.by.texts) };
        assert!(wgsl.source.starts_with("// A comment") && wgsl.source.ends_with("\n\n  #  fn main()\n"));
        assert_eq!((wgsl.place.line, cuda.place.of_line(1)), (21, "line 27 of its file".to_string()));
        assert!(read.replaced.texts.is_empty() && after.head.entry == "after");
        let sizes = Sizes::of(20).rows(5);
        let counts: Vec<u64> = cuda.head.groups.iter().map(|groups| groups.count(&sizes)).collect();
        assert_eq!(counts, [(3 + 6) * 8, 2, 60, 2]);
    }

    #[test]
    fn malformed_texts_are_refused() {
        let refused = |text: &str| parse_replacement(&with(text)).unwrap_err().to_string();
        for (text, said) in [
            ("wgsl tokens=1 groups=1 slots=0,1\nx\n", "line 21: the text is not closed by a line `end`"),
            ("wgsl tokens=1 groups=1 slots=0,1\n \nend\n", "line 21: the text is empty"),
            ("wgsl groups=1 slots=0,1\nx\nend\n", "line 21: expected `tokens=…`"),
            ("wgsl tokens=0 groups=1 slots=0,1\nx\nend\n", "line 21: `tokens` needs to be at least 1"),
            (
                "wgsl tokens=1 groups=1 slots=0\nx\nend\n",
                "line 21: expected the slots of 2 parameters, found 1",
            ),
            (
                "wgsl tokens=1 groups=1 slots=0,2\nx\nend\n",
                "line 21: slots are numbered in order: expected at most 1, found 2",
            ),
            (
                "wgsl tokens=1 lanes=8 groups=1 slots=0,1\nx\nend\n",
                "line 21: a text in WGSL has no `lanes`, only `tokens`, `groups`, `slots` and `scratch`",
            ),
            (
                "wgsl tokens=1 groups=T*R slots=0,1\nx\nend\n",
                "line 21: expected workgroups such as `8`, `T*8`, `ceil(T*2/16)*8` or a sum of these",
            ),
            ("wgsl tokens=1 groups=ceil(T/0) slots=0,1\nx\nend\n", "line 21: expected workgroups such as"),
            ("cuda tokens=1 groups=1 slots=0,1\nx\nend\n", "line 21: expected `entry=…`"),
            (
                "cuda tokens=1 entry=a-b lanes=1 groups=1 slots=0,1\nx\nend\n",
                "line 21: expected the name of a function after `entry=`, found `a-b`",
            ),
            (
                "cuda tokens=1 entry=a lanes=0 groups=1 slots=0,1\nx\nend\n",
                "line 21: `lanes` needs to be at least 1",
            ),
            ("cuda early tokens=1\nx\nend\n", "line 21: expected `key=value` after `cuda`, found `early`"),
            (
                "cuda tokens=1 entry=a lanes=1 groups=1 slots=0,1\nx\nend\ncuda tokens=1 entry=b lanes=1 groups=1 slots=0,0\nx\nend\n",
                "line 24: texts that run one after another need the same slots",
            ),
            ("metal tokens=1\n", "line 21: expected nothing after the second kernel, found `metal tokens=1`"),
        ] {
            let found = refused(text);
            assert!(found.starts_with(said), "{found}");
        }
        let many = "wgsl tokens=1 groups=1 slots=0,1\nx\nend\n".repeat(33);
        assert_eq!(refused(&many), "line 117: expected at most 32 texts");
        // Only the second kernel can have texts.
        let first = with("").replacen("with\n", "wgsl tokens=1 groups=1 slots=0,1\nx\nend\nwith\n", 1);
        let found = parse_replacement(&first).unwrap_err().to_string();
        assert_eq!(found, "line 11: the kernel to replace has no texts");
    }
}
