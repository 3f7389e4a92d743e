//! The kernel launches of a step: roles, amounts, timings and parts.

use std::collections::BTreeSet;

use weft_engine::inspect::{Amounts, Batch, Role, Runner, StepShape, StepTimings};
use weft_engine::{EngineOptions, Error, Switches};
use weft_ir::{NodeId, Op, StateKind};
use weft_quant::GgmlType;

use crate::support::{Fixture, fixtures};

const DECODE: StepShape = StepShape { tokens: 1, depth: 0, logits: 1 };

fn runner(fixture: &str, switches: Switches) -> Runner {
    let options = EngineOptions::default().threads(2).context(64).batch(8).switches(switches);
    Fixture::load(fixture).runner(options)
}

/// The roles, anchors and types of the launches of a layer.
fn layer(runner: &Runner, layer: usize) -> Vec<String> {
    let launches = runner.launches(&DECODE);
    let own = launches.iter().filter(|launch| launch.layer == Some(layer));
    let words = own.map(|launch| {
        let pieces = launch.pieces.iter().map(|piece| {
            let ty = piece.ty.map_or(String::new(), |ty| format!(" {ty}"));
            format!("{}: {}{ty}", piece.role.name(), piece.anchor)
        });
        pieces.collect::<Vec<_>>().join(", ")
    });
    words.collect()
}

#[test]
fn every_launch_of_a_glm_layer_has_its_role() {
    let runner = runner("glm-tiny-q4_0", Switches::default());
    let attention = [
        "attention: dot q4_0, attention: dot q4_0, attention: dot q4_0",
        "attention: head_dot q4_0, attention: head_dot q4_0, norm: reduce",
        "attention: head_dot q4_0",
        "attention: attend",
        "attention: head_dot q4_0",
        "attention: dot q4_0",
    ];
    let dense =
        ["dense feed-forward: dot q4_0, dense feed-forward: dot q4_0", "dense feed-forward: dot q4_0"];
    let experts = [
        "router: dot f32, shared expert: dot q4_0, shared expert: dot q4_0",
        "routed experts: select_dot q4_0, routed experts: select_dot q4_0",
        "routed experts: select_sum q4_0, shared expert: dot q4_0",
    ];
    assert_eq!(layer(&runner, 0), [&attention[..], &dense].concat());
    assert_eq!(layer(&runner, 1), [&attention[..], &experts].concat());
    let launches = runner.launches(&DECODE);
    let outside: Vec<_> = launches.iter().filter(|l| l.layer.is_none()).map(|l| l.roles()).collect();
    assert_eq!(outside, [[Role::Embedding], [Role::Tables], [Role::Head]]);
    let body = runner.launches(&StepShape { logits: 0, ..DECODE });
    assert_eq!(body.len(), launches.len() - 1, "no head without logits");
}

#[test]
fn roles_do_not_depend_on_fusion() {
    let mut switches = Switches::default();
    for name in ["fuse.several", "fuse.router", "fuse.norm_into_dot", "fuse.beside", "fuse.tail", "fuse.rope"]
    {
        switches.set(weft_engine::decision(name).unwrap(), weft_engine::Mode::Off);
    }
    let runner = runner("glm-tiny-q4_0", switches);
    let mut by_role = std::collections::BTreeMap::<_, Amounts>::new();
    let launches = runner.launches(&DECODE);
    let pieces = launches.iter().filter(|l| l.layer == Some(1)).flat_map(|l| &l.pieces);
    pieces.for_each(|piece| *by_role.entry(piece.role).or_default() += piece.amounts);
    use Role::{Attention, Norm, Other, RoutedExperts, Router, SharedExpert};
    let found: Vec<Role> = by_role.keys().copied().collect();
    assert_eq!(found, [Attention, Router, RoutedExperts, SharedExpert, Norm, Other]);
    for role in [Norm, Other] {
        assert_eq!(by_role[&role].multiplications(), 0, "{role:?} multiplies by weights");
    }
}

