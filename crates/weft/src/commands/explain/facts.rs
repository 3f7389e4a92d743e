//! What there is to tell: plans with their kernels, sums, and how each decision stands.

use weft_engine::{
    Amounts, Choice, CostModel, Decision, ExplainOptions, Explained, KernelCall, Mode, RuleResult, Target,
    decisions,
};
use weft_ir::Keeps;
use weft_lab::RecordedProfile;
use weft_models::ModelGraph;

use super::flows::{Flows, Handed};
use super::label::{self, PartLabel};

/// Everything about a model's kernels in one step.
pub(super) struct Facts<'a> {
    /// The model's file, by its name.
    pub(super) model: String,
    /// The step.
    pub(super) step: Step,
    /// Tokens of the sequence before it.
    pub(super) depth: usize,
    /// Where measured times are from.
    pub(super) profile: Option<RecordedProfile>,
    /// What decisions by cost were taken by.
    pub(super) costs: CostModel,
    /// The plans that were asked for.
    pub(super) plans: Vec<Plan<'a>>,
    /// Kernels of each distinct layer, by the name of its graph.
    pub(super) layers: Vec<(&'a str, usize)>,
    /// All plans together, as often as they run.
    pub(super) total: Sum,
    /// Every decision there is.
    pub(super) decisions: Vec<Stand>,
}

/// What is computed at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// What it is called.
    pub(super) name: &'static str,
    /// How many tokens it has.
    pub(super) tokens: usize,
}

impl Step {
    /// The steps there are: of a reply being written, and of a prompt being read.
    pub(super) const ALL: [Step; 2] =
        [Step { name: "decode", tokens: 1 }, Step { name: "prefill", tokens: 512 }];
}

/// What several kernels cost together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    /// How many they are.
    pub(super) kernels: u64,
    /// Bytes of weights they read.
    pub(super) weight_bytes: u64,
    /// Multiplications of products and attention.
    pub(super) multiplications: u64,
    /// Time, estimated.
    pub(super) ns: u64,
    /// Time, if it was measured.
    pub(super) measured_ns: Option<u64>,
}

impl Sum {
    fn of(plan: &Explained, measured: Option<&[f64]>) -> Sum {
        let amounts: Amounts = plan.calls.iter().map(|call| call.amounts).sum();
        Sum {
            kernels: plan.calls.len() as u64,
            weight_bytes: amounts.weight_bytes,
            multiplications: amounts.multiplications(),
            ns: plan.calls.iter().map(|call| call.ns).sum(),
            measured_ns: measured.map(|times| times.iter().sum::<f64>().round() as u64),
        }
    }

    fn add(&mut self, other: Sum, times: u64) {
        let Sum { kernels, weight_bytes, multiplications, ns, measured_ns } = other;
        self.kernels += kernels * times;
        self.weight_bytes += weight_bytes * times;
        self.multiplications += multiplications * times;
        self.ns += ns * times;
        self.measured_ns = self.measured_ns.zip(measured_ns).map(|(sum, ns)| sum + ns * times);
    }
}

/// One plan.
pub(super) struct Plan<'a> {
    /// As the engine tells it.
    pub(super) explained: &'a Explained,
    /// What it costs.
    pub(super) sum: Sum,
    /// Its kernels, in order; they are numbered from 1.
    pub(super) kernels: Vec<Kernel<'a>>,
}

/// One kernel of a plan.
pub(super) struct Kernel<'a> {
    /// As the engine tells it.
    pub(super) call: &'a KernelCall,
    /// Nanoseconds it took, if it was measured.
    pub(super) measured_ns: Option<u64>,
    /// What each part computes.
    pub(super) parts: Vec<PartLabel>,
    /// The values others need of it.
    pub(super) handed: Vec<Handed>,
    /// The text that is run, or why it cannot be, if that is to be told.
    pub(super) source: Option<Result<String, String>>,
}

impl Kernel<'_> {
    /// What it computes, in a line.
    pub(super) fn label(&self) -> String {
        label::kernel(&self.parts)
    }
}

/// How a decision stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stand {
    /// Which.
    pub(super) decision: &'static Decision,
    /// As it was set, or by default.
    pub(super) mode: Mode,
    /// How many plans there are.
    pub(super) plans: usize,
    /// In how many of them it pays, as far as that has been found out.
    pub(super) pays: usize,
}

