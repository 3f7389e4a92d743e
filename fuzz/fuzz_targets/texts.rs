//! Any text given to the parsers of graphs and plans ends in an error or in one that prints and parses back; any graph becomes
//! a plan or is refused with a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_ir::rules::decisions;
use weft_ir::{Mode, Sizes, Switches};

fuzz_target!(|text: &str| {
    if let Ok(graph) = weft_ir::parse(text) {
        assert_eq!(weft_ir::parse(&graph.to_string()).as_ref(), Ok(&graph));
        let mut all = Switches::default();
        decisions().for_each(|decision| all.set(decision, Mode::On));
        let rewritten = weft_ir::rewrite(&graph, &all).graph;
        assert_eq!(weft_ir::verify(&rewritten), Ok(()));
        let max = Sizes::of(4).rows(2).slots(64).pages(2);
        let fused = weft_fuse::fuse(&graph, &max);
        assert!(!matches!(fused, Err(weft_fuse::FuseError::Plan(_))));
    }
    if let Ok(plan) = weft_kern::parse_plan(text) {
        assert_eq!(weft_kern::parse_plan(&plan.to_string()).as_ref(), Ok(&plan));
    }
});
