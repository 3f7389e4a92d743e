//! The journal that comes with the program: measurements made while Weft was developed, and those in notes of an earlier system.
//!
//! Its runs have negative numbers, which are shown as `s1`, `s2`, …

use std::sync::LazyLock;

use super::record::Record;

/// The runs, one from each line.
static SHIPPED: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let lines = include_str!("shipped.jsonl").lines();
    // A test checks every line.
    let records = lines.filter_map(|line| Record::from_line(line).ok());
    records.zip(1..).map(|(record, number)| Record { id: -number, ..record }).collect()
});

/// Returns the runs that come with the program.
pub fn shipped() -> &'static [Record] {
    &SHIPPED
}

impl Record {
    /// Its number as people write it: `12`, or `s3` for a run that came with the program.
    pub fn number(&self) -> String {
        if self.id < 0 { format!("s{}", -self.id) } else { self.id.to_string() }
    }

    /// Whether it contains every one of these words, ignoring ASCII case.
    pub fn contains(&self, words: &[&str]) -> bool {
        let Record { time, command, weft, machine, model, knobs, results, .. } = self;
        let all = format!("{time} {command} {weft} {machine} {model} {knobs} {results}").to_ascii_lowercase();
        words.iter().all(|word| all.contains(&word.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::summary;

    #[test]
    fn every_line_is_a_run_with_a_source() {
        let lines: Vec<&str> = include_str!("shipped.jsonl").lines().collect();
        assert!(lines.len() > 20 && shipped().len() == lines.len());
        for (line, record) in lines.iter().zip(shipped()) {
            Record::from_line(line).unwrap();
            assert!(record.results["source"].is_string() && !summary(record).is_empty(), "{line}");
            assert!(record.machine["cpu"].is_string(), "{line}");
        }
        assert_eq!(
            (shipped()[0].number(), Record { id: 7, ..shipped()[0].clone() }.number()),
            ("s1".into(), "7".into())
        );
    }

    /// The question that everybody asks.
    #[test]
    fn why_the_folds_are_off_is_known() {
        let found: Vec<String> =
            shipped().iter().filter(|run| run.contains(&["FOLD"])).map(summary).collect();
        assert!(
            found.iter().any(|said| said.contains("Why the folds fold.query and fold.output are off")),
            "{found:?}"
        );
        assert!(found.iter().any(|said| said.contains("lost 9.5 %")), "{found:?}");
        let other = shipped().iter().find(|run| run.contains(&["GROUPTOP"])).unwrap();
        assert!(other.machine["cpu"].as_str().unwrap().starts_with("another system"), "{other:?}");
    }
}
