//! Tests of chains: the kernels that one holds, and its text.

use crate::graphs::{bound_slots, plans, some_fixtures};
use crate::valid::{validate, with_chains};
use weft_ir::Sizes;
use weft_kern::Plan;
use weft_render::{Chain, Chained, Gpu, Joined, Scheduler, Shader, Slots, Target, TunedSchedules, render};

/// The buffers of a plan's kernels: the arena, or another one.
type Buffer = Option<usize>;

/// Joins as many calls from `first` on as possible. Returns them with their number.
fn joined(plan: &Plan, first: usize, target: &Target) -> Joined<Buffer> {
    let mut joined = Joined::default();
    for at in first..plan.calls.len() {
        let (slots, buffers) = bound_slots(plan, at, false);
        let shaders = shaders(plan, at, &slots, target);
        if !joined.add((&slots, &buffers), &shaders, &plan.max, &target.gpu) {
            break;
        }
    }
    joined
}

fn shaders(plan: &Plan, at: usize, slots: &Slots, target: &Target) -> Vec<Shader> {
    render(&plan.kernels[plan.calls[at].kernel], slots, &plan.max, target).unwrap()
}

fn rendered(plan: &Plan, first: usize, joined: &Joined<Buffer>, target: &Target) -> Chain {
    let slots = joined.slots();
    let chained: Vec<Chained<'_>> = plan.calls[first..]
        .iter()
        .zip(&slots)
        .map(|(call, slots)| Chained { kernel: &plan.kernels[call.kernel], slots, first_shader: 0 })
        .collect();
    let scheduler = Scheduler::new(target.clone(), TunedSchedules::default());
    scheduler.chain(&chained, &plan.max).unwrap()
}

/// All calls of a plan as a chain.
pub(super) fn chain_of(plan: &Plan, max: &Sizes, target: &Target) -> Chain {
    assert_eq!(plan.max, *max);
    let joined = joined(plan, 0, target);
    assert_eq!(joined.kernels(), plan.calls.len());
    rendered(plan, 0, &joined, target)
}

/// Models become few chains, all of them valid, whose stages have the grids of the kernels' own launches.
#[test]
fn steps_of_one_token_are_a_few_chains() {
    let target = with_chains();
    let (mut longest, mut loads) = (0, 0);
    for graph in some_fixtures() {
        for plan in plans(&graph).usual().filter(|plan| plan.max.tokens == 1) {
            let mut first = 0;
            while first < plan.calls.len() {
                let joined = joined(plan, first, &target);
                if joined.kernels() > 1 {
                    let chain = rendered(plan, first, &joined, &target);
                    validate(&chain.shader, &target);
                    let text = &chain.shader.source;
                    for own in ["met", "ended", "working"] {
                        let named = |kind: &str| text.matches(&format!("{kind} {own} =")).count();
                        assert_eq!((named("let"), named("var")), (0, 1), "{own}");
                    }
                    loads += loads_behind_waits(text);
                    for own in ["met", "ended", "working"] {
                        let named =
                            |kind: &str| chain.shader.source.matches(&format!("{kind} {own} =")).count();
                        assert_eq!((named("let"), named("var")), (0, 1), "{own}");
                    }
                    let apart = (first..first + joined.kernels())
                        .flat_map(|at| shaders(plan, at, &bound_slots(plan, at, false).0, &target));
                    let (grids, lanes): (Vec<_>, Vec<_>) =
                        apart.map(|shader| (shader.grid, shader.lanes)).unzip();
                    assert_eq!(chain.stages, grids, "{}", plan.name);
                    assert!(lanes.iter().all(|lanes| *lanes == chain.shader.lanes), "{lanes:?}");
                    longest = longest.max(chain.stages.len());
                }
                first += joined.kernels().max(1);
            }
        }
    }
    assert!(longest >= 8, "the longest chain has {longest} stages");
    assert!(loads >= 100, "{loads} loads of what stages store");
}

