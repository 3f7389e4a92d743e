//! Lowers a kernel with its schedule to the structured program.
//!
//! Each part becomes a range of workgroups. A workgroup computes the part's prologue for its rows,
//! then the anchor's results, which stay in workgroup memory, then the row program.

mod attend;
mod blocks;
mod dot;
mod factors;
pub(crate) mod functions;
mod gather;
mod lanes;
mod loads;
mod matrix;
mod panels;
mod pass;
mod picked;
mod points;
mod prologue;
mod quads;
mod reduce;
mod round;
mod router;
mod row_program;
mod scan;
mod select;
mod sorted;
mod space;
mod store;
mod tile;
mod top;
mod writer;

use weft_kern::{Anchor, Format, Instr, Kernel, Part, Sizes};
use weft_quant::GgmlType;
use weft_shader::cooperative::Arrays;
use weft_shader::expr::Expr;
use weft_shader::grid::{Grid, Groups};
use weft_shader::module::{Content, Module, Slot};
use weft_shader::stmt::{Stmt, mentions};
use weft_shader::waits;

use crate::limits::Limits;
use crate::lower::attend::context::chunk_words;
use crate::lower::attend::cooperative;
use crate::lower::attend::many;
use crate::lower::attend::shares::{self, Shares};
use crate::lower::attend::warpgroups;
use crate::lower::dot::{Dot, Results};
use crate::lower::lanes::Lanes;
use crate::lower::pass::Pass;
pub(crate) use crate::lower::pass::Step;
use crate::lower::prologue::PrologueValues;
use crate::lower::router::Router;
use crate::lower::sorted::Sorted;
use crate::lower::space::Space;
use crate::lower::writer::{TOP_BITS, Writer};
use crate::refused::{Why, too_much, word};
use crate::schedule::check::check;
use crate::schedule::cooperative::{cooperates, is_large};
use crate::schedule::heuristic::below;
use crate::schedule::joining::joining;
use crate::schedule::matrix::without_sums;
use crate::schedule::panels::beside_sums;
use crate::schedule::picked::tile_by_lanes;
use crate::schedule::picks::Picks;
use crate::schedule::waves::FEW_TOKENS;
use crate::schedule::{Schedule, Split};
use crate::shader::{COUNTER_BYTES, Slots, args_words};

/// A kernel being lowered.
pub(crate) struct Job<'a> {
    kernel: &'a Kernel,
    slots: &'a Slots,
    schedule: &'a Schedule,
    max: &'a Sizes,
    limits: &'a Limits,
    /// If it is part of a chain, where in it.
    pub(crate) link: Option<Link>,
}

/// A place in a [chain](crate::chain).
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The name of the workgroup's number.
    pub(crate) group: String,
    /// The first word of the kernel's own arguments.
    pub(crate) args: usize,
    /// The names that the chain has for values of its own.
    pub(crate) taken: &'static [&'static str],
}

