//! The arithmetic of profiles, on a device with scripted timings; and that the timings of a real step add up.

use std::ops::ControlFlow;
use std::path::Path;

use weft_cpu::{CpuProbe, Isa};
use weft_device::Probe;
use weft_device::{Caps, Device, DeviceError, Forward, NullDevice, ProgramId, Span, Timing, Timings};
use weft_engine::inspect::Amounts;
use weft_engine::{EngineOptions, Model};
use weft_kern::Sizes;

use super::clock::{StepRecord, Times};
use super::*;
use crate::bench::tests::runner;

/// Computes nothing, and reports that two threads worked 100 and 50 ns on the first launch of a replay, 200 and 100 ns on the
/// second, and so on.
#[derive(Default)]
struct Scripted {
    null: NullDevice,
    caps: Option<Caps>,
}

impl Forward for Scripted {
    fn inner(&self) -> &dyn Device {
        &self.null
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.null
    }

    fn caps(&self) -> &Caps {
        self.caps.as_ref().unwrap_or(self.null.caps())
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        Some(self)
    }
}

impl Timing for Scripted {
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        let launches = self.null.programs()[program.0 as usize].launches.len();
        timings.begin(2, launches);
        let mut begin = 10;
        for launch in 0..launches {
            let long = 100 * (launch as u64 + 1);
            let free = begin + long + 20;
            timings.lane(0).set(launch, Span { begin, done: begin + long, free });
            timings.lane(1).set(launch, Span { begin, done: begin + long / 2, free });
            begin = free;
        }
        self.null.replay(program, sizes)
    }
}

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf")
}

