//! How a language spells the structured program.

pub(crate) mod print;
pub(crate) mod wgsl;

use crate::code::expr::{Expr, Fun};
use crate::code::module::{Function, Module};

/// How a language spells things.
pub(crate) trait Dialect {
    /// Everything before the functions: buffers and the workgroup's memory.
    fn globals(&self, module: &Module) -> String;
    /// The line that begins the entry point, up to its brace.
    fn entry(&self, module: &Module) -> String;
    /// Lines that the entry point begins with.
    fn prelude(&self, module: &Module) -> Vec<String>;
    /// The line that begins a function, up to its brace.
    fn function(&self, function: &Function) -> String;
    /// A literal, a builtin, or a word of a uniform buffer.
    fn atom(&self, atom: &Expr) -> String;
    /// A word of a slot; `halves` are stored there as well.
    fn word(&self, slot: usize, at: &str, halves: bool) -> String;
    /// [`Stmt::Store`].
    fn store(&self, slot: usize, at: &str, word: &str, halves: bool) -> String;
    /// [`Stmt::StoreHalf`], as lines.
    fn store_half(&self, slot: usize, at: &str, upper: bool, half: &str) -> Vec<String>;
    /// A place in the workgroup's memory.
    fn shared(&self, at: &str) -> String;
    /// A call.
    fn call(&self, fun: Fun, args: &[String]) -> String;
    /// `name` becomes `value`, forever or as a variable.
    fn define(&self, name: &str, value: &str, variable: bool) -> String;
    /// [`Stmt::Barrier`].
    fn barrier(&self) -> &'static str;
    /// [`Stmt::Agree`], as lines.
    fn agree(&self, name: &str, value: &str) -> Vec<String>;
}
