//! Tuned schedules print and parse back. From any file, only legal ones that keep the order of sums are used.

use weft_kern::parse_plan;

use super::*;
use crate::forms::{DotLanes, Form};
use crate::schedule::heuristic::choose;
use crate::schedule::order::orders;
use crate::search::departures::{depart, departures};
use crate::search::neighbours::neighbours;
use crate::split::Split;

/// Two products of the same shape, and one whose rows are normed by the workgroup.
const PLAN: &str = "plan p T=8 R=1 S=0 P=0 arena=0 {
b0 = input x : q8[T, 256]
b1 = weight w : q4_0[512, 256]
b2 = output y : f32[T, 512]
b3 = output z : f32[T, 512]
kernel twice {
  p0 read q8
  p1 read q4_0
  p2 write f32
  p3 write f32
  rows [T] cols 512
  dot x=p0[0; 256; 1] w=p1 count=1 n=512 k=256 first=0 stride=512 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 512; 1]
  rows [T] cols 512
  dot x=p0[0; 256; 1] w=p1 count=1 n=512 k=256 first=0 stride=512 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p3[0; 512; 1]
}
call twice b0 b1 b2 b3
}
";

fn gpu() -> Gpu {
    Gpu { invocations: 1024, shared_bytes: 32768, f16: true, ..Gpu::webgpu() }
}

fn kernel() -> (Kernel, Sizes) {
    let plan = parse_plan(PLAN).unwrap_or_else(|e| panic!("{e}"));
    (plan.kernels[0].clone(), plan.max)
}

const SUMS: &str = "q4_0[512, 256]";

#[test]
fn tuned_schedules_print_and_parse_back() {
    let (kernel, max) = kernel();
    let mut kept = TunedSchedules::default();
    let schedule =
        "lanes 128; dot.lanes rows 2 width 64 reduce 4 upcast 1; dot.lanes rows 1 width 32 reduce 4 upcast 1";
    let own = choose(&kernel, &max, &gpu(), &kept);
    kept.insert(&kernel, &max, own.clone(), &own, &gpu());
    assert!(kept.reduces.is_empty(), "an order that is the heuristic's own is not kept");
    kept.insert(&kernel, &max, schedule.parse().unwrap(), &own, &gpu());
    let text = kept.to_string();
    assert!(text.starts_with(&format!("sums {SUMS}: reduce 4\nkernel ")), "{text}");
    assert!(text.ends_with(&format!(" in steps of 8: {schedule}\n")), "{text}");
    assert_eq!(TunedSchedules::parse(&text), kept);
    let damaged = format!("sums\nsums : \n{}kernel x in steps of 8: {schedule}\n\u{1b}[2J\n", text);
    assert_eq!(TunedSchedules::parse(&damaged), kept);
    // A kernel's name is not part of its key; its work and the step size are.
    let named = Kernel { name: "other".into(), ..kernel.clone() };
    assert_eq!(Key::new(&named, &max), Key::new(&kernel, &max));
    assert_ne!(Key::new(&kernel, &Sizes { tokens: 1, ..max }), Key::new(&kernel, &max));
    let mut other = kernel.clone();
    other.parts.pop();
    assert_ne!(Key::new(&other, &max), Key::new(&kernel, &max));
}

/// The numbers of products by lanes.
fn of(form: &Form) -> DotLanes {
    let Form::DotLanes(of) = form else { panic!("{form}") };
    *of
}

/// The schedule for the kernel if the file has these lines.
fn chosen(lines: &str) -> (Schedule, bool) {
    let ((kernel, max), gpu) = (kernel(), gpu());
    let lines = lines.replace("KERNEL", &format!("kernel {:016x}", Key::new(&kernel, &max).kernel));
    let kept = TunedSchedules::parse(&lines);
    let own = choose(&kernel, &max, &gpu, &kept);
    let whole = kept.schedule(&kernel, &max, &own, &gpu);
    (whole.clone().unwrap_or(own), whole.is_some())
}