/// `weft inspect` counts on the graphs, launches on the plans.
#[test]
fn a_token_reads_the_bytes_that_inspect_shows() {
    for (fixture, _) in &fixtures() {
        let runner = runner(fixture, Switches::default());
        let launches = runner.launches(&DECODE);
        let all = launches.iter().fold(Amounts::default(), |sum, launch| sum + launch.amounts());
        let cost = runner.model().graph().cost();
        assert_eq!(all.weight_bytes, cost.active_bytes, "{fixture}");
        // The state of a whole sequence is read and written, too.
        let states = 2 * (cost.state_bytes - cost.kept_bytes);
        // The first token sees only itself: its row is written once, and read once by each layer that attends to it.
        let (mut stored, mut first, mut third) = (BTreeSet::new(), 0, 0);
        for segment in &runner.model().graph().segments {
            // A list of positions limits that, too.
            let graph = &segment.graph;
            let list = |id: &NodeId| {
                let ty = &graph.node(*id).ty;
                ty.shape.last().filter(|_| ty.dtype == GgmlType::I32)
            };
            let window = graph.nodes().iter().find_map(|node| match node.op {
                Op::Attend { window, .. } => window.or(node.inputs[6..].iter().find_map(list)),
                _ => None,
            });
            // Each token adds a row to the cache, and each row is read once, however many tokens see it. A window limits how many
            // rows that is: for all that is known, each token may be of another sequence.
            let read = window.map_or(23, |window| (3 * window as u64).min(23));
            // An indexer scores all keys, or one of each pool.
            let pool = graph.nodes().iter().find_map(|node| match node.op {
                Op::Indexer { pool, .. } => Some(pool as u64),
                _ => None,
            });
            for node in segment.graph.nodes() {
                let Op::State { name, kind } = &node.op else { continue };
                if *kind == StateKind::PerSequence {
                    continue;
                }
                let values = node.ty.shape.known_count().unwrap();
                let row = (values / node.ty.dtype.block_len() * node.ty.dtype.block_bytes()) as u64;
                let state = segment.states.iter().find(|(own, _)| own == name).map(|(_, state)| state);
                let writes = u64::from(stored.insert(state));
                let keys = pool.filter(|_| name == "index");
                first += (writes + keys.map_or(1, |pool| 1 / pool)) * row;
                third += (3 * writes + keys.map_or(read, |pool| 23 / pool)) * row;
            }
        }
        assert_eq!(all.state_bytes, first + states, "{fixture}");
        let later = runner.launches(&StepShape { tokens: 3, depth: 20, logits: 1 });
        let later = later.iter().fold(Amounts::default(), |sum, launch| sum + launch.amounts());
        assert_eq!(later.state_bytes, third + states, "{fixture}");
    }
}

#[test]
fn a_timed_step_computes_the_same() {
    let mut runner = runner("glm-tiny-q4_k_m", Switches::default());
    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    (0..5).for_each(|token| batch.push(seq, token, token == 4));
    let expected = runner.step(&batch).unwrap().to_vec();
    runner.truncate(seq, 0);
    let mut timings = StepTimings::default();
    assert_eq!(runner.step_timed(&batch, &mut timings).unwrap(), expected);

    let launches = runner.launches(&StepShape { tokens: 5, depth: 0, logits: 1 });
    let [body, head] = timings.replays() else { panic!("expected body and head") };
    assert_eq!(body.launches.launches() + head.launches.launches(), launches.len());
    assert!(body.ended <= head.began && head.ended <= timings.wall());
    for replay in [body, head] {
        let long = (replay.ended - replay.origin).as_nanos() as u64;
        for worker in 0..2 {
            let spans: Vec<_> =
                (0..replay.launches.launches()).map(|s| replay.launches.span(worker, s)).collect();
            assert!(spans.iter().all(|s| s.begin <= s.done && s.done <= s.free && s.free <= long));
            assert!(spans.windows(2).all(|pair| pair[0].free == pair[1].begin), "gaps between launches");
        }
        // No worker leaves a launch before all are done with it.
        for step in 0..replay.launches.launches() {
            let [a, b] = [0, 1].map(|worker| replay.launches.span(worker, step));
            assert!(a.free.min(b.free) >= a.done.max(b.done), "step {step}: {a:?}, {b:?}");
        }
    }

    batch.clear();
    batch.push(seq, 1, false);
    runner.step_timed(&batch, &mut timings).unwrap();
    assert_eq!(timings.replays().len(), 1, "no head without logits");
    batch.clear();
    assert!(matches!(runner.step_timed(&batch, &mut timings), Err(Error::Batch(_))));
}

#[test]
fn a_part_is_replayed_after_a_step() {
    let mut runner = runner("glm-tiny-q4_0", Switches::default());
    let launches = runner.launches(&DECODE);
    let own: Vec<usize> = (0..launches.len()).filter(|i| launches[*i].layer == Some(1)).collect();
    let part = runner.part(&DECODE, own[0]..own[0] + own.len()).unwrap();
    let empty = runner.empty_part(1, 3).unwrap();
    let refused = runner.replay_part(part).unwrap_err().to_string();
    assert!(refused.contains("a part of a step of 1 tokens after one of 0"), "{refused}");
    assert!(runner.part(&DECODE, 0..launches.len() + 1).is_err());

    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    batch.push(seq, 7, true);
    let expected = runner.step(&batch).unwrap().to_vec();
    for part in [part, empty] {
        assert!(runner.replay_part(part).unwrap().as_nanos() > 0);
    }
    // Replaying a part does not change later steps.
    runner.truncate(seq, 0);
    assert_eq!(runner.step(&batch).unwrap(), expected);
}

#[test]
fn layers_of_one_shape_share_a_plan() {
    let runner = runner("ds2-tiny-q4_0", Switches::default());
    assert_eq!(runner.plans_made_twice(1), []);
}
