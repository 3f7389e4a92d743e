//! CUDA C++ for NVRTC. The texts need no headers; they need compute capability 6.1 (`__dp4a`).
//!
//! An entry point takes `args` and `sizes` by value, then one pointer per slot, in order. It is
//! launched with [`Module::lanes`] threads along `x`.
//!
//! Texts must be compiled with [`CUDA_OPTIONS`], with which a multiplication and an addition are fused only where the program says `fma`.
//! So bits follow the kernel's own order, and every architecture rounds alike, except in `expf`, `rsqrtf` and `quotient`: PTX does not
//! define the last bits of the approximations behind them. WGSL has no such options: there the driver may round `a * b + c` once or twice,
//! unless the product is [`Fun::Rounded`].

mod cooperative;
mod warpgroup;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::cooperative::{Cooperative, Operand};
use crate::dialect::{Dialect, c_call, component};
use crate::expr::{Expr, Fun};
use crate::module::{Content, Module, Slot};
use crate::stmt::{Stmt, visit};
use crate::warpgroup::Warpgroup;

/// The NVRTC options for rounding: no contraction into fused multiply-adds, correctly rounded division and square root, and subnormal
/// numbers.
pub const CUDA_OPTIONS: [&str; 4] = ["--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"];

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// CUDA C++.
#[derive(Clone, Copy, Debug)]
pub struct Cuda;

/// The most bytes of workgroup memory that a text declares itself. A text with more declares none, and its launch passes the size.
pub const STATIC_SHARED_BYTES: u32 = 48 << 10;

/// The declaration of more workgroup memory than [`STATIC_SHARED_BYTES`].
pub const DYNAMIC_POOL: &str = "extern __shared__ __align__(16) unsigned int pool[];";

/// The declaration of workgroup memory that warpgroups read.
pub const BLOCKS_POOL: &str = "extern __shared__ __align__(1024) unsigned int pool[];";

/// An approximate division. With it in place of a correctly rounded one, rounding took a reply of 8 layers from 2,516 to 2,614 tokens/s on
/// an H200 (`bench/runs/2026-11-22-cuda-decode.md`).
const QUOTIENT: &str = "static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm(\"rcp.approx.f32 %0, %1;\" : \"=f\"(inverse) : \"f\"(b));
  return a * inverse;
}
";

/// Conversions of halves, without `cuda_fp16.h`.
const HALF_TO_FLOAT: &str = "static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"((unsigned short)bits));
  return value;
}
";
const PACK_HALVES: &str =
    "static __device__ __forceinline__ unsigned int pack_halves(float low, float high) {
  unsigned short lower, upper;
  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(lower) : \"f\"(low));
  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(upper) : \"f\"(high));
  return (unsigned int)lower | ((unsigned int)upper << 16);
}
";

/// Programmatic dependent launch. GPUs before compute capability 9.0 lack it: there a launch begins when the previous one has ended.
const LAUNCH_NEXT: &str = "static __device__ __forceinline__ void launch_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile(\"griddepcontrol.launch_dependents;\");
#endif
}
";
const WAIT_FOR_PREVIOUS: &str = "static __device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");
#endif
}
";

/// Loads of weights that the compiler keeps in place, so that those before a wait are in flight during it. It would move non-coherent loads
/// (`ld.global.nc`) past the wait.
const LOAD_EARLY: &str =
    "static __device__ __forceinline__ unsigned int load_early(const unsigned int* from) {
  unsigned int word;
  asm volatile(\"ld.global.L1::no_allocate.u32 %0, [%1];\" : \"=r\"(word) : \"l\"(from));
  return word;
}
";
const LOAD_EARLY_4: &str = "static __device__ __forceinline__ uint4 load_early_4(const unsigned int* from) {
  uint4 words;
  asm volatile(\"ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\"
    : \"=r\"(words.x), \"=r\"(words.y), \"=r\"(words.z), \"=r\"(words.w) : \"l\"(from));
  return words;
}
";

