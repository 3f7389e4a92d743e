//! The tile unit of x86-64, AMX: its registers are tiles of up to sixteen rows of 64 bytes.
//!
//! The system must be asked for its registers, once for a process. Of the eight, 0 to 3 hold sums (0 and 1 those of the slots), 4
//! and 5 rows of x, 6 and 7 the weight's. The unit computes while other instructions run, but what is stored must be done:
//! products alternate between the slots.
//!
//! The intrinsics are unstable in Rust, so the instructions are written as such. Intel, "Intel 64 and IA-32 Architectures
//! Software Developer's Manual", volume 1, chapter 18.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::isa::pairs::Numbers;
use crate::isa::tiles::{Quants, Sums, TILE, Tiles, WHOLE, Whole};

/// Whether the machine has the unit, and the system lets this process use it.
pub(super) fn is_usable() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| has_unit() && is_granted())
}

/// Whether the processor has tiles (AMX-TILE) and products of tiles of bytes (AMX-INT8).
fn has_unit() -> bool {
    const TILES: u32 = 1 << 24;
    const BYTES: u32 = 1 << 25;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & (TILES | BYTES) == TILES | BYTES
}

/// Asks Linux for the unit's registers: `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`, see "Using XSTATE features in user space
/// applications" of its documentation. What another thread was granted counts for all.
#[cfg(target_os = "linux")]
fn is_granted() -> bool {
    const ARCH_PRCTL: usize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XFEATURE_XTILEDATA: usize = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: a system call that takes two numbers, and changes nothing but what this process may use; the kernel changes `rcx` and `r11`.
    unsafe {
        asm!(
            "syscall",
            inout("rax") result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Other systems are not known to grant it in a way that was tried.
#[cfg(not(target_os = "linux"))]
fn is_granted() -> bool {
    false
}

/// The shapes of the registers, as `ldtilecfg` reads them.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// The unit, set for a number of columns, in this thread. Dropped, its registers are free: the system need no longer save them.
#[derive(Debug)]
pub(super) struct Amx {
    quads: usize,
    /// The registers belong to a thread.
    thread: PhantomData<*mut ()>,
}

impl Amx {
    /// Sets the unit for `quads` times four columns: at most 32, or 64 for whole tiles.
    ///
    /// # Safety
    /// [`is_usable`] must have returned true, and this thread must have no other `Amx`.
    pub(super) unsafe fn new(quads: usize) -> Amx {
        assert!((1..=8).contains(&quads) || quads == WHOLE, "{quads} vectors of columns");
        let mut shapes =
            Shapes { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        shapes.row_bytes[..4].fill(4 * TILE as u16);
        shapes.rows[..4].fill(TILE as u8);
        for slot in 0..2 {
            (shapes.row_bytes[4 + slot], shapes.rows[4 + slot]) = (4 * quads as u16, TILE as u8);
            (shapes.row_bytes[6 + slot], shapes.rows[6 + slot]) = (4 * TILE as u16, quads as u8);
        }
        // SAFETY: the caller's promise; palette 1 has eight registers of sixteen rows of 64 bytes, which these shapes fit.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &shapes, options(nostack, readonly, preserves_flags)) };
        Amx { quads, thread: PhantomData }
    }
}

impl Drop for Amx {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: there is an `Amx`, so the unit is this thread's.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    }
}

/// A product with the registers of a slot.
macro_rules! multiply {
    ($sums:literal, $x:literal, $w:literal, $from:expr, $tile:expr) => {
        asm!(
            concat!("tileloadd ", $x, ", [{x} + {x_apart}]"),
            concat!("tileloadd ", $w, ", [{w} + {w_apart}]"),
            concat!("tilezero ", $sums),
            concat!("tdpbssd ", $sums, ", ", $x, ", ", $w),
            x = in(reg) $from,
            x_apart = in(reg) size_of::<Quants>(),
            w = in(reg) $tile,
            w_apart = in(reg) size_of::<Numbers>(),
            options(nostack, readonly, preserves_flags),
        )
    };
}

/// Stores the sums of a slot.
macro_rules! store {
    ($sums:literal, $to:expr) => {
        asm!(
            concat!("tilestored [{to} + {apart}], ", $sums),
            to = in(reg) $to,
            apart = in(reg) 4 * TILE,
            options(nostack, preserves_flags),
        )
    };
}

/// Adds the products of whole tiles in registers to sums.
macro_rules! add {
    ($($product:literal),+) => {
        asm!($($product),+, options(nostack, nomem, preserves_flags))
    };
}

/// Loads a whole tile of lines, some lines apart.
macro_rules! load {
    ($tile:literal, $from:expr, $apart:expr) => {
        asm!(
            concat!("tileloadd ", $tile, ", [{from} + {apart}]"),
            from = in(reg) $from,
            apart = in(reg) $apart,
            options(nostack, readonly, preserves_flags),
        )
    };
}

/// Loads the tiles of a step: those of `x` into 4 and 5, those of `w` into 6 and 7.
///
/// # Safety
/// The unit is this thread's and set for [`WHOLE`], [`Whole::check`] has found enough lines, and there are more steps than `step`.
#[inline(always)]
unsafe fn load_step(of: &Whole<'_>, step: usize) {
    let (line, stride) = (size_of::<Numbers>(), of.stride * size_of::<Numbers>());
    // SAFETY: the caller's promise: sixteen rows of a line each are read of every operand.
    unsafe {
        load!("tmm4", of.x[0].as_ptr().wrapping_add(step), stride);
        load!("tmm6", of.w[0].as_ptr().wrapping_add(WHOLE * step), line);
        load!("tmm5", of.x[1].as_ptr().wrapping_add(step), stride);
        load!("tmm7", of.w[1].as_ptr().wrapping_add(WHOLE * step), line);
    }
}

impl Tiles for Amx {
    #[inline(always)]
    fn multiply<const SLOT: usize>(&mut self, x: &[Quants; TILE], from: usize, w: &[Numbers]) {
        assert!(
            self.quads <= 8 && w.len() == self.quads && from + 4 * self.quads <= 32,
            "{} vectors from {from}",
            w.len()
        );
        let (x, w) = (x.as_ptr().cast::<i8>().wrapping_add(from), w.as_ptr());
        // SAFETY: there is an `Amx`, so the unit is this thread's and has the shapes that `new` has set: sixteen rows of x are
        // read, 32 bytes apart and of as many columns as were just checked, and as many vectors of the weight as `w` has.
        unsafe {
            match SLOT {
                0 => multiply!("tmm0", "tmm4", "tmm6", x, w),
                _ => multiply!("tmm1", "tmm5", "tmm7", x, w),
            }
        }
    }

    #[inline(always)]
    fn store<const SLOT: usize>(&mut self, to: &mut Sums) {
        let to = to.0.as_mut_ptr();
        // SAFETY: as above; sixteen rows of 64 bytes are written, which is all of `to`.
        unsafe {
            match SLOT {
                0 => store!("tmm0", to),
                _ => store!("tmm1", to),
            }
        }
    }

    #[inline(always)]
    fn multiply_rows(&mut self, of: Whole<'_>, to: &mut [[Sums; 2]; 2]) {
        assert!(self.quads == WHOLE);
        of.check();
        // SAFETY: there is an `Amx`, so the unit is this thread's, and its registers have sixteen rows of 64 bytes; `check` found
        // that each x has as many lines for every step, `stride` lines apart, and each w sixteen lines.
        unsafe {
            add!("tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3");
            for step in 0..of.steps {
                load_step(&of, step);
                add!(
                    "tdpbssd tmm0, tmm4, tmm6",
                    "tdpbssd tmm2, tmm5, tmm6",
                    "tdpbssd tmm1, tmm4, tmm7",
                    "tdpbssd tmm3, tmm5, tmm7"
                );
            }
            store!("tmm0", to[0][0].0.as_mut_ptr());
            store!("tmm1", to[0][1].0.as_mut_ptr());
            store!("tmm2", to[1][0].0.as_mut_ptr());
            store!("tmm3", to[1][1].0.as_mut_ptr());
        }
    }

    #[inline(always)]
    fn multiply_parts(&mut self, of: Whole<'_>, to: &mut [Sums; 3]) {
        assert!(self.quads == WHOLE);
        of.check();
        // SAFETY: as above.
        unsafe {
            add!("tilezero tmm0", "tilezero tmm1", "tilezero tmm2");
            for step in 0..of.steps {
                load_step(&of, step);
                add!(
                    "tdpbusd tmm0, tmm4, tmm6",
                    "tdpbusd tmm1, tmm5, tmm6",
                    "tdpbusd tmm2, tmm5, tmm7",
                    "tdpbusd tmm1, tmm4, tmm7"
                );
            }
            store!("tmm0", to[0].0.as_mut_ptr());
            store!("tmm1", to[1].0.as_mut_ptr());
            store!("tmm2", to[2].0.as_mut_ptr());
        }
    }
}
