//! Tuning a device whose schedules behave as a test says: the fastest are found, and no wrong one is kept.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{
    Departure, Device, DeviceError, Forward, KernelLaunch, Order, Program, ProgramId, Span, Timing, Timings,
    Tuning,
};
use weft_engine::{EngineOptions, Model};
use weft_kern::{Access, Format, Kernel, Sizes};

use super::*;

/// A schedule: how long the kernel takes, and in which of two orders it sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    length: u64,
    order: u64,
}

/// The default schedule.
const OWN: Way = Way { length: 4, order: 0 };

/// The shortest time of a kernel.
const LEAST: u64 = 2;

impl Way {
    fn of(text: &str) -> Way {
        let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        Way { length: numbers.next().unwrap(), order: numbers.next().unwrap() }
    }

    fn text(self) -> String {
        format!("length {} order {}", self.length, self.order)
    }

    fn nanoseconds(self) -> u64 {
        // The second order is faster by a tenth; the longest takes so long that it is given up.
        let each = if self.length == LONGEST { 100_000 } else { 1000 };
        each * self.length * (10 - self.order)
    }
}

const LONGEST: u64 = 5;

/// How the device behaves.
#[derive(Clone, Copy)]
struct Nature {
    /// Whether a kernel with this schedule computes something else.
    is_wrong: fn(&Kernel, Way) -> bool,
    /// Whether the device refuses a kernel with this schedule.
    is_refused: fn(&Kernel, Way) -> bool,
    has_clock: bool,
    /// Nanoseconds by which a kernel with this schedule delays the next one in steps as they run; of a device whose launches overlap.
    delays: Option<fn(&Kernel, Way) -> u64>,
}

const GOOD: Nature =
    Nature { is_wrong: |_, _| false, is_refused: |_, _| false, has_clock: true, delays: None };

/// The calls that the device received.
#[derive(Default)]
struct Log {
    saved: Vec<Vec<(String, usize, Way)>>,
    orders: BTreeMap<String, u64>,
    /// The number of timed launches with the longest schedule.
    longest: usize,
    /// The time that all launches so far took, in nanoseconds.
    clock: u64,
}

/// A CPU device with schedules.
struct Fake {
    device: CpuDevice,
    nature: Nature,
    tried: Vec<Scheduled>,
    kept: Vec<Scheduled>,
    programs: BTreeMap<ProgramId, (Program, Vec<Way>)>,
    log: Arc<Mutex<Log>>,
}

fn sums(kernel: &Kernel) -> Option<String> {
    let products: Vec<String> =
        kernel.parts.iter().flat_map(|p| p.products()).map(|p| format!("{}x{}", p.w.n, p.w.k)).collect();
    (!products.is_empty()).then(|| products.join("+"))
}

fn of<'a>(all: &'a [Scheduled], kernel: &Kernel, max: &Sizes) -> Option<&'a str> {
    let same = |one: &&Scheduled| one.kernel.same_work(kernel) && one.max.tokens == max.tokens;
    all.iter().rev().find(same).map(|one| one.schedule.as_str())
}

impl Fake {
    fn way(&self, kernel: &Kernel, max: &Sizes) -> Way {
        let log = self.log.lock().unwrap();
        let order = sums(kernel).and_then(|sums| log.orders.get(&sums).copied()).unwrap_or(OWN.order);
        let kept = of(&self.kept, kernel, max).map(Way::of).filter(|way| way.order == order);
        kept.unwrap_or(Way { order, ..OWN })
    }
}

