//! The chain against llama.cpp's definitions, written plainly, and against the sampler that sorts less.

use weft_random::Random;
use weft_runtime::Candidates;

use super::*;
use crate::sampling::sample::Sampler;

fn plain() -> Sampling {
    Sampling { top_k: 0, top_p: 1.0, min_p: 0.0, temperature: 1.0, ..Sampling::default() }
}

/// Tokens and their probabilities at temperature 1, the likeliest first.
type Left = Vec<(u32, f64)>;

fn normalised(mut left: Left) -> Left {
    let total: f64 = left.iter().map(|one| one.1).sum();
    left.iter_mut().for_each(|one| one.1 /= total);
    left
}

fn entropy_of(left: &Left) -> f64 {
    left.iter().map(|one| -one.1 * one.1.ln()).filter(|bits| bits.is_finite()).sum()
}

/// The candidates that llama.cpp's default chain keeps, with the probabilities from which it draws.
fn left(logits: &[f32], s: &Sampling, xtc: f32) -> Left {
    let mut all: Vec<(u32, f64)> = (0u32..).zip(logits).map(|(id, logit)| (id, f64::from(*logit))).collect();
    all.retain(|one| one.1 > f64::NEG_INFINITY);
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if s.top_n_sigma > 0.0 {
        let n = all.len() as f64;
        let mean = all.iter().map(|one| one.1).sum::<f64>() / n;
        let deviation = (all.iter().map(|one| (one.1 - mean).powi(2)).sum::<f64>() / n).sqrt();
        let least = all[0].1 - f64::from(s.top_n_sigma) * deviation;
        all.retain(|one| one.1 >= least);
    }
    all.truncate(if s.top_k == 0 { usize::MAX } else { s.top_k });
    let top = all[0].1;
    let logit_of = all.clone();
    let mut left: Left = normalised(all.into_iter().map(|(id, logit)| (id, (logit - top).exp())).collect());
    if s.typical_p < 1.0 {
        let entropy = entropy_of(&left);
        let mut order = left.clone();
        order.sort_by(|a, b| (-a.1.ln() - entropy).abs().total_cmp(&(-b.1.ln() - entropy).abs()));
        let mut sum = 0.0;
        let enough = order.iter().position(|one| {
            sum += one.1;
            sum > f64::from(s.typical_p)
        });
        order.truncate(enough.map_or(usize::MAX, |last| last + 1));
        left.retain(|one| order.iter().any(|other| other.0 == one.0));
        left = normalised(left);
    }
    if s.top_p < 1.0 {
        let mut sum = 0.0;
        let enough = left.iter().position(|one| {
            sum += one.1;
            sum >= f64::from(s.top_p)
        });
        left.truncate(enough.map_or(usize::MAX, |last| last + 1));
    }
    let likeliest = left[0].1;
    left.retain(|one| one.1 >= f64::from(s.min_p) * likeliest);
    left = normalised(left);
    if s.xtc_probability > 0.0 && s.xtc_threshold <= 0.5 && left.len() > 1 && xtc < s.xtc_probability {
        let likely = left.iter().take_while(|one| one.1 >= f64::from(s.xtc_threshold)).count();
        left.drain(..likely.max(1) - 1);
        left = normalised(left);
    }
    let mut temperature = f64::from(s.temperature);
    if s.dynatemp_range > 0.0 && left.len() > 1 {
        let spread = entropy_of(&left) / (left.len() as f64).ln();
        let (low, high) =
            ((temperature - f64::from(s.dynatemp_range)).max(0.0), temperature + f64::from(s.dynatemp_range));
        temperature = low + (high - low) * spread.powf(f64::from(s.dynatemp_exponent));
    }
    if temperature <= 0.0 {
        return vec![(left[0].0, 1.0)];
    }
    let logit = |id: u32| logit_of.iter().find(|one| one.0 == id).unwrap().1;
    let first = logit(left[0].0);
    normalised(left.iter().map(|one| (one.0, ((logit(one.0) - first) / temperature).exp())).collect())
}

/// Whether a random number may choose this token, within rounding.
fn may_choose(left: &Left, token: u32, random: f32) -> bool {
    let mut sum = 0.0;
    left.iter().any(|one| {
        let from = sum;
        sum += one.1;
        one.0 == token && (from - 1e-4..=sum + 1e-4).contains(&f64::from(random))
    })
}

