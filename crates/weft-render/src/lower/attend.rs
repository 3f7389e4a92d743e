//! Attention, by online softmax. A workgroup has some heads of one token that share their keys. Positions are split into chunks of a fixed
//! length. A chunk is visited in blocks ([`walk`](crate::forms::attend::lanes::walk)), and the results of chunks are combined in order
//! ([`join`]). So the order of a sum depends on the sequence alone: one workgroup may visit all chunks, or each chunk may have a workgroup
//! and a second shader combine them, with the same bits.

pub(crate) mod context;
pub(crate) mod join;
pub(crate) mod many;
pub(crate) mod members;

use weft_kern::{Attend, Part};
use weft_shader::expr::Expr;

use crate::forms::attend::{cooperative, lanes, units, warpgroups};
use crate::forms::dot::lanes::write::products::Results;
use crate::lower::attend::context::{Context, knows_positions};
use crate::lower::before_wait::BeforeWait;
use crate::lower::lanes::Lanes;
use crate::lower::pass::Pass;
use crate::lower::space::{Place, Space};
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Far more bytes than any workgroup memory: offsets below this cannot overflow.
const MOST_KEPT: u64 = 1 << 20;

/// Writes the attention of a workgroup, and its row program, unless the second shader runs that.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let Some(attend) = part.attention() else { return Err(Why::Form("has no attention".into())) };
    if let Pass::Shared(shares) = pass {
        return warpgroups::write::share(w, (part, attend), split, (space, shares), group);
    }
    let mut group = group.clone();
    if split.matrix && matches!(pass, Pass::Whole | Pass::Joined { .. }) {
        // Later tokens attend to more positions, and the longest work begins first.
        group = space.count(&mut w.code) - 1u32 - group;
    }
    let place = space.place(&mut w.code, &group);
    let mut lanes = match pass {
        Pass::Join { .. } => Lanes::new(w, part, &place),
        _ => None,
    };
    if let Some(lanes) = lanes.as_mut().filter(|_| w.waits) {
        lanes.load(w)?;
    }
    let before_wait = BeforeWait::new(w, part, &place)?;
    if !waits(w, attend, split, pass) {
        w.wait();
    }
    if let Some(lanes) = &mut lanes {
        lanes.load(w)?;
    }
    before_wait.prologue(w, part, &place)?;
    match (results(w, (part, attend), &place, split, pass)?, lanes) {
        (Some((result, _)), Some(lanes)) => lanes.write(w, &Results::Shared(vec![result])),
        (Some((result, stride)), None) => store::program_of(w, part, &place, (vec![result], stride)),
        (None, _) => Ok(()),
    }
}

/// Whether the code of attention waits for the launch before this one itself: where it reads positions earlier, and on matrix units, where
/// it also loads the first chunk earlier.
fn waits(w: &Writer<'_>, attend: &Attend, split: &Split, pass: Pass) -> bool {
    match pass {
        Pass::Join { .. } => knows_positions(w, attend),
        _ => split.matrix && !w.cooperative,
    }
}

/// Writes attention. Returns the place of its result in workgroup memory: the first word of a row of columns for each head, and the stride
/// of these rows; nothing if only chunks are computed.
fn results(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    place: &Place,
    split: &Split,
    pass: Pass,
) -> Result<Option<(u32, u32)>, Why> {
    let (heads, k_len, cols) = (place.tile(), word(attend.k_len)?, place.cols());
    // Queries and results of all heads are in workgroup memory.
    let kept = u64::from(heads) * (u64::from(k_len) + 2 * u64::from(cols) + 1) * 4;
    if kept > MOST_KEPT {
        return Err(Why::Form(format!("needs {kept} bytes of workgroup memory for {heads} heads")));
    }
    let first = place.row_to_read(&mut w.code, &Expr::U32(0)).axes;
    let [token, head] = &first[..] else {
        return Err(Why::Form("attends over rows that are not tokens × heads".into()));
    };
    match pass {
        Pass::Queries(queries) => {
            cooperative::write::store_queries(w, (attend, place), &queries).map(|()| None)
        }
        Pass::Finish { slot, at } => {
            w.wait();
            join::finish(w, place, (slot, at)).map(|at| Some((at, place.width())))
        }
        Pass::Join { slot, at, rows } => {
            let context = Context::new(w, attend, token, split.chunk)?;
            w.wait();
            let results = (slot, at, rows);
            let joined = match many::fits(w, place, at) {
                true => many::join(w, attend, place, &context, results),
                false => join::join(w, attend, place, &context, results),
            };
            joined.map(|at| Some((at, place.width())))
        }
        _ if w.cooperative && split.matrix => {
            cooperative::write::write(w, (part, attend), place, split, pass).map(|()| None)
        }
        _ if split.matrix => {
            let chunks = match pass {
                Pass::Chunks { slot, at } => Some((slot, at)),
                _ => None,
            };
            units::write::write(w, (part, attend), place, split, chunks)
        }
        _ => {
            let context = Context::new(w, attend, token, split.chunk)?;
            lanes::write::write(w, (part, attend), (place, head), split, (pass, &context))
        }
    }
}
