//! GPUs as a [`Backend`].

use std::io;
use std::path::Path;

use weft_device::{
    Backend, Departure, Device, DeviceInfo, Fact, FactValue, OpenError, OpenOptions, Target, choose,
};

use crate::adapter::{Adapter, adapters};
use crate::device::GpuDevice;
use crate::hardware::hardware;

/// The [`Backend`] of GPUs that Vulkan or Metal reaches.
#[derive(Clone, Copy, Debug)]
pub struct GpuBackend;

impl Backend for GpuBackend {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn about(&self) -> &'static str {
        "a GPU, through Vulkan or Metal"
    }

    fn has_names(&self) -> bool {
        true
    }

    fn probe(&self) -> Vec<DeviceInfo> {
        adapters().iter().map(info).collect()
    }

    fn missing(&self) -> &'static str {
        if cfg!(windows) {
            "this machine has no GPU, or no Vulkan driver for it (the current driver of the GPU's maker has one); `--device cpu` needs \
             neither"
        } else if cfg!(target_vendor = "apple") {
            "this machine has no GPU that Metal knows; `--device cpu` needs none"
        } else {
            "this machine has no GPU, or no Vulkan driver for it (on Debian and Ubuntu, install libvulkan1 and \
             mesa-vulkan-drivers, which include a software GPU); `--device cpu` needs neither"
        }
    }

    fn open(&self, name: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        Ok(Box::new(GpuDevice::open(&find(name)?, options)?))
    }

    fn target(&self, name: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        let adapter = find(name)?;
        // The probe's answer is not known, since no device is opened.
        let scheduler = adapter.scheduler(options.schedule_folder(), true);
        let hardware = hardware(&adapter, options.host_threads());
        Ok(Target { hardware, text: Some(Box::new(scheduler)) })
    }

    fn departures(&self) -> Vec<&'static Departure> {
        weft_gpu::departures().collect()
    }

    fn clear(&self, folder: &Path) -> io::Result<u64> {
        weft_gpu::clear(folder)
    }
}

/// The adapter that a name means.
fn find(name: Option<&str>) -> Result<Adapter, OpenError> {
    let mut adapters = adapters();
    let names: Vec<String> = adapters.iter().map(|adapter| adapter.name().to_string()).collect();
    let at = choose(&GpuBackend, &names, name)?;
    Ok(adapters.swap_remove(at))
}

fn info(adapter: &Adapter) -> DeviceInfo {
    let gpu = adapter.gpu();
    let subgroup = gpu.subgroup.map(|lanes| FactValue::Count(lanes.into()));
    let matrices = Some(adapter.matrices()).filter(|shapes| !shapes.is_empty());
    let facts = [
        Some(Fact::new(
            "largest_buffer_bytes",
            "buffers up to {}",
            FactValue::Bytes(adapter.largest_buffer() as u64),
        )),
        Some(Fact::new(
            "workgroup_invocations",
            "workgroups of {}",
            FactValue::Count(gpu.invocations.into()),
        )),
        Some(Fact::new(
            "workgroup_bytes",
            "{} of workgroup memory",
            FactValue::Bytes(gpu.shared_bytes.into()),
        )),
        Some(Fact::new(
            "storage_buffers",
            "{} storage buffers",
            FactValue::Count(gpu.storage_buffers.into()),
        )),
        subgroup.map(|lanes| Fact::new("least_subgroup", "subgroups of {} or more", lanes)),
        Some(Fact::new("f16", "16-bit floats", FactValue::Flag(gpu.f16))),
        Some(Fact::new("dot4", "4-byte dot products", FactValue::Flag(gpu.dot4))),
        matrices.map(|shapes| {
            Fact::new("matrices", "cooperative matrices ({})", FactValue::Text(shapes.join("; ")))
        }),
        Some(Fact::new("clock", "timestamps", FactValue::Flag(adapter.has_clock()))),
    ];
    DeviceInfo {
        name: adapter.name().into(),
        kind: adapter.kind(),
        interface: Some(adapter.interface()),
        driver: Some(adapter.driver()).filter(|driver| !driver.is_empty()),
        memory_bytes: adapter.memory(),
        facts: facts.into_iter().flatten().collect(),
    }
}