impl Tuning for Fake {
    fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        Some(self.way(kernel, max).text())
    }

    fn near(&self, kernel: &Kernel, _: &Sizes, schedule: &str) -> Vec<String> {
        let Way { length, order } = Way::of(schedule);
        let lengths = [length - 1, length + 1].into_iter().filter(|l| (LEAST..=LONGEST).contains(l));
        let other = sums(kernel).map(|_| Way { length, order: 1 - order });
        lengths.map(|length| Way { length, order }).chain(other).map(Way::text).collect()
    }

    fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<Order> {
        let order = Way::of(schedule).order.to_string();
        sums(kernel).map(|sums| Order { sums, order }).into_iter().collect()
    }

    fn try_out(&mut self, schedules: &[Scheduled]) {
        self.tried = schedules.to_vec();
    }

    fn keep(&mut self, schedules: &[Scheduled]) {
        let mut log = self.log.lock().unwrap();
        for one in schedules {
            sums(&one.kernel).map(|sums| log.orders.insert(sums, Way::of(&one.schedule).order));
        }
        self.kept.extend_from_slice(schedules);
    }

    fn save(&mut self) -> Result<Option<PathBuf>, DeviceError> {
        let kept = self
            .kept
            .iter()
            .map(|one| (one.kernel.name.clone(), one.max.tokens, self.way(&one.kernel, &one.max)));
        let kept = kept.collect();
        self.log.lock().unwrap().saved.push(kept);
        Ok(Some("here".into()))
    }

    fn judged_by_steps(&self) -> bool {
        self.nature.delays.is_some()
    }

    fn depart(&mut self, _: &[&'static Departure]) {}
}

impl Forward for Fake {
    fn inner(&self) -> &dyn Device {
        &self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let ways = program.launches.iter().map(|launch| {
            let kernel = &program.kernels[launch.kernel];
            let tried = of(&self.tried, kernel, &program.max).map(Way::of);
            tried.unwrap_or_else(|| self.way(kernel, &program.max))
        });
        let ways: Vec<Way> = ways.collect();
        for (launch, way) in program.launches.iter().zip(&ways) {
            let kernel = &program.kernels[launch.kernel];
            if (self.nature.is_refused)(kernel, *way) {
                let why = way.text();
                return Err(DeviceError::Kernel { device: "fake".into(), kernel: kernel.name.clone(), why });
            }
        }
        let id = self.device.compile(program)?;
        self.programs.insert(id, (program.clone(), ways));
        Ok(id)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.device.replay(program, sizes)?;
        let (program, ways) = &self.programs[&program];
        let delay = |(launch, way): (&KernelLaunch, &Way)| {
            self.nature.delays.map_or(0, |delays| delays(&program.kernels[launch.kernel], *way))
        };
        let delayed: u64 = program.launches.iter().zip(ways).map(delay).sum();
        self.log.lock().unwrap().clock += ways.iter().map(|way| way.nanoseconds()).sum::<u64>() + delayed;
        for (launch, way) in program.launches.iter().zip(ways) {
            let kernel = &program.kernels[launch.kernel];
            let written = |p: &&usize| {
                kernel.params[**p].access == Access::Write && kernel.params[**p].format == Format::F32
            };
            let all: Vec<usize> = (0..kernel.params.len()).collect();
            if let Some(&p) = all.iter().find(written).filter(|_| (self.nature.is_wrong)(kernel, *way)) {
                self.device.write(launch.args[p].buffer, launch.args[p].offset, &7777.0f32.to_le_bytes())?;
            }
        }
        Ok(())
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        if self.nature.has_clock { Some(self) } else { None }
    }

    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        Some(self)
    }
}

impl Timing for Fake {
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        Forward::replay(self, program, sizes)?;
        let (_, ways) = &self.programs[&program];
        timings.begin(1, ways.len());
        let (mut begin, lane) = (0, timings.lane(0));
        for (launch, way) in ways.iter().enumerate() {
            let done = begin + way.nanoseconds();
            lane.set(launch, Span { begin, done, free: done });
            begin = done;
        }
        self.log.lock().unwrap().longest += ways.iter().filter(|way| way.length == LONGEST).count();
        Ok(())
    }
}

