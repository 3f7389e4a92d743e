//! The recurrences of a scan: their operands, and what these must be.

use std::fmt;

use weft_ir::{Recurrence, ScanState};

use crate::program::{Access, Format, ParamId, View};
use crate::text::{Attrs, Parsed, number, view};
use crate::traffic::{Counter, Touch};
use crate::verify::Context;

/// How a scan carries its state from row to row, see [`Recurrence`], and its operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScanRule {
    /// A running sum that forgets. A head's state has a value for each column.
    Decay {
        /// The rows that are added, `f32`.
        x: View,
        /// The decay of each row, one `f32`.
        decay: View,
    },
    /// A short causal convolution of each column. A head's state is `taps − 1` rows, the oldest first.
    Convolution {
        /// The rows, `f32`.
        x: View,
        /// The weights, `f32[heads · cols, taps]`; the last of a column multiplies the newest row.
        w: ParamId,
        /// The number of weights of a column, at least 2.
        taps: usize,
    },
    /// The gated delta rule, or linear attention. A head's state is `[cols, inner]`.
    Delta(Box<DeltaRule>),
}

/// The operands of the gated delta rule and of linear attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeltaRule {
    /// Queries, `f32`; rows are tokens × key heads.
    pub q: View,
    /// Keys, `f32`; rows are tokens × key heads.
    pub k: View,
    /// Values, `f32`.
    pub v: View,
    /// The factor of the state, `f32`: one value of a head, or one for each key channel.
    pub decay: View,
    /// The factor of the addend, one `f32` of a head.
    pub beta: View,
    /// The number of key heads, K.
    pub keys: usize,
    /// The number of key channels, Dk.
    pub inner: usize,
    /// Whether each key channel has a decay.
    pub channels: bool,
    /// Whether value head h has key head h mod K, rather than h div (H / K).
    pub tiled: bool,
    /// Whether the state's product with the key is subtracted from the value: the delta rule.
    pub corrects: bool,
}

impl DeltaRule {
    /// The decays of a head: 1, or one for each key channel.
    pub fn decays(&self) -> usize {
        if self.channels { self.inner } else { 1 }
    }
}

impl ScanRule {
    /// Its recurrence.
    pub fn recurrence(&self) -> Recurrence {
        match self {
            ScanRule::Decay { .. } => Recurrence::Decay,
            ScanRule::Convolution { .. } => Recurrence::Convolution,
            ScanRule::Delta(delta) if delta.tiled => Recurrence::DeltaTiled,
            ScanRule::Delta(delta) if delta.corrects => Recurrence::Delta,
            ScanRule::Delta(_) => Recurrence::Linear,
        }
    }

    /// The layout of a sequence's state; `None` if the values of a head overflow.
    pub fn state(&self, heads: usize, cols: usize) -> Option<ScanState> {
        let (width, kept) = match self {
            ScanRule::Decay { .. } => (Some(cols), cols.checked_add(1)),
            ScanRule::Convolution { taps, .. } => (taps.checked_sub(1)?.checked_mul(cols), Some(cols)),
            ScanRule::Delta(delta) => {
                let operands = [delta.inner, cols, delta.decays(), 1];
                (delta.inner.checked_mul(cols), operands.into_iter().try_fold(0, usize::checked_add))
            }
        };
        Some(ScanState { heads, width: width?, kept: kept? })
    }

