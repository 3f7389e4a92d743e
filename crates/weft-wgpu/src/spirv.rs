//! Patches naga's SPIR-V to add what WGSL cannot express of cooperative matrices: signed bytes, and element-wise products.
//!
//! A text calls such operations by the names of functions, *intrinsics*, whose bodies only make it valid. naga translates it to SPIR-V as
//! it does for wgpu. Then each call becomes the operation, and the functions are removed:
//!
//! | the text says | it means |
//! |---|---|
//! | arrays `pool_of_bytes` and `pool_of_floats` | the words of `pool` |
//! | matrices `A` and `B` of 16 × 16 halves, if there is `pool_of_bytes` | those of 16 × 32 and 32 × 16 signed bytes |
//! | `weft_mul_bytes(a, b)`, of such matrices | the exact sums of their products, as floats |
//! | `weft_mul_values(a, b)`, of matrices of floats | their products, element-wise |
//! | `weft_mul_rounded(a, b)` | the same, rounded by itself |
//!
//! Exact sums are added as integers to the bits of 1.5 · 2²³. The result is a float, from which that number is subtracted: so no
//! instruction converts them. A sum of 32 products of bytes is far below 2²². The driver decides whether another product and the sum
//! that it is added to become one operation, with one rounding: [a probe](crate::probe) tries a text of this form.
//!
//! Buffers that are only read are declared as if they were written: else NVIDIA's compiler (580) moves their loads behind barriers, to
//! where values are used. Prompts gained 2 % by that.
//!
//! Words are those of the SPIR-V specification and of `SPV_KHR_cooperative_matrix`.

use wgpu::naga::back::spv;
use wgpu::naga::front::wgsl;
use wgpu::naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

/// Names of the text.
const POOL: &str = "pool";
const BYTES: &str = "pool_of_bytes";
const FLOATS: &str = "pool_of_floats";
const HALVES: &str = "halves";
const MUL_VALUES: &str = "weft_mul_values";
const MUL_ROUNDED: &str = "weft_mul_rounded";
const MUL_BYTES: &str = "weft_mul_bytes";

/// Values of a row of bytes.
const DEPTH: u32 = 32;

/// 1.5 · 2²³, as bits.
const EXACT: u32 = 0x4b40_0000;

/// Words before the first instruction, and which of them is the bound of all ids.
const HEADER: usize = 5;
const BOUND: usize = 3;

const OP_NAME: u32 = 5;
const OP_ENTRY_POINT: u32 = 15;
const OP_CAPABILITY: u32 = 17;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_POINTER: u32 = 32;
const OP_CONSTANT: u32 = 43;
const OP_CONSTANT_COMPOSITE: u32 = 44;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_FUNCTION_END: u32 = 56;
const OP_FUNCTION_CALL: u32 = 57;
const OP_VARIABLE: u32 = 59;
const OP_ACCESS_CHAIN: u32 = 65;
const OP_IN_BOUNDS_ACCESS_CHAIN: u32 = 66;
const OP_DECORATE: u32 = 71;
const OP_MEMBER_DECORATE: u32 = 72;
const OP_BITCAST: u32 = 124;
const OP_F_SUB: u32 = 131;
const OP_F_MUL: u32 = 133;
const OP_LABEL: u32 = 248;
const OP_TYPE_COOPERATIVE_MATRIX: u32 = 4456;
const OP_COOPERATIVE_MATRIX_MUL_ADD: u32 = 4459;

const CAPABILITY_INT8: u32 = 39;
const NON_WRITABLE: u32 = 24;
const NO_CONTRACTION: u32 = 42;
const STORAGE_WORKGROUP: u32 = 4;
const USE_A: u32 = 0;
const USE_B: u32 = 1;
const USE_SUMS: u32 = 2;

/// `MulAdd`'s operands, and its result, are signed.
const ALL_SIGNED: u32 = 0xf;

