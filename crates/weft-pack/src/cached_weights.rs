//! The packed weights of a model in the cache: loaded, or packed into it first.

use std::ops::ControlFlow;
use std::path::PathBuf;

use weft_device::WeightBytes;
use weft_gguf::Gguf;

use crate::cache::PackCache;
use crate::file::{self, Unusable};
use crate::header::Header;
use crate::identity::Identity;
use crate::layout::Layout;
use crate::report::{OnReport, PackError, Report};
use crate::work::Stop;

/// The cache file of a model's weights, which may not exist yet.
pub(crate) struct CachedWeights<'a> {
    cache: &'a PackCache,
    packing: &'static str,
    layout: &'a Layout<'a>,
    threads: usize,
    identity: Identity,
    /// The path of the model.
    model: PathBuf,
    file: PathBuf,
}

impl<'a> CachedWeights<'a> {
    /// The cache file for a model, or `None` if the model was not read from files.
    pub(crate) fn new(
        cache: &'a PackCache,
        model: &Gguf,
        packing: &'static str,
        layout: &'a Layout<'a>,
        threads: usize,
    ) -> Option<CachedWeights<'a>> {
        let identity = Identity::of(model)?;
        let model = weft_file::canonical(&model.files().first()?.path).ok()?;
        let file = cache.file(&model, packing);
        Some(CachedWeights { cache, packing, layout, threads, identity, model, file })
    }

    /// Loads the tiles, which are packed into the file first if necessary. Returns `None`, and reports why, if they
    /// cannot be stored there.
    pub(crate) fn tiles(&self, report: OnReport<'_>) -> Result<Option<Vec<WeightBytes>>, PackError> {
        let file = self.file.display();
        match self.open(report) {
            Ok(tiles) => return Ok(Some(tiles)),
            Err(Unusable::Interrupted) => return Err(PackError::Interrupted),
            // Writing it again would not help.
            Err(Unusable::NotMapped(why)) => {
                note(report, format!("{file} {why}; packing the weights in memory"))?;
                return Ok(None);
            }
            Err(Unusable::Missing) => {}
            Err(Unusable::Stale(why)) => note(report, format!("{file} {why}; packing the weights again"))?,
        }
        match self.write(report) {
            Ok(()) => {}
            Err(Stop::Interrupted) => return Err(PackError::Interrupted),
            Err(Stop::Failed(why)) => {
                // Another process may have written it meanwhile and use it, and Windows does not let it be replaced then.
                match self.open(report) {
                    Ok(tiles) => return Ok(Some(tiles)),
                    Err(Unusable::Interrupted) => return Err(PackError::Interrupted),
                    Err(_) => {}
                }
                note(
                    report,
                    format!("the packed weights cannot be cached and will be packed at every start: {why}"),
                )?;
                return Ok(None);
            }
        }
        let why = match self.open(report) {
            Ok(tiles) => return Ok(Some(tiles)),
            Err(Unusable::Interrupted) => return Err(PackError::Interrupted),
            // Another process removed or replaced it, or the disk is faulty.
            Err(Unusable::Missing) => "is gone".into(),
            Err(Unusable::Stale(why) | Unusable::NotMapped(why)) => why,
        };
        note(report, format!("{file} was just written and {why}; packing in memory"))?;
        Ok(None)
    }

    /// Loads the tiles from the file.
    fn open(&self, report: OnReport<'_>) -> Result<Vec<WeightBytes>, Unusable> {
        let mut progress = |done, total| report(Report::Checking { done, total });
        let opened =
            file::open(&self.file, self.identity, self.packing, self.layout, self.threads, &mut progress)?;
        Ok(opened.storage.slices(opened.ranges.into_iter()))
    }

    /// Packs the weights into the file.
    ///
    /// # Errors
    /// The reason, or that the callback interrupted it.
    fn write(&self, report: OnReport<'_>) -> Result<(), Stop<String>> {
        let header =
            Header::new(self.identity, self.model.to_string_lossy().into(), self.packing, self.layout);
        self.cache.make_room(&self.file, file::size(&header)).map_err(Stop::Failed)?;
        let mut progress = |done, total| report(Report::Packing { done, total });
        file::write(&self.file, header, self.layout, self.threads, &mut progress).map_err(|stop| match stop {
            Stop::Interrupted => Stop::Interrupted,
            Stop::Failed(error) => Stop::Failed(format!("cannot write {}: {error}", self.file.display())),
        })
    }
}

fn note(report: OnReport<'_>, note: String) -> Result<(), PackError> {
    match report(Report::Note(note)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(PackError::Interrupted),
    }
}
