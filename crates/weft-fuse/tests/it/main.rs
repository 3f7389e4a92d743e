//! The compiler on texts: those of `filetests/`, and the same with random damage.

mod filetests;
mod include;
mod mutations;
