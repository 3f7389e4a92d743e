//! Parses plans.

use std::sync::Arc;

use weft_ir::{Binary, Dim, F32, Reduce, RopeStyle, Shape, Sizes, StateKind, Sym, Unary};
use weft_quant::GgmlType;

use super::given::Lines;
use super::line::{Attrs, ParseError, Parsed, number, split, view};
use super::words;
use crate::anchor::Anchor;
use crate::kernel::{Kernel, Part};
use crate::plan::{Buffer, Call, Plan, Source};
use crate::program::{Access, Format, Indexed, Instr, Param, Prologue, ValueId};
use crate::replacement::Replacement;
use crate::verify::verify;

/// Reads one plan. Lines that begin with `#` are comments.
///
/// # Errors
/// The first line that is malformed, or the first rule of [`verify`] that the plan breaks.
pub fn parse_plan(text: &str) -> Result<Plan, ParseError> {
    let mut lines = Lines::new(text)?;
    let fail = |line: usize, why: String| ParseError { line, why };
    let (line, head) = lines.next().ok_or_else(|| fail(0, "expected `plan NAME … {`".into()))?;
    let mut plan = header(head).map_err(|why| fail(line, why))?;
    while let Some((line, text)) = lines.next() {
        if text == "}" {
            if let Some((line, text)) = lines.next() {
                return Err(fail(line, format!("expected nothing after `}}`, found `{text}`")));
            }
            verify(&plan).map_err(|e| fail(0, e.to_string()))?;
            return Ok(plan);
        }
        if let Some(name) = kernel_name(text) {
            plan.kernels.push(whole_kernel(line, name, &mut lines)?);
        } else if let Some(rest) = text.strip_prefix("call ") {
            let call = call(rest, &plan.kernels).map_err(|why| fail(line, why))?;
            plan.calls.push(call);
        } else {
            let buffer = buffer(text, plan.buffers.len()).map_err(|why| fail(line, why))?;
            plan.buffers.push(buffer);
        }
    }
    Err(fail(0, "the plan is not closed by `}`".into()))
}

/// Reads a replacement: a line `replace`, a kernel, a line `with`, another kernel, and its texts. Lines that begin with `#` are
/// comments, except in texts.
///
/// # Errors
/// The first line that is malformed; kernels whose parameters differ, or whose names are no single words.
pub fn parse_replacement(text: &str) -> Result<Replacement, ParseError> {
    let mut lines = Lines::new(text)?;
    let fail = |line: usize, why: String| ParseError { line, why };
    let mut after = |word: &str| {
        let expected = |found: &str| format!("expected `{word}`, found {found}");
        match lines.next() {
            Some((_, found)) if found == word => {}
            Some((line, found)) => return Err(fail(line, expected(&format!("`{found}`")))),
            None => return Err(fail(0, expected("the end"))),
        }
        let (line, text) = lines.next().ok_or_else(|| fail(0, format!("`{word}` is followed by nothing")))?;
        let name = kernel_name(text).filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
        let name = name.ok_or_else(|| fail(line, format!("expected `kernel NAME {{`, found `{text}`")))?;
        whole_kernel(line, name, &mut lines)
    };
    let (replaced, by) = (after(words::REPLACE)?, after(words::WITH)?);
    if let Some((line, text)) = lines.next() {
        return Err(fail(line, format!("expected nothing after the second kernel, found `{text}`")));
    }
    if let Some(text) = replaced.texts.first() {
        return Err(fail(text.place.line, "the kernel to replace has no texts".into()));
    }
    if replaced.params != by.params {
        let why = "both kernels need the same parameters, in the same order";
        return Err(fail(0, why.into()));
    }
    if by.parts.iter().any(|part| part.rows.contains(&Dim::Const(0))) {
        return Err(fail(0, "every part needs rows".into()));
    }
    Ok(Replacement { replaced, by })
}

/// The name of a kernel, if a line begins one.
fn kernel_name(line: &str) -> Option<&str> {
    line.strip_prefix("kernel ")?.strip_suffix('{').map(str::trim)
}

/// The kernel that begins in this line, up to its `}`, and the texts that follow.
fn whole_kernel(line: usize, name: &str, lines: &mut Lines<'_>) -> Result<Kernel, ParseError> {
    let mut inner = Vec::new();
    loop {
        match lines.next() {
            Some((_, "}")) => break,
            Some(l) => inner.push(l),
            None => return Err(ParseError { line, why: "the kernel is not closed by `}`".into() }),
        }
    }
    let kernel = kernel(name, &inner).map_err(|(line, why)| ParseError { line, why })?;
    let texts = lines.texts(&kernel.params)?.into_iter().map(Arc::new).collect();
    Ok(Kernel { texts, ..kernel })
}

