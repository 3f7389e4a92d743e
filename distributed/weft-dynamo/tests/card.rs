//! The card, read with the library that the front end reads it with.

use std::path::PathBuf;

use serde_json::Value;
use weft_dynamo::card;
use weft_engine::{EncodeOptions, tokenizer};
use weft_gguf::Gguf;

const TEXTS: [&str; 8] = [
    "Once upon a time there was a fox.",
    "",
    "  two  spaces\n\n\tand a tab, 12345 numbers, it's I'LL don't",
    "naïve café — “quotes” 你好，世界 привет 🦊👩‍🚀",
    "fn main() { println!(\"{}\", 1_000.5e-3); }  // end\r\n",
    "<|im_start|>user\nhello<|im_end|>\n",
    "trailing space ",
    "ſ 's ＡＢＣ ½ \u{4}\u{7f}",
];

#[test]
fn the_library_encodes_as_weft_does() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let models =
        ["models/glm-small/glm-small-q8_0.gguf", "fixtures/glm-tiny-q4_k_m.gguf"].map(|name| root.join(name));
    let own = std::env::var_os("WEFT_DYNAMO_MODELS");
    let more = own.iter().flat_map(std::env::split_paths);
    for model in models.into_iter().chain(more) {
        let name = model.display();
        let gguf = Gguf::open(&model).unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(model.file_stem().unwrap());
        card::write(gguf.metadata(), &folder).unwrap();
        let ours = tokenizer(gguf.metadata()).unwrap();
        let theirs = tokenizers::Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
        for text in TEXTS {
            for add_special in [false, true] {
                let found = theirs.encode(text, add_special).unwrap();
                let expected = ours.encode(text, EncodeOptions { parse_special: true, add_special });
                assert_eq!(found.get_ids(), expected, "{name}: {text:?}");
                assert_eq!(
                    theirs.decode(&expected, false).unwrap(),
                    ours.decode(&expected, false),
                    "{name}: {text:?}"
                );
            }
        }
        let read = |file: &str| -> Value {
            serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap()
        };
        assert_eq!(read("config.json")["eos_token_id"], Value::from(ours.end_of_generation()), "{name}");
        assert_eq!(read("tokenizer_config.json")["chat_template"].as_str(), ours.chat_template(), "{name}");
    }
}
