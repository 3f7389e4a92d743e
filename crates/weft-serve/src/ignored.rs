//! The parts of a request that this server leaves out, listed for the client.

use std::cell::RefCell;

use axum::http::HeaderValue;
use axum::response::Response;

/// The header of a response that lists it.
pub(crate) const HEADER: &str = "x-weft-ignored";
/// The most bytes of the header.
const MOST: usize = 1000;
/// The most parts that are kept: more than fit into the header.
const PARTS: usize = 256;

/// Parts of a request that have no effect. Clients send fields of other servers, and tools that only their vendor's
/// servers have; refusing those would refuse the client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ignored {
    strict: bool,
    // Readers of a request share it.
    parts: RefCell<Vec<String>>,
}

impl Ignored {
    /// An empty list. A strict one takes no unknown field: reading a request with one fails.
    pub(crate) fn new(strict: bool) -> Ignored {
        Ignored { strict, ..Ignored::default() }
    }

    /// Returns whether unknown fields are refused.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Adds a part, such as `tools[3] (web_search)`, unless it is listed already.
    pub(crate) fn add(&self, what: impl Into<String>) {
        let (what, mut parts) = (what.into(), self.parts.borrow_mut());
        if parts.len() < PARTS && !parts.contains(&what) {
            parts.push(what);
        }
    }

    /// Adds the fields of an object of which there are many. They are listed without the object's number, as
    /// `input[].phase`.
    pub(crate) fn fields<'a>(&self, place: &str, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            self.add(format!("{place}.{name}"));
        }
    }

    /// Adds the header to a response, if anything was left out.
    pub(crate) fn mark(&self, mut response: Response) -> Response {
        if !self.parts.borrow().is_empty()
            && let Ok(value) = HeaderValue::from_str(&self.list())
        {
            response.headers_mut().insert(HEADER, value);
        }
        response
    }

    /// The list, as a header can carry it.
    fn list(&self) -> String {
        let mut list = String::new();
        for what in self.parts.borrow().iter() {
            let comma = if list.is_empty() { "" } else { ", " };
            if list.len() + what.len() > MOST {
                return format!("{list}{comma}and more");
            }
            list += comma;
            list.extend(what.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_a_header() {
        let ignored = Ignored::default();
        assert!(ignored.mark(Response::default()).headers().is_empty());
        ignored.add("tools[0] (web\nsäarch)");
        ignored.fields("input[]", ["phase", "phase", "id"]);
        let response = ignored.mark(Response::default());
        assert_eq!(response.headers()[HEADER], "tools[0] (web?s?arch), input[].phase, input[].id");
        for i in 0..100_000 {
            ignored.add(format!("tools[{i}] (computer)"));
        }
        let list = ignored.list();
        assert!(list.len() < MOST + 20 && list.ends_with(", and more"), "{list}");
        let long = Ignored::default();
        long.add("x".repeat(2000));
        assert_eq!(long.list(), "and more");
    }
}
