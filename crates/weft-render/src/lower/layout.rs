//! The work of each shader on each part, and the places in scratch memory of the data that shaders pass to each other.
//!
//! All shaders of a kernel lay out the same scratch memory, so each visits all parts, including those that it has no work for.

use weft_kern::{Part, Sizes};
use weft_shader::grid::Groups;
use weft_shader::module::{Content, Slot};

use crate::forms::attend::warpgroups::shares::{self, Shares};
use crate::forms::dot::panels::choose::beside_sums;
use crate::forms::dot::units::choose::without_sums;
use crate::forms::indexer::memory::Memory;
use crate::forms::{Form, attend, dot, indexer};
use crate::gpu::Gpu;
use crate::lower::attend::context::chunk_words;
use crate::lower::job::{Failure, Job, held_slots};
use crate::lower::pass::{Pass, Step};
use crate::lower::sorted::{self, Sorted};
use crate::lower::space::Space;
use crate::refused::{Why, too_much, word};
use crate::schedule::joining::joining;
use crate::schedule::picks::Picks;
use crate::shader::COUNTER_BYTES;
use crate::split::Split;

/// Words of scratch memory that count arrivals.
const COUNTERS: u64 = COUNTER_BYTES / 4;

/// The work of a shader on a part.
#[derive(Debug)]
pub(super) struct Work {
    /// The part's number.
    pub(super) part: usize,
    pub(super) split: Split,
    pub(super) space: Space,
    pub(super) pass: Pass,
    /// Its workgroups.
    pub(super) groups: Groups,
}

/// The work of a shader, and its slots.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) works: Vec<Work>,
    pub(super) slots: Vec<Slot>,
    /// Words of the scratch memory, which is the last slot; 0 if there is none.
    pub(super) scratch_words: u64,
}

impl Layout {
    /// The work of one of a kernel's shaders.
    ///
    /// # Errors
    /// The exceeded limit, and the part that exceeds it.
    pub(super) fn new(job: &Job<'_>, step: Step) -> Result<Layout, Failure> {
        let Job { kernel, slots, schedule, max, gpu, ref link, .. } = *job;
        let mut held = held_slots(kernel, slots, link.is_some()).map_err(|why| (None, why))?;
        let slot = held.len();
        let parts = || kernel.parts.iter().zip(schedule.parts.iter().zip(&job.splits));
        let has_scratch = parts().any(|(part, (form, split))| passes_on(part, form, split, max, gpu));
        held.extend(has_scratch.then_some(Slot {
            written: true,
            content: Content::Open,
            pieces: 1,
            coherent: false,
        }));
        let needed = held.iter().map(|slot| slot.pieces as usize).sum();
        if link.is_none() && needed > gpu.storage_buffers as usize {
            let limit = gpu.storage_buffers;
            return Err((None, Why::Buffers { needed, limit }));
        }
        // If workgroups can see the stores of others, the first words of scratch memory count arrivals. They are 0 between launches.
        let words = if has_scratch && gpu.features.gathers { COUNTERS } else { 0 };
        let mut scratch = Scratch { slot, words, counters: 0, max, gpu };
        let mut works = Vec::new();
        for (i, (part, (form, split))) in parts().enumerate() {
            let of = Lowered { part, split, lanes: schedule.lanes };
            let sorted = Picks::of(part).filter(|_| form.sorts());
            let own = match (form, sorted) {
                (_, Some(picks)) => scratch.sorted(job, step, &of, form, &picks),
                (Form::AttendCooperative(_), None) => scratch.cooperative(step, &of),
                (Form::IndexerLanes(_) | Form::IndexerUnits(_), None) => scratch.indexer(step, &of),
                (_, None) => scratch.usual(step, &of, form),
            };
            works.extend(own.map_err(|why| (Some(i), why))?.map(|work| Work { part: i, ..work }));
        }
        let words = scratch.words;
        if words > gpu.binding_bytes / 4 || words > u64::from(u32::MAX) {
            return Err((None, too_much()));
        }
        Ok(Layout { works, slots: held, scratch_words: words })
    }
}

