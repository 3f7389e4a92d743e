//! The structured program of a GPU kernel, and its text in WGSL and CUDA C++.
//!
//! ```
//! use weft_shader::builder::Builder;
//! use weft_shader::dialect::{Cuda, print};
//! use weft_shader::expr::Expr;
//! use weft_shader::module::{Content, Module, Slot};
//! use weft_shader::stmt::Stmt;
//!
//! let mut code = Builder::new(256);
//! let at = code.set("at", Expr::Group(0) * 256u32 + Expr::Lane);
//! let doubled = Expr::Word(0, at.clone().into()).float() * 2.0f32;
//! code.push(Stmt::Store(0, at, doubled.bits()));
//! let slot = Slot { written: true, content: Content::Open, pieces: 1, coherent: false };
//! let module = Module { name: "double".into(), slots: vec![slot], body: code.finish(), ..Module::new(256) };
//! assert!(print(&Cuda, &module).contains("b0[at] = __float_as_uint(__uint_as_float(b0[at]) * 2.0f);"));
//! ```
//!
//! A [`Module`](module::Module) has statements and expressions over 32-bit words: a [`Builder`](builder::Builder) collects them, and
//! [`print`](dialect::print) writes them in a [`Dialect`](dialect::Dialect). A [`Grid`](grid::Grid) has the number of workgroups of a
//! launch in a step of any size, and [`chain`] makes one module of several launches.
//!
//! This crate knows the sizes of a step, and neither kernels nor drivers. Its callers know the GPU: they use statements that need matrix
//! units, for example, only if it has them.
#![forbid(unsafe_code)]

pub mod builder;
pub mod chain;
pub mod cooperative;
pub mod dialect;
pub mod expr;
pub mod grid;
pub mod module;
pub mod stmt;
pub mod waits;
pub mod warpgroup;
