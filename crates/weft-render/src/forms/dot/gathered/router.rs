//! Row programs that select a few of a row's values, like a router's: each lane holds one value of the row, and all lanes compute the few
//! selected ones.
//!
//! Such a program is the end of a kernel that other kernels wait for, and its steps depend on each other. So its only barriers are those
//! around the selection.

use weft_kern::{Format, Instr, Part, Reduce, ValueId};
use weft_shader::expr::{Expr, Fun};

use crate::lower::reduce::Fold;
use crate::lower::row_program::{self, Column, RowProgram, RowState};
use crate::lower::select;
use crate::lower::space::Place;
use crate::lower::store::{self, Store};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The most values that all lanes compute.
const FEW: usize = 8;

/// A program that selects a few of a row's values.
pub(crate) struct Router<'p> {
    part: &'p Part,
    program: RowProgram<'p>,
    spot: RowState,
    /// Loaded vectors, by the instruction that loads them.
    loaded: Vec<(ValueId, Expr)>,
}

/// A value of the program.
#[derive(Clone)]
enum Value {
    /// One of a vector as long as the row, in the lane of its column.
    Own(Expr),
    /// All values of a short vector, the same in all lanes.
    Few(Vec<Expr>),
}

impl<'p> Router<'p> {
    /// The program of a part, if it selects so and the workgroup has a single row.
    pub(crate) fn new(w: &mut Writer<'_>, part: &'p Part, place: &Place) -> Option<Router<'p>> {
        let lens = part.lens();
        let partial = part.products().iter().any(|product| product.w.from.is_some());
        if partial || place.tile() != 1 || place.cols() > w.code.lanes || !w.quads || !selects(w, part, &lens)
        {
            return None;
        }
        let row = place.row(&mut w.code, &Expr::U32(0));
        Some(Router {
            part,
            program: RowProgram::new(&part.body, lens, Vec::new(), place.cols()),
            spot: RowState::new(row.axes, Expr::U32(0)),
            loaded: Vec::new(),
        })
    }

    fn column(&self) -> Column {
        Column::whole(Expr::Lane.min(self.part.cols as u32 - 1))
    }

    /// Loads the vectors that have not been loaded; only stable ones if the workgroup has yet to wait.
    pub(crate) fn load(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        for (v, instr) in self.part.body.iter().enumerate() {
            let Instr::Load { view, indexed: None, len } = instr else { continue };
            let known = self.loaded.iter().any(|(of, _)| *of == v);
            if *len != self.part.cols || known || w.waits && !w.is_stable(view.param) {
                continue;
            }
            let value = self.program.value(w, &mut self.spot.clone(), v, &self.column())?;
            self.loaded.push((v, value));
        }
        Ok(())
    }

    /// Computes the program of a row's results, one column in each lane, and stores its values. All lanes must get here.
    pub(crate) fn write(mut self, w: &mut Writer<'_>, results: &[Expr]) -> Result<(), Why> {
        self.load(w)?;
        let body = &self.part.body;
        let mut values: Vec<Value> = Vec::new();
        // Vectors in workgroup memory, because other lanes read their values.
        let mut shared: Vec<(ValueId, u32)> = Vec::new();
        for (v, instr) in body.iter().enumerate() {
            let value = match instr {
                Instr::Const(value) => Value::Few(vec![Expr::F32(value.0)]),
                Instr::Acc(result) => Value::Own(results[*result].clone()),
                Instr::Load { .. } => {
                    let value = self.loaded.iter().find(|(of, _)| *of == v).map(|(_, value)| value.clone());
                    Value::Own(value.ok_or_else(|| Why::Form(format!("has not loaded v{v}")))?)
                }
                Instr::Unary(op, x) => values[*x].clone().each(w, |value| row_program::unary(*op, value)),
                Instr::Binary(op, a, b) => {
                    binary(w, &values[*a], &values[*b], |a, b| row_program::binary(*op, a, b))
                }
                Instr::TopK { x, k } => {
                    let key = select::key(w, values[*x].own()?);
                    let keys = self.share(w, key)?;
                    // Vectors that are indexed are stored before the same barrier.
                    for instr in body {
                        if let Instr::Take { from, .. } = instr
                            && let Some(Value::Own(value)) = values.get(*from)
                        {
                            let at = self.share(w, value.clone().bits())?;
                            shared.push((*from, at));
                        }
                    }
                    let found = select::largest(w, keys, word(self.part.cols)?, word(*k)?);
                    let ids = (0..*k as u32).map(|j| w.load_shared((found + j).into()));
                    let ids: Vec<Expr> = ids.collect();
                    Value::Few(ids.into_iter().map(|id| w.code.set("id", id)).collect())
                }
                Instr::Take { from, ids } => {
                    let at = shared.iter().find(|(of, _)| of == from).map(|(_, at)| *at);
                    let at = at.ok_or_else(|| Why::Form(format!("takes of v{from} before it is known")))?;
                    values[*ids].clone().each(w, |id| {
                        let id = Expr::call(Fun::U32OfFloat, [id]).min(self.part.cols as u32 - 1);
                        Expr::Shared((id + at).into()).float()
                    })
                }
                Instr::Reduce(op, x) => Value::Few(vec![reduced(w, *op, &values[*x].few()?)]),
                Instr::Store { .. } => Value::Few(Vec::new()),
                Instr::Rope { .. } => return Err(Why::Form(format!("rotates a selection (v{v})"))),
            };
            values.push(value);
        }
        store::stores(body).iter().try_for_each(|store| self.store(w, store, &values[store.value]))
    }

    /// Stores a word of each of the row's columns in workgroup memory. Lanes see them after a barrier.
    fn share(&self, w: &mut Writer<'_>, bits: Expr) -> Result<u32, Why> {
        let n = word(self.part.cols)?;
        let at = w.pool.alloc(n);
        w.share(n, |w, c| {
            w.code.store_shared(c + at, bits);
            Ok(())
        })?;
        Ok(at)
    }

    fn store(&self, w: &mut Writer<'_>, store: &Store<'_>, value: &Value) -> Result<(), Why> {
        let format = w.format(store.view.param);
        let step = word(store.view.step)?;
        match value {
            Value::Own(value) => w.share(word(self.part.cols)?, |w, column| {
                let bits = store::whole_bits(format, value.clone());
                store::to_memory(w, &self.spot, (store, None), (&(column * step), 1), bits)
            }),
            Value::Few(values) => w.when(Expr::Lane.equal(0u32), |w| {
                values.iter().enumerate().try_for_each(|(j, value)| {
                    let bits = store::whole_bits(format, value.clone());
                    store::to_memory(w, &self.spot, (store, None), (&(j as u32 * step).into(), 1), bits)
                })
            }),
        }
    }
}

