//! Sets streamed text for a terminal: lines break between words, and Markdown and code get light styles.
//!
//! A word appears once it is complete, since only then is it known on which line it belongs, or once it is longer than a line. Text
//! within fences and tables is not wrapped; a table appears once it is complete, since only then are the widths of its columns known.
//! Marks are left out where a style or a sign shows instead.

mod code;
mod inline;
mod style;
mod table;

use unicode_width::UnicodeWidthChar as _;

use code::Code;
use inline::LineMark;
pub(crate) use style::Style;

/// Sets one reply.
pub(crate) struct Typesetter {
    /// Whether there are styles; without them the text stays as it is, and only lines are broken.
    styled: bool,
    /// The style of ordinary text.
    base: Style,
    /// Text whose meaning depends on what follows.
    held: String,
    /// The word that is not yet shown, and the spaces before it.
    word: Vec<(Style, char)>,
    /// Whether the word's beginning is shown, because it is longer than a line.
    split: bool,
    spaces: usize,
    /// Where the next character goes.
    column: usize,
    /// The beginning of the line, up to [`KNOWN`] characters.
    line: String,
    before: char,
    kind: Kind,
    /// How many quotes the line is within.
    quotes: usize,
    /// The rows of a table that is not complete.
    table: Vec<String>,
    bold: bool,
    /// The mark of the emphasis that the text is within.
    italic: Option<char>,
    struck: bool,
    /// The style of a link, which goes before all others.
    link: Option<Style>,
    /// The number of backticks that ends inline code.
    ticks: Option<usize>,
    /// The code within fences.
    code: Option<Code>,
    shown: Style,
}

/// How many characters of a line decide about its kind and its indentation.
const KNOWN: usize = 16;

/// The narrowest terminal on which lines are broken between words.
const NARROWEST: usize = 16;

const RESET: &str = "\x1b[0m";

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing but spaces so far.
    Unknown,
    Prose,
    Heading,
    /// Begins or ends code.
    Fence,
}

impl Typesetter {
    /// Begins a text. `base` is the style of ordinary text.
    pub(crate) fn new(styled: bool, base: Style) -> Typesetter {
        Typesetter {
            styled,
            base,
            held: String::new(),
            word: Vec::new(),
            split: false,
            spaces: 0,
            column: 0,
            line: String::new(),
            before: '\n',
            kind: Kind::Unknown,
            quotes: 0,
            table: Vec::new(),
            bold: false,
            italic: None,
            struck: false,
            link: None,
            ticks: None,
            code: None,
            shown: Style::Plain,
        }
    }

    /// Sets more of the text, for a terminal of this width. Without one, no lines are broken.
    pub(crate) fn push(&mut self, text: &str, columns: Option<usize>) -> String {
        self.set(text, columns, false)
    }

    /// Sets what was held back, ends the line unless it has ended, and begins anew.
    pub(crate) fn finish(&mut self, columns: Option<usize>) -> String {
        let mut out = self.set("", columns, true);
        self.flush(columns, &mut out);
        self.end_table(columns, &mut out);
        self.show(Style::Plain, &mut out);
        if self.column > 0 {
            out.push('\n');
        }
        *self = Typesetter::new(self.styled, self.base);
        out
    }

    fn set(&mut self, text: &str, columns: Option<usize>, last: bool) -> String {
        // The last column stays free: terminals differ in where the cursor is after it.
        let limit = columns.filter(|columns| *columns >= NARROWEST).map(|columns| columns - 1);
        let held = std::mem::take(&mut self.held) + text;
        let mut rest = held.as_str();
        let mut out = String::new();
        while let Some(taken) = self.next(rest, last, limit, &mut out) {
            rest = &rest[taken..];
        }
        self.held = rest.to_string();
        self.show(Style::Plain, &mut out);
        out
    }