/// Whether workgroups pass data through scratch memory.
fn passes_on(part: &Part, form: &Form, split: &Split, max: &Sizes, gpu: &Gpu) -> bool {
    let sorted = form.sorts() && Picks::of(part).is_some();
    let cooperates = matches!(form, Form::AttendCooperative(_));
    let scores = part.indexer().is_some_and(|indexer| indexer::choose::scores(part, indexer, max));
    split.spread || sorted || cooperates || scores || shares::tiles(part, split, max, gpu).is_some()
}

/// A part with its numbers.
struct Lowered<'a> {
    part: &'a Part,
    split: &'a Split,
    /// Lanes of a workgroup.
    lanes: u32,
}

/// Scratch memory while it is laid out.
struct Scratch<'a> {
    slot: usize,
    /// The words so far, and the counters among the first ones.
    words: u64,
    counters: u64,
    max: &'a Sizes,
    gpu: &'a Gpu,
}

impl Scratch<'_> {
    /// Allocates this many words, from a multiple of four on.
    fn alloc(&mut self, words: u64) -> Result<u32, Why> {
        self.words = self.words.checked_next_multiple_of(4).unwrap_or(u64::MAX);
        let at = u32::try_from(self.words).map_err(|_| too_much())?;
        self.words = self.words.saturating_add(words);
        Ok(at)
    }

    /// Allocates this many counters.
    fn count(&mut self, more: u64) -> Result<u32, Why> {
        let first = self.counters as u32;
        self.counters = self.counters.saturating_add(more);
        match self.counters > COUNTERS {
            true => Err(Why::Counters { needed: self.counters, limit: COUNTERS }),
            false => Ok(first),
        }
    }

    /// Products of rows that are sorted by matrix. The first shader sorts, and the second multiplies weighted sums.
    fn sorted(
        &mut self,
        job: &Job<'_>,
        step: Step,
        of: &Lowered<'_>,
        form: &Form,
        picks: &Picks<'_>,
    ) -> Result<Option<Work>, Why> {
        let Lowered { part, split, lanes } = *of;
        let count = word(picks.count)?;
        let tile = match form {
            Form::DotFewRows(_) => {
                dot::few_rows::tile_by_lanes(job.kernel, part, (lanes, self.gpu), *split).unwrap_or(*split)
            }
            _ => *split,
        };
        let all = Space::sorted(part, &tile, picks.terms, count, self.max)?;
        let placed = Sorted::new(self.slot, self.words, (&all, picks), all.rows(self.max));
        let (sorted, words) = placed.ok_or_else(too_much)?;
        self.words = self.words.saturating_add(words);
        let groups = all.groups();
        Ok(match (step, picks.terms) {
            (Step::Sort, _) => {
                let groups = Groups::plain(sorted::workgroups(picks));
                Some(Work { part: 0, split: tile, space: all, pass: Pass::Sort(sorted), groups })
            }
            (Step::Terms, Some(_)) => {
                Some(Work { part: 0, split: tile, space: all, pass: Pass::Terms(sorted), groups })
            }
            (Step::Main, None) => {
                Some(Work { part: 0, split: tile, space: all, pass: Pass::Sorted(sorted), groups })
            }
            (Step::Main, Some(_)) => {
                let split = match form {
                    Form::DotPanels(_) => beside_sums(*split),
                    _ => without_sums(part, self.max, self.gpu, lanes, *split),
                };
                let split = Split { picked: 0, ..split };
                Some(Work::of(part, split, Pass::Weighted(sorted), self.max)?)
            }
            (Step::Terms, None) | (Step::Queries | Step::Narrow | Step::Join, _) => None,
        })
    }

    /// Attention by cooperative matrices.
    fn cooperative(&mut self, step: Step, of: &Lowered<'_>) -> Result<Option<Work>, Why> {
        let Lowered { part, split, .. } = *of;
        let placed = attend::cooperative::write::Placed::new(part, split, (self.slot, self.words), self.max)?;
        self.words = placed.end;
        Ok(placed.of(step, part, split, self.max)?.map(|(split, space, pass)| {
            let groups = space.groups();
            Work { part: 0, split, space, pass, groups }
        }))
    }

    /// An indexer. The main shader scores all positions, a second one may narrow them, and the last one chooses. Or workgroups do all of it
    /// for one token after another.
    fn indexer(&mut self, step: Step, of: &Lowered<'_>) -> Result<Option<Work>, Why> {
        let Lowered { part, split, lanes } = *of;
        let space = |split: &Split, spread| Space::new(part, split, spread, self.max);
        let chunks = space(split, split.spread)?;
        let rows = chunks.rows(self.max);
        let subgroup = indexer::choose::together(self.gpu, lanes);
        let memory = Memory::new(split, chunks.most_chunks(self.max), (lanes, subgroup))?;
        let words = u64::from(memory.words.next_multiple_of(4));
        if split.spread {
            let at = self.alloc(rows.saturating_mul(words))?;
            let memory = memory.at(self.slot, at);
            let (space, pass) = match (step, memory.slices) {
                (Step::Main, _) => (chunks, Pass::Scores(memory)),
                (Step::Narrow, Some(slices)) => {
                    (space(&Split { chunk: slices.positions, ..*split }, true)?, Pass::Narrow(memory))
                }
                (Step::Join, _) => (space(split, false)?, Pass::Choose(memory)),
                _ => return Ok(None),
            };
            return Ok(Some(Work { part: 0, split: *split, groups: space.groups(), space, pass }));
        }
        let (mut pass, mut groups) = (Pass::Whole, chunks.groups());
        if let Some(indexer) = part.indexer()
            && indexer::choose::scores(part, indexer, self.max)
        {
            let in_turn = indexer::choose::in_turn(rows, words);
            let at = self.alloc(words.saturating_mul(u64::from(in_turn)))?;
            pass = Pass::InTurn { memory: memory.at(self.slot, at), groups: in_turn };
            groups = Groups::plain(in_turn as usize);
        }
        Ok((step == Step::Main).then_some(Work { part: 0, split: *split, space: chunks, pass, groups }))
    }

    /// All other parts. The main shader computes them, alone or with workgroups that wait for each other, and a second one combines chunks.
    fn usual(&mut self, step: Step, of: &Lowered<'_>, form: &Form) -> Result<Option<Work>, Why> {
        let Lowered { part, split, .. } = *of;
        let chunks = split.spread && split.chunk > 0;
        let (attends, first) = (part.attention().is_some(), step == Step::Main);
        let mut space = Space::new(part, split, chunks && attends && first, self.max)?;
        let on_units = matches!(form, Form::AttendUnits(_) | Form::AttendWarpgroups(_));
        if on_units && self.gpu.processors > 0 {
            space = space.in_one_wave(self.gpu.processors, self.max);
        }
        let mut pass = Pass::Whole;
        if split.spread {
            let (tiles, rows) = space.tiles_and_rows(self.max);
            let words = match chunks {
                true if !attends => rows.saturating_mul(u64::from(space.cols.div_ceil(split.chunk))),
                true => space.chunk_rows(self.max).saturating_mul(u64::from(chunk_words(space.cols))),
                false => rows.saturating_mul(u64::from(space.cols) * part.products().len() as u64),
            };
            let (slot, at) = (self.slot, self.alloc(words)?);
            pass = match (chunks, first) {
                (true, true) => Pass::Chunks { slot, at },
                (true, false) => Pass::Join { slot, at, rows: split.rows },
                (false, _) => Pass::Gather { slot, at, counter: self.count(tiles)? },
            };
        }
        let mut groups = space.groups();
        if let Some(tiles) = shares::tiles(part, split, self.max, self.gpu) {
            let shares = Shares::new(space.cols, tiles, self.gpu);
            let at = self.alloc(shares.all_words())?;
            let signals = self.count(u64::from(shares.groups))?;
            let shares = Shares { slot: self.slot, at, signals, ..shares };
            (pass, groups) = (Pass::Shared(shares), Groups::plain(shares.groups as usize));
        }
        // The second shader only has parts with chunks to combine.
        Ok(match step {
            Step::Main => Some(Work { part: 0, split: *split, space, pass, groups }),
            Step::Join if chunks => {
                Some(Work::of(part, joining(part, split, self.gpu.features.quads), pass, self.max)?)
            }
            _ => None,
        })
    }
}

impl Work {
    /// The work on all rows and columns of a part.
    fn of(part: &Part, split: Split, pass: Pass, max: &Sizes) -> Result<Work, Why> {
        let space = Space::new(part, &split, false, max)?;
        let groups = space.groups();
        Ok(Work { part: 0, split, space, pass, groups })
    }
}