/// Compiles a text that says of cooperative matrices what WGSL has no words for.
///
/// # Errors
/// What naga says of it, or what it has not that such a text must have.
pub(crate) fn compile(source: &str, entry: &str) -> Result<Vec<u32>, String> {
    let module = wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .map_err(|error| error.emit_to_string(source))?;
    let unchecked = BoundsCheckPolicy::Unchecked;
    let options = spv::Options {
        // That of Vulkan 1.3, which is older than any driver with cooperative matrices.
        lang_version: (1, 6),
        // Names identify the arrays.
        flags: spv::WriterFlags::DEBUG,
        // As wgpu compiles the renderer's other texts.
        bounds_check_policies: BoundsCheckPolicies {
            index: unchecked,
            buffer: unchecked,
            image_load: unchecked,
            binding_array: unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        use_storage_input_output_16: false,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: wgpu::naga::ShaderStage::Compute,
        entry_point: entry.to_string(),
    };
    let words =
        spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|error| error.to_string())?;
    rewritten(&words).map_err(|missing| format!("its SPIR-V has no {missing}"))
}

/// An instruction: its code, and the words after the first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Instruction {
    op: u32,
    words: Vec<u32>,
}

impl Instruction {
    fn new(op: u32, words: impl Into<Vec<u32>>) -> Instruction {
        Instruction { op, words: words.into() }
    }

    fn word(&self, i: usize) -> u32 {
        self.words.get(i).copied().unwrap_or(0)
    }
}

/// The ids of a module's declarations.
struct Declared {
    /// The pool, and its aliases.
    pool: u32,
    aliases: Vec<u32>,
    /// The type of words, and that of pointers to those of the pool.
    word: u32,
    pointer: u32,
    float: u32,
    /// The type of matrices of floats.
    sums: Instruction,
    /// If there are bytes, the type of halves, and those of matrices of them with whether they are `A` or `B`.
    bytes: Option<(u32, Vec<(u32, u32)>)>,
    /// The type of signed integers, if there is one.
    signed: Option<u32>,
    /// The intrinsics, as far as the text has them: products value by value, those that are rounded, and those of bytes.
    mul_values: Option<u32>,
    mul_rounded: Option<u32>,
    mul_bytes: Option<u32>,
}

impl Declared {
    /// # Errors
    /// The name of the missing declaration.
    fn find(all: &[Instruction]) -> Result<Declared, String> {
        let named = |name: &str| {
            let is = |i: &&Instruction| i.op == OP_NAME && text(&i.words[1..]) == name;
            all.iter().find(is).map(|i| i.word(0))
        };
        let of = |op: u32, words: &[u32]| {
            let is = |i: &&Instruction| i.op == op && i.words.get(1..) == Some(words);
            all.iter().find(is).map(|i| i.word(0))
        };
        let constant =
            |id: u32| all.iter().find(|i| i.op == OP_CONSTANT && i.word(1) == id).map(|i| i.word(2));
        let matrices = |component: u32| {
            let is = move |i: &&Instruction| i.op == OP_TYPE_COOPERATIVE_MATRIX && i.word(1) == component;
            all.iter().filter(is)
        };
        let used = |i: &Instruction| constant(i.word(5));
        let pool = named(POOL).ok_or("`pool`")?;
        let float = of(OP_TYPE_FLOAT, &[32]).ok_or("floats")?;
        let word = of(OP_TYPE_INT, &[32, 0]).ok_or("words")?;
        let pointer =
            of(OP_TYPE_POINTER, &[STORAGE_WORKGROUP, word]).ok_or("pointer to a word of the pool")?;
        let sums = matrices(float).find(|i| used(i) == Some(USE_SUMS)).ok_or("matrices of floats")?;
        let bytes = match named(BYTES) {
            None => None,
            // Matrices of halves cannot be distinguished from those of bytes.
            Some(_) if named(HALVES).is_some() => return Err("bytes without halves".into()),
            Some(_) => {
                let half = of(OP_TYPE_FLOAT, &[16]).ok_or("halves")?;
                let factors: Vec<(u32, u32)> =
                    matrices(half).filter_map(|i| used(i).map(|used| (i.word(0), used))).collect();
                let has = |of: u32| factors.iter().any(|(_, used)| *used == of);
                Some((half, factors.clone()))
                    .filter(|_| has(USE_A) && has(USE_B))
                    .ok_or("matrices of halves")?
                    .into()
            }
        };
        Ok(Declared {
            pool,
            aliases: [BYTES, FLOATS].into_iter().filter_map(named).collect(),
            word,
            pointer,
            float,
            sums: sums.clone(),
            bytes,
            signed: of(OP_TYPE_INT, &[32, 1]),
            mul_values: named(MUL_VALUES),
            mul_rounded: named(MUL_ROUNDED),
            mul_bytes: named(MUL_BYTES),
        })
    }

