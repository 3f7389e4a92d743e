//! `weft roofline`: measures a device's roofs, and its speed for decisions by cost.

use std::io::{self, Write};
use std::num::NonZeroUsize;

use weft_lab::{Error, Meter, Roof, Roofline, roofline};

use crate::cli::args::Args;
use crate::commands::measure::machine_speed;
use crate::commands::measure::measurement::{alone, interrupted};
use crate::commands::measure::report_head::giga;
use crate::commands::{Command, Outcome};
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "roofline",
    about: "Measure how fast this machine reads memory and multiplies",
    notes: "\
Takes some seconds and up to 4 GiB of memory. The CPU is measured with 1 to --threads threads (above 4, only powers of \
two). READ reads memory at several places at once; IN ORDER reads it from one end to the other; DOT multiplies 8-bit integers, \
as products with quantised weights do (on a CPU with AMX, by tiles); FMA multiplies f32, as products with float weights do. (Attention multiplies 16-bit \
integers, two in the time of one f32.) Each multiplication includes its addition. Figures are medians, with the minimum and \
maximum of the samples. On a GPU, only READ is measured; with CUDA, \
DOT too, on the matrix units.

Decoding cannot be faster than reading a token's weights, nor prefill faster than multiplying by them; `weft bench` shows how \
close it comes.

Then kernels that do one thing each run on the device with all --threads, and their rates are saved: the compiler uses them \
for decisions by cost, instead of a built-in table. This changes which kernels a model is compiled to, and no bit of its \
results.

Examples:
  weft roofline
  weft roofline --device gpu",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let _alone = alone(args, COMMAND.name)?;
    let mut device = args.device().open(args.count("threads"), args.packed().as_deref())?;
    let most = NonZeroUsize::new(device.caps().threads).unwrap_or(NonZeroUsize::MIN);
    let listener = Listener::new();
    let mut progress = None;
    let measured = Meter::new(&mut *device).and_then(|mut meter| {
        roofline(&mut *device, &mut meter, most, listener.pressed(), &mut |done, total| {
            let begin = || Progress::new("measuring", total, Unit::Samples).at_once(true);
            progress.get_or_insert_with(begin).set(done);
        })
    });
    drop(progress);
    let roofline = match measured {
        Err(Error::Interrupted) => return Ok(interrupted("saved")),
        measured => measured?,
    };
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&roofline.json())?;
    } else {
        text(&roofline, &mut out)?;
    }
    if let Some(found) = &roofline.machine {
        machine_speed::keep(args, &device.caps().hardware, found);
    }
    Ok(Outcome::Done)
}

fn text(roofline: &Roofline, out: &mut impl Write) -> io::Result<()> {
    let host = &roofline.host;
    let cache = host.cache.map_or(String::new(), |bytes| format!(", {} of cache", units::bytes(bytes)));
    writeln!(out, "{}: {} threads, {}{cache}; {}", host.cpu, host.threads, host.isa, host.system)?;
    writeln!(out, "{}", roofline.device)?;
    writeln!(out)?;
    let columns = [
        (Roof::Read, "READ, GB/s"),
        (Roof::ReadInOrder, "IN ORDER, GB/s"),
        (Roof::Dot, "DOT, GMAC/s"),
        (Roof::MulAdd, "FMA, GFMA/s"),
    ];
    let is_known =
        |(roof, _): &(Roof, &str)| roofline.roofs.iter().any(|roofs| !roofs.of(*roof).all().is_empty());
    let columns: Vec<_> = columns.into_iter().filter(is_known).collect();
    write!(out, "THREADS")?;
    columns.iter().try_for_each(|(_, title)| write!(out, "  {title:>23}"))?;
    writeln!(out)?;
    for roofs in &roofline.roofs {
        write!(out, "{:>7}", roofs.threads)?;
        columns.iter().try_for_each(|(roof, _)| write!(out, "  {:>23}", giga(roofs.of(*roof))))?;
        writeln!(out)?;
    }
    match &roofline.machine {
        Some(found) => writeln!(out, "\nkernels reach: {}", machine_speed::words(found)),
        None => writeln!(out, "\nkernels are too slow to measure"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_engine::inspect::Machine;
    use weft_lab::{Host, Roofs};

    use super::*;

    #[test]
    fn the_table_shows_every_number_of_threads() {
        let roofs = |threads, faster: f64| {
            let samples = |rates: [f64; 3]| rates.into_iter().map(|rate| rate * faster * 1e9).collect();
            Roofs {
                threads: NonZeroUsize::new(threads).unwrap(),
                read: samples([9.96, 12.34, 11.5]),
                read_in_order: samples([9.0, 8.0, 8.5]),
                dot: samples([160.0, 158.04, 161.0]),
                mul_add: samples([40.0, 40.0, 40.04]),
            }
        };
        let host = Host {
            cpu: "A Processor".into(),
            system: "linux x86_64".into(),
            threads: NonZeroUsize::new(128).unwrap(),
            cache: Some(33_554_432),
            ..Host::this()
        };
        let isa = host.isa.name();
        let machine = Some(Machine { workers: 128, ..Machine::default() });
        let device = "cpu (ISA), 128 threads".into();
        let roofline = Roofline { host, device, roofs: vec![roofs(1, 1.0), roofs(128, 100.0)], machine };
        let mut text = Vec::new();
        super::text(&roofline, &mut text).unwrap();
        expect![[r#"
            A Processor: 128 threads, ISA, 33.6 MB of cache; linux x86_64
            cpu (ISA), 128 threads

            THREADS               READ, GB/s           IN ORDER, GB/s              DOT, GMAC/s              FMA, GFMA/s
                  1      11.5 (10.0 to 12.3)         8.5 (8.0 to 9.0)   160.0 (158.0 to 161.0)      40.0 (40.0 to 40.0)
                128       1150 (996 to 1234)   850.0 (800.0 to 900.0)   16000 (15804 to 16100)      4000 (4000 to 4004)

            kernels reach: 128 workers, 1.00 µs per launch, 20.0 GB/s (8.0 per worker), and per worker 40.0 GMAC/s in 8 bits, 12.0 in f32 and 12.0 G values/s
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap().replace(isa, "ISA"));
    }
}