/// Loads four words that the L2 cache evicts first.
const LOAD_ONCE_4: &str = "static __device__ __forceinline__ uint4 load_once_4(const unsigned int* from) {
#if __CUDA_ARCH__ >= 800
  unsigned long long once;
  uint4 words;
  asm(\"createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\" : \"=l\"(once));
  asm volatile(\"ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;\"
    : \"=r\"(words.x), \"=r\"(words.y), \"=r\"(words.z), \"=r\"(words.w) : \"l\"(__cvta_generic_to_global(from)), \"l\"(once));
  return words;
#else
  return *(const uint4*)from;
#endif
}
";

/// Keeps loads before this point. The assembler would otherwise use each value as soon as it can, with few registers and few loads in
/// flight. It moves no load over this statement, and removes it.
const HOLD_LOADS: &str = "static __device__ __forceinline__ void hold_loads() {
  asm volatile(\"bar.warp.sync 0xffffffff;\" ::: \"memory\");
}
";

/// Brings a line of memory to the L2 cache.
const FETCH: &str = "static __device__ __forceinline__ void fetch(const unsigned int* from) {
  asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"(from));
}
";

/// Multiplies 16 rows of 32 signed bytes by 8 columns, on tensor cores. Sums are added to the bits of [`RAISED`], which makes them floats
/// without a conversion, because they are less than 2^22.
const MULTIPLY_MATRICES: &str = "static __device__ __forceinline__ void multiply_matrices(float& c0, float& c1, float& c2, float& c3,
  unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int b0, unsigned int b1) {
  int d0, d1, d2, d3;
  asm(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};\"
    : \"=r\"(d0), \"=r\"(d1), \"=r\"(d2), \"=r\"(d3)
    : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1), \"r\"(0x4b400000));
  c0 = __int_as_float(d0);
  c1 = __int_as_float(d1);
  c2 = __int_as_float(d2);
  c3 = __int_as_float(d3);
}
";

/// Multiplies 16 rows of 16 signed bytes by 8 columns, as [`MULTIPLY_MATRICES`] does.
const MULTIPLY_SHORT_MATRICES: &str = "static __device__ __forceinline__ void multiply_short_matrices(float& c0, float& c1, float& c2, float& c3,
  unsigned int a0, unsigned int a1, unsigned int b0) {
  int d0, d1, d2, d3;
  asm(\"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};\"
    : \"=r\"(d0), \"=r\"(d1), \"=r\"(d2), \"=r\"(d3) : \"r\"(a0), \"r\"(a1), \"r\"(b0), \"r\"(0x4b400000));
  c0 = __int_as_float(d0);
  c1 = __int_as_float(d1);
  c2 = __int_as_float(d2);
  c3 = __int_as_float(d3);
}
";

/// Copies 16 bytes from memory to workgroup memory, without registers on GPUs that can.
const COPY_4: &str =
    "static __device__ __forceinline__ void copy_4(unsigned int* to, const unsigned int* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\"
    :: \"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(__cvta_generic_to_global(from)) : \"memory\");
#else
  *(uint4*)to = *(const uint4*)from;
#endif
}
";
const END_COPIES: &str = "static __device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile(\"cp.async.commit_group;\" ::: \"memory\");
#endif
}
";
const WAIT_COPIES: &str = "static __device__ __forceinline__ void wait_copies_GROUPS() {
#if __CUDA_ARCH__ >= 800
  asm volatile(\"cp.async.wait_group GROUPS;\" ::: \"memory\");
#endif
}
";

/// Multiplies 16 rows of 16 halves by 8 columns, on tensor cores. Turing's are 8 deep.
const MULTIPLY_HALVES: &str = "static __device__ __forceinline__ void multiply_halves(float& c0, float& c1, float& c2, float& c3,
  unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int b0, unsigned int b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"
    : \"+f\"(c0), \"+f\"(c1), \"+f\"(c2), \"+f\"(c3)
    : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));
#else
  asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"
    : \"+f\"(c0), \"+f\"(c1), \"+f\"(c2), \"+f\"(c3) : \"r\"(a0), \"r\"(a1), \"r\"(b0));
  asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"
    : \"+f\"(c0), \"+f\"(c1), \"+f\"(c2), \"+f\"(c3) : \"r\"(a2), \"r\"(a3), \"r\"(b1));
#endif
}
";

