//! Tests of the sampler: frequencies, what is cut, and that sorting less changes no choice.

use super::*;
use weft_runtime::Candidates;

fn plain() -> Sampling {
    Sampling { top_k: 0, top_p: 1.0, min_p: 0.0, temperature: 1.0, ..Sampling::default() }
}

fn counts(sampling: Sampling, logits: &[f32]) -> Vec<usize> {
    let mut sampler = Sampler::new(sampling);
    let mut counts = vec![0; logits.len()];
    for _ in 0..20_000 {
        counts[sampler.sample(logits).unwrap() as usize] += 1;
    }
    counts
}

#[test]
fn frequencies_follow_the_probabilities() {
    let p = [0.5f32, 0.3, 0.15, 0.05];
    let logits = p.map(f32::ln);
    for (count, p) in counts(plain(), &logits).iter().zip(p) {
        // Five standard deviations of a binomial of 20000.
        let deviation = (20_000.0 * p * (1.0 - p)).sqrt() * 5.0;
        assert!((*count as f32 - 20_000.0 * p).abs() < deviation, "{count} for {p}");
    }
    let hot = counts(Sampling { temperature: 0.5, ..plain() }, &logits);
    let expected = 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025);
    assert!((hot[0] as f32 / 20_000.0 - expected).abs() < 0.02);
}

#[test]
fn unlikely_tokens_are_cut() {
    let logits = [0.5f32, 0.3, 0.15, 0.05].map(f32::ln);
    let kept = |s: Sampling| counts(s, &logits).iter().map(|c| usize::from(*c > 0)).collect::<Vec<_>>();
    assert_eq!(kept(Sampling { top_k: 2, ..plain() }), [1, 1, 0, 0]);
    assert_eq!(kept(Sampling { top_p: 0.79, ..plain() }), [1, 1, 0, 0]);
    assert_eq!(kept(Sampling { top_p: 0.81, ..plain() }), [1, 1, 1, 0]);
    assert_eq!(kept(Sampling { min_p: 0.2, ..plain() }), [1, 1, 1, 0]);
    assert_eq!(kept(Sampling { temperature: 0.0, ..plain() }), [1, 0, 0, 0]);
}

