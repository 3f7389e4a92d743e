//! Tests of pages of layers with a sliding window.

use weft_random::Random;

use weft_runtime::{Error, PageCopy, StepInputs, Window};

use super::super::key::{Key, Keys};
use super::super::{Begun, Found, Memory, Need, WORTH_A_COPY};
use super::*;
use crate::batch::{Entry, SeqId};

const PAGE: usize = 2 * WORTH_A_COPY;

fn pages(count: usize, context: usize, positions: usize, windowed: usize) -> Memory {
    let window = Window { positions, pages: windowed, margin: 1 };
    Memory::new(PAGE, count, context, 1 << 10).with_window(Some(window))
}

fn keys(tokens: &[u32]) -> Keys {
    let mut keys = Keys::new(Key::root([]));
    keys.extend(tokens, PAGE);
    keys
}

fn begin(pages: &mut Memory, tokens: &[u32]) -> Begun {
    let keys = keys(tokens);
    let found = pages.find(&keys, tokens);
    let begun = pages.begin(&keys, tokens);
    assert_eq!(found.rows.pages, begun.cached / PAGE);
    begun
}

/// Pages and how many of them are idle, in both pools.
fn found(rows: [usize; 2], windowed: [usize; 2]) -> Found {
    let cached = |[pages, idle]: [usize; 2]| Cached { pages, idle };
    Found { rows: cached(rows), windowed: cached(windowed) }
}

/// Computes the tokens of a sequence, in steps of `step` tokens.
fn compute(pages: &mut Memory, seq: SeqId, tokens: &[u32], step: usize) -> Result<(), Error> {
    while pages.len(seq) < tokens.len() {
        let at = pages.len(seq);
        let some = &tokens[at..tokens.len().min(at + step)];
        let entries: Vec<Entry> =
            some.iter().map(|token| Entry { seq, token: *token, logits: false, guess: false }).collect();
        let mut out = StepInputs::default();
        pages.place(&entries, &mut out)?;
        assert_eq!((out.window_slots.len(), out.window_pages.len()), (some.len(), out.pages.len()));
        pages.record(seq, tokens);
        pages.slide();
    }
    Ok(())
}

/// The number of pages that sequences hold of layers with a window.
fn held(pages: &Memory) -> usize {
    let pool = &pages.windows.as_ref().unwrap().pool;
    pool.count() - pool.available()
}

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// Every position that a token of a step sees is in a page of its own, where its row was written.
#[test]
fn tokens_find_all_rows_of_their_window() {
    let mut random = Random::new(7);
    for positions in [1, 2, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE] {
        let context = 20 * PAGE;
        let mut pages = pages(40, context, positions, 16);
        let seqs = [pages.new_sequence(), pages.new_sequence()];
        // The last write to each row.
        let mut rows = vec![None; 16 * PAGE];
        let mut out = StepInputs::default();
        for _ in 0..60 {
            let mut entries = Vec::new();
            for (which, seq) in seqs.into_iter().enumerate() {
                let room = context - pages.len(seq);
                let n = random.below(2 * PAGE).min(room);
                entries.extend((0..n).map(|_| Entry {
                    seq,
                    token: which as u32,
                    logits: false,
                    guess: false,
                }));
            }
            pages.place(&entries, &mut out).unwrap();
            for ((token, pos), slot) in out.tokens.iter().zip(&out.pos).zip(&out.window_slots) {
                rows[*slot as usize] = Some((*token, *pos));
            }
            for ((token, pos), first) in out.tokens.iter().zip(&out.pos).zip(&out.first) {
                let seen = *pos as usize + 1;
                for p in seen.saturating_sub(positions)..seen {
                    let page = out.window_pages[*first as usize + p / PAGE] as usize;
                    assert_eq!(rows[page * PAGE + p % PAGE], Some((*token, p as i32)));
                }
            }
            // Guesses that were wrong.
            let wrong = seqs[random.below(2)];
            let last = entries.iter().filter(|entry| entry.seq == wrong).count();
            let len = pages.len(wrong) - random.below(last + 1);
            assert_eq!(pages.truncate(wrong, len), len);
            pages.slide();
            let most = pages.windows.as_ref().unwrap().window.of_one(PAGE);
            assert!(held(&pages) <= 2 * most, "{} of {most} each", held(&pages));
        }
    }
}

#[test]
fn pages_before_the_window_are_released() {
    let mut pages = pages(9, 8 * PAGE, PAGE, 4);
    let seq = pages.new_sequence();
    compute(&mut pages, seq, &numbers(6 * PAGE), PAGE).unwrap();
    assert_eq!((held(&pages), pages.pool().available()), (1, 3));
    // A step of more pages than there are.
    let more: Vec<Entry> =
        (0..8 * PAGE).map(|_| Entry { seq, token: 0, logits: false, guess: false }).collect();
    assert!(!pages.grow(seq, 4 * PAGE) && pages.room(seq) == 2 * PAGE);
    pages.free(seq);
    let seq = pages.new_sequence();
    let error = pages.place(
        &more.iter().map(|entry| Entry { seq, ..*entry }).collect::<Vec<_>>(),
        &mut StepInputs::default(),
    );
    assert!(matches!(error, Err(Error::Pages { needed: 8, free: 4 })), "{error:?}");
    assert_eq!((held(&pages), pages.len(seq)), (0, 0));
}

