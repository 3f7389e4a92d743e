//! A model as graphs, and the builder that families make it with.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use weft_gguf::TensorInfo;
use weft_ir::{Graph, NodeId};

use crate::blocks::{Block, ends};
use crate::common::Common;
use crate::config::{Config, LayerInfo};
use crate::error::Error;
use crate::file::ModelFile;
use crate::head::Head;
use crate::segment::{Segment, SegmentBuilder};

/// A model as graphs.
#[derive(Clone, Debug)]
pub struct ModelGraph {
    /// The model's names and sizes.
    pub config: Config,
    /// The segments, in the order in which a step computes them.
    pub segments: Vec<Segment>,
}

impl ModelGraph {
    /// The most positions that a token sees in layers with a sliding window; `None` if there are no such layers.
    pub fn window(&self) -> Option<usize> {
        self.segments.iter().filter_map(Segment::window).max()
    }
}

/// Builds a model: the embedding, the layers in order, the head.
pub(crate) struct ModelBuilder<'a> {
    file: &'a ModelFile<'a>,
    common: Common,
    segments: Vec<Segment>,
    blocks: Vec<LayerInfo>,
    mtp_blocks: usize,
    /// Tensors whose values became constants of a graph.
    constants: BTreeSet<&'static str>,
    /// Tensors that the model has and does not use.
    unused: BTreeSet<String>,
}

impl<'a> ModelBuilder<'a> {
    /// Starts a model with its embedding.
    pub(crate) fn new(file: &'a ModelFile<'a>, common: Common) -> Result<ModelBuilder<'a>, Error> {
        let embed = ends::embed(file, &common)?;
        ModelBuilder::with_embedding(file, common, embed)
    }

    /// Starts a model with an embedding that the family built.
    pub(crate) fn with_embedding(
        file: &'a ModelFile<'a>,
        common: Common,
        embed: SegmentBuilder<'a>,
    ) -> Result<ModelBuilder<'a>, Error> {
        let mut model = ModelBuilder {
            file,
            common,
            segments: Vec::new(),
            blocks: Vec::new(),
            mtp_blocks: 0,
            constants: BTreeSet::new(),
            unused: BTreeSet::new(),
        };
        model.push(embed, "embed".into())?;
        Ok(model)
    }

    /// Adds a pre-norm layer: attention and the feed-forward network, each applied to the normed hidden state and added to
    /// the residual.
    pub(crate) fn layer(&mut self, attention: &dyn Block, feed_forward: &dyn Block) -> Result<(), Error> {
        let index = self.blocks.len();
        let segment = layer(self.file, &self.common, index, attention, feed_forward)?;
        let info = LayerInfo { attention: attention.info(), feed_forward: feed_forward.info() };
        self.own_layer(segment, info)
    }

    /// Adds a layer that the family built.
    pub(crate) fn own_layer(&mut self, segment: SegmentBuilder<'_>, info: LayerInfo) -> Result<(), Error> {
        let index = self.blocks.len();
        self.blocks.push(info);
        self.push(segment, format!("layer {index}"))
    }

    /// Ignores the tensors of `mtp_blocks` blocks after the layers, which belong to a multi-token prediction head.
    pub(crate) fn ignore_mtp_blocks(&mut self, mtp_blocks: usize) {
        self.mtp_blocks = mtp_blocks;
    }

    /// Ignores a tensor, which files of the family have although the model was trained without it.
    pub(crate) fn ignore(&mut self, tensor: String) {
        self.unused.insert(tensor);
    }

    /// Adds the head and returns the model, or an error if the file has a tensor that no graph uses.
    pub(crate) fn finish(mut self) -> Result<ModelGraph, Error> {
        let head = Head::read(&self.file.keys, self.file.options.pooling)?;
        let segment = ends::head(self.file, &self.common, head)?;
        self.push(segment, "head".into())?;
        self.unused.extend(ends::unused(head).iter().map(|tensor| tensor.to_string()));
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
            head,
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
        let unknown =
            |name: &str| !known.contains(name) && !in_mtp_block(name) && !self.unused.contains(name);
        let gguf = self.file.gguf;
        let adapter = |tensor: &TensorInfo| {
            let always = gguf.adapter_of(tensor).map(|adapter| &gguf.files()[adapter.file].path);
            always.or(gguf.selectable_of(tensor).map(|adapter| &adapter.path))
        };
        let found = gguf.tensors().iter().find(|tensor| unknown(&tensor.name));
        match found.map(|tensor| (tensor, adapter(tensor))) {
            None => Ok(()),
            Some((tensor, Some(path))) => Err(Error::AdaptedTensor {
                file: path.display().to_string(),
                tensor: tensor.name.split(".lora_").next().unwrap_or_default().into(),
            }),
            Some((tensor, None)) => Err(Error::UnknownTensor {
                file: self.file.path(),
                tensor: tensor.name.clone(),
                architecture: self.file.keys.architecture,
            }),
        }
    }
}

