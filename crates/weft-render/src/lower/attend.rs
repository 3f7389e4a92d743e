//! Attention, by online softmax. A workgroup has some heads of one token that share their keys.
//! Positions are split into chunks of a fixed length; a chunk is visited in blocks ([`walk`](crate::forms::attend_lanes::walk)), and
//! the chunks' results are joined one after another ([`join`]). So only the sequence decides the
//! order of a sum: whether one workgroup visits all chunks, or each chunk has a workgroup and a
//! second shader joins them, changes speed and no bit.

pub(crate) mod context;
pub(crate) mod join;
pub(crate) mod many;
pub(crate) mod members;

use weft_kern::{Attend, Part};
use weft_shader::expr::Expr;

use crate::forms::attend_lanes::state::State;
use crate::forms::attend_lanes::tile::Tile;
use crate::forms::attend_lanes::walk::Walk;
use crate::forms::{attend_cooperative, attend_units};
use crate::lower::attend::context::{Context, knows_positions};
use crate::lower::pass::Pass;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Far more bytes than any workgroup memory: offsets below this cannot overflow.
const MOST_KEPT: u64 = 1 << 20;

/// Whether attention itself waits for the launch before this one.
pub(crate) fn waits(w: &Writer<'_>, attend: &Attend, split: &Split, pass: Pass) -> bool {
    match pass {
        Pass::Join { .. } => knows_positions(w, attend),
        _ => split.matrix && !w.cooperative,
    }
}

/// Writes attention. Returns where its result is in workgroup memory: a row of columns per head, and the words from one to the
/// next. There is none where only chunks are computed.
pub(crate) fn attend(
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
    if let Pass::Queries(queries) = pass {
        return attend_cooperative::write::store_queries(w, (attend, place), &queries).map(|()| None);
    }
    if let Pass::Finish { slot, at } = pass {
        w.wait();
        return join::finish(w, place, (slot, at)).map(|at| Some((at, place.width())));
    }
    if w.cooperative && split.matrix && !matches!(pass, Pass::Join { .. }) {
        return attend_cooperative::write::write(w, (part, attend), place, split, pass).map(|()| None);
    }
    if split.matrix && !matches!(pass, Pass::Join { .. }) {
        let chunks = match pass {
            Pass::Chunks { slot, at } => Some((slot, at)),
            _ => None,
        };
        return attend_units::write::write(w, (part, attend), place, split, chunks);
    }
    let context = Context::new(w, attend, token, split.chunk)?;
    if let Pass::Join { slot, at, rows } = pass {
        w.wait();
        let results = (slot, at, rows);
        let joined = match many::fits(w, place, at) {
            true => many::join(w, attend, place, &context, results),
            false => join::join(w, attend, place, &context, results),
        };
        return joined.map(|at| Some((at, place.width())));
    }
    by_lanes(w, (part, attend), (place, head), split, (pass, &context))
}

/// Writes attention by lanes: some heads of a token, in one workgroup that visits all chunks, or a chunk alone.
fn by_lanes(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    (place, head): (&Place, &Expr),
    split: &Split,
    (pass, context): (Pass, &Context),
) -> Result<Option<(u32, u32)>, Why> {
    let (k_len, cols) = (word(attend.k_len)?, place.cols());
    let group = w.code.set("group_of", head / word(attend.heads / attend.kv_heads)?);
    let keys = State::new(w, &attend.k, &group, (k_len, false))?;
    // Fewer teams of lanes have fewer results in workgroup memory.
    let values = State::new(w, &attend.v, &group, (cols, !w.pool.grows))?;
    if pass == Pass::Whole
        && let Some(tile) = Tile::new(w, (part, attend), place, split, (&keys, &values))?
    {
        tile.queries(w, place)?;
        let joined = tile.joined(w, place)?;
        let first = context.start_of(&0u32.into());
        w.count("chunk_start", (first, context.seen.clone(), split.chunk), |w, start| {
            tile.chunk(w, context, &start, &joined)
        })?;
        return Ok(Some((tile.finish(w, &joined), cols)));
    }
    let walk = Walk::new(w, attend, place, split, (&keys, &values))?;
    match (pass, &place.chunk) {
        (Pass::Chunks { slot, at }, Some(chunk)) => {
            let start = w.code.set("chunk_start", context.start_of(chunk));
            w.when(start.less(&context.seen), |w| {
                walk.queries(w, place)?;
                walk.chunk(w, context, &start)?;
                walk.store_results(w, place, chunk, (slot, at))
            })?;
            Ok(None)
        }
        _ => {
            walk.queries(w, place)?;
            let joined = join::Joined::new(w, attend, place, cols)?;
            let first = context.start_of(&0u32.into());
            w.count("chunk_start", (first, context.seen.clone(), split.chunk), |w, start| {
                walk.chunk(w, context, &start)?;
                joined.add(w, &walk)
            })?;
            joined.finish(w).map(|at| Some((at, cols)))
        }
    }
}