    /// Sets the beginning of `rest` and returns its length; `None` if more text is needed first.
    fn next(&mut self, rest: &str, last: bool, limit: Option<usize>, out: &mut String) -> Option<usize> {
        let first = rest.chars().next()?;
        let marks = self.styled && self.base == Style::Plain;
        let begins = marks && self.kind == Kind::Unknown && self.code.is_none();
        if begins && first == '|' && self.quotes == 0 {
            let end = rest.find('\n').map(|at| at + 1).or_else(|| last.then_some(rest.len()))?;
            self.table.push(rest[..end].trim_end_matches('\n').to_string());
            self.spaces = 0;
            self.line.clear();
            return Some(end);
        }
        if first != ' ' && !self.table.is_empty() {
            self.end_table(limit.map(|limit| limit + 1), out);
        }
        if first == '\n' {
            self.end_line(limit, out);
            return Some(1);
        }
        if begins && let Some(taken) = self.line_mark(rest, last, out)? {
            return Some(taken);
        }
        if self.kind == Kind::Unknown && first != ' ' {
            self.kind = if marks { self.line_kind(rest, last)? } else { Kind::Prose };
        }
        if self.code.is_some() && self.kind != Kind::Fence {
            let code = self.code.as_mut()?;
            let (taken, style) = code.next(rest, last)?;
            rest[..taken].chars().for_each(|c| self.put(style, c, out));
            return Some(taken);
        }
        if marks && self.kind == Kind::Prose {
            if self.ticks.is_none()
                && let Some(link) = inline::link(rest, last)?
            {
                return Some(self.set_link(&link, limit, out));
            }
            if let Some(mark) = self.mark(rest, first, last)? {
                return Some(mark);
            }
        }
        self.char(first, limit, out);
        Some(first.len_utf8())
    }

    /// The kind of the line that continues with `rest`, which does not begin with a space.
    fn line_kind(&mut self, rest: &str, last: bool) -> Option<Kind> {
        let run = |mark| rest.len() - rest.trim_start_matches(mark).len();
        let ticks = run('`');
        if ticks >= 3 {
            // The language decides how the code looks, so the whole line is needed.
            let end = rest.find('\n').or_else(|| last.then_some(rest.len()))?;
            self.code = match self.code {
                Some(_) => None,
                None => Some(Code::new(rest[ticks..end].trim())),
            };
            return Some(Kind::Fence);
        }
        if ticks > 0 && ticks == rest.len() && !last {
            return None;
        }
        Some(Kind::Prose)
    }

    /// Takes a mark at the beginning of a line, and shows a sign for it: as [`mark`](Typesetter::mark).
    #[expect(clippy::option_option, reason = "not known yet, no mark, or a mark")]
    fn line_mark(&mut self, rest: &str, last: bool, out: &mut String) -> Option<Option<usize>> {
        let (length, sign) = match inline::line_mark(rest, last)? {
            None => return Some(None),
            Some(LineMark::Heading(length)) => {
                self.kind = Kind::Heading;
                (length, None)
            }
            Some(LineMark::Quote(length)) => {
                self.spaces = 0;
                self.line.clear();
                self.quotes += 1;
                self.bar(out);
                (length, None)
            }
            Some(LineMark::Item(length, sign)) => {
                self.kind = Kind::Prose;
                (length, Some(sign))
            }
        };
        for c in sign.into_iter().flat_map(|sign| [sign, ' ']) {
            self.char(c, None, out);
        }
        Some(Some(length))
    }

    /// Shows that the line is part of a quote.
    fn bar(&mut self, out: &mut String) {
        self.put(Style::Dim, '│', out);
        self.show(Style::Plain, out);
        out.push(' ');
        self.column += 1;
    }

    /// Sets a link, and returns its length.
    fn set_link(&mut self, link: &inline::Link<'_>, limit: Option<usize>, out: &mut String) -> usize {
        self.link = Some(Style::Link);
        link.text.chars().filter(|c| !"*`".contains(*c)).for_each(|c| self.char(c, limit, out));
        if link.text != link.address {
            self.link = None;
            self.char(' ', limit, out);
            self.link = Some(Style::Dim);
            format!("({})", link.address).chars().for_each(|c| self.char(c, limit, out));
        }
        self.link = None;
        link.length
    }

