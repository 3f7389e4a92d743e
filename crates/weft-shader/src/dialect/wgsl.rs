//! WGSL, for wgpu: naga translates it to SPIR-V and MSL.

mod chain;

use std::fmt::Write as _;

use crate::cooperative::{Arrays, Cooperative, Operand, SIDE};
use crate::dialect::{Dialect, Words, component};
use crate::expr::{Expr, Fun, Op};
use crate::module::{Function, Module, Slot, Type};
use crate::stmt::{MET, Stmt, visit};

/// WGSL for one GPU.
#[derive(Clone, Copy, Debug)]
pub struct Wgsl {
    /// Whether there is an instruction for dot products of four bytes. Without one they are computed in floats, which hold them and their
    /// sums exactly; naga's own fallback is many shifts and integer multiplications.
    pub dot4: bool,
}

/// A dot product of four bytes without an instruction for it.
const DOT4: &str = "fn dot4(a: u32, b: u32) -> f32 {
  return dot(vec4<f32>(unpack4xI8(a)), vec4<f32>(unpack4xI8(b)));
}
";

/// Matrices of factors and sums of bytes.
const MATRIX: &str = "coop_mat16x16<f32, C>";

/// Intrinsics: operations that WGSL cannot express are calls of functions with these names, which `weft-wgpu` replaces in SPIR-V. Their
/// bodies only make the text valid.
const BY_VALUE: &str = "// `pool_of_floats` is `pool`. Intrinsics: products value by value, and such a product that is rounded by itself.
fn weft_mul_values(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
fn weft_mul_rounded(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
";
const OF_BYTES: &str = "// `pool_of_bytes` is `pool`, too: matrices loaded from it have 32 signed bytes where this says 16 halves. An intrinsic: their exact product.
fn weft_mul_bytes(a: coop_mat16x16<f16, A>, b: coop_mat16x16<f16, B>) -> coop_mat16x16<f32, C> { return coop_mat16x16<f32, C>(); }
";

/// Two aliases of the pool: the source of matrices of bytes, and an array of floats.
const BYTES: &str = "pool_of_bytes";
const FLOATS: &str = "pool_of_floats";

/// The name of the buffer that holds a piece of a slot.
fn piece_name(slot: usize, piece: u32) -> String {
    format!("b{slot}_{piece}")
}

/// The function that loads a word of a slot in several pieces.
fn word_of_pieces(slot: usize, pieces: u32, piece_words: u32) -> String {
    let mut out = format!("fn b{slot}(at: u32) -> u32 {{\n");
    let first_word = |piece: u32| u64::from(piece) * u64::from(piece_words);
    for piece in 0..pieces {
        let from = match first_word(piece) {
            0 => "at".to_string(),
            from => format!("at - {from:#x}u"),
        };
        let word = format!("return {}[{from}];", piece_name(slot, piece));
        let _ = match piece + 1 < pieces {
            true => writeln!(out, "  if (at < {:#x}u) {{ {word} }}", first_word(piece + 1)),
            false => writeln!(out, "  {word}\n}}"),
        };
    }
    out
}

impl Dialect for Wgsl {
    fn globals(&self, module: &Module) -> String {
        let mut out = String::new();
        if module.arrays.fours > 0 || module.needs_spirv() {
            out.push_str("enable f16;\nenable wgpu_cooperative_matrix;\n");
        }
        let vectors = module.args_words / 4;
        let _ = writeln!(out, "@group(0) @binding(0) var<uniform> args: array<vec4<u32>, {vectors}>;");
        let _ = writeln!(out, "@group(0) @binding(1) var<uniform> sizes: vec4<u32>;");
        let (halves, fours) = (module.slots_of_halves(), module.slots_of_fours());
        let mut binding = 2;
        for (slot, Slot { written, pieces, coherent, .. }) in module.slots.iter().enumerate() {
            let access = if *written { "read_write" } else { "read" };
            let coherent = if *coherent { "@coherent " } else { "" };
            let word = match fours.contains(&slot) && *pieces == 1 {
                _ if halves.contains(&slot) => "atomic<u32>",
                true => "vec4<u32>",
                false => "u32",
            };
            for piece in 0..*pieces {
                let name = if *pieces > 1 { piece_name(slot, piece) } else { format!("b{slot}") };
                let _ = writeln!(
                    out,
                    "@group(0) @binding({binding}) {coherent}var<storage, {access}> {name}: array<{word}>;"
                );
                binding += 1;
            }
        }
        if module.chain {
            let _ = writeln!(
                out,
                "@group(0) @binding({binding}) var<storage, read_write> counts: array<atomic<u32>>;"
            );
        }
        if module.shared_words > 0 {
            // These are words and not vectors: an H100 loads words of workgroup memory faster, even four of them one by one
            // (`bench/runs/2026-11-25-vulkan.md`).
            let _ = writeln!(out, "var<workgroup> pool: array<u32, {}>;", module.shared_words);
        }
        if module.needs_spirv() {
            let words = module.shared_words;
            let mut bytes = false;
            let mut see = |stmt: &Stmt| {
                bytes |= matches!(stmt, Stmt::Cooperative(Cooperative::LoadBytes { .. }));
            };
            visit(&module.body, &mut see, &mut |_| {});
            out.push_str(BY_VALUE);
            if bytes {
                out.push_str(OF_BYTES);
                let _ = writeln!(out, "var<workgroup> {BYTES}: array<vec4<f16>, {words}>;");
            }
            let _ = writeln!(out, "var<workgroup> {FLOATS}: array<f32, {words}>;");
        }
        let Arrays { fours, floats } = module.arrays;
        if fours > 0 {
            let _ = writeln!(out, "var<workgroup> halves: array<vec4<f16>, {fours}>;");
            let _ = writeln!(out, "var<workgroup> floats: array<f32, {floats}>;");
        }
        let (mut agrees, mut multiplies) = (module.chain, false);
        visit(&module.body, &mut |stmt| agrees |= matches!(stmt, Stmt::Uniform(..)), &mut |e| {
            multiplies |= matches!(e, Expr::Call(Fun::Dot4, _))
        });
        if agrees {
            // It has sixteen bytes, although one word is read: after a single word the pool would not begin at a multiple of 16, and a
            // driver could not load four of its words at once.
            out.push_str("var<workgroup> agreed: vec4<u32>;\n");
        }
        if module.chain {
            let _ = write!(out, "\n{}", chain::TEXT);
        }
        if multiplies && !self.dot4 {
            let _ = write!(out, "\n{DOT4}");
        }
        for (slot, Slot { pieces, .. }) in module.slots.iter().enumerate().filter(|(_, slot)| slot.pieces > 1)
        {
            let _ = write!(out, "\n{}", word_of_pieces(slot, *pieces, module.piece_words));
        }
        out
    }

    fn entry(&self, module: &Module) -> String {
        let lanes = module.lanes;
        let lane = match module.shuffles() {
            false => "@builtin(local_invocation_index) lane: u32",
            true => {
                "@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32"
            }
        };
        let launched = if module.chain { ", @builtin(num_workgroups) launched: vec3<u32>" } else { "" };
        format!(
            "@compute @workgroup_size({lanes})\nfn main({lane}, @builtin(workgroup_id) group: vec3<u32>{launched})"
        )
    }

    fn prelude(&self, module: &Module) -> Vec<String> {
        // No API guarantees which invocations form a subgroup, or in which order. So lanes are numbered by subgroup.
        let lane = module.shuffles().then(|| "let lane = subgroup * size + member;".to_string());
        // The group's number along the third axis is 0, which no compiler can know. It is read once, because reading it at each use costs
        // replies 5 %.
        let zero = module.calls(Fun::Rounded).then(|| format!("let hidden_zero = {};", self.group(2)));
        let census = module.chain.then(|| chain::CENSUS.to_string());
        let met = module.chain.then(|| format!("var {MET} = 0u;"));
        lane.into_iter().chain(census).chain(zero).chain(met).collect()
    }

    fn type_name(&self, ty: Type) -> &'static str {
        match ty {
            Type::U32 => "u32",
            Type::F32 => "f32",
        }
    }

    fn function(&self, function: &Function) -> String {
        let param = |(name, ty): &(&str, Type)| format!("{name}: {}", self.type_name(*ty));
        let params: Vec<String> = function.params.iter().map(param).collect();
        format!("fn {}({}) -> {}", function.name, params.join(", "), self.type_name(function.result))
    }

    fn define(&self, name: &str, value: &str, variable: bool) -> String {
        format!("{} {name} = {value};", if variable { "var" } else { "let" })
    }

    fn arg(&self, i: usize) -> String {
        format!("args[{}].{}", i / 4, component(i))
    }

    fn size(&self, i: usize) -> String {
        format!("sizes.{}", component(i))
    }

    fn word_after(&self, slot: usize, at: &str, n: &str, words: Words) -> String {
        self.word(slot, &format!("{at} + {n}"), words)
    }

    fn word(&self, slot: usize, at: &str, words: Words) -> String {
        match words {
            Words::Plain | Words::Fours => format!("b{slot}[{at}]"),
            Words::Halves => format!("atomicLoad(&b{slot}[{at}])"),
            Words::Pieces => format!("b{slot}({at})"),
        }
    }

    fn store(&self, slot: usize, at: &str, word: &str, halves: bool) -> String {
        match halves {
            true => format!("atomicStore(&b{slot}[{at}], {word});"),
            false => format!("b{slot}[{at}] = {word};"),
        }
    }

    fn store_half(&self, slot: usize, at: &str, upper: bool, half: &str) -> Vec<String> {
        // A concurrent store of the other half keeps the bits of this one.
        let others = if upper { "0xffffu" } else { "0xffff0000u" };
        vec![format!("atomicAnd(&b{slot}[{at}], {others});"), format!("atomicOr(&b{slot}[{at}], {half});")]
    }

    fn launched(&self) -> &'static str {
        "launched.x"
    }

    fn ended(&self, stage: u32) -> Vec<String> {
        // The scope of the barrier's memory is the device.
        vec!["storageBarrier();".into(), format!("if (lane == 0u) {{ count({stage}u); }}")]
    }

    fn meet(&self, stage: &str, count: &str) -> Vec<String> {
        vec![
            format!("if (lane == 0u) {{ agreed.x = meet({stage}, {count}); }}"),
            format!("{MET} = workgroupUniformLoad(&agreed).x;"),
        ]
    }

    fn after_meeting(&self) -> Option<&'static str> {
        Some(MET)
    }

    fn leave(&self, stages: u32) -> Vec<String> {
        vec![format!("if (lane == 0u) {{ leave({stages}u, launched.x); }}")]
    }

    fn fuses(&self) -> bool {
        true
    }

    fn operator(&self, fun: Fun) -> Option<Op> {
        (fun == Fun::Quotient).then_some(Op::Div)
    }

    fn declares_fours(&self) -> bool {
        true
    }

    fn vector(&self, words: &[String]) -> String {
        format!("vec4<u32>({})", words.join(", "))
    }

    fn keeps_loads(&self) -> bool {
        false
    }

    fn call(&self, fun: Fun, args: &[String]) -> String {
        let name = match fun {
            Fun::Float => "bitcast<f32>",
            Fun::Bits | Fun::Unsigned => "bitcast<u32>",
            Fun::Signed => "bitcast<i32>",
            Fun::FloatOfU32 | Fun::FloatOfI32 => "f32",
            Fun::IntOfFloat => "i32",
            Fun::U32OfFloat => "u32",
            Fun::Negate => "-",
            Fun::Min => "min",
            Fun::Max => "max",
            Fun::Exp => "exp",
            Fun::InverseSqrt => "inverseSqrt",
            Fun::Quotient => "quotient",
            Fun::Round => "round",
            Fun::Fma => "fma",
            Fun::Select => "select",
            Fun::Half => return format!("unpack2x16float({}).x", args.join(", ")),
            Fun::PackHalves => return format!("pack2x16float(vec2<f32>({}))", args.join(", ")),
            Fun::Rounded => return format!("bitcast<f32>(bitcast<u32>({}) ^ hidden_zero)", args.join(", ")),
            Fun::Dot4 if self.dot4 => "dot4I8Packed",
            Fun::Dot4 => "dot4",
            Fun::PickBytes => "pick_bytes",
            Fun::Shuffle => "subgroupShuffleXor",
        };
        format!("{name}({})", args.join(", "))
    }

    fn barrier(&self) -> &'static str {
        "workgroupBarrier();"
    }

    fn storage_barrier(&self) -> &'static str {
        "workgroupBarrier(); storageBarrier();"
    }

    fn cooperative(&self, of: &Cooperative, operands: &[String]) -> Vec<String> {
        let place = |array: &str| format!("&{array}[{}]", operands.first().map_or("", String::as_str));
        match of {
            Cooperative::StoreHalves { .. } => {
                let four = |at: String, words: &[String]| {
                    let words: Vec<String> =
                        words.iter().map(|word| format!("unpack2x16float({word})")).collect();
                    format!("halves[{at}] = vec4<f16>(vec4<f32>({}));", words.join(", "))
                };
                let (at, words) = (&operands[0], &operands[1..]);
                vec![four(at.clone(), &words[..2]), four(format!("{at} + 1u"), &words[2..])]
            }
            Cooperative::Sums(name) => vec![format!("var {name} = coop_mat{SIDE}x{SIDE}<f32, C>();")],
            Cooperative::Load { into, operand, stride, .. } => {
                // A matrix is stored by columns unless the name says that it is transposed.
                let (turned, role) = match operand {
                    Operand::Rows => ("T", "A"),
                    Operand::Columns => ("", "B"),
                    Operand::ColumnsBeside => ("T", "B"),
                };
                let matrix = format!("coop_mat{SIDE}x{SIDE}<f16, {role}>");
                vec![format!("let {into} = coopLoad{turned}<{matrix}>({}, {stride}u);", place("halves"))]
            }
            Cooperative::Multiply { sums, rows, columns } => {
                vec![format!("{sums} = coopMultiplyAdd({rows}, {columns}, {sums});")]
            }
            Cooperative::Store { sums, stride, .. } => {
                vec![format!("coopStoreT({sums}, {}, {stride}u);", place("floats"))]
            }
            Cooperative::SubgroupBarrier => vec!["subgroupBarrier();".into()],
            Cooperative::LoadBytes { into, operand, stride, .. } => {
                let (turned, role) = if *operand == Operand::Rows { ("T", "A") } else { ("", "B") };
                let matrix = format!("coop_mat{SIDE}x{SIDE}<f16, {role}>");
                vec![format!("let {into} = coopLoad{turned}<{matrix}>({}, {stride}u);", place(BYTES))]
            }
            Cooperative::MultiplyBytes { into, rows, columns } => {
                vec![format!("let {into} = weft_mul_bytes({rows}, {columns});")]
            }
            Cooperative::LoadFactors { into, operand, .. } => {
                // With a stride of 0, all columns are the same, or all rows.
                let turned = if *operand == Operand::Rows { "" } else { "T" };
                vec![format!("let {into} = coopLoad{turned}<{MATRIX}>({}, 0u);", place(FLOATS))]
            }
            Cooperative::SumsFrom { name, from } => vec![format!("var {name} = {from};")],
            Cooperative::SetSums { sums, from } => vec![format!("{sums} = {from};")],
            Cooperative::AddSums { sums, more } => vec![format!("{sums} = {sums} + {more};")],
            Cooperative::AddProducts { sums, factors } => {
                let product =
                    factors.iter().rev().cloned().reduce(|all, one| format!("weft_mul_values({one}, {all})"));
                vec![format!("{sums} = {sums} + {};", product.unwrap_or_default())]
            }
            Cooperative::Rescale { sums, by, more, factor } => {
                vec![format!("{sums} = weft_mul_rounded({sums}, {by}) + weft_mul_values({more}, {factor});")]
            }
            Cooperative::StoreSums { sums, stride, .. } => {
                vec![format!("coopStoreT({sums}, {}, {stride}u);", place(FLOATS))]
            }
        }
    }

    fn uniform(&self, name: &str, value: &str) -> Vec<String> {
        vec![
            format!("if (lane == 0u) {{ agreed.x = {value}; }}"),
            format!("let {name} = workgroupUniformLoad(&agreed).x;"),
        ]
    }
}