/// Logits of several shapes.
fn rows(random: &mut Random) -> Vec<Vec<f32>> {
    let mut rows = Vec::new();
    for (len, width) in [(1, 1.0), (2, 3.0), (50, 1.0), (700, 0.5), (700, 6.0)] {
        rows.push((0..len).map(|_| (0..3).map(|_| width * random.signed()).sum()).collect());
    }
    rows.push((0..300).map(|i| if i % 9 == 4 { 3.0 * random.signed() } else { f32::NEG_INFINITY }).collect());
    rows
}

/// Parameters of each sampler, alone and together.
fn settings() -> Vec<Sampling> {
    let s = plain();
    vec![
        Sampling { top_n_sigma: 1.0, ..s },
        Sampling { top_n_sigma: 2.5, top_k: 9, ..s },
        Sampling { typical_p: 0.5, ..s },
        Sampling { typical_p: 0.9, top_k: 40, top_p: 0.9, ..s },
        Sampling { typical_p: 0.0, temperature: 0.0, ..s },
        Sampling { xtc_probability: 1.0, xtc_threshold: 0.05, ..s },
        Sampling { xtc_probability: 0.5, xtc_threshold: 0.1, temperature: 0.0, ..s },
        Sampling { xtc_probability: 0.5, xtc_threshold: 0.01, min_p: 0.02, ..s },
        Sampling { dynatemp_range: 0.5, ..s },
        Sampling { dynatemp_range: 3.0, dynatemp_exponent: 2.0, top_k: 20, ..s },
        Sampling { dynatemp_range: 1.0, temperature: 0.0, ..s },
        Sampling {
            top_n_sigma: 2.0,
            typical_p: 0.95,
            xtc_probability: 0.5,
            dynatemp_range: 0.3,
            ..Sampling::default()
        },
    ]
}

#[test]
fn tokens_are_those_of_llama_cpp() {
    let mut random = Random::new(11);
    let rows = rows(&mut random);
    for s in settings() {
        for (number, logits) in rows.iter().enumerate() {
            let s = Sampling { seed: number as u64, ..s };
            let (mut tokens, mut xtc) = (Random::new(s.seed), Random::named(s.seed, "xtc"));
            let mut sampler = Sampler::new(s);
            for _ in 0..60 {
                let found = sampler.sample(logits).unwrap();
                let left = left(logits, &s, xtc.uniform());
                assert!(
                    may_choose(&left, found, tokens.uniform()),
                    "{found} of row {number}, {s:?}: {left:?}"
                );
            }
        }
    }
}

/// The candidates that remain of these probabilities, in the form of llama.cpp's own tests.
fn kept(p: &[f32], s: &Sampling) -> Vec<u32> {
    let logits: Vec<f32> = p.iter().map(|p| p.ln()).collect();
    let mut chain = Chain::default();
    chain.begin(&logits, s);
    chain.draw(s, Drawn { token: 0.0, xtc: 0.0 });
    let mut kept: Vec<u32> = chain.kept.iter().map(|one| one.token()).collect();
    kept.sort_unstable();
    kept
}

#[test]
fn examples_of_llama_cpp() {
    let typical = |p: &[f32], typical_p: f32| kept(p, &Sampling { typical_p, ..plain() });
    assert_eq!(typical(&[0.97, 0.01, 0.01, 0.01], 0.5), [0]);
    assert_eq!(typical(&[0.4, 0.2, 0.2, 0.2], 0.5), [1, 2, 3]);
    let xtc = |xtc_threshold: f32| {
        kept(&[0.4, 0.3, 0.2, 0.1], &Sampling { xtc_probability: 0.99, xtc_threshold, ..plain() })
    };
    assert_eq!(xtc(0.09), [3]);
    assert_eq!(xtc(0.19), [2, 3]);
    assert_eq!(xtc(0.29), [1, 2, 3]);
    assert_eq!(xtc(0.39), [0, 1, 2, 3]);
    assert_eq!(xtc(0.51), [0, 1, 2, 3]);
    let sigma = |top_n_sigma: f32| kept(&[0.1, 0.2, 0.3, 0.4], &Sampling { top_n_sigma, ..plain() });
    assert_eq!(sigma(1.0), [2, 3]);
    assert_eq!(sigma(0.0), [0, 1, 2, 3]);
    assert_eq!(sigma(3.0), [0, 1, 2, 3]);
}