#[test]
fn the_order_of_a_sum_holds_for_all_kernels_with_such_sums() {
    let (own, _) = chosen("");
    let reduces = |schedule: &Schedule| schedule.parts.iter().map(|p| of(p).reduce).collect::<Vec<_>>();
    assert_ne!(reduces(&own), [2, 2]);
    assert_eq!(reduces(&chosen("sums q4_0[512, 256]: reduce 2\n").0), [2, 2]);
    // Invalid numbers of lanes are ignored, and so are those above the bound for all step sizes.
    for odd in ["0", "3", "512", "4294967295", "-1", "x", ""] {
        assert_eq!(chosen(&format!("sums q4_0[512, 256]: reduce {odd}\n")).0, own, "{odd}");
    }
    assert_eq!(chosen("sums q4_0[512, 257]: reduce 2\n").0, own, "other sums");
}

/// Products of long sums have more lanes in steps of one token than in others.
fn long() -> (Kernel, Sizes) {
    let text = PLAN.replace("256", "8192").replace("512", "2048");
    let plan = parse_plan(&text).unwrap_or_else(|e| panic!("{e}"));
    (plan.kernels[0].clone(), plan.max)
}

#[test]
fn a_tuned_order_holds_for_all_step_sizes_or_for_none() {
    let (kernel, max) = long();
    for (invocations, most) in [(1024, 256), (512, 256), (256, 256), (128, 128), (100, 64)] {
        let gpu = Gpu { invocations, ..gpu() };
        let chosen = |tokens, kept: &TunedSchedules| choose(&kernel, &Sizes { tokens, ..max }, &gpu, kept);
        let own = chosen(1, &TunedSchedules::default());
        assert_eq!(own.lanes, if invocations >= 512 { 512 } else { most });
        for reduce in (0..=11).map(|log| 1 << log) {
            let kept = TunedSchedules::parse(&format!("sums q4_0[2048, 8192]: reduce {reduce}\n"));
            let expected = if reduce <= most { reduce } else { of(&own.parts[0]).reduce };
            for tokens in [1, 16, 300] {
                let reduces: Vec<u32> = chosen(tokens, &kept).parts.iter().map(|p| of(p).reduce).collect();
                assert_eq!(reduces, [expected; 2], "{reduce} of {invocations}, {tokens} tokens");
            }
        }
    }
}

#[test]
fn an_order_that_only_some_step_sizes_can_have_is_neither_tried_nor_kept() {
    let ((kernel, max), gpu) = (long(), gpu());
    let max = Sizes { tokens: 1, ..max };
    let own = choose(&kernel, &max, &gpu, &TunedSchedules::default());
    let with = |reduce| -> Schedule {
        let split = format!("dot.lanes rows 1 width 32 reduce {reduce} upcast 1");
        format!("lanes 512; {split}; {split}").parse().unwrap()
    };
    assert!(is_possible(&kernel, &with(512), &gpu), "a workgroup of one token has the lanes");
    let tried = neighbours(&kernel, &max, &with(256), &gpu);
    assert!(
        !tried.is_empty() && tried.iter().flat_map(|s| &s.parts).all(|p| of(p).reduce <= 256),
        "{tried:?}"
    );
    let mut kept = TunedSchedules::default();
    kept.insert(&kernel, &max, with(512), &own, &gpu);
    assert_eq!(kept, TunedSchedules::default());
    kept.insert(&kernel, &max, with(256), &own, &gpu);
    assert!(kept.to_string().starts_with("sums q4_0[2048, 8192]: reduce 256\n"), "{kept}");
}

#[test]
fn a_whole_schedule_is_used_if_it_is_legal_and_keeps_the_order_of_sums() {
    let two = |one: &str, other: &str| {
        format!("sums {SUMS}: reduce 8\nKERNEL in steps of 8: lanes 128; {one}; {other}\n")
    };
    let fine = "dot.lanes rows 4 width 32 reduce 8 upcast 1";
    assert_eq!(chosen(&two(fine, fine)).0.to_string(), format!("lanes 128; {fine}; {fine}"));
    for wrong in [
        "dot.lanes rows 4 width 32 reduce 4 upcast 1",
        "dot.lanes rows 64 width 32 reduce 8 upcast 2",
        "dot.lanes rows 4 width 24 reduce 8 upcast 1",
        "dot.lanes rows 4294967295 width 32 reduce 8 upcast 4294967295",
    ] {
        let (schedule, whole) = chosen(&two(fine, wrong));
        assert!(!whole && schedule.parts.iter().all(|part| of(part).reduce == 8), "{wrong}: {schedule}");
    }
    for wrong in ["lanes 128; dot.lanes rows 4 width 32 reduce 8 upcast 1", "lanes 2048", "lanes 96"] {
        let (_, whole) = chosen(&format!("sums {SUMS}: reduce 8\nKERNEL in steps of 8: {wrong}\n"));
        assert!(!whole, "{wrong}");
    }
    let other = format!("sums {SUMS}: reduce 8\nKERNEL in steps of 1: lanes 128; {fine}; {fine}\n");
    assert!(!chosen(&other).1, "another step size");
}

