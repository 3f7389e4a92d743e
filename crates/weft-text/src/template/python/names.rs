//! The names that templates may use: filters, tests, the methods of each kind of value, and the filters that rewritten templates call.

/// `left | arithmetic("+", right, …)`
pub(in crate::template) const ARITHMETIC: &str = "weft_arithmetic";
/// `value | attribute("name")`
pub(in crate::template) const ATTRIBUTE: &str = "weft_attribute";
/// `callable | call(…)`
pub(in crate::template) const CALL: &str = "weft_call";
/// `left | compare("<", right, …)`
pub(in crate::template) const COMPARE: &str = "weft_compare";
/// `first | concat(second, …)`
pub(in crate::template) const CONCAT: &str = "weft_concat";
/// `value | get("name")`
pub(in crate::template) const GET: &str = "weft_get";
/// `value | is("name", …)`
pub(in crate::template) const IS: &str = "weft_is";
/// `value | item(key)`
pub(in crate::template) const ITEM: &str = "weft_item";
/// `value | iterate`
pub(in crate::template) const ITERATE: &str = "weft_iterate";
/// `value | method("name", …)`
pub(in crate::template) const METHOD: &str = "weft_method";
/// `value | negative`
pub(in crate::template) const NEGATIVE: &str = "weft_negative";
/// `value | positive`
pub(in crate::template) const POSITIVE: &str = "weft_positive";
/// `value | slice(start, stop, step)`
pub(in crate::template) const SLICE: &str = "weft_slice";

/// The names of the filters.
pub(super) const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "e",
    "escape",
    "filesizeformat",
    "float",
    "forceescape",
    "format",
    "indent",
    "int",
    "length",
    "lower",
    "pprint",
    "replace",
    "round",
    "safe",
    "string",
    "striptags",
    "title",
    "trim",
    "truncate",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
];

/// The names of the filters.
pub(super) const LIST_FILTERS: &[&str] = &[
    "batch",
    "dictsort",
    "first",
    "groupby",
    "items",
    "join",
    "last",
    "list",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "slice",
    "sort",
    "sum",
    "unique",
];

/// The names of the tests.
pub(super) const TESTS: &[&str] = &[
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// The methods that templates may call.
pub(super) const OF_STRINGS: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// The methods of dicts that templates may call.
pub(super) const OF_DICTS: &[&str] = &["copy", "get", "items", "keys", "values"];

/// The methods of lists and tuples that templates may call.
pub(super) const OF_LISTS: &[&str] = &["copy", "count", "index"];
