//! Tests of users' texts: the examples of `docs/kernels.md` compile for every GPU on which they could run.

use weft_kern::{GivenText, Kernel, Sizes, parse_replacement};
use weft_nvrtc::{Nvrtc, with_lines};
use weft_render::{
    CUDA_OPTIONS, Content, Gpu, Language, Refused, Shader, Slots, Target, as_given, given_slots, render,
};

use crate::graphs::root;
use crate::valid::{adapters, validate};

/// A file of `docs/kernels`.
fn example(name: &str) -> Kernel {
    let text = std::fs::read_to_string(root("docs/kernels").join(name)).unwrap();
    parse_replacement(&text).unwrap().of_file(name).by
}

/// The slots of the examples, most of them in the arena.
fn slots() -> Slots {
    let buffers = [0, 0, 0, 1, 0, 2, 0, 3];
    Slots::new(
        buffers
            .map(|buffer| (buffer, if [1, 2].contains(&buffer) { Content::Weight } else { Content::Open })),
    )
    .0
}

fn sizes(tokens: usize) -> Sizes {
    Sizes::of(tokens).rows(1)
}

fn cuda(capability: (i32, i32)) -> Target {
    Target { language: Language::Cuda, gpu: Gpu::of_cuda(capability, 100) }
}

#[test]
fn the_example_in_wgsl_is_valid_on_all_adapters() {
    let kernel = example("down_in_wgsl.kernel");
    for target in adapters() {
        let shaders = render(&kernel, &slots(), &sizes(512), &target).unwrap();
        let [shader] = &shaders[..] else { panic!("{} shaders", shaders.len()) };
        assert_eq!(shader.source, kernel.texts[0].source);
        assert_eq!(shader.slots, [false, false, false, true]);
        assert_eq!(shader.grid.groups(&sizes(7)), [28, 1, 1]);
        assert_eq!(shader.given.as_ref().unwrap().file, "down_in_wgsl.kernel");
        validate(shader, &target);
    }
    // For sizes without a text, the kernel is rendered.
    let shaders = render(&kernel, &slots(), &sizes(512), &cuda((9, 0))).unwrap();
    assert!(shaders.iter().all(|shader| shader.given.is_none() && shader.source.contains("__global__")));
}