fn header(line: &str) -> Parsed<Plan> {
    let inner =
        line.strip_prefix("plan ").and_then(|l| l.strip_suffix('{')).ok_or("expected `plan NAME … {`")?;
    let attrs = Attrs::new(inner)?;
    let name = *attrs.plain.first().ok_or("the plan has no name")?;
    let sequences = attrs.get("Q").ok().map(|n| number(n, "")).transpose()?;
    let max = Sizes::of(attrs.num("T")?).rows(attrs.num("R")?).slots(attrs.num("S")?).pages(attrs.num("P")?);
    let max = max.sequences(sequences.unwrap_or(0));
    let (buffers, kernels, calls) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Plan { name: name.into(), max, buffers, kernels, calls, arena: attrs.num("arena")? })
}

fn buffer(line: &str, expected: usize) -> Parsed<Buffer> {
    let (left, ty) = line.rsplit_once(" : ").ok_or("expected `bN = source : format[shape]`")?;
    let (id, source) = left.split_once(" = ").ok_or("expected `bN = source : format[shape]`")?;
    if number::<usize>(id, "b")? != expected {
        return Err(format!("expected b{expected}, found {id}"));
    }
    let (kind, name) = source.split_once(' ').ok_or("expected a source and its name")?;
    let source = match kind {
        "input" => Source::Input(name.into()),
        "output" => Source::Output(name.into()),
        "weight" => Source::Weight(name.into()),
        "state" => {
            let (name, kind) = name.split_once(' ').unwrap_or((name, StateKind::PerToken.name()));
            let kind = StateKind::from_name(kind).ok_or_else(|| format!("unknown kind of state `{kind}`"))?;
            Source::State { name: name.into(), kind }
        }
        "constant" => {
            Source::Constant(name.split(' ').map(|v| number(v, "").map(F32)).collect::<Parsed<_>>()?)
        }
        "arena" => Source::Arena(number(name, "")?),
        _ => return Err(format!("unknown source `{kind}`")),
    };
    let (format, dims) =
        ty.strip_suffix(']').and_then(|t| t.split_once('[')).ok_or("expected `format[shape]`")?;
    Ok(Buffer { source, format: format_of(format)?, shape: Shape::new(dims_of(dims)?) })
}

fn call(rest: &str, kernels: &[Kernel]) -> Parsed<Call> {
    let mut words = rest.split_whitespace();
    let name = words.next().ok_or("expected a kernel")?;
    let kernel =
        kernels.iter().position(|k| k.name == name).ok_or_else(|| format!("unknown kernel `{name}`"))?;
    Ok(Call { kernel, args: words.map(|w| number(w, "b")).collect::<Parsed<_>>()? })
}

fn kernel(name: &str, lines: &[(usize, &str)]) -> Result<Kernel, (usize, String)> {
    let mut params = Vec::new();
    let mut lines: Inner<'_> = lines.iter().copied().peekable();
    while let Some((line, text)) = lines.next_if(|(_, l)| l.starts_with('p')) {
        params.push(param(text, params.len()).map_err(|why| (line, why))?);
    }
    let mut parts = Vec::new();
    while lines.peek().is_some() {
        parts.push(part(&mut lines)?);
    }
    if parts.is_empty() {
        return Err((0, "expected `rows […] cols N`".into()));
    }
    Ok(Kernel { name: name.into(), params, parts, texts: Vec::new() })
}

