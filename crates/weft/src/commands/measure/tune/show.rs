//! Prints the result of tuning as text or Markdown.

use std::io::{self, Write};

use weft_lab::{Gain, Measured, Samples, TuneOutcome, Tuned, TunedKernel};

use crate::commands::tables::{Form, table};

/// Writes the result.
pub(super) fn write(tuned: &Tuned, form: Form, out: &mut impl Write) -> io::Result<()> {
    let Tuned { kernels, steps, rounds, end, .. } = tuned;
    let tried: usize = kernels.iter().map(|kernel| kernel.tried).sum();
    let with_any = kernels.iter().filter(|kernel| kernel.tried > 0).count();
    writeln!(out, "tried {tried} schedules for {with_any} kernels, in {rounds} compiled steps\n")?;
    let rows: Vec<[String; 8]> = kernels.iter().filter_map(row).collect();
    let titles = ["KERNEL", "STEP", "LAUNCHES", "BEFORE", "µs", "BEST FOUND", "µs", "GAIN"];
    if !rows.is_empty() {
        table(form, titles, &[1, 2, 4, 6, 7], &rows, out)?;
        writeln!(out)?;
    }
    for kernel in kernels {
        if let TuneOutcome::Wrong(why) = &kernel.outcome {
            writeln!(
                out,
                "dropped a wrong schedule of {}: {why}{}",
                kernel.kernel,
                form.line_end().trim_end_matches('\n')
            )?;
        }
    }
    for Measured { phase, tokens, pairs, gain, .. } in steps {
        let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let [before, after] = [before, after].map(|rates| rates.into_iter().collect::<Samples>().median());
        let (name, line_end) = (phase.name(), form.line_end());
        write!(
            out,
            "{name} of {tokens}: {before:.1} tokens/s before, {after:.1} after, {}{line_end}",
            with_interval(gain)
        )?;
    }
    let faster = kernels.iter().filter(|kernel| kernel.outcome == TuneOutcome::Faster).count();
    writeln!(out, "{faster} of {} kernels are faster; {}", kernels.len(), end.said())
}

/// The row of a kernel for which another schedule was found, faster or not.
fn row(kernel: &TunedKernel) -> Option<[String; 8]> {
    let TunedKernel { tokens, kernel: name, launches, before, best, .. } = kernel;
    let best = best.as_ref()?;
    let (base, with): (Vec<f64>, Vec<f64>) = best.pairs.iter().copied().unzip();
    let micro = |seconds: Vec<f64>| format!("{:.1}", 1e6 * seconds.into_iter().collect::<Samples>().median());
    let gain = format!("{}: {}", kernel.verdict(), with_interval(&best.gain));
    let [base, with] = [base, with].map(micro);
    let (tokens, launches) = (tokens.to_string(), launches.to_string());
    Some([name.clone(), tokens, launches, before.clone(), base, best.schedule.clone(), with, gain])
}

/// A gain with its confidence interval.
fn with_interval(Gain { median, low, high }: &Gain) -> String {
    let [median, low, high] = [median, low, high].map(|part| 100.0 * part);
    match low.is_nan() {
        true => format!("{median:+.1} % (too few samples)"),
        false => format!("{median:+.1} % ({low:+.1} to {high:+.1})"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_lab::{Candidate, Host, Phase, TuneEnd};

    use super::*;

    fn kernel(name: &str, best: Option<(f64, Gain)>, outcome: TuneOutcome) -> TunedKernel {
        let best = best.map(|(seconds, gain)| Candidate {
            schedule: "lanes 128".into(),
            pairs: vec![(2e-5, seconds)],
            gain,
        });
        TunedKernel {
            tokens: 1,
            kernel: name.into(),
            segment: "layer 1".into(),
            launches: 26,
            tried: 12,
            before: "lanes 256".into(),
            best,
            outcome,
        }
    }

    #[test]
    fn the_best_found_is_beside_what_there_was() {
        let faster = Gain { median: 0.25, low: 0.24, high: 0.27 };
        let unsure = Gain { median: 0.03, low: f64::NAN, high: f64::NAN };
        let tuned = Tuned {
            host: Host::this(),
            kernels: vec![
                kernel("dot", Some((1.6e-5, faster)), TuneOutcome::Faster),
                kernel("norm", None, TuneOutcome::Best),
                kernel("attend", Some((1.94e-5, unsure)), TuneOutcome::Best),
                kernel("head", Some((1e-5, faster)), TuneOutcome::Wrong("it is off by | 3".into())),
            ],
            steps: vec![Measured {
                phase: Phase::Decode,
                tokens: 8,
                kernels: [75, 75],
                pairs: vec![(100.0, 110.0)],
                gain: Gain { median: 0.1, low: 0.09, high: 0.11 },
            }],
            rounds: 14,
            end: TuneEnd::Kept(None),
        };
        let printed = |form| {
            let mut text = Vec::new();
            write(&tuned, form, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        expect![[r#"
            tried 48 schedules for 4 kernels, in 14 compiled steps

            KERNEL  STEP  LAUNCHES  BEFORE       µs  BEST FOUND    µs                                   GAIN
            dot        1        26  lanes 256  20.0  lanes 128   16.0       faster: +25.0 % (+24.0 to +27.0)
            attend     1        26  lanes 256  20.0  lanes 128   19.4  not certain: +3.0 % (too few samples)
            head       1        26  lanes 256  20.0  lanes 128   10.0        wrong: +25.0 % (+24.0 to +27.0)

            dropped a wrong schedule of head: it is off by | 3
            decode of 8: 100.0 tokens/s before, 110.0 after, +10.0 % (+9.0 to +11.0)
            1 of 4 kernels are faster; the schedules are not saved: there is no folder for them, as with --no-cache
        "#]]
        .assert_eq(&printed(Form::Text));
        expect![[r#"
            tried 48 schedules for 4 kernels, in 14 compiled steps

            | kernel | step | launches | before | µs | best found | µs | gain |
            |---|--:|--:|---|--:|---|--:|--:|
            | `dot` | 1 | 26 | lanes 256 | 20.0 | lanes 128 | 16.0 | faster: +25.0 % (+24.0 to +27.0) |
            | `attend` | 1 | 26 | lanes 256 | 20.0 | lanes 128 | 19.4 | not certain: +3.0 % (too few samples) |
            | `head` | 1 | 26 | lanes 256 | 20.0 | lanes 128 | 10.0 | wrong: +25.0 % (+24.0 to +27.0) |

            dropped a wrong schedule of head: it is off by | 3  
            decode of 8: 100.0 tokens/s before, 110.0 after, +10.0 % (+9.0 to +11.0)  
            1 of 4 kernels are faster; the schedules are not saved: there is no folder for them, as with --no-cache
        "#]]
        .assert_eq(&printed(Form::Markdown));
    }
}
