//! Putting a model together, segment by segment.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use weft_ir::Graph;

use crate::ModelGraph;
use crate::blocks::{Block, ends};
use crate::config::{Config, LayerInfo};
use crate::error::Error;
use crate::file::{Common, ModelFile};
use crate::segment::{Segment, SegmentBuilder};

/// A model in the making: the embedding, then layers in their order, then the head.
pub(crate) struct ModelBuilder<'a> {
    file: &'a ModelFile<'a>,
    common: Common,
    segments: Vec<Segment>,
    blocks: Vec<LayerInfo>,
    mtp_blocks: usize,
    /// Tensors that graphs have as constants and not by name.
    constants: BTreeSet<&'static str>,
}

impl<'a> ModelBuilder<'a> {
    /// Begins with the embedding.
    pub(crate) fn new(file: &'a ModelFile<'a>, common: Common) -> Result<ModelBuilder<'a>, Error> {
        let embed = ends::embed(file, &common)?;
        let mut model = ModelBuilder {
            file,
            common,
            segments: Vec::new(),
            blocks: Vec::new(),
            mtp_blocks: 0,
            constants: BTreeSet::new(),
        };
        model.push(embed, "embed".into())?;
        Ok(model)
    }

    /// Adds a layer of the usual kind: attention, then the feed-forward network, each on the normed state and added to
    /// it. A family whose layers are put together otherwise builds them like this, out of the same blocks.
    pub(crate) fn layer(&mut self, attention: &dyn Block, feed_forward: &dyn Block) -> Result<(), Error> {
        let Common { hidden, norm, .. } = self.common;
        let graph = format!("{}_{}_layer", attention.short_name(), feed_forward.short_name());
        let index = self.blocks.len();
        let mut segment = SegmentBuilder::new(self.file, &graph, Some(index));
        let s = &mut segment;
        let x = s.hidden(hidden);
        let normed = norm.build(s, x, "attn_norm.weight", 1, hidden)?;
        let attended = attention.build(s, normed)?;
        let x = s.g.add(x, attended);
        let normed = norm.build(s, x, "ffn_norm.weight", 1, hidden)?;
        let fed = feed_forward.build(s, normed)?;
        let x = s.g.add(x, fed);
        s.g.output("x", x);
        self.blocks.push(LayerInfo { attention: attention.info(), feed_forward: feed_forward.info() });
        self.push(segment, format!("layer {index}"))
    }

    /// Notes that the file counts so many blocks of a prediction head after the layers, which are not built and whose
    /// tensors are passed over.
    pub(crate) fn pass_over(&mut self, mtp_blocks: usize) {
        self.mtp_blocks = mtp_blocks;
    }

    /// Ends with the head, and refuses the file if it has tensors that nothing uses.
    pub(crate) fn finish(mut self) -> Result<ModelGraph, Error> {
        let head = ends::head(self.file, &self.common)?;
        self.push(head, "head".into())?;
        self.refuse_unknown_tensors()?;
        share_equal_graphs(&mut self.segments);
        let Common { name, hidden, vocab, context, heads, .. } = self.common;
        let config = Config {
            architecture: self.file.keys.architecture,
            name,
            hidden,
            vocab,
            context,
            heads,
            blocks: self.blocks,
            mtp_blocks: self.mtp_blocks,
        };
        Ok(ModelGraph { config, segments: self.segments })
    }

    fn push(&mut self, segment: SegmentBuilder<'_>, name: String) -> Result<(), Error> {
        self.constants.extend(&segment.constants);
        self.segments.push(segment.finish(name)?);
        Ok(())
    }

    fn refuse_unknown_tensors(&self) -> Result<(), Error> {
        let bound = self.segments.iter().flat_map(|s| &s.weights).map(|(_, tensor)| tensor.as_str());
        let known: BTreeSet<&str> = bound.chain(self.constants.iter().copied()).collect();
        let layers = self.blocks.len();
        let in_mtp_block = |name: &str| {
            let block = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
            let block = block.and_then(|(number, _)| number.parse().ok());
            block.is_some_and(|n: usize| n >= layers && n - layers < self.mtp_blocks)
        };
        let unknown = |name: &str| !known.contains(name) && !in_mtp_block(name);
        match self.file.gguf.tensors().iter().find(|tensor| unknown(&tensor.name)) {
            None => Ok(()),
            Some(tensor) => Err(Error::UnknownTensor {
                file: self.file.path(),
                tensor: tensor.name.clone(),
                architecture: self.file.keys.architecture,
            }),
        }
    }
}

/// Has segments that compute the same share one graph, so that whatever compiles them does so once.
fn share_equal_graphs(segments: &mut [Segment]) {
    let mut graphs: FxHashSet<Arc<Graph>> = FxHashSet::default();
    for segment in segments {
        match graphs.get(&segment.graph) {
            Some(graph) => segment.graph = Arc::clone(graph),
            None => drop(graphs.insert(Arc::clone(&segment.graph))),
        }
    }
}
