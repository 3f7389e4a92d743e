//! Files that are not language models, by their kind.

/// The kind of a file of this architecture, and advice; `None` if it may be a language model.
pub(super) fn other(architecture: &str) -> Option<&'static str> {
    Some(match architecture {
        "clip" => {
            "this is the part of a model that reads images (an mmproj file), and Weft reads text only: name the model's other \
             file, which lies beside it"
        }
        "gemma4-assistant" => {
            "this is the part of a Gemma 4 that guesses several tokens ahead (an MTP assistant), and Weft runs no such part: name the \
             model's other file"
        }
        "bert" | "nomic-bert" | "nomic-bert-moe" | "modern-bert" | "neo-bert" | "jina-bert-v2"
        | "jina-bert-v3" | "gemma-embedding" | "t5encoder" => {
            "this model embeds or ranks text and writes none, and Weft runs models that write text"
        }
        "t5" => "this model has an encoder and a decoder, and Weft runs models with a decoder only",
        "whisper" | "wavtokenizer-dec" => "this model is for sound, and Weft runs models that write text",
        "imatrix" => "this is an importance matrix: give it to `weft quantize --imatrix`",
        _ => return None,
    })
}
