//! `weft roofline`: what this machine can do at most.

use std::io::{self, Write};
use std::num::NonZeroUsize;

use weft_lab::{Error, Roof, Roofline, roofline};

use super::{Command, Outcome};
use crate::args::Args;
use crate::interrupt::Listener;
use crate::measured::giga;
use crate::out::Out;
use crate::progress::{Progress, Unit};
use crate::units;

pub(super) const COMMAND: Command = Command {
    name: "roofline",
    about: "Measure how fast this machine reads memory and multiplies",
    notes: "\
It takes some seconds and a gigabyte or so of memory, and measures 1 to --threads threads: of more than 4 those that are a \
power of two. READ is reading from memory, at several places at a time; IN ORDER the same from one end to the other; DOT is multiplying 8-bit integers, as products with quantised weights do; FMA is \
multiplying f32, as products with weights of floats do; attention multiplies 16-bit integers, two in the time of one of these. Each multiplication includes its addition. Figures are medians, with the least and the \
greatest of the samples.

Decoding cannot be faster than reading the weights of a token, nor prefill than multiplying by them: `weft bench` shows how \
near it comes.",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let most = args.count("threads").and_then(NonZeroUsize::new).unwrap_or(all);
    let listener = Listener::new();
    let mut progress = None;
    let measured = roofline(&mut weft_lab::probe()?, most, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("measuring", total, Unit::Samples).at_once(true);
        progress.get_or_insert_with(begin).set(done);
    });
    drop(progress);
    let roofline = match measured {
        Err(Error::Interrupted) => return Ok(Outcome::Interrupted),
        measured => measured?,
    };
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&roofline.json())?;
    } else {
        text(&roofline, &mut out)?;
    }
    Ok(Outcome::Done)
}

fn text(roofline: &Roofline, out: &mut impl Write) -> io::Result<()> {
    let host = &roofline.host;
    let cache = host.cache.map_or(String::new(), |bytes| format!(", {} of cache", units::bytes(bytes)));
    writeln!(out, "{}: {} threads, {}{cache}; {}", host.cpu, host.threads, host.isa, host.system)?;
    writeln!(out)?;
    let columns = [
        (Roof::Read, "READ, GB/s"),
        (Roof::ReadInOrder, "IN ORDER, GB/s"),
        (Roof::Dot, "DOT, GMAC/s"),
        (Roof::MulAdd, "FMA, GFMA/s"),
    ];
    write!(out, "THREADS")?;
    columns.iter().try_for_each(|(_, title)| write!(out, "  {title:>23}"))?;
    writeln!(out)?;
    for roofs in &roofline.roofs {
        write!(out, "{:>7}", roofs.threads)?;
        columns.iter().try_for_each(|(roof, _)| write!(out, "  {:>23}", giga(roofs.of(*roof))))?;
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
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
        let roofline = Roofline { host, roofs: vec![roofs(1, 1.0), roofs(128, 100.0)] };
        let mut text = Vec::new();
        super::text(&roofline, &mut text).unwrap();
        expect![[r#"
            A Processor: 128 threads, ISA, 33.6 MB of cache; linux x86_64

            THREADS               READ, GB/s           IN ORDER, GB/s              DOT, GMAC/s              FMA, GFMA/s
                  1      11.5 (10.0 to 12.3)         8.5 (8.0 to 9.0)   160.0 (158.0 to 161.0)      40.0 (40.0 to 40.0)
                128       1150 (996 to 1234)   850.0 (800.0 to 900.0)   16000 (15804 to 16100)      4000 (4000 to 4004)
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap().replace(isa, "ISA"));
    }
}
