//! Prints the structured program in a dialect: the syntax that C-like languages share.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::dialect::{Dialect, Words, component};
use crate::expr::{Expr, Fun, Op};
use crate::module::{Module, Slot};
use crate::stmt::Stmt;

/// The whole text of a shader.
pub fn print(dialect: &dyn Dialect, module: &Module) -> String {
    let halves = module.slots_of_halves();
    let fours = if dialect.declares_fours() { module.slots_of_fours() } else { BTreeSet::new() };
    let mut printer = Printer { dialect, module, halves, fours, out: String::new(), depth: 0 };
    printer.line(&format!("// {}", module.title));
    printer.out.push_str(&dialect.globals(module));
    for function in &module.functions {
        printer.line("");
        printer.line(&format!("{} {{", dialect.function(function)));
        printer.depth += 1;
        printer.block(&function.body);
        let value = printer.expr(&function.value);
        printer.line(&format!("return {value};"));
        printer.depth -= 1;
        printer.line("}");
    }
    printer.line("");
    printer.line(&format!("{} {{", dialect.entry(module)));
    printer.depth += 1;
    dialect.prelude(module).iter().for_each(|line| printer.line(line));
    printer.block(&module.body);
    printer.depth -= 1;
    printer.line("}");
    printer.out
}

struct Printer<'a> {
    dialect: &'a dyn Dialect,
    module: &'a Module,
    /// The slots to which halves of words are stored.
    halves: BTreeSet<usize>,
    /// The slots that are declared as vectors of four words.
    fours: BTreeSet<usize>,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let indent = if text.is_empty() { 0 } else { 2 * self.depth };
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    fn block(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn inner(&mut self, stmts: &[Stmt]) {
        self.depth += 1;
        self.block(stmts);
        self.depth -= 1;
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        lines.into_iter().for_each(|line| self.line(line.as_ref()));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Note(text) => self.line(&format!("// {text}")),
            Stmt::Let(name, value) => self.line(&self.dialect.define(name, &self.expr(value), false)),
            Stmt::Var(name, value) => self.line(&self.dialect.define(name, &self.expr(value), true)),
            Stmt::Set(name, value) => self.line(&format!("{name} = {};", self.expr(value))),
            Stmt::Store(slot, at, word) => {
                let word = self.expr(word);
                let text = match self.words(*slot) {
                    Words::Fours => format!("{} = {word};", self.word(*slot, at)),
                    words => self.dialect.store(*slot, &self.expr(at), &word, words == Words::Halves),
                };
                self.line(&text);
            }
            Stmt::StoreHalf { slot, at, upper, half } => {
                self.lines(self.dialect.store_half(*slot, &self.expr(at), *upper, &self.expr(half)))
            }
            Stmt::StoreShared(at, word) => {
                self.line(&format!("{} = {};", self.place(None, at), self.expr(word)))
            }
            Stmt::For { name, from, to, step, body } => {
                let first = self.dialect.define(name, &self.expr(from), true);
                let (to, step) = (self.expr(to), self.expr(step));
                self.line(&format!("for ({first} {name} < {to}; {name} += {step}) {{"));
                self.inner(body);
                self.line("}");
            }
            Stmt::If { condition, then } => {
                self.line(&format!("if ({}) {{", self.expr(condition)));
                self.inner(then);
                self.line("}");
            }
            Stmt::Barrier => self.line(self.dialect.barrier()),
            Stmt::StorageBarrier => self.line(self.dialect.storage_barrier()),
            Stmt::Copy { to, from: Expr::Four(slot, at) } => {
                self.line(&self.dialect.copy(&self.place(None, to), &self.place(*slot, at)))
            }
            Stmt::Copy { .. } => {}
            Stmt::EndCopies => self.lines(self.dialect.end_copies()),
            Stmt::WaitCopies(groups) => self.lines(self.dialect.wait_copies(*groups)),
            Stmt::Matrix { into, left, right } => {
                self.lines(self.dialect.matrix(into, &[self.all(left), self.all(right)].concat()))
            }
            Stmt::MatrixHalves { sums, left, right } => {
                let operands = [self.all(sums), self.all(left), self.all(right)].concat();
                self.line(&self.dialect.matrix_halves(&operands));
            }
            Stmt::LoadMatrices { into, at, turned } => {
                self.lines(self.dialect.load_matrices(into, &self.place(None, at), *turned))
            }
            Stmt::Warpgroup(of) => self.lines(self.dialect.warpgroup(of, &self.each(of.operands()))),
            Stmt::Cooperative(of) => self.lines(self.dialect.cooperative(of, &self.each(of.operands()))),
            Stmt::StoreTwo(slot, at, words) => {
                self.line(&self.dialect.store_two(&self.place(Some(*slot), at), &self.all(words)))
            }
            Stmt::StoreFour(at, words) => self.store_four(at, words),
            Stmt::LaunchNext => self.lines(self.dialect.launch_next()),
            Stmt::Wait => self.lines(self.dialect.wait()),
            Stmt::Fetch(slot, at) => self.lines(self.dialect.fetch(&self.place(Some(*slot), at))),
            Stmt::HoldLoads => self.lines(self.dialect.hold_loads()),
            Stmt::Arrive { name, slot, at, count } => {
                let arrived = self.dialect.arrive(&self.place(Some(*slot), at), *count);
                self.line(&self.dialect.define(name, &arrived, false));
            }
            Stmt::Signal { slot, at } => self.lines(self.dialect.signal(&self.place(Some(*slot), at))),
            Stmt::Await { slot, at } => {
                self.lines(self.dialect.wait_for_signal(&self.place(Some(*slot), at)))
            }
            Stmt::Ended(stage) => self.lines(self.dialect.ended(*stage)),
            Stmt::Meet { stage, count } => {
                self.lines(self.dialect.meet(&self.expr(stage), &self.expr(count)))
            }
            Stmt::Leave(stages) => self.lines(self.dialect.leave(*stages)),
            Stmt::Uniform(name, value) => self.lines(self.dialect.uniform(name, &self.expr(value))),
        }
    }

    fn each<'e>(&self, all: impl Iterator<Item = &'e Expr>) -> Vec<String> {
        all.map(|e| self.expr(e)).collect()
    }

    /// Stores four words, as one vector, or word by word where workgroup memory is declared as words.
    fn store_four(&mut self, at: &Expr, words: &[Expr; 4]) {
        let words = self.all(words);
        if !self.dialect.declares_fours() {
            return self.line(&self.dialect.store_four(&self.place(None, at), &words));
        }
        for (i, word) in (0u32..).zip(words) {
            self.line(&format!("{} = {word};", self.place(None, &(at + i))));
        }
    }

    /// The expression to print: a rounded product is a plain product where compilers fuse nothing.
    fn said<'e>(&self, e: &'e Expr) -> &'e Expr {
        match e {
            Expr::Call(Fun::Rounded, args) if !self.dialect.fuses() => args.first().unwrap_or(e),
            e => e,
        }
    }

    fn expr(&self, e: &Expr) -> String {
        let e = self.said(e);
        match e {
            Expr::Name(name) => name.to_string(),
            Expr::Word(slot, at) => self.word(*slot, &self.after_wait(*slot, at)),
            Expr::Shared(at) => self.place(None, at),
            Expr::Summed(at) => format!("floats[{}]", self.expr(at)),
            Expr::Four(Some(slot), at) => self.four(Some(*slot), &self.after_wait(*slot, at)),
            Expr::Four(None, at) => self.four(None, at),
            Expr::Part(name, i) => format!("{name}.{}", component(*i)),
            Expr::Early(from) if !self.dialect.keeps_loads() => self.expr(from),
            Expr::Early(from) => match &**from {
                Expr::Four(slot, at) => self.dialect.early(&self.place(*slot, at), true),
                other => self.dialect.early(&self.expr(other), false),
            },
            Expr::Once(from) => match (&**from, self.dialect.once()) {
                (Expr::Four(slot, at), Some(once)) => once(&self.place(*slot, at)),
                (other, _) => self.expr(other),
            },
            Expr::Binary(op, a, b) => {
                // This comes first, because printing `a` here and again below would double the work with each term of a long sum.
                if let (Op::Add, Expr::Call(Fun::Dot4, args)) = (*op, &**b)
                    && let Some(added) = self.dialect.dot4_added()
                {
                    return added(&self.expr(a), &self.all(args));
                }
                self.infix(*op, a, b)
            }
            Expr::Call(fun, args) => match (self.dialect.operator(*fun), &args[..]) {
                (Some(op), [a, b]) => format!("({})", self.infix(op, a, b)),
                _ => self.dialect.call(*fun, &self.all(args)),
            },
            Expr::Own(name, args) => format!("{name}({})", self.all(args).join(", ")),
            Expr::U32(n) if *n > 0xffff => format!("{n:#x}u"),
            Expr::U32(n) => format!("{n}u"),
            Expr::F32(x) => format!("{x:?}f"),
            Expr::True => "true".into(),
            Expr::Lane => "lane".into(),
            Expr::Group(axis) => self.dialect.group(*axis),
            Expr::Launched => self.dialect.launched().into(),
            Expr::Arg(i) => self.dialect.arg(*i),
            Expr::Size(i) => self.dialect.size(*i),
        }
    }

    /// The address of a load. In a coherent slot it depends on the last wait, so that the load cannot move before it.
    fn after_wait<'e>(&self, slot: usize, at: &'e Expr) -> Cow<'e, Expr> {
        let coherent = self.module.slots.get(slot).is_some_and(|slot| slot.coherent);
        match self.dialect.after_meeting().filter(|_| coherent) {
            Some(met) => Cow::Owned(at + Expr::name(met)),
            None => Cow::Borrowed(at),
        }
    }

    /// A word of a slot or of workgroup memory.
    fn place(&self, slot: Option<usize>, at: &Expr) -> String {
        match slot {
            Some(slot) => self.word(slot, at),
            None => self.dialect.shared(&self.expr(at)),
        }
    }

    /// The declaration of a slot's words.
    fn words(&self, slot: usize) -> Words {
        match self.module.slots.get(slot) {
            Some(Slot { pieces: 2.., .. }) => Words::Pieces,
            _ if self.halves.contains(&slot) => Words::Halves,
            _ if self.fours.contains(&slot) => Words::Fours,
            _ => Words::Plain,
        }
    }

    /// A word of a slot.
    fn word(&self, slot: usize, at: &Expr) -> String {
        let words = self.words(slot);
        if words == Words::Fours {
            return self.dialect.word(slot, &self.in_vectors(at), words);
        }
        match at.split_sum() {
            Some((base, n)) => {
                let (base, n) = (self.operand(Op::Add, &base, false), self.expr(&n.into()));
                self.dialect.word_after(slot, &base, &n, words)
            }
            None => self.dialect.word(slot, &self.expr(at), words),
        }
    }

    /// The place of a word in an array of vectors, without the outer brackets.
    fn in_vectors(&self, at: &Expr) -> String {
        format!("{}][{}", self.expr(&(at / 4u32)), self.expr(&(at % 4u32)))
    }

    /// Four words of a slot, or of workgroup memory.
    fn four(&self, slot: Option<usize>, at: &Expr) -> String {
        if !self.dialect.declares_fours() {
            return self.dialect.four(&self.place(slot, at));
        }
        match slot {
            Some(slot) if self.words(slot) == Words::Fours => {
                self.dialect.word(slot, &self.expr(&(at / 4u32)), Words::Fours)
            }
            // Memory that is not declared as vectors is loaded word by word.
            slot => {
                let words: Vec<String> = (0..4u32).map(|i| self.place(slot, &(at + i))).collect();
                self.dialect.vector(&words)
            }
        }
    }

    fn all(&self, args: &[Expr]) -> Vec<String> {
        args.iter().map(|a| self.expr(a)).collect()
    }

    /// An operator between its operands.
    fn infix(&self, op: Op, a: &Expr, b: &Expr) -> String {
        format!("{} {} {}", self.operand(op, a, false), spelling(op), self.operand(op, b, true))
    }

    /// An operand, in parentheses unless its precedence is beyond doubt.
    fn operand(&self, op: Op, e: &Expr, right: bool) -> String {
        let e = self.said(e);
        let text = self.expr(e);
        match e {
            Expr::Binary(inner, ..) if !binds(*inner, op, right) => format!("({text})"),
            _ => text,
        }
    }
}

/// Whether `inner` needs no parentheses as an operand of `outer` in any language, or for any
/// reader.
fn binds(inner: Op, outer: Op, right: bool) -> bool {
    let sum = |op| matches!(op, Op::Add | Op::Sub);
    let arithmetic = |op| sum(op) || op == Op::Mul;
    let compares = |op| matches!(op, Op::Less | Op::Greater | Op::Equal);
    match outer {
        Op::Add => inner == Op::Mul || (!right && sum(inner)),
        Op::Sub => inner == Op::Mul || (!right && sum(inner)),
        Op::Mul | Op::Or | Op::Both | Op::Either => {
            (inner == outer && !right) || (outer == Op::Both && compares(inner))
        }
        op if compares(op) => arithmetic(inner),
        _ => false,
    }
}

fn spelling(op: Op) -> &'static str {
    match op {
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::Div => "/",
        Op::Rem => "%",
        Op::And => "&",
        Op::Or => "|",
        Op::Xor => "^",
        Op::Shl => "<<",
        Op::Shr => ">>",
        Op::Less => "<",
        Op::Greater => ">",
        Op::Equal => "==",
        Op::Both => "&&",
        Op::Either => "||",
    }
}
