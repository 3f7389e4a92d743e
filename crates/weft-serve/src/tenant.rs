//! The sender of a request, by which the scheduler is fair and the prefix cache separates prompts.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

/// A user of the server: an API key, or everyone where there are none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Tenant(Arc<str>);

impl Tenant {
    /// The tenant of a server without keys.
    pub(crate) fn everyone() -> Tenant {
        Tenant("".into())
    }

    /// The salt of its pages in the prefix cache: tenants do not learn each other's prompts from the time a reply takes.
    /// It is not the key, and says nothing about it.
    pub(crate) fn salt(&self) -> &str {
        &self.0
    }
}

/// The API keys, as digests.
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// Creates the set of keys.
    pub(crate) fn new(keys: &[String]) -> Keys {
        Keys(keys.iter().map(|key| digest(b"", key)).collect())
    }

    /// Returns whether there are none, so that everyone may use the server.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tenant of a key, or `None` if the key is not valid. Takes the same time for every key that a client may try.
    pub(crate) fn tenant(&self, key: &str) -> Option<Tenant> {
        let given = digest(b"", key);
        let found = self.0.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&given));
        let salt: String = digest(b"salt", key)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        bool::from(found).then(|| Tenant(salt.into()))
    }
}

fn digest(purpose: &[u8], key: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"weft api key ");
    hash.update((purpose.len() as u64).to_le_bytes());
    hash.update(purpose);
    hash.update(key.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_tenant_and_no_other_text_is() {
        let keys = Keys::new(&["one".into(), "two".into()]);
        let [one, two] = ["one", "two"].map(|key| keys.tenant(key).unwrap());
        assert_ne!(one, two);
        assert_eq!(one, keys.tenant("one").unwrap());
        for wrong in ["", "on", "onee", "One", "three"] {
            assert_eq!(keys.tenant(wrong), None, "{wrong}");
        }
        assert!(!one.salt().contains("one") && one.salt().len() == 32);
        assert_eq!(Keys::new(&[]).tenant(""), None);
    }
}
