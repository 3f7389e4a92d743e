//! How large and how complex a grammar may be.
//!
//! Schemas come from clients. Each figure keeps one way to exhaust the server closed; `tests/hostile.rs` tries them.
//! Together they bound a compilation to about a second on one core, and the lexer of one request to some 50 MB.

use std::time::Duration;

use llguidance::api::ParserLimits;

/// The most bytes that the schemas of a request may have together, as JSON text.
pub(super) const SCHEMA_BYTES: usize = 256 << 10;
/// How deep schemas may nest.
pub(super) const SCHEMA_DEPTH: usize = 32;
/// How deep a value of `enum` or `const` may nest.
pub(super) const VALUE_DEPTH: usize = 16;
/// The most subschemas of a request.
pub(super) const SUBSCHEMAS: usize = 5_000;
/// The most properties of an object. Time to compile them grows with their square.
pub(super) const PROPERTIES: usize = 1_000;
/// The most schemas of one `anyOf`, `oneOf`, `allOf` or `prefixItems`.
pub(super) const OPTIONS: usize = 500;
/// The most different targets of `$ref` in a request. Each may be another level of recursion in the compiler.
pub(super) const REFERENCES: usize = 128;
/// The most values of all `enum` of a request.
pub(super) const ENUM_VALUES: usize = 2_000;
/// The most bytes of a name of a tool or property, and of a string in `enum` or `const`. A grammar needs a lexer state
/// for each byte.
pub(super) const NAME_BYTES: usize = 2_000;
/// The most bytes of a `pattern`.
pub(super) const PATTERN_BYTES: usize = 1_000;
/// The most `pattern` and `patternProperties` of a request.
pub(super) const PATTERNS: usize = 200;
/// The most `pattern` and `format` that constrain one string together. 8 take milliseconds, 16 take seconds.
pub(super) const PATTERNS_TOGETHER: usize = 6;
/// The largest number in a counted repetition of a `pattern`.
pub(super) const PATTERN_REPEAT: u32 = 1_000;
/// The largest `minLength` and `maxLength`. A grammar needs a lexer state for each character.
pub(super) const STRING_LENGTH: u64 = 8_192;
/// The largest `minItems`, `maxItems`, `minProperties` and `maxProperties`.
pub(super) const ITEMS: u64 = 10_000;
/// The largest product of all different `multipleOf` of a request, each without its decimal point. The automaton has a
/// state for each remainder.
pub(super) const MULTIPLES: u64 = 10_000;
/// The largest integer that every JSON parser reads exactly: 2⁵³.
pub(super) const INTEGER: u64 = 1 << 53;
/// The most tools of a request.
pub(super) const TOOLS: usize = 256;

/// The most bytes of a whole grammar.
pub(super) const GRAMMAR_BYTES: usize = 2 << 20;

/// How long a compilation may take before its request is refused.
pub(super) const COMPILE_TIME: Duration = Duration::from_secs(5);
/// The stack of the thread that compiles: the compiler recurses over properties and references.
pub(super) const COMPILE_STACK: usize = 64 << 20;
/// The most compiled grammars that are kept for the next request.
pub(super) const CACHED: usize = 32;
/// The longest token that grammars may use, in bytes. The tree of tokens has room for 1,024.
pub(super) const TOKEN_BYTES: usize = 1_000;
/// The most bytes of all tokens together: the tree of tokens has room for 4 million nodes.
pub(super) const VOCABULARY_BYTES: usize = 4_000_000;

/// llguidance's own limits, most of them lower than its defaults.
pub(super) fn parser() -> ParserLimits {
    ParserLimits {
        // Default 2,000: alternatives at one place. A thousand optional properties are 4,000.
        max_items_in_row: 10_000,
        // Default 1,000,000, at 50,000 per millisecond.
        initial_lexer_fuel: 500_000,
        // Default 200,000, at 14,000 per millisecond: one mask takes 15 ms at most.
        step_lexer_fuel: 200_000,
        // Default 50,000.
        step_max_items: 50_000,
        // Default 250,000, at 1 to 2 kB each.
        max_lexer_states: 32_000,
        // Default 500,000.
        max_grammar_size: 100_000,
        // It walks the whole vocabulary during compilation.
        precompute_large_lexemes: false,
        // Its errors would have the whole reply in them.
        verbose_errors: false,
    }
}
