//! Warpgroups in CUDA C++: Hopper's `wgmma`, which only texts for that architecture (`sm_90a`) may use.
//!
//! An operand in workgroup memory is a descriptor of 64 bits (PTX ISA, "Matrix descriptor format"). Its low word has the operand's first
//! unit and the stride of blocks in units; its high word has the stride of eight rows, and the swizzle of units over 128 bytes. Only the
//! low word differs.

use std::collections::BTreeSet;

use crate::stmt::{Stmt, visit};
use crate::warpgroup::{Left, Warpgroup};

/// The first unit of workgroup memory.
pub(super) const FIRST_UNIT: &str =
    "const unsigned int first_unit = ((unsigned int)__cvta_generic_to_shared(pool) & 0x3ffffu) >> 4;";

/// Eight rows of 128 bytes, in units; and the swizzle over 128 bytes.
const HIGH: u32 = (1024 / 16) | (1 << 30);

/// The stride of blocks in units. Products of 64 columns do not need it; this is the tested value.
const LOW: u32 = 1 << 16;
const LOW_TURNED: u32 = (8192 / 16) << 16;

const PUBLISH: &str = "static __device__ __forceinline__ void warpgroup_publish() {
  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");
}
";
const BEGIN: &str = "static __device__ __forceinline__ void warpgroup_begin() {
  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");
}
";
const END: &str = "static __device__ __forceinline__ void warpgroup_end() {
  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");
}
";
const WAIT: &str = "static __device__ __forceinline__ void warpgroup_wait_GROUPS() {
  asm volatile(\"wgmma.wait_group.sync.aligned GROUPS;\" ::: \"memory\");
}
";

/// Multiplies 64 rows of 16 halves by this many columns, both in workgroup memory. Operands are numbered after the sums.
const MULTIPLY: &str = "static __device__ __forceinline__ void warpgroup_multiply_COLUMNS(SUMS,
  unsigned int left, unsigned int right, unsigned int more) {
  asm volatile(\"{ .reg .pred p; .reg .b64 l, r; setp.ne.b32 p, %2;, 0; mov.b64 l, {%0;, %3;}; mov.b64 r, {%1;, %3;}; \"
    \"wgmma.mma_async.sync.aligned.m64nCOLUMNSk16.f32.f16.f16 {REGISTERS}, l, r, p, 1, 1, 0, 0; }\"
    : HELD
    : \"r\"(left + LOWu), \"r\"(right + LOWu), \"r\"(more), \"r\"(HIGHu));
}
";

/// Multiplies rows in the lanes' registers by columns that are neighbours in memory.
const MULTIPLY_LANES: &str = "static __device__ __forceinline__ void warpgroup_multiply_lanes_COLUMNS(SUMS,
  unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int right, unsigned int more) {
  asm volatile(\"{ .reg .pred p; .reg .b64 r; setp.ne.b32 p, %5;, 0; mov.b64 r, {%4;, %6;}; \"
    \"wgmma.mma_async.sync.aligned.m64nCOLUMNSk16.f32.f16.f16 {REGISTERS}, {%0;, %1;, %2;, %3;}, r, p, 1, 1, 1; }\"
    : HELD
    : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(right + TURNEDu), \"r\"(more), \"r\"(HIGHu));
}
";

/// Keeps the compiler from reading sums before this statement, and from reading their old values after it.
const HOLD: &str = "static __device__ __forceinline__ void warpgroup_hold_COLUMNS(SUMS) {
  asm volatile(\"\" : HELD :: \"memory\");
}
";

/// A statement.
pub(super) fn text(of: &Warpgroup, operands: &[String]) -> String {
    let place = |unit: &String| format!("first_unit + ({unit})");
    match of {
        Warpgroup::Number(name) => {
            format!("const unsigned int {name} = __shfl_sync(0xffffffffu, threadIdx.x / 128u, 0);")
        }
        Warpgroup::Declare(names) => format!("float {};", names.join(", ")),
        Warpgroup::Publish => "warpgroup_publish();".into(),
        Warpgroup::Begin => "warpgroup_begin();".into(),
        Warpgroup::Multiply { sums, left, fresh, .. } => {
            let (name, in_memory) = match left {
                Left::Shared(_) => ("warpgroup_multiply", 2),
                Left::Lanes(_) => ("warpgroup_multiply_lanes", 1),
            };
            let (values, places) = operands.split_at(operands.len().saturating_sub(in_memory));
            let more = format!("{}u", u32::from(!fresh));
            let all: Vec<String> =
                values.iter().cloned().chain(places.iter().map(place)).chain([more]).collect();
            format!("{name}_{}({});", columns(sums.len()), all.join(", "))
        }
        Warpgroup::End => "warpgroup_end();".into(),
        Warpgroup::Wait(groups) => format!("warpgroup_wait_{groups}();"),
        Warpgroup::Hold(sums) => {
            format!("warpgroup_hold_{}({});", columns(sums.len()), operands.join(", "))
        }
    }
}

/// The number of columns for which a lane has this many sums.
const fn columns(sums: usize) -> usize {
    2 * sums
}

/// The helper functions that a text needs.
pub(super) fn helpers(body: &[Stmt]) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut see = |stmt: &Stmt| {
        let Stmt::Warpgroup(of) = stmt else { return };
        let helper = match of {
            Warpgroup::Number(_) | Warpgroup::Declare(_) => return,
            Warpgroup::Publish => PUBLISH.into(),
            Warpgroup::Begin => BEGIN.into(),
            Warpgroup::Multiply { sums, left: Left::Shared(_), .. } => with_sums(MULTIPLY, sums.len()),
            Warpgroup::Multiply { sums, left: Left::Lanes(_), .. } => with_sums(MULTIPLY_LANES, sums.len()),
            Warpgroup::End => END.into(),
            Warpgroup::Wait(groups) => WAIT.replace("GROUPS", &groups.to_string()),
            Warpgroup::Hold(sums) => with_sums(HOLD, sums.len()),
        };
        used.insert(helper);
    };
    visit(body, &mut see, &mut |_| {});
    used.into_iter().collect()
}

/// The helper for this many sums.
fn with_sums(helper: &str, sums: usize) -> String {
    // The text of `each` for a lane's sums, eight to a line.
    let list = |each: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..sums).map(each).collect();
        all.chunks(8).map(|some| some.join(", ")).collect::<Vec<_>>().join(",\n    ")
    };
    let registers = list(&|i| format!("%{i}")).replace('\n', "\"\n").replace("\n    ", "\n    \"");
    let operands = (0..7).fold(helper.to_string(), |text, operand| {
        text.replace(&format!("%{operand};"), &format!("%{}", sums + operand))
    });
    operands
        .replace("COLUMNS", &columns(sums).to_string())
        .replace("SUMS", &list(&|i| format!("float& c{i}")))
        .replace("HELD", &list(&|i| format!("\"+f\"(c{i})")))
        .replace("REGISTERS", &registers)
        .replace("LOWu", &format!("{LOW:#x}u"))
        .replace("TURNEDu", &format!("{LOW_TURNED:#x}u"))
        .replace("HIGHu", &format!("{HIGH:#x}u"))
}
