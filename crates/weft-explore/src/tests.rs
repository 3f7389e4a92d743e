//! The e-graph only equates what is equal, and graphs go into it and come out again unchanged.

mod equations;
mod everything;
mod grower;
mod limits;
mod meaning;

use weft_ir::{Graph, parse};

use crate::forms::{Choice, Forms};
use crate::greedy::{Prices, greedy};
use crate::law::Law;
use crate::machines::MACHINES;
use crate::presets::PRESETS;
use crate::saturate::{Limits, Stopped, saturate};

/// The forms of a graph under these laws, saturated.
fn forms(graph: &Graph, laws: &[Law]) -> Forms {
    let from = saturate(graph, laws, &Limits::default()).unwrap();
    assert_eq!(from.growth.stopped, Stopped::Saturated, "{graph}");
    Forms::new(graph, &from)
}

/// Some choice of forms.
fn some_choice(forms: &Forms) -> Choice {
    greedy(forms, Prices { machine: MACHINES[0].machine, launches: 1.0 })
}

/// A preset with smaller sizes and with weights in `f32`: the same structure, quick to evaluate.
fn small(name: &str) -> Graph {
    let sizes: &[(&str, &str)] = match name {
        "glm-mla" | "glm-layer" => &[
            ("2048", "64"),
            ("768", "24"),
            ("5120", "48"),
            ("20", "3"),
            ("256", "16"),
            ("192", "12"),
            ("64", "4"),
            ("32", "2"),
            ("512", "20"),
            ("576", "24"),
            ("1536", "12"),
        ],
        _ => &[("2048", "32"), ("64", "8"), ("1536", "12"), ("1408", "12"), ("2816", "24")],
    };
    let preset = PRESETS.iter().find(|preset| preset.name == name).unwrap();
    let mut text = String::new();
    for word in preset.text.replace("q4_0", "f32").split_inclusive([' ', '[', ']', ',', '=', '\n']) {
        let (number, end) = word.split_at(word.find([' ', '[', ']', ',', '=', '\n']).unwrap_or(word.len()));
        let other = sizes.iter().find(|(from, _)| *from == number).map_or(number, |(_, to)| to);
        text.extend([other, end]);
    }
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
