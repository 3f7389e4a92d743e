//! Unsupported kernels are refused by name, and so are illegal schedules. The order of sums depends on nothing else.

use crate::valid::{adapters, validate};
use weft_kern::{Kernel, Sizes, parse_plan};
use weft_render::{Gpu, Language, Schedule, Slots, Target, Why, render, render_with};

/// A kernel of two parameters, from the lines of its part.
fn kernel(params: [&str; 2], lines: &[&str]) -> Kernel {
    let [read, write] = params;
    let text = format!(
        "plan p T=4 R=1 S=64 P=2 arena=0 {{
b0 = input x : {read}[T, 64]
b1 = output y : {write}[T, 64]
kernel tested {{
  p0 read {read}
  p1 write {write}
  {}
}}
call tested b0 b1
}}
",
        lines.join("\n  ")
    );
    parse_plan(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).kernels.remove(0)
}

fn why(kernel: &Kernel) -> Why {
    let max = Sizes::of(4).rows(1).slots(64).pages(2);
    render(kernel, &Slots::without_weights([0, 1]), &max, &adapters()[0]).unwrap_err().why
}

#[test]
fn halves_that_are_not_pairs() {
    for (view, len) in
        [("p1[1; 64; 1]", 32), ("p1[0; 63; 1]", 32), ("p1[0; 64; 2]", 32), ("p1[0; 64; 1]", 31)]
    {
        let lines = [
            format!("rows [T] cols {len}"),
            "map".into(),
            format!("v0 = load {len} p0[0; 64; 1]"),
            format!("v1 = store v0 {view}"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let why = why(&kernel(["f32", "f16"], &lines));
        assert!(matches!(&why, Why::Form(w) if w.contains("adjacent pairs")), "{why}");
    }
}

#[test]
fn constants_that_are_not_finite() {
    let lines = [
        "rows [T] cols 64",
        "map",
        "v0 = load 64 p0[0; 64; 1]",
        "v1 = const inf",
        "v2 = add v0 v1",
        "v3 = store v2 p1[0; 64; 1]",
    ];
    assert_eq!(why(&kernel(["f32", "f32"], &lines)), Why::Form("has the constant inf (v1)".into()));
}

#[test]
fn schedules_are_checked() {
    let lines = ["rows [T] cols 64", "map", "v0 = load 64 p0[0; 64; 1]", "v1 = store v0 p1[0; 64; 1]"];
    let elementwise = kernel(["f32", "f32"], &lines);
    let lines = [
        "rows [T] cols 64",
        "reduce",
        "v0 = load 64 p0[0; 64; 1]",
        "v1 = reduce_max v0",
        "v2 = sub v0 v1",
        "v3 = store v2 p1[0; 64; 1]",
    ];
    let across = kernel(["f32", "f32"], &lines);
    let max = Sizes::of(4).rows(1).slots(64).pages(2);
    let [large, ..] = adapters();
    let with = |kernel: &Kernel, text: &str| {
        let schedule: Schedule = text.parse().unwrap();
        render_with(kernel, &Slots::without_weights([0, 1]), &schedule, &max, &large)
            .map(|shaders| shaders.iter().for_each(|shader| validate(shader, &large)))
    };
    for fine in ["lanes 32; plain rows 1 width 16", "lanes 1; plain rows 3 width 64"] {
        with(&elementwise, fine).unwrap();
    }
    with(&across, "lanes 64; plain rows 4 width 64").unwrap();
    for wrong in [
        "lanes 48; plain rows 1 width 64",
        "lanes 2048; plain rows 1 width 64",
        "lanes 64",
        "lanes 64; dot.lanes rows 1 width 64 reduce 1 upcast 1",
        "lanes 64; plain rows 1 width 32",
        "lanes 64; attend.lanes rows 1 reduce 1 upcast 1 chunk 64",
    ] {
        let refused = with(&across, wrong).unwrap_err();
        assert!(matches!(refused.why, Why::Schedule(_)), "{wrong}: {refused}");
    }
}

#[test]
fn cuda_with_subgroups_that_are_not_warps() {
    let lines = ["rows [T] cols 64", "map", "v0 = load 64 p0[0; 64; 1]", "v1 = store v0 p1[0; 64; 1]"];
    let kernel = kernel(["f32", "f32"], &lines);
    let max = Sizes::of(4).rows(1).slots(64).pages(2);
    for (subgroup, fine) in [(None, true), (Some(32), true), (Some(16), false), (Some(64), false)] {
        let gpu = Gpu { subgroup, ..Gpu::cuda() };
        let rendered =
            render(&kernel, &Slots::without_weights([0, 1]), &max, &Target { language: Language::Cuda, gpu });
        match subgroup.filter(|_| !fine) {
            Some(found) => assert_eq!(rendered.unwrap_err().why, Why::Subgroup { found }),
            None => assert!(rendered.is_ok(), "{subgroup:?}"),
        }
    }
}

/// Plans for other step sizes may have a product's epilogue in another kernel, which must not change the order of its sum.
#[test]
fn what_is_done_with_a_product_does_not_decide_its_order() {
    let text = |body: &str| {
        format!(
            "plan p T=1 R=1 S=64 P=2 arena=0 {{
b0 = input x : f32[T, 2048]
b1 = weight w : f32[64, 2048]
b2 = output y : f32[T, 64]
kernel tested {{
  p0 read f32
  p1 read f32
  p2 write f32
  rows [T] cols 64
  dot x=p0[0; 2048; 1] w=p1 count=1 n=64 k=2048 first=0 stride=64 pick=only transposed=false
  v0 = acc 0
  {body}
}}
call tested b0 b1 b2
}}
"
        )
    };
    let max = Sizes::of(1).rows(1).slots(64).pages(2);
    let reduces =
        ["v1 = store v0 p2[0; 64; 1]", "v1 = reduce_max v0\n  v2 = sub v0 v1\n  v3 = store v2 p2[0; 64; 1]"];
    let reduces = reduces.map(|body| {
        let text = text(body);
        let kernel = parse_plan(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).kernels.remove(0);
        let shaders = render(&kernel, &Slots::without_weights([0, 1, 2]), &max, &adapters()[0]).unwrap();
        let head = shaders[0].source.lines().next().unwrap().to_string();
        head.split_whitespace().skip_while(|word| *word != "reduce").nth(1).unwrap().to_string()
    });
    assert_eq!(reduces[0], reduces[1]);
}