impl Value {
    fn each(self, w: &mut Writer<'_>, of: impl Fn(Expr) -> Expr) -> Value {
        match self {
            Value::Own(value) => Value::Own(w.code.set("v", of(value))),
            Value::Few(values) => {
                Value::Few(values.into_iter().map(|value| w.code.set("v", of(value))).collect())
            }
        }
    }

    fn own(&self) -> Result<Expr, Why> {
        match self {
            Value::Own(value) => Ok(value.clone()),
            Value::Few(_) => Err(Why::Form("selects from a selection".into())),
        }
    }

    fn few(&self) -> Result<Vec<Expr>, Why> {
        match self {
            Value::Few(values) => Ok(values.clone()),
            Value::Own(_) => Err(Why::Form("reduces a row that lanes hold".into())),
        }
    }
}

/// A value of two operands; a scalar is repeated.
fn binary(w: &mut Writer<'_>, a: &Value, b: &Value, of: impl Fn(Expr, Expr) -> Expr) -> Value {
    let scalar = |values: &[Expr]| values.first().cloned().unwrap_or(Expr::F32(0.0));
    let mut set = |value: Expr| w.code.set("v", value);
    match (a, b) {
        (Value::Own(a), Value::Own(b)) => Value::Own(set(of(a.clone(), b.clone()))),
        (Value::Own(a), Value::Few(b)) => Value::Own(set(of(a.clone(), scalar(b)))),
        (Value::Few(a), Value::Own(b)) => Value::Own(set(of(scalar(a), b.clone()))),
        (Value::Few(a), Value::Few(b)) => {
            let n = a.len().max(b.len());
            let at = |values: &[Expr], i: usize| values[i.min(values.len() - 1)].clone();
            Value::Few((0..n).map(|i| set(of(at(a, i), at(b, i)))).collect())
        }
    }
}

/// Reduces a few values in the order of a workgroup's lanes: each lane its four columns, or one if there are no whole fours, and then lanes
/// in pairs and pairs of pairs.
fn reduced(w: &mut Writer<'_>, op: Reduce, values: &[Expr]) -> Expr {
    let fold = match op {
        Reduce::Sum => Fold::Sum,
        Reduce::Max => Fold::Max,
    };
    let per = if values.len().is_multiple_of(4) { 4 } else { 1 };
    let mut set = |value: Expr| w.code.set("both", value);
    let mut lanes: Vec<Expr> = Vec::new();
    for four in values.chunks(per) {
        // A sum begins with 0, which turns −0 into 0.
        let first = if fold == Fold::Sum { Some(Expr::F32(0.0)) } else { None };
        lanes.extend(first.into_iter().chain(four.iter().cloned()).reduce(|a, b| set(fold.of(a, b))));
    }
    while lanes.len() > 1 {
        let pairs = lanes.chunks(2).map(|pair| match pair {
            [a, b] => set(fold.of(a.clone(), b.clone())),
            one => one[0].clone(),
        });
        lanes = pairs.collect();
    }
    lanes.pop().unwrap_or(Expr::F32(0.0))
}

/// Whether this can compute a part's program.
fn selects(w: &Writer<'_>, part: &Part, lens: &[usize]) -> bool {
    let all = part.cols;
    let few = |v: ValueId| lens[v] <= FEW;
    let words = |format: Format| matches!(format, Format::F32 | Format::I32);
    // Indexed vectors must be complete when the selection is made.
    let selection = part.body.iter().position(|instr| matches!(instr, Instr::TopK { .. }));
    let Some(selection) = selection.filter(|_| all > FEW) else { return false };
    part.body.iter().enumerate().all(|(v, instr)| match instr {
        Instr::Const(value) => value.0.is_finite(),
        Instr::Acc(_) => true,
        Instr::Load { view, indexed, len } => indexed.is_none() && *len == all && words(w.format(view.param)),
        Instr::TopK { x, k } => v == selection && lens[*x] == all && *k <= FEW,
        Instr::Take { from, ids } => lens[*from] == all && *from < selection && few(*ids),
        Instr::Unary(_, x) => lens[*x] == all || few(*x),
        Instr::Binary(_, a, b) => {
            let one = lens[*a] == 1 || lens[*b] == 1;
            lens[*a] == lens[*b] || one && [*a, *b].into_iter().all(|v| lens[v] == all || few(v))
        }
        Instr::Reduce(_, x) => few(*x) && lens[*x] > 1,
        Instr::Rope { .. } => false,
        Instr::Store { value, view, .. } => {
            (lens[*value] == all || few(*value)) && words(w.format(view.param))
        }
    })
}