/// Without the scheduler, pages are kept while there is room.
#[test]
fn a_sequence_can_be_truncated_as_far_as_its_window_is_there() {
    let mut pages = pages(9, 8 * PAGE, PAGE, 4);
    let seq = pages.new_sequence();
    let place = |pages: &mut Memory, n: usize| {
        let entries: Vec<Entry> =
            (0..n).map(|_| Entry { seq, token: 0, logits: false, guess: false }).collect();
        pages.place(&entries, &mut StepInputs::default()).unwrap();
    };
    place(&mut pages, 4 * PAGE);
    assert_eq!(pages.truncate(seq, 3 * PAGE), 3 * PAGE);
    place(&mut pages, 2 * PAGE);
    // The last step, and no further.
    assert_eq!(pages.truncate(seq, 3 * PAGE), 3 * PAGE);
    assert_eq!((pages.truncate(seq, 2 * PAGE), pages.len(seq), held(&pages)), (0, 0, 0));
    place(&mut pages, 4 * PAGE);
    assert_eq!(pages.len(seq), 4 * PAGE);
}

#[test]
fn a_prefix_is_found_as_far_as_it_ends_with_a_whole_window() {
    // A window that reaches over three pages.
    let positions = 2 * PAGE + 2;
    let mut pages = pages(40, 16 * PAGE, positions, 6);
    let tokens = numbers(10 * PAGE);
    let first = begin(&mut pages, &tokens);
    compute(&mut pages, first.seq, &tokens, PAGE).unwrap();
    // It holds pages 7 to 9 and has left the others behind; of these, 4 to 6 have not been taken again.
    assert_eq!(held(&pages), 3);
    let [all, less] = [10 * PAGE, 8 * PAGE].map(|n| [&tokens[..n], &[99]].concat());
    assert_eq!(pages.find(&keys(&all), &all), found([10, 0], [3, 0]));
    assert_eq!(pages.find(&keys(&less), &less), found([8, 0], [3, 2]));
    // A token after page 5 sees page 3.
    let none = [&tokens[..6 * PAGE], &[99]].concat();
    assert_eq!(pages.find(&keys(&none), &none), Found::default());
    let second = begin(&mut pages, &less);
    assert_eq!((second.cached, second.copy, held(&pages)), (8 * PAGE, None, 5));
    compute(&mut pages, second.seq, &less, 1).unwrap();
    pages.end(second.seq, &less);
    pages.end(first.seq, &tokens);
    assert_eq!(held(&pages), 0);
    // The end of the first is used last.
    let other: Vec<u32> = tokens.iter().map(|token| token + 1000).collect();
    let third = begin(&mut pages, &other[..PAGE]);
    compute(&mut pages, third.seq, &other[..PAGE], PAGE).unwrap();
    assert_eq!([&all, &less].map(|tokens| pages.find(&keys(tokens), tokens).rows.pages), [10, 0]);
    pages.forget();
    assert_eq!(pages.find(&keys(&all), &all), Found::default());
}

#[test]
fn the_rest_of_a_page_is_copied_in_both_pools() {
    let mut pages = pages(9, 8 * PAGE, PAGE, 4);
    let tokens = numbers(2 * PAGE + WORTH_A_COPY + 1);
    let first = begin(&mut pages, &tokens);
    compute(&mut pages, first.seq, &tokens, 3).unwrap();
    pages.end(first.seq, &tokens);
    let second = begin(&mut pages, &tokens);
    let Some(PageCopy { from, to, windowed: Some((w_from, w_to)), rows }) = second.copy else {
        panic!("{second:?}")
    };
    assert_eq!((second.cached, rows), (tokens.len() - 1, WORTH_A_COPY));
    assert!(from != to && w_from != w_to);
    compute(&mut pages, second.seq, &tokens, 1).unwrap();
    pages.end(second.seq, &tokens);
    // Without a page to copy to, full pages are found alone, and nothing is lost.
    let other: Vec<SeqId> = (0..2)
        .map(|i| {
            let seq = pages.new_sequence();
            assert!(pages.grow(seq, PAGE), "{i}");
            seq
        })
        .collect();
    let third = begin(&mut pages, &tokens);
    let free = pages.windows.as_ref().unwrap().pool.available();
    assert!(third.copy.is_none() || free == 0);
    other.into_iter().chain([third.seq]).for_each(|seq| pages.free(seq));
    assert_eq!((held(&pages), pages.pool().available()), (0, 9));
}

#[test]
fn a_sequence_fits_if_both_pools_have_room() {
    let pages = pages(8, 8 * PAGE, PAGE + 1, 4);
    let reserved = |pages, windowed| Need { pages, windowed };
    let fits = |tokens, reserved| pages.fits(Found::default(), tokens, reserved);
    // Two pages of a window at most, and one that is left for steps.
    assert_eq!(pages.need(1), reserved(1, 1));
    assert_eq!(pages.need(99 * PAGE), reserved(8, 2));
    assert!(
        fits(8 * PAGE, reserved(0, 1)) && !fits(8 * PAGE, reserved(0, 2)) && !fits(8 * PAGE, reserved(1, 0))
    );
    assert!(fits(PAGE, reserved(7, 2)) && !fits(PAGE, reserved(7, 3)));
    let found = found([3, 3], [2, 2]);
    assert!(pages.fits(found, 8 * PAGE, reserved(0, 9)));
    assert!(pages.lacks(reserved(0, 5)) && pages.lacks(reserved(9, 0)) && !pages.lacks(reserved(8, 4)));
}