    /// Whether a function is an intrinsic.
    fn is_intrinsic(&self, function: u32) -> bool {
        [self.mul_values, self.mul_rounded, self.mul_bytes].contains(&Some(function))
    }

    /// The ids that the functions of intrinsics define, and those of the functions.
    fn of_intrinsics(&self, all: &[Instruction]) -> Vec<u32> {
        let (mut ids, mut within) = (Vec::new(), false);
        for each in all {
            match each.op {
                OP_FUNCTION => within = self.is_intrinsic(each.word(1)),
                OP_FUNCTION_END => within = false,
                _ => {}
            }
            match each.op {
                OP_FUNCTION | OP_FUNCTION_PARAMETER if within => ids.push(each.word(1)),
                OP_LABEL if within => ids.push(each.word(0)),
                _ => {}
            }
        }
        ids
    }
}

/// Ids that are new.
struct New {
    byte: u32,
    depth: u32,
    /// The type of matrices of integers.
    integers: u32,
    /// The number that exact sums are added to, as an integer and a float, and matrices of them.
    exact: u32,
    exact_sums: u32,
    float: u32,
    float_sums: u32,
    signed: u32,
}

/// The module that a translated text stands for.
///
/// # Errors
/// What it lacks.
fn rewritten(words: &[u32]) -> Result<Vec<u32>, String> {
    let (header, all) = read(words).ok_or("whole instructions")?;
    let declared = Declared::find(&all)?;
    let mut bound = header[BOUND];
    let mut fresh = || {
        bound += 1;
        bound - 1
    };
    let [byte, depth, integers, exact, exact_sums, float, float_sums, signed] =
        std::array::from_fn(|_| fresh());
    let new = New { byte, depth, integers, exact, exact_sums, float, float_sums, signed };
    let sums = declared.sums.word(0);
    let is_alias = |id: u32| declared.aliases.contains(&id);
    let calls = |i: &&Instruction| i.op == OP_FUNCTION_CALL && Some(i.word(2)) == declared.mul_rounded;
    let rounded: Vec<u32> = all.iter().filter(calls).map(|i| i.word(1)).collect();
    if declared.bytes.is_some() && all.iter().any(|i| i.op == OP_COOPERATIVE_MATRIX_MUL_ADD) {
        return Err(format!("`{MUL_BYTES}` for each product of bytes"));
    }
    if declared.bytes.is_some() && declared.mul_bytes.is_none() {
        return Err(format!("`{MUL_BYTES}`"));
    }
    let removed = declared.of_intrinsics(&all);
    if !all.iter().any(|i| i.op == OP_DECORATE) {
        return Err("decorations".into());
    }
    let mut out: Vec<Instruction> = Vec::with_capacity(all.len());
    let (mut decorates, mut has_types, mut has_constants, mut within) = (false, false, false, false);
    for mut each in all {
        if within {
            within = each.op != OP_FUNCTION_END;
            continue;
        }
        match each.op {
            OP_NAME if is_alias(each.word(0)) || removed.contains(&each.word(0)) => continue,
            OP_VARIABLE if is_alias(each.word(1)) => continue,
            OP_ENTRY_POINT => {
                let variables = each.words.split_off(after_name(&each.words));
                each.words.extend(variables.into_iter().filter(|id| !is_alias(*id)));
            }
            OP_DECORATE | OP_MEMBER_DECORATE => {
                if !std::mem::replace(&mut decorates, true) {
                    let decorated = rounded.iter().map(|id| [*id, NO_CONTRACTION]);
                    out.extend(decorated.map(|words| Instruction::new(OP_DECORATE, words)));
                }
                let of = usize::from(each.op == OP_MEMBER_DECORATE);
                if each.words.get(1 + of..) == Some(&[NON_WRITABLE]) {
                    continue;
                }
            }
            OP_TYPE_COOPERATIVE_MATRIX => {
                let Some((half, factors)) = &declared.bytes else {
                    out.push(each);
                    continue;
                };
                if !std::mem::replace(&mut has_types, true) {
                    out.push(Instruction::new(OP_TYPE_INT, [new.byte, 8, 1]));
                    out.push(Instruction::new(OP_CONSTANT, [declared.word, new.depth, DEPTH]));
                }
                if each.word(1) == *half {
                    let is_left = factors.contains(&(each.word(0), USE_A));
                    each.words[1] = new.byte;
                    each.words[if is_left { 4 } else { 3 }] = new.depth;
                }
            }
            OP_FUNCTION => {
                if declared.bytes.is_some() && !std::mem::replace(&mut has_constants, true) {
                    out.extend(constants(&declared, &new));
                }
                within = declared.is_intrinsic(each.word(1));
                if within {
                    continue;
                }
            }
            OP_ACCESS_CHAIN | OP_IN_BOUNDS_ACCESS_CHAIN if is_alias(each.word(2)) => {
                (each.words[0], each.words[2]) = (declared.pointer, declared.pool);
            }
            OP_FUNCTION_CALL if [declared.mul_values, declared.mul_rounded].contains(&Some(each.word(2))) => {
                let [id, a, b] = [1, 3, 4].map(|i| each.word(i));
                each = Instruction::new(OP_F_MUL, [sums, id, a, b]);
            }
            OP_FUNCTION_CALL if declared.mul_bytes == Some(each.word(2)) => {
                let (products, floats) = (fresh(), fresh());
                let [rows, columns] = [3, 4].map(|i| each.word(i));
                let operands = [new.integers, products, rows, columns, new.exact_sums, ALL_SIGNED];
                out.push(Instruction::new(OP_COOPERATIVE_MATRIX_MUL_ADD, operands));
                out.push(Instruction::new(OP_BITCAST, [sums, floats, products]));
                each = Instruction::new(OP_F_SUB, [sums, each.word(1), floats, new.float_sums]);
            }
            _ => {}
        }
        let first_capability = each.op == OP_CAPABILITY && out.is_empty();
        out.push(each);
        if first_capability && declared.bytes.is_some() {
            out.push(Instruction::new(OP_CAPABILITY, [CAPABILITY_INT8]));
        }
    }
    let mut header = header.to_vec();
    header[BOUND] = bound;
    Ok(header.into_iter().chain(out.into_iter().flat_map(written)).collect())
}