fn on(device: Box<dyn Device>) -> Runner {
    let options = EngineOptions::default().context(32).batch(4);
    let model = Model::open(&fixture(), options.kv).unwrap();
    Runner::new(model, device, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn meter() -> Meter {
    Meter::from(Box::new(CpuProbe::new(Isa::best(), 1 << 20).unwrap()) as Box<dyn Probe>)
}

fn run(runner: &mut Runner, options: &ProfileOptions) -> Result<Profile, Error> {
    profile(runner, &mut meter(), options, &AtomicBool::new(false), &mut |_, _| {})
}

const OPTIONS: ProfileOptions = ProfileOptions { steps: 3, depth: 5, tokens: 1 };

/// The scripted profile, compared with a machine of round figures.
fn scripted() -> Profile {
    let mut profile = run(&mut on(Box::<Scripted>::default()), &OPTIONS).unwrap();
    let one = |rate: f64| [rate].into_iter().collect();
    profile.roofs =
        Roofs { read: one(1e9), dot: one(100e9), mul_add: one(10e9), ..Roofs::new(NonZeroUsize::MIN) };
    let roofs = &profile.roofs;
    profile.launches.iter_mut().for_each(|timed| {
        let Timed { busy, waiting, longest, .. } = *timed;
        *timed = Timed::new(timed.launch.clone(), Times { busy, waiting, longest }, roofs);
    });
    profile
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-9)
}

#[test]
fn the_time_of_a_launch_is_work_and_waiting() {
    let profile = scripted();
    let last = profile.launches.len() - 1;
    for (i, timed) in profile.launches.iter().enumerate() {
        // The head is a separate replay.
        let long = 100e-9 * if i == last { 1.0 } else { i as f64 + 1.0 };
        assert!(close(timed.busy, long * 0.75) && close(timed.longest, long), "{timed:?}");
        assert!(close(timed.waiting, 20e-9 + long * 0.25), "{timed:?}");
    }
    let all: f64 = profile.launches.iter().map(Timed::time).sum();
    let n = last as f64;
    let expected = 100e-9 * (n * (n + 1.0) / 2.0 + 1.0) + 20e-9 * (n + 1.0);
    assert!(close(all, expected), "{all} of {expected}");
    assert!(close(profile.clock.kernels + profile.clock.waits, expected));
    let [first, second] = profile.workers[..] else { panic!("two threads") };
    assert!(close(first.busy, 2.0 * second.busy));
    assert!(close(first.busy + first.waiting, second.busy + second.waiting));
    assert_eq!((profile.plain.all().len(), profile.timed.all().len()), (3, 3));
    assert_eq!(profile.roofs.read.all().len(), 1, "replaced by this test");
}

#[test]
fn every_grouping_counts_everything_once() {
    let profile = scripted();
    let sum = |rows: &[Row]| {
        rows.iter().fold((0.0, 0.0, Amounts::default()), |(time, roof, amounts), row| {
            (time + row.time(), roof + row.roof, amounts + row.amounts)
        })
    };
    let (time, roof, amounts) = sum(&profile.layers());
    let all = profile.launches.iter().fold(Amounts::default(), |sum, t| sum + t.launch.amounts());
    assert_eq!(amounts, all);
    for rows in [profile.kernels(), profile.roles(), profile.anchors(), profile.types()] {
        let (t, r, a) = sum(&rows);
        assert!(close(t, time) && close(r, roof) && a == all, "{rows:?}");
    }
    for rows in [profile.kernels(), profile.layers()] {
        assert_eq!(rows.iter().map(|row| row.launches).sum::<usize>(), profile.launches.len());
    }
    assert!(profile.kernels().is_sorted_by(|a, b| a.lost() >= b.lost()));
    assert!(profile.roles().is_sorted_by(|a, b| a.time() >= b.time()));
}

#[test]
fn layers_of_one_shape_share_a_row() {
    let profile = scripted();
    let layers = profile.launches.iter().filter_map(|timed| timed.launch.layer).max().unwrap();
    let kernels = profile.kernels();
    let attend = kernels.iter().find(|row| row.name.starts_with("attend")).unwrap();
    assert_eq!((attend.role.as_str(), attend.launches), ("attention", layers + 1));
    assert_eq!(attend.segments, format!("layer 0 to layer {layers}"));
    let experts = kernels.iter().find(|row| row.role == "routed experts + shared expert").unwrap();
    assert_eq!((experts.launches, experts.segments.clone()), (layers, format!("layer 1 to layer {layers}")));
    let names: Vec<String> = profile.layers().into_iter().map(|row| row.name).collect();
    let expected: Vec<String> = ["embed", "tables"]
        .map(String::from)
        .into_iter()
        .chain((0..=layers).map(|layer| format!("layer {layer}")))
        .chain(["head".into()])
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn a_shared_launch_is_divided_in_proportion_to_the_roofline() {
    let profile = scripted();
    let shared = profile.launches.iter().find(|timed| timed.launch.roles().len() > 1).unwrap();
    let needs: Vec<f64> =
        shared.launch.pieces.iter().map(|piece| rows::at_least(&piece.amounts, &profile.roofs)).collect();
    assert!(needs.iter().all(|need| *need >= 0.0) && needs.iter().sum::<f64>() > 0.0);
    let only = Profile { launches: vec![shared.clone()], ..profile.clone() };
    for row in only.roles() {
        let pieces = shared.launch.pieces.iter().zip(&needs);
        let own: f64 = pieces.filter(|(piece, _)| piece.role.name() == row.name).map(|(_, need)| need).sum();
        assert!(close(row.time(), shared.time() * own / needs.iter().sum::<f64>()), "{row:?}");
        assert_eq!(row.launches, 1);
    }
}

#[test]
fn the_slower_of_reading_and_multiplying_is_the_roof() {
    let roofs = scripted().roofs;
    let amounts =
        Amounts { weight_bytes: 600, state_bytes: 400, activation_bytes: 9_000_000, ..Amounts::default() };
    assert!(close(rows::at_least(&amounts, &roofs), 1e-6), "activations come from caches");
    let multiplied = Amounts { integer_multiplications: 100_000, float_multiplications: 20_000, ..amounts };
    assert!(close(rows::at_least(&multiplied, &roofs), 1e-6 + 2e-6));
}

#[test]
fn with_only_the_bandwidth_known_few_multiplications_still_have_a_roof() {
    let read = [2e9].into_iter().collect();
    let roofs = Roofs { read, ..Roofs::new(NonZeroUsize::MIN) };
    let read = Amounts { weight_bytes: 600, state_bytes: 400, ..Amounts::default() };
    let of = |integer_multiplications, float_multiplications| {
        rows::at_least(&Amounts { integer_multiplications, float_multiplications, ..read }, &roofs)
    };
    assert!(close(of(0, 0), 0.5e-6) && close(of(1800, 200), 0.5e-6), "reading takes longer");
    assert!(of(4001, 0).is_nan() && of(3000, 1001).is_nan(), "either may take longer");
    let nothing = Roofs::new(NonZeroUsize::MIN);
    assert!(rows::at_least(&read, &nothing).is_nan());
    assert_eq!(rows::at_least(&Amounts::default(), &nothing), 0.0);
}

/// The scripted device has no probe, so it is measured by a program.
#[test]
fn a_device_without_a_probe_has_only_its_bandwidth_measured() {
    let mut runner = on(Box::<Scripted>::default());
    let mut meter = Meter::new(runner.device_mut()).unwrap();
    let options = ProfileOptions { tokens: 4, ..OPTIONS };
    let profile = profile(&mut runner, &mut meter, &options, &AtomicBool::new(false), &mut |_, _| {});
    let mut profile = profile.unwrap();
    let counts = [&profile.roofs.read, &profile.roofs.dot, &profile.roofs.mul_add];
    assert_eq!(counts.map(|samples| samples.all().len()), [3, 0, 0]);
    // Slower reads than measured, so that there is time to lose.
    profile.roofs.read = [1e9].into_iter().collect();
    for timed in &mut profile.launches {
        timed.roof = rows::at_least(&timed.launch.amounts(), &profile.roofs);
    }
    let kernels = profile.kernels();
    let known = |row: &&Row| !row.roof.is_nan();
    assert!(kernels.iter().any(|row| known(&row)) && !kernels.iter().all(|row| known(&&row.clone())));
    let stakes: Vec<f64> =
        kernels.iter().map(|row| if known(&row) { row.lost() } else { row.time() }).collect();
    assert!(stakes.is_sorted_by(|a, b| a >= b), "{stakes:?}");
    for (row, json) in kernels.iter().zip(profile.json()["kernels"].as_array().unwrap()) {
        for key in ["roof_ms", "lost_ms", "of_roof"] {
            assert_eq!(json[key].is_null(), row.roof.is_nan(), "{json}");
        }
    }
    // Dividing loses nothing.
    let all: f64 = profile.launches.iter().map(Timed::time).sum();
    assert!(close(profile.roles().iter().map(Row::time).sum(), all));
    for lint in profile.lints().iter().filter(|lint| lint.name == "far-from-roof") {
        let is_known = |name: &String| kernels.iter().any(|row| row.name == *name && known(&row));
        assert!(lint.all.iter().all(is_known), "{lint:?}");
    }
}

#[test]
fn a_summary_has_medians_and_a_residue() {
    let times = |busy, waiting, longest| Times { busy, waiting, longest };
    let step = |wall, host, first, second| StepRecord {
        wall,
        host,
        launches: vec![first, second],
        workers: vec![[wall / 2.0, wall / 4.0]],
    };
    let mut recorder = Recorder::new(2, 3);
    recorder.steps = vec![
        step(10.0, 1.0, times(4.0, 1.0, 4.5), times(2.0, 1.0, 2.5)),
        step(20.0, 3.0, times(9.0, 2.0, 9.5), times(5.0, 0.0, 5.0)),
        step(11.0, 2.0, times(5.0, 0.0, 5.5), times(3.0, 0.5, 4.0)),
    ];
    let summary = recorder.summary();
    assert_eq!(summary.launches, [times(5.0, 1.0, 5.5), times(3.0, 0.5, 4.0)]);
    assert_eq!(summary.workers, [Worker { busy: 5.5, waiting: 2.75 }]);
    let Clock { wall, kernels, waits, host, closes } = summary.clock;
    assert_eq!((wall, kernels, waits, host), (11.0, 8.0, 1.5, 2.0));
    assert_eq!(summary.clock.residue(), -0.5);
    // The steps account for 9 of 10, 19 of 20, 10.5 of 11.
    assert_eq!(closes, 0.95);
}

#[test]
fn a_trace_has_a_track_for_each_thread_and_a_slice_for_each_launch() {
    let profile = scripted();
    let trace = profile.trace();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str, track: u64| {
        events.iter().filter(|e| e["ph"] == phase && e["tid"].as_u64() == Some(track)).collect::<Vec<_>>()
    };
    let names = |track| of("M", track)[0]["args"]["name"].as_str().unwrap();
    assert_eq!([1, 2].map(names), ["thread 0", "thread 1"]);
    for track in [1, 2] {
        let slices = of("X", track);
        assert_eq!(slices.len(), profile.launches.len());
        let (times, timed) = (|i: usize| slices[i]["ts"].as_f64().unwrap(), &profile.launches[3]);
        assert!(times(0) < times(1), "in order");
        assert!(close(slices[3]["dur"].as_f64().unwrap(), if track == 1 { 0.4 } else { 0.2 }));
        assert_eq!(slices[3]["name"], timed.launch.kernel());
        assert_eq!(slices[3]["args"]["weight_bytes"], timed.launch.amounts().weight_bytes);
        assert_eq!(slices[3]["args"]["segment"], timed.launch.segment);
    }
    let host: Vec<_> = of("X", 0).iter().map(|event| event["name"].clone()).collect();
    assert_eq!(host, ["step", "layers", "head"]);
}

#[test]
fn json_has_every_row() {
    let profile = scripted();
    let json = profile.json();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "machine roofs step tokens_per_second step_seconds overhead clock threads empty_launch_ms roles anchors types kernels layers launches timeline lints";
    assert_eq!(keys.join(" "), expected);
    let many = |key: &str| json[key].as_array().unwrap().len();
    assert_eq!((many("launches"), many("threads")), (profile.launches.len(), 2));
    assert_eq!(json["timeline"]["slices"].as_array().unwrap().len(), 2 * profile.launches.len());
    assert_eq!(json["step"]["kernels"], profile.launches.len());
    let share: f64 = json["roles"].as_array().unwrap().iter().map(|row| row["share"].as_f64().unwrap()).sum();
    assert!(close(share, (profile.clock.kernels + profile.clock.waits) / profile.clock.wall));
}

#[test]
fn a_device_that_cannot_time_launches_is_an_error() {
    let refused = run(&mut on(Box::<NullDevice>::default()), &OPTIONS).unwrap_err().to_string();
    assert_eq!(refused, "null cannot time single launches, so it cannot be profiled");
}

#[test]
fn the_runner_is_usable_after_a_cancellation() {
    let options = ProfileOptions { steps: 1_000_000, ..OPTIONS };
    let mut runner = on(Box::<Scripted>::default());
    // If a sequence were left behind, the third profile would find no room.
    for _ in 0..3 {
        let cancel = AtomicBool::new(false);
        let ended = profile(&mut runner, &mut meter(), &options, &cancel, &mut |done, _| {
            cancel.store(done > 12, Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
    }
}

/// One thread, which waits for no other: the result must not depend on how busy the machine is.
#[test]
fn the_timings_of_a_real_step_add_up() {
    let options = EngineOptions::default().threads(1).context(64).batch(32);
    let mut runner = Runner::load(&fixture(), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    for tokens in [1, 24] {
        let options = ProfileOptions { steps: 9, depth: 20, tokens };
        let mut told = Vec::new();
        let profile =
            profile(&mut runner, &mut meter(), &options, &AtomicBool::new(false), &mut |done, of| {
                told.push((done, of));
            });
        let profile = profile.unwrap();
        assert!((0.98..=1.0).contains(&profile.clock.closes), "{:?}", profile.clock);
        assert!(profile.launches.iter().all(|timed| timed.busy > 0.0), "{:?}", profile.launches);
        // Two steps for each of the nine, for each of the five measurements of the limits, and to warm up.
        let total = 20 + 2 * (9 + 5 + 1) * tokens as u64;
        assert_eq!(told.last(), Some(&(total, total)));
    }
}

#[test]
fn a_step_on_several_threads_is_profiled_on_each() {
    let mut runner = runner(OPTIONS.context(), 1);
    let profile = run(&mut runner, &OPTIONS).unwrap();
    assert_eq!(profile.workers.len(), 2);
    assert!(profile.workers.iter().all(|worker| worker.busy > 0.0));
    let slices = &profile.timeline.slices;
    assert_eq!(slices.len(), 2 * profile.launches.len());
    assert!(slices.iter().all(|s| 0.0 <= s.begin && s.begin <= s.done && s.done <= profile.timeline.wall));
}
