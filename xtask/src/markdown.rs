//! Reads tables of the repository's documents.

/// A row of a table: its line, from 1, and its cells, trimmed and without backticks.
pub(crate) type Row<'a> = (usize, Vec<&'a str>);

/// The rows of the first table under the heading `## title`, without its header; `None` if there is none.
pub(crate) fn table<'a>(document: &'a str, title: &str) -> Option<Vec<Row<'a>>> {
    let mut lines =
        document.lines().enumerate().skip_while(|(_, line)| line.strip_prefix("## ") != Some(title));
    lines.next()?;
    let rows: Vec<Row<'a>> = lines
        .take_while(|(_, line)| !line.starts_with("## "))
        .skip_while(|(_, line)| !line.starts_with('|'))
        .take_while(|(_, line)| line.starts_with('|'))
        .skip(2)
        .map(|(at, line)| {
            let cells = line.trim_matches('|').split('|');
            (at + 1, cells.map(|cell| cell.trim().trim_matches('`')).collect())
        })
        .collect();
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
# Title
## Other
| x |
|---|
| `no` |
## Wanted
Words.

| a | b |
|---|---|
| `one` | 1 |
| two | `2` |

| later |
|---|
| no |
";

    #[test]
    fn the_first_table_under_the_heading_is_read() {
        assert_eq!(table(DOCUMENT, "Wanted"), Some(vec![(11, vec!["one", "1"]), (12, vec!["two", "2"])]));
    }

    #[test]
    fn a_missing_heading_or_table_is_none() {
        assert_eq!(table(DOCUMENT, "Absent"), None);
        assert_eq!(table("## Wanted\nwords\n## Next\n| a |\n|---|\n| b |\n", "Wanted"), None);
    }
}