#[test]
fn schedules_of_older_builds_are_read() {
    let fine = "rows 4 width 32 reduce 8 upcast 1";
    let lines = format!("sums {SUMS}: reduce 8\nKERNEL in steps of 8: lanes 128; {fine}; {fine}\n");
    let (schedule, whole) = chosen(&lines);
    assert_eq!(schedule.to_string(), format!("lanes 128; dot.lanes {fine}; dot.lanes {fine}"));
    assert!(whole);
    let kept = lines.replace("KERNEL", "kernel 0000000000000001");
    assert_eq!(TunedSchedules::parse(&kept).to_string(), kept, "those of other kernels are kept as they are");
    let old = "lanes 256; rows 16 apart width 128 reduce 1 upcast 16 chunk 1 spread matrix picked 4";
    let draft = Draft::of_old_text(old).unwrap();
    let Split { along_first, chunk, spread, matrix, panels, picked, .. } = draft.parts[0];
    assert_eq!((along_first, chunk, spread, matrix, panels, picked), (true, 1, true, true, false, 4));
    for wrong in ["lanes 1; rows 1", "lanes 1; rows 1 width 1 reduce 1 upcast 1 picked 4 matrix", "rows 1"] {
        assert!(Draft::of_old_text(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn neighbours_can_be_rendered_and_change_all_equal_sums() {
    let ((kernel, max), gpu) = (kernel(), gpu());
    let own = choose(&kernel, &max, &gpu, &TunedSchedules::default());
    let found = neighbours(&kernel, &max, &own, &gpu);
    assert!(found.len() > 8, "{found:?}");
    for schedule in &found {
        assert!(*schedule != own && is_possible(&kernel, schedule, &gpu), "{schedule}");
        assert_eq!(of(&schedule.parts[0]).reduce, of(&schedule.parts[1]).reduce, "{schedule}");
        let back = neighbours(&kernel, &max, schedule, &gpu);
        assert!(back.contains(&own) || schedule.parts.iter().any(|p| of(p).rows > 8), "{schedule}");
    }
    let fields: [fn(&Schedule) -> u32; 4] =
        [|s| s.lanes, |s| of(&s.parts[0]).rows, |s| of(&s.parts[1]).width, |s| of(&s.parts[0]).reduce];
    for field in fields {
        assert!(found.iter().any(|schedule| field(schedule) != field(&own)));
    }
    assert!(found.iter().any(|s| same_bits(&kernel, &own, s)));
    assert!(found.iter().any(|s| orders(&kernel, s) != orders(&kernel, &own)));
}

#[test]
fn departures_change_what_they_say_where_they_can() {
    let ((kernel, max), gpu) = (kernel(), gpu());
    let own = choose(&kernel, &max, &gpu, &TunedSchedules::default());
    let departed = |name: &str| {
        let departure = departures().find(|departure| departure.name == name).unwrap();
        depart(departure, &kernel, &max, &own, &gpu)
    };
    let each = |schedule: &Schedule, field: fn(DotLanes) -> u32| {
        schedule.parts.iter().map(|p| field(of(p))).collect::<Vec<_>>()
    };
    assert_eq!(each(&departed("schedule.reduce=1"), |p| p.reduce), [1, 1]);
    assert_eq!(each(&departed("schedule.rows=1"), |p| p.rows), [1, 1]);
    assert_eq!(departed("schedule.lanes=128").lanes, 128);
    assert_eq!(each(&departed("schedule.upcast=2"), |p| p.upcast), [2, 2]);
    let small = Gpu { invocations: 256, ..gpu.clone() };
    let departure = departures().find(|departure| departure.name == "schedule.lanes=512").unwrap();
    assert_eq!(depart(departure, &kernel, &max, &own, &small), own, "there are not so many");
    for departure in departures() {
        assert!(is_possible(&kernel, &depart(departure, &kernel, &max, &own, &gpu), &gpu));
    }
}