/// Loads four matrices of 8 rows of 8 halves from workgroup memory.
const LOAD_MATRICES: &str = "static __device__ __forceinline__ void load_matrices(unsigned int& a, unsigned int& b,
  unsigned int& c, unsigned int& d, const unsigned int* from) {
  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"
    : \"=r\"(a), \"=r\"(b), \"=r\"(c), \"=r\"(d) : \"r\"((unsigned int)__cvta_generic_to_shared(from)) : \"memory\");
}
";
const LOAD_TURNED: &str = "static __device__ __forceinline__ void load_turned(unsigned int& a, unsigned int& b,
  unsigned int& c, unsigned int& d, const unsigned int* from) {
  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\"
    : \"=r\"(a), \"=r\"(b), \"=r\"(c), \"=r\"(d) : \"r\"((unsigned int)__cvta_generic_to_shared(from)) : \"memory\");
}
";
const STORE_TWO: &str = "static __device__ __forceinline__ void store_two(unsigned int* to,
  unsigned int a, unsigned int b) {
  asm volatile(\"st.global.v2.u32 [%0], {%1, %2};\"
    :: \"l\"(__cvta_generic_to_global(to)), \"r\"(a), \"r\"(b) : \"memory\");
}
";

const STORE_FOUR: &str = "static __device__ __forceinline__ void store_four(unsigned int* to,
  unsigned int a, unsigned int b, unsigned int c, unsigned int d) {
  asm volatile(\"st.shared.v4.u32 [%0], {%1, %2, %3, %4};\"
    :: \"r\"((unsigned int)__cvta_generic_to_shared(to)), \"r\"(a), \"r\"(b), \"r\"(c), \"r\"(d) : \"memory\");
}
";

/// Counts workgroups as they arrive. The last one sees the stores of all of them: the barriers make the stores of all lanes visible to the
/// lane that counts, and the other workgroups' stores visible to all lanes.
const COUNT_ARRIVAL: &str =
    "static __device__ __forceinline__ unsigned int count_arrival(unsigned int* arrived) {
  unsigned int before;
  asm volatile(\"atom.add.acq_rel.gpu.u32 %0, [%1], 1;\" : \"=r\"(before) : \"l\"(arrived) : \"memory\");
  return before;
}
";
const IS_LAST: &str =
    "static __device__ __forceinline__ bool is_last(unsigned int* arrived, unsigned int count) {
  __shared__ unsigned int before;
  __syncthreads();
  if (threadIdx.x == 0u) {
    before = count_arrival(arrived);
    if (before == count - 1u) {
      *arrived = 0u;
    }
  }
  __syncthreads();
  return before == count - 1u;
}
";

/// Signals from one workgroup to another. As with arrivals, barriers make stores visible between the signalling lane and the others.
const SET_SIGNAL: &str = "static __device__ __forceinline__ void set_signal(unsigned int* signal) {
  asm volatile(\"st.release.gpu.u32 [%0], 1;\" :: \"l\"(signal) : \"memory\");
}
";
const SEND_SIGNAL: &str = "static __device__ __forceinline__ void send_signal(unsigned int* signal) {
  __syncthreads();
  if (threadIdx.x == 0u) {
    set_signal(signal);
  }
}
";
const HAS_SIGNAL: &str = "static __device__ __forceinline__ bool has_signal(unsigned int* signal) {
  unsigned int sent;
  asm volatile(\"ld.acquire.gpu.u32 %0, [%1];\" : \"=r\"(sent) : \"l\"(signal) : \"memory\");
  return sent != 0u;
}
";
const WAIT_FOR_SIGNAL: &str = "static __device__ __forceinline__ void wait_for_signal(unsigned int* signal) {
  if (threadIdx.x == 0u) {
    while (!has_signal(signal)) {
      __nanosleep(100u);
    }
    *signal = 0u;
  }
  __syncthreads();
}
";

/// All helper functions, in the order in which texts define them.
const HELPERS: [&str; 25] = [
    LAUNCH_NEXT,
    WAIT_FOR_PREVIOUS,
    MULTIPLY_MATRICES,
    MULTIPLY_SHORT_MATRICES,
    MULTIPLY_HALVES,
    LOAD_MATRICES,
    LOAD_TURNED,
    STORE_TWO,
    STORE_FOUR,
    COPY_4,
    END_COPIES,
    LOAD_EARLY,
    LOAD_EARLY_4,
    LOAD_ONCE_4,
    HOLD_LOADS,
    FETCH,
    COUNT_ARRIVAL,
    IS_LAST,
    SET_SIGNAL,
    SEND_SIGNAL,
    HAS_SIGNAL,
    WAIT_FOR_SIGNAL,
    HALF_TO_FLOAT,
    PACK_HALVES,
    QUOTIENT,
];