    /// Shows a table that is complete.
    fn end_table(&mut self, columns: Option<usize>, out: &mut String) {
        let rows = std::mem::take(&mut self.table);
        if !rows.is_empty() {
            let lines = table::set(&rows, columns, styled);
            out.push_str(&lines.as_deref().unwrap_or(&rows).join("\n"));
            out.push('\n');
        }
    }

    /// Takes a mark of bold text or inline code: `Some(Some(length))`; `Some(None)` is no mark, `None` takes more text.
    #[expect(clippy::option_option, reason = "not known yet, no mark, or a mark")]
    fn mark(&mut self, rest: &str, first: char, last: bool) -> Option<Option<usize>> {
        let run = rest.len() - rest.trim_start_matches(first).len();
        match first {
            '`' => {
                if run == rest.len() && !last {
                    return None;
                }
                match self.ticks {
                    None => self.ticks = Some(run),
                    Some(ticks) if ticks == run => self.ticks = None,
                    Some(_) => return Some(None),
                }
                Some(Some(run))
            }
            '*' | '_' | '~' if self.ticks.is_none() && self.before != '\\' => {
                let after = rest[run..].chars().next();
                if after.is_none() && !last {
                    return None;
                }
                match first {
                    '~' => return self.strike(rest, run, last),
                    _ if run == 1 => return self.emphasis(rest, first, last),
                    '_' => return Some(None),
                    _ => {}
                }
                let closes = self.bold && !self.before.is_whitespace();
                let opens = !self.bold
                    && !self.before.is_alphanumeric()
                    && after.is_some_and(|after| !after.is_whitespace());
                if run < 2 || !(opens || closes) {
                    return Some(None);
                }
                self.bold = opens;
                Some(Some(2))
            }
            _ => Some(None),
        }
    }

    /// Takes a `*` or `_` that begins or ends emphasis.
    #[expect(clippy::option_option, reason = "not known yet, no mark, or a mark")]
    fn emphasis(&mut self, rest: &str, mark: char, last: bool) -> Option<Option<usize>> {
        let after = rest[1..].chars().next();
        let word_follows = after.is_some_and(char::is_alphanumeric);
        if self.italic == Some(mark) && !self.before.is_whitespace() && !(mark == '_' && word_follows) {
            self.italic = None;
            return Some(Some(1));
        }
        let opens = self.italic.is_none()
            && !self.before.is_alphanumeric()
            && after.is_some_and(|after| !after.is_whitespace());
        if !opens || !inline::is_closed(&rest[1..], mark, 1, last)? {
            return Some(None);
        }
        self.italic = Some(mark);
        Some(Some(1))
    }

    /// Takes `~~`, around text that is struck out.
    #[expect(clippy::option_option, reason = "not known yet, no mark, or a mark")]
    fn strike(&mut self, rest: &str, run: usize, last: bool) -> Option<Option<usize>> {
        let begins = || rest[run..].starts_with(|c: char| !c.is_whitespace());
        let closes = self.struck || run == 2 && begins() && inline::is_closed(&rest[2..], '~', 2, last)?;
        if run != 2 || !closes {
            return Some(None);
        }
        self.struck = !self.struck;
        Some(Some(2))
    }

    fn style(&self) -> Style {
        match self.kind {
            Kind::Fence => Style::Dim,
            Kind::Heading => Style::Bold,
            _ if self.ticks.is_some() => Style::Code,
            _ if self.link.is_some() => self.link.unwrap_or(self.base),
            _ if self.bold => Style::Bold,
            _ if self.italic.is_some() => Style::Italic,
            _ if self.struck => Style::Struck,
            _ => self.base,
        }
    }