/// The lines of a kernel with their numbers.
type Inner<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, (usize, &'a str)>>>;

fn part(lines: &mut Inner<'_>) -> Result<Part, (usize, String)> {
    let (first, text) = lines.next().ok_or((0, "expected `rows […] cols N`".to_string()))?;
    let (rows, cols) = space(text).map_err(|why| (first, why))?;
    let mut prologue = None;
    if lines.next_if(|(_, l)| *l == words::BEFORE).is_some() {
        let body = program(lines)?;
        let (line, text) = lines.next().ok_or((first, "expected `gives vN`".to_string()))?;
        let value = number(text, words::GIVES).map_err(|why| (line, why))?;
        prologue = Some(Prologue { body, value });
    }
    let (line, text) = lines.next().ok_or((first, "expected an anchor".to_string()))?;
    let read = |text| Anchor::parse(&Attrs::new(text)?);
    let mut anchor = read(text).map_err(|why| (line, why))?;
    while let Some((line, text)) = lines.peek().copied() {
        let first = text.split_whitespace().next().unwrap_or_default();
        match anchor.parse_more(first, text).map_err(|why| (line, why))? {
            true => lines.next(),
            false => break,
        };
    }
    Ok(Part { rows, cols, prologue, anchor, body: program(lines)? })
}

fn program(lines: &mut Inner<'_>) -> Result<Vec<Instr>, (usize, String)> {
    let mut body = Vec::new();
    while let Some((line, text)) = lines.next_if(|(_, l)| l.starts_with('v')) {
        let instr =
            text.split_once(" = ").ok_or_else(|| "expected `vN = …`".to_string()).and_then(|(id, rest)| {
                match number::<usize>(id, "v")? {
                    id if id == body.len() => instruction(rest),
                    id => Err(format!("expected v{}, found v{id}", body.len())),
                }
            });
        body.push(instr.map_err(|why| (line, why))?);
    }
    Ok(body)
}

fn param(text: &str, expected: usize) -> Parsed<Param> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [id, access, format] = words[..] else { return Err("expected `pN read|write FORMAT`".into()) };
    if number::<usize>(id, "p")? != expected {
        return Err(format!("expected p{expected}, found {id}"));
    }
    let access = match access {
        "read" => Access::Read,
        "write" => Access::Write,
        "update" => Access::ReadWrite,
        _ => return Err(format!("expected `read`, `write` or `update`, found `{access}`")),
    };
    Ok(Param { access, format: format_of(format)? })
}

fn space(text: &str) -> Parsed<(Vec<Dim>, usize)> {
    let inner = text.strip_prefix(words::ROWS).and_then(|t| t.split_once(words::COLS));
    let (dims, cols) = inner.ok_or("expected `rows […] cols N`")?;
    Ok((dims_of(dims)?, number(cols, "")?))
}

fn instruction(text: &str) -> Parsed<Instr> {
    let words = split(text)?;
    let (name, rest) = words.split_first().ok_or("expected an instruction")?;
    let value = |i: usize| -> Parsed<ValueId> { number(rest.get(i).ok_or("expected a value")?, "v") };
    let text = |i: usize| rest.get(i).copied().ok_or_else(|| format!("`{name}` needs more operands"));
    let indexed = |from: usize| match rest.get(from..) {
        Some(["@", index, "*", stride]) => {
            Ok(Some(Indexed { index: view(index)?, stride: number(stride, "")? }))
        }
        None | Some([]) => Ok(None),
        Some(other) => Err(format!("expected `@ view * stride`, found {other:?}")),
    };
    Ok(match *name {
        "const" => Instr::Const(F32(number(text(0)?, "")?)),
        "acc" => Instr::Acc(number(text(0)?, "")?),
        "load" => Instr::Load { len: number(text(0)?, "")?, view: view(text(1)?)?, indexed: indexed(2)? },
        "topk" => Instr::TopK { k: number(text(0)?, "")?, x: value(1)? },
        "take" => Instr::Take { from: value(0)?, ids: value(1)? },
        "rope" => {
            let style =
                RopeStyle::from_name(text(0)?).ok_or_else(|| format!("unknown rope style `{}`", rest[0]))?;
            Instr::Rope { style, x: value(1)?, cos: value(2)?, sin: value(3)? }
        }
        "store" => Instr::Store { value: value(0)?, view: view(text(1)?)?, indexed: indexed(2)? },
        _ => {
            if let Some(op) = Unary::from_name(name) {
                Instr::Unary(op, value(0)?)
            } else if let Some(op) = Binary::from_name(name) {
                Instr::Binary(op, value(0)?, value(1)?)
            } else if let Some(op) = Reduce::from_name(name) {
                Instr::Reduce(op, value(0)?)
            } else {
                return Err(format!("unknown instruction `{name}`"));
            }
        }
    })
}

fn format_of(text: &str) -> Parsed<Format> {
    if text == "q8" {
        return Ok(Format::Q8);
    }
    text.parse::<GgmlType>().map(Format::Ggml).map_err(|e| e.to_string())
}

fn dims_of(text: &str) -> Parsed<Vec<Dim>> {
    let dims = text.split(',').map(str::trim).filter(|d| !d.is_empty());
    dims.map(|d| match Sym::ALL.iter().find(|s| s.letter() == d) {
        Some(sym) => Ok(Dim::Sym(*sym)),
        None => number(d, "").map(Dim::Const),
    })
    .collect()
}
