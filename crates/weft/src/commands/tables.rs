//! Tables as text or Markdown.

use std::io::{self, Write};

use clap::error::ErrorKind;

use crate::cli::args::Args;

/// The format of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Text,
    Markdown,
    Json,
}

impl Form {
    /// The form that --json and --markdown select.
    ///
    /// # Errors
    /// A usage error if both are given.
    pub(crate) fn of(args: Args<'_>) -> Result<Form, clap::Error> {
        match (args.flag("json"), args.flag("markdown")) {
            (true, true) => {
                let problem = "--json and --markdown cannot be used together";
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem))
            }
            (true, false) => Ok(Form::Json),
            (false, true) => Ok(Form::Markdown),
            (false, false) => Ok(Form::Text),
        }
    }

    /// The end of a line within a paragraph.
    pub(crate) fn line_end(self) -> &'static str {
        if self == Form::Markdown { "  \n" } else { "\n" }
    }
}

/// Writes a table. The columns in `right` are right-aligned. In Markdown, the first column is code.
pub(crate) fn table<const N: usize>(
    form: Form,
    titles: [&str; N],
    right: &[usize],
    rows: &[[String; N]],
    out: &mut impl Write,
) -> io::Result<()> {
    if form == Form::Markdown {
        let lines: Vec<&str> = (0..N).map(|i| if right.contains(&i) { "--:" } else { "---" }).collect();
        writeln!(out, "| {} |", titles.map(str::to_lowercase).join(" | "))?;
        writeln!(out, "|{}|", lines.join("|"))?;
        return rows.iter().try_for_each(|row| {
            let cells = row.iter().enumerate().map(|(i, cell)| {
                let cell = cell.replace('|', "\\|");
                if i == 0 { format!("`{cell}`") } else { cell }
            });
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))
        });
    }
    let titles = titles.map(str::to_string);
    let mut widths = [0; N];
    for row in rows.iter().chain([&titles]) {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    for row in [&titles].into_iter().chain(rows) {
        let cells = row.iter().zip(widths).enumerate().map(|(i, (cell, width))| match i {
            i if right.contains(&i) => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}
