//! Chooses forms by prices that add up, where the search begins.
//!
//! Kernels result from fusion, so no price of a single operation is right. For an anchor, a launch and the bytes of its weights
//! are a good start; several sets of prices give different ones.

use weft_ir::{Op, Type};
use weft_kern::Machine;

use crate::forms::{Choice, Form, Forms};
use crate::saturate::is_movement;

/// The most rounds.
const ROUNDS: usize = 50;

/// The price of a reshape or a slice: next to nothing, but it should have a reason.
const MOVEMENT_NS: f64 = 0.1;

/// Prices of operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prices {
    pub(crate) machine: Machine,
    /// What an anchor costs, in launches.
    pub(crate) launches: f64,
}

impl Prices {
    /// The price of a form in nanoseconds, for one token.
    fn of(&self, form: &Form, operands: &[&Type]) -> f64 {
        let Machine { workers, launch_ns, bytes, worker_values, .. } = self.machine;
        let op = &form.head.op;
        if op.is_source() || matches!(op, Op::Product { .. }) {
            return 0.0;
        }
        let values = form.head.ty.shape.known_count().unwrap_or(usize::MAX) as f64;
        let row_program = MOVEMENT_NS + values * 1e9 / (worker_values.max(1) as f64 * workers.max(1) as f64);
        let launch = launch_ns as f64 * self.launches;
        let matrices = match op {
            Op::Dot | Op::HeadDot { .. } => 1.0,
            // Only the selected experts.
            Op::SelectDot | Op::SelectSum => {
                let [picked, all] = [operands[2].shape.last(), operands[1].shape.dims()[0].known()];
                picked.unwrap_or(1) as f64 / all.unwrap_or(1) as f64
            }
            Op::TopK { .. } | Op::Attend { .. } => return launch + row_program,
            op if is_movement(op) => return MOVEMENT_NS,
            _ => return row_program,
        };
        launch + matrices * stored_bytes(operands[1]) * 1e9 / bytes.max(1) as f64
    }
}

fn stored_bytes(ty: &Type) -> f64 {
    let values = ty.shape.known_count().unwrap_or(usize::MAX) as f64;
    values / ty.dtype.block_len() as f64 * ty.dtype.block_bytes() as f64
}

/// The cheapest known form of a class.
#[derive(Clone, Debug)]
struct Best {
    form: usize,
    /// The class, and all classes that it is computed from.
    classes: Classes,
    cost: f64,
}

/// Chooses forms bottom up. What two operands share is paid once, but a choice is not revised for what could be shared further
/// up.
pub(crate) fn greedy(forms: &Forms, prices: Prices) -> Choice {
    let types: Vec<Option<&Type>> =
        forms.classes.iter().map(|class| class.first().map(|form| &form.head.ty)).collect();
    let price = |form: &Form| {
        let operands = form.operands.iter().map(|operand| types[*operand]).collect::<Option<Vec<_>>>();
        operands.map(|operands| prices.of(form, &operands))
    };
    let own: Vec<Vec<Option<f64>>> = forms.classes.iter().map(|c| c.iter().map(price).collect()).collect();
    let mut best: Vec<Option<Best>> = vec![None; forms.classes.len()];
    for _ in 0..ROUNDS {
        let mut improved = false;
        for (class, of) in forms.classes.iter().enumerate() {
            for (at, form) in of.iter().enumerate() {
                let Some(price) = own[class][at] else { continue };
                let Some(classes) = together(class, form, &best) else { continue };
                let paid = |c: usize| best[c].as_ref().and_then(|b| own[c][b.form]);
                let cost = price + classes.iter().filter_map(paid).sum::<f64>();
                if best[class].as_ref().is_none_or(|known| cost + 1e-6 < known.cost) {
                    let classes = classes.with(class);
                    best[class] = Some(Best { form: at, classes, cost });
                    improved = true;
                }
            }
        }
        if !improved {
            break;
        }
    }
    best.into_iter().map(|best| best.map_or(0, |b| b.form)).collect()
}

/// All classes that a form's operands are computed from; `None` if one of them is not known yet, or is computed from the class
/// itself.
fn together(class: usize, form: &Form, best: &[Option<Best>]) -> Option<Classes> {
    let mut classes = Classes(vec![0; best.len().div_ceil(64)]);
    for operand in &form.operands {
        let Classes(of) = &best[*operand].as_ref()?.classes;
        classes.0.iter_mut().zip(of).for_each(|(all, more)| *all |= more);
    }
    (!classes.has(class)).then_some(classes)
}

/// A set of classes as bits, because every class has one and they are united again and again.
#[derive(Clone, Debug)]
struct Classes(Vec<u64>);

impl Classes {
    fn has(&self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    fn with(mut self, class: usize) -> Classes {
        self.0[class / 64] |= 1 << (class % 64);
        self
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|class| self.has(*class))
    }
}