    pub(super) fn params(&self) -> Vec<ParamId> {
        match self {
            ScanRule::Decay { x, decay } => vec![x.param, decay.param],
            ScanRule::Convolution { x, w, .. } => vec![x.param, *w],
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, .. } = &**delta;
                [q, k, v, decay, beta].map(|view| view.param).into()
            }
        }
    }

    pub(super) fn params_mut(&mut self) -> Vec<&mut ParamId> {
        match self {
            ScanRule::Decay { x, decay } => vec![&mut x.param, &mut decay.param],
            ScanRule::Convolution { x, w, .. } => vec![&mut x.param, w],
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, .. } = &mut **delta;
                [q, k, v, decay, beta].map(|view| &mut view.param).into()
            }
        }
    }

    /// Checks that all operands are as long as they must be, with `heads` heads of `cx.cols` columns.
    pub(super) fn verify(&self, cx: &Context<'_>, heads: usize) -> Result<(), String> {
        let floats = |cx: &Context<'_>, view: &View, len| cx.reads(view, len, |format| format == Format::F32);
        match self {
            ScanRule::Decay { x, decay } => {
                floats(cx, x, cx.cols)?;
                floats(cx, decay, 1)
            }
            ScanRule::Convolution { x, w, taps } => {
                floats(cx, x, cx.cols)?;
                let needed = heads.checked_mul(cx.cols).and_then(|channels| channels.checked_mul(*taps));
                let needed = needed.filter(|_| *taps >= 2).ok_or("a convolution needs 2 weights or more")?;
                if cx.format(*w, Access::Read)? != Format::F32 || cx.values[*w] < needed {
                    return Err(format!("p{w} must be {needed} weights, f32"));
                }
                Ok(())
            }
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, keys, inner, .. } = &**delta;
                if *keys == 0 || *inner == 0 || !heads.is_multiple_of(*keys) {
                    return Err(format!("{heads} value heads cannot share {keys} key heads"));
                }
                let rows = [cx.rows[0], *keys];
                let of_keys = Context { rows: &rows, ..*cx };
                [q, k].into_iter().try_for_each(|view| floats(&of_keys, view, *inner))?;
                floats(cx, v, cx.cols)?;
                floats(cx, decay, delta.decays())?;
                floats(cx, beta, 1)
            }
        }
    }

    /// The operands' bytes.
    pub(super) fn touches(&self, counter: &Counter<'_>, cols: usize, heads: usize) -> Vec<Touch> {
        let read = |view: &View, len| counter.touch(view, None, len, Access::Read);
        match self {
            ScanRule::Decay { x, decay } => vec![read(x, cols), read(decay, 1)],
            ScanRule::Convolution { x, w, taps } => {
                vec![read(x, cols), counter.values(*w, Access::Read, (heads * cols * taps) as u64)]
            }
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, keys, inner, .. } = &**delta;
                let tokens = counter.count() / heads.max(1) as u64;
                let of_keys =
                    |view: &View| counter.values(view.param, Access::Read, tokens * (keys * inner) as u64);
                vec![of_keys(q), of_keys(k), read(v, cols), read(decay, delta.decays()), read(beta, 1)]
            }
        }
    }

    /// The multiplications of a row.
    pub(super) fn multiplications(&self, cols: usize) -> usize {
        match self {
            ScanRule::Decay { .. } => cols,
            ScanRule::Convolution { taps, .. } => taps * cols,
            // The decay, the product with the key of the delta rule, the update, and the product with the query.
            ScanRule::Delta(delta) => (3 + usize::from(delta.corrects)) * delta.inner * cols,
        }
    }
}

/// The operands as the text form has them.
impl fmt::Display for ScanRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule={}", self.recurrence().name())?;
        match self {
            ScanRule::Decay { x, decay } => write!(f, " x={x} decay={decay}"),
            ScanRule::Convolution { x, w, taps } => write!(f, " x={x} w=p{w} taps={taps}"),
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, keys, inner, channels, .. } = &**delta;
                write!(f, " q={q} k={k} v={v} decay={decay} beta={beta} keys={keys} inner={inner}")?;
                write!(f, " channels={}", u8::from(*channels))
            }
        }
    }
}

/// Reads the operands.
pub(super) fn parse(attrs: &Attrs<'_>) -> Parsed<ScanRule> {
    let rule = attrs.get("rule")?;
    let view = |key: &str| view(attrs.get(key)?);
    let recurrence = Recurrence::from_name(rule).ok_or_else(|| format!("unknown recurrence `{rule}`"))?;
    Ok(match recurrence {
        Recurrence::Decay => ScanRule::Decay { x: view("x")?, decay: view("decay")? },
        Recurrence::Convolution => ScanRule::Convolution {
            x: view("x")?,
            w: number(attrs.get("w")?, "p")?,
            taps: attrs.num("taps")?,
        },
        Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => {
            ScanRule::Delta(Box::new(DeltaRule {
                q: view("q")?,
                k: view("k")?,
                v: view("v")?,
                decay: view("decay")?,
                beta: view("beta")?,
                keys: attrs.num("keys")?,
                inner: attrs.num("inner")?,
                channels: attrs.num("channels")? != 0,
                tiled: recurrence == Recurrence::DeltaTiled,
                corrects: recurrence != Recurrence::Linear,
            }))
        }
    })
}
