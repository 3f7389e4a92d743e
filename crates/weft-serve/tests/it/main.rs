//! The server from outside: real sockets, small models.

mod chat;
mod support;
