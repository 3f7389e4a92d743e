test wgsl T=1 S=4096 P=128 kernel=3 of=4
# An indexer whose scores are spread over workgroups: their launch, and the one that chooses.
graph indexer {
  %0 = input q : f32[T, 128]
  %1 = reshape %0 : f32[T, 4, 32]
  %2 = input cos : f32[T, 8]
  %3 = input sin : f32[T, 8]
  %4 = slice %1 axis=2 start=0 len=16 : f32[T, 4, 16]
  %5 = rope %4 %2 %3 style=halves : f32[T, 4, 16]
  %6 = slice %1 axis=2 start=16 len=16 : f32[T, 4, 16]
  %7 = concat %5 %6 axis=2 : f32[T, 4, 32]
  %8 = input w : f32[T, 4]
  %9 = const 0.1 : f32[]
  %10 = mul %8 %9 : f32[T, 4]
  %11 = input k : f32[T, 32]
  %12 = state index : f16[S, 32]
  %13 = input slots : i32[T]
  %14 = store %12 %11 %13 : f16[S, 32]
  %15 = input pos : i32[T]
  %16 = input first : i32[T]
  %17 = input pages : i32[P]
  %18 = indexer %7 %10 %14 %15 %16 %17 k=6 page=16 : i32[T, 6]
  %19 = input queries : f32[T, 3, 32]
  %20 = state kv : f16[S, 32]
  %21 = slice %20 axis=1 start=0 len=16 : f16[S, 16]
  %22 = attend %19 %20 %21 %15 %16 %17 %18 scale=0.25 kv_heads=1 page=16 : f32[T, 3, 16]
  output index = %14
  output list = %18
  output y = %22
}
---
// indexer_4x32_6: lanes 256; indexer.lanes reduce 8 upcast 2 chunk 64 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 4>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 132>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let hidden_zero = group.z;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let p5 = args[2].z;
  let n2 = args[1].y;
  let n5 = args[2].w;
  // part 0: indexer [T] × 6; indexer.lanes reduce 8 upcast 2 chunk 64 spread; scores
  let own_group = group.x;
  let last_page = max(min(n5, sizes.w), 1u) - 1u;
  let last_position = last_page * 16u + 15u;
  let last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p3]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p4];
  let chunk_start = own_group * 64u;
  if (seen > 6u && chunk_start < seen) {
    if (lane < 4u) {
      pool[lane] = b0[p1 + lane];
    }
    if (lane < 128u) {
      pool[lane + 4u] = b0[p0 + ((lane / 32u) * 32u + (lane % 32u))];
    }
    workgroupBarrier();
    let chunk_end = min(chunk_start + 64u, seen);
    let share = lane % 8u;
    let b = lane / 8u;
    let p = min(chunk_start + b, chunk_end - 1u);
    let row = min(b2[p5 + min(pages_at + (p / 16u), last_page)] * 16u + (p % 16u), last_row) * 32u;
    var total = 0.0f;
    let b_2 = (lane / 8u) + 32u;
    let p_2 = min(chunk_start + b_2, chunk_end - 1u);
    let row_2 = min(b2[p5 + min(pages_at + (p_2 / 16u), last_page)] * 16u + (p_2 % 16u), last_row) * 32u;
    var total_2 = 0.0f;
    var score = 0.0f;
    var score_2 = 0.0f;
    var score_3 = 0.0f;
    var score_4 = 0.0f;
    var score_5 = 0.0f;
    var score_6 = 0.0f;
    var score_7 = 0.0f;
    var score_8 = 0.0f;
    for (var c = share; c < 16u; c += 8u) {
      let pair = b1[p2 + ((row / 2u) + c)];
      let key = unpack2x16float(pair).x;
      let key_2 = unpack2x16float(pair >> 16u).x;
      let pair_2 = b1[p2 + ((row_2 / 2u) + c)];
      let key_3 = unpack2x16float(pair_2).x;
      let key_4 = unpack2x16float(pair_2 >> 16u).x;
      let from_query = c * 2u + 4u;
      let q = pool[from_query];
      let q_2 = pool[from_query + 1u];
      let q_3 = bitcast<f32>(q);
      score = fma(key, q_3, score);
      score_2 = fma(key_3, q_3, score_2);
      let q_4 = bitcast<f32>(q_2);
      score = fma(key_2, q_4, score);
      score_2 = fma(key_4, q_4, score_2);
      let q_5 = pool[from_query + 32u];
      let q_6 = pool[from_query + 33u];
      let q_7 = bitcast<f32>(q_5);
      score_3 = fma(key, q_7, score_3);
      score_4 = fma(key_3, q_7, score_4);
      let q_8 = bitcast<f32>(q_6);
      score_3 = fma(key_2, q_8, score_3);
      score_4 = fma(key_4, q_8, score_4);
      let q_9 = pool[from_query + 64u];
      let q_10 = pool[from_query + 65u];
      let q_11 = bitcast<f32>(q_9);
      score_5 = fma(key, q_11, score_5);
      score_6 = fma(key_3, q_11, score_6);
      let q_12 = bitcast<f32>(q_10);
      score_5 = fma(key_2, q_12, score_5);
      score_6 = fma(key_4, q_12, score_6);
      let q_13 = pool[from_query + 96u];
      let q_14 = pool[from_query + 97u];
      let q_15 = bitcast<f32>(q_13);
      score_7 = fma(key, q_15, score_7);
      score_8 = fma(key_3, q_15, score_8);
      let q_16 = bitcast<f32>(q_14);
      score_7 = fma(key_2, q_16, score_7);
      score_8 = fma(key_4, q_16, score_8);
    }
    let weight = bitcast<f32>(pool[0u]);
    let other = subgroupShuffleXor(score, 1u);
    let other_2 = subgroupShuffleXor(score_2, 1u);
    let both = score + other;
    let both_2 = score_2 + other_2;
    let other_3 = subgroupShuffleXor(both, 2u);
    let other_4 = subgroupShuffleXor(both_2, 2u);
    let both_3 = both + other_3;
    let both_4 = both_2 + other_4;
    let other_5 = subgroupShuffleXor(both_3, 4u);
    let other_6 = subgroupShuffleXor(both_4, 4u);
    let both_5 = both_3 + other_5;
    let both_6 = both_4 + other_6;
    total = total + bitcast<f32>(bitcast<u32>(weight * max(both_5, 0.0f)) ^ hidden_zero);
    total_2 = total_2 + bitcast<f32>(bitcast<u32>(weight * max(both_6, 0.0f)) ^ hidden_zero);
    let weight_2 = bitcast<f32>(pool[1u]);
    let other_7 = subgroupShuffleXor(score_3, 1u);
    let other_8 = subgroupShuffleXor(score_4, 1u);
    let both_7 = score_3 + other_7;
    let both_8 = score_4 + other_8;
    let other_9 = subgroupShuffleXor(both_7, 2u);
    let other_10 = subgroupShuffleXor(both_8, 2u);
    let both_9 = both_7 + other_9;
    let both_10 = both_8 + other_10;
    let other_11 = subgroupShuffleXor(both_9, 4u);
    let other_12 = subgroupShuffleXor(both_10, 4u);
    let both_11 = both_9 + other_11;
    let both_12 = both_10 + other_12;
    total = total + bitcast<f32>(bitcast<u32>(weight_2 * max(both_11, 0.0f)) ^ hidden_zero);
    total_2 = total_2 + bitcast<f32>(bitcast<u32>(weight_2 * max(both_12, 0.0f)) ^ hidden_zero);
    let weight_3 = bitcast<f32>(pool[2u]);
    let other_13 = subgroupShuffleXor(score_5, 1u);
    let other_14 = subgroupShuffleXor(score_6, 1u);
    let both_13 = score_5 + other_13;
    let both_14 = score_6 + other_14;
    let other_15 = subgroupShuffleXor(both_13, 2u);
    let other_16 = subgroupShuffleXor(both_14, 2u);
    let both_15 = both_13 + other_15;
    let both_16 = both_14 + other_16;
    let other_17 = subgroupShuffleXor(both_15, 4u);
    let other_18 = subgroupShuffleXor(both_16, 4u);
    let both_17 = both_15 + other_17;
    let both_18 = both_16 + other_18;
    total = total + bitcast<f32>(bitcast<u32>(weight_3 * max(both_17, 0.0f)) ^ hidden_zero);
    total_2 = total_2 + bitcast<f32>(bitcast<u32>(weight_3 * max(both_18, 0.0f)) ^ hidden_zero);
    let weight_4 = bitcast<f32>(pool[3u]);
    let other_19 = subgroupShuffleXor(score_7, 1u);
    let other_20 = subgroupShuffleXor(score_8, 1u);
    let both_19 = score_7 + other_19;
    let both_20 = score_8 + other_20;
    let other_21 = subgroupShuffleXor(both_19, 2u);
    let other_22 = subgroupShuffleXor(both_20, 2u);
    let both_21 = both_19 + other_21;
    let both_22 = both_20 + other_22;
    let other_23 = subgroupShuffleXor(both_21, 4u);
    let other_24 = subgroupShuffleXor(both_22, 4u);
    let both_23 = both_21 + other_23;
    let both_24 = both_22 + other_24;
    total = total + bitcast<f32>(bitcast<u32>(weight_4 * max(both_23, 0.0f)) ^ hidden_zero);
    total_2 = total_2 + bitcast<f32>(bitcast<u32>(weight_4 * max(both_24, 0.0f)) ^ hidden_zero);
    if (share == 0u && chunk_start + b < chunk_end) {
      let bits = bitcast<u32>(total);
      let bits_2 = select(bits, 0x7fffffffu, (bits & 0x7fffffffu) > 0x7f800000u);
      b4[chunk_start + b] = select(bits_2 | 0x80000000u, bits_2 ^ 0xffffffffu, bits_2 > 0x7fffffffu);
    }
    if (share == 0u && chunk_start + b_2 < chunk_end) {
      let bits_3 = bitcast<u32>(total_2);
      let bits_4 = select(bits_3, 0x7fffffffu, (bits_3 & 0x7fffffffu) > 0x7f800000u);
      b4[chunk_start + b_2] = select(bits_4 | 0x80000000u, bits_4 ^ 0xffffffffu, bits_4 > 0x7fffffffu);
    }
  }
}

