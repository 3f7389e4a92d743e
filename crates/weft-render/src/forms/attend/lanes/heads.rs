//! Decides where a workgroup has many heads of a token at once, on GPUs without matrix units, and how many.

use weft_kern::{Attend, Format, Kernel, Part, Sizes};
use weft_quant::GgmlType;

use crate::gpu::Gpu;
use crate::split::{Split, number};

/// Workgroups that keep a large GPU busy with attention.
pub(crate) const BUSY_GROUPS: usize = 256;

/// The most heads. A lane has sums for each of them.
const MOST_HEADS: usize = 10;

/// Words of a head besides its rows, and bytes that are left for other uses.
const SCALARS: usize = 4;
const SPARE: usize = 256;

/// The fewest lanes of a subgroup that suit it.
const LEAST_SUBGROUP: u32 = 8;

/// Values per piece of a key, and per piece of a value.
const KEYS: usize = 8;
const VALUES: usize = 2;

/// Whether a workgroup of this many lanes can visit chunks for all of its heads together. It needs halves that are loaded eight keys and
/// two values at a time, chunks of one block, and two teams of lanes that each cover all columns.
pub(crate) fn suits(
    attend: &Attend,
    formats: [Format; 3],
    cols: usize,
    split: &Split,
    (lanes, subgroup): (u32, u32),
) -> bool {
    let [q_format, states @ ..] = formats;
    let halves = |format: &Format| matches!(format, Format::Ggml(GgmlType::F16 | GgmlType::BF16));
    let (q, k, v) = (&attend.q, &attend.k, &attend.v);
    let even = |n: usize, by: usize| n.is_multiple_of(by);
    let queries = q_format == Format::Ggml(GgmlType::F32)
        && q.step == 1
        && even(q.offset, 4)
        && q.strides.iter().all(|stride| even(*stride, 4));
    let keys = [k.offset, k.row_stride, k.head_stride].iter().all(|n| even(*n, KEYS))
        && even(attend.k_len, KEYS * split.reduce as usize);
    let values = [v.offset, v.row_stride, v.head_stride].iter().all(|n| even(*n, VALUES));
    // Each lane of a team has two columns in each of two rounds.
    let teams = cols == lanes as usize / 2 * 2 * VALUES;
    let block = split.across(lanes).saturating_mul(split.upcast);
    states.iter().all(halves)
        && queries
        && keys
        && values
        && teams
        && block == split.chunk
        && split.across(lanes) >= 2
        && split.reduce <= subgroup
        && subgroup >= LEAST_SUBGROUP
        && split.rows.is_multiple_of(2)
}

/// Bytes of workgroup memory for this many heads: queries, results, and a block's weights.
fn bytes(attend: &Attend, cols: usize, heads: usize, block: usize) -> usize {
    4 * (heads * (attend.k_len + cols.max(block) + SCALARS) + block * (heads.next_multiple_of(4) + 1))
}

/// The numbers of attention with the most heads that suit it and leave enough workgroups. This changes no bit.
pub(crate) fn tiled(
    kernel: &Kernel,
    (part, attend): (&Part, &Attend),
    max: &Sizes,
    gpu: &Gpu,
    lanes: u32,
    split: Split,
) -> Option<Split> {
    let formats = [attend.q.param, attend.k.param, attend.v.param].map(|param| kernel.params[param].format);
    let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
    let group = attend.heads / attend.kv_heads.max(1);
    let all = (1..=MOST_HEADS).rev().map(|heads| Split { rows: number(heads), ..split });
    all.into_iter().find(|split| {
        let heads = split.rows as usize;
        gpu.features.tiles
            && !split.spread
            && group.is_multiple_of(heads)
            && rows / heads >= BUSY_GROUPS
            && bytes(attend, part.cols, heads, split.chunk as usize) + SPARE <= gpu.shared_bytes as usize
            && suits(attend, formats, part.cols, split, (lanes, gpu.subgroup.unwrap_or(1).min(lanes)))
    })
}
