#!/usr/bin/env bash
# The stages of the recipe, for a machine with one GPU that is lent for minutes at a time.
#
#   run.sh STAGE [SECONDS]
#
# Everything lives in $WORK; what should be copied back ends up in $OUT. More options of a stage's script can be given in
# $GENERATE, $CLEAN, $TOKENS and $TRAIN. Stages:
#
#   keep FILE...      put files (parts of the generator's weights, parts of the clean data) into $WORK/in
#   smoke SECONDS     train on random tokens: does it run, how fast, with and without compiling
#   generate SECONDS  write raw conversations; needs the generator's weights in $WORK/in/weights.*
#   clean             clean them, and put the result into $OUT
#   tokens            train the tokenizer and make rows, from the new clean data and what is in $WORK/in
#   train SECONDS     train; then put the weights, in parts, into $OUT
# shellcheck disable=SC2086
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${WORK:=$HOME/glm-small}" "${OUT:=$WORK/out}"
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TRITON_CACHE_DIR=$WORK/triton
mkdir -p "$WORK/in" "$OUT"
stage=${1:?which stage?}
shift
compile=--compile
if [ -e "$WORK/eager" ]; then compile=; fi

case $stage in
keep)
    cp "$@" "$WORK/in/"
    ls -l "$WORK/in"
    ;;
smoke)
    seconds=${1:-40}
    mkdir -p "$WORK/random"
    python3 -c "
import numpy as np, sys
r = np.random.default_rng(1)
for name, rows in (('train', 4096), ('valid', 64)):
    np.save(sys.argv[1] + f'/{name}.npy', r.integers(0, 4096, (rows, 1025)).astype(np.int16))
" "$WORK/random"
    python3 "$here/train.py" --data "$WORK/random" --out "$WORK/smoke-eager" --seconds 16 --report 4
    if ! timeout 150 python3 "$here/train.py" --data "$WORK/random" --out "$WORK/smoke" --seconds "$seconds" --report 4 --compile; then
        echo "compiling FAILED or took too long: training will not compile"
        touch "$WORK/eager"
    fi
    ;;
generate)
    TOKENIZERS_PARALLELISM=false python3 "$here/generate.py" --weights "$WORK"/in/weights.* --out "$WORK/raw" --seconds "${1:-200}" \
        ${GENERATE:-} | tee "$WORK/generate.txt"
    du -sh "$WORK/raw"
    ;;
clean)
    python3 "$here/clean.py" --raw "$WORK/raw" --out "$WORK/clean" ${CLEAN:-}
    cp "$WORK"/clean/* "$WORK/generate.txt" "$OUT/"
    ls -l "$OUT"
    python3 -c "
import lzma, sys
for _, line in zip(range(16), lzma.open(sys.argv[1], 'rt')): print(line, end='')
" "$WORK/clean/clean-00.jsonl.xz"
    ;;
tokens)
    python3 "$here/tokens.py" --clean "$WORK/clean" "$WORK/in" --out "$WORK/data" ${TOKENS:-}
    ;;
train)
    python3 "$here/train.py" --data "$WORK/data" --out "$WORK/run" --seconds "${1:-200}" $compile ${TRAIN:-} | tee "$WORK/run.txt"
    split -b 15M -d "$WORK/run/weights.safetensors" "$OUT/weights."
    cp "$WORK/data/valid.txt" "$WORK/data/tokenizer.json" "$WORK/data/stats.json" "$WORK/run/shape.json" "$WORK/run/log.jsonl" "$WORK/"
    tar -C "$WORK" -czf "$OUT/small.tgz" run.txt valid.txt tokenizer.json stats.json shape.json log.jsonl
    ls -l "$OUT"
    ;;
*)
    echo "unknown stage: $stage" >&2
    exit 2
    ;;
esac
