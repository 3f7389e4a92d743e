//! The arguments of Gemma 4's calls, spelled as JSON: `{city:<|"|>Oslo<|"|>,days:3}` is `{"city":"Oslo","days":3}`.
//!
//! Keys have no quotes, and strings have a token of their own in the place of quotes, so that nothing in them is escaped. Everything
//! else is JSON. What a model writes as JSON after all is read as that.

use super::scanner::{Scan, Scanner};

/// The mark around strings.
pub(crate) const QUOTE: &str = "<|\"|>";

/// Spells what it reads as JSON.
#[derive(Default)]
pub(crate) struct Respelled {
    /// The beginning of a mark.
    held: String,
    place: Place,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Outside of strings and keys, or in JSON.
    #[default]
    Json,
    /// In a key without quotes.
    Key,
    /// In a string between marks.
    String,
}

impl Respelled {
    /// Reads the next character, appends JSON to `out` and says what it is to the value. `None` if it may be part of a mark; then
    /// `out` has what was held back before that mark.
    pub(crate) fn push(&mut self, c: char, scanner: &mut Scanner, out: &mut String) -> Option<Scan> {
        self.held.push(c);
        if self.held == QUOTE {
            self.held.clear();
            return Some(self.quote(scanner, out));
        }
        while let Some(c) = self.held.chars().next() {
            // JSON's own strings have no marks.
            let may_be = self.place != Place::Json || !scanner.in_string();
            if may_be && QUOTE.starts_with(&self.held) {
                return None;
            }
            // A mark may begin after this character.
            self.held.remove(0);
            let scan = self.plain(c, scanner, out);
            if scan != Scan::More {
                self.held.clear();
                return Some(scan);
            }
        }
        Some(Scan::More)
    }

    /// The first character that is held back and not yet spelled, or `c`.
    pub(crate) fn first(&self, c: char) -> char {
        self.held.chars().next().unwrap_or(c)
    }

    fn quote(&mut self, scanner: &mut Scanner, out: &mut String) -> Scan {
        self.place = match self.place {
            Place::Json => Place::String,
            Place::String => Place::Json,
            Place::Key => return Scan::Invalid,
        };
        scanner.push('"', out)
    }

    fn plain(&mut self, c: char, scanner: &mut Scanner, out: &mut String) -> Scan {
        match self.place {
            Place::String => escaped(c, scanner, out),
            Place::Key if c == ':' => {
                self.place = Place::Json;
                both(['"', ':'], scanner, out)
            }
            Place::Key if matches!(c, '{' | '}' | '[' | ']' | ',' | '"' | '\n') => Scan::Invalid,
            Place::Key => escaped(c, scanner, out),
            Place::Json
                if scanner.expects_key() && !c.is_whitespace() && !matches!(c, '}' | '"' | ',' | ':') =>
            {
                self.place = Place::Key;
                match scanner.push('"', out) {
                    Scan::More => escaped(c, scanner, out),
                    other => other,
                }
            }
            Place::Json => scanner.push(c, out),
        }
    }
}

/// A character of a string.
fn escaped(c: char, scanner: &mut Scanner, out: &mut String) -> Scan {
    match c {
        '"' | '\\' => both(['\\', c], scanner, out),
        _ => scanner.push(c, out),
    }
}

fn both([first, second]: [char; 2], scanner: &mut Scanner, out: &mut String) -> Scan {
    match scanner.push(first, out) {
        Scan::More => scanner.push(second, out),
        other => other,
    }
}
