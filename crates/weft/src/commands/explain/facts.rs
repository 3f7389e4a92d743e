//! Collects the facts to show: plans with their kernels, totals, and the state of each decision.

use weft_engine::inspect::{
    Amounts, Choice, CostModel, ExplainOptions, Explained, KernelCall, RuleResult, Target, TunedDecision,
};
use weft_engine::{Decision, Mode, decisions};
use weft_ir::{Keeps, WhyNot};
use weft_lab::RecordedProfile;
use weft_models::ModelGraph;

use super::flows::{Flows, Written};
use super::label::{self, PartLabel};

/// A model's kernels in one step.
pub(super) struct Facts<'a> {
    /// The name of the model's file.
    pub(super) model: String,
    /// The step.
    pub(super) step: Step,
    /// The number of tokens before the step.
    pub(super) depth: usize,
    /// The profile with measured times.
    pub(super) profile: Option<RecordedProfile>,
    /// The cost model that decisions by cost used.
    pub(super) costs: CostModel,
    /// The plans to show.
    pub(super) plans: Vec<Plan<'a>>,
    /// The name and number of kernels of each distinct layer's graph.
    pub(super) layers: Vec<(&'a str, usize)>,
    /// The share of compiled plans and kernels that is used more than once.
    pub(super) reuse: Reuse,
    /// The totals of all plans, each counted as often as it runs.
    pub(super) total: Total,
    /// All decisions.
    pub(super) decisions: Vec<DecisionState>,
}

/// A step to explain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// Its name.
    pub(super) name: &'static str,
    /// The number of tokens.
    pub(super) tokens: usize,
}

impl Step {
    /// The steps of a reply and of a prompt.
    pub(super) const ALL: [Step; 2] =
        [Step { name: "decode", tokens: 1 }, Step { name: "prefill", tokens: 512 }];
}

/// What was compiled, and how often it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Reuse {
    /// The plans that were made, and the parts of the model that use them.
    pub(super) plans: [u64; 2],
    /// The distinct kernels, and how often a step launches one.
    pub(super) kernels: [u64; 2],
}

impl Reuse {
    fn of(plans: &[Explained]) -> Reuse {
        let all: Vec<_> = plans.iter().flat_map(|plan| &plan.plan.kernels).collect();
        let is_new = |at: &usize| all[..*at].iter().all(|known| !known.same_work(all[*at]));
        let distinct = (0..all.len()).filter(is_new).count();
        let parts = plans.iter().map(|plan| plan.segments.len()).sum::<usize>();
        let launches = plans.iter().map(|plan| plan.calls.len() * plan.segments.len()).sum::<usize>();
        Reuse { plans: [plans.len() as u64, parts as u64], kernels: [distinct as u64, launches as u64] }
    }
}

/// The total cost of several kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Total {
    /// The number of kernels.
    pub(super) kernels: u64,
    /// The size of the weights they read, in bytes.
    pub(super) weight_bytes: u64,
    /// The multiplications of products and attention.
    pub(super) multiplications: u64,
    /// The estimated time in nanoseconds.
    pub(super) ns: u64,
    /// The measured time in nanoseconds.
    pub(super) measured_ns: Option<u64>,
}

impl Total {
    fn of(plan: &Explained, measured: Option<&[f64]>) -> Total {
        let amounts: Amounts = plan.calls.iter().map(|call| call.amounts).sum();
        Total {
            kernels: plan.calls.len() as u64,
            weight_bytes: amounts.weight_bytes,
            multiplications: amounts.multiplications(),
            ns: plan.calls.iter().map(|call| call.ns).sum(),
            measured_ns: measured.map(|times| times.iter().sum::<f64>().round() as u64),
        }
    }

    fn add(&mut self, other: Total, times: u64) {
        let Total { kernels, weight_bytes, multiplications, ns, measured_ns } = other;
        self.kernels += kernels * times;
        self.weight_bytes += weight_bytes * times;
        self.multiplications += multiplications * times;
        self.ns += ns * times;
        self.measured_ns = self.measured_ns.zip(measured_ns).map(|(sum, ns)| sum + ns * times);
    }
}

/// One plan.
pub(super) struct Plan<'a> {
    /// The engine's explanation.
    pub(super) explained: &'a Explained,
    /// Its total cost.
    pub(super) total: Total,
    /// Its kernels in order, numbered from 1.
    pub(super) kernels: Vec<Kernel<'a>>,
}

/// One kernel of a plan.
pub(super) struct Kernel<'a> {
    /// The engine's explanation.
    pub(super) call: &'a KernelCall,
    /// The measured time in nanoseconds.
    pub(super) measured_ns: Option<u64>,
    /// The label of each part.
    pub(super) parts: Vec<PartLabel>,
    /// The values it writes for other kernels.
    pub(super) written: Vec<Written>,
    /// The source code, or why there is none, if it should be shown.
    pub(super) source: Option<Result<String, String>>,
}