/// The helper functions that a statement calls, without those of its expressions.
fn helpers_of(stmt: &Stmt) -> &'static [&'static str] {
    match stmt {
        Stmt::LaunchNext => &[LAUNCH_NEXT],
        Stmt::Wait => &[WAIT_FOR_PREVIOUS],
        Stmt::Matrix { right, .. } if right.len() > 1 => &[MULTIPLY_MATRICES],
        Stmt::Matrix { .. } => &[MULTIPLY_SHORT_MATRICES],
        Stmt::MatrixHalves { .. } | Stmt::Cooperative(Cooperative::Multiply { .. }) => &[MULTIPLY_HALVES],
        Stmt::LoadMatrices { turned: false, .. } => &[LOAD_MATRICES],
        Stmt::LoadMatrices { turned: true, .. }
        | Stmt::Cooperative(Cooperative::Load { operand: Operand::ColumnsBeside, .. }) => &[LOAD_TURNED],
        Stmt::Cooperative(Cooperative::Load { operand: Operand::Rows | Operand::Columns, .. }) => {
            &[LOAD_MATRICES]
        }
        Stmt::Cooperative(Cooperative::MultiplyBytes { .. }) => &[MULTIPLY_MATRICES],
        Stmt::StoreTwo(..) => &[STORE_TWO],
        Stmt::StoreFour(..) | Stmt::Cooperative(Cooperative::StoreHalves { .. }) => &[STORE_FOUR],
        Stmt::Copy { .. } => &[COPY_4],
        Stmt::EndCopies => &[END_COPIES],
        Stmt::HoldLoads => &[HOLD_LOADS],
        Stmt::Fetch(..) => &[FETCH],
        Stmt::Arrive { .. } => &[COUNT_ARRIVAL, IS_LAST],
        Stmt::Signal { .. } => &[SET_SIGNAL, SEND_SIGNAL],
        Stmt::Await { .. } => &[HAS_SIGNAL, WAIT_FOR_SIGNAL],
        _ => &[],
    }
}

/// The helper function of an expression, without those of its operands.
fn helper_in(e: &Expr) -> Option<&'static str> {
    match e {
        Expr::Call(Fun::Half, _) => Some(HALF_TO_FLOAT),
        Expr::Call(Fun::PackHalves, _) => Some(PACK_HALVES),
        Expr::Call(Fun::Quotient, _) => Some(QUOTIENT),
        Expr::Once(_) => Some(LOAD_ONCE_4),
        Expr::Early(from) if matches!(**from, Expr::Four(..)) => Some(LOAD_EARLY_4),
        Expr::Early(_) => Some(LOAD_EARLY),
        _ => None,
    }
}

