//! Compilation: from a grammar's text to a matcher, within bounded time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};

use crate::error::{GrammarError, Place};
use crate::limits;

/// Compiles one grammar at a time.
#[derive(Default)]
pub(super) struct Compiler {
    busy: Arc<Mutex<()>>,
}

impl Compiler {
    /// Compiles a grammar on a thread of its own, with a stack that fits and a deadline. A compilation past its deadline is
    /// left to end by itself, which the limits of its input ensure; the next one waits for it.
    ///
    /// # Errors
    /// If the grammar is too complex, accepts nothing, or takes too long.
    pub(super) fn compile(
        &self,
        factory: &Arc<ParserFactory>,
        grammar: String,
    ) -> Result<Matcher, GrammarError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let given_up = Arc::new(AtomicBool::new(false));
        let (begun, begin) = mpsc::sync_channel(1);
        let work = {
            let (factory, busy, given_up) = (factory.clone(), self.busy.clone(), given_up.clone());
            move || {
                let _one = busy.lock().unwrap_or_else(PoisonError::into_inner);
                if !given_up.load(Ordering::Relaxed) {
                    let _ = begun.send(());
                    let _ = sender.send(compile(&factory, grammar));
                }
            }
        };
        std::thread::Builder::new()
            .name("weft grammar".into())
            .stack_size(limits::COMPILE_STACK)
            .spawn(work)
            .map_err(|why| {
                GrammarError::server(format!("cannot start a thread to compile a grammar: {why}"))
            })?;
        let wait = limits::COMPILE_TIME;
        if begin.recv_timeout(wait).is_err() {
            given_up.store(true, Ordering::Relaxed);
            return Err(GrammarError::server("the server is busy with other grammars; try again"));
        }
        receiver.recv_timeout(wait).unwrap_or_else(|_| {
            let message =
                format!("the grammar is too complex: it took more than {} s to compile", wait.as_secs());
            Err(GrammarError::new(Place::Request, "", message))
        })
    }
}

fn compile(factory: &ParserFactory, grammar: String) -> Result<Matcher, GrammarError> {
    let mut matcher = Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(grammar)));
    if let Some(error) = matcher.get_error() {
        return Err(GrammarError::new(Place::Request, "", explain(&error)));
    }
    // A grammar that accepts nothing is found out here.
    let mut probe = matcher.deep_clone();
    if let Err(error) = probe.compute_mask_or_eos() {
        let error = error.to_string();
        let message = if error.contains("NoExtension") {
            "the grammar accepts no reply at all: the schema contradicts itself".to_owned()
        } else {
            explain(&error)
        };
        return Err(GrammarError::new(Place::Request, "", message));
    }
    let _ = matcher.grammar_warnings();
    Ok(matcher)
}

/// One of llguidance's errors as a sentence.
pub(super) fn explain(error: &str) -> String {
    let first = error.lines().next().unwrap_or_default();
    // It names the place in our own grammar, which says nothing to a client.
    let first = match first.strip_prefix("at ").and_then(|rest| rest.split_once("): ")) {
        Some((_, rest)) => rest,
        None => first,
    };
    let first = first.strip_prefix("failed to compile JSON schema: ").unwrap_or(first);
    if first.starts_with("panic") {
        return "the grammar is too complex".to_owned();
    }
    if first.contains("oneOf constraints are not supported") {
        return "`oneOf` is supported only where no value can match two of its schemas, for example objects with \
                different `const` properties; use `anyOf`"
            .to_owned();
    }
    if first.contains("min/maxProperties only supported") {
        return "`minProperties` and `maxProperties` are supported only where all listed properties are required"
            .to_owned();
    }
    if first.contains("intersection stack level") || first.contains("schema too large") {
        return "the schemas are too complex together: use less `allOf`, and less beside `$ref` and `anyOf`"
            .to_owned();
    }
    if first.contains("circular references with sibling keys") {
        return "`$ref` in a circle is supported only without other keywords beside it".to_owned();
    }
    if first.contains("patternProperty regexes") {
        return format!("`patternProperties`: no name may match two patterns: {first}");
    }
    if let Some(why) = first.strip_prefix("Unsatisfiable schema: ") {
        return format!("the schema accepts no value: {why}");
    }
    if first.contains("Unable to determine if regex is empty") {
        return "the patterns of one string are too complex together".to_owned();
    }
    if ["initial lexer configuration", "grammar size", "fuel exhausted"]
        .iter()
        .any(|part| first.contains(part))
    {
        return "the grammar is too complex: use smaller schemas, patterns and lists of values".to_owned();
    }
    let short: String = first.chars().take(300).collect();
    format!("the grammar cannot be compiled: {short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences_of_one_line() {
        let found =
            explain("at 1(8): failed to compile JSON schema: Unsatisfiable schema: a\n   1 | start: x\n");
        assert_eq!(found, "the schema accepts no value: a");
        assert_eq!(explain("panic: index out of bounds\n<backtrace>"), "the grammar is too complex");
        assert_eq!(
            explain("something else\n<non-verbose/>"),
            "the grammar cannot be compiled: something else"
        );
    }
}