impl<'a> Job<'a> {
    /// Checks the schedule of a verified kernel.
    pub(crate) fn new(
        kernel: &'a Kernel,
        slots: &'a Slots,
        schedule: &'a Schedule,
        max: &'a Sizes,
        limits: &'a Limits,
    ) -> Result<Job<'a>, (Option<usize>, Why)> {
        check(kernel, schedule, limits).map_err(|(part, why)| (part, Why::Schedule(why)))?;
        Ok(Job { kernel, slots, schedule, max, limits, link: None })
    }

    /// Parts with their schedules.
    fn parts(&self) -> impl Iterator<Item = (&'a Part, &'a Split)> {
        self.kernel.parts.iter().zip(&self.schedule.parts)
    }

    /// The kernel's shaders.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let sorted = |terms: bool| {
            let mut picks =
                self.parts().filter(|(_, split)| split.sorts()).filter_map(|(part, _)| Picks::of(part));
            picks.any(|picks| !terms || picks.terms.is_some())
        };
        let cooperates = |part: &Part, split: &Split| cooperates(part, split, self.limits);
        let queries = self.parts().any(|(part, split)| cooperates(part, split) && is_large(split.rows));
        let joins =
            self.parts().any(|(part, split)| split.spread && split.chunk > 0 || cooperates(part, split));
        let all = [
            (sorted(false), Step::Sort),
            (sorted(true), Step::Terms),
            (queries, Step::Queries),
            (true, Step::Main),
            (joins, Step::Join),
        ];
        all.into_iter().filter_map(|(there, step)| there.then_some(step)).collect()
    }

    /// A shader, its grid, and the bytes of scratch memory that all of them share.
    pub(crate) fn module(&self, step: Step) -> Result<(Module, Grid, u64), (Option<usize>, Why)> {
        let Job { kernel, slots, schedule, max, limits, ref link } = *self;
        let mut held = held_slots(kernel, slots, link.is_some()).map_err(|why| (None, why))?;
        let scratch = held.len();
        let spread = self.parts().any(|(part, split)| {
            let sorted = split.sorts() && Picks::of(part).is_some();
            let cooperates = cooperates(part, split, limits);
            split.spread || sorted || cooperates || shares::tiles(part, split, max, limits).is_some()
        });
        held.extend(spread.then_some(Slot {
            written: true,
            content: Content::Open,
            pieces: 1,
            coherent: false,
        }));
        let needed = held.iter().map(|slot| slot.pieces as usize).sum();
        if link.is_none() && needed > limits.storage_buffers as usize {
            let limit = limits.storage_buffers;
            return Err((None, Why::Buffers { needed, limit }));
        }
        let mut spaces = Vec::new();
        // Where workgroups can see what others stored, the first words of the scratch memory count those that have arrived.
        // They are 0 between launches.
        let mut counters: u64 = 0;
        let mut scratch_words: u64 = if spread && limits.gathers { COUNTERS } else { 0 };
        for (i, (part, split)) in kernel.parts.iter().zip(&schedule.parts).enumerate() {
            let fail = |why| (Some(i), why);
            if let Some(picks) = Picks::of(part).filter(|_| split.sorts()) {
                let count = word(picks.count).map_err(fail)?;
                let tile = tile_by_lanes(kernel, part, (schedule.lanes, limits), *split).unwrap_or(*split);
                let all = Space::sorted(part, &tile, picks.terms, count, max).map_err(fail)?;
                let rows = all.rows(max);
                let placed = Sorted::new(scratch, scratch_words, (&all, &picks), rows);
                let (sorted, words) = placed.ok_or_else(|| fail(too_much()))?;
                scratch_words = scratch_words.saturating_add(words);
                let workgroups = sorted::workgroups(&picks);
                let own = match (step, picks.terms) {
                    (Step::Sort, _) => Some((tile, all, Pass::Sort(sorted))),
                    (Step::Terms, Some(_)) => Some((tile, all, Pass::Terms(sorted))),
                    (Step::Main, None) => Some((tile, all, Pass::Sorted(sorted))),
                    (Step::Main, Some(_)) => {
                        let split = match split.panels {
                            true => beside_sums(*split),
                            false => without_sums(part, max, limits, schedule.lanes, *split),
                        };
                        let split = Split { picked: 0, ..split };
                        let space = Space::new(part, &split, false, max).map_err(fail)?;
                        Some((split, space, Pass::Weighted(sorted)))
                    }
                    (Step::Terms, None) | (Step::Queries | Step::Join, _) => None,
                };
                if let Some((split, space, pass)) = own {
                    let groups = match pass {
                        Pass::Sort(_) => Groups::plain(workgroups),
                        _ => space.groups(),
                    };
                    spaces.push((i, split, space, pass, groups));
                }
                continue;
            }
            if cooperates(part, split, limits) {
                let placed =
                    cooperative::Placed::new(part, split, (scratch, scratch_words), max).map_err(fail)?;
                scratch_words = placed.end;
                if let Some((split, space, pass)) = placed.of(step, part, split, max).map_err(fail)? {
                    let groups = space.groups();
                    spaces.push((i, split, space, pass, groups));
                }
                continue;
            }
            let chunks = split.spread && split.chunk > 0;
            let (attends, first) = (is_attention(part), step == Step::Main);
            let mut space = Space::new(part, split, chunks && attends && first, max).map_err(fail)?;
            if attends && split.matrix && limits.processors > 0 {
                space = space.in_one_wave(limits.processors, max);
            }
            let mut pass = Pass::Whole;
            if split.spread {
                scratch_words = scratch_words.checked_next_multiple_of(4).unwrap_or(u64::MAX);
                let at = u32::try_from(scratch_words).map_err(|_| fail(too_much()))?;
                let (tiles, rows) = space.tiles_and_rows(max);
                let words = match chunks {
                    true if !attends => rows.saturating_mul(u64::from(space.cols.div_ceil(split.chunk))),
                    true => space.chunk_rows(max).saturating_mul(u64::from(chunk_words(space.cols))),
                    false => rows.saturating_mul(u64::from(space.cols) * part.products().len() as u64),
                };
                scratch_words = scratch_words.saturating_add(words);
                pass = match (chunks, first) {
                    (true, true) => Pass::Chunks { slot: scratch, at },
                    (true, false) => Pass::Join { slot: scratch, at, rows: split.rows },
                    (false, _) => Pass::Gather { slot: scratch, at, counter: counters as u32 },
                };
                counters = counters.saturating_add(if chunks { 0 } else { tiles });
            }
            let mut groups = space.groups();
            if let Some(tiles) = shares::tiles(part, split, max, limits) {
                let begin = scratch_words.checked_next_multiple_of(4).unwrap_or(u64::MAX);
                let at = u32::try_from(begin).map_err(|_| fail(too_much()))?;
                let signals = counters as u32;
                let shares = Shares { slot: scratch, at, signals, ..Shares::new(space.cols, tiles, limits) };
                counters = counters.saturating_add(u64::from(shares.groups));
                scratch_words = begin.saturating_add(shares.all_words());
                (pass, groups) = (Pass::Shared(shares), Groups::plain(shares.groups as usize));
            }
            if counters > COUNTERS {
                return Err(fail(Why::Counters { needed: counters, limit: COUNTERS }));
            }
            // The second shader only has the parts with chunks to join.
            if first {
                spaces.push((i, *split, space, pass, groups));
            } else if chunks && step == Step::Join {
                let split = joining(part, split, limits.quads);
                let space = Space::new(part, &split, false, max).map_err(fail)?;
                let groups = space.groups();
                spaces.push((i, split, space, pass, groups));
            }
        }
        if scratch_words > limits.binding_bytes / 4 || scratch_words > u64::from(u32::MAX) {
            return Err((None, too_much()));
        }
        let groups = spaces.iter().map(|(.., groups)| *groups);
        let grid = Grid { wide: Grid::wide(limits.groups), parts: groups.collect() };
        let needed = grid.all(max);
        if needed > u64::from(grid.wide) * u64::from(grid.wide) {
            return Err((None, Why::Groups { needed, limit: limits.groups }));
        }

        // Few workgroups sort, each with many lanes.
        let sorts = step == Step::Sort && schedule.parts.iter().any(|split| split.panels);
        let lanes =
            if sorts { below(limits.invocations.min(SORTING) as usize) as u32 } else { schedule.lanes };
        let mut w = Writer::new(kernel, slots, lanes, limits);
        w.holds = max.tokens <= FEW_TOKENS;
        // Each workgroup has one part, unless the grid's last row is not full.
        // The kernels of long steps fill the GPU: those that begin early only take their places.
        let dependent = link.is_some() || limits.dependent_launch && max.tokens <= EARLY_TOKENS;
        let one_row = needed <= u64::from(grid.wide);
        // Workgroups that join chunks begin early, where the chunks' own leave them places. Two on a multiprocessor take as
        // long as one, four do not.
        let joins = step == Step::Join
            && dependent
            && needed <= 2 * u64::from(limits.processors)
            && spaces.iter().any(|(i, ..)| is_attention(&kernel.parts[*i]));
        if link.is_some() && !one_row {
            return Err((None, Why::Groups { needed, limit: grid.wide }));
        }
        w.waits = dependent;
        let most_chunks = spaces.iter().map(|(_, _, space, ..)| space.most_chunks(max)).max();
        w.joins_many = joins
            && limits.dependent_launch
            && 2 * many::MOST_BYTES <= limits.most_shared_bytes
            && most_chunks > Some(u64::from(limits.processors));
        if let Some(link) = link {
            link.taken.iter().for_each(|name| drop(w.code.fresh(name)));
            // Compilers move loads from buffers that are only read past the wait, to where their values are used. Loading weights of
            // products early only costs a fifth more code, then, and half as many registers again.
            w.early_words = 0;
        }
        if dependent && limits.matrix_whole {
            w.whole_words = whole_words(needed, limits);
        }
        // A kernel of several shaders begins with one that does not know what runs beside it.
        let attends = kernel.parts.iter().any(is_attention);
        let alone = if step == Step::Join { attends } else { slots.hands_over && self.steps().len() == 1 };
        let hands_over = dependent && limits.hands_over && max.tokens <= HANDING_TOKENS && alone;
        if hands_over {
            w.code.push(Stmt::LaunchNext);
            w.handed_over = true;
        }
        if !one_row {
            w.wait();
        }
        let waits = w.waits;
        let mut group = link.as_ref().map_or(Expr::Group(0), |link| Expr::name(&*link.group));
        if !one_row {
            group = w.code.set("group_number", Expr::Group(1) * grid.wide + group);
        }
        let (mut kept, mut arrays) = (0, Arrays::default());
        let mut begin = Expr::U32(0);
        for (i, split, space, pass, groups) in &spaces {
            let part = &kernel.parts[*i];
            let fail = |why| (Some(*i), why);
            w.pool.clear();
            w.arrays = Arrays::default();
            w.waits = waits;
            w.code.note(format!("part {i}: {}; {split}{}", title(part), pass.title()));
            let own = w.code.set("own_group", &group - &begin);
            // A single part has all workgroups, unless the grid's last row is not full.
            if spaces.len() == 1 && one_row {
                written_part(&mut w, part, split, (space, *pass), &own).map_err(fail)?;
            } else {
                let count = match pass {
                    Pass::Sort(_) | Pass::Shared(_) => Expr::U32(groups.times),
                    _ => space.count(&mut w.code),
                };
                let is_own = own.less(&count);
                w.when(is_own, |w| written_part(w, part, split, (space, *pass), &own)).map_err(fail)?;
                begin = w.code.set("end", begin + count);
            }
            kept = kept.max(w.pool.top);
            arrays = arrays.max(w.arrays);
            if arrays != Arrays::default() {
                // The arrays beside the pool begin at a multiple of 16 bytes.
                kept = kept.next_multiple_of(4);
            }
            // One more word may be needed for [`Stmt::Uniform`]. In Metal each array takes a multiple of 16 bytes; what can have more
            // memory than usual is only used in CUDA.
            // Arrays are beside the pool of any part.
            let words = if arrays == Arrays::default() { w.pool.top } else { kept };
            let (pool, besides) = (4 * u64::from(words), u64::from(arrays.bytes()));
            let (needed, limit) = match w.pool.grows && (split.matrix || w.holds && limits.quads) {
                true => (pool + besides + 4, limits.most_shared_bytes),
                false => (pool.next_multiple_of(METAL_ARRAY) + besides + METAL_ARRAY, limits.shared_bytes),
            };
            if needed > u64::from(limit) {
                return Err(fail(Why::Shared { needed, limit }));
            }
        }
        if joins {
            kept = kept.max(limits.most_shared_bytes / 4 * 2 / 5);
        }
        let Writer { code, starts, counts, together, .. } = w;
        let first = link.as_ref().map_or(0, |link| link.args);
        let define = |name: char, param: &usize, word: usize| {
            Stmt::Let(format!("{name}{param}"), Expr::Arg(first + 2 * param + word))
        };
        let mut body: Vec<Stmt> = starts.iter().map(|p| define('p', p, 0)).collect();
        body.extend(counts.iter().map(|p| define('n', p, 1)));
        let code = code.finish();
        if mentions(&code, TOP_BITS) {
            // There is one group along the third axis.
            body.push(Stmt::Let(TOP_BITS.into(), Expr::Group(2) ^ 0x8080_8080u32));
        }
        body.extend(code);
        let module = Module {
            name: kernel.name.clone(),
            title: format!("{}: {schedule}", kernel.name),
            slots: held,
            piece_words: u32::try_from(limits.piece_bytes / 4).unwrap_or(u32::MAX),
            args_words: args_words(kernel.params.len()),
            lanes,
            dependent,
            hands_over,
            shared_words: kept,
            arrays,
            functions: functions::called(&body),
            body,
            together,
            chain: false,
        };
        if dependent {
            debug_assert_eq!(waits::check(&module), Ok(()), "{}", module.title);
        }
        Ok((module, grid, 4 * scratch_words))
    }
}