fn verifier(device: Box<dyn Device>) -> Verifier {
    let options = EngineOptions::default().context(64).batch(24);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
    let model = Model::open(&file, options.kv).unwrap();
    Verifier::new(model, device, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn cpu() -> CpuDevice {
    CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap()
}

fn fake(nature: Nature) -> (Verifier, Arc<Mutex<Log>>) {
    let log = Arc::<Mutex<Log>>::default();
    let (programs, shared) = (BTreeMap::new(), Arc::clone(&log));
    let device = Fake { device: cpu(), nature, tried: Vec::new(), kept: Vec::new(), programs, log: shared };
    (verifier(Box::new(device)), log)
}

fn options() -> TuneOptions {
    // The search ends much sooner.
    TuneOptions { time: Duration::from_secs(600), beam: 3, depth: 3, prefill: 24 }
}

fn run(nature: Nature) -> (Tuned, Log) {
    let (mut verifier, log) = fake(nature);
    // However busy the machine is, whole steps take as long as their kernels.
    let now = || Duration::from_nanos(log.lock().unwrap().clock);
    let tuned = tune_by(&mut verifier, &options(), &now, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let log = std::mem::take(&mut *log.lock().unwrap());
    (tuned, log)
}

#[test]
fn the_fastest_schedules_are_found_and_kept() {
    let (tuned, log) = run(GOOD);
    assert_eq!(tuned.end, TuneEnd::Kept(Some("here".into())));
    let mut both = [0, 0];
    for kernel in &tuned.kernels {
        let best = Way::of(&kernel.best.as_ref().unwrap().schedule);
        assert_eq!((kernel.verdict(), best.length), ("faster", LEAST), "{kernel:?}");
        assert!(kernel.tried > 2, "{kernel:?}");
        both[best.order as usize] += 1;
    }
    // Sums of a single kernel change to the faster order; sums shared by several kernels keep theirs.
    assert!(both.iter().all(|count| *count > 3), "{both:?}");
    let tokens: BTreeSet<usize> = tuned.kernels.iter().map(|kernel| kernel.tokens).collect();
    assert_eq!(tokens, BTreeSet::from([1, FEW, 24]));
    // All sizes of step agree on the order of sums.
    let [saved] = &log.saved[..] else { panic!("saved {} times", log.saved.len()) };
    assert_eq!(saved.len(), tuned.kernels.len());
    assert!(saved.iter().all(|(_, _, way)| way.length == LEAST), "{saved:?}");
    let phases: Vec<_> = tuned.steps.iter().map(|step| step.phase).collect();
    assert_eq!(phases, [Phase::Decode, Phase::Prefill]);
    // The longest schedule runs once to warm up and once to be timed; each kernel has one of each order, in each size of step.
    let launches: usize = tuned.kernels.iter().map(|kernel| kernel.launches).sum();
    assert!(log.longest > 0 && log.longest <= 4 * 2 * launches, "{} of {launches}", log.longest);
    let json = tuned.json();
    assert_eq!(json["kernels"].as_array().unwrap().len(), tuned.kernels.len());
    assert_eq!((&json["kept"], &json["kernels"][0]["verdict"]), (&true.into(), &"faster".into()));
}

#[test]
fn wrong_schedules_are_caught_and_never_kept() {
    fn is_head(kernel: &Kernel) -> bool {
        kernel.parts.iter().flat_map(|part| part.products()).any(|product| product.w.n == 2048)
    }
    let (tuned, log) = run(Nature { is_wrong: |kernel, way| is_head(kernel) && way.length == LEAST, ..GOOD });
    let (mut wrong, mut fine) = (0, 0);
    for kernel in &tuned.kernels {
        match &kernel.outcome {
            TuneOutcome::Wrong(why) => {
                assert!(why.contains("7.777e3") || why.contains("7777"), "{why}");
                wrong += 1;
            }
            TuneOutcome::Faster => fine += 1,
            TuneOutcome::Best => panic!("{kernel:?}"),
        }
    }
    assert!(wrong > 0 && fine > 5, "{wrong} wrong, {fine} fine");
    let [saved] = &log.saved[..] else { panic!("saved {} times", log.saved.len()) };
    let wrong: Vec<_> = tuned.kernels.iter().filter(|kernel| kernel.verdict() == "wrong").collect();
    for kernel in wrong {
        // The last schedule kept is its old one.
        let kept = saved.iter().rev().find(|(name, ..)| *name == kernel.kernel).unwrap();
        assert_eq!(kept.2.length, OWN.length, "{kernel:?}");
    }
}

#[test]
fn a_refused_schedule_costs_other_kernels_nothing() {
    let (tuned, _) = run(Nature { is_refused: |kernel, way| attends(kernel) && way.length == 3, ..GOOD });
    let as_they_were = tuned.kernels.iter().filter(|kernel| kernel.outcome != TuneOutcome::Faster);
    // Attention, in steps of each size.
    assert!(as_they_were.clone().all(|kernel| kernel.kernel.starts_with("attend")), "{tuned:?}");
    assert_eq!(as_they_were.count(), 3);
}

fn attends(kernel: &Kernel) -> bool {
    kernel.parts.iter().any(|part| part.attention().is_some())
}

#[test]
fn whole_steps_decide_where_launches_overlap() {
    // By itself, attention is fastest with the shortest schedule; the kernel after it then begins late.
    let delays = |kernel: &Kernel, way: Way| if attends(kernel) && way.length == LEAST { 50_000 } else { 0 };
    let (tuned, log) = run(Nature { delays: Some(delays), ..GOOD });
    let (attend, others): (Vec<&TunedKernel>, _) =
        tuned.kernels.iter().partition(|kernel| kernel.kernel.starts_with("attend"));
    assert_eq!((attend.len(), tuned.end), (3, TuneEnd::Kept(Some("here".into()))));
    for (kernel, least) in
        attend.iter().map(|kernel| (kernel, LEAST + 1)).chain(others.iter().map(|kernel| (kernel, LEAST)))
    {
        let best = Way::of(&kernel.best.as_ref().unwrap().schedule);
        assert_eq!((kernel.verdict(), best.length), ("faster", least), "{kernel:?}");
    }
    let [saved] = &log.saved[..] else { panic!("saved {} times", log.saved.len()) };
    let attention = saved.iter().filter(|(kernel, ..)| kernel.starts_with("attend"));
    assert!(attention.clone().all(|(.., way)| way.length == LEAST + 1), "{saved:?}");
}

#[test]
fn it_can_be_cancelled_and_needs_schedules_and_a_clock() {
    let (mut verifier, log) = fake(GOOD);
    let cancel = AtomicBool::new(false);
    let ended = tune(&mut verifier, &options(), &cancel, &mut |told| {
        cancel.store(matches!(told, TuneProgress::Verifying(..)), Ordering::Relaxed);
    });
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    assert!(log.lock().unwrap().saved.is_empty());
    // A device that cannot time launches is refused.
    let (mut verifier, log) = fake(Nature { has_clock: false, ..GOOD });
    let refused = tune(&mut verifier, &options(), &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(
        refused.to_string().contains("cannot time single launches") && log.lock().unwrap().saved.is_empty(),
        "{refused}"
    );
    let mut verifier = self::verifier(Box::new(cpu()));
    let refused = tune(&mut verifier, &options(), &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("cannot be tuned: it has no schedules"), "{refused}");
}

#[test]
fn without_time_nothing_is_found() {
    let (mut verifier, log) = fake(GOOD);
    let options = TuneOptions { time: Duration::ZERO, ..options() };
    let tuned = tune(&mut verifier, &options, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!((tuned.end, tuned.rounds, tuned.steps.len()), (TuneEnd::Nothing, 0, 0));
    assert!(log.lock().unwrap().saved.is_empty());
}
