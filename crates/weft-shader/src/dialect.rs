//! The spelling of the structured program in a language.
//!
//! Every method of [`Dialect`] except three has a default, which is C++. A dialect overrides those that differ in its language.

mod cuda;
mod print;
mod wgsl;

pub use cuda::{BLOCKS_POOL, CUDA_OPTIONS, Cuda, DYNAMIC_POOL, STATIC_SHARED_BYTES, WARP};
pub use print::print;
pub use wgsl::Wgsl;

use crate::cooperative::Cooperative;
use crate::expr::{Fun, Op};
use crate::module::{Function, Module, Type};
use crate::warpgroup::Warpgroup;

/// The declaration of a slot's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// The words of one buffer.
    Plain,
    /// The words of one buffer, to which [`store_half`](Dialect::store_half) also stores.
    Halves,
    /// The words of several buffers, one after another. Languages that bind addresses do not need it.
    Pieces,
    /// The words of one buffer, declared as vectors of four, in languages that cannot load four neighbours otherwise.
    Fours,
}

/// A C-like language.
pub trait Dialect {
    /// Everything before the functions: types, buffers, helper functions.
    fn globals(&self, module: &Module) -> String;

    /// The entry point's head, up to its brace.
    fn entry(&self, module: &Module) -> String;

    /// [`Stmt::Barrier`](crate::stmt::Stmt::Barrier).
    fn barrier(&self) -> &'static str;

