//! How OpenAI's two older APIs deliver a reply.

use weft_engine::GenerateOptions;

use crate::error::ApiError;
use crate::json::Fields;

/// Whether a reply is streamed, and how the stream ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Streaming {
    /// Whether it is streamed.
    pub(crate) stream: bool,
    /// Whether a stream ends with the usage.
    pub(crate) include_usage: bool,
}

impl Streaming {
    /// Reads `stream` and `stream_options`.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Streaming, ApiError> {
        let stream = fields.flag("stream")?.unwrap_or(false);
        let mut include_usage = false;
        if let Some(mut options) = fields.object("stream_options")? {
            include_usage = options.flag("include_usage")?.unwrap_or(false);
            options.ignore(&["include_obfuscation"]);
            options.end()?;
        }
        Ok(Streaming { stream, include_usage })
    }
}

/// Reads llama.cpp's `cache_prompt`: whether the request uses the prefix cache.
///
/// # Errors
/// If it is not a flag.
pub(crate) fn read_cache(fields: &mut Fields<'_>, options: &mut GenerateOptions) -> Result<(), ApiError> {
    options.cache = fields.flag("cache_prompt")?.unwrap_or(options.cache);
    Ok(())
}
