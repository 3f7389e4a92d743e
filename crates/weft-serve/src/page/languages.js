// What the colouring of code knows of each language: how comments and strings begin and end, its keywords,
// and names with a role.
//
// Kinds are `c` for comments, `s` for strings, `n` for numbers, `k` for keywords, `t` for names with a role,
// such as keys and tags, and `a` and `d` for lines that a difference adds and deletes.

const list = (text) => text.trim().split(/\s+/);

/**
 * Comments and strings: `{kind, begin, end, escapes, multi}`. Without an end, they end with the quotes they
 * begin with.
 */
const upTo = (begin, end, more = {}) => ({ kind: "c", begin, end, multi: true, ...more });
const toEnd = (begin) => ({ kind: "c", begin, end: "\n" });
const string = (begin, more = {}) => ({ kind: "s", begin, escapes: true, ...more });

const SLASHES = [toEnd(/\/\//y), upTo(/\/\*/y, "*/")];
const HASH = [toEnd(/#/y)];
const QUOTES = [string(/"/y), string(/'/y)];
const TRIPLE = string(/"""/y, { multi: true });
const BACKTICK = string(/`/y, { multi: true });
const ANNOTATION = ["t", /@[\p{L}_][\p{L}\p{N}_.]*/uy];

const C = "auto bool break case char const constexpr continue default do double else enum extern false float for goto if inline int long NULL nullptr register return short signed sizeof static struct switch true typedef union unsigned void volatile while";
const CPP = `${C} alignas catch class co_await co_return concept consteval decltype delete explicit export final friend mutable namespace new noexcept operator override private protected public requires static_assert static_cast template this throw try typename using virtual __global__ __device__ __shared__ __host__`;
const JS = "as async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield";
const TS = `${JS} abstract any asserts boolean declare implements infer interface is keyof namespace never number private protected public readonly satisfies string symbol type unknown`;
const JAVA = "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package permits private protected public record return sealed short static super switch synchronized this throw throws transient true try var void volatile while yield";
const SQL = "add all alter and any as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end except exists false foreign from full group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition primary references returning right rollback row rows select set table then transaction true union unique update using values view when where with";
const SHELL = "if then else elif fi for in do done while until case esac function return exit export local readonly declare set unset shift source alias trap break continue true false";

const DEFINITIONS = [
  ["rust rs", { open: [...SLASHES, string(/b?"/y, { multi: true, end: '"' }), { kind: "s", begin: /b?r#"/y, end: '"#', multi: true }, { kind: "s", begin: /b?r"/y, end: '"', multi: true }],
    patterns: [["s", /b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'/uy], ["t", /'[a-z_]\w*/y], ["t", /#!?\[[^\]]*\]/y], ["t", /[a-z_]\w*!(?=[([{])/y]],
    words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while yield" }],
  ["c h", { open: [...SLASHES, ...QUOTES], patterns: [["t", /#\s*(?:include|define|undef|ifdef|ifndef|if|elif|else|endif|pragma|error)\b/y]], words: C }],
  ["cpp c++ cc cxx hpp cuda cu objective-c objc opencl", { open: [...SLASHES, { kind: "s", begin: /R"\(/y, end: ')"', multi: true }, ...QUOTES], patterns: [["t", /#\s*(?:include|define|undef|ifdef|ifndef|if|elif|else|endif|pragma|error)\b/y], ["n", /\d[\d']*(?:\.\d+)?\w*/y]], words: CPP }],
  ["javascript js jsx mjs cjs node", { open: [...SLASHES, BACKTICK, ...QUOTES], words: JS }],
  ["typescript ts tsx", { open: [...SLASHES, BACKTICK, ...QUOTES], patterns: [ANNOTATION], words: TS }],
  ["python py python3 ipython pycon starlark", { open: [...HASH, string(/[rbfuRBFU]{0,2}"""/y, { multi: true }), string(/[rbfuRBFU]{0,2}'''/y, { multi: true }), string(/[rbfuRBFU]{0,2}"/y), string(/[rbfuRBFU]{0,2}'/y)],
    patterns: [ANNOTATION], words: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield" }],
  ["bash sh shell zsh fish console shell-session shellscript", { open: [toEnd(/(?<![^\s;(])#/y), string(/"/y, { multi: true }), { kind: "s", begin: /'/y, end: "'", multi: true }], patterns: [["t", /\$(?:\w+|\{[^}]*\}|[@#?$!*-])/y], ["", /[\w-]*-[\w-]*/y]], words: SHELL }],
  ["powershell ps1 pwsh", { open: [upTo(/<#/y, "#>"), ...HASH, { kind: "s", begin: /"/y, end: '"' }, { kind: "s", begin: /'/y, end: "'" }], patterns: [["t", /\$[\w:]+/y], ["", /[\w]+-[\w-]+/y]], fold: true, words: "begin break catch class continue do else elseif end exit filter finally for foreach function if in param process return switch throw try until using while" }],
  ["json jsonc json5 ndjson", { open: [...SLASHES, string(/"/y)], patterns: [["t", /"(?:[^"\\]|\\.)*"(?=\s*:)/y]], words: "true false null" }],
  ["yaml yml", { open: [toEnd(/(?<!\S)#/y), ...QUOTES.map((quote) => ({ ...quote, begin: new RegExp(`(?<![\\w])${quote.begin.source}`, "y") }))], patterns: [["t", /(?<=^\s*(?:- +)*)[\w.$/][\w .$/-]*(?=:(?:\s|$))/y]], words: "true false null yes no on off" }],
  ["toml ini conf cfg properties editorconfig desktop systemd", { open: [toEnd(/[#;]/y), TRIPLE, string(/'''/y, { multi: true }), ...QUOTES], patterns: [["k", /(?<=^\s*)\[\[?[^\]]*\]\]?/y], ["t", /(?<=^\s*)[\w.-]+(?=\s*[=:])/y]], words: "true false" }],
  ["html xml svg vue svelte xhtml htm rss mathml", { open: [upTo(/<!--/y, "-->"), { kind: "s", begin: /(?<==\s*)"/y, end: '"', multi: true }, { kind: "s", begin: /(?<==\s*)'/y, end: "'", multi: true }], patterns: [["k", /<(?:!(?!-)|[/?])?[\w:.-]+|\/?>/y], ["t", /[\w:@.-]+(?=\s*=\s*["'])/y], ["n", /&#?\w+;/y], ["", /[\p{L}\p{N}_$]+/uy]], words: "" }],
  ["css scss sass less", { open: [upTo(/\/\*/y, "*/"), toEnd(/(?<!:)\/\//y), ...QUOTES], patterns: [["k", /@[\w-]+|!important/y], ["n", /#[\da-fA-F]{3,8}\b|-?\d*\.?\d+(?:%|[a-z]+)?/y], ["t", /(?:--|\$)?[\w-]+(?=\s*:\s)/y], ["", /[\w-]+/y]], words: "" }],
  ["sql mysql postgresql postgres pgsql plsql sqlite tsql", { open: [toEnd(/--/y), upTo(/\/\*/y, "*/"), { kind: "s", begin: /'/y, end: "'", multi: true }, { kind: "t", begin: /"/y, end: '"' }], fold: true, words: SQL }],
  ["java", { open: [...SLASHES, TRIPLE, ...QUOTES], patterns: [ANNOTATION], words: JAVA }],
  ["kotlin kt kts", { open: [...SLASHES, TRIPLE, ...QUOTES], patterns: [ANNOTATION], words: "abstract as break by class companion const continue data do else enum false final for fun if import in infix init inline interface internal is lateinit null object open operator out override package private protected public return sealed super suspend this throw true try typealias val var vararg when where while" }],
  ["scala", { open: [...SLASHES, TRIPLE, ...QUOTES], patterns: [ANNOTATION], words: "abstract case catch class def do else enum extends false final finally for given if implicit import lazy match new null object override package private protected return sealed super then this throw trait true try type using val var while with yield" }],
  ["csharp c# cs dotnet", { open: [...SLASHES, TRIPLE, { kind: "s", begin: /\$?@\$?"/y, end: '"', multi: true }, ...QUOTES], words: `${JAVA} as async await base bool decimal delegate event explicit fixed foreach get in init internal is lock namespace nameof object operator out override params partial readonly ref sbyte set sizeof stackalloc string struct typeof uint ulong unchecked unsafe ushort using value virtual when where` }],
  ["go golang", { open: [...SLASHES, { kind: "s", begin: /`/y, end: "`", multi: true }, ...QUOTES], words: "any bool break byte case chan const continue default defer else error fallthrough false float32 float64 for func go goto if import int int32 int64 interface iota map nil package range return rune select string struct switch true type uint uint32 uint64 var" }],
  ["swift", { open: [...SLASHES, TRIPLE, string(/"/y)], patterns: [["t", /[@#][a-zA-Z]\w*/y]], words: "actor as associatedtype async await break case catch class continue default defer do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open override private protocol public return self Self some static struct subscript super switch throw throws true try typealias var weak where while" }],
  ["dart", { open: [...SLASHES, TRIPLE, ...QUOTES], patterns: [ANNOTATION], words: `${JAVA} as async await dynamic extension external factory get in is late library mixin on part required set show typedef with` }],
  ["zig", { open: [toEnd(/\/\//y), ...QUOTES], patterns: [["t", /@\w+/y]], words: "and anytype async await bool break catch comptime const continue defer else enum errdefer error export extern false fn for if inline null or orelse packed pub return struct suspend switch test threadlocal true try undefined union unreachable usize var void volatile while" }],
  ["php", { open: [...SLASHES, toEnd(/#(?!\[)/y), ...QUOTES], patterns: [["t", /\$\w+/y], ["k", /<\?(?:php|=)?|\?>/y]], words: "abstract and array as break case catch class const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface match namespace new null or print private protected public readonly require require_once return self static switch this throw trait true try use var while yield" }],
  ["ruby rb crystal", { open: [...HASH, ...QUOTES], patterns: [["t", /@{1,2}\w+|(?<![:\w]):[a-z_]\w*[?!]?/y]], words: "alias and begin break case class def defined do else elsif end ensure false for if in include module next nil not or private protected public raise redo require rescue retry return self super then true undef unless until when while yield" }],
  ["elixir ex exs", { open: [...HASH, TRIPLE, ...QUOTES], patterns: [["t", /@\w+|(?<!:):[a-z_]\w*[?!]?|[a-z_]\w*:(?=\s)/y]], words: "after alias and case catch cond def defmodule defmacro defp defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with" }],
  ["lua", { open: [upTo(/--\[\[/y, "]]"), toEnd(/--/y), { kind: "s", begin: /\[\[/y, end: "]]", multi: true }, ...QUOTES], words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while" }],
  ["haskell hs elm purescript", { open: [upTo(/\{-/y, "-}"), toEnd(/--(?![!#$%&*+./<=>?@\\^|~])/y), string(/"/y)], patterns: [["s", /'(?:\\.|[^'\\])'/y], ["", /\w+'+/y]], words: "as case class data default deriving do else forall foreign hiding if import in infix infixl infixr instance let module newtype of qualified then type where" }],
  ["ocaml ml fsharp f#", { open: [upTo(/\(\*/y, "*)"), toEnd(/\/\//y), string(/"/y)], patterns: [["s", /'(?:\\.|[^'\\])'/y]], words: "and as begin class do done else end exception external false for fun function functor if in include let match method module mutable of open rec sig struct then to true try type val when while with" }],
  ["r rlang", { open: [...HASH, ...QUOTES], words: "break else FALSE for function if in Inf library NA NaN next NULL repeat return TRUE while" }],
  ["julia jl", { open: [upTo(/#=/y, "=#"), ...HASH, TRIPLE, string(/"/y)], patterns: [["t", /@\w+|(?<!:):[a-z_]\w*/y], ["s", /'(?:\\.|[^'\\])'/y]], words: "abstract baremodule begin break catch const continue do else elseif end export false finally for function global if import in isa let local macro module mutable nothing quote return struct true try type using where while" }],
  ["matlab octave", { open: [upTo(/%\{/y, "%}"), toEnd(/%/y), { kind: "s", begin: /"/y, end: '"' }, { kind: "s", begin: /(?<![\w)\]}'.])'/y, end: "'" }], words: "break case catch classdef continue else elseif end for function global if otherwise parfor persistent return switch try while true false" }],
  ["perl pl", { open: [...HASH, ...QUOTES], patterns: [["t", /[$@%]\w+/y]], words: "and cmp else elsif eq foreach for if last local lt gt my ne next no not or our package print require return sub unless until use while" }],
  ["nix", { open: [...HASH, upTo(/\/\*/y, "*/"), { kind: "s", begin: /''/y, end: "''", multi: true }, string(/"/y, { multi: true })], patterns: [["t", /[\w.-]+(?=\s*=(?!=))/y]], words: "assert else false if import in inherit let null or rec then true with" }],
  ["dockerfile docker containerfile", { open: [toEnd(/(?<=^\s*)#/y), ...QUOTES], patterns: [["t", /\$\{?\w+\}?/y], ["k", /(?<=^\s*)[A-Z]+(?=\s)/y]], words: "AS" }],
  ["makefile make mk", { open: [...HASH, ...QUOTES], patterns: [["t", /\$[({][^)}]*[)}]|\$[@<^*?]|(?<=^)[\w./%-]+(?=\s*:(?!=))/y]], words: "define else endef endif export ifdef ifeq ifndef ifneq include override" }],
  ["cmake", { open: [...HASH, string(/"/y, { multi: true })], patterns: [["t", /\$\{[^}]*\}/y], ["k", /[a-z_]+(?=\s*\()/iy]], words: "PUBLIC PRIVATE INTERFACE REQUIRED" }],
  ["hcl terraform tf nginx", { open: [...HASH, ...SLASHES, ...QUOTES], patterns: [["t", /\$\{?[\w.]+\}?/y]], words: "data false for if in locals module null output provider resource server location true variable" }],
  ["graphql gql protobuf proto", { open: [...HASH, ...SLASHES, TRIPLE, ...QUOTES], patterns: [ANNOTATION, ["t", /\$\w+/y]], words: "bool bytes double enum extend false float fragment implements import input int32 int64 interface map message mutation null oneof on optional package query repeated required reserved returns rpc scalar schema service string subscription syntax true type union uint32 uint64" }],
  ["wgsl glsl hlsl metal", { open: [...SLASHES, ...QUOTES], patterns: [["t", /[@#]\w+/y]], words: `${C} array bool fn let var uniform varying attribute layout in out inout discard mat2 mat3 mat4 vec2 vec3 vec4 f16 f32 i32 u32 workgroup storage override` }],
  ["latex tex", { open: [toEnd(/(?<!\\)%/y)], patterns: [["k", /\\(?:[A-Za-z]+\*?|.)/y], ["s", /\$[^$]+\$/y], ["t", /(?<=\\(?:begin|end)\{)[^}]*/y], ["", /[\p{L}\p{N}_]+/uy]], words: "" }],
  ["diff patch", { lines: [["t", /^@@/], ["c", /^(?:diff|index|\+\+\+|---)(?: |$)/], ["a", /^\+/], ["d", /^-/]] }],
];

/** All languages by their names, as the word after a fence has them. */
export const LANGUAGES = new Map(
  DEFINITIONS.flatMap(([names, { open = [], patterns = [], words = "", fold = false, lines = null }]) => {
    const keywords = new Set(list(words));
    const isKeyword = (word) => keywords.has(fold ? word.toLowerCase() : word);
    return list(names).map((name) => [name, { open, patterns, isKeyword, lines }]);
  }),
);