/// Without its own samplers, the chain chooses what the sampler that sorts less does.
#[test]
fn the_other_samplers_are_the_same() {
    let mut random = Random::new(12);
    for logits in rows(&mut random) {
        for (top_k, top_p, min_p) in
            [(0, 1.0, 0.0), (40, 0.95, 0.05), (5, 1.0, 0.0), (0, 0.5, 0.0), (0, 1.0, 0.3)]
        {
            for temperature in [0.3, 1.0, 4.0] {
                let s = Sampling { top_k, top_p, min_p, temperature, ..plain() };
                let (mut sampler, mut chain, mut numbers) =
                    (Sampler::new(s), Chain::default(), Random::new(s.seed));
                for _ in 0..30 {
                    chain.begin(&logits, &s);
                    let found = chain.draw(&s, Drawn { token: numbers.uniform(), xtc: 0.0 });
                    assert_eq!(found, sampler.sample(&logits).unwrap(), "{s:?}");
                }
            }
        }
    }
}

/// The `k` candidates of logits as a device chooses them.
fn chosen(logits: &[f32], k: usize) -> Vec<u8> {
    let mut all: Vec<(u32, f32)> = (0u32..).zip(logits.iter().copied()).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    let values = all.iter().map(|(_, logit)| *logit).chain(all.iter().map(|(id, _)| *id as f32));
    values.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn candidates_change_no_choice() {
    let mut random = Random::new(13);
    let mut known_of = [0; 2];
    for logits in rows(&mut random) {
        for s in settings() {
            let (mut all, mut few) = (Sampler::new(s), Sampler::new(s));
            for _ in 0..20 {
                let expected = all.sample(&logits).unwrap();
                let bytes = chosen(&logits, 64);
                let mut known = Known::default();
                assert!(known.take(Candidates::new(&bytes, logits.len())));
                let found = few.sample_known(&known).unwrap();
                known_of[usize::from(found.is_some())] += 1;
                assert_eq!(found.unwrap_or_else(|| few.sample(&logits).unwrap()), expected, "{s:?}");
            }
        }
    }
    assert!(known_of[1] > 200 && known_of[0] > 200, "{known_of:?}");
}

#[test]
fn mirostat_follows_the_surprise() {
    let mut random = Random::new(14);
    let rows = rows(&mut random);
    let s = Sampling {
        mirostat: true,
        mirostat_tau: 3.0,
        mirostat_eta: 0.2,
        temperature: 0.8,
        ..Sampling::default()
    };
    let (mut sampler, mut numbers) = (Sampler::at(s, 5), Random::new(s.seed).skip(5));
    let mut mu = 6.0;
    for logits in rows.iter().cycle().take(200) {
        let everything = Sampling { temperature: 0.8, ..plain() };
        let mut left = left(logits, &everything, 1.0);
        let few: Left = left.iter().copied().filter(|one| -one.1.log2() <= mu).collect();
        left = if few.is_empty() { vec![(left[0].0, 1.0)] } else { normalised(few) };
        let found = sampler.sample(logits).unwrap();
        assert!(may_choose(&left, found, numbers.uniform()), "{found}: {left:?}");
        let p = left.iter().find(|one| one.0 == found).unwrap().1;
        mu -= 0.2 * (-p.log2() - 3.0);
    }
    // A token that a grammar decides is no surprise.
    let (mut decided, mut forced) = (Sampler::new(s), Sampler::new(s));
    for _ in 0..30 {
        decided.decided();
        forced.sample(&[f32::NEG_INFINITY, 1.0, f32::NEG_INFINITY]).unwrap();
    }
    let later = |sampler: &mut Sampler| {
        (0..20).map(|i| sampler.sample(&rows[3 + i % 2]).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(later(&mut decided), later(&mut forced));
    let cold = Sampling { temperature: 0.0, ..s };
    assert_eq!(Sampler::new(cold).sample(&[0.0, 2.0, 1.0]).unwrap(), 1);
}

#[test]
fn the_temperature_rises_with_the_entropy() {
    let mut chain = Chain::default();
    let mut temperature = |p: &[f32], s: &Sampling| {
        let logits: Vec<f32> = p.iter().map(|p| p.ln()).collect();
        chain.begin(&logits, s);
        chain.temperature(s)
    };
    let s = Sampling { temperature: 1.0, dynatemp_range: 0.5, ..plain() };
    assert!((temperature(&[0.25; 4], &s) - 1.5).abs() < 1e-6);
    assert!(temperature(&[0.999, 0.001], &s) < 0.52);
    assert_eq!(temperature(&[1.0], &s), 1.0);
    let between = temperature(&[0.7, 0.2, 0.1], &s);
    let expected = 0.5 + (0.7f32.ln() * 0.7 + 0.2f32.ln() * 0.2 + 0.1f32.ln() * 0.1) / -3f32.ln();
    assert!((between - expected).abs() < 1e-5, "{between} {expected}");
    let steep = Sampling { dynatemp_exponent: 2.0, ..s };
    assert!(temperature(&[0.7, 0.2, 0.1], &steep) < between);
}