/// Words of workgroup memory in which products on matrix units may have all that they multiply, if their kernel has so many
/// workgroups. Of more than two rounds, several should be on a multiprocessor.
fn whole_words(groups: u64, limits: &Limits) -> u32 {
    let few = groups <= 2 * u64::from(limits.processors);
    let bytes: u32 = if few { 176 << 10 } else { 64 << 10 };
    bytes.min(limits.most_shared_bytes.saturating_sub(16 << 10)) / 4
}

/// Most lanes of a workgroup that sorts rows.
const SORTING: u32 = 512;

/// Words of a line of memory.
const LINE: u32 = 32;

/// The tokens of the longest step whose kernels begin early.
const EARLY_TOKENS: usize = 64;

/// The tokens of the longest step whose kernels hand over: with eight, more workgroups are there than places for them.
const HANDING_TOKENS: usize = 2;

/// What the bytes of an array in Metal's workgroup memory are rounded up to.
const METAL_ARRAY: u64 = 16;

/// Words of scratch memory that count arrivals.
const COUNTERS: u64 = COUNTER_BYTES / 4;

/// What each slot holds; slots are numbered without a gap. In a `chain` others have slots, too.
pub(crate) fn held_slots(kernel: &Kernel, slots: &Slots, chain: bool) -> Result<Vec<Slot>, Why> {
    let Slots { of, contents, pieces, hands_over: _ } = slots;
    let count = of.iter().map(|s| s + 1).max().unwrap_or(0);
    let all = if chain { count.max(contents.len()) } else { count };
    if of.len() != kernel.params.len() || all != contents.len() || all != pieces.len() {
        let (bound, params) = (of.len(), kernel.params.len());
        return Err(Why::Form(format!(
            "has {params} parameters, of which {bound} are bound to {count} slots"
        )));
    }
    let slot = |(content, pieces): (&Content, &u32)| Slot {
        written: false,
        content: *content,
        pieces: *pieces,
        coherent: false,
    };
    let mut held: Vec<Slot> = contents.iter().zip(pieces).map(slot).collect();
    for (slot, param) in of.iter().zip(&kernel.params) {
        held[*slot].written |= param.access.writes();
    }
    match held.iter().find(|slot| slot.written && slot.content != Content::Open) {
        Some(Slot { content: Content::Weight, .. }) => Err(Why::Form("writes a weight".into())),
        Some(_) => Err(Why::Form("writes what it may read beforehand".into())),
        None if held.iter().any(|slot| slot.pieces != 1 && slot.content != Content::Weight) => {
            Err(Why::Form("has a parameter in pieces that is not a weight".into()))
        }
        None => Ok(held),
    }
}

