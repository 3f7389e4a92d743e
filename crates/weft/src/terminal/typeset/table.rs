//! Sets tables: their columns are as wide as their widest cells.

use unicode_width::UnicodeWidthChar as _;

/// On which side of its column a cell is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Middle,
    Right,
}

/// The lines of a table for a terminal of this width; `None` if these rows are none, or it would be too wide. `styled`
/// writes the marks of a cell as styles.
pub(super) fn set(
    rows: &[String],
    columns: Option<usize>,
    styled: impl Fn(&str) -> String,
) -> Option<Vec<String>> {
    let mut cells = rows.iter().map(|row| cells(row));
    let (head, sides) = (cells.next()?, cells.next()?);
    let sides: Vec<Side> = sides.iter().map(|cell| side(cell)).collect::<Option<_>>()?;
    let mut table: Vec<Vec<String>> = vec![head.iter().map(|cell| format!("**{cell}**")).collect()];
    if head.iter().any(|cell| cell.contains("**") || cell.is_empty()) {
        table = vec![head];
    }
    table.extend(cells);
    let mut widths = vec![0; sides.len()];
    for row in &mut table {
        row.resize(sides.len(), String::new());
        for (cell, width) in row.iter_mut().zip(&mut widths) {
            *cell = styled(cell);
            *width = width_of(cell).max(*width);
        }
    }
    let whole = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
    if columns.is_some_and(|columns| whole >= columns) {
        return None;
    }
    let line = |row: &Vec<String>| {
        let cells =
            row.iter().zip(&widths).zip(&sides).map(|((cell, width), side)| padded(cell, *width, *side));
        cells.collect::<Vec<_>>().join(" │ ").trim_end().to_string()
    };
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut lines: Vec<String> = table.iter().map(line).collect();
    lines.insert(1, rule.join("─┼─"));
    Some(lines)
}

/// The cells of a row. A `|` after a backslash or within code is text.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let (mut cells, mut cell, mut code, mut before) = (Vec::new(), String::new(), false, ' ');
    for c in row.chars() {
        match c {
            '|' if before == '\\' => {
                cell.pop();
                cell.push(c);
            }
            '|' if !code => cells.push(std::mem::take(&mut cell)),
            c => {
                code ^= c == '`';
                cell.push(c);
            }
        }
        before = c;
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// The side that a cell of the second row names, such as `---:`.
fn side(cell: &str) -> Option<Side> {
    let dashes = cell.trim_matches(':');
    if dashes.is_empty() || dashes.contains(|c| c != '-') {
        return None;
    }
    Some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        (_, false) => Side::Left,
    })
}

/// The number of columns that a text takes; its styles take none.
fn width_of(text: &str) -> usize {
    let (mut width, mut escape) = (0, false);
    for c in text.chars() {
        match c {
            '\x1b' => escape = true,
            'm' if escape => escape = false,
            c if !escape => width += c.width().unwrap_or(0),
            _ => {}
        }
    }
    width
}

fn padded(cell: &str, width: usize, side: Side) -> String {
    let free = width.saturating_sub(width_of(cell));
    let before = match side {
        Side::Left => 0,
        Side::Middle => free / 2,
        Side::Right => free,
    };
    format!("{}{cell}{}", " ".repeat(before), " ".repeat(free - before))
}
