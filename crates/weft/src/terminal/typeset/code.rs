//! Styles code: comments, strings and keywords of common languages, line by line.

use super::style::Style;

/// Code in one language.
pub(super) struct Code {
    /// The text that begins a comment; `None` for text that is not styled.
    comment: Option<&'static str>,
    /// Whether `'` delimits strings. In Rust it begins lifetimes as well.
    apostrophes: bool,
    within: Within,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Comment,
    /// A string, up to this quote.
    Literal(char),
}

const HASH: &[&str] = &[
    "python",
    "py",
    "sh",
    "bash",
    "shell",
    "zsh",
    "fish",
    "console",
    "yaml",
    "yml",
    "toml",
    "ruby",
    "rb",
    "perl",
    "r",
    "make",
    "makefile",
    "dockerfile",
    "elixir",
    "julia",
];
const SLASHES: &[&str] = &[
    "rust",
    "rs",
    "c",
    "cpp",
    "c++",
    "h",
    "hpp",
    "cuda",
    "java",
    "javascript",
    "js",
    "jsx",
    "typescript",
    "ts",
    "tsx",
    "go",
    "golang",
    "swift",
    "kotlin",
    "kt",
    "scala",
    "c#",
    "csharp",
    "cs",
    "php",
    "dart",
    "zig",
    "json",
];
const DASHES: &[&str] = &["sql", "lua", "haskell", "hs", "ada"];

/// Words that are keywords in most of these languages, and hardly names in the others.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "False",
    "fi",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "global",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "try",
    "type",
    "typedef",
    "union",
    "unsafe",
    "use",
    "using",
    "val",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
    "SELECT",
    "FROM",
    "WHERE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "TABLE",
    "JOIN",
    "ON",
    "AND",
    "OR",
    "NOT",
    "NULL",
    "ORDER",
    "GROUP",
    "BY",
    "INTO",
    "VALUES",
    "SET",
    "LIMIT",
    "AS",
];

impl Code {
    /// Begins code in the language of a fence.
    pub(super) fn new(language: &str) -> Code {
        let word = language.split(|c: char| c.is_whitespace() || c == ',' || c == '{').next();
        let language = word.unwrap_or_default().to_ascii_lowercase();
        let listed = |list: &[&str]| list.contains(&language.as_str());
        let comment = match () {
            () if listed(HASH) => Some("#"),
            () if listed(SLASHES) => Some("//"),
            () if listed(DASHES) => Some("--"),
            () => None,
        };
        Code { comment, apostrophes: !["rust", "rs"].contains(&language.as_str()), within: Within::Nothing }
    }

    /// The length and style of the next piece; `None` if that takes more text. `rest` does not begin with a line end.
    pub(super) fn next(&mut self, rest: &str, last: bool) -> Option<(usize, Style)> {
        let first = rest.chars().next()?;
        let Some(comment) = self.comment else { return Some((first.len_utf8(), Style::Plain)) };
        match self.within {
            Within::Comment => return Some((first.len_utf8(), Style::Dim)),
            Within::Literal(quote) => {
                if first == '\\' {
                    let escaped = rest[1..].chars().next();
                    if escaped.is_none() && !last {
                        return None;
                    }
                    let escaped = escaped.filter(|c| *c != '\n').map_or(0, char::len_utf8);
                    return Some((1 + escaped, Style::Literal));
                }
                if first == quote {
                    self.within = Within::Nothing;
                }
                return Some((first.len_utf8(), Style::Literal));
            }
            Within::Nothing => {}
        }
        if rest.starts_with(comment) {
            self.within = Within::Comment;
            return Some((comment.len(), Style::Dim));
        }
        if comment.starts_with(rest) && !last {
            return None;
        }
        if first == '"' || first == '\'' && self.apostrophes {
            self.within = Within::Literal(first);
            return Some((1, Style::Literal));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !is_word(first) {
            return Some((first.len_utf8(), Style::Plain));
        }
        let end = rest.find(|c| !is_word(c)).or_else(|| last.then_some(rest.len()))?;
        let style = if KEYWORDS.contains(&&rest[..end]) { Style::Keyword } else { Style::Plain };
        Some((end, style))
    }

    /// Comments and unfinished strings end with their line.
    pub(super) fn end_line(&mut self) {
        self.within = Within::Nothing;
    }
}
