//! Grows vectors when programs are compiled, so that no step allocates.

/// Makes a vector at least `len` long.
pub(crate) fn grow<T: Default>(vector: &mut Vec<T>, len: usize) -> Option<()> {
    vector.try_reserve_exact(len.saturating_sub(vector.len())).ok()?;
    if vector.len() < len {
        vector.resize_with(len, T::default);
    }
    Some(())
}
