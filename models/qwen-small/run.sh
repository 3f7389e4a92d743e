#!/usr/bin/env bash
# The whole recipe in one go, for a machine with a GPU that is lent for minutes.
#
#   run.sh OUT [SECONDS]
#
# takes at most so many seconds (560), and leaves the trained weights and what belongs to them in OUT. It generates text if
# the generator's weights, made by squeeze.py, are beside this folder as smollm2.bin. Without them, and wherever a stage fails
# or takes too long, it goes on with texts written by hand. $WORK is for files on the way. These change a stage:
# $GENERATE_SECONDS, $GENERATE, $BARE, $TOKENS, $TRAIN, $TRY_STEPS, $TRY_SECONDS, $PYTHON.
# shellcheck disable=SC2086
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?where to?}
total=${2:-560}
: "${WORK:=$(mktemp -d)}" "${PYTHON:=python3}" "${GENERATE_SECONDS:=165}" "${BARE:=160000}" "${GENERATE:=}" "${TOKENS:=}" "${TRAIN:=}" "${TRY_STEPS:=40}" "${TRY_SECONDS:=110}"
glm=$here/../glm-small
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TRITON_CACHE_DIR=$WORK/triton
mkdir -p "$WORK" "$out"
SECONDS=0
exec > >(tee "$out/run.txt") 2>&1
say() { echo "== $SECONDS s: $*"; }
# Seconds until so many are left, but at least 1.
until_left() { local t=$((total - SECONDS - $1)); echo $((t > 1 ? t : 1)); }
train() { timeout -k 5 "$1" "$PYTHON" "$here/learn.py" --data "$2" --out "$3" --seconds "$4" ${5:-} $TRAIN; }

say "start: $(nproc) cores; $("$PYTHON" -c 'import torch, tokenizers, safetensors; print("torch", torch.__version__, torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")' 2>&1 | tail -1)"
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2> /dev/null || true

# Texts by hand alone, in case that there are no others.
mkdir -p "$WORK/none"
nice "$PYTHON" "$here/rows.py" --clean "$WORK/none" --out "$WORK/hand" --bare "$BARE" $TOKENS > "$WORK/hand.txt" 2>&1 &
hand=$!

data=
if [ -e "$here/../smollm2.bin" ]; then
    say "generate for $GENERATE_SECONDS s"
    "$PYTHON" "$here/squeeze.py" unpack "$here/../smollm2.bin" "$WORK/smollm2.gguf"
    TOKENIZERS_PARALLELISM=false timeout -k 5 $((GENERATE_SECONDS + 30)) "$PYTHON" "$glm/generate.py" --weights "$WORK/smollm2.gguf" \
        --vocab 24000 --out "$WORK/raw" --seconds "$GENERATE_SECONDS" $GENERATE > "$WORK/generate.txt" 2>&1 || echo "generating FAILED or was stopped"
    cp "$WORK/generate.txt" "$out/"
    tail -n 6 "$WORK/generate.txt"
    wait $hand
    say "clean, and tokens"
    # In the background, as the device is tried out meanwhile.
    (
        if timeout 75 "$PYTHON" "$glm/clean.py" --raw "$WORK/raw" --out "$WORK/clean" > "$WORK/clean.txt" 2>&1; then
            timeout 90 "$PYTHON" "$here/rows.py" --clean "$WORK/clean" --out "$WORK/data" --bare "$BARE" $TOKENS > "$WORK/data.txt" 2>&1 &&
                touch "$WORK/data/done"
        fi
    ) &
    data=$!
else
    say "there is no smollm2.bin: no text is generated"
    wait $hand
fi
echo "by hand:"
tail -n 3 "$WORK/hand.txt"

# What runs, and is it compiled? The first that gets through a few steps.
how=none
for try in "--compile --batch 64" "--batch 64" "--batch 32" "--batch 8"; do
    say "try $try"
    if train "$TRY_SECONDS" "$WORK/hand" "$WORK/try" 1000 "$try --steps $TRY_STEPS --report 0.5 --check 1000 --quick" > "$WORK/try.txt" 2>&1; then
        how=$try
        grep -E "two steps|tokens/s|experts" "$WORK/try.txt" | cut -c1-400
        break
    fi
    echo "that FAILED or took too long:"
    tail -n 25 "$WORK/try.txt" | cut -c1-600
done
if [ "$how" = none ]; then say "nothing runs"; exit 1; fi
[ -z "$data" ] || wait "$data"
tail -n 2 "$WORK/clean.txt" "$WORK/data.txt" 2> /dev/null
chosen=$WORK/hand
[ -e "$WORK/data/done" ] && chosen=$WORK/data
cp "$chosen/valid.txt" "$chosen/tokenizer.json" "$chosen/stats.json" "$out/"
cp "$WORK/clean/stats.json" "$out/clean-stats.json" 2> /dev/null
"$PYTHON" -c "
import sys, numpy as np
np.save(sys.argv[2], np.load(sys.argv[1])[:512])" "$chosen/valid.npy" "$out/valid.npy"

say "train on $chosen with $how"
# 40 s for what follows training: looks at held-out rows, samples and files.
train "$(until_left 12)" "$chosen" "$WORK/run" "$(until_left 40)" "$how" || echo "training FAILED or was stopped: the last weights that it kept are taken"
say "export"
cp "$WORK/run/shape.json" "$WORK/run/log.jsonl" "$WORK/run/weights.safetensors" "$out/"
"$PYTHON" "$here/write.py" --run "$WORK/run" --tokenizer "$chosen/tokenizer.json" "$WORK/qwen-small-f32.gguf" "$out/qwen-small-q8_0.gguf"
# No file that comes back may be larger than 16 MiB, and no more than 8 of them may come.
split -b 15M -d "$out/weights.safetensors" "$out/weights.part." && rm "$out/weights.safetensors"
tar -C "$out" -czf "$out/rest.tgz" $(cd "$out" && ls | grep -E '\.(txt|json|jsonl|npy)$' | grep -v '^run.txt$')
(cd "$out" && rm -f ./*.json ./*.jsonl ./*.npy generate.txt valid.txt)
ls -l "$out"
say "done"
