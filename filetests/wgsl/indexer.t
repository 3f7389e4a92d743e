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
  // part 0: indexer [T] × 6; indexer.lanes reduce 8 upcast 2 chunk 64 spread; chunks
  let own_group = group.x;
  let last_page = max(min(n5, sizes.w), 1u) - 1u;
  let last_position = last_page * 16u + 15u;
  let last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p3]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p4];
  let keys_at = own_group * 64u;
  let chunk_start = own_group * 64u;
  if (seen > 6u && chunk_start < seen) {
    if (lane < 4u) {
      pool[lane] = b0[p1 + lane];
    }
    if (lane < 128u) {
      pool[lane + 4u] = b0[p0 + ((lane / 32u) * 32u + (lane % 32u))];
    }
    workgroupBarrier();
    let share = lane % 8u;
    let chunk_end = min(chunk_start + 64u, seen);
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
      b4[keys_at + b] = select(bits_2 | 0x80000000u, bits_2 ^ 0xffffffffu, bits_2 > 0x7fffffffu);
    }
    if (share == 0u && chunk_start + b_2 < chunk_end) {
      let bits_3 = bitcast<u32>(total_2);
      let bits_4 = select(bits_3, 0x7fffffffu, (bits_3 & 0x7fffffffu) > 0x7f800000u);
      b4[keys_at + b_2] = select(bits_4 | 0x80000000u, bits_4 ^ 0xffffffffu, bits_4 > 0x7fffffffu);
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
var<workgroup> pool: array<u32, 4390>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let p6 = args[3].x;
  let n2 = args[1].y;
  let n5 = args[2].w;
  // part 0: indexer [T] × 6; indexer.lanes reduce 8 upcast 2 chunk 64 spread; together
  let own_group = group.x;
  let last_page = max(min(n5, sizes.w), 1u) - 1u;
  let last_position = last_page * 16u + 15u;
  let last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p3 + own_group]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p4 + own_group];
  let keys_at = own_group * ((sizes.w * 16u + 63u) / 64u) * 64u;
  if (seen > 6u) {
    let each = ((seen + 2047u) / 2048u) * 8u;
    let first_key = lane * each;
    var known = 0u;
    var rest = 6u;
    var exact = 0u;
    for (var round = 0u; round < 8u; round += 1u) {
      if (lane == 0u) { agreed.x = exact; }
      let goes_on = workgroupUniformLoad(&agreed).x;
      if (goes_on == 0u) {
        let shift = (7u - round) * 4u;
        let own_counts = lane + 6u;
        for (var value = 0u; value < 16u; value += 1u) {
          pool[value * 256u + own_counts] = 0u;
        }
        let last_keys = ((seen - 1u) / 8u) * 8u;
        for (var i = 0u; i < each; i += 8u) {
          let position_2 = i + first_key;
          let from_key = min(position_2, last_keys) + keys_at;
          let key = b4[from_key];
          let key_2 = b4[from_key + 1u];
          let key_3 = b4[from_key + 2u];
          let key_4 = b4[from_key + 3u];
          let key_5 = b4[from_key + 4u];
          let key_6 = b4[from_key + 5u];
          let key_7 = b4[from_key + 6u];
          let key_8 = b4[from_key + 7u];
          let exists = position_2 < seen;
          let digit = (key ^ known) >> shift;
          if (exists && digit < 16u) {
            let at = digit * 256u + own_counts;
            pool[at] = pool[at] + 1u;
          }
          let position_3 = position_2 + 1u;
          let exists_2 = position_3 < seen;
          let digit_2 = (key_2 ^ known) >> shift;
          if (exists_2 && digit_2 < 16u) {
            let at_2 = digit_2 * 256u + own_counts;
            pool[at_2] = pool[at_2] + 1u;
          }
          let position_4 = position_2 + 2u;
          let exists_3 = position_4 < seen;
          let digit_3 = (key_3 ^ known) >> shift;
          if (exists_3 && digit_3 < 16u) {
            let at_3 = digit_3 * 256u + own_counts;
            pool[at_3] = pool[at_3] + 1u;
          }
          let position_5 = position_2 + 3u;
          let exists_4 = position_5 < seen;
          let digit_4 = (key_4 ^ known) >> shift;
          if (exists_4 && digit_4 < 16u) {
            let at_4 = digit_4 * 256u + own_counts;
            pool[at_4] = pool[at_4] + 1u;
          }
          let position_6 = position_2 + 4u;
          let exists_5 = position_6 < seen;
          let digit_5 = (key_5 ^ known) >> shift;
          if (exists_5 && digit_5 < 16u) {
            let at_5 = digit_5 * 256u + own_counts;
            pool[at_5] = pool[at_5] + 1u;
          }
          let position_7 = position_2 + 5u;
          let exists_6 = position_7 < seen;
          let digit_6 = (key_6 ^ known) >> shift;
          if (exists_6 && digit_6 < 16u) {
            let at_6 = digit_6 * 256u + own_counts;
            pool[at_6] = pool[at_6] + 1u;
          }
          let position_8 = position_2 + 6u;
          let exists_7 = position_8 < seen;
          let digit_7 = (key_7 ^ known) >> shift;
          if (exists_7 && digit_7 < 16u) {
            let at_7 = digit_7 * 256u + own_counts;
            pool[at_7] = pool[at_7] + 1u;
          }
          let position_9 = position_2 + 7u;
          let exists_8 = position_9 < seen;
          let digit_8 = (key_8 ^ known) >> shift;
          if (exists_8 && digit_8 < 16u) {
            let at_8 = digit_8 * 256u + own_counts;
            pool[at_8] = pool[at_8] + 1u;
          }
        }
        workgroupBarrier();
        let from_count = (lane / 16u) * 256u + (lane % 16u) + 6u;
        var sum = 0u;
        for (var i_2 = 0u; i_2 < 16u; i_2 += 1u) {
          sum = sum + pool[i_2 * 16u + from_count];
        }
        pool[lane + 4102u] = sum;
        workgroupBarrier();
        if (lane < 16u) {
          let from_count_2 = lane * 16u + 4102u;
          var sum_2 = 0u;
          for (var i_3 = 0u; i_3 < 16u; i_3 += 1u) {
            sum_2 = sum_2 + pool[i_3 + from_count_2];
          }
          pool[lane + 4358u] = sum_2;
        }
        workgroupBarrier();
        var found_digit = 0u;
        var found = 0u;
        for (var down = 0u; down < 16u; down += 1u) {
          let value_2 = 15u - down;
          let count = pool[value_2 + 4358u];
          if (found == 0u) {
            let is_here = select(1u, 0u, count < rest);
            found_digit = select(found_digit, value_2, is_here == 1u);
            found = select(found, 1u, is_here == 1u);
            exact = select(exact, 1u, is_here == 1u && count == rest);
            rest = select(rest - count, rest, is_here == 1u);
          }
        }
        known = known | (found_digit << shift);
      }
    }
    let least = select(known, known - 1u, exact == 1u);
    let ties = select(rest, 0u, exact == 1u);
    var own_count = 0.0f;
    var own_count_2 = 0.0f;
    let last_keys_2 = ((seen - 1u) / 8u) * 8u;
    for (var i_4 = 0u; i_4 < each; i_4 += 8u) {
      let position_10 = i_4 + first_key;
      let from_key_2 = min(position_10, last_keys_2) + keys_at;
      let key_9 = b4[from_key_2];
      let key_10 = b4[from_key_2 + 1u];
      let key_11 = b4[from_key_2 + 2u];
      let key_12 = b4[from_key_2 + 3u];
      let key_13 = b4[from_key_2 + 4u];
      let key_14 = b4[from_key_2 + 5u];
      let key_15 = b4[from_key_2 + 6u];
      let key_16 = b4[from_key_2 + 7u];
      let exists_9 = position_10 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_9 && key_9 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_9 && key_9 == least);
      let position_11 = position_10 + 1u;
      let exists_10 = position_11 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_10 && key_10 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_10 && key_10 == least);
      let position_12 = position_10 + 2u;
      let exists_11 = position_12 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_11 && key_11 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_11 && key_11 == least);
      let position_13 = position_10 + 3u;
      let exists_12 = position_13 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_12 && key_12 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_12 && key_12 == least);
      let position_14 = position_10 + 4u;
      let exists_13 = position_14 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_13 && key_13 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_13 && key_13 == least);
      let position_15 = position_10 + 5u;
      let exists_14 = position_15 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_14 && key_14 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_14 && key_14 == least);
      let position_16 = position_10 + 6u;
      let exists_15 = position_16 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_15 && key_15 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_15 && key_15 == least);
      let position_17 = position_10 + 7u;
      let exists_16 = position_17 < seen;
      own_count = own_count + select(0.0f, 1.0f, exists_16 && key_16 > least);
      own_count_2 = own_count_2 + select(0.0f, 1.0f, exists_16 && key_16 == least);
    }
    let other = subgroupShuffleXor(own_count, 1u);
    let before = 0.0f + select(0.0f, other, (lane & 1u) > 0u);
    let both = own_count + other;
    let other_2 = subgroupShuffleXor(both, 2u);
    let before_2 = before + select(0.0f, other_2, (lane & 2u) > 0u);
    let both_2 = both + other_2;
    let other_3 = subgroupShuffleXor(both_2, 4u);
    let before_3 = before_2 + select(0.0f, other_3, (lane & 4u) > 0u);
    let both_3 = both_2 + other_3;
    let other_4 = subgroupShuffleXor(both_3, 8u);
    let before_4 = before_3 + select(0.0f, other_4, (lane & 8u) > 0u);
    let both_4 = both_3 + other_4;
    let other_5 = subgroupShuffleXor(both_4, 16u);
    let before_5 = before_4 + select(0.0f, other_5, (lane & 16u) > 0u);
    let both_5 = both_4 + other_5;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4374u] = bitcast<u32>(both_5);
    }
    workgroupBarrier();
    var total = before_5;
    for (var l = 0u; l < 8u; l += 1u) {
      total = total + select(0.0f, bitcast<f32>(pool[l + 4374u]), l < (lane / 32u));
    }
    let other_6 = subgroupShuffleXor(own_count_2, 1u);
    let before_6 = 0.0f + select(0.0f, other_6, (lane & 1u) > 0u);
    let both_6 = own_count_2 + other_6;
    let other_7 = subgroupShuffleXor(both_6, 2u);
    let before_7 = before_6 + select(0.0f, other_7, (lane & 2u) > 0u);
    let both_7 = both_6 + other_7;
    let other_8 = subgroupShuffleXor(both_7, 4u);
    let before_8 = before_7 + select(0.0f, other_8, (lane & 4u) > 0u);
    let both_8 = both_7 + other_8;
    let other_9 = subgroupShuffleXor(both_8, 8u);
    let before_9 = before_8 + select(0.0f, other_9, (lane & 8u) > 0u);
    let both_9 = both_8 + other_9;
    let other_10 = subgroupShuffleXor(both_9, 16u);
    let before_10 = before_9 + select(0.0f, other_10, (lane & 16u) > 0u);
    let both_10 = both_9 + other_10;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4382u] = bitcast<u32>(both_10);
    }
    workgroupBarrier();
    var total_2 = before_10;
    for (var l_2 = 0u; l_2 < 8u; l_2 += 1u) {
      total_2 = total_2 + select(0.0f, bitcast<f32>(pool[l_2 + 4382u]), l_2 < (lane / 32u));
    }
    var rank = u32(total_2);
    var place = u32(total) + min(rank, ties);
    let last_keys_3 = ((seen - 1u) / 8u) * 8u;
    for (var i_5 = 0u; i_5 < each; i_5 += 8u) {
      let position_18 = i_5 + first_key;
      let from_key_3 = min(position_18, last_keys_3) + keys_at;
      let key_17 = b4[from_key_3];
      let key_18 = b4[from_key_3 + 1u];
      let key_19 = b4[from_key_3 + 2u];
      let key_20 = b4[from_key_3 + 3u];
      let key_21 = b4[from_key_3 + 4u];
      let key_22 = b4[from_key_3 + 5u];
      let key_23 = b4[from_key_3 + 6u];
      let key_24 = b4[from_key_3 + 7u];
      let exists_17 = position_18 < seen;
      if (exists_17 && ((key_17 > least) || (key_17 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_18));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_17 && key_17 == least);
      let position_19 = position_18 + 1u;
      let exists_18 = position_19 < seen;
      if (exists_18 && ((key_18 > least) || (key_18 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_19));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_18 && key_18 == least);
      let position_20 = position_18 + 2u;
      let exists_19 = position_20 < seen;
      if (exists_19 && ((key_19 > least) || (key_19 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_20));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_19 && key_19 == least);
      let position_21 = position_18 + 3u;
      let exists_20 = position_21 < seen;
      if (exists_20 && ((key_20 > least) || (key_20 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_21));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_20 && key_20 == least);
      let position_22 = position_18 + 4u;
      let exists_21 = position_22 < seen;
      if (exists_21 && ((key_21 > least) || (key_21 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_22));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_21 && key_21 == least);
      let position_23 = position_18 + 5u;
      let exists_22 = position_23 < seen;
      if (exists_22 && ((key_22 > least) || (key_22 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_23));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_22 && key_22 == least);
      let position_24 = position_18 + 6u;
      let exists_23 = position_24 < seen;
      if (exists_23 && ((key_23 > least) || (key_23 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_24));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_23 && key_23 == least);
      let position_25 = position_18 + 7u;
      let exists_24 = position_25 < seen;
      if (exists_24 && ((key_24 > least) || (key_24 == least && rank < ties))) {
        pool[place] = bitcast<u32>(f32(position_25));
        place = place + 1u;
      }
      rank = select(rank, rank + 1u, exists_24 && key_24 == least);
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

