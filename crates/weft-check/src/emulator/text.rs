//! CUDA texts as C++ files.

use std::fmt::Write as _;

use weft_render::{BLOCKS_POOL, DYNAMIC_POOL, Shader, checksum};

/// The shim, at the beginning of each file.
pub(crate) const SHIM: &str = include_str!("cuda_shim.h");

/// A text as a C++ file of its own. Programs share many texts, and each is compiled once.
pub(crate) struct Kernel {
    /// Its namespace, which identifies it.
    pub(crate) name: String,
    pub(crate) file: String,
    /// Whether its workgroups wait for each other, and so must run in order.
    in_order: bool,
}

impl Kernel {
    pub(crate) fn of(shader: &Shader) -> Kernel {
        let Shader { source, entry, slots, shared_bytes, .. } = shader;
        let text = portable(&sized(source, *shared_bytes));
        let slots: Vec<String> = (0..slots.len()).map(|slot| format!(", slots[{slot}]")).collect();
        let slots = slots.concat();
        let name = format!("k{:016x}", checksum(format!("{entry}{slots}{text}").as_bytes()));
        let in_order = source.contains("wait_for_signal(");
        let (declared, row) = (declared(&name), row(&name, in_order));
        // Each text's shared memory is a section of its own, whose bounds the linker knows. `used`: the runtime poisons it. The table is
        // for a library of this kernel alone; that of several takes its place.
        let file = format!(
            "{SHIM}
#undef __shared__
#define __shared__ static __attribute__((section(\"weft_shared_{name}\"), used))
namespace {name} {{
#line 1 \"{entry}\"
{text}
void run(const unsigned int* args, const unsigned int* sizes, const Words* slots) {{
  {entry}(*(const Args*)args, *(const Sizes*)sizes{slots});
}}
}}
{declared}
extern const __attribute__((weak)) Entry weft_entries[] = {{{row}}};
"
        );
        Kernel { name, file, in_order }
    }
}

/// The declarations of the names in a row of the table.
fn declared(name: &str) -> String {
    let bounds = ["start", "stop"].map(|at| {
        format!("extern char __{at}_weft_shared_{name}[] __attribute__((weak, visibility(\"hidden\")));\n")
    });
    let arguments = "const unsigned int*, const unsigned int*, const Words*";
    format!("{}namespace {name} {{ void run({arguments}); }}\n", bounds.concat())
}

/// A row of the table.
fn row(name: &str, in_order: bool) -> String {
    format!("{{{name}::run, __start_weft_shared_{name}, __stop_weft_shared_{name}, {in_order}}}")
}

/// A C++ file with the table of entry points that the runtime expects, in the order of these kernels. One may be there
/// several times.
pub(crate) fn table(kernels: &[Kernel]) -> String {
    let mut out = String::from(SHIM);
    let mut entries = String::new();
    for (i, Kernel { name, in_order, .. }) in kernels.iter().enumerate() {
        let _ = writeln!(entries, "  {},", row(name, *in_order));
        if !kernels[..i].iter().any(|other| other.name == *name) {
            out.push_str(&declared(name));
        }
    }
    let _ = write!(out, "\nconst Entry weft_entries[] = {{\n{entries}}};\n");
    out
}

/// The text with the size of its workgroup memory, if the launch gives that.
fn sized(source: &str, bytes: u32) -> String {
    [DYNAMIC_POOL, BLOCKS_POOL].iter().fold(source.into(), |source: String, pool| {
        source.replace(pool, &pool.replace("extern ", "").replace("[]", &format!("[{}]", bytes / 4)))
    })
}

/// A text with checked slots instead of pointers, without the functions that are written in PTX, which the shim has.
/// Lines stay where they are, so that errors name those of the text.
fn portable(source: &str) -> String {
    let mut out = String::new();
    let mut function: Option<String> = None;
    for line in source.lines() {
        if line.starts_with("static __device__") {
            function = Some(String::new());
        }
        let to = function.as_mut().unwrap_or(&mut out);
        to.push_str(&slot(line).unwrap_or_else(|| {
            line.replace("extern \"C\" __global__", "static __global__")
                .replace("*(const uint4*)&", "weft_quad << &")
        }));
        to.push('\n');
        if line == "}"
            && let Some(function) = function.take()
        {
            match function.contains("asm") {
                true => out.extend(function.lines().map(|_| '\n')),
                false => out.push_str(&function),
            }
        }
    }
    out
}

/// A line that declares a slot, as checked words: `const unsigned int* __restrict__ b7,`.
fn slot(line: &str) -> Option<String> {
    let (pointer, name) = line.strip_prefix("  ")?.rsplit_once(' ')?;
    name.strip_prefix('b')?.trim_end_matches(',').parse::<usize>().ok()?;
    match pointer.trim_end_matches(" __restrict__") {
        "const unsigned int*" => Some(format!("  const Words {name}")),
        "unsigned int*" => Some(format!("  Words {name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::portable;

    #[test]
    fn helpers_in_ptx_go_and_the_rest_keeps_its_lines() {
        let text = "// a\nstatic __device__ float half_to_float(unsigned int bits) {\n  asm(\"x\");\n}\n\n\
                    static __device__ float twice(float x) {\n  return x + x;\n}\n\
                    extern \"C\" __global__ void f(\n  const unsigned int* __restrict__ b0,\n  unsigned int* b1\n) {\n}\n";
        let expected = "// a\n\n\n\n\nstatic __device__ float twice(float x) {\n  return x + x;\n}\n\
                        static __global__ void f(\n  const Words b0,\n  Words b1\n) {\n}\n";
        assert_eq!(portable(text), expected);
    }
}
