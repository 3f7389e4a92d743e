//! Prints plans and kernels.

use std::fmt;

use weft_ir::{Dim, Sizes, StateKind};

use super::words;
use crate::kernel::{Kernel, Part};
use crate::plan::{Plan, Source};
use crate::program::{Access, Format, Indexed, Instr, View};
use crate::replacement::Replacement;

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Ggml(ty) => write!(f, "{ty}"),
            Format::Q8 => f.write_str("q8"),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}[{}; ", self.param, self.offset)?;
        list(f, &self.strides)?;
        write!(f, "; {}]", self.step)
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
    }
    Ok(())
}

fn indexed(f: &mut fmt::Formatter<'_>, i: Option<&Indexed>) -> fmt::Result {
    i.map_or(Ok(()), |i| write!(f, " @ {} * {}", i.index, i.stride))
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} {{", self.name)?;
        for (i, p) in self.params.iter().enumerate() {
            let access = match p.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::ReadWrite => "update",
            };
            writeln!(f, "  p{i} {access} {}", p.format)?;
        }
        self.parts.iter().try_for_each(|part| write!(f, "{part}"))?;
        f.write_str("}\n")?;
        self.texts.iter().try_for_each(|text| write!(f, "{text}"))
    }
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}{}\n{}", words::REPLACE, self.replaced, words::WITH, self.by)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", words::ROWS)?;
        list(f, &self.rows)?;
        writeln!(f, "{}{}", words::COLS, self.cols)?;
        if let Some(prologue) = &self.prologue {
            writeln!(f, "  {}", words::BEFORE)?;
            program(f, &prologue.body)?;
            writeln!(f, "  {}{}", words::GIVES, prologue.value)?;
        }
        write!(f, "{}", self.anchor)?;
        program(f, &self.body)
    }
}

fn program(f: &mut fmt::Formatter<'_>, body: &[Instr]) -> fmt::Result {
    for (i, instr) in body.iter().enumerate() {
        write!(f, "  v{i} = ")?;
        instruction(f, instr)?;
        f.write_str("\n")?;
    }
    Ok(())
}

fn instruction(f: &mut fmt::Formatter<'_>, instr: &Instr) -> fmt::Result {
    match instr {
        Instr::Const(v) => write!(f, "const {:?}", v.0),
        Instr::Acc(result) => write!(f, "acc {result}"),
        Instr::Load { view, indexed: by, len } => {
            write!(f, "load {len} {view}")?;
            indexed(f, by.as_ref())
        }
        Instr::TopK { x, k } => write!(f, "topk {k} v{x}"),
        Instr::Take { from, ids } => write!(f, "take v{from} v{ids}"),
        Instr::Unary(op, x) => write!(f, "{} v{x}", op.name()),
        Instr::Binary(op, a, b) => write!(f, "{} v{a} v{b}", op.name()),
        Instr::Reduce(op, x) => write!(f, "{} v{x}", op.name()),
        Instr::Rope { style, x, cos, sin } => write!(f, "rope {} v{x} v{cos} v{sin}", style.name()),
        Instr::Store { value, view, indexed: by } => {
            write!(f, "store v{value} {view}")?;
            indexed(f, by.as_ref())
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Input(name) => write!(f, "input {name}"),
            Source::Output(name) => write!(f, "output {name}"),
            Source::Weight(name) => write!(f, "weight {name}"),
            Source::State { name, kind: StateKind::PerToken } => write!(f, "state {name}"),
            Source::State { name, kind } => write!(f, "state {name} {}", kind.name()),
            Source::Constant(values) => {
                f.write_str("constant")?;
                values.iter().try_for_each(|v| write!(f, " {:?}", v.0))
            }
            Source::Arena(offset) => write!(f, "arena {offset}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { tokens, rows, slots, pages, sequences } = self.max;
        write!(f, "plan {} T={tokens} R={rows} S={slots} P={pages}", self.name)?;
        if sequences > 0 {
            write!(f, " Q={sequences}")?;
        }
        writeln!(f, " arena={} {{", self.arena)?;
        for (i, b) in self.buffers.iter().enumerate() {
            let dims: &[Dim] = b.shape.dims();
            write!(f, "b{i} = {} : {}[", b.source, b.format)?;
            list(f, dims)?;
            f.write_str("]\n")?;
        }
        for kernel in &self.kernels {
            write!(f, "{kernel}")?;
        }
        for call in &self.calls {
            write!(f, "call {}", self.kernels.get(call.kernel).map_or("?", |k| &k.name))?;
            call.args.iter().try_for_each(|a| write!(f, " b{a}"))?;
            f.write_str("\n")?;
        }
        f.write_str("}\n")
    }
}
