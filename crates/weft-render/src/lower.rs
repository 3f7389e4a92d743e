//! Lowers a kernel with its schedule to the structured program.
//!
//! Each part becomes a range of workgroups. A workgroup computes the part's prologue for its rows, then the anchor's results, which stay in
//! workgroup memory, and then the row program.

pub(crate) mod attend;
pub(crate) mod before_wait;
pub(crate) mod blocks;
pub(crate) mod factors;
pub(crate) mod functions;
pub(crate) mod job;
pub(crate) mod lanes;
pub(crate) mod layout;
pub(crate) mod loads;
pub(crate) mod pass;
pub(crate) mod points;
pub(crate) mod prologue;
pub(crate) mod quads;
pub(crate) mod reduce;
pub(crate) mod round;
pub(crate) mod row_program;
pub(crate) mod select;
pub(crate) mod sorted;
pub(crate) mod space;
pub(crate) mod store;
pub(crate) mod tile;
pub(crate) mod writer;

use weft_kern::Part;
use weft_shader::cooperative::Arrays;
use weft_shader::expr::Expr;
use weft_shader::grid::Grid;
use weft_shader::module::Module;
use weft_shader::stmt::{Stmt, mentions};
use weft_shader::waits;

use crate::early_release;
use crate::forms::Form;
use crate::gpu::Gpu;
use crate::lower::attend::many;
use crate::lower::layout::{Layout, Work};
use crate::lower::pass::Pass;
use crate::lower::writer::{TOP_BITS, Writer};
use crate::refused::Why;
use crate::schedule::heuristic::known::FEW_TOKENS;
use crate::shader::args_words;
use crate::split::{Split, below};

pub(crate) use crate::lower::job::{Failure, Job, Link, held_slots};
pub(crate) use crate::lower::pass::Step;

impl Job<'_> {
    /// A shader, its grid, and the bytes of scratch memory, which all shaders share.
    pub(crate) fn module(&self, step: Step) -> Result<(Module, Grid, u64), Failure> {
        let Job { kernel, schedule, max, gpu, ref link, .. } = *self;
        let Layout { works, slots, scratch_words } = Layout::new(self, step)?;
        let grid =
            Grid { wide: Grid::wide(gpu.groups), parts: works.iter().map(|work| work.groups).collect() };
        let needed = grid.all(max);
        if needed > u64::from(grid.wide) * u64::from(grid.wide) {
            return Err((None, Why::Groups { needed, limit: gpu.groups }));
        }
        // Each workgroup has one part, unless the grid's last row is not full.
        let one_row = needed <= u64::from(grid.wide);
        if link.is_some() && !one_row {
            return Err((None, Why::Groups { needed, limit: grid.wide }));
        }
        let start = Start::new(self, step, &works, needed);
        let lanes = self.lanes(step);
        let mut w = self.writer((lanes, &start), &works, needed);
        if start.releases_early {
            w.code.push(Stmt::LaunchNext);
            w.released = true;
        }
        if !one_row {
            w.wait();
        }
        let mut group = link.as_ref().map_or(Expr::Group(0), |link| Expr::name(&*link.group));
        if !one_row {
            group = w.code.set("group_number", Expr::Group(1) * grid.wide + group);
        }
        let (mut shared_words, arrays) = self.written_works(&mut w, &works, one_row, &group)?;
        if start.joins {
            shared_words = shared_words.max(gpu.most_shared_bytes / 4 * 2 / 5);
        }
        let together = w.together;
        let body = body(w, link.as_ref().map_or(0, |link| link.args));
        let module = Module {
            name: kernel.name.clone(),
            title: format!("{}: {schedule}", kernel.name),
            slots,
            piece_words: u32::try_from(gpu.piece_bytes / 4).unwrap_or(u32::MAX),
            args_words: args_words(kernel.params.len()),
            lanes,
            dependent: start.dependent,
            releases_early: start.releases_early,
            shared_words,
            arrays,
            functions: functions::called(&body),
            body,
            together,
            chain: false,
        };
        if start.dependent {
            debug_assert_eq!(waits::check(&module), Ok(()), "{}", module.title);
        }
        Ok((module, grid, 4 * scratch_words))
    }

    /// Lanes per workgroup. Few workgroups sort, so each of them has many lanes.
    fn lanes(&self, step: Step) -> u32 {
        let panels = self.schedule.parts.iter().any(|form| matches!(form, Form::DotPanels(_)));
        match step == Step::Sort && panels {
            true => below(self.gpu.invocations.min(SORTING) as usize) as u32,
            false => self.schedule.lanes,
        }
    }

    /// The writer of a shader with this work.
    fn writer(&self, (lanes, start): (u32, &Start), works: &[Work], needed: u64) -> Writer<'_> {
        let Job { kernel, slots, max, gpu, ref link, .. } = *self;
        let mut w = Writer::new(kernel, slots, lanes, gpu);
        w.holds = max.tokens <= FEW_TOKENS;
        w.waits = start.dependent;
        let most_chunks = works.iter().map(|work| work.space.most_chunks(max)).max();
        w.joins_many = start.joins
            && gpu.features.dependent_launch
            && 2 * many::MOST_BYTES <= gpu.most_shared_bytes
            && most_chunks > Some(u64::from(gpu.processors));
        if let Some(link) = link {
            link.taken.iter().for_each(|name| drop(w.code.fresh(name)));
            // Compilers move loads from read-only buffers past the wait, to the uses of their values. So loading the weights of products
            // early would only cost a fifth more code and half as many registers again.
            w.early_words = 0;
        }
        if start.dependent && gpu.features.matrix_whole {
            w.whole_words = whole_words(needed, gpu);
        }
        w
    }

    /// Writes the work on all parts. Returns the words of workgroup memory that it needs, and the arrays besides.
    fn written_works(
        &self,
        w: &mut Writer<'_>,
        works: &[Work],
        one_row: bool,
        group: &Expr,
    ) -> Result<(u32, Arrays), Failure> {
        let waits = w.waits;
        let (mut kept, mut arrays) = (0, Arrays::default());
        let mut begin = Expr::U32(0);
        for Work { part: i, split, space, pass, groups } in works {
            let (part, form) = (&self.kernel.parts[*i], &self.schedule.parts[*i]);
            let fail = |why| (Some(*i), why);
            w.pool.clear();
            w.arrays = Arrays::default();
            w.waits = waits;
            w.code.note(format!("part {i}: {}; {}{}", title(part), form, pass.title()));
            let own = w.code.set("own_group", group - &begin);
            // A single part has all workgroups, unless the grid's last row is not full.
            if works.len() == 1 && one_row {
                form.write(w, part, split, (space, *pass), &own).map_err(fail)?;
            } else {
                let count = match pass {
                    Pass::Sort(_) | Pass::Shared(_) | Pass::InTurn { .. } => Expr::U32(groups.times),
                    _ => space.count(&mut w.code),
                };
                let is_own = own.less(&count);
                w.when(is_own, |w| form.write(w, part, split, (space, *pass), &own)).map_err(fail)?;
                begin = w.code.set("end", begin + count);
            }
            kept = kept.max(w.pool.top);
            arrays = arrays.max(w.arrays);
            if arrays != Arrays::default() {
                // The arrays after the pool begin at a multiple of 16 bytes.
                kept = kept.next_multiple_of(4);
            }
            let words = if arrays == Arrays::default() { w.pool.top } else { kept };
            self.fits(w, split, words, arrays).map_err(fail)?;
        }
        Ok((kept, arrays))
    }

    /// Checks the workgroup memory of a part, whose arrays lie after the pool of any part. [`Stmt::Uniform`] may need one more word. In
    /// Metal each array takes a multiple of 16 bytes; only CUDA has parts with more memory than usual.
    fn fits(&self, w: &Writer<'_>, split: &Split, words: u32, arrays: Arrays) -> Result<(), Why> {
        let gpu = self.gpu;
        let (pool, besides) = (4 * u64::from(words), u64::from(arrays.bytes()));
        let (needed, limit) = match w.pool.grows && (split.matrix || w.holds && gpu.features.quads) {
            true => (pool + besides + 4, gpu.most_shared_bytes),
            false => (pool.next_multiple_of(METAL_ARRAY) + besides + METAL_ARRAY, gpu.shared_bytes),
        };
        if needed > u64::from(limit) { Err(Why::Shared { needed, limit }) } else { Ok(()) }
    }
}

