//! Prints a profile as tables.

use std::io::{self, Write};

use weft_lab::{Profile, ProfileRow, Samples};

use crate::commands::measure::report_head::{known, meanwhile, percent};

/// The number of layers per line.
const LAYERS: usize = 5;

/// The source that a device runs for a launch, by its number, if it runs any.
pub(super) type LaunchText<'a> = &'a dyn Fn(usize) -> Option<String>;

/// Writes the profile; with `source`, also every kernel: what `source` returns for it, or else its text form.
pub(super) fn write(
    profile: &Profile,
    source: Option<LaunchText<'_>>,
    out: &mut impl Write,
) -> io::Result<()> {
    machine(profile, out)?;
    clock(profile, out)?;
    for (title, rows) in
        [("ROLE", profile.roles()), ("ANCHOR", profile.anchors()), ("WEIGHTS", profile.types())]
    {
        writeln!(out)?;
        heading(title, out)?;
        rows.iter().try_for_each(|row| line(profile, row, &row.name, out))?;
    }
    writeln!(out)?;
    heading("KERNEL, by time lost", out)?;
    for row in profile.kernels() {
        line(profile, &row, &row.name, out)?;
        let place = if row.role == row.segments { String::new() } else { format!(" in {}", row.segments) };
        writeln!(out, "{:<8}{}{place}", "", row.role)?;
    }
    writeln!(out)?;
    layers(&profile.layers(), out)?;
    if let Some(source) = source {
        sources(profile, source, out)?;
    }
    advice(profile, out)
}

fn machine(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    meanwhile(&profile.roofs, out)?;
    writeln!(out)?;
    let steps = profile.plain.all().len();
    let (tokens, depth) = (profile.shape.tokens, profile.shape.depth);
    let of = if tokens == 1 { "one token".to_string() } else { format!("{tokens} tokens") };
    let what = if steps == 1 { "a step".to_string() } else { format!("{steps} steps") };
    writeln!(out, "{what} of {of} at depth {depth}, and as many without the clock")
}

fn clock(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let clock = profile.clock;
    let (rate, kernels) = (profile.tokens_per_second(), profile.launches.len());
    writeln!(out, "speed       {rate:.2} tokens/s, {kernels} kernels a step")?;
    let [wall, work, waits, host, rest] =
        [clock.wall, clock.kernels, clock.waits, clock.host, clock.residue()].map(|seconds| seconds * 1e3);
    writeln!(
        out,
        "clock       kernels {work:.3} + waits {waits:.3} + host {host:.3} = {:.3} of {wall:.3} ms, {rest:.3} left",
        work + waits + host
    )?;
    let closes = 100.0 * clock.closes;
    writeln!(out, "            (medians; {closes:.2} % of the median step is accounted for)")?;
    for (i, worker) in profile.workers.iter().enumerate() {
        let [busy, waiting] = [worker.busy, worker.waiting].map(|seconds| seconds * 1e3);
        writeln!(out, "thread {i:<4} busy {busy:.3} ms, waiting {waiting:.3} ms")?;
    }
    let signed = |share: f64| format!("{:+.2} %", share * 100.0);
    let overhead: &Samples = &profile.overhead;
    writeln!(
        out,
        "profiling   costs {} of a step (quartiles {} to {})",
        signed(overhead.median()),
        signed(overhead.quantile(0.25)),
        signed(overhead.quantile(0.75))
    )?;
    writeln!(out, "launch      overhead {:.2} µs", profile.empty_launch * 1e6)
}

fn heading(title: &str, out: &mut impl Write) -> io::Result<()> {
    let columns = ["MS", "SHARE", "N", "LOST", "OF ROOF", "MB", "GB/S", "GMAC/S"];
    let [ms, share, times, lost, of_roof, bytes, read, multiplied] = columns;
    writeln!(
        out,
        "{ms:>9} {share:>7} {times:>5} {lost:>9} {of_roof:>8} {bytes:>9} {read:>7} {multiplied:>8}  {title}"
    )
}

