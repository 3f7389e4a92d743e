//! Writes every text of the test graphs to a folder. Run it before and after a change: `diff -r` shows the texts that the change reaches.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::graphs::{file_tests, fixtures, graph_of, plans, root, slots};
use crate::valid::{adapters, with_chains};
use weft_ir::Graph;
use weft_kern::Plan;
use weft_render::{Gpu, Language, Scheduler, Target, TunedSchedules, checksum, departures};

/// The targets: each kind of adapter, and cards of each generation for which texts differ.
fn targets() -> Vec<(String, Target)> {
    let adapters = adapters().into_iter().chain([with_chains()]).enumerate();
    let cuda = |gpu| Target { language: Language::Cuda, gpu };
    let cards = [((7, 5), 40), ((8, 0), 108), ((8, 9), 128), ((9, 0), 64), ((9, 0), 132), ((12, 0), 170)];
    let cards = cards.map(|(card, processors)| {
        (format!("sm_{}{}_{processors}", card.0, card.1), cuda(Gpu::of_cuda(card, processors)))
    });
    let all = adapters.map(|(i, target)| (format!("wgsl_{i}"), target)).chain(cards);
    all.chain([("cuda".to_string(), cuda(Gpu::cuda()))]).collect()
}

/// Writes the texts of a plan, and a line for each shader to `list`.
fn dump(
    plan: &Plan,
    name: &str,
    scheduler: &Scheduler,
    folder: &Path,
    list: &mut String,
    seen: &mut BTreeSet<u64>,
) {
    let early = scheduler.target().language == Language::Cuda;
    for (at, call) in plan.calls.iter().enumerate() {
        let kernel = &plan.kernels[call.kernel];
        let rendered = scheduler.render(kernel, &slots(plan, at, early), &plan.max);
        let _ = write!(list, "{name} T={} {at}:", plan.max.tokens);
        match rendered {
            Err(refused) => {
                let _ = write!(list, " {refused}");
            }
            Ok(shaders) => {
                for shader in shaders {
                    let text = checksum(shader.source.as_bytes());
                    if seen.insert(text) {
                        std::fs::write(folder.join(format!("{text:016x}")), &shader.source).unwrap();
                    }
                    let rest = checksum(format!("{shader:?}").as_bytes());
                    let _ = write!(list, " {text:016x} {rest:016x}");
                }
            }
        }
        list.push('\n');
    }
}

#[test]
#[ignore = "writes to the folder in WEFT_DUMP"]
fn all_texts() {
    let folder = std::env::var_os("WEFT_DUMP").expect("WEFT_DUMP: a folder for the texts");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    let (mut list, mut seen) = (String::new(), BTreeSet::new());
    let fresh = |target: &Target| Scheduler::new(target.clone(), TunedSchedules::default());
    let graphs = file_tests().into_iter().chain(fixtures());
    for (number, graph) in graphs.enumerate() {
        let plans = plans(&graph);
        for (of, target) in targets() {
            for (i, plan) in plans.all().enumerate() {
                dump(plan, &format!("{number} {i} {of}"), &fresh(&target), folder, &mut list, &mut seen);
            }
        }
    }
    // The texts under each departure, and the schedules that the tuner tries.
    let graphs: [Graph; 2] = ["graphs/glm_moe_layer.graph", "kernels/qwen3moe_layer.t"]
        .map(|path| graph_of(&root(&format!("filetests/{path}"))));
    for graph in &graphs {
        let plans = plans(graph);
        for (of, target) in targets() {
            for plan in plans.usual() {
                let mut scheduler = fresh(&target);
                for kernel in &plan.kernels {
                    let Some(schedule) = scheduler.schedule(kernel, &plan.max) else { continue };
                    let near = scheduler.near(kernel, &plan.max, &schedule);
                    let _ = writeln!(list, "{of} {}: {schedule}\n  {}", kernel.name, near.join("\n  "));
                }
                for each in departures() {
                    scheduler.depart([each.name]);
                    dump(plan, &format!("{} {of}", each.name), &scheduler, folder, &mut list, &mut seen);
                }
            }
        }
    }
    std::fs::write(folder.join("list"), list).unwrap();
}
