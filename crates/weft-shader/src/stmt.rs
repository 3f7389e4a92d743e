//! Statements of the structured program.

use crate::cooperative::Cooperative;
use crate::expr::Expr;
use crate::warpgroup::Warpgroup;

/// A variable that is always 0. [`Stmt::Meet`] sets it to a 0 that compilers do not know to be one, and loads of coherent slots add it to
/// their address.
pub const MET: &str = "met";

/// The number that is added to the sums of [`Stmt::Matrix`]: 1.5 · 2^23. The low bits of a float of this size are those of an integer, so
/// sums need no conversion.
pub const RAISED: f32 = 12_582_912.0;

/// A statement.
#[allow(missing_docs, reason = "the sentence of a variant names its fields")]
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// A comment.
    Note(String),
    /// A named constant.
    Let(String, Expr),
    /// A variable with its initial value.
    Var(String, Expr),
    /// An assignment to a variable.
    Set(String, Expr),
    /// Stores a word to a slot.
    Store(usize, Expr, Expr),
    /// Stores two words to a slot, from a multiple of two on.
    StoreTwo(usize, Expr, [Expr; 2]),
    /// Stores the upper or the lower half of a word to a slot; another workgroup may store the
    /// other half at the same time. The other half of `half` is zero.
    StoreHalf { slot: usize, at: Expr, upper: bool, half: Expr },
    /// Stores a word in workgroup memory.
    StoreShared(Expr, Expr),
    /// `for name = from; name < to; name += step`.
    For { name: String, from: Expr, to: Expr, step: Expr, body: Vec<Stmt> },
    /// Runs a block if a condition holds.
    If { condition: Expr, then: Vec<Stmt> },
    /// Waits for all lanes of the workgroup, and makes their stores to workgroup memory visible.
    Barrier,
    /// A barrier that also makes the lanes' stores to slots visible to the others of the workgroup.
    StorageBarrier,
    /// Begins to copy four words of a slot ([`Expr::Four`]) to workgroup memory, from a multiple of four
    /// words to a multiple of four.
    Copy { to: Expr, from: Expr },
    /// Ends a group of the lane's copies, which may be empty.
    EndCopies,
    /// Waits until all but this many of the lane's last groups of copies have arrived. Other lanes see them after the next barrier.
    WaitCopies(u32),
    /// Multiplies 16 rows of 32 or 16 signed bytes by 8 such columns, on matrix units. Lanes have four or two words of rows, and half as
    /// many of columns. Names the lane's four sums as floats, each added to [`RAISED`]; they are exact. All lanes of a warp must get here.
    Matrix { into: [String; 4], left: Vec<Expr>, right: Vec<Expr> },
    /// Multiplies 16 rows of 16 halves by 8 such columns, on matrix units, and adds the products to the lane's four sums, which are
    /// variables. All lanes of a warp must get here.
    MatrixHalves { sums: [Expr; 4], left: [Expr; 4], right: [Expr; 2] },
    /// Names the lane's words of four matrices of 8 rows of 8 halves in workgroup memory, in the layout of matrix units, or `turned`, with
    /// rows as columns. Lane `8 · m + r` gives the address of row `r` of matrix `m`, a multiple of four words. All lanes of a warp must get
    /// here.
    LoadMatrices { into: [String; 4], at: Expr, turned: bool },
    /// An operation of four warps together.
    Warpgroup(Warpgroup),
    /// An operation on cooperative matrices.
    Cooperative(Cooperative),
    /// Stores four words in workgroup memory, from a multiple of four on.
    StoreFour(Expr, [Expr; 4]),
    /// Lets the launch that depends on this one begin.
    LaunchNext,
    /// Waits until the launch that this one depends on has ended, and makes its stores visible.
    Wait,
    /// Prefetches a word of a slot.
    Fetch(usize, Expr),
    /// Keeps earlier loads before later operations, so that all of them are in flight at once. All lanes of a warp must get here.
    HoldLoads,
    /// Makes the workgroup's stores visible to others, and counts it at word `at` of a slot. Names the condition that it is the last of
    /// `count`, which then sees the stores of all of them. The word is 0 before the first and after the last. All lanes must get here.
    Arrive { name: String, slot: usize, at: Expr, count: u32 },
    /// Makes the workgroup's stores visible to the one that awaits this signal: word `at` of a slot becomes 1. All lanes must get here.
    Signal { slot: usize, at: Expr },
    /// Waits for the [`Signal`](Stmt::Signal) of another workgroup of the launch, which must be running, and makes its stores visible. The
    /// word is 0 afterwards. All lanes must get here.
    Await { slot: usize, at: Expr },
    /// In a chain, counts the workgroup as one that has ended a stage, and makes its stores visible to those that [`Meet`] it. All lanes
    /// must get here.
    ///
    /// [`Meet`]: Stmt::Meet
    Ended(u32),
    /// In a chain, waits until this many workgroups have ended a stage, and makes their stores visible to loads that add [`MET`] to their
    /// address. All lanes must get here.
    Meet { stage: Expr, count: Expr },
    /// Ends a chain of this many stages: the last workgroup to get here resets their counters.
    Leave(u32),
    /// Names a word that is the same in all lanes. It tells languages that require uniform control flow that the word is uniform. All lanes
    /// must get here.
    Uniform(String, Expr),
}