/// Builds a pre-norm layer with one branch from block `index` of a file.
pub(crate) fn single<'a>(
    file: &ModelFile<'a>,
    common: &Common,
    index: usize,
    block: &dyn Block,
) -> Result<SegmentBuilder<'a>, Error> {
    let mut s = SegmentBuilder::new(file, &format!("{}_layer", block.short_name()), Some(index));
    let x = s.hidden(common.hidden);
    let seen = before(&mut s, common, x, common.attn_norm)?;
    let added = block.build(&mut s, seen)?;
    let x = s.g.add(x, added);
    s.g.output("x", x);
    Ok(s)
}

/// Builds a pre-norm layer from block `index` of a file: attention and the feed-forward network, each applied to the normed
/// hidden state and added to the residual. `Common` says what families do otherwise.
pub(crate) fn layer<'a>(
    file: &ModelFile<'a>,
    common: &Common,
    index: usize,
    attention: &dyn Block,
    feed_forward: &dyn Block,
) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, attn_norm, ffn_norm, parallel, .. } = *common;
    let graph = format!("{}_{}_layer", attention.short_name(), feed_forward.short_name());
    let mut s = SegmentBuilder::new(file, &graph, Some(index));
    if let Some(streams) = common.streams {
        let of = (common.norm, hidden);
        let x = s.hidden(common.width());
        let x = streams.around(&mut s, x, ("attn", "attn_norm.weight"), of, attention)?;
        let x = streams.around(&mut s, x, ("ffn", "ffn_norm.weight"), of, feed_forward)?;
        s.g.output("x", x);
        return Ok(s);
    }
    let x = s.hidden(hidden);
    let seen = before(&mut s, common, x, attn_norm)?;
    let attended = attention.build(&mut s, seen)?;
    let attended = after(&mut s, common, attended, 0)?;
    let x = if parallel {
        let fed = feed_forward.build(&mut s, seen)?;
        let fed = after(&mut s, common, fed, 1)?;
        let x = s.g.add(x, fed);
        s.g.add(x, attended)
    } else {
        let x = s.g.add(x, attended);
        let seen = before(&mut s, common, x, ffn_norm)?;
        let fed = feed_forward.build(&mut s, seen)?;
        let fed = after(&mut s, common, fed, 1)?;
        s.g.add(x, fed)
    };
    s.g.output("x", x);
    Ok(s)
}

/// The input of a branch of a layer: the hidden state, normed if the branch has a norm.
fn before(
    s: &mut SegmentBuilder<'_>,
    common: &Common,
    x: NodeId,
    norm: Option<&'static str>,
) -> Result<NodeId, Error> {
    norm.map_or(Ok(x), |tensor| common.norm.build(s, x, tensor, 1, common.hidden))
}

/// The addend of a branch of a layer: its result, in some families normed or scaled.
fn after(s: &mut SegmentBuilder<'_>, common: &Common, branch: NodeId, which: usize) -> Result<NodeId, Error> {
    let branch = match common.post_norms {
        Some(tensors) => common.post_norm.build(s, branch, tensors[which], 1, common.hidden)?,
        None => branch,
    };
    Ok(s.scaled(branch, common.residual_scale))
}

/// Shares equal graphs between segments, so that each is compiled once.
fn share_equal_graphs(segments: &mut [Segment]) {
    let mut graphs: FxHashSet<Arc<Graph>> = FxHashSet::default();
    for segment in segments {
        match graphs.get(&segment.graph) {
            Some(graph) => segment.graph = Arc::clone(graph),
            None => drop(graphs.insert(Arc::clone(&segment.graph))),
        }
    }
}