/// Checks that all loads of data that stages store depend on the wait before them. Returns their number.
fn loads_behind_waits(text: &str) -> usize {
    let names = text.lines().filter(|line| line.contains("@coherent"));
    let names: Vec<&str> = names.filter_map(|line| line.rsplit_once("> ")?.1.split(':').next()).collect();
    let mut loads = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.contains("@coherent")) {
        for name in &names {
            for (at, place) in line.match_indices(&format!("{name}[")) {
                let before = &line[..at];
                let other = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
                let stores = ["", "atomicStore(&", "atomicAnd(&", "atomicOr(&"].contains(&before);
                if !other && !stores {
                    let index = line[at + place.len()..].split(']').next().unwrap_or_default();
                    assert!(index.split([' ', '(', ')']).any(|word| word == "met"), "{line}");
                    loads += 1;
                }
            }
        }
    }
    loads
}

/// A launch has as many workgroups as its largest stage, but no more than run at once.
#[test]
fn no_more_workgroups_are_launched_than_run_at_once() {
    let target = with_chains();
    let graph = crate::graphs::graph_of(&crate::graphs::root("filetests/wgsl/chain.t"));
    let all = plans(&graph);
    let plan = all.usual().find(|plan| plan.max.tokens == 1).unwrap();
    let chain = rendered(plan, 0, &joined(plan, 0, &target), &target);
    let one = Sizes::of(1);
    let groups: Vec<u64> = chain.stages.iter().map(|stage| u64::from(stage.groups(&one)[0])).collect();
    let most = *groups.iter().max().unwrap() as u32;
    assert!(most > 1, "{groups:?}");
    assert_eq!([1, most - 1, most, 1000].map(|n| chain.groups(&one, n)), [1, most - 1, most, most]);
    assert_eq!(chain.groups(&Sizes::default(), 1000), 0);
    let args = Chain::args(vec![vec![(8, 3)], vec![(16, 5), (0, 1), (4, 2)]]).unwrap();
    assert_eq!(args, [0, 0, 0, 0, 2, 3, 0, 0, 4, 5, 0, 1, 1, 2, 0, 0]);
}

/// The conditions that end a chain.
#[test]
fn a_chain_ends_where_memory_is_used_in_two_ways() {
    let target = with_chains();
    let graph = crate::graphs::graph_of(&crate::graphs::root("filetests/wgsl/chain.t"));
    let all = plans(&graph);
    let plan = all.usual().find(|plan| plan.max.tokens == 1).unwrap();
    let add = |joined: &mut Joined<Buffer>, at: usize, gpu: &Gpu, change: &dyn Fn(&mut Shader)| {
        let (slots, buffers) = bound_slots(plan, at, false);
        let mut shaders = shaders(plan, at, &slots, &target);
        change(&mut shaders[0]);
        joined.add((&slots, &buffers), &shaders, &plan.max, gpu)
    };
    let begun = |change: &dyn Fn(&mut Shader)| {
        let mut joined = Joined::default();
        assert!(add(&mut joined, 0, &target.gpu, change));
        joined
    };
    let usual = || begun(&|_| {});
    assert!(add(&mut usual(), 1, &target.gpu, &|_| {}));
    assert!(!add(&mut usual(), 1, &target.gpu, &|shader| shader.lanes /= 2));
    assert!(!add(&mut usual(), 1, &target.gpu, &|shader| shader.memory.cooperates = true));
    // The second kernel loads four words at once from the buffer to which the first one would store halves.
    let arena = |at: usize| bound_slots(plan, at, false).1.iter().position(Option::is_none).unwrap();
    let mut halves = begun(&|shader| assert!(shader.memory.halves.insert(arena(0))));
    assert!(!add(&mut halves, 1, &target.gpu, &|_| {}));
    assert!(add(&mut halves, 1, &target.gpu, &|shader| assert!(shader.memory.fours.remove(&arena(1)))));
    let few = Gpu { storage_buffers: 4, ..target.gpu.clone() };
    assert!(!add(&mut usual(), 1, &few, &|_| {}));
    let small = Gpu { processors: 0, ..target.gpu.clone() };
    assert!(!add(&mut usual(), 1, &small, &|_| {}));
}