/// The types and constants of exact sums.
fn constants(declared: &Declared, new: &New) -> Vec<Instruction> {
    let signed = declared.signed.unwrap_or(new.signed);
    let mut integers = declared.sums.clone();
    (integers.words[0], integers.words[1]) = (new.integers, signed);
    let ty = declared.signed.is_none().then(|| Instruction::new(OP_TYPE_INT, [signed, 32, 1]));
    let all = [
        integers,
        Instruction::new(OP_CONSTANT, [signed, new.exact, EXACT]),
        Instruction::new(OP_CONSTANT_COMPOSITE, [new.integers, new.exact_sums, new.exact]),
        Instruction::new(OP_CONSTANT, [declared.float, new.float, EXACT]),
        Instruction::new(OP_CONSTANT_COMPOSITE, [declared.sums.word(0), new.float_sums, new.float]),
    ];
    ty.into_iter().chain(all).collect()
}

/// Where the variables of an entry point begin: after the word with the end of its name.
fn after_name(words: &[u32]) -> usize {
    let has_end = |word: &u32| word.to_le_bytes().contains(&0);
    words.iter().skip(2).position(has_end).map_or(words.len(), |end| end + 3)
}

/// The header of a module, and its instructions.
fn read(words: &[u32]) -> Option<(&[u32], Vec<Instruction>)> {
    let (header, mut rest) = words.split_at_checked(HEADER)?;
    let mut all = Vec::new();
    while let Some(first) = rest.first() {
        let (each, others) = rest.split_at_checked((first >> 16).max(1) as usize)?;
        all.push(Instruction::new(first & 0xffff, &each[1..]));
        rest = others;
    }
    Some((header, all))
}

