//! What a request asks for that this server leaves out, so that the client can know.

use axum::http::HeaderValue;
use axum::response::Response;

/// The header of a response that lists it.
const HEADER: &str = "x-weft-ignored";
/// The most bytes of the header.
const MOST: usize = 1000;

/// Parts of a request that have no effect. Agents send tools that only their vendor's servers have; refusing those would
/// refuse the agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    /// Adds a part, such as `tools[3] (web_search)`, unless it is listed already.
    pub(crate) fn add(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.0.contains(&what) {
            self.0.push(what);
        }
    }

    /// Adds the fields of an object of which there are many. They are listed without the object's number, as
    /// `input[].phase`.
    pub(crate) fn fields<'a>(&mut self, place: &str, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            self.add(format!("{place}.{name}"));
        }
    }

    /// Adds the header to a response, if anything was left out.
    pub(crate) fn mark(&self, mut response: Response) -> Response {
        if !self.0.is_empty()
            && let Ok(value) = HeaderValue::from_str(&self.list())
        {
            response.headers_mut().insert(HEADER, value);
        }
        response
    }

    /// The list, as a header can carry it.
    fn list(&self) -> String {
        let mut list = String::new();
        for (i, what) in self.0.iter().enumerate() {
            if list.len() + what.len() > MOST {
                list += &format!(", and {} more", self.0.len() - i);
                break;
            }
            if i > 0 {
                list += ", ";
            }
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
        let mut ignored = Ignored::default();
        assert!(ignored.mark(Response::default()).headers().is_empty());
        ignored.add("tools[0] (web\nsäarch)");
        ignored.fields("input[]", ["phase", "phase", "id"]);
        let response = ignored.mark(Response::default());
        assert_eq!(response.headers()[HEADER], "tools[0] (web?s?arch), input[].phase, input[].id");
        for i in 0..1000 {
            ignored.add(format!("tools[{i}] (computer)"));
        }
        let list = ignored.list();
        assert!(list.len() < MOST + 20 && list.ends_with(" more"), "{list}");
        let mut long = Ignored::default();
        long.add("x".repeat(2000));
        assert_eq!(long.list(), ", and 1 more");
    }
}