    /// Sets a character of prose.
    fn char(&mut self, c: char, limit: Option<usize>, out: &mut String) {
        if self.line.chars().count() < KNOWN {
            self.line.push(c);
        }
        self.before = c;
        if c == ' ' || c == '\t' {
            self.flush_to(limit, out);
            self.split = false;
            self.spaces += if c == ' ' { 1 } else { 4 };
            return;
        }
        let style = self.style();
        self.word.push((style, c));
        // Lines break after every wide character, and after a hyphen within a word.
        let ends = c.width() == Some(2) || c == '-' && (self.split || self.word.len() > 1);
        // Where no lines are broken, nothing has to wait.
        let long = self.split || limit.is_none_or(|limit| self.word.len() > limit);
        if ends || long {
            self.flush_to(limit, out);
        }
        self.split = long && !ends;
    }

    fn flush(&mut self, columns: Option<usize>, out: &mut String) {
        let limit = columns.filter(|columns| *columns >= NARROWEST).map(|columns| columns - 1);
        self.flush_to(limit, out);
    }

    /// Shows the word, on the next line if it does not fit on this one.
    fn flush_to(&mut self, limit: Option<usize>, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let spaces = std::mem::take(&mut self.spaces);
        let width = word.iter().map(|(_, c)| c.width().unwrap_or(0)).sum::<usize>();
        let limit = limit.filter(|_| !self.line.trim_start().starts_with('|'));
        let indent = limit.map_or(0, |limit| self.indent().min(limit / 2));
        let begin = indent + 2 * self.quotes;
        let fits = limit.is_none_or(|limit| self.column <= begin || self.column + spaces + width <= limit);
        // Further parts of a word that is longer than a line go on where the last one ended.
        if !fits && !self.split {
            self.break_line(indent, out);
        } else if spaces > 0 {
            // Spaces at a line's beginning have the style of no word.
            self.show(self.base, out);
            out.extend(std::iter::repeat_n(' ', spaces));
            self.column += spaces;
        }
        for (style, c) in word {
            let width = c.width().unwrap_or(0);
            if limit.is_some_and(|limit| self.column > begin && self.column + width > limit) {
                self.break_line(indent, out);
            }
            self.put(style, c, out);
        }
    }

    fn break_line(&mut self, indent: usize, out: &mut String) {
        self.show(Style::Plain, out);
        out.push('\n');
        self.column = 0;
        (0..self.quotes).for_each(|_| self.bar(out));
        out.extend(std::iter::repeat_n(' ', indent));
        self.column += indent;
    }

    /// How far the further lines of a paragraph or list item are indented.
    fn indent(&self) -> usize {
        let text = self.line.trim_start_matches(' ');
        let spaces = self.line.len() - text.len();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mark = match digits {
            0 if ["- ", "* ", "+ ", "• ", "☐ ", "☑ "].iter().any(|mark| text.starts_with(mark)) => 2,
            0 => 0,
            _ if text[digits..].starts_with(". ") || text[digits..].starts_with(") ") => digits + 2,
            _ => 0,
        };
        spaces + mark
    }

    fn end_line(&mut self, limit: Option<usize>, out: &mut String) {
        self.flush_to(limit, out);
        self.split = false;
        self.show(Style::Plain, out);
        out.push('\n');
        self.spaces = 0;
        self.column = 0;
        self.line.clear();
        self.before = '\n';
        self.kind = Kind::Unknown;
        self.quotes = 0;
        self.bold = false;
        self.italic = None;
        self.struck = false;
        self.ticks = None;
        if let Some(code) = &mut self.code {
            code.end_line();
        }
    }

    fn put(&mut self, style: Style, c: char, out: &mut String) {
        self.show(style, out);
        out.push(c);
        self.column += c.width().unwrap_or(0);
    }

    fn show(&mut self, style: Style, out: &mut String) {
        if self.styled && style != self.shown {
            if self.shown != Style::Plain {
                out.push_str(RESET);
            }
            out.push_str(style.sgr());
            self.shown = style;
        }
    }
}

/// A cell of a table with its marks as styles.
fn styled(cell: &str) -> String {
    let mut typesetter = Typesetter::new(true, Style::Plain);
    typesetter.kind = Kind::Prose;
    let mut text = typesetter.set(cell, None, true);
    typesetter.flush(None, &mut text);
    typesetter.show(Style::Plain, &mut text);
    text
}

#[cfg(test)]
mod tests;
