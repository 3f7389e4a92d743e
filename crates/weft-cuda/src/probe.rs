//! Measures how fast a card multiplies bytes on its matrix units, with a kernel that does nothing else.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use weft_device::{DeviceError, Probe, Roof};
use weft_render::{Grid, Shader};

use crate::driver::{Context, DeviceMemory, Event, Failure, Function, Graph, Node};
use crate::error::error;

/// Threads of a block, and blocks for each multiprocessor.
const LANES: u32 = 256;
const BLOCKS: u32 = 4;

/// Sums that a warp works on at once, since each instruction has to wait for the one before it on the same sum.
const SUMS: u32 = 8;

/// Instructions for each sum. A launch takes a millisecond or a few.
const ROUNDS: u32 = 4096;

/// Multiplications of an instruction.
const EACH: u32 = 16 * 8 * 32;

const ENTRY: &str = "weft_probe_matrix";

/// A kernel whose warps multiply matrices in registers.
pub(crate) fn shader() -> Shader {
    let source = format!(
        "extern \"C\" __global__ void __launch_bounds__({LANES}) {ENTRY}(unsigned int* out, unsigned int rounds) {{
  int sums[{SUMS}][4];
  #pragma unroll
  for (int i = 0; i < {SUMS}; i++) {{
    sums[i][0] = sums[i][1] = sums[i][2] = sums[i][3] = i;
  }}
  unsigned int a = threadIdx.x * 0x01030507u;
  unsigned int b = threadIdx.x * 0x07050301u;
  for (unsigned int round = 0; round < rounds; round++) {{
    #pragma unroll
    for (int i = 0; i < {SUMS}; i++) {{
      asm volatile(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {{%0, %1, %2, %3}}, {{%4, %4, %4, %4}}, {{%5, %5}}, {{%0, %1, %2, %3}};\"
        : \"+r\"(sums[i][0]), \"+r\"(sums[i][1]), \"+r\"(sums[i][2]), \"+r\"(sums[i][3]) : \"r\"(a), \"r\"(b));
    }}
  }}
  int total = 0;
  #pragma unroll
  for (int i = 0; i < {SUMS}; i++) {{
    total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
  }}
  if (total == 0x7fffffff) {{
    out[0] = 1u;
  }}
}}
"
    );
    Shader {
        name: "probe_matrix".into(),
        source,
        entry: ENTRY.into(),
        slots: vec![true],
        lanes: LANES,
        shared_bytes: 0,
        scratch_bytes: 0,
        needs_spirv: false,
        own_architecture: false,
        sizes_read: [false; 4],
        memory: weft_render::Memory::default(),
        grid: Grid { wide: 1, parts: Vec::new() },
        dependent: false,
        releases_early: false,
        given: None,
    }
}

/// Measures [`Roof::Dot`] of a card.
#[derive(Debug)]
pub(crate) struct CudaProbe {
    device: String,
    context: Arc<Context>,
    graph: Graph,
    begin: Arc<Event>,
    end: Arc<Event>,
    /// Multiplications of a launch.
    multiplications: f64,
    _out: DeviceMemory,
}

impl CudaProbe {
    /// A probe of a card with `processors` multiprocessors, with the compiled [`shader`].
    pub(crate) fn new(
        context: &Arc<Context>,
        device: &str,
        function: Function,
        processors: u32,
    ) -> Result<CudaProbe, Failure> {
        let out = DeviceMemory::zeroed(context, 4)?;
        let blocks = BLOCKS * processors.max(1);
        let node = Node {
            function,
            args: vec![vec![out.address()], vec![ROUNDS.into()]],
            grid: [blocks, 1, 1],
            lanes: LANES,
            dynamic_bytes: 0,
            early: false,
        };
        let (begin, end) = (Event::new(context)?, Event::new(context)?);
        let graph = Graph::new(context, &[node], &[Arc::clone(&begin), Arc::clone(&end)])?;
        let instructions = [blocks, LANES / 32, SUMS, ROUNDS].map(f64::from).iter().product::<f64>();
        Ok(CudaProbe {
            device: device.to_string(),
            context: Arc::clone(context),
            graph,
            begin,
            end,
            multiplications: instructions * f64::from(EACH),
            _out: out,
        })
    }

    /// Nanoseconds of a launch.
    fn launch(&mut self) -> Result<u64, Failure> {
        self.graph.launch()?;
        self.context.wait()?;
        self.end.since(&self.begin)
    }

    /// Multiplications per second, over launches that take about `time`.
    fn rate(&mut self, time: Duration) -> Result<f64, Failure> {
        // The first brings the card to its clock rate.
        self.launch()?;
        let (mut done, mut spent) = (0.0, 0);
        while done == 0.0 || u128::from(spent) < time.as_nanos() {
            spent += self.launch()?.max(1);
            done += self.multiplications;
        }
        Ok(done / (spent as f64 * 1e-9))
    }
}

impl Probe for CudaProbe {
    fn roofs(&self) -> &'static [Roof] {
        &[Roof::Dot]
    }

    fn sample(&mut self, roof: Roof, _threads: NonZeroUsize, time: Duration) -> Result<f64, DeviceError> {
        if roof != Roof::Dot {
            return Err(DeviceError::Usage(format!("{} has no loop for {roof:?}", self.device)));
        }
        self.rate(time).map_err(|failure| error(&self.device, "a measurement", 0, &failure))
    }
}

#[cfg(test)]
mod tests {
    use weft_nvrtc::{Nvrtc, REPORT, usage};

    use super::*;

    #[test]
    fn the_kernel_compiles_and_keeps_its_sums_in_registers() {
        let Some(nvrtc) = Nvrtc::for_test("the probe's text") else { return };
        for architecture in ["sm_80", "sm_90", "sm_120"] {
            let option = format!("--gpu-architecture={architecture}");
            let compiled = nvrtc.compile(&shader().source, &[&option, REPORT]).unwrap();
            let used = usage(&compiled.log);
            assert_eq!((used.len(), used[0].name.as_str(), used[0].stack_bytes), (1, ENTRY, 0));
            // As many blocks as run at once fit.
            assert!(used[0].registers * LANES * BLOCKS <= 65_536, "{used:?}");
        }
    }
}