// indexer_4x32_6: lanes 256; indexer.lanes reduce 8 upcast 2 chunk 64 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 4>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 150>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let p6 = args[3].x;
  let n2 = args[1].y;
  let n5 = args[2].w;
  // part 0: indexer [T] × 6; indexer.lanes reduce 8 upcast 2 chunk 64 spread; chosen
  let own_group = group.x;
  let last_page = max(min(n5, sizes.w), 1u) - 1u;
  let last_position = last_page * 16u + 15u;
  let last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p3 + own_group]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p4 + own_group];
  let own_keys = own_group * 2048u;
  if (seen > 6u) {
    let each = ((seen + 2047u) / 2048u) * 8u;
    var held = 0u;
    var held_2 = 0u;
    var held_3 = 0u;
    var held_4 = 0u;
    var held_5 = 0u;
    var held_6 = 0u;
    var held_7 = 0u;
    var held_8 = 0u;
    let first_held = lane * each;
    let each_2 = ((seen + 2047u) / 2048u) * 8u;
    let first_key = lane * each_2;
    if (each > 0u) {
      let from_key = min(first_held, ((seen - 1u) / 8u) * 8u) + own_keys;
      let key = b4[from_key];
      let key_2 = b4[from_key + 1u];
      let key_3 = b4[from_key + 2u];
      let key_4 = b4[from_key + 3u];
      let key_5 = b4[from_key + 4u];
      let key_6 = b4[from_key + 5u];
      let key_7 = b4[from_key + 6u];
      let key_8 = b4[from_key + 7u];
      let key_9 = select(0u, key, first_held < seen);
      let key_10 = select(0u, key_2, first_held + 1u < seen);
      let key_11 = select(0u, key_3, first_held + 2u < seen);
      let key_12 = select(0u, key_4, first_held + 3u < seen);
      let key_13 = select(0u, key_5, first_held + 4u < seen);
      let key_14 = select(0u, key_6, first_held + 5u < seen);
      let key_15 = select(0u, key_7, first_held + 6u < seen);
      let key_16 = select(0u, key_8, first_held + 7u < seen);
      held = key_9;
      held_2 = key_10;
      held_3 = key_11;
      held_4 = key_12;
      held_5 = key_13;
      held_6 = key_14;
      held_7 = key_15;
      held_8 = key_16;
    }
    var known = 0u;
    var rest = 6u;
    var exact = 0u;
    for (var round = 0u; round < 11u; round += 1u) {
      let shift = (10u - round) * 3u;
      if (lane == 0u) { agreed.x = exact; }
      let goes_on = workgroupUniformLoad(&agreed).x;
      if (goes_on == 0u) {
        var count = 0u;
        var count_2 = 0u;
        var count_3 = 0u;
        var count_4 = 0u;
        var count_5 = 0u;
        var count_6 = 0u;
        var count_7 = 0u;
        var count_8 = 0u;
        var bytes = 0u;
        var bytes_2 = 0u;
        if (each > 0u) {
          let digit = (held ^ known) >> shift;
          let one = 1u << ((digit & 3u) * 8u);
          bytes = bytes + select(0u, one, (digit >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one, (digit >> 2u) == 1u);
          let digit_2 = (held_2 ^ known) >> shift;
          let one_2 = 1u << ((digit_2 & 3u) * 8u);
          bytes = bytes + select(0u, one_2, (digit_2 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_2, (digit_2 >> 2u) == 1u);
          let digit_3 = (held_3 ^ known) >> shift;
          let one_3 = 1u << ((digit_3 & 3u) * 8u);
          bytes = bytes + select(0u, one_3, (digit_3 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_3, (digit_3 >> 2u) == 1u);
          let digit_4 = (held_4 ^ known) >> shift;
          let one_4 = 1u << ((digit_4 & 3u) * 8u);
          bytes = bytes + select(0u, one_4, (digit_4 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_4, (digit_4 >> 2u) == 1u);
          let digit_5 = (held_5 ^ known) >> shift;
          let one_5 = 1u << ((digit_5 & 3u) * 8u);
          bytes = bytes + select(0u, one_5, (digit_5 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_5, (digit_5 >> 2u) == 1u);
          let digit_6 = (held_6 ^ known) >> shift;
          let one_6 = 1u << ((digit_6 & 3u) * 8u);
          bytes = bytes + select(0u, one_6, (digit_6 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_6, (digit_6 >> 2u) == 1u);
          let digit_7 = (held_7 ^ known) >> shift;
          let one_7 = 1u << ((digit_7 & 3u) * 8u);
          bytes = bytes + select(0u, one_7, (digit_7 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_7, (digit_7 >> 2u) == 1u);
          let digit_8 = (held_8 ^ known) >> shift;
          let one_8 = 1u << ((digit_8 & 3u) * 8u);
          bytes = bytes + select(0u, one_8, (digit_8 >> 2u) == 0u);
          bytes_2 = bytes_2 + select(0u, one_8, (digit_8 >> 2u) == 1u);
        }
        count = count + (bytes & 255u);
        count_2 = count_2 + ((bytes >> 8u) & 255u);
        count_3 = count_3 + ((bytes >> 16u) & 255u);
        count_4 = count_4 + ((bytes >> 24u) & 255u);
        count_5 = count_5 + (bytes_2 & 255u);
        count_6 = count_6 + ((bytes_2 >> 8u) & 255u);
        count_7 = count_7 + ((bytes_2 >> 16u) & 255u);
        count_8 = count_8 + ((bytes_2 >> 24u) & 255u);
        let sent = select(count_5, count, (lane & 1u) > 0u);
        let sent_2 = select(count_6, count_2, (lane & 1u) > 0u);
        let sent_3 = select(count_7, count_3, (lane & 1u) > 0u);
        let sent_4 = select(count_8, count_4, (lane & 1u) > 0u);
        let other = subgroupShuffleXor(sent, 1u);
        let other_2 = subgroupShuffleXor(sent_2, 1u);
        let other_3 = subgroupShuffleXor(sent_3, 1u);
        let other_4 = subgroupShuffleXor(sent_4, 1u);
        let both = select(count, count_5, (lane & 1u) > 0u) + other;
        let both_2 = select(count_2, count_6, (lane & 1u) > 0u) + other_2;
        let both_3 = select(count_3, count_7, (lane & 1u) > 0u) + other_3;
        let both_4 = select(count_4, count_8, (lane & 1u) > 0u) + other_4;
        let sent_5 = select(both_3, both, (lane & 2u) > 0u);
        let sent_6 = select(both_4, both_2, (lane & 2u) > 0u);
        let other_5 = subgroupShuffleXor(sent_5, 2u);
        let other_6 = subgroupShuffleXor(sent_6, 2u);
        let both_5 = select(both, both_3, (lane & 2u) > 0u) + other_5;
        let both_6 = select(both_2, both_4, (lane & 2u) > 0u) + other_6;
        let sent_7 = select(both_6, both_5, (lane & 4u) > 0u);
        let other_7 = subgroupShuffleXor(sent_7, 4u);
        let both_7 = select(both_5, both_6, (lane & 4u) > 0u) + other_7;
        let other_8 = subgroupShuffleXor(both_7, 8u);
        let both_8 = both_7 + other_8;
        let other_9 = subgroupShuffleXor(both_8, 16u);
        let both_9 = both_8 + other_9;
        let first_value = (lane & 1u) * 4u + ((lane / 2u) & 1u) * 2u + ((lane / 4u) & 1u);
        let counts = (round & 1u) * 64u + 6u;
        if ((lane % 32u) < 8u) {
          let to = (lane / 32u) * 8u + first_value + counts;
          pool[to] = both_9;
        }
        workgroupBarrier();
        var all = 0u;
        var all_2 = 0u;
        var all_3 = 0u;
        var all_4 = 0u;
        var all_5 = 0u;
        var all_6 = 0u;
        var all_7 = 0u;
        var all_8 = 0u;
        for (var group = 0u; group < 8u; group += 1u) {
          let theirs = pool[group * 8u + counts];
          let theirs_2 = pool[group * 8u + counts + 1u];
          let theirs_3 = pool[group * 8u + counts + 2u];
          let theirs_4 = pool[group * 8u + counts + 3u];
          let theirs_5 = pool[group * 8u + counts + 4u];
          let theirs_6 = pool[group * 8u + counts + 5u];
          let theirs_7 = pool[group * 8u + counts + 6u];
          let theirs_8 = pool[group * 8u + counts + 7u];
          all = all + theirs;
          all_2 = all_2 + theirs_2;
          all_3 = all_3 + theirs_3;
          all_4 = all_4 + theirs_4;
          all_5 = all_5 + theirs_5;
          all_6 = all_6 + theirs_6;
          all_7 = all_7 + theirs_7;
          all_8 = all_8 + theirs_8;
        }
        let above = select(0u, all_8, all_8 < rest);
        let upto = min(0xffffffffu, select(all_8, 0xffffffffu, all_8 < rest));
        let found_digit = select(1u, 0u, all_8 < rest);
        let from_here = all_8 + all_7;
        let above_2 = select(above, from_here, from_here < rest);
        let upto_2 = min(upto, select(from_here, 0xffffffffu, from_here < rest));
        let found_digit_2 = found_digit + select(1u, 0u, from_here < rest);
        let from_here_2 = from_here + all_6;
        let above_3 = select(above_2, from_here_2, from_here_2 < rest);
        let upto_3 = min(upto_2, select(from_here_2, 0xffffffffu, from_here_2 < rest));
        let found_digit_3 = found_digit_2 + select(1u, 0u, from_here_2 < rest);
        let from_here_3 = from_here_2 + all_5;
        let above_4 = select(above_3, from_here_3, from_here_3 < rest);
        let upto_4 = min(upto_3, select(from_here_3, 0xffffffffu, from_here_3 < rest));
        let found_digit_4 = found_digit_3 + select(1u, 0u, from_here_3 < rest);
        let from_here_4 = from_here_3 + all_4;
        let above_5 = select(above_4, from_here_4, from_here_4 < rest);
        let upto_5 = min(upto_4, select(from_here_4, 0xffffffffu, from_here_4 < rest));
        let found_digit_5 = found_digit_4 + select(1u, 0u, from_here_4 < rest);
        let from_here_5 = from_here_4 + all_3;
        let above_6 = select(above_5, from_here_5, from_here_5 < rest);
        let upto_6 = min(upto_5, select(from_here_5, 0xffffffffu, from_here_5 < rest));
        let found_digit_6 = found_digit_5 + select(1u, 0u, from_here_5 < rest);
        let from_here_6 = from_here_5 + all_2;
        let above_7 = select(above_6, from_here_6, from_here_6 < rest);
        let upto_7 = min(upto_6, select(from_here_6, 0xffffffffu, from_here_6 < rest));
        let found_digit_7 = found_digit_6 + select(1u, 0u, from_here_6 < rest);
        let from_here_7 = from_here_6 + all;
        let above_8 = select(above_7, from_here_7, from_here_7 < rest);
        let upto_8 = min(upto_7, select(from_here_7, 0xffffffffu, from_here_7 < rest));
        exact = select(exact, 1u, upto_8 == rest);
        known = known | (found_digit_7 << shift);
        rest = rest - above_8;
      }
    }
    let least = select(known, known - 1u, exact == 1u);
    let ties = select(rest, 0u, exact == 1u);
    var own_count = 0.0f;
    var own_count_2 = 0.0f;
    if (each > 0u) {
      own_count = own_count + select(0.0f, 1.0f, held > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held == least);
      own_count = own_count + select(0.0f, 1.0f, held_2 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_2 == least);
      own_count = own_count + select(0.0f, 1.0f, held_3 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_3 == least);
      own_count = own_count + select(0.0f, 1.0f, held_4 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_4 == least);
      own_count = own_count + select(0.0f, 1.0f, held_5 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_5 == least);
      own_count = own_count + select(0.0f, 1.0f, held_6 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_6 == least);
      own_count = own_count + select(0.0f, 1.0f, held_7 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_7 == least);
      own_count = own_count + select(0.0f, 1.0f, held_8 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, held_8 == least);
    }
    let other_10 = subgroupShuffleXor(own_count, 1u);
    let before = 0.0f + select(0.0f, other_10, (lane & 1u) > 0u);
    let both_10 = own_count + other_10;
    let other_11 = subgroupShuffleXor(both_10, 2u);
    let before_2 = before + select(0.0f, other_11, (lane & 2u) > 0u);
    let both_11 = both_10 + other_11;
    let other_12 = subgroupShuffleXor(both_11, 4u);
    let before_3 = before_2 + select(0.0f, other_12, (lane & 4u) > 0u);
    let both_12 = both_11 + other_12;
    let other_13 = subgroupShuffleXor(both_12, 8u);
    let before_4 = before_3 + select(0.0f, other_13, (lane & 8u) > 0u);
    let both_13 = both_12 + other_13;
    let other_14 = subgroupShuffleXor(both_13, 16u);
    let before_5 = before_4 + select(0.0f, other_14, (lane & 16u) > 0u);
    let both_14 = both_13 + other_14;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 134u] = bitcast<u32>(both_14);
    }
    workgroupBarrier();
    var total = before_5;
    for (var l = 0u; l < 8u; l += 1u) {
      total = total + select(0.0f, bitcast<f32>(pool[l + 134u]), l < (lane / 32u));
    }
    let other_15 = subgroupShuffleXor(own_count_2, 1u);
    let before_6 = 0.0f + select(0.0f, other_15, (lane & 1u) > 0u);
    let both_15 = own_count_2 + other_15;
    let other_16 = subgroupShuffleXor(both_15, 2u);
    let before_7 = before_6 + select(0.0f, other_16, (lane & 2u) > 0u);
    let both_16 = both_15 + other_16;
    let other_17 = subgroupShuffleXor(both_16, 4u);
    let before_8 = before_7 + select(0.0f, other_17, (lane & 4u) > 0u);
    let both_17 = both_16 + other_17;
    let other_18 = subgroupShuffleXor(both_17, 8u);
    let before_9 = before_8 + select(0.0f, other_18, (lane & 8u) > 0u);
    let both_18 = both_17 + other_18;
    let other_19 = subgroupShuffleXor(both_18, 16u);
    let before_10 = before_9 + select(0.0f, other_19, (lane & 16u) > 0u);
    let both_19 = both_18 + other_19;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 142u] = bitcast<u32>(both_19);
    }
    workgroupBarrier();
    var total_2 = before_10;
    for (var l_2 = 0u; l_2 < 8u; l_2 += 1u) {
      total_2 = total_2 + select(0.0f, bitcast<f32>(pool[l_2 + 142u]), l_2 < (lane / 32u));
    }
    var rank = u32(total_2);
    var place = u32(total) + min(rank, ties);
    if (each > 0u) {
      if ((held > least) || (held == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held == least);
      if ((held_2 > least) || (held_2 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 1u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_2 == least);
      if ((held_3 > least) || (held_3 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 2u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_3 == least);
      if ((held_4 > least) || (held_4 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 3u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_4 == least);
      if ((held_5 > least) || (held_5 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 4u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_5 == least);
      if ((held_6 > least) || (held_6 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 5u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_6 == least);
      if ((held_7 > least) || (held_7 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 6u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_7 == least);
      if ((held_8 > least) || (held_8 == least && rank < ties)) {
        pool[place] = bitcast<u32>(f32(first_held + 7u));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, held_8 == least);
    }
  }
  if (seen < 7u) {
    if (lane < 6u) {
      pool[lane] = bitcast<u32>(select(-1.0f, f32(lane), lane < seen));
    }
  }
  workgroupBarrier();
  if (lane < 6u) {
    let v = bitcast<f32>(pool[lane]);
    b3[p6 + (own_group * 6u + lane)] = bitcast<u32>(i32(v));
  }
}

