//! Users' kernels take the places of those they replace.

use std::sync::Arc;

use weft_kern::{Plan, Replacement};

use crate::error::FuseError;
use crate::fusion::{Computed, Replaced};

/// Replaces kernels of a plan, each at most once, and says what the calls of the new ones compute.
///
/// # Errors
/// If a kernel does not fit: a view that reaches beyond its buffer, or the name of another kernel.
pub(crate) fn replace(
    plan: &mut Plan,
    calls: &mut [Computed],
    replacements: &[Arc<Replacement>],
) -> Result<Vec<Replaced>, FuseError> {
    let mut all: Vec<Replaced> = Vec::new();
    for replacement in replacements {
        // A replacement stays, even if another one is for a kernel like it.
        let is_new = |at: usize| all.iter().all(|known| known.kernel != at);
        let fits = |at: &usize| plan.kernels[*at].same_work(&replacement.replaced) && is_new(*at);
        let Some(at) = (0..plan.kernels.len()).find(fits) else { continue };
        let before = std::mem::replace(&mut plan.kernels[at], replacement.by.clone()).name;
        let parts = replacement.by.parts.len();
        for (call, computed) in plan.calls.iter().zip(&mut *calls).filter(|(call, _)| call.kernel == at) {
            debug_assert_eq!(call.args.len(), replacement.by.params.len(), "both have the same parameters");
            if computed.parts.len() != parts {
                // It is not known which part computes which node.
                let nodes = computed.parts.concat();
                computed.parts = vec![Vec::new(); parts];
                computed.parts[0] = nodes;
            }
        }
        all.push(Replaced { kernel: at, before, replacement: Arc::clone(replacement) });
    }
    if !all.is_empty() {
        weft_kern::verify(plan).map_err(FuseError::Replaced)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use weft_ir::{Mode, Sizes};
    use weft_kern::parse_replacement;

    use super::*;
    use crate::decide::REPLACE;
    use crate::{Options, fuse_with};

    const GRAPH: &str = "graph chain {
  %0 = input x : f32[T, 64]
  %1 = weight a : q8_0[96, 64]
  %2 = weight b : q8_0[64, 96]
  %3 = dot %0 %1 : f32[T, 96]
  %4 = dot %3 %2 : f32[T, 64]
  %5 = add %0 %4 : f32[T, 64]
  output y = %5
}
";

    fn options(replacements: Vec<Arc<Replacement>>) -> Options {
        Options { max: Sizes::of(4), replacements, ..Options::default() }
    }

    /// The last kernel of the graph, with its sum the other way round, in two parts.
    fn swapped() -> Arc<Replacement> {
        let plan = fuse_with(&weft_ir::parse(GRAPH).unwrap(), &options(Vec::new())).unwrap().plan;
        let replaced = plan.kernels.last().unwrap().to_string();
        let (head, rest) = replaced.split_once('{').unwrap();
        assert!(head.starts_with("kernel ") && rest.contains("add v1 v0"), "{replaced}");
        let by = format!("kernel swapped {{{}", rest.replace("add v1 v0", "add v0 v1"));
        Arc::new(parse_replacement(&format!("replace\n{replaced}with\n{by}")).unwrap())
    }

    #[test]
    fn a_kernel_is_replaced_wherever_a_plan_has_it() {
        let graph = weft_ir::parse(GRAPH).unwrap();
        let (before, own) = (fuse_with(&graph, &options(Vec::new())).unwrap(), swapped());
        let after = fuse_with(&graph, &options(vec![Arc::clone(&own)])).unwrap();
        let last = before.plan.kernels.len() - 1;
        let expected = Replaced {
            kernel: last,
            before: before.plan.kernels[last].name.clone(),
            replacement: Arc::clone(&own),
        };
        assert_eq!(after.replaced, [expected]);
        assert_eq!(after.plan.kernels[last], own.by);
        assert_eq!(after.plan.kernels[..last], before.plan.kernels[..last]);
        assert_eq!((&after.plan.calls, &after.calls), (&before.plan.calls, &before.calls));

        // The first of two replacements counts, and its kernel is not replaced again.
        let back = Replacement { replaced: own.by.clone(), by: before.plan.kernels[last].clone() };
        let again = fuse_with(&graph, &options(vec![Arc::clone(&own), own.clone(), Arc::new(back)])).unwrap();
        assert_eq!((again.plan, again.replaced), (after.plan, after.replaced));

        let mut off = options(vec![own]);
        off.switches.set(&REPLACE, Mode::Off);
        let off = fuse_with(&graph, &off).unwrap();
        assert_eq!((off.plan, off.replaced), (before.plan, Vec::new()));
    }

    #[test]
    fn a_kernel_whose_views_do_not_fit_is_an_error() {
        let mut wrong = Arc::unwrap_or_clone(swapped());
        wrong.by.parts[0].cols += 1;
        let graph = weft_ir::parse(GRAPH).unwrap();
        let error = fuse_with(&graph, &options(vec![Arc::new(wrong)])).unwrap_err().to_string();
        assert!(error.starts_with("a kernel that was given does not fit: plan `chain`, call"), "{error}");
    }
}
