//! Tells a measurement that was interrupted from a whole one.

use serde_json::Value;

use crate::windows::scored;

/// How far a measurement came before it was interrupted, such as `interrupted after 1 of 6 windows`;
/// `None` if it is whole.
pub fn interruption(results: &Value) -> Option<String> {
    let count = |value: &Value| value.as_u64().or_else(|| value.as_array().map(|all| all.len() as u64));
    if results["whole"] == false {
        let windows = &results["windows"];
        // Of a perplexity, each window is listed; of a divergence, only what was scored is counted.
        let read = count(&windows["nll"]).or_else(|| {
            let each = scored(usize::try_from(results["context"].as_u64()?).ok()?) as u64;
            results["scored_tokens"].as_u64()?.checked_div(each)
        });
        let of = windows["of"].as_u64().or(windows.as_u64());
        return Some(match (read, of) {
            (Some(read), Some(of)) => format!("interrupted after {read} of {of} windows"),
            _ => "interrupted".into(),
        });
    }
    if results["interrupted"] != true && results["optimized"] != "interrupted" {
        return None;
    }
    let tried = results["rows"].as_array().map_or(0, Vec::len) as u64;
    Some(match results["changes"].as_u64() {
        Some(of) if tried < of => format!("interrupted after {tried} of {of} changes"),
        Some(_) if results["interrupted"] == true => "interrupted while the winners were combined".into(),
        _ if results["interrupted"] == true => format!("interrupted after {tried} changes"),
        _ => "interrupted while the winners were measured again".into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_measurement_says_how_far_it_came() {
        for (results, said) in [
            (
                json!({ "whole": false, "windows": { "of": 6, "nll": [0.04] } }),
                "interrupted after 1 of 6 windows",
            ),
            // Two positions of each window of 5 are scored.
            (
                json!({ "whole": false, "windows": 4, "context": 5, "scored_tokens": 5 }),
                "interrupted after 2 of 4 windows",
            ),
            (json!({ "whole": false, "windows": 4, "context": 1, "scored_tokens": 5 }), "interrupted"),
            (
                json!({ "interrupted": true, "changes": 20, "rows": [1, 2] }),
                "interrupted after 2 of 20 changes",
            ),
            (json!({ "interrupted": true, "rows": [1, 2] }), "interrupted after 2 changes"),
            (
                json!({ "interrupted": true, "changes": 1, "rows": [1], "optimized": "interrupted" }),
                "interrupted while the winners were combined",
            ),
            (
                json!({ "interrupted": false, "changes": 1, "rows": [1], "optimized": "interrupted" }),
                "interrupted while the winners were measured again",
            ),
        ] {
            assert_eq!(interruption(&results).as_deref(), Some(said), "{results}");
        }
    }

    #[test]
    fn whole_measurements_say_nothing() {
        for results in [
            json!({ "whole": true, "windows": { "of": 1, "nll": [0.04] } }),
            json!({ "interrupted": false, "rows": [], "optimized": "nothing" }),
            json!({ "settings": [] }),
            Value::Null,
        ] {
            assert_eq!(interruption(&results), None, "{results}");
        }
    }
}
