//! The `nemotron_h` and `nemotron_h_moe` families (Nemotron-H, Nemotron Nano 2 and 3): each layer is one block, Mamba-2, grouped-query
//! attention without positions, or a network with squared ReLU: a dense one, or experts and shared ones.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/nemotron-h.cpp`), except that fused `attn_qkv` tensors, another
//! `attention.scale`, groups of experts, and layers that choose different numbers of experts are refused. Experts may have an input and a
//! result of their own width, between `ffn_latent_down` and `ffn_latent_up`. Blocks for multi-token prediction are left out.

use weft_ir::NodeId;

use super::family::Family;
use crate::blocks::{
    Activation, Block, Count, Experts, Gated, Gating, Grouped, Heads, Mamba, Norm, Router, Shared, linear,
};
use crate::common::{Common, refuse_factors, refuse_window};
use crate::config::{BlockInfo, LayerInfo};
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph, single};
use crate::mtp;
use crate::segment::SegmentBuilder;

/// The tensors of both families.
macro_rules! tensors {
    ($($more:literal),*) => {
        &[
            "attn_norm",
            "ssm_in",
            "ssm_conv1d",
            "ssm_dt",
            "ssm_a",
            "ssm_d",
            "ssm_norm",
            "ssm_out",
            "attn_q",
            "attn_k",
            "attn_v",
            "attn_output",
            $($more),*
        ]
    };
}

/// Keys of layers with a recurrent state.
const UNUSUAL: &[&str] = &["ssm.state_size"];

pub(super) const DENSE: Family = Family {
    architecture: "nemotron_h",
    tensors: tensors!["ffn_up", "ffn_down"],
    unusual: UNUSUAL,
    build: |file| build(file, &dense),
    mtp: None,
};

pub(super) const EXPERTS: Family = Family {
    architecture: "nemotron_h_moe",
    tensors: tensors![
        "ffn_gate_inp",
        "exp_probs_b",
        "ffn_latent_down",
        "ffn_latent_up",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_up_shexp",
        "ffn_down_shexp"
    ],
    unusual: UNUSUAL,
    build: |file| build(file, &experts),
    mtp: None,
};

/// The network of a block, from its `feed_forward_length`, which is above zero.
type Network = dyn Fn(&Keys<'_>, &Common, (usize, u32)) -> Result<Box<dyn Block>, Error>;

const WIDTH: &str = "feed_forward_length";

fn build(file: &ModelFile<'_>, network: &Network) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = common(keys)?;
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    let (heads, attends) = Heads::read_some(keys, &common)?;
    let attention = Grouped::unrotated(common.hidden, heads, heads.only_scale(keys)?);
    let mamba = Mamba::read(keys, common.hidden, common.norm)?;
    let widths = keys.per_layer(WIDTH, common.blocks)?;
    let mtp_blocks = common.blocks - layers;

    let mut model = ModelBuilder::new(file, common.clone())?;
    for (index, (width, attends)) in widths.into_iter().zip(attends).take(layers).enumerate() {
        // As in llama.cpp: a layer with a network has no attention, whatever its heads.
        let network = (width > 0).then(|| network(keys, &common, (index, width))).transpose()?;
        let (block, info) = match &network {
            Some(network) => (network.as_ref(), lacks(None, Some(network.info()))),
            None if attends => (&attention as &dyn Block, lacks(Some(attention.info()), None)),
            None => (&mamba as &dyn Block, lacks(Some(mamba.info()), None)),
        };
        model.own_layer(single(file, &common, index, block)?, info)?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// The description of a layer that lacks a block.
fn lacks(attention: Option<BlockInfo>, feed_forward: Option<BlockInfo>) -> LayerInfo {
    LayerInfo {
        attention: attention.unwrap_or_else(|| BlockInfo::none("no attention")),
        feed_forward: feed_forward.unwrap_or_else(|| BlockInfo::none("without a network")),
    }
}

/// The ε of norms is that of LayerNorm in files that have no other.
fn common(keys: &Keys<'_>) -> Result<Common, Error> {
    const EPS: &str = "attention.layer_norm_epsilon";
    let eps = match keys.positive_opt("attention.layer_norm_rms_epsilon")? {
        Some(eps) => eps,
        None => keys.positive(EPS)?,
    };
    refuse_factors(keys, &["logit_scale", "embedding_scale", "residual_scale"])?;
    let common = Common::read_normed(keys, Norm::rms(eps))?;
    refuse_window(keys, common.context)?;
    Ok(common)
}

fn dense(keys: &Keys<'_>, common: &Common, (_, width): (usize, u32)) -> Result<Box<dyn Block>, Error> {
    let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
    Ok(Box::new(Gated { hidden: common.hidden, width, activation: Activation::SquaredRelu }))
}

fn experts(keys: &Keys<'_>, common: &Common, (block, all): (usize, u32)) -> Result<Box<dyn Block>, Error> {
    const EXPERT: &str = "expert_feed_forward_length";
    let (count, hidden) = (Count::read(keys)?, common.hidden);
    let width = match keys.metadata.get(&keys.name(EXPERT)) {
        Some(_) => keys.per_layer(EXPERT, common.blocks)?[block],
        None => all / count.used as u32,
    };
    let width = keys.within(EXPERT, width, 1..=MAX_WIDTH)?;
    Router::refuse_groups(keys)?;
    let router = Router {
        gating: Gating::Sigmoid,
        groups: None,
        bias: true,
        normalise: keys.metadata.bool(&keys.name("expert_weights_norm"))?.unwrap_or(false),
        scale: keys.positive_opt("expert_weights_scale")?.unwrap_or(1.0),
    };
    let latent = keys.number_opt("moe_latent_size", 0..=MAX_WIDTH)?.filter(|latent| *latent > 0);
    let activation = Activation::SquaredRelu;
    let expert = Gated { hidden: latent.unwrap_or(hidden), width, activation };
    let Some(shared) = Shared::read(keys)? else {
        return Err(keys.unsupported("expert_shared_feed_forward_length", 0, "it must be above 0"));
    };
    let experts = Experts { count, expert, shared: Some(Shared { activation, ..shared }), router };
    Ok(Box::new(LatentExperts { experts, hidden }))
}

/// Experts whose inputs and results may be narrower than the hidden state, and shared ones that see all of it.
struct LatentExperts {
    experts: Experts,
    hidden: usize,
}

impl Block for LatentExperts {
    fn short_name(&self) -> &'static str {
        self.experts.short_name()
    }

    fn info(&self) -> BlockInfo {
        let mut info = self.experts.info();
        let latent = self.experts.expert.hidden;
        if latent != self.hidden {
            info.sizes.push(("latent", latent));
            info.summary += &format!(", on {latent} values");
        }
        info
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let (hidden, latent) = (self.hidden, self.experts.expert.hidden);
        if latent == hidden {
            return self.experts.build(s, x);
        }
        let narrow = linear(s, x, "ffn_latent_down", hidden, latent)?;
        let routed = self.experts.routed(s, narrow, (x, hidden), None)?;
        let routed = linear(s, routed, "ffn_latent_up", latent, hidden)?;
        let Some(Shared { width, activation, .. }) = self.experts.shared else { return Ok(routed) };
        let shared = Gated { hidden, width, activation }.build_as(s, x, "_shexp")?;
        Ok(s.g.add(routed, shared))
    }
}
