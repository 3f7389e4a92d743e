//! The mapping of a kernel's loops to workgroups and lanes: plain data with a text form, chosen by a heuristic and free to be tuned.
//!
//! Each part has a [`Form`], the kind of its code, with its own numbers. The grid covers the rows and columns of all workgroups.

pub(crate) mod check;
pub(crate) mod draft;
pub(crate) mod heuristic;
pub(crate) mod joining;
pub(crate) mod order;
pub(crate) mod picks;
pub(crate) mod registers;
pub(crate) mod tuned;

use std::fmt;
use std::str::FromStr;

use crate::forms::Form;

/// The schedule of a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Schedule {
    /// Lanes of a workgroup, the same for all parts; a power of two.
    pub lanes: u32,
    /// The form of each part.
    pub parts: Vec<Form>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lanes {}", self.lanes)?;
        self.parts.iter().try_for_each(|part| write!(f, "; {part}"))
    }
}

/// A text that is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a schedule: {}expected `lanes N; FORM …; …`, one form for each part, such as `dot.lanes rows 1 width 32 reduce 8 upcast 2`",
    if *.is_old { "it is of an older build and names no form; tune again; " } else { "" }
)]
pub struct NoSchedule {
    text: String,
    /// Whether it is a schedule of an older build, which named no form.
    is_old: bool,
}

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Schedule, NoSchedule> {
        let fail = || NoSchedule { text: text.to_string(), is_old: text.contains("; rows ") };
        let (lanes, parts) = text.split_once(';').unwrap_or((text, ""));
        let words: Vec<&str> = lanes.split_whitespace().collect();
        let lanes = match words[..] {
            ["lanes", n] => n.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(fail)?,
            _ => return Err(fail()),
        };
        let parts = parts.split(';').filter(|part| !parts.is_empty() || !part.is_empty());
        let parts = parts.map(|part| Form::read(part).ok_or_else(fail)).collect::<Result<_, _>>()?;
        Ok(Schedule { lanes, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_prints_and_parses_back() {
        let text = "lanes 256; plain rows 1 width 64; select.blocks width 1024 chunk 64; \
                    scan rows 16 width 128 reduce 1 upcast 4 apart; dot.lanes rows 8 width 32 reduce 8 upcast 2 apart; \
                    dot.gathered rows 1 width 4 reduce 16 upcast 1; dot.units rows 32 width 64 reduce 8 upcast 1; \
                    dot.few_rows tile 4 rows 16 width 128 reduce 16 upcast 1; dot.panels rows 32 width 64 reduce 16 upcast 4; \
                    attend.lanes rows 1 reduce 16 upcast 4 chunk 128 spread; attend.units rows 10 reduce 4 chunk 64 apart spread; \
                    attend.warpgroups reduce 4 chunk 64; attend.cooperative rows 80";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.parts.len(), 12);
        assert_eq!(schedule.to_string(), text);
        assert_eq!("lanes 8".parse::<Schedule>().unwrap().parts, []);
        for wrong in [
            "",
            "lanes",
            "lanes 0",
            "lanes 8; plain",
            "lanes 8; plain rows 1 apart width 1",
            "lanes 8; plain rows 1 width 0",
            "lanes 8; plain rows 1 width 1 spread",
            "lanes 8; panes rows 1 width 1",
            "lanes 8; rows 1 width 1 reduce 1 upcast 1",
        ] {
            let refused = wrong.parse::<Schedule>().unwrap_err();
            assert_eq!(refused.to_string().contains("older build"), wrong.contains("; rows"), "{wrong}");
        }
    }
}
