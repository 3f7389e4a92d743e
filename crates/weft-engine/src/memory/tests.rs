//! Tests of pages.

use super::kind::Cached;
use super::*;

fn entries(seqs: &[(SeqId, u32)]) -> Vec<Entry> {
    seqs.iter().map(|(seq, token)| Entry { seq: *seq, token: *token, logits: false, guess: false }).collect()
}

#[test]
fn tokens_of_mixed_sequences_get_their_rows() {
    let mut pages = Memory::new(2, 4, 6, 64);
    let (a, b) = (pages.new_sequence(), pages.new_sequence());
    let mut out = StepInputs::default();
    pages.place(&entries(&[(a, 7), (a, 8), (b, 9), (a, 5)]), &mut out).unwrap();
    assert_eq!(out.tokens, [7, 8, 9, 5]);
    assert_eq!(out.pos, [0, 1, 0, 2]);
    // Memory are taken in the order in which they are needed: a 0, b 1, a 2.
    assert_eq!(out.slots, [0, 1, 2, 4]);
    assert_eq!(out.pages, [0, 2, 1]);
    assert_eq!(out.first, [0, 0, 2, 0]);
    pages.place(&entries(&[(b, 1)]), &mut out).unwrap();
    assert_eq!((&out.slots[..], &out.pages[..], &out.first[..]), (&[3][..], &[1][..], &[0][..]));
}

#[test]
fn limits_are_errors_and_change_nothing() {
    let mut pages = Memory::new(2, 2, 3, 64);
    let (a, b) = (pages.new_sequence(), pages.new_sequence());
    let mut out = StepInputs::default();
    let four = entries(&[(a, 0); 4]);
    assert!(matches!(pages.place(&four, &mut out), Err(Error::Context { len: 0, more: 4, context: 3 })));
    pages.place(&four[..3], &mut out).unwrap();
    assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Pages { needed: 1, free: 0 })));
    assert_eq!(pages.len(b), 0);
    pages.undo(&four[..3]);
    assert_eq!(pages.len(a), 0);
    pages.place(&entries(&[(b, 0)]), &mut out).unwrap();
    pages.free(b);
    assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
    // The index is reused, the id is not.
    let c = pages.new_sequence();
    assert!(c.place == b.place && c != b);
    assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
    pages.place(&entries(&[(c, 0)]), &mut out).unwrap();
    pages.free(b);
    assert_eq!(pages.len(c), 1);
}

#[test]
fn truncating_releases_pages() {
    let mut pages = Memory::new(2, 3, 6, 64);
    let a = pages.new_sequence();
    let mut out = StepInputs::default();
    pages.place(&entries(&[(a, 0); 5]), &mut out).unwrap();
    pages.truncate(a, 2);
    assert_eq!((pages.len(a), pages.rows.pool.available()), (2, 2));
    pages.place(&entries(&[(a, 0)]), &mut out).unwrap();
    assert_eq!(out.pos, [2]);
}