/// Writes the work of a workgroup on a part.
fn written_part(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    if let (true, Anchor::Dot(_)) = (split.sorts(), &part.anchor) {
        return matrix::write(w, part, split, (space, pass), group);
    }
    if let (Some(attend), Pass::Shared(shares)) = (part.attention(), pass) {
        return warpgroups::share(w, (part, attend), split, (space, shares), group);
    }
    let mut group = group.clone();
    if split.matrix && part.attention().is_some() && matches!(pass, Pass::Whole | Pass::Joined { .. }) {
        // Later tokens attend to more positions, and the longest work begins first.
        group = space.count(&mut w.code) - 1u32 - group;
    }
    let place = space.place(&mut w.code, &group);
    let mut dot = match &part.anchor {
        Anchor::Dot(_) => Some(Dot::new(w, part, &place, split)?),
        _ => None,
    };
    let mut lanes = match pass {
        Pass::Whole if matches!(part.anchor, Anchor::Dot(_)) => Lanes::new(w, part, &place),
        Pass::Join { .. } => Lanes::new(w, part, &place),
        _ => None,
    };
    let mut router = match pass {
        Pass::Gather { .. } => Router::new(w, part, &place),
        _ => None,
    };
    if w.waits {
        lanes.iter_mut().try_for_each(|lanes| lanes.load(w))?;
        router.iter_mut().try_for_each(|router| router.load(w))?;
    }
    fetch(w, part)?;
    let held = prologue::early(w, part)?;
    let beforehand = w.waits && prologue::is_settled(w, part);
    let mut made = match beforehand {
        true => prologue::prologue(w, part, &place, held.as_ref())?,
        false => PrologueValues::default(),
    };
    // Attention waits itself where it can read positions beforehand, and on matrix units the first chunk, too.
    let waits = match &part.anchor {
        Anchor::Attend(attend) => attend::waits(w, attend, split, pass),
        _ => false,
    };
    if !waits {
        w.wait();
    }
    lanes.iter_mut().try_for_each(|lanes| lanes.load(w))?;
    for dot in dot.iter_mut() {
        dot.load_picked(w)?;
        dot.copy(w)?;
    }
    if !beforehand {
        made = prologue::prologue(w, part, &place, held.as_ref())?;
    }
    let results = match &part.anchor {
        Anchor::Map | Anchor::Reduce => match pass {
            Pass::Chunks { slot, at } => {
                let tops = top::Tops::new(w, &place, (slot, at), split.chunk);
                return store::largest_of_blocks(w, part, &place, &tops);
            }
            Pass::Join { slot, at, .. } => {
                let tops = top::Tops::new(w, &place, (slot, at), split.chunk);
                return store::selection(w, part, &place, tops);
            }
            _ => Vec::new(),
        },
        Anchor::Dot(_) => {
            let in_lanes = lanes.is_some() || router.is_some();
            let results = dot.map_or(Ok(Results::Shared(Vec::new())), |dot| dot.write(w, made, in_lanes))?;
            match (lanes, results, pass) {
                (Some(lanes), results, _) => return lanes.write(w, &results),
                (None, results, Pass::Gather { slot, at, counter }) => {
                    return gather::gather(w, part, &place, (&results, router), (slot, at, counter));
                }
                (None, Results::Shared(results), _) => results,
                (None, Results::Lanes(_), _) => {
                    return Err(Why::Form("has results in lanes whose program needs whole rows".into()));
                }
            }
        }
        Anchor::Attend(attend) => match attend::attend(w, (part, attend), &place, split, pass)? {
            Some((result, stride)) => {
                return match lanes {
                    Some(lanes) => lanes.write(w, &Results::Shared(vec![result])),
                    None => store::program_of(w, part, &place, (vec![result], stride)),
                };
            }
            // The second shader runs the row program.
            None => return Ok(()),
        },
        Anchor::Scan(scan) => {
            let Pass::Join { slot, at, .. } = pass else {
                return scan::walk(w, (part, scan), &place, split, pass);
            };
            let results = vec![scan::picked_up(w, &place, (slot, at))?];
            return match lanes {
                Some(lanes) => lanes.write(w, &Results::Shared(results)),
                None => store::program(w, part, &place, results),
            };
        }
    };
    store::program(w, part, &place, results)
}

/// Asks for the weights that a part's row program reads, the same for all rows, before the workgroup waits.
fn fetch(w: &mut Writer<'_>, part: &Part) -> Result<(), Why> {
    if !w.waits {
        return Ok(());
    }
    for instr in &part.body {
        let Instr::Load { view, indexed: None, len } = instr else { continue };
        let fixed = w.is_weight(view.param) && view.strides.iter().all(|stride| *stride == 0);
        if !fixed || w.format(view.param) != Format::Ggml(GgmlType::F32) || view.step != 1 {
            continue;
        }
        let lines = word(*len)?.div_ceil(LINE);
        let at = w.start(view.param) + Expr::Lane * LINE + word(view.offset)?;
        let slot = w.slot(view.param);
        w.when(Expr::Lane.less(lines), |w| {
            w.code.push(Stmt::Fetch(slot, at));
            Ok(())
        })?;
    }
    Ok(())
}

fn is_attention(part: &Part) -> bool {
    part.attention().is_some()
}

/// A part's title, for the comment above it.
fn title(part: &Part) -> String {
    let rows: Vec<String> = part.rows.iter().map(ToString::to_string).collect();
    let anchor = part.anchor.name();
    format!("{anchor} [{}] × {}", rows.join(", "), part.cols)
}
