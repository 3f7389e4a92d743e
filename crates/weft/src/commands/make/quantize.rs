//! `weft quantize`: converts a model's weights to other types.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use weft_make::{Conversion, Imatrix, QuantMix, QuantizeOptions, Sizes, quantize};
use weft_quant::GgmlType;

use super::{OUT, threads, with_progress};
use crate::cli::args::Args;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::model_ref;
use crate::terminal::streams::Out;
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "quantize",
    about: "Convert a model's weights to other types",
    notes: "\
Each tensor gets the type that llama.cpp would give it under the same name. Start from the most precise model you \
can get: precision lost in one quantisation cannot be recovered by another. With an importance matrix, which `weft imatrix` \
makes, types of 6 bits and less lose less.

Examples:
  weft quantize model-f16.gguf model-q4_k_m.gguf
  weft quantize model-f16.gguf model-q4_0.gguf --quant q4_0 --output-tensor-type q8_0
  weft quantize model-f16.gguf model-q4_k_m.gguf --imatrix imatrix.gguf",
    positionals: &[MODEL, OUT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let model = model_ref::find(args, args.path(MODEL.name))?;
    let path = args.path(OUT.name).unwrap_or(Path::new(""));
    let ty = |knob: &str| args.text(knob).map(str::parse).transpose();
    let imatrix = args.path("imatrix").map(|path| {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        anyhow::Ok((Imatrix::read(path)?, name))
    });
    let options = QuantizeOptions {
        imatrix: imatrix.transpose()?,
        mix: QuantMix::named(args.text("quant").unwrap_or_default())?,
        output: ty("output-tensor-type")?,
        embedding: ty("token-embedding-type")?,
        allow_requantize: args.flag("allow-requantize"),
        threads: threads(args),
    };
    let done = with_progress("quantising", |progress| quantize(&model, path, &options, progress))?;
    let Some(done) = done else { return Ok(Outcome::Interrupted) };
    let mut out = Out::new();
    if args.flag("json") {
        let (before, after) = (sizes(&done.before), sizes(&done.after));
        let mut done_json = json!({ "path": path.display().to_string(), "before": before, "after": after });
        if let Some((weighted, quantised)) = done.weighted {
            done_json["imatrix"] = json!({ "tensors": weighted, "of": quantised });
        }
        out.json(&done_json)?;
    } else {
        table(&done, &mut out)?;
    }
    Ok(Outcome::Done)
}

fn sizes(Sizes(by_type): &Sizes) -> Value {
    let size = |(ty, size): (&GgmlType, &weft_make::Size)| {
        (ty.name().to_string(), json!({ "tensors": size.tensors, "bytes": size.bytes }))
    };
    by_type.iter().map(size).collect()
}

/// Prints the size and number of tensors of each type, before and after.
fn table(Conversion { before, after, weighted }: &Conversion, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<8}  {:>19}  {:>19}", "TYPE", "BEFORE", "AFTER")?;
    let types: BTreeSet<&GgmlType> = before.0.keys().chain(after.0.keys()).collect();
    for ty in types {
        let of = |sizes: &Sizes| {
            let size = sizes.0.get(ty);
            size.map_or(String::new(), |size| format!("{} in {:>5}", units::bytes(size.bytes), size.tensors))
        };
        let line = format!("{ty:<8}  {:>19}  {:>19}", of(before), of(after));
        writeln!(out, "{}", line.trim_end())?;
    }
    let [before, after] = [before, after].map(|sizes| units::bytes(sizes.bytes()));
    writeln!(out, "{:<8}  {before:>10}{:9}  {after:>10}", "all", "")?;
    match weighted {
        None => Ok(()),
        Some((weighted, of)) => {
            writeln!(out, "{weighted} of {of} tensors by the importance of their columns")
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_make::Size;

    use super::*;

    #[test]
    fn the_table_shows_the_types_of_both_sides() {
        let sizes = |list: &[(GgmlType, usize, u64)]| {
            Sizes(list.iter().map(|&(ty, tensors, bytes)| (ty, Size { tensors, bytes })).collect())
        };
        let done = Conversion {
            before: sizes(&[(GgmlType::F32, 5, 20_480), (GgmlType::F16, 820, 59_000_000_000)]),
            after: sizes(&[(GgmlType::F32, 5, 20_480), (GgmlType::Q4_K, 820, 16_000_000_000)]),
            weighted: Some((801, 820)),
        };
        let mut text = Vec::new();
        table(&done, &mut text).unwrap();
        expect![[r#"
            TYPE                   BEFORE                AFTER
            f32          20.5 kB in     5     20.5 kB in     5
            f16          59.0 GB in   820
            q4_k                              16.0 GB in   820
            all          59.0 GB              16.0 GB
            801 of 820 tensors by the importance of their columns
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
    }
}