impl Stand {
    /// In words: `by cost: taken in 2 of 5 plans`.
    pub(super) fn words(&self) -> String {
        match self.mode {
            Mode::ByCost => format!("by cost: taken in {} of {} plans", self.pays, self.plans),
            Mode::Off if self.pays > 0 => format!("off: would pay in {} of {} plans", self.pays, self.plans),
            mode => mode.name().into(),
        }
    }
}

impl<'a> Facts<'a> {
    /// What is to tell of these plans, which are all of the model's.
    pub(super) fn new(
        file: String,
        model: &ModelGraph,
        plans: &'a [Explained],
        step: Step,
        options: &ExplainOptions,
        profile: Option<RecordedProfile>,
    ) -> Facts<'a> {
        let is_layer =
            |segment: &String| model.segments.iter().any(|s| s.layer.is_some() && s.name == *segment);
        let shown: Vec<Plan<'a>> = plans.iter().map(|plan| Plan::new(plan, profile.as_ref())).collect();
        let mut total = Sum { measured_ns: Some(0), ..Sum::default() };
        let mut layers = Vec::new();
        for (plan, shown) in plans.iter().zip(&shown) {
            total.add(shown.sum, plan.segments.len() as u64);
            let layer = (plan.before.name(), plan.calls.len());
            if plan.segments.iter().any(is_layer) && !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        let stand = |decision: &'static Decision| {
            let pays = |plan: &&Explained| plan.choices.iter().any(|c| c.decision == decision && c.pays());
            let pays = plans.iter().filter(pays).count();
            Stand { decision, mode: options.switches.mode(decision), plans: plans.len(), pays }
        };
        Facts {
            model: file,
            step,
            depth: options.depth,
            profile,
            costs: options.costs,
            plans: shown,
            layers,
            total,
            decisions: decisions().map(stand).collect(),
        }
    }

    /// Has every kernel tell its text for a device.
    pub(super) fn add_sources(&mut self, target: &Target) {
        for plan in &mut self.plans {
            let sources = target.sources(&plan.explained.plan).unwrap_or_default();
            for (kernel, source) in plan.kernels.iter_mut().zip(sources) {
                kernel.source = Some(source);
            }
        }
    }

    /// Whether a decision of this step was taken for a step of one token: it changes bits, so steps of other sizes follow it.
    pub(super) fn follows(&self, plan: &Plan<'_>, choice: &Choice) -> bool {
        let mut rules = plan.explained.rules.iter().map(|result| result.rule);
        self.step.tokens > 1
            && choice.decides
            && rules.any(|r| r.decision == *choice.decision && r.keeps == Keeps::Value)
    }
}

impl<'a> Plan<'a> {
    fn new(explained: &'a Explained, profile: Option<&RecordedProfile>) -> Plan<'a> {
        let names: Vec<&str> = explained.calls.iter().map(|call| call.kernel.as_str()).collect();
        let measured = profile.and_then(|profile| profile.times(&explained.segments, &names));
        let flows = Flows::new(explained);
        let kernels = explained.calls.iter().enumerate().map(|(at, call)| {
            let (parts, handed) = flows.of(call);
            let measured_ns = measured.as_ref().map(|times| times[at].round() as u64);
            Kernel { call, measured_ns, parts, handed, source: None }
        });
        Plan { explained, sum: Sum::of(explained, measured.as_deref()), kernels: kernels.collect() }
    }

    /// What the plan is of: `mla_moe_layer`.
    pub(super) fn name(&self) -> &'a str {
        self.explained.before.name()
    }

    /// Why a rule replaced nothing, if so.
    pub(super) fn why_not(&self, result: &RuleResult) -> Option<String> {
        let undone = |c: &&Choice| c.decides && !c.pays() && *c.decision == result.rule.decision;
        let why = result.why_not?;
        Some(match self.explained.choices.iter().find(undone).map(|choice| &choice.with) {
            None => why.to_string(),
            Some(Ok(_)) => "it does not pay".into(),
            Some(Err(error)) => format!("what it makes does not compile: {error}"),
        })
    }

    /// The first and the last of the parts of the model that share the plan, and how many there are.
    pub(super) fn range(&self) -> String {
        match &self.explained.segments[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first, .., last] => {
                format!("{first} to {last}, {} in all", self.explained.segments.len())
            }
        }
    }
}