/// How the launch of a shader begins.
struct Start {
    /// Whether it may begin before the launch that it depends on has ended. Long steps do not: their kernels fill the GPU, so one that
    /// begins early only takes the places of the one it waits for.
    dependent: bool,
    /// Whether its workgroups combine chunks and begin early. Then at most two of them share a multiprocessor: two take as long as one,
    /// four do not.
    joins: bool,
    /// Whether it releases the next launch [early](early_release).
    releases_early: bool,
}

impl Start {
    fn new(job: &Job<'_>, step: Step, works: &[Work], needed: u64) -> Start {
        let Job { kernel, max, gpu, ref link, .. } = *job;
        let dependent = link.is_some() || gpu.features.dependent_launch && max.tokens <= EARLY_TOKENS;
        let joins = step == Step::Join
            && dependent
            && needed <= 2 * u64::from(gpu.processors)
            && works.iter().any(|work| is_attention(&kernel.parts[work.part]));
        Start { dependent, joins, releases_early: dependent && early_release::of_shader(job, step) }
    }
}

/// The written statements, after the definitions of the arguments that they name. `first` is the first word of these arguments.
fn body(w: Writer<'_>, first: usize) -> Vec<Stmt> {
    let Writer { code, starts, counts, .. } = w;
    let define = |name: char, param: &usize, word: usize| {
        Stmt::Let(format!("{name}{param}"), Expr::Arg(first + 2 * param + word))
    };
    let mut body: Vec<Stmt> = starts.iter().map(|p| define('p', p, 0)).collect();
    body.extend(counts.iter().map(|p| define('n', p, 1)));
    let code = code.finish();
    if mentions(&code, TOP_BITS) {
        // The grid has one group along the third axis, so its number is 0.
        body.push(Stmt::Let(TOP_BITS.into(), Expr::Group(2) ^ 0x8080_8080u32));
    }
    body.extend(code);
    body
}

/// Words of workgroup memory for products on matrix units that hold all their operands at once, in a kernel with this many workgroups. If
/// there are more than two rounds of workgroups, several should share a multiprocessor.
fn whole_words(groups: u64, gpu: &Gpu) -> u32 {
    let few = groups <= 2 * u64::from(gpu.processors);
    let bytes: u32 = if few { 176 << 10 } else { 64 << 10 };
    bytes.min(gpu.most_shared_bytes.saturating_sub(16 << 10)) / 4
}

/// The most lanes per workgroup that sorts rows.
const SORTING: u32 = 512;

/// The most tokens of a step whose kernels begin early.
const EARLY_TOKENS: usize = 64;

/// The granularity in bytes of an array in Metal's workgroup memory.
const METAL_ARRAY: u64 = 16;

fn is_attention(part: &Part) -> bool {
    part.attention().is_some()
}

/// A part's title, for the comment above it.
fn title(part: &Part) -> String {
    let rows: Vec<String> = part.rows.iter().map(ToString::to_string).collect();
    let anchor = part.anchor.name();
    format!("{anchor} [{}] × {}", rows.join(", "), part.cols)
}