fn line(profile: &Profile, row: &ProfileRow, name: &str, out: &mut impl Write) -> io::Result<()> {
    let (time, lost) = (row.time() * 1e3, known(row.lost() * 1e3, 3));
    let share = percent(row.time() / profile.clock.wall);
    let of_roof = if row.roof > 0.0 { percent(row.of_roof()) } else { "-".into() };
    let bytes = (row.amounts.weight_bytes + row.amounts.state_bytes) as f64 / 1e6;
    let [read, multiplied] =
        [row.bytes_per_second(), row.multiplications_per_second()].map(|rate| rate / 1e9);
    writeln!(
        out,
        "{time:>9.3} {share:>7} {:>5} {lost:>9} {of_roof:>8} {bytes:>9.2} {read:>7.1} {multiplied:>8.1}  {name}",
        row.launches
    )
}

fn layers(rows: &[ProfileRow], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "ms by layer")?;
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for rows in rows.chunks(LAYERS) {
        let cells: Vec<String> =
            rows.iter().map(|row| format!("{:<width$} {:>9.3}", row.name, row.time() * 1e3)).collect();
        writeln!(out, "  {}", cells.join("   "))?;
    }
    Ok(())
}

fn sources(profile: &Profile, text: LaunchText<'_>, out: &mut impl Write) -> io::Result<()> {
    for (row, source) in profile.sources(text) {
        writeln!(out)?;
        heading("KERNEL", out)?;
        line(profile, &row, &row.name, out)?;
        writeln!(out, "{}", source.trim_end())?;
    }
    Ok(())
}

