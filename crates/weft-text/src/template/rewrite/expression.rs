//! Expressions of Jinja, rewritten for minijinja with the filters of `python.rs` in place of operators.
//!
//! The grammar is that of Jinja's parser. Every operand is written so that a filter can follow it: a name, a literal,
//! something in parentheses, or those followed by filters.

use std::fmt::Write as _;

use super::lexer::Token;
use crate::template::lists;
use crate::template::python::{is_method, names};

/// The deepest nesting of expressions, which minijinja limits too.
const MAX_NESTING: usize = 100;
/// The most operands of one filter; minijinja takes at most 2,000 arguments.
const MAX_OPERANDS: usize = 500;

/// An expression that cannot be rewritten. minijinja then says what is wrong with it.
#[derive(Debug)]
pub(super) struct Unknown;

type Result<T> = std::result::Result<T, Unknown>;

/// Reads the tokens of a tag.
pub(super) struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
    /// Whether empty lists can grow.
    growing: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(tokens: &'t [Token], growing: bool) -> Parser<'t> {
        Parser { tokens, at: 0, depth: 0, growing }
    }

    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(found)) if *found == sign)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(found)) if found == name)
    }

    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(Unknown) }
    }

    pub(super) fn any_name(&mut self) -> Result<&'t str> {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(Unknown),
        }
    }

    /// Expressions with commas between them, which are a tuple.
    pub(super) fn tuple(&mut self, ends: &[&str]) -> Result<String> {
        let first = self.expression()?;
        if !self.is_sign(",") {
            return Ok(first);
        }
        let mut items = format!("({first}, ");
        while self.take_sign(",") {
            let ended = match self.peek() {
                None => true,
                Some(Token::Sign(sign)) => matches!(*sign, ")" | "=" | "]"),
                Some(Token::Name(name)) => ends.contains(&name.as_str()),
                _ => false,
            };
            if ended {
                break;
            }
            items.push_str(&self.expression()?);
            items.push_str(", ");
        }
        items.push(')');
        Ok(items)
    }

    pub(super) fn expression(&mut self) -> Result<String> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Unknown);
        }
        let mut value = self.without_condition()?;
        while self.take_name("if") {
            let condition = self.without_condition()?;
            value = if self.take_name("else") {
                let other = self.expression()?;
                format!("({value} if {condition} else {other})")
            } else {
                format!("({value} if {condition})")
            };
        }
        self.depth -= 1;
        Ok(value)
    }

    /// `a or b`
    pub(super) fn without_condition(&mut self) -> Result<String> {
        self.joined("or", |parser| parser.joined("and", Parser::negation))
    }

    fn joined(&mut self, word: &str, operand: impl Fn(&mut Self) -> Result<String>) -> Result<String> {
        let mut value = operand(self)?;
        if !self.is_name(word) {
            return Ok(value);
        }
        value.insert(0, '(');
        while self.take_name(word) {
            let _ = write!(value, " {word} {}", operand(self)?);
        }
        value.push(')');
        Ok(value)
    }

    fn negation(&mut self) -> Result<String> {
        let mut count = 0_usize;
        while self.take_name("not") {
            count += 1;
        }
        let value = self.comparison()?;
        Ok(match count {
            0 => value,
            count if count % 2 == 1 => format!("(not {value})"),
            _ => format!("(not (not {value}))"),
        })
    }

    fn comparison(&mut self) -> Result<String> {
        let mut value = self.sum()?;
        let mut operands = Vec::new();
        loop {
            let operator = match self.peek() {
                Some(Token::Sign(sign)) if matches!(*sign, "==" | "!=" | "<" | "<=" | ">" | ">=") => sign,
                Some(Token::Name(name)) if name == "in" => "in",
                Some(Token::Name(name)) if name == "not" => {
                    self.at += 1;
                    if !self.is_name("in") {
                        return Err(Unknown);
                    }
                    "not in"
                }
                _ => break,
            };
            self.at += 1;
            operands.push((operator, self.sum()?));
        }
        if operands.is_empty() {
            return Ok(value);
        }
        if operands.len() > MAX_OPERANDS {
            return Err(Unknown);
        }
        push_filter(&mut value, names::COMPARE, &operands);
        Ok(value)
    }

    fn chain(
        &mut self,
        signs: &[&'static str],
        operand: impl Fn(&mut Self) -> Result<String>,
    ) -> Result<String> {
        let mut value = operand(self)?;
        let mut operands = Vec::new();
        while let Some(sign) = signs.iter().find(|sign| self.is_sign(sign)) {
            self.at += 1;
            operands.push((*sign, operand(self)?));
        }
        for operands in operands.chunks(MAX_OPERANDS) {
            push_filter(&mut value, names::ARITHMETIC, operands);
        }
        Ok(value)
    }

    fn sum(&mut self) -> Result<String> {
        self.chain(&["+", "-"], Parser::concatenation)
    }

    fn concatenation(&mut self) -> Result<String> {
        let mut value = self.product()?;
        let mut operands = Vec::new();
        while self.take_sign("~") {
            operands.push(self.product()?);
        }
        for operands in operands.chunks(MAX_OPERANDS) {
            let _ = write!(value, "|{}({})", names::CONCAT, operands.join(", "));
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<String> {
        self.chain(&["*", "/", "//", "%"], |parser| parser.chain(&["**"], |parser| parser.unary(true)))
    }

    fn unary(&mut self, with_filters: bool) -> Result<String> {
        let mut signs = Vec::new();
        loop {
            if self.take_sign("-") {
                signs.push(names::NEGATIVE);
            } else if self.take_sign("+") {
                signs.push(names::POSITIVE);
            } else {
                break;
            }
        }
        if signs.len() > MAX_NESTING {
            return Err(Unknown);
        }
        let filtered = self.is_sign("(");
        let mut value = self.primary()?;
        self.postfix(&mut value, filtered)?;
        for sign in signs.into_iter().rev() {
            let _ = write!(value, "|{sign}");
        }
        if with_filters {
            self.filters(&mut value)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<String> {
        let token = self.peek().ok_or(Unknown)?;
        self.at += 1;
        match token {
            Token::Name(name) => Ok(match name.as_str() {
                "True" | "true" => "true".to_owned(),
                "False" | "false" => "false".to_owned(),
                "None" | "none" => "none".to_owned(),
                // minijinja takes these for the beginning of something else.
                "not" | "if" | "else" | "and" | "or" | "in" | "is" => return Err(Unknown),
                name => name.to_owned(),
            }),
            Token::Text(text) => {
                let mut text = text.clone();
                while let Some(Token::Text(more)) = self.peek() {
                    self.at += 1;
                    text.push_str(more);
                }
                Ok(quoted(&text))
            }
            Token::Number(number) => Ok(number.clone()),
            Token::Sign("(") => {
                if self.take_sign(")") {
                    return Ok("()".to_owned());
                }
                let value = self.tuple(&[])?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Sign("[") => {
                let items = self.list("]")?;
                Ok(match items.is_empty() && self.growing {
                    true => format!("{}()", lists::NEW),
                    false => format!("[{items}]"),
                })
            }
            Token::Sign("{") => {
                let mut items = String::from("{");
                while !self.take_sign("}") {
                    if items.len() > 1 {
                        self.expect(",")?;
                        if self.take_sign("}") {
                            break;
                        }
                        items.push_str(", ");
                    }
                    items.push_str(&self.expression()?);
                    self.expect(":")?;
                    items.push_str(": ");
                    items.push_str(&self.expression()?);
                }
                items.push_str(" }");
                Ok(items)
            }
            Token::Sign(_) => Err(Unknown),
        }
    }

    /// Expressions up to a closing sign.
    fn list(&mut self, end: &str) -> Result<String> {
        let mut items = String::new();
        while !self.take_sign(end) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.take_sign(end) {
                    break;
                }
                items.push_str(", ");
            }
            items.push_str(&self.expression()?);
        }
        Ok(items)
    }

    /// Attributes, subscripts and calls. `filtered` says whether the value may end with a filter, which no attribute may
    /// follow.
    fn postfix(&mut self, value: &mut String, mut filtered: bool) -> Result<()> {
        loop {
            if self.take_sign(".") {
                match self.peek() {
                    Some(Token::Name(attribute)) => {
                        self.at += 1;
                        if self.take_sign("(") {
                            let arguments = self.arguments()?;
                            push_call(value, names::METHOD, &quoted(attribute), &arguments);
                        } else if is_method(attribute) {
                            push_call(value, names::ATTRIBUTE, &quoted(attribute), "");
                        } else if filtered {
                            push_call(value, names::GET, &quoted(attribute), "");
                        } else {
                            let _ = write!(value, ".{attribute}");
                            continue;
                        }
                    }
                    Some(Token::Number(index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                        self.at += 1;
                        push_call(value, names::ITEM, index, "");
                    }
                    _ => return Err(Unknown),
                }
            } else if self.take_sign("[") {
                self.subscript(value)?;
            } else if self.take_sign("(") {
                let arguments = self.arguments()?;
                self.call(value, &arguments);
            } else {
                return Ok(());
            }
            filtered = true;
        }
    }

    fn call(&self, value: &mut String, arguments: &str) {
        let is_plain_name =
            value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)
                && !value.starts_with(|c: char| c.is_ascii_digit());
        match value.as_str() {
            // Recursion: minijinja knows it by the name.
            "loop" => *value = format!("loop(({arguments})|{})", names::ITERATE),
            _ if is_plain_name => {
                let _ = write!(value, "({arguments})");
            }
            _ => {
                let _ = write!(value, "|{}({arguments})", names::CALL);
            }
        }
    }

    fn subscript(&mut self, value: &mut String) -> Result<()> {
        let mut bounds = [const { None }; 3];
        let mut place = 0;
        loop {
            if self.take_sign("]") {
                break;
            } else if self.take_sign(":") {
                place += 1;
                if place > 2 {
                    return Err(Unknown);
                }
            } else if bounds[place].is_none() {
                bounds[place] = Some(if place == 0 { self.tuple(&[])? } else { self.expression()? });
            } else {
                return Err(Unknown);
            }
        }
        match (place, bounds) {
            (0, [Some(key), ..]) => push_call(value, names::ITEM, &key, ""),
            (0, _) => return Err(Unknown),
            (_, bounds) => {
                let [start, stop, step] = bounds.map(|bound| bound.unwrap_or_else(|| "none".to_owned()));
                push_call(value, names::SLICE, &start, &format!("{stop}, {step}"));
            }
        }
        Ok(())
    }

    /// The arguments of a call, up to its closing parenthesis.
    fn arguments(&mut self) -> Result<String> {
        let mut arguments = String::new();
        while !self.take_sign(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
                if self.take_sign(")") {
                    break;
                }
                arguments.push_str(", ");
            }
            if self.take_sign("*") {
                arguments.push('*');
            } else if self.take_sign("**") {
                arguments.push_str("**");
            } else if let (Some(Token::Name(name)), Some(Token::Sign("="))) =
                (self.peek(), self.tokens.get(self.at + 1))
            {
                self.at += 2;
                let _ = write!(arguments, "{name}=");
            }
            arguments.push_str(&self.expression()?);
        }
        Ok(arguments)
    }

    /// Filters, tests, and calls of their results.
    fn filters(&mut self, value: &mut String) -> Result<()> {
        loop {
            if self.take_sign("|") {
                self.filter(value)?;
            } else if self.take_name("is") {
                let negated = self.take_name("not");
                self.test(value)?;
                if negated {
                    *value = format!("(not {value})");
                }
            } else if self.take_sign("(") {
                let arguments = self.arguments()?;
                let _ = write!(value, "|{}({arguments})", names::CALL);
            } else {
                return Ok(());
            }
        }
    }

    fn filter(&mut self, value: &mut String) -> Result<()> {
        let mut filter = self.any_name()?.to_owned();
        while self.take_sign(".") {
            filter.push('.');
            filter.push_str(self.any_name()?);
        }
        let _ = write!(value, "|{filter}");
        if self.take_sign("(") {
            let _ = write!(value, "({})", self.arguments()?);
        }
        Ok(())
    }

    /// `name(…)|name(…)`, of a filter block.
    pub(super) fn filter_chain(&mut self) -> Result<String> {
        let mut chain = String::new();
        loop {
            self.filter(&mut chain)?;
            if !self.take_sign("|") {
                return Ok(chain[1..].to_owned());
            }
        }
    }

    fn test(&mut self, value: &mut String) -> Result<()> {
        let mut test = self.any_name()?.to_owned();
        while self.take_sign(".") {
            test.push('.');
            test.push_str(self.any_name()?);
        }
        let argument = match self.peek() {
            Some(Token::Sign("(")) => {
                self.at += 1;
                self.arguments()?
            }
            Some(Token::Name(name))
                if matches!(name.as_str(), "else" | "or" | "and" | "if" | "recursive") =>
            {
                String::new()
            }
            Some(Token::Name(name)) if matches!(name.as_str(), "is" | "in" | "not") => return Err(Unknown),
            Some(Token::Name(_) | Token::Text(_) | Token::Number(_) | Token::Sign("[" | "{")) => {
                let mut argument = self.primary()?;
                self.postfix(&mut argument, false)?;
                argument
            }
            _ => String::new(),
        };
        push_call(value, names::IS, &quoted(&test), &argument);
        Ok(())
    }

    /// The names and defaults of a macro's parameters, up to the closing parenthesis. minijinja has no parameters in the
    /// defaults of others: such defaults are returned as assignments for the beginning of the macro.
    pub(super) fn parameters(&mut self) -> Result<(String, Vec<String>)> {
        let (mut parameters, mut names, mut assignments) = (String::new(), Vec::new(), Vec::new());
        while !self.take_sign(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
                if self.take_sign(")") {
                    break;
                }
                parameters.push_str(", ");
            }
            let name = self.any_name()?;
            parameters.push_str(name);
            if self.take_sign("=") {
                let begin = self.at;
                let default = self.expression()?;
                let mut used = self.tokens[begin..self.at].iter();
                if used.any(|token| matches!(token, Token::Name(used) if names.contains(&used.as_str()))) {
                    let is = names::IS;
                    parameters.push_str("=weft_missing");
                    assignments
                        .push(format!("{name} = ({default} if {name}|{is}(\"undefined\") else {name})"));
                } else {
                    let _ = write!(parameters, "={default}");
                }
            }
            names.push(name);
        }
        Ok((parameters, assignments))
    }

    /// The target of an assignment: names, attributes of namespaces, and tuples of them, up to a keyword or sign.
    pub(super) fn target(&mut self, end: &str) -> Result<String> {
        let mut target = String::new();
        while let Some(token) = self.peek() {
            match token {
                Token::Name(name) if name == end => break,
                Token::Sign(sign) if *sign == end || *sign == "|" => break,
                Token::Name(name) => target.push_str(name),
                Token::Sign(sign @ ("." | "," | "(" | ")")) => target.push_str(sign),
                _ => return Err(Unknown),
            }
            self.at += 1;
        }
        if target.is_empty() { Err(Unknown) } else { Ok(target) }
    }

    /// The call of a call block, which minijinja wants as a call.
    pub(super) fn call_expression(&mut self) -> Result<String> {
        let mut value = self.any_name()?.to_owned();
        while self.take_sign(".") {
            let _ = write!(value, ".{}", self.any_name()?);
        }
        self.expect("(")?;
        let _ = write!(value, "({})", self.arguments()?);
        Ok(value)
    }
}

/// `value|filter(first, more)`
fn push_call(value: &mut String, filter: &str, first: &str, more: &str) {
    let comma = if more.is_empty() { "" } else { ", " };
    let _ = write!(value, "|{filter}({first}{comma}{more})");
}

/// `value|filter("operator", operand, …)`
fn push_filter(value: &mut String, filter: &str, operands: &[(&str, String)]) {
    let _ = write!(value, "|{filter}(");
    for (place, (operator, operand)) in operands.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        let _ = write!(value, "{comma}\"{operator}\", {operand}");
    }
    value.push(')');
}

/// A string for minijinja.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
