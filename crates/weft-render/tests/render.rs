//! Every shader of every plan at hand is one that naga accepts, and translates to Metal's language; a few can be read in `filetests/wgsl`.

mod text {
    mod files;
    mod plans;
    mod refusals;
    mod valid;
}