fn advice(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let lints = profile.lints();
    if lints.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "advice")?;
    for lint in lints {
        let lost = if lint.lost > 0.0 { format!(" ({:.3} ms)", lint.lost * 1e3) } else { String::new() };
        writeln!(out, "  {}{lost}: {}: {}", lint.name, lint.about(), lint.text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use expect_test::expect;
    use weft_engine::{Engine, EngineOptions};
    use weft_lab::{Clock, Meter, ProfileOptions, Worker, profile};

    use super::*;

    /// Two launches of a tiny model, with made-up figures.
    fn example() -> Profile {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let options = EngineOptions::default().threads(2).context(8);
        let mut engine = Engine::load(&fixture, &options, &mut |_| ControlFlow::Continue(())).unwrap();
        let options = ProfileOptions { steps: 1, depth: 3, tokens: 1 };
        let probe = engine.inspect_mut().device_mut().probe(1 << 20).unwrap();
        let mut meter = Meter::from(probe.unwrap());
        let measured =
            profile(engine.inspect_mut(), &mut meter, &options, &AtomicBool::new(false), &mut |_, _| {});
        let mut example = measured.unwrap();
        let one = |value: f64| [value].into_iter().collect::<Samples>();
        (example.roofs.read, example.roofs.dot, example.roofs.mul_add) = (one(30e9), one(700e9), one(170e9));
        (example.plain, example.overhead) = (one(20e-3), [0.001, 0.003, 0.002].into_iter().collect());
        example.clock = Clock { wall: 21e-3, kernels: 19e-3, waits: 1e-3, host: 0.5e-3, closes: 0.9987 };
        example.workers =
            vec![Worker { busy: 19e-3, waiting: 1.5e-3 }, Worker { busy: 19.5e-3, waiting: 1e-3 }];
        example.empty_launch = 0.5e-6;
        example.plans_made_twice = vec![("one".into(), "other".into())];
        example.launches.retain(|timed| timed.launch.layer == Some(1));
        example.launches.drain(..6);
        example.launches.truncate(2);
        for (timed, ms) in example.launches.iter_mut().zip([2.0, 8.0]) {
            (timed.busy, timed.waiting, timed.longest, timed.roof) =
                (0.9e-3 * ms, 0.1e-3 * ms, 0.91e-3 * ms, 2e-3);
        }
        example
    }

    #[test]
    fn every_time_has_its_limit() {
        let mut text = Vec::new();
        write(&example(), None, &mut text).unwrap();
        expect![[r#"
            limits, measured meanwhile: READ 30.0 (30.0 to 30.0) GB/s,
            DOT 700.0 (700.0 to 700.0) GMAC/s in 8 bits, FMA 170.0 (170.0 to 170.0) GMAC/s in f32

            a step of one token at depth 3, and as many without the clock
            speed       50.00 tokens/s, 2 kernels a step
            clock       kernels 19.000 + waits 1.000 + host 0.500 = 20.500 of 21.000 ms, 0.500 left
                        (medians; 99.87 % of the median step is accounted for)
            thread 0    busy 19.000 ms, waiting 1.500 ms
            thread 1    busy 19.500 ms, waiting 1.000 ms
            profiling   costs +0.20 % of a step (quartiles +0.15 % to +0.25 %)
            launch      overhead 0.50 µs

                   MS   SHARE     N      LOST  OF ROOF        MB    GB/S   GMAC/S  ROLE
                8.000  38.1 %     1     6.000   25.0 %      0.15     0.0      0.0  routed experts
                1.822   8.7 %     1     0.000  100.0 %      0.07     0.0      0.1  shared expert
                0.178   0.8 %     1     0.000  100.0 %      0.01     0.0      0.0  router

                   MS   SHARE     N      LOST  OF ROOF        MB    GB/S   GMAC/S  ANCHOR
                8.000  38.1 %     1     6.000   25.0 %      0.15     0.0      0.0  select_dot
                2.000   9.5 %     1     0.000  100.0 %      0.08     0.0      0.1  dot

                   MS   SHARE     N      LOST  OF ROOF        MB    GB/S   GMAC/S  WEIGHTS
                9.822  46.8 %     2     6.000   38.9 %      0.22     0.0      0.0  q4_0
                0.178   0.8 %     1     0.000  100.0 %      0.01     0.0      0.0  f32

                   MS   SHARE     N      LOST  OF ROOF        MB    GB/S   GMAC/S  KERNEL, by time lost
                8.000  38.1 %     1     6.000   25.0 %      0.15     0.0      0.0  select_dot_256x256_q4_0&select_dot_256x256_q4_0
                    routed experts in layer 1
                2.000   9.5 %     1     0.000  100.0 %      0.08     0.0      0.1  dot_256x256_q4_0&dot_256x256_q4_0+1
                    router + shared expert in layer 1

            ms by layer
              layer 1    10.000

            advice
              far-from-roof (5.920 ms): select_dot_256x256_q4_0&select_dot_256x256_q4_0: it reaches 25 % of the roofline: improve the kernel rather than the plan; --with-source shows its source
              made-twice: other: the plans `one` and `other` are equal but were compiled twice, which makes loading slower: let the family build one graph and share it
        "#]].assert_eq(&String::from_utf8(text).unwrap());
    }

    #[test]
    fn unknown_figures_are_dashes() {
        let mut text = Vec::new();
        let mut example = example();
        example.launches[0].roof = f64::NAN;
        for row in example.kernels() {
            line(&example, &row, &row.name, &mut text).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        expect![[r#"
            8.000  38.1 %     1     6.000   25.0 %      0.15     0.0      0.0  select_dot_256x256_q4_0&select_dot_256x256_q4_0
            2.000   9.5 %     1         -        -      0.08     0.0      0.1  dot_256x256_q4_0&dot_256x256_q4_0+1"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn the_source_of_a_kernel_is_what_runs_or_its_text_form() {
        let written = |source: LaunchText<'_>| {
            let mut text = Vec::new();
            sources(&example(), source, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = written(&|_| None);
        assert_eq!(text.matches("\nkernel ").count(), 2, "{text}");
        assert!(text.contains("  select_dot x="), "{text}");
        // The second launch has the most time to gain, so it comes first.
        let text = written(&|launch| (launch == 1).then(|| "fn main() {}".into()));
        let (first, second) = text.split_once("fn main() {}\n").unwrap();
        assert!(first.contains("select_dot_256x256_q4_0") && !first.contains("\nkernel "), "{text}");
        assert_eq!(second.matches("\nkernel ").count(), 1, "{text}");
    }
}