/// Whether a named value is used.
pub fn mentions(stmts: &[Stmt], name: &str) -> bool {
    let mut found = false;
    visit(stmts, &mut |_| (), &mut |e| found |= matches!(e, Expr::Name(other) if **other == *name));
    found
}

/// Calls `stmt` with every statement, and `expr` with every expression within them.
pub fn visit(stmts: &[Stmt], stmt: &mut impl FnMut(&Stmt), expr: &mut impl FnMut(&Expr)) {
    for each in stmts {
        stmt(each);
        match each {
            Stmt::Let(_, e) | Stmt::Var(_, e) | Stmt::Set(_, e) | Stmt::Uniform(_, e) => e.visit(expr),
            Stmt::Store(_, at, word)
            | Stmt::StoreHalf { at, half: word, .. }
            | Stmt::StoreShared(at, word) => {
                at.visit(expr);
                word.visit(expr);
            }
            Stmt::For { from, to, step, body, .. } => {
                [from, to, step].into_iter().for_each(|e| e.visit(expr));
                visit(body, stmt, expr);
            }
            Stmt::If { condition, then } => {
                condition.visit(expr);
                visit(then, stmt, expr);
            }
            Stmt::Arrive { at, .. }
            | Stmt::Signal { at, .. }
            | Stmt::Await { at, .. }
            | Stmt::Fetch(_, at) => {
                at.visit(expr);
            }
            Stmt::Matrix { left, right, .. } => left.iter().chain(right).for_each(|e| e.visit(expr)),
            Stmt::MatrixHalves { left, right, .. } => {
                left.iter().chain(right).for_each(|e| e.visit(expr));
            }
            Stmt::LoadMatrices { at, .. } => at.visit(expr),
            Stmt::Warpgroup(of) => of.operands().for_each(|e| e.visit(expr)),
            Stmt::Cooperative(of) => of.operands().for_each(|e| e.visit(expr)),
            Stmt::StoreTwo(_, at, words) => {
                at.visit(expr);
                words.iter().for_each(|e| e.visit(expr));
            }
            Stmt::StoreFour(at, words) => {
                at.visit(expr);
                words.iter().for_each(|e| e.visit(expr));
            }
            Stmt::Meet { stage, count } => [stage, count].into_iter().for_each(|e| e.visit(expr)),
            Stmt::Copy { to, from } => [to, from].into_iter().for_each(|e| e.visit(expr)),
            Stmt::Note(_)
            | Stmt::Barrier
            | Stmt::StorageBarrier
            | Stmt::LaunchNext
            | Stmt::Wait
            | Stmt::HoldLoads
            | Stmt::Ended(_)
            | Stmt::Leave(_)
            | Stmt::EndCopies
            | Stmt::WaitCopies(_) => {}
        }
    }
}
