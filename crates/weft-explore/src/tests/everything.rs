//! The search against all graphs of an e-graph, found in another way: by choosing forms from the outputs on.

use std::collections::BTreeSet;
use std::time::Duration;

use weft_fuse::Options;
use weft_ir::parse;

use super::{forms, small, some_choice};
use crate::forms::{Choice, Forms};
use crate::laws::LAWS;
use crate::presets::PRESETS;
use crate::search::search;

/// The texts of all graphs that forms make up, from a choice with some classes decided.
fn all(forms: &Forms, choice: &Choice, decided: &[bool], graphs: &mut BTreeSet<String>) {
    match forms.undecided(choice, decided) {
        None => {}
        Some(None) => graphs.extend(forms.graph(choice).map(|graph| graph.to_string())),
        Some(Some(class)) => {
            let mut decided = decided.to_vec();
            decided[class] = true;
            for form in 0..forms.classes[class].len() {
                let mut choice = choice.clone();
                choice[class] = form;
                all(forms, &choice, &decided, graphs);
            }
        }
    }
}

#[test]
fn the_search_compiles_every_graph() {
    let joined = "graph g {\n%0 = input x : f32[T, 8]\n%1 = weight w : f32[9, 8]\n%2 = slice %1 axis=0 start=1 len=3 : f32[3, 8]\n\
        %3 = dot %0 %2 : f32[T, 3]\n%4 = slice %1 axis=0 start=4 len=2 : f32[2, 8]\n%5 = dot %0 %4 : f32[T, 2]\n\
        output y = %3\noutput z = %5\n}";
    let graphs = PRESETS.iter().map(|preset| small(preset.name)).chain([parse(joined).unwrap()]);
    for graph in graphs {
        let forms = forms(&graph, &LAWS);
        let begin = some_choice(&forms);
        let mut expected = BTreeSet::new();
        all(&forms, &begin, &vec![false; begin.len()], &mut expected);
        let found = search(&forms, &Options::default(), vec![begin], Duration::from_secs(60)).unwrap();
        assert!(found.all);
        assert_eq!(found.compiled, expected.len(), "{graph}");
    }
}