    /// [`Stmt::StorageBarrier`](crate::stmt::Stmt::StorageBarrier).
    fn storage_barrier(&self) -> &'static str {
        self.barrier()
    }

    /// [`Stmt::LaunchNext`](crate::stmt::Stmt::LaunchNext); nothing in languages without it.
    fn launch_next(&self) -> Option<&'static str> {
        None
    }

    /// [`Stmt::Wait`](crate::stmt::Stmt::Wait); nothing in languages without it.
    fn wait(&self) -> Option<&'static str> {
        None
    }

    /// [`Stmt::Fetch`](crate::stmt::Stmt::Fetch) of a word; nothing in languages without it.
    fn fetch(&self, _place: &str) -> Option<String> {
        None
    }

    /// [`Stmt::HoldLoads`](crate::stmt::Stmt::HoldLoads); nothing in languages without it.
    fn hold_loads(&self) -> Option<&'static str> {
        None
    }

    /// The entry point's name, for a kernel of this name.
    fn entry_name(&self, _kernel: &str) -> String {
        "main".into()
    }

    /// The first lines of the entry point's body.
    fn prelude(&self, _module: &Module) -> Vec<String> {
        Vec::new()
    }

    /// A type's name.
    fn type_name(&self, ty: Type) -> &'static str {
        match ty {
            Type::U32 => "unsigned int",
            Type::F32 => "float",
        }
    }

    /// The keywords before a function's head.
    fn function_prefix(&self) -> &'static str {
        "static "
    }

    /// A function's head, up to its brace.
    fn function(&self, function: &Function) -> String {
        let param = |(name, ty): &(&str, Type)| format!("{} {name}", self.type_name(*ty));
        let params: Vec<String> = function.params.iter().map(param).collect();
        let result = self.type_name(function.result);
        format!("{}{result} {}({})", self.function_prefix(), function.name, params.join(", "))
    }

    /// The definition of a constant or a variable.
    fn define(&self, name: &str, value: &str, variable: bool) -> String {
        format!("{} {name} = {value};", if variable { "auto" } else { "const auto" })
    }

    /// The workgroup's index along an axis of the grid.
    fn group(&self, axis: usize) -> String {
        format!("group.{}", component(axis))
    }

    /// A word of `args`.
    fn arg(&self, i: usize) -> String {
        format!("args.words[{i}]")
    }

    /// A word of `sizes`.
    fn size(&self, i: usize) -> String {
        format!("sizes.words[{i}]")
    }

    /// A word of a slot with words of this kind.
    fn word(&self, slot: usize, at: &str, _words: Words) -> String {
        format!("b{slot}[{at}]")
    }

    /// The word `n` after one. It is not a sum of 32-bit numbers, which could wrap around, so that the compiler can make `n` part of an
    /// instruction.
    fn word_after(&self, slot: usize, at: &str, n: &str, _words: Words) -> String {
        format!("(b{slot} + ({at}))[{n}]")
    }

    /// Four words from `place` on.
    fn four(&self, place: &str) -> String {
        format!("*(const uint4*)&{place}")
    }

    /// Whether memory from which four words are loaded at once is declared as vectors ([`Words::Fours`]).
    fn declares_fours(&self) -> bool {
        false
    }

    /// A vector of four words.
    fn vector(&self, words: &[String]) -> String {
        format!("make_uint4({})", words.join(", "))
    }

    /// Whether loads can be kept in place, as [`early`](Dialect::early) does.
    fn keeps_loads(&self) -> bool {
        true
    }

    /// A word of a weight, or four words from one on, in a load that compilers keep in place.
    fn early(&self, place: &str, four: bool) -> String {
        format!("load_early{}(&{place})", if four { "_4" } else { "" })
    }

    /// Loads four words of a slot that caches need not keep, if the language can express it.
    fn once(&self) -> Option<fn(&str) -> String> {
        None
    }

    /// [`Stmt::Arrive`](crate::stmt::Stmt::Arrive), as a condition; `place` is the word.
    fn arrive(&self, place: &str, count: u32) -> String {
        format!("is_last(&{place}, {count}u)")
    }

    /// [`Stmt::Signal`](crate::stmt::Stmt::Signal); `place` is the word. Only texts for GPUs whose workgroups can wait for each other have
    /// it.
    fn signal(&self, _place: &str) -> Option<String> {
        None
    }

    /// [`Stmt::Await`](crate::stmt::Stmt::Await); `place` is the word. Only texts for GPUs whose workgroups can wait for each other have
    /// it.
    fn wait_for_signal(&self, _place: &str) -> Option<String> {
        None
    }

    /// The number of workgroups along the first axis of the grid.
    fn launched(&self) -> &'static str {
        "gridDim.x"
    }

    /// The lines of [`Stmt::Ended`](crate::stmt::Stmt::Ended). Only chains have it.
    fn ended(&self, _stage: u32) -> Vec<String> {
        Vec::new()
    }

    /// The lines of [`Stmt::Meet`](crate::stmt::Stmt::Meet). Only chains have it.
    fn meet(&self, _stage: &str, _count: &str) -> Vec<String> {
        Vec::new()
    }

    /// The lines of [`Stmt::Leave`](crate::stmt::Stmt::Leave). Only chains have it.
    fn leave(&self, _stages: u32) -> Vec<String> {
        Vec::new()
    }

    /// The term that orders a load of coherent memory after [`meet`](Dialect::meet) when it is added to the address, if the language needs
    /// one.
    fn after_meeting(&self) -> Option<&'static str> {
        None
    }

    /// [`Stmt::Store`](crate::stmt::Stmt::Store).
    fn store(&self, slot: usize, at: &str, word: &str, _halves: bool) -> String {
        format!("b{slot}[{at}] = {word};")
    }

    /// The lines of [`Stmt::StoreHalf`](crate::stmt::Stmt::StoreHalf).
    fn store_half(&self, slot: usize, at: &str, upper: bool, half: &str) -> Vec<String> {
        let (which, half) = if upper { (1, format!("({half}) >> 16u")) } else { (0, half.into()) };
        vec![format!("((unsigned short*)(b{slot} + ({at})))[{which}] = (unsigned short)({half});")]
    }

    /// A word of workgroup memory.
    fn shared(&self, at: &str) -> String {
        format!("pool[{at}]")
    }

    /// The lines of [`Stmt::Uniform`](crate::stmt::Stmt::Uniform).
    fn uniform(&self, name: &str, value: &str) -> Vec<String> {
        vec![self.define(name, value, false)]
    }

    /// The lines of [`Stmt::Matrix`](crate::stmt::Stmt::Matrix). Only texts for GPUs with matrix units have it.
    fn matrix(&self, _into: &[String; 4], _operands: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// [`Stmt::MatrixHalves`](crate::stmt::Stmt::MatrixHalves). Only texts for GPUs with matrix units for halves have it.
    fn matrix_halves(&self, _operands: &[String]) -> String {
        String::new()
    }

    /// The lines of [`Stmt::LoadMatrices`](crate::stmt::Stmt::LoadMatrices); `place` is the first word. Only texts for GPUs with matrix
    /// units for halves have it.
    fn load_matrices(&self, _into: &[String; 4], _place: &str, _turned: bool) -> Vec<String> {
        Vec::new()
    }

    /// [`Stmt::Warpgroup`](crate::stmt::Stmt::Warpgroup). Only texts for Hopper have it.
    fn warpgroup(&self, _of: &Warpgroup, _operands: &[String]) -> Option<String> {
        None
    }

    /// The lines of [`Stmt::Cooperative`](crate::stmt::Stmt::Cooperative). Only texts for GPUs with cooperative matrices have it.
    fn cooperative(&self, _of: &Cooperative, _operands: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// [`Stmt::StoreTwo`](crate::stmt::Stmt::StoreTwo); `place` is the first word.
    fn store_two(&self, _place: &str, _words: &[String]) -> String {
        String::new()
    }

    /// [`Stmt::StoreFour`](crate::stmt::Stmt::StoreFour); `place` is the first word.
    fn store_four(&self, _place: &str, _words: &[String]) -> String {
        String::new()
    }

    /// [`Stmt::Copy`](crate::stmt::Stmt::Copy); languages that copy at once need no more.
    fn copy(&self, to: &str, from: &str) -> String {
        format!("copy_4(&{to}, &{from});")
    }

    /// [`Stmt::EndCopies`](crate::stmt::Stmt::EndCopies); nothing in languages that copy at once.
    fn end_copies(&self) -> Option<String> {
        None
    }

    /// [`Stmt::WaitCopies`](crate::stmt::Stmt::WaitCopies); nothing in languages that copy at once.
    fn wait_copies(&self, _groups: u32) -> Option<String> {
        None
    }

    /// Whether compilers may fuse a product with a sum, unless it is [`Fun::Rounded`].
    fn fuses(&self) -> bool {
        false
    }

    /// The operator for a built-in function of two operands, if the language has one.
    fn operator(&self, _fun: Fun) -> Option<Op> {
        None
    }

    /// A call of a builtin function.
    fn call(&self, fun: Fun, args: &[String]) -> String {
        c_call(fun, args)
    }

    /// `sum + dot4(args)`, if the language has one function for both.
    fn dot4_added(&self) -> Option<fn(&str, &[String]) -> String> {
        None
    }
}

/// A call in C++. Functions that C++ lacks are called by a name that [`Dialect::globals`] must
/// define.
pub(crate) fn c_call(fun: Fun, args: &[String]) -> String {
    let name = match fun {
        Fun::Rounded => "rounded",
        Fun::Float => "as_float",
        Fun::Bits => "as_uint",
        Fun::FloatOfU32 | Fun::FloatOfI32 => "(float)",
        Fun::IntOfFloat | Fun::Signed => "(int)",
        Fun::U32OfFloat | Fun::Unsigned => "(unsigned int)",
        Fun::Negate => "-",
        Fun::Min => "min",
        Fun::Max => "max",
        Fun::Exp => "expf",
        Fun::InverseSqrt => "rsqrtf",
        Fun::Quotient => "quotient",
        Fun::Round => "rintf",
        Fun::Fma => "fmaf",
        Fun::Select => {
            if let [no, yes, condition] = args {
                return format!("({condition} ? {yes} : {no})");
            }
            "select"
        }
        Fun::Half => "half_to_float",
        Fun::PackHalves => "pack_halves",
        Fun::Dot4 => "dot4",
        Fun::PickBytes => "pick_bytes",
        Fun::Shuffle => "shuffle_xor",
    };
    format!("{name}({})", args.join(", "))
}

/// The name of a vector's component.
pub(crate) fn component(i: usize) -> &'static str {
    ["x", "y", "z", "w"][i % 4]
}
