//! Which launches of a program become one, where workgroups can wait for each other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weft_device::{BufferId, Program};
use weft_render::{Chain, Chained, Joined, MOST_CHAINED, Shader, Slots};

use crate::launches::Rendered;
use crate::scheduler::Scheduler;

/// The chains rendered so far, by the shaders before them, and by their kernels with their slots; `None` for kernels that cannot be one.
type Known = BTreeMap<(usize, Vec<(usize, Slots)>), Option<Arc<Chain>>>;

/// Launches of a program that run as one, or one launch with its shaders.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The launches of the program.
    pub launches: Range<usize>,
    /// Their text.
    pub text: UnitText,
}

/// The text of a [`Unit`].
#[derive(Clone, Debug)]
pub enum UnitText {
    /// A launch of the program, or the first shaders of it.
    Shaders(Arc<[Shader]>),
    /// Several launches in one, and the buffer of each of its slots.
    Chain(Arc<Chain>, Vec<BufferId>),
}

/// Each launch separate.
pub fn apart(rendered: &Rendered) -> Vec<Unit> {
    let unit = |(at, shaders): (usize, &Arc<[Shader]>)| Unit {
        launches: at..at + 1,
        text: UnitText::Shaders(Arc::clone(shaders)),
    };
    rendered.iter().enumerate().map(unit).collect()
}

/// Joins launches to chains, each as long as it can be. `slots` returns the slots of a launch and their buffers. A chain can begin
/// with the last shader of a launch.
///
/// What cannot be rendered as a chain stays apart, as do all launches of steps of more than [`MOST_CHAINED`] tokens, or where there are no
/// [`chains`](weft_render::Features::chains).
pub fn chains(
    program: &Program,
    rendered: &Rendered,
    slots: impl Fn(usize) -> (Slots, Vec<BufferId>),
    scheduler: &Scheduler,
) -> Vec<Unit> {
    let gpu = scheduler.renderer.gpu_now();
    if !gpu.features.chains || program.max.tokens > MOST_CHAINED {
        return apart(rendered);
    }
    let mut known: Known = BTreeMap::new();
    let mut units = Vec::new();
    let add = |joined: &mut Joined<BufferId>, at: usize, first_shader: usize| {
        let (slots, buffers) = slots(at);
        joined.add((&slots, &buffers), &rendered[at][first_shader..], &program.max, &gpu)
    };
    let mut first = 0;
    while first < rendered.len() {
        let mut joined: Joined<BufferId> = Joined::default();
        let last = rendered[first].len().saturating_sub(1);
        // The launch's shaders that are not in the chain.
        let before = [0, last].into_iter().find(|before| add(&mut joined, first, *before));
        let mut end = first + 1;
        while before.is_some() && end < rendered.len() && add(&mut joined, end, 0) {
            end += 1;
        }
        let launches = first..end;
        first = end;
        let chain = before.filter(|_| joined.kernels() > 1).and_then(|before| {
            let kernels = program.launches[launches.clone()].iter().map(|launch| launch.kernel);
            let key = (before, kernels.zip(joined.slots()).collect());
            let rendered = known.entry(key).or_insert_with_key(|(before, kernels)| {
                let links = kernels.iter().enumerate().map(|(i, (kernel, slots))| Chained {
                    kernel: &program.kernels[*kernel],
                    slots,
                    first_shader: if i == 0 { *before } else { 0 },
                });
                scheduler.renderer.chain(&links.collect::<Vec<_>>(), &program.max).ok().map(Arc::new)
            });
            Some((before, rendered.clone()?))
        });
        let shaders = |at: usize, shaders: Arc<[Shader]>| Unit {
            launches: at..at + 1,
            text: UnitText::Shaders(shaders),
        };
        match chain {
            Some((before, chain)) => {
                if before > 0 {
                    units.push(shaders(launches.start, rendered[launches.start][..before].into()));
                }
                units.push(Unit { launches, text: UnitText::Chain(chain, joined.into_buffers()) });
            }
            None => units.extend(launches.map(|at| shaders(at, Arc::clone(&rendered[at])))),
        }
    }
    units
}
