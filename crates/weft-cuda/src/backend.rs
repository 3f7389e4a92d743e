//! NVIDIA cards as a [`Backend`].

use std::io;
use std::path::Path;

use weft_device::{
    Backend, Departure, Device, DeviceInfo, DeviceKind, Fact, FactValue, OpenError, OpenOptions, Target,
    choose,
};

use crate::card::{Card, cards};
use crate::device::{CudaDevice, scheduler};
use crate::hardware::hardware;

/// The [`Backend`] of NVIDIA cards.
#[derive(Clone, Copy, Debug)]
pub struct CudaBackend;

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn about(&self) -> &'static str {
        "an NVIDIA GPU, through CUDA"
    }

    fn has_names(&self) -> bool {
        true
    }

    fn probe(&self) -> Vec<DeviceInfo> {
        cards().iter().map(info).collect()
    }

    fn missing(&self) -> &'static str {
        "this machine has no NVIDIA GPU, or no driver for it; `--device gpu` and `--device cpu` need neither"
    }

    fn ready(&self) -> Result<(), String> {
        let best = find(None).map_err(|error| error.to_string())?;
        match best.unsupported() {
            Some(why) => Err(why),
            None => weft_nvrtc::find(best.driver).map(drop),
        }
    }

    fn open(&self, name: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        Ok(Box::new(CudaDevice::open(&find(name)?, options)?))
    }

    fn target(&self, name: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        let card = find(name)?;
        let scheduler = scheduler(&card, options.schedule_folder());
        Ok(Target { hardware: hardware(&card), text: Some(Box::new(scheduler)) })
    }

    fn departures(&self) -> Vec<&'static Departure> {
        weft_gpu::departures().collect()
    }

    fn clear(&self, folder: &Path) -> io::Result<u64> {
        weft_gpu::clear(folder)
    }
}

/// The card that a name means: a part of its name, or its number as `weft devices` counts.
fn find(name: Option<&str>) -> Result<Card, OpenError> {
    let mut cards = cards();
    let names: Vec<String> = cards.iter().map(|card| card.name.clone()).collect();
    let by_number = name.and_then(|name| name.parse::<usize>().ok()).filter(|n| *n < cards.len());
    let at = match by_number {
        Some(at) => at,
        None => choose(&CudaBackend, &names, name)?,
    };
    Ok(cards.swap_remove(at))
}

fn info(card: &Card) -> DeviceInfo {
    let (major, minor) = card.capability;
    let facts = vec![
        Fact::new("compute_capability", "compute capability {}", FactValue::Text(format!("{major}.{minor}"))),
        Fact::new("multiprocessors", "{} multiprocessors", FactValue::Count(card.processors.into())),
        Fact::new(
            "workgroup_bytes",
            "{} of shared memory a block",
            FactValue::Bytes(card.shared_bytes.into()),
        ),
        Fact::new("cache_bytes", "{} of cache", FactValue::Bytes(card.cache as u64)),
    ];
    let unsupported =
        card.unsupported().map(|why| Fact::new("unsupported", "not supported: {}", FactValue::Text(why)));
    let (major, minor) = card.driver;
    DeviceInfo {
        name: card.name.clone(),
        kind: DeviceKind::Discrete,
        interface: Some("CUDA".into()),
        driver: Some(format!("CUDA {major}.{minor}")),
        memory_bytes: Some(card.memory as u64),
        facts: facts.into_iter().chain(unsupported).collect(),
    }
}
