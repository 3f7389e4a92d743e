//! Texts against what is expected of them, against naga and against NVRTC.

mod text {
    mod cuda;
    mod files;
    mod graphs;
    mod nvrtc;
    mod plans;
    mod refusals;
    mod valid;
}
