//! Where the last message of a chat begins in a prompt.

/// Control tokens that are not farther apart end one message and begin the next: templates have a line break or a role between them.
const NEAR: usize = 4;

/// The number of tokens before the last message of a chat, by the control tokens of its template; `None` if there are none before it.
///
/// A prompt ends with what begins the reply, so the control tokens before those begin the last message.
pub(super) fn last_message(tokens: &[u32], is_control: impl Fn(u32) -> bool) -> Option<usize> {
    let mut controls = tokens.iter().enumerate().rev().filter(|(_, token)| is_control(**token));
    let (mut next, _) = controls.next()?;
    for (at, _) in controls {
        if next - at > NEAR {
            return Some(at);
        }
        next = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens from 100 on are control tokens.
    fn last(tokens: &[u32]) -> Option<usize> {
        last_message(tokens, |token| token >= 100)
    }

    #[test]
    fn the_last_message_is_before_what_begins_the_reply() {
        const BEGIN: u32 = 100;
        const END: u32 = 101;
        let system = [BEGIN, 1, 2, 9, 9, 9, 9, 9, 9, END, 2];
        let user = [BEGIN, 3, 2, 8, 8, 8, 8, END, 2];
        let reply = [BEGIN, 4, 2];
        assert_eq!(last(&[&system[..], &user, &reply].concat()), Some(system.len()));
        assert_eq!(last(&[&system[..], &user, &reply, &[7; 9], &[END, 2], &user, &reply].concat()), Some(34));
        // A template without a token for the end of messages.
        assert_eq!(last(&[102, 9, 9, 9, 9, 9, 103, 8, 8, 8, 8, 8, 104, 2]), Some(6));
        assert_eq!(last(&[&user[..], &reply].concat()), Some(0), "there is one message");
        for none in [&[1, 2, 3][..], &[BEGIN, 1, 2], &[]] {
            assert_eq!(last(none), None);
        }
    }
}
