//! The text of attention by lanes.

use weft_kern::{Attend, Part};
use weft_shader::expr::Expr;

use crate::forms::attend::lanes::state::State;
use crate::forms::attend::lanes::tile::Tile;
use crate::forms::attend::lanes::walk::Walk;
use crate::lower::attend::context::Context;
use crate::lower::attend::join;
use crate::lower::pass::Pass;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Writes attention by lanes: some heads of a token, over all chunks or over one.
pub(crate) fn write(
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
