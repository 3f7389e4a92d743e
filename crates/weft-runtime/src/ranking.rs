//! How a model ranks documents: the prompt with a query and a document, and the score that its results mean.

use weft_gguf::Gguf;
use weft_models::{Head, ModelGraph, reranker};
use weft_text::{EncodeOptions, RenderedPrompt, Tokenizer};

use crate::error::Error;

/// The key of the template. As llama.cpp converts it, it has `{query}` and `{document}`, and is no chat template.
const TEMPLATE: &str = "tokenizer.chat_template.rerank";
const QUERY: &str = "{query}";
const DOCUMENT: &str = "{document}";

/// How a model ranks documents.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranking {
    by: RankedBy,
    template: Option<Template>,
}

/// The value by which documents are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankedBy {
    /// The scores of a classifier, of which this one is that of relevant documents.
    Label(usize),
    /// The logits of two tokens, the next of the prompt: that of relevant documents, and that of others.
    Tokens([u32; 2]),
}

/// The texts around a query and a document.
#[derive(Clone, PartialEq, Debug)]
struct Template {
    texts: [String; 3],
    /// Whether the query comes first.
    query_first: bool,
}

impl Ranking {
    /// How the model of a file ranks documents. `None` if it does not: it has no classifier, and is not called a reranker.
    ///
    /// # Errors
    /// If the template of the file has no place for the query or the document.
    pub(crate) fn of(
        gguf: &Gguf,
        graph: &ModelGraph,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Ranking>, Error> {
        let mut default = None;
        let by = match graph.config.head {
            Head::Embedding(_) => return Ok(None),
            Head::Scores { relevant, .. } => RankedBy::Label(relevant),
            Head::Logits => {
                let Some(reranker) = reranker(gguf) else { return Ok(None) };
                match reranker.tokens.map(|text| one_token(tokenizer, text)) {
                    [Some(yes), Some(no)] => {
                        default = Some(reranker.template);
                        RankedBy::Tokens([yes, no])
                    }
                    _ => return Ok(None),
                }
            }
        };
        let own = gguf.metadata().str(TEMPLATE)?;
        let template = own.or(default).map(Template::parse).transpose();
        let file = gguf.metadata().file();
        let template = template.map_err(|why| Error::Option(format!("{file}: `{TEMPLATE}` {why}")))?;
        Ok(Some(Ranking { by, template }))
    }

    /// The value by which documents are ranked.
    pub fn by(&self) -> RankedBy {
        self.by
    }

    /// The prompt with a query and a document, neither of which contains control tokens. Without a template it is, as in llama.cpp,
    /// one after the other, with the tokens before and after a text that the tokenizer adds.
    pub fn prompt(&self, tokenizer: &Tokenizer, query: &str, document: &str) -> Vec<u32> {
        let Some(Template { texts: [before, between, after], query_first }) = &self.template else {
            let whole =
                |text| tokenizer.encode(text, EncodeOptions { parse_special: false, add_special: true });
            // Only the first of both begins with a BOS token.
            let begun = usize::from(tokenizer.added_bos().is_some());
            return [&whole(query)[..], whole(document).get(begun..).unwrap_or_default()].concat();
        };
        let [first, second] = if *query_first { [query, document] } else { [document, query] };
        let mut prompt = RenderedPrompt::trusted("");
        prompt.push_markup(before);
        prompt.push_data(first);
        prompt.push_markup(between);
        prompt.push_data(second);
        prompt.push_markup(after);
        tokenizer.encode_chat(&prompt)
    }

    /// How relevant a document is, from 0 to 1: the probability of the label or the token that says so, by the results of the model for
    /// its prompt. These are the scores of all labels, or the logits of both tokens.
    pub fn score(&self, results: &[f32]) -> f32 {
        let relevant = match self.by {
            RankedBy::Label(relevant) => relevant,
            RankedBy::Tokens(_) => 0,
        };
        let Some(own) = results.get(relevant).map(|score| f64::from(*score)) else { return 0.0 };
        let others = results.iter().enumerate().filter(|(label, _)| *label != relevant);
        let sum: f64 = others.map(|(_, score)| (f64::from(*score) - own).exp()).sum();
        // A single score is that of relevance against irrelevance.
        let sum = if results.len() == 1 { (-own).exp() } else { sum };
        (1.0 / (1.0 + sum)) as f32
    }
}

impl Template {
    /// Splits a template at its two places.
    fn parse(text: &str) -> Result<Template, &'static str> {
        const EXPECTED: &str =
            "is no template for reranking: expected `{query}` and `{document}` in it, each once";
        let (Some(query), Some(document)) = (text.find(QUERY), text.find(DOCUMENT)) else {
            return Err(EXPECTED);
        };
        if text.matches(QUERY).count() != 1 || text.matches(DOCUMENT).count() != 1 {
            return Err(EXPECTED);
        }
        let query_first = query < document;
        let [(first, first_len), (second, second_len)] = match query_first {
            true => [(query, QUERY.len()), (document, DOCUMENT.len())],
            false => [(document, DOCUMENT.len()), (query, QUERY.len())],
        };
        let texts = [&text[..first], &text[first + first_len..second], &text[second + second_len..]];
        Ok(Template { texts: texts.map(str::to_string), query_first })
    }
}

/// The token of a text that is a single one.
fn one_token(tokenizer: &Tokenizer, text: &str) -> Option<u32> {
    match tokenizer.encode(text, EncodeOptions { parse_special: false, add_special: false })[..] {
        [token] => Some(token),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_the_probability_of_the_relevant_label() {
        let score = |relevant, results: &[f32]| {
            Ranking { by: RankedBy::Label(relevant), template: None }.score(results)
        };
        assert_eq!(score(0, &[2.0, 2.0]), 0.5);
        assert!((score(0, &[1.0, -1.0]) - 0.880_797).abs() < 1e-6);
        assert_eq!(score(0, &[1.0, -1.0]) + score(1, &[1.0, -1.0]), 1.0);
        assert!((score(1, &[0.0, 1.0, 0.5]) - 0.506_480).abs() < 1e-6);
        // One label: llama.cpp's softmax of one score would always be 1.
        assert!((score(0, &[1.5]) - 0.817_574).abs() < 1e-6);
        for (results, expected) in [(&[1e30, -1e30], 1.0), (&[-1e30, 1e30], 0.0)] {
            assert_eq!(score(0, results), expected);
        }
        assert_eq!(Ranking { by: RankedBy::Tokens([7, 9]), template: None }.score(&[3.0, 3.0]), 0.5);
    }

    #[test]
    fn a_template_has_each_place_once() {
        let parsed = Template::parse("a{query}b{document}c").unwrap();
        assert_eq!((parsed.texts, parsed.query_first), (["a", "b", "c"].map(str::to_string), true));
        let parsed = Template::parse("{document}{query}").unwrap();
        assert_eq!((parsed.texts, parsed.query_first), (["", "", ""].map(str::to_string), false));
        for wrong in ["", "{query}", "{document}", "{query}{document}{document}", "{query}{query}{document}"]
        {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
