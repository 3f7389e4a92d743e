//! The text form of a plan, which parses back to the same plan.
//!
//! A view prints as `p2[192; 5120, 256; 1]`: parameter, offset, a stride for each axis of the rows, step. The index of a row
//! follows as `@ p3[0; 1; 0] * 576`. A part of a kernel begins with its `rows`; a prologue is written between `before` and the
//! value that it `gives`.
//!
//! A replacement is the line `replace`, a kernel, the line `with`, and another kernel. The texts of a kernel follow it: for each a
//! line with its language and how it is launched, the text itself, and the line `end`.

mod given;
mod line;
mod parse;
mod print;

pub use line::ParseError;
pub use parse::{parse_plan, parse_replacement};

// For the anchors, which read their own lines.
pub(crate) use line::{Attrs, Parsed, number, view};

/// Words that printing and parsing share.
pub(crate) mod words {
    pub(crate) const ROWS: &str = "rows [";
    pub(crate) const COLS: &str = "] cols ";
    pub(crate) const BEFORE: &str = "before";
    pub(crate) const GIVES: &str = "gives v";
    pub(crate) const REPLACE: &str = "replace";
    pub(crate) const WITH: &str = "with";
}

#[cfg(test)]
mod tests {
    use super::parse_plan;
    use crate::test_plans::ATTEND;

    #[test]
    fn the_length_of_a_sequence_is_kept() {
        assert_eq!(parse_plan(ATTEND).unwrap().to_string(), ATTEND);
        let with = |text: &str| ATTEND.replace(" page=32", &format!(" page=32 {text}"));
        let known = with("most_pages=2");
        assert_eq!(parse_plan(&known).unwrap().to_string(), known);
        assert!(parse_plan(&with("most_pages=0")).is_err());
        assert!(parse_plan(&with("most_pages=x")).is_err());
    }
}