#[test]
fn equal_seeds_give_equal_tokens() {
    let logits = [0.0f32; 50];
    let choices = |seed| {
        let mut s = Sampler::new(Sampling { seed, ..plain() });
        (0..20).map(|_| s.sample(&logits).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(choices(7), choices(7));
    assert_ne!(choices(7), choices(8));
}

/// Samples as the documentation says, sorting everything.
fn naive(sampling: Sampling, random: &mut Random, logits: &[f32]) -> u32 {
    let Sampling { top_k, top_p, min_p, temperature, .. } = sampling;
    let mut all: Vec<(u32, f32, f32)> = (0u32..).zip(logits).map(|(id, logit)| (id, *logit, 0.0)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(if top_k == 0 { usize::MAX } else { top_k });
    let top = all[0].1;
    let weigh = |all: &mut Vec<(u32, f32, f32)>, temperature: f32| {
        all.iter_mut().for_each(|one| {
            one.2 = if one.1 == top { 1.0 } else { ((one.1 - top) / temperature).exp() };
        });
        all.iter().map(|one| one.2).sum::<f32>()
    };
    let total = weigh(&mut all, 1.0);
    if top_p < 1.0 {
        let mut sum = 0.0;
        let enough = all.iter().position(|one| {
            sum += one.2;
            sum >= top_p * total
        });
        all.truncate(enough.map_or(usize::MAX, |last| last + 1));
    }
    if min_p > 0.0 {
        let keep = all.iter().take_while(|one| one.2 >= min_p).count();
        all.truncate(keep.max(1));
    }
    let mut left = random.uniform() * weigh(&mut all, temperature);
    for (id, _, p) in &all {
        left -= p;
        if left < 0.0 {
            return *id;
        }
    }
    all.iter().rev().find(|one| one.2 > 0.0).unwrap().0
}

#[test]
fn sorting_less_changes_no_choice() {
    let mut random = Random::new(5);
    // Flat, peaked and very peaked distributions, the last mostly forbidden.
    for (width, forbidden) in [(0.5, 0), (6.0, 1), (40.0, 8)] {
        let logits: Vec<f32> = (0..3000)
            .map(|_| match random.below(9) < forbidden {
                true => f32::NEG_INFINITY,
                false => (0..4).map(|_| width * random.signed()).sum(),
            })
            .collect();
        for (top_k, top_p, min_p) in [
            (0, 1.0, 0.0),
            (0, 0.95, 0.0),
            (0, 0.999_999_9, 0.0),
            (0, 0.0, 0.0),
            (0, 1.0, 0.05),
            (0, 1.0, 1e-12),
            (0, 1.0, 2.0),
            (0, 0.9, 0.01),
            (100, 1.0, 0.0),
            (100, 0.9, 0.01),
        ] {
            for temperature in [0.1, 0.6, 1.0, 1.7, 30.0] {
                let s = Sampling { top_k, top_p, min_p, temperature, seed: 9, ..Sampling::default() };
                let (mut sampler, mut random) = (Sampler::new(s), Random::new(9));
                for _ in 0..30 {
                    let expected = naive(s, &mut random, &logits);
                    assert_eq!(sampler.sample(&logits).unwrap(), expected, "{width} {s:?}");
                }
            }
        }
    }
}

/// The `k` candidates of logits as a device chooses them.
fn chosen(logits: &[f32], k: usize) -> Vec<u8> {
    let key = |logit: f32| if logit.is_nan() { f32::NAN } else { logit };
    let mut all: Vec<(u32, f32)> = (0u32..).zip(logits.iter().copied()).collect();
    all.sort_by(|a, b| key(b.1).total_cmp(&key(a.1)).then(a.0.cmp(&b.0)));
    all.truncate(k);
    let values = all.iter().map(|(_, logit)| *logit).chain(all.iter().map(|(id, _)| *id as f32));
    values.flat_map(f32::to_le_bytes).collect()
}

/// Candidates give the token that all logits give, with the same random numbers, or say that they do not know.
#[test]
fn candidates_change_no_choice() {
    let mut random = Random::new(6);
    let mut counts = [0; 2];
    for (len, width) in [(1, 1.0), (50, 1.0), (63, 9.0), (64, 9.0), (65, 9.0), (3001, 0.5), (3001, 9.0)] {
        let mut rows: Vec<Vec<f32>> =
            (0..6).map(|_| (0..len).map(|_| width * random.signed() * random.signed()).collect()).collect();
        rows.push((0..len).map(|_| random.below(7) as f32).collect());
        rows.push((0..len).map(|i| if i % 9 == 4 { 0.5 } else { f32::NEG_INFINITY }).collect());
        rows.push((0..len).map(|i| if i % 40 == 3 { f32::INFINITY } else { 1.0 }).collect());
        rows.push(vec![f32::NEG_INFINITY; len]);
        for nan in [f32::NAN, -f32::NAN] {
            rows.push((0..len).map(|i| if i == len / 2 { nan } else { i as f32 }).collect());
        }
        for (top_k, top_p, min_p) in [
            (0, 1.0, 0.0),
            (0, 0.9, 0.0),
            (0, 1.0, 0.05),
            (0, 1.0, 2.0),
            (1, 1.0, 0.0),
            (40, 0.95, 0.05),
            (64, 0.5, 0.0),
            (65, 0.5, 0.0),
            (65, 0.1, 0.0),
        ] {
            for temperature in [0.0, 0.1, 1.0, 30.0] {
                let s = Sampling { top_k, top_p, min_p, temperature, seed: 3, ..Sampling::default() };
                let (mut all, mut few) = (Sampler::new(s), Sampler::new(s));
                for row in rows.iter().cycle().take(3 * rows.len()) {
                    let expected = all.sample(row);
                    let chosen = chosen(row, 64);
                    let mut known = Known::default();
                    let found = match known.take(Candidates::new(&chosen, len)) {
                        true => few.sample_known(&known).transpose(),
                        false => Some(Err(Error::NotNumbers)),
                    };
                    let is_known = found.is_some();
                    let found = found.unwrap_or_else(|| few.sample(row));
                    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{len} {width} {s:?}");
                    assert!(is_known || len > 64 && !(1..65).contains(&top_k), "{len} {s:?}");
                    counts[usize::from(is_known)] += 1;
                }
            }
        }
    }
    assert!(counts[1] > 5 * counts[0] && counts[0] > 100, "{counts:?}");
}

/// Random numbers close to 1 choose among tokens that the sum loses by rounding.
#[test]
fn the_unlikeliest_tokens_can_be_chosen() {
    let mut logits = vec![0.0f32];
    logits.extend((0..40_000).map(|i| (0.7 * 2f32.powi(-23)).ln() - (i % 7) as f32));
    let s = Sampling { seed: 1, ..plain() };
    let (mut sampler, mut random) = (Sampler::new(s), Random::new(1));
    let mut unlikely = 0;
    for _ in 0..100_000 {
        // Only these draws reach the tail, and sorting is slow.
        if random.clone().uniform() < 0.999 {
            random.uniform();
            sampler.random.uniform();
            continue;
        }
        let expected = naive(s, &mut random, &logits);
        assert_eq!(sampler.sample(&logits).unwrap(), expected);
        unlikely += usize::from(expected != 0);
    }
    assert!(unlikely > 0);
}

#[test]
fn the_first_of_the_likeliest_is_chosen() {
    let choose = |logits: &[f32]| Sampler::new(Sampling::greedy()).sample(logits).unwrap();
    assert_eq!(choose(&[1.0, 3.0, -2.0, 3.0]), 1);
    assert_eq!(choose(&[-0.0, 0.0]), 1);
    assert_eq!(choose(&[f32::NEG_INFINITY, f32::MIN]), 1);
}

#[test]
fn nan_logits_are_an_error() {
    let mut s = Sampler::new(plain());
    for nan in [f32::NAN, -f32::NAN] {
        assert!(matches!(s.sample(&[nan, 1.0]), Err(Error::NotNumbers)));
        let many = [[0.0; 99].as_slice(), &[nan]].concat();
        assert!(matches!(s.sample(&many), Err(Error::NotNumbers)));
    }
    assert_eq!(s.sample(&[0.0, f32::INFINITY, 1.0]).unwrap(), 1);
    let no_temperature = Sampling { temperature: f32::NAN, ..plain() };
    assert_eq!(Sampler::new(no_temperature).sample(&[0.0, 2.0, 1.0]).unwrap(), 1);
}

#[test]
fn forbidden_tokens_are_never_sampled() {
    for sampling in [plain(), Sampling::greedy()] {
        let mut s = Sampler::new(sampling);
        assert!(matches!(s.sample(&[f32::NEG_INFINITY; 3]), Err(Error::NothingAllowed)));
        assert!(matches!(s.sample(&[]), Err(Error::NothingAllowed)));
    }
    // One token that is nearly certain, and many whose probabilities the sum loses by rounding: some random numbers
    // are then larger than what the loop subtracts, and fall through to its end.
    let mut logits = vec![0.0f32];
    logits.extend(std::iter::repeat_n((0.7 * 2f32.powi(-23)).ln(), 40_000));
    logits.push(f32::NEG_INFINITY);
    let mut s = Sampler::new(Sampling { seed: 1, ..plain() });
    assert!((0..20_000).all(|_| s.sample(&logits).unwrap() != 40_001));
}
