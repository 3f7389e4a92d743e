//! The graphs to explore by default.

/// A graph with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// The graph's text.
    pub text: &'static str,
}

/// Every preset: the two blocks of a layer of GLM-4.7-Flash, both together, and the experts of DeepSeek-V2-Lite, which are more
/// and narrower.
pub static PRESETS: [Preset; 4] = [
    Preset { name: "glm-mla", text: include_str!("../graphs/glm_mla.graph") },
    Preset { name: "glm-moe", text: include_str!("../graphs/glm_moe.graph") },
    Preset { name: "glm-layer", text: include_str!("../graphs/glm_layer.graph") },
    Preset { name: "v2-lite-moe", text: include_str!("../graphs/v2_lite_moe.graph") },
];