#[test]
fn the_example_in_cuda_compiles_for_all_cards() {
    let kernel = example("down_in_cuda.kernel");
    let shader = |kernel: &Kernel, capability| {
        render(kernel, &slots(), &sizes(512), &cuda(capability)).unwrap().remove(0)
    };
    let Some(nvrtc) = Nvrtc::for_test("a given CUDA text") else { return };
    for capability in [(7, 5), (8, 0), (9, 0)] {
        let Shader { source, dependent, .. } = shader(&kernel, capability);
        assert!(!dependent, "nothing proves that it waits");
        let architecture = format!("--gpu-architecture=sm_{}{}", capability.0, capability.1);
        let options: Vec<&str> = CUDA_OPTIONS.into_iter().chain([architecture.as_str()]).collect();
        nvrtc.compile(&source, &options).unwrap();
    }

    // A mistake is reported with its line of the file; wrong parameters are reported with the last line of the text.
    let text = std::fs::read_to_string(root("docs/kernels/down_in_cuda.kernel")).unwrap();
    let line_of = |what: &str| 1 + text.lines().position(|line| line.contains(what)).unwrap();
    let (column, end) = (line_of("const unsigned int column ="), text.lines().count());
    let of_entry = "static assertion failed with \"the type of down_by_thread has to be void (*)(Args, Sizes, const unsigned int*, \
                    const unsigned int*, const unsigned int*, unsigned int*)\"";
    for (from, to, line, said) in [
        ("column = (number", "column = (numbers", column, "identifier \"numbers\" is undefined"),
        (
            "  unsigned int* __restrict__ b3",
            "  unsigned int* __restrict__ b3, unsigned int more",
            end,
            of_entry,
        ),
        ("  const unsigned int* __restrict__ b0,", "  unsigned int* __restrict__ b0,", end, of_entry),
        (
            "__launch_bounds__(64) down_by_thread",
            "__launch_bounds__(64) other",
            end,
            "identifier \"down_by_thread\" is undefined",
        ),
        (
            "int words[16]",
            "int words[64]",
            end,
            "static assertion failed with \"Args has to be 64 bytes, and Sizes 16\"",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let wrong = parse_replacement(&text.replacen(from, to, 1)).unwrap().of_file("wrong.kernel").by;
        let shader = shader(&wrong, (9, 0));
        let log = nvrtc.compile(&shader.source, &CUDA_OPTIONS).unwrap_err();
        let log = with_lines(&log, |line| shader.given.as_ref().unwrap().of_line(line));
        assert!(log.contains(&format!("line {line} of wrong.kernel: error: {said}")), "{log}");
    }
}

/// A rendered text that a user supplies is launched like the original.
#[test]
fn a_rendered_text_can_be_given() {
    let mut kernel = example("down_in_wgsl.kernel");
    kernel.texts.clear();
    for (target, tokens) in adapters()
        .into_iter()
        .chain([cuda((9, 0)), cuda((7, 5))])
        .flat_map(|target| [(target.clone(), 1), (target, 512)])
    {
        let max = sizes(tokens);
        let rendered = render(&kernel, &slots(), &max, &target).unwrap();
        // A text with intrinsics that WGSL cannot express cannot be supplied.
        if let Some(shader) = rendered.iter().find(|shader| shader.needs_spirv) {
            assert_eq!(as_given(&kernel, &slots(), &max, target.language, shader), None);
            continue;
        }
        let given = rendered.iter().map(|shader| as_given(&kernel, &slots(), &max, target.language, shader));
        let printed: String = given.map(|text| text.unwrap().to_string()).collect();
        let text = format!("replace\n{kernel}with\n{kernel}{printed}");
        let own = parse_replacement(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).by;
        assert_eq!(own.texts.len(), rendered.len());
        let again = render(&own, &slots(), &max, &target).unwrap();
        for (rendered, again) in rendered.iter().zip(&again) {
            let of = |shader: &Shader| {
                let Shader { source, entry, slots, scratch_bytes, own_architecture, .. } = shader.clone();
                // The check of the parameters of CUDA texts follows.
                let source = source.split("#ifdef __CUDACC_RTC__").next().map(str::to_string);
                (source, entry, slots, scratch_bytes, own_architecture, shader.dynamic_bytes())
            };
            assert_eq!(of(rendered), of(again));
            assert!(target.language == Language::Wgsl || rendered.lanes == again.lanes);
            for tokens in 1..=tokens {
                assert_eq!(rendered.grid.groups(&sizes(tokens)), again.grid.groups(&sizes(tokens)));
            }
        }
    }
}

#[test]
fn the_text_for_the_fewest_tokens_runs() {
    let mut kernel = example("down_in_wgsl.kernel");
    let text = |tokens, source: &str| {
        let mut text = GivenText::clone(&example("down_in_wgsl.kernel").texts[0]);
        (text.head.tokens, text.source) = (tokens, source.into());
        text.into()
    };
    kernel.texts = vec![text(64, "many"), text(1, "one"), text(64, "and more")];
    let target = &adapters()[0];
    let sources = |tokens| -> Vec<String> {
        let shaders = render(&kernel, &slots(), &sizes(tokens), target).unwrap();
        shaders.into_iter().filter(|shader| shader.given.is_some()).map(|shader| shader.source).collect()
    };
    assert_eq!(
        (sources(1), sources(2), sources(64)),
        (vec!["one".into()], vec!["many".into(), "and more".into()], sources(2))
    );
    assert!(sources(65).is_empty());
    assert!(given_slots(&kernel, Language::Wgsl, &sizes(1)).is_some());
    assert!(given_slots(&kernel, Language::Cuda, &sizes(1)).is_none());
}

#[test]
fn heads_that_ask_for_too_much_are_refused() {
    let refused = |change: &dyn Fn(&mut GivenText), target: &Target| {
        let name =
            if target.language == Language::Cuda { "down_in_cuda.kernel" } else { "down_in_wgsl.kernel" };
        let mut kernel = example(name);
        let mut text = GivenText::clone(&kernel.texts[0]);
        change(&mut text);
        kernel.texts = vec![text.into()];
        let Refused { why, .. } = render(&kernel, &slots(), &sizes(512), target).unwrap_err();
        why.to_string()
    };
    let (card, least) = (cuda((9, 0)), &adapters()[2]);
    for (found, said) in [
        (
            refused(&|text| text.head.lanes = 1025, &card),
            "its text in CUDA C++, line 43 of down_in_cuda.kernel: lanes=1025, and the GPU has at most 1024",
        ),
        (refused(&|text| text.head.shared_bytes = 300 << 10, &card), "has 232448 bytes of workgroup memory"),
        (
            refused(&|text| text.head.shared_bytes = 48 << 10, &card),
            "the text declares up to 49152 bytes itself",
        ),
        (refused(&|text| text.head.scratch_bytes = 6, least), "scratch=6, which needs to be whole words"),
        (refused(&|text| text.head.scratch_bytes = 1 << 40, least), "at most 134217728 bytes"),
        (refused(&|text| text.head.groups[0].times = u32::MAX, least), "the GPU allows 65535 along an axis"),
        (refused(&|text| text.head.slots[7] = 4, least), "slots=0,0,0,1,0,2,0,4 cannot be bound"),
    ] {
        assert!(found.contains(said), "{found}");
    }
}
