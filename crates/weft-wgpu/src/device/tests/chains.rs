//! Chains of launches. On software a chain is launched with one workgroup, unless a test says otherwise.

use super::*;
use crate::compile::Groups;

/// Rows and columns of a matrix that each launch transposes, so that each workgroup reads what all others wrote.
const SIDE: usize = 256;

/// Values of the matrix.
const VALUES: usize = SIDE * SIDE;

/// A kernel that transposes, doubles and adds one, by a workgroup for each row.
const TRANSPOSE: &str = "plan transposed T=1 R=0 S=0 P=0 arena=0 {
b0 = input x : f32[65536]
b1 = output y : f32[65536]
kernel transpose {
  p0 read f32
  p1 write f32
  rows [T, 256] cols 256
  map
  v0 = load 256 p0[0; 0, 1; 256]
  v1 = add v0 v0
  v2 = const 1.0
  v3 = add v1 v2
  v4 = store v3 p1[0; 0, 256; 1]
}
call transpose b0 b1
}
";

/// A device with the texts of a large GPU.
fn open_large(test: &str) -> Option<GpuDevice> {
    open(test)?;
    let large = crate::adapters().swap_remove(0).as_large();
    Some(GpuDevice::open(&large, &OpenOptions::default()).unwrap())
}

/// A program of `launches` launches that transpose a matrix back and forth between the device's first two buffers.
fn program(device: &mut GpuDevice, launches: usize) -> Program {
    let kernel = Arc::new(parse_plan(TRANSPOSE).unwrap().kernels.remove(0));
    let buffers = [(); 2].map(|()| device.alloc(4 * VALUES).unwrap());
    let region = |i: usize| Region { buffer: buffers[i % 2], offset: 0, values: VALUES };
    let launch = |i: usize| KernelLaunch { kernel: 0, args: vec![region(i), region(i + 1)] };
    let max = Sizes::of(1);
    Program { max, kernels: vec![kernel], launches: (0..launches).map(launch).collect() }
}

/// The values of the matrix, small enough for 13 launches to be exact.
fn value(i: usize) -> f32 {
    (i % 2003) as f32
}

/// Writes the matrix, and something else to where the result goes.
fn begin(device: &mut GpuDevice) {
    let start: Vec<u8> = (0..VALUES).flat_map(|i| value(i).to_le_bytes()).collect();
    device.write(BufferId(0), 0, &start).unwrap();
    device.write(BufferId(1), 0, &vec![0xff; 4 * VALUES]).unwrap();
}

/// Whether an odd number of launches has computed what it should.
fn is_right(device: &GpuDevice, launches: i32) -> bool {
    let times = 2f32.powi(launches);
    let transposed = (0..VALUES).map(|i| value(i % SIDE * SIDE + i / SIDE));
    transposed.map(|x| x * times + times - 1.0).eq(read(device).unwrap())
}

fn read(device: &GpuDevice) -> Result<Vec<f32>, DeviceError> {
    let mut bytes = vec![0; 4 * VALUES];
    device.read(BufferId(1), 0, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// The groups of a program that is one chain.
fn groups_of(compiled: &mut Compiled) -> &mut Groups {
    assert_eq!(compiled.launches.len(), 1, "launches");
    &mut compiled.launches[0][0].groups
}

#[test]
fn launches_in_one_compute_what_they_compute_apart() {
    let Some(mut device) = open_large("launches in one") else { return };
    let program = program(&mut device, 5);
    let id = device.compile(&program).unwrap();
    let Groups::Chain(chain, _) = groups_of(&mut device.programs[0]) else { panic!("no chain") };
    assert_eq!((chain.stages.len(), chain.groups(&program.max, u32::MAX)), (5, 256));
    for tokens in [1, 1, 0] {
        begin(&mut device);
        device.replay(id, &Sizes::of(tokens)).unwrap();
        // Steps of no tokens launch nothing.
        assert_eq!(is_right(&device, 5), tokens > 0, "{tokens} tokens");
    }
    // Three steps in flight, each of which continues from the previous one's first buffer, after four launches.
    begin(&mut device);
    (0..3).for_each(|_| device.replay(id, &program.max).unwrap());
    assert!(is_right(&device, 13));
    // The counts are as they were.
    for word in 1..weft_render::CHAIN_WORDS {
        assert_eq!(device.canary.word(&device.context, word).unwrap(), 0, "word {word}");
    }
    // One by one, where each is timed.
    begin(&mut device);
    let mut timings = Timings::default();
    device.replay_timed(id, &program.max, &mut timings).unwrap();
    assert_eq!(timings.launches(), 5);
    assert!(is_right(&device, 5));
}

/// Launches are timed with the schedules that their program was compiled with.
#[test]
fn launches_apart_have_the_schedules_of_their_chain() {
    let Some(mut device) = open_large("schedules of chains") else { return };
    let program = program(&mut device, 3);
    let usual = device.scheduler.renderer.schedule(&program.kernels[0], &program.max).unwrap();
    let tried = usual.replace("width 256", "width 128");
    assert_ne!(tried, usual);
    let scheduled =
        weft_device::Scheduled { kernel: Arc::clone(&program.kernels[0]), max: program.max, schedule: tried };
    device.scheduler.try_out(&[scheduled]);
    let id = device.compile(&program).unwrap();
    device.scheduler.try_out(&[]);
    begin(&mut device);
    device.replay_timed(id, &program.max, &mut Timings::default()).unwrap();
    assert!(is_right(&device, 3));
    let apart = device.programs[0].apart.as_ref().unwrap().compiled.as_ref().unwrap();
    let groups: Vec<[u32; 3]> =
        apart.launches.iter().flatten().map(|dispatch| dispatch.groups.of(&program.max)).collect();
    assert_eq!(groups, [[512, 1, 1]; 3]);
}

/// The fault: more workgroups are launched than run at once.
#[test]
fn a_workgroup_whose_wait_times_out_says_so() {
    let Some(mut device) = open_large("waits in vain") else { return };
    if !device.context.one_group {
        eprintln!("waits in vain: skipped, all workgroups run at once on a large GPU");
        return;
    }
    let program = program(&mut device, 3);
    let id = device.compile(&program).unwrap();
    let Groups::Chain(_, at_once) = groups_of(&mut device.programs[0]) else { panic!("no chain") };
    *at_once = 256;
    begin(&mut device);
    device.replay(id, &program.max).unwrap();
    for _ in 0..2 {
        let read = read(&device);
        assert!(matches!(read, Err(DeviceError::InVain { .. })), "{:?}", read.err());
    }
}

#[test]
fn a_departure_keeps_launches_apart() {
    let Some(mut device) = open_large("launches apart") else { return };
    let program = program(&mut device, 3);
    let apart: Vec<_> = weft_gpu::departures().filter(|each| each.name == "launch.chains=off").collect();
    device.scheduler.depart(&apart);
    let id = device.compile(&program).unwrap();
    begin(&mut device);
    device.replay(id, &program.max).unwrap();
    assert_eq!(device.programs[0].launches.len(), 3);
    assert!(device.programs[0].apart.is_none() && is_right(&device, 3));
}
