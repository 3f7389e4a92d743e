//! The layer that predicts one token more, of models that have one.

use weft_models::{BuildOptions, Mtp};

use crate::error::Error;
use crate::layout::PAGE;
use crate::model::Model;
use crate::options::MtpLayer;
use crate::plans::sequence_states::has_states;

/// The graphs of the layer that predicts one token more, if they are wanted.
pub(crate) fn mtp(model: &Model, layer: MtpLayer) -> Result<Option<Mtp>, Error> {
    let options = BuildOptions { kv: model.kv(), page: PAGE, pooling: None };
    let built = || -> Result<Option<Mtp>, Error> {
        let built = weft_models::mtp(model.graph(), model.gguf(), &options)?;
        let segments = built.iter().flat_map(|mtp| mtp.segments.iter().chain([&mtp.hidden]));
        if segments.into_iter().any(|segment| has_states(&segment.graph)) {
            let why = "the model cannot guess its own tokens: its MTP layer has a state of whole sequences, which cannot follow the \
                       model at its own pace; speculate with `lookup` or `auto`";
            return Err(Error::Option(why.into()));
        }
        Ok(built)
    };
    match layer {
        MtpLayer::Off => Ok(None),
        MtpLayer::IfPossible => Ok(built().unwrap_or(None)),
        MtpLayer::Required => match built()? {
            Some(mtp) => Ok(Some(mtp)),
            None => Err(Error::Option(
                "the model cannot guess its own tokens: expected a file with an MTP layer (tensors named `nextn`), which \
                 this one lacks; speculate with `lookup` or `auto`"
                    .into(),
            )),
        },
    }
}