impl Dialect for Cuda {
    fn globals(&self, module: &Module) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "struct Args {{ unsigned int words[{}]; }};", module.args_words);
        let _ = writeln!(out, "struct Sizes {{ unsigned int words[4]; }};");
        let (mut used, mut called) = (BTreeSet::<&str>::new(), BTreeSet::<&str>::new());
        let mut awaited = BTreeSet::new();
        let mut stmt = |stmt: &Stmt| {
            used.extend(helpers_of(stmt));
            if let Stmt::WaitCopies(groups) = stmt {
                awaited.insert(*groups);
            }
        };
        visit(&module.body, &mut stmt, &mut |e| called.extend(helper_in(e)));
        for helper in HELPERS.iter().filter(|helper| used.contains(*helper) || called.contains(*helper)) {
            let _ = write!(out, "\n{helper}");
        }
        warpgroup::helpers(&module.body).iter().for_each(|helper| {
            let _ = write!(out, "\n{helper}");
        });
        for groups in awaited {
            let _ = write!(out, "\n{}", WAIT_COPIES.replace("GROUPS", &groups.to_string()));
        }
        out
    }

    fn entry(&self, module: &Module) -> String {
        let mut params = vec!["const Args args".to_string(), "const Sizes sizes".to_string()];
        params.extend(module.slots.iter().enumerate().map(|(slot, Slot { written, content, .. })| {
            // The compiler may move loads through restricted pointers across the wait.
            let weight = *content == Content::Weight;
            let restrict = if module.dependent && !weight { "" } else { " __restrict__" };
            format!("{}unsigned int*{restrict} b{slot}", if *written { "" } else { "const " })
        }));
        // Workgroups of a multiprocessor hide each other's latencies, if they have few enough registers to run at once.
        let together = match module.together {
            0 => String::new(),
            together => format!(", {together}"),
        };
        format!(
            "extern \"C\" __global__ void __launch_bounds__({}{together}) {}(\n  {}\n)",
            module.lanes,
            self.entry_name(&module.name),
            params.join(",\n  ")
        )
    }

    /// The kernel's name with characters that C++ allows, so that profilers distinguish kernels.
    fn entry_name(&self, kernel: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        format!("weft_{}", kernel.chars().map(plain).collect::<String>())
    }

    fn barrier(&self) -> &'static str {
        "__syncthreads();"
    }

    fn launch_next(&self) -> Option<&'static str> {
        Some("launch_next();")
    }

    fn wait(&self) -> Option<&'static str> {
        Some("wait_for_previous();")
    }

    fn signal(&self, place: &str) -> Option<String> {
        Some(format!("send_signal(&{place});"))
    }

    fn wait_for_signal(&self, place: &str) -> Option<String> {
        Some(format!("wait_for_signal(&{place});"))
    }

    fn fetch(&self, place: &str) -> Option<String> {
        Some(format!("fetch(&{place});"))
    }

    fn hold_loads(&self) -> Option<&'static str> {
        Some("hold_loads();")
    }

    fn prelude(&self, module: &Module) -> Vec<String> {
        let mut lines = Vec::new();
        if 4 * module.shared_words > STATIC_SHARED_BYTES {
            lines.push(if module.uses_warpgroups() { BLOCKS_POOL } else { DYNAMIC_POOL }.into());
        } else if module.shared_words > 0 {
            lines.push(format!("__shared__ __align__(16) unsigned int pool[{}];", module.shared_words));
        }
        lines.extend(cooperative::arrays(module));
        lines.push("const unsigned int lane = threadIdx.x;".into());
        if module.uses_warpgroups() {
            lines.push(warpgroup::FIRST_UNIT.into());
        }
        if module.shuffles() && module.lanes < WARP {
            lines.push(format!("const unsigned int warp = {:#x}u;", (1u32 << module.lanes) - 1));
        } else if module.shuffles() {
            lines.push("const unsigned int warp = 0xffffffffu;".into());
        }
        lines
    }

    fn function_prefix(&self) -> &'static str {
        "static __device__ __forceinline__ "
    }

    fn group(&self, axis: usize) -> String {
        format!("blockIdx.{}", component(axis))
    }

    fn matrix(&self, into: &[String; 4], operands: &[String]) -> Vec<String> {
        let (names, all) = (into.join(", "), operands.join(", "));
        let short = if operands.len() > 3 { "" } else { "short_" };
        vec![format!("float {names};"), format!("multiply_{short}matrices({names}, {all});")]
    }

    fn end_copies(&self) -> Option<String> {
        Some("end_copies();".into())
    }

    fn once(&self) -> Option<fn(&str) -> String> {
        Some(|place| format!("load_once_4(&{place})"))
    }

    fn wait_copies(&self, groups: u32) -> Option<String> {
        Some(format!("wait_copies_{groups}();"))
    }

    fn matrix_halves(&self, operands: &[String]) -> String {
        format!("multiply_halves({});", operands.join(", "))
    }

    fn load_matrices(&self, into: &[String; 4], place: &str, turned: bool) -> Vec<String> {
        let (names, load) = (into.join(", "), if turned { "load_turned" } else { "load_matrices" });
        vec![format!("unsigned int {names};"), format!("{load}({names}, &{place});")]
    }

    fn warpgroup(&self, of: &Warpgroup, operands: &[String]) -> Option<String> {
        Some(warpgroup::text(of, operands))
    }

    fn cooperative(&self, of: &Cooperative, operands: &[String]) -> Vec<String> {
        cooperative::text(of, operands)
    }

    fn store_two(&self, place: &str, words: &[String]) -> String {
        format!("store_two(&{place}, {});", words.join(", "))
    }

    fn store_four(&self, place: &str, words: &[String]) -> String {
        format!("store_four(&{place}, {});", words.join(", "))
    }

    fn call(&self, fun: Fun, args: &[String]) -> String {
        let name = match fun {
            Fun::Float => "__uint_as_float",
            Fun::Bits => "__float_as_uint",
            // These saturate; a cast of a value that is out of range is undefined.
            Fun::IntOfFloat => "__float2int_rz",
            Fun::U32OfFloat => "__float2uint_rz",
            Fun::Dot4 => return dp4a("0", args),
            Fun::PickBytes => "__byte_perm",
            Fun::Shuffle => return format!("__shfl_xor_sync(warp, {})", args.join(", ")),
            other => return c_call(other, args),
        };
        format!("{name}({})", args.join(", "))
    }

    fn dot4_added(&self) -> Option<fn(&str, &[String]) -> String> {
        Some(dp4a)
    }
}

/// `sum` plus the dot product of two vectors of four signed bytes.
fn dp4a(sum: &str, args: &[String]) -> String {
    let signed: Vec<String> = args.iter().map(|arg| format!("(int)({arg})")).collect();
    format!("__dp4a({}, {sum})", signed.join(", "))
}