impl Kernel<'_> {
    /// What it computes, on one line.
    pub(super) fn label(&self) -> String {
        label::kernel(&self.parts)
    }
}

/// The state of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DecisionState {
    /// The decision.
    pub(super) decision: &'static Decision,
    /// Its mode, set or by default.
    pub(super) mode: Mode,
    /// The number of plans.
    pub(super) plans: usize,
    /// The number of plans in which it pays, by estimate.
    pub(super) pays: usize,
    /// The measured gain, if the mode was kept for this model on this hardware.
    pub(super) kept: Option<String>,
}

impl DecisionState {
    /// In words: `by cost: taken in 2 of 5 plans`.
    pub(super) fn words(&self) -> String {
        if let Some(why) = &self.kept {
            return format!("{}, kept: {why}", self.mode.name());
        }
        match self.mode {
            Mode::ByCost => format!("by cost: taken in {} of {} plans", self.pays, self.plans),
            Mode::Off if self.pays > 0 => format!("off: would pay in {} of {} plans", self.pays, self.plans),
            mode => mode.name().into(),
        }
    }
}

impl<'a> Facts<'a> {
    /// Collects the facts about a model, whose plans are all of `plans`.
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
        let mut total = Total { measured_ns: Some(0), ..Total::default() };
        let mut layers = Vec::new();
        for (plan, shown) in plans.iter().zip(&shown) {
            total.add(shown.total, plan.segments.len() as u64);
            let layer = (plan.before.name(), plan.calls.len());
            if plan.segments.iter().any(is_layer) && !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        let stand = |decision: &'static Decision| {
            let pays = |plan: &&Explained| plan.choices.iter().any(|c| c.decision == decision && c.pays());
            let pays = plans.iter().filter(pays).count();
            DecisionState {
                decision,
                mode: options.switches.mode(decision),
                plans: plans.len(),
                pays,
                kept: None,
            }
        };
        Facts {
            model: file,
            step,
            depth: options.depth,
            profile,
            costs: options.costs,
            plans: shown,
            layers,
            reuse: Reuse::of(plans),
            total,
            decisions: decisions().map(stand).collect(),
        }
    }

    /// Says of decisions that they were kept, where nothing was set by hand instead.
    pub(super) fn name_kept(&mut self, kept: &[TunedDecision]) {
        for state in &mut self.decisions {
            let own = kept.iter().find(|one| one.decision == state.decision && one.mode == state.mode);
            state.kept = own.map(|one| one.why.clone());
        }
    }

    /// Adds each kernel's source code for a device.
    pub(super) fn add_sources(&mut self, target: &Target) {
        for plan in &mut self.plans {
            let sources = plan.explained.sources(target).unwrap_or_default();
            for (kernel, source) in plan.kernels.iter_mut().zip(sources) {
                kernel.source = Some(source.map(|texts| texts.join("\n")));
            }
        }
    }

    /// Whether a decision was made for steps of one token and applies here as well: it changes bits, so all step sizes must
    /// agree on it.
    pub(super) fn follows(&self, plan: &Plan<'_>, choice: &Choice) -> bool {
        let mut rules = plan.explained.rules.iter().map(|result| result.rule);
        self.step.tokens > 1 && rules.any(|r| r.decision == *choice.decision && r.keeps == Keeps::Value)
    }
}

impl<'a> Plan<'a> {
    fn new(explained: &'a Explained, profile: Option<&RecordedProfile>) -> Plan<'a> {
        let names: Vec<&str> = explained.calls.iter().map(|call| call.kernel.as_str()).collect();
        let measured = profile.and_then(|profile| profile.times(&explained.segments, &names));
        let flows = Flows::new(explained);
        let kernels = explained.calls.iter().enumerate().map(|(at, call)| {
            let (parts, written) = flows.of(call);
            let measured_ns = measured.as_ref().map(|times| times[at].round() as u64);
            Kernel { call, measured_ns, parts, written, source: None }
        });
        Plan { explained, total: Total::of(explained, measured.as_deref()), kernels: kernels.collect() }
    }

    /// The name of its graph, such as `mla_moe_layer`.
    pub(super) fn name(&self) -> &'a str {
        self.explained.before.name()
    }

    /// Why a rule replaced nothing, if it did not.
    pub(super) fn why_not(&self, result: &RuleResult) -> Option<String> {
        let undone = |c: &&Choice| !c.pays() && *c.decision == result.rule.decision;
        let why = result.why_not?;
        Some(match self.explained.choices.iter().find(undone).map(|choice| &choice.with) {
            None => why.to_string(),
            Some(Ok(_)) => "it does not pay".into(),
            Some(Err(error)) => format!("its result does not compile: {error}"),
        })
    }

    /// Whether a rule found nothing in the graph that it could apply to.
    pub(super) fn has_no_place(&self, result: &RuleResult) -> bool {
        result.why_not == Some(WhyNot::NoMatch)
    }

    /// The segments that share the plan: the first, the last and their number.
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
