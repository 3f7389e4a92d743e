#!/usr/bin/env bash
# The first hour on a Mac: tests, checks and measurements on the GPU, and one report to send back.
#
#     bench/metal/first-hour.sh [MODEL.gguf]
#
# Run it in the repository. It builds Weft, makes a model of 8 layers with random weights (3 GB) in its folder, and goes on
# after a step that fails. MODEL is a real model to try at the end. What each step shows is in docs/metal.md.
#
# WEFT     a weft to measure with, instead of the one it builds
# DEVICE   the device: gpu
# PRESET   the shape of the model with random weights: glm-4.7-flash
# LAYERS   its layers: 8
# FOLDER   where models and the report go: target/metal
# ONLY     run only steps whose names contain this text
set -u
cd "$(dirname "$0")/../.." || exit 1
device=${DEVICE:-gpu} folder=${FOLDER:-target/metal} layers=${LAYERS:-8} preset=${PRESET:-glm-4.7-flash} real=${1:-}
weft=${WEFT:-target/release/weft}
mkdir -p "$folder"
report=$folder/report.txt model=$folder/$preset-$layers.gguf
failed=()
: > "$report"

say() { printf '%s\n' "$@" | tee -a "$report"; }

# step NAME COMMAND...: runs a command; the report gets the end of what it prints, its status and its time.
step() {
    local name=$1 status begin
    shift
    case $name in *"${ONLY:-}"*) ;; *) return ;; esac
    say "" "== $name" "\$ $*"
    begin=$(date +%s)
    "$@" > "$folder/step.log" 2>&1
    status=$?
    tail -n 80 "$folder/step.log" | cut -c 1-240 | tee -a "$report"
    say "-- status $status, $(($(date +%s) - begin)) s"
    [ "$status" = 0 ] || failed+=("$name")
}

# The machine. What a system does not have is left out.
machine() {
    git rev-parse HEAD
    rustc --version
    uname -a
    if command -v sw_vers > /dev/null; then
        sw_vers
        sysctl machdep.cpu.brand_string hw.memsize hw.perflevel0.logicalcpu hw.perflevel1.logicalcpu hw.perflevel0.l2cachesize
        system_profiler SPDisplaysDataType
        xcrun --show-sdk-version
    fi
}

# What the system logged about the GPU: a command buffer that was ended is here, too.
system_log() {
    command -v log > /dev/null && command -v sw_vers > /dev/null || return 0
    log show --last 3h --style compact \
        --predicate 'eventMessage CONTAINS[c] "GPU" AND (eventMessage CONTAINS[c] "timeout" OR eventMessage CONTAINS[c] "hang" OR eventMessage CONTAINS[c] "restart" OR eventMessage CONTAINS[c] "fault")' |
        tail -40
}

# The same tokens twice: the second start has what the system keeps of compiled shaders.
starts() {
    for _ in 1 2; do
        time "$weft" run "$model" "a b c" -n 2 --device "$device" -v || return 1
    done
}

step machine machine
[ -n "${WEFT:-}" ] || step build cargo build --release -p weft
step devices "$weft" devices
export WEFT_TEST_ADAPTER=1
step kernels cargo test --release -p weft-wgpu
step bits cargo test --release -p weft-engine --test it gpu
step cpu cargo test --release -p weft-cpu
[ -s "$model" ] || step model "$weft" synth --preset "$preset" --layers "$layers" --quant q4_0 "$model"
step starts starts
step verify "$weft" verify "$model" --device "$device"
step decode "$weft" bench "$model" --device "$device" -p 0 -n 64 -d 0,4096 -r 3
step prompt-64 "$weft" bench "$model" --device "$device" -p 64 -n 0 -d 0 --batch 64 -r 3
step prompt-128 "$weft" bench "$model" --device "$device" -p 512 -n 0 -d 0 -r 3
step prompt-512 "$weft" bench "$model" --device "$device" -p 512 -n 0 -d 0 --batch 512 -r 3
step profile "$weft" profile "$model" --device "$device"
step explain "$weft" explain "$model" --device "$device"
step cpu-speed "$weft" bench "$model" --device cpu -p 128 -n 32 -d 0 -r 3
step tune "$weft" tune "$model" --device "$device" --batch 128 --prefill 128 --seconds 300
step tuned "$weft" bench "$model" --device "$device" -p 512 -n 64 -d 0 -r 3
if [ -n "$real" ]; then
    step real-reply "$weft" run "$real" "What is the capital of France?" -n 40 --device "$device" -v
    step real-64 "$weft" bench "$real" --device "$device" -p 64 -n 32 -d 0 --batch 64 -r 3
    step real "$weft" bench "$real" --device "$device" -p 512 -n 64 -d 0,4096 -r 3
fi
step system-log system_log

say "" "== summary"
if [ ${#failed[@]} -gt 0 ]; then say "failed: ${failed[*]}"; else say "nothing failed"; fi
say "the report is $report"
[ ${#failed[@]} -eq 0 ]