/// An instruction's words.
fn written(of: Instruction) -> impl Iterator<Item = u32> {
    let length = u32::try_from(of.words.len() + 1).unwrap_or(u32::MAX);
    std::iter::once(length << 16 | of.op).chain(of.words)
}

/// The text in an instruction.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe;

    /// How often an instruction is there.
    fn count(words: &[u32], op: u32) -> usize {
        read(words).unwrap().1.iter().filter(|i| i.op == op).count()
    }

    #[test]
    fn what_a_text_has_no_words_for_is_put_in_its_place() {
        let words = compile(probe::TEXT, "main").unwrap();
        let (header, all) = read(&words).unwrap();
        let float = all.iter().find(|i| i.op == OP_TYPE_FLOAT && i.word(1) == 32).unwrap().word(0);
        let of_floats = |i: &&Instruction| i.op == OP_TYPE_COOPERATIVE_MATRIX && i.word(1) == float;
        let sums = all.iter().find(of_floats).unwrap().word(0);
        let of_sums = |op: u32| all.iter().filter(|i| i.op == op && i.word(0) == sums).count();
        // The subtraction takes from exact sums what was added to them.
        let counts = [OP_F_MUL, OP_F_SUB, OP_BITCAST, OP_FUNCTION_CALL].map(of_sums);
        assert_eq!(counts, [5, 1, 1, 0]);
        // `hash` and `main`.
        assert_eq!(count(&words, OP_FUNCTION), 2);
        let multiply = all.iter().find(|i| i.op == OP_COOPERATIVE_MATRIX_MUL_ADD).unwrap();
        assert_eq!(multiply.words.last(), Some(&ALL_SIGNED));
        assert!(all.iter().any(|i| i.op == OP_CAPABILITY && i.words == [CAPABILITY_INT8]));
        assert!(all.iter().all(|i| i.op != OP_DECORATE || i.words[1..] != [NON_WRITABLE]));
        is_in_order(header, &all);
        let arrays: Vec<String> =
            all.iter().filter(|i| i.op == OP_NAME).map(|i| text(&i.words[1..])).collect();
        assert!(arrays.iter().any(|name| name == POOL));
        let gone = [BYTES, FLOATS, MUL_VALUES, MUL_ROUNDED, MUL_BYTES];
        assert!(!arrays.iter().any(|name| gone.contains(&name.as_str())));
        let alone: Vec<u32> = all
            .iter()
            .filter(|i| i.op == OP_DECORATE && i.word(1) == NO_CONTRACTION)
            .map(|i| i.word(0))
            .collect();
        assert!(all.iter().any(|i| i.op == OP_F_MUL && alone == [i.word(1)]));
        let bytes = all.iter().find(|i| i.op == OP_TYPE_INT && i.word(1) == 8).unwrap().word(0);
        let value = |id: u32| all.iter().find(|i| i.op == OP_CONSTANT && i.word(1) == id).unwrap().word(2);
        let matrices = all.iter().filter(|i| i.op == OP_TYPE_COOPERATIVE_MATRIX && i.word(1) == bytes);
        let mut shapes: Vec<[u32; 3]> = matrices.map(|i| [5, 3, 4].map(|word| value(i.word(word)))).collect();
        shapes.sort_unstable();
        assert_eq!(shapes, [[USE_A, 16, DEPTH], [USE_B, DEPTH, 16]]);
    }

    /// Checks a module of naga's after instructions were inserted: new ids are below the bound, defined once and before they are used, and
    /// an entry point names variables that are there.
    fn is_in_order(header: &[u32], all: &[Instruction]) {
        let variables: Vec<u32> = all.iter().filter(|i| i.op == OP_VARIABLE).map(|i| i.word(1)).collect();
        let entry = all.iter().find(|i| i.op == OP_ENTRY_POINT).unwrap();
        let named = &entry.words[after_name(&entry.words)..];
        assert!(!named.is_empty() && named.iter().all(|id| variables.contains(id)), "{named:?}");
        let mut known = Vec::new();
        for each in all {
            let (result, used) = match each.op {
                OP_TYPE_INT | OP_TYPE_FLOAT => (each.word(0), &[][..]),
                OP_TYPE_COOPERATIVE_MATRIX => (each.word(0), &each.words[1..]),
                OP_CONSTANT | OP_F_SUB | OP_F_MUL | OP_BITCAST => (each.word(1), &each.words[..1]),
                OP_COOPERATIVE_MATRIX_MUL_ADD => (each.word(1), &each.words[..1]),
                _ => continue,
            };
            assert!(result < header[BOUND] && !known.contains(&result), "{each:?}");
            // Some values have types that are not checked here.
            let types = [OP_TYPE_COOPERATIVE_MATRIX, OP_COOPERATIVE_MATRIX_MUL_ADD];
            assert!(!types.contains(&each.op) || used.iter().all(|id| known.contains(id)), "{each:?}");
            known.push(result);
        }
    }

    #[test]
    fn a_binding_may_have_the_number_of_a_decoration() {
        let other = probe::TEXT.replace("@binding(0)", "@binding(24)");
        let words = compile(&other, "main").unwrap();
        let (_, all) = read(&words).unwrap();
        let binding = 33;
        assert!(all.iter().any(|i| i.op == OP_DECORATE && i.words[1..] == [binding, NON_WRITABLE]));
    }

    #[test]
    fn what_is_not_said_as_it_must_be_is_refused() {
        for (from, to, why) in [
            (
                "dots = weft_mul_bytes(rows, columns)",
                "dots = coopMultiplyAdd(rows, columns, first)",
                "for each product",
            ),
            ("weft_mul_bytes", "mul_bytes", "no `weft_mul_bytes`"),
        ] {
            let error = compile(&probe::TEXT.replace(from, to), "main").unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    /// The texts that the renderer's file tests say it writes.
    #[test]
    fn texts_of_the_renderer_are_compiled() {
        let products = include_str!("../../../filetests/wgsl/cooperative_products.t");
        let attention = include_str!("../../../filetests/wgsl/cooperative_attention_of_a_prompt.t");
        for (file, title, bytes, rounded) in
            [(products, "// dot_256x128_q4_0:", 2, 0), (attention, "// attend_20x160:", 0, 5)]
        {
            let text = file.split(title).find(|text| text.contains(FLOATS)).unwrap();
            let words = compile(&format!("{title}{text}"), "main").unwrap();
            let (_, all) = read(&words).unwrap();
            let byte = all.iter().find(|i| i.op == OP_TYPE_INT && i.word(1) == 8).map(|i| i.word(0));
            let is = |i: &&Instruction| i.op == OP_TYPE_COOPERATIVE_MATRIX && Some(i.word(1)) == byte;
            assert_eq!(all.iter().filter(is).count(), bytes, "{title}");
            let alone = all.iter().filter(|i| i.op == OP_DECORATE && i.word(1) == NO_CONTRACTION).count();
            assert_eq!(alone, rounded, "{title}");
            assert_eq!(count(&words, OP_FUNCTION_CALL), 0, "{title}");
            if bytes > 0 {
                // Those that take from sums what was added to them.
                assert_eq!(count(&words, OP_F_SUB), count(&words, OP_COOPERATIVE_MATRIX_MUL_ADD), "{title}");
            }
        }
    }

    #[test]
    fn a_text_without_matrices_is_refused() {
        let text = "@compute @workgroup_size(1) fn main() {}";
        assert_eq!(compile(text, "main"), Err("its SPIR-V has no `pool`".into()));
    }
}
