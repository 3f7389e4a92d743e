//! Attention, by online softmax. A workgroup has some heads of one token that share their keys. The positions are cut into chunks of a fixed length,
//! a chunk is walked in blocks ([`walk`]), and what came of the chunks is put together one after another ([`join`]). So nothing but the sequence
//! decides in what order a sum is made: whether one workgroup walks all chunks, or each has one of its own and a second shader puts them
//! together, is a matter of speed and changes no bit.

mod join;
pub(crate) mod sight;
mod state;
mod walk;

use weft_kern::Attend;

use crate::code::expr::Expr;
use crate::lower::attend::sight::Sight;
use crate::lower::attend::state::State;
use crate::lower::attend::walk::Walk;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::Split;

/// Bytes far beyond any workgroup's memory: up to here places are counted without overflow.
const MOST_KEPT: u64 = 1 << 20;

/// What of a kernel a shader computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// All of it.
    Whole,
    /// What each chunk comes to, which is written to a slot beside the kernel's own, from this word on.
    Chunks { slot: usize, at: u32 },
    /// What that comes to together.
    Join { slot: usize, at: u32 },
}

impl Pass {
    /// For people; nothing where there is one shader.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Pass::Whole => "",
            Pass::Chunks { .. } => "; chunks",
            Pass::Join { .. } => "; together",
        }
    }
}

/// Writes attention; where its result is kept, in rows of a head's columns. There is none where only chunks are computed.
pub(crate) fn attend(
    w: &mut Writer<'_>,
    attend: &Attend,
    place: &Place,
    split: &Split,
    pass: Pass,
) -> Result<Option<u32>, Why> {
    let (heads, k_len, cols) = (place.tile(), word(attend.k_len)?, place.cols());
    // Queries and results of all heads are kept.
    let kept = u64::from(heads) * (u64::from(k_len) + 2 * u64::from(cols) + 1) * 4;
    if kept > MOST_KEPT {
        return Err(Why::Form(format!("keeps {kept} bytes for {heads} heads")));
    }
    let first = place.row_to_read(&mut w.code, &Expr::U32(0)).axes;
    let [token, head] = &first[..] else {
        return Err(Why::Form("attends, and its rows are not tokens × heads".into()));
    };
    let sight = Sight::new(w, attend, token, split.chunk)?;
    if let Pass::Join { slot, at } = pass {
        return join::join(w, place, &sight, (slot, at)).map(Some);
    }
    let group = w.code.set("group_of", head / word(attend.heads / attend.kv_heads)?);
    let keys = State::new(w, &attend.k, &group, k_len)?;
    let values = State::new(w, &attend.v, &group, cols)?;
    let walk = Walk::new(w, attend, place, split, (&keys, &values))?;
    match (pass, &place.chunk) {
        (Pass::Chunks { slot, at }, Some(chunk)) => {
            let start = w.code.set("chunk_start", chunk * split.chunk);
            w.when(start.less(&sight.seen), |w| {
                walk.queries(w, place)?;
                walk.chunk(w, &sight, &start)?;
                walk.put_down(w, place, chunk, (slot, at))
            })?;
            Ok(None)
        }
        _ => {
            walk.queries(w, place)?;
            let joined = join::Joined::new(w, heads, cols)?;
            w.count("chunk_start", (0u32.into(), sight.seen.clone(), split.chunk), |w, start| {
                walk.chunk(w, &sight, &start)?;
                joined.add(w, &walk)
            })?;
            joined.finish(w).map(Some)
        }
    }
}