#[test]
fn ids_are_unique_across_engines() {
    let (mut one, mut other) = (Memory::new(2, 2, 4, 64), Memory::new(2, 2, 4, 64));
    let (a, b) = (one.new_sequence(), other.new_sequence());
    assert_eq!((a.place, a.generation), (b.place, b.generation));
    assert!(a != b);
    let mut out = StepInputs::default();
    assert!(matches!(one.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
    one.place(&entries(&[(a, 0)]), &mut out).unwrap();
    one.free(b);
    assert_eq!((one.len(a), one.len(b)), (1, 0));
}

fn keys(root: &Key, tokens: &[u32], page: usize) -> Keys {
    let mut keys = Keys::new(*root);
    keys.extend(tokens, page);
    keys
}

fn begin(pages: &mut Memory, root: &Key, tokens: &[u32]) -> Begun {
    let keys = keys(root, tokens, pages.page);
    let found = pages.find(&keys, tokens);
    let begun = pages.begin(&keys, tokens);
    assert_eq!(found.rows.pages, begun.cached / pages.page);
    begun
}

/// Pages of the prefix cache, and the number of them that are idle.
fn found(pages: usize, idle: usize) -> Found {
    Found { rows: Cached { pages, idle }, ..Found::default() }
}

/// Computes the rest of a sequence.
fn compute(pages: &mut Memory, seq: SeqId, tokens: &[u32]) {
    let rest = &tokens[pages.len(seq)..];
    let entries = entries(&rest.iter().map(|token| (seq, *token)).collect::<Vec<_>>());
    pages.place(&entries, &mut StepInputs::default()).unwrap();
    pages.record(seq, tokens);
}

#[test]
fn common_prefixes_share_full_pages_and_copy_the_rest() {
    let page = 2 * WORTH_A_COPY;
    let mut pages = Memory::new(page, 6, 6 * page, 64);
    let root = Key::root([]);
    let tokens: Vec<u32> = (0..).take(2 * page + WORTH_A_COPY + 2).collect();
    let first = begin(&mut pages, &root, &tokens);
    assert_eq!((first.cached, first.copy), (0, None));
    compute(&mut pages, first.seq, &tokens);

    // Full pages are shared while the first sequence still runs; its last page is not in the prefix cache yet.
    let second = begin(&mut pages, &root, &tokens);
    assert_eq!((second.cached, second.copy), (2 * page, None));
    assert_eq!(pages.rows.pool.available(), 6 - 3);
    pages.end(second.seq, &tokens);
    assert_eq!(pages.rows.pool.available(), 6 - 3, "the first still holds them");

    // Once it has ended, everything but the last token is shared.
    pages.end(first.seq, &tokens);
    assert_eq!((pages.rows.pool.available(), pages.rows.pool.idle()), (6, 3));
    let third = begin(&mut pages, &root, &tokens);
    let Some(PageCopy { from, to, rows, windowed: None }) = third.copy else { panic!("{third:?}") };
    assert_eq!((third.cached, rows, from != to), (tokens.len() - 1, WORTH_A_COPY + 1, true));
    compute(&mut pages, third.seq, &tokens);
    pages.end(third.seq, &tokens);

    // Other tokens in the middle of a page, another salt, and too few rows to be worth a copy.
    let mut other = tokens.clone();
    other[page + WORTH_A_COPY] = 99;
    let fourth = begin(&mut pages, &root, &other);
    assert_eq!(fourth.cached, page + WORTH_A_COPY);
    pages.free(fourth.seq);
    other[WORTH_A_COPY - 1] = 99;
    for (root, tokens) in [(root, other.as_slice()), (Key::root([b"salt".as_slice()]), &tokens)] {
        let none = begin(&mut pages, &root, tokens);
        assert_eq!((none.cached, none.copy), (0, None));
        pages.free(none.seq);
    }
}

#[test]
fn a_copy_never_takes_the_page_it_copies_from() {
    let page = 2 * WORTH_A_COPY;
    let mut pages = Memory::new(page, 1, 4 * page, 64);
    let (root, tokens) = (Key::root([]), (0..WORTH_A_COPY as u32 + 1).collect::<Vec<_>>());
    let first = begin(&mut pages, &root, &tokens);
    compute(&mut pages, first.seq, &tokens);
    pages.end(first.seq, &tokens);
    assert_eq!((pages.rows.pool.available(), pages.rows.pool.idle()), (1, 1));
    let second = begin(&mut pages, &root, &tokens);
    assert_eq!((second.cached, second.copy), (0, None), "there is no page to copy to");
    assert_eq!(pages.rows.pool.idle(), 1);
    // To grow, it evicts the page.
    assert!(pages.grow(second.seq, page) && !pages.grow(second.seq, page + 1));
    assert_eq!((pages.room(second.seq), pages.rows.pool.available()), (page, 0));
}
#[test]
fn idle_pages_that_are_shared_cannot_be_taken() {
    let mut pages = Memory::new(2, 6, 16, 64);
    let (root, tokens) = (Key::root([]), (0..9).collect::<Vec<u32>>());
    let first = begin(&mut pages, &root, &tokens[..6]);
    compute(&mut pages, first.seq, &tokens[..6]);
    let keys = keys(&root, &tokens, 2);
    // The third page's end is the last token of a prompt of six, and not of one of nine.
    assert_eq!(pages.find(&keys, &tokens[..6]), found(2, 0));
    for found in [found(3, 0), found(3, 3)] {
        assert_eq!(pages.find(&keys, &tokens), found);
        let fits = |tokens, reserved| pages.fits(found, tokens, Need { pages: reserved, windowed: 0 });
        assert!(fits(12, 0) && !fits(13, 0) && fits(8, 2) && !fits(9, 2) && fits(6, 9));
        pages.end(first.seq, &tokens[..6]);
    }
    // A sequence has at most the context, eight pages.
    assert!(pages.fits(found(8, 3), 99, Need { pages: 6, windowed: 0 }));
}
