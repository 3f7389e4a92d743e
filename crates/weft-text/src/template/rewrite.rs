//! Rewrites a template before minijinja compiles it, so that it behaves as with Python's Jinja.
//!
//! Operators, subscripts, tests and method calls become filters of `python.rs`; `for` loops iterate as Python does;
//! `{% generation %}`, which only marks replies for training, becomes an `if` that is always true. Text outside of tags,
//! white space control and the numbers of lines stay. A tag that cannot be read stays too, and minijinja says what is
//! wrong with it.

use self::expression::{Parser, Unknown};
use super::python::names;

mod expression;
mod lexer;

/// Rewrites a template.
pub(super) fn rewritten(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let growing = source.contains(".append(");
    let mut result = String::with_capacity(source.len() * 2);
    let mut rest = source.as_str();
    while let Some(begin) = next_tag(rest) {
        result.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let length = match rest.as_bytes()[1] {
            b'#' => rest.find("#}").map_or(rest.len(), |end| end + 2),
            kind => {
                let end = if kind == b'%' { "%}" } else { "}}" };
                match rewrite_tag(rest, end, growing) {
                    Some((tag, length)) => {
                        result.push_str(&tag);
                        rest = &rest[length..];
                        continue;
                    }
                    None => raw(rest).unwrap_or_else(|| unread(rest, end)),
                }
            }
        };
        result.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    result.push_str(rest);
    result
}

/// Where the next tag begins.
fn next_tag(text: &str) -> Option<usize> {
    let tags = text.match_indices('{').map(|(at, _)| at);
    tags.into_iter().find(|at| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')))
}

/// The length of `{% raw %}…{% endraw %}`.
fn raw(rest: &str) -> Option<usize> {
    let is = |tag: &str, name: &str| {
        let inner = tag.trim_start_matches(['-', '+']).trim_start();
        let inner = inner.strip_prefix(name)?.trim_start().trim_start_matches(['-', '+']);
        inner.starts_with("%}").then(|| tag.len() - inner.len() + 2)
    };
    let mut at = 2 + is(rest.strip_prefix("{%")?, "raw")?;
    loop {
        at += rest[at..].find("{%")? + 2;
        if let Some(length) = is(&rest[at..], "endraw") {
            return Some(at + length);
        }
    }
}

/// The length of a tag that stays.
fn unread(rest: &str, end: &str) -> usize {
    rest.find(end).map_or(rest.len(), |at| at + end.len())
}

/// Rewrites a tag. Returns it, and the length that it had.
fn rewrite_tag(rest: &str, end: &str, growing: bool) -> Option<(String, usize)> {
    if raw(rest).is_some() {
        return None;
    }
    let begin =
        2 + usize::from(rest[2..].starts_with(['-', '+']) && (end == "%}" || rest[2..].starts_with('-')));
    let tag = lexer::tag(&rest[begin..], end)?;
    let mut parser = Parser::new(&tag.tokens, growing);
    let inner = if end == "}}" { parser.tuple(&[]) } else { statement(&mut parser) };
    let inner = inner.ok().filter(|_| parser.is_done())?;
    let length = begin + tag.length;
    // The numbers of lines stay.
    let lines = rest[..length].matches('\n').count();
    Some((format!("{} {inner}{} {}{end}", &rest[..begin], "\n".repeat(lines), tag.end), length))
}

/// Rewrites a statement.
fn statement(parser: &mut Parser<'_>) -> Result<String, Unknown> {
    let keyword = parser.any_name()?;
    match keyword {
        "if" | "elif" => Ok(format!("{keyword} {}", parser.tuple(&[])?)),
        "for" => {
            let target = parser.target("in")?;
            parser.take_name("in");
            let mut values = parser.without_condition()?;
            if parser.is_sign(",") {
                values = format!("({values}, ");
                while parser.take_sign(",") {
                    if parser.is_done() || parser.is_name("if") || parser.is_name("recursive") {
                        break;
                    }
                    values.push_str(&parser.without_condition()?);
                    values.push_str(", ");
                }
                values.push(')');
            }
            let mut statement = format!("for {target} in {values}|{}", names::ITERATE);
            if parser.take_name("if") {
                statement.push_str(" if ");
                statement.push_str(&parser.expression()?);
            }
            if parser.take_name("recursive") {
                statement.push_str(" recursive");
            }
            Ok(statement)
        }
        "set" => {
            let target = parser.target("=")?;
            if parser.take_sign("=") {
                Ok(format!("set {target} = {}", parser.tuple(&[])?))
            } else if parser.take_sign("|") {
                Ok(format!("set {target} | {}", parser.filter_chain()?))
            } else {
                Ok(format!("set {target}"))
            }
        }
        "do" => Ok(format!("set weft_ignored = {}", parser.tuple(&[])?)),
        "macro" => {
            let name = parser.any_name()?;
            parser.expect("(")?;
            let (parameters, assignments) = parser.parameters()?;
            let mut statement = format!("macro {name}({parameters})");
            for assignment in assignments {
                statement.push_str(" %}{% set ");
                statement.push_str(&assignment);
            }
            Ok(statement)
        }
        "call" => {
            let parameters = match parser.take_sign("(") {
                true => format!("({})", parser.parameters()?.0),
                false => String::new(),
            };
            Ok(format!("call{parameters} {}", parser.call_expression()?))
        }
        "filter" => Ok(format!("filter {}", parser.filter_chain()?)),
        "with" => {
            let mut assignments = Vec::new();
            while !parser.is_done() {
                if !assignments.is_empty() {
                    parser.expect(",")?;
                }
                let target = parser.target("=")?;
                parser.expect("=")?;
                assignments.push(format!("{target} = {}", parser.expression()?));
            }
            Ok(format!("with {}", assignments.join(", ")))
        }
        "generation" => Ok("if true".to_owned()),
        "endgeneration" => Ok("endif".to_owned()),
        _ => Err(Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn tags_are_rewritten_and_the_rest_stays() {
        for (source, expected) in [
            ("a {# {{ 1 + 1 }} #} b", "a {# {{ 1 + 1 }} #} b"),
            ("{% raw %}{{ 1 + 1 }}{% endraw -%} x", "{% raw %}{{ 1 + 1 }}{% endraw -%} x"),
            ("{{- a.b -}}", "{{- a.b -}}"),
            ("{{ a\n+ 1 }}", "{{ a|weft_arithmetic(\"+\", 1)\n }}"),
            (
                "{% for a, b in x.items() if a %}",
                "{% for a,b in x|weft_method(\"items\")|weft_iterate if a %}",
            ),
            ("{% generation %}x{%- endgeneration %}", "{% if true %}x{%- endif %}"),
            ("{{ a[1].b }}", "{{ a|weft_item(1)|weft_get(\"b\") }}"),
            ("{{ x is not none and y }}", "{{ ((not x|weft_is(\"none\")) and y) }}"),
            ("{% if %}{{ $ }}", "{% if %}{{ $ }}"),
            ("{% else %}{% endif %}{% include 'x' %}", "{% else %}{% endif %}{% include 'x' %}"),
            ("a\r\nb", "a\nb"),
            ("{% set a = [] %}", "{% set a = [] %}"),
            (
                "{% set a = [ ] %}[]{{ a.append('[]') }}",
                "{% set a = growing_list() %}[]{{ a|weft_method(\"append\", \"[]\") }}",
            ),
        ] {
            assert_eq!(rewritten(source).replace("  ", " "), expected.replace("  ", " "), "{source}");
        }
    }
}
