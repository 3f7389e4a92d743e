test large T=1 S=4096 P=128
# Latent attention: four heads over one state, whose rows are keys, and values in front.
graph attention {
  %0 = input q : f32[T, 4, 80]
  %1 = state kv : f16[S, 80]
  %2 = slice %1 axis=1 start=0 len=64 : f16[S, 64]
  %3 = input pos : i32[T]
  %4 = input first : i32[T]
  %5 = input pages : i32[P]
  %6 = attend %0 %1 %2 %3 %4 %5 scale=0.125 kv_heads=1 page=32 : f32[T, 4, 64]
  output y = %6
}
---
// attend_4x80: lanes 256; attend.lanes rows 2 reduce 2 upcast 1 chunk 64 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 2752>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 4] × 64; attend.lanes rows 2 reduce 2 upcast 1 chunk 64 spread; chunks
  let own_group = group.x;
  let rows_at = own_group % 2u;
  let chunk = own_group / 2u;
  let row = rows_at * 2u;
  let i = row / 4u;
  let i_2 = (row % 4u) % 4u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 80u, n1 / 80u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3];
  let group_of = i_2 / 4u;
  let chunk_start = chunk * 64u;
  if (chunk_start < seen) {
    let word = min(lane, 39u);
    let row_2 = rows_at * 2u + ((word * 4u) / 80u);
    let i_3 = row_2 / 4u;
    let i_4 = (row_2 % 4u) % 4u;
    let x = b0[(p0 + (i_4 * 80u + ((word * 4u) % 80u))) / 4u];
    if (lane < 40u) {
      pool[lane * 4u] = x.x;
      pool[lane * 4u + 1u] = x.y;
      pool[lane * 4u + 2u] = x.z;
      pool[lane * 4u + 3u] = x.w;
    }
    let chunk_end = min(chunk_start + 64u, seen);
    var top = -2e38f;
    var top_2 = -2e38f;
    var total = 0.0f;
    var total_2 = 0.0f;
    var y = 0.0f;
    var y_2 = 0.0f;
    var y_3 = 0.0f;
    var y_4 = 0.0f;
    var y_5 = 0.0f;
    var y_6 = 0.0f;
    var y_7 = 0.0f;
    var y_8 = 0.0f;
    workgroupBarrier();
    for (var start = chunk_start; start < chunk_end; start += 128u) {
      if (lane < 128u) {
        let p = min(start + lane, chunk_end - 1u);
        pool[lane + 160u] = min(b2[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
      }
      workgroupBarrier();
      let share = lane % 2u;
      let b = lane / 2u;
      let row_3 = pool[b + 160u] * 80u + group_of * 80u;
      var score = 0.0f;
      var score_2 = 0.0f;
      for (var c = share; c < 10u; c += 10u) {
        let eight = b1[(p1 + ((row_3 / 8u) + c) * 4u) / 4u];
        let c_2 = c + 2u;
        let eight_2 = b1[(p1 + ((row_3 / 8u) + c_2) * 4u) / 4u];
        let c_3 = c + 4u;
        let eight_3 = b1[(p1 + ((row_3 / 8u) + c_3) * 4u) / 4u];
        let c_4 = c + 6u;
        let eight_4 = b1[(p1 + ((row_3 / 8u) + c_4) * 4u) / 4u];
        let c_5 = c + 8u;
        let eight_5 = b1[(p1 + ((row_3 / 8u) + c_5) * 4u) / 4u];
        let key = unpack2x16float(eight.x).x;
        let key_2 = unpack2x16float(eight.x >> 16u).x;
        let key_3 = unpack2x16float(eight.y).x;
        let key_4 = unpack2x16float(eight.y >> 16u).x;
        let key_5 = unpack2x16float(eight.z).x;
        let key_6 = unpack2x16float(eight.z >> 16u).x;
        let key_7 = unpack2x16float(eight.w).x;
        let key_8 = unpack2x16float(eight.w >> 16u).x;
        let q = vec4<u32>(pool[c * 8u], pool[c * 8u + 1u], pool[c * 8u + 2u], pool[c * 8u + 3u]);
        let q_2 = vec4<u32>(pool[c * 8u + 4u], pool[c * 8u + 5u], pool[c * 8u + 6u], pool[c * 8u + 7u]);
        score = fma(key, bitcast<f32>(q.x), score);
        score = fma(key_2, bitcast<f32>(q.y), score);
        score = fma(key_3, bitcast<f32>(q.z), score);
        score = fma(key_4, bitcast<f32>(q.w), score);
        score = fma(key_5, bitcast<f32>(q_2.x), score);
        score = fma(key_6, bitcast<f32>(q_2.y), score);
        score = fma(key_7, bitcast<f32>(q_2.z), score);
        score = fma(key_8, bitcast<f32>(q_2.w), score);
        let q_3 = vec4<u32>(pool[c * 8u + 80u], pool[c * 8u + 81u], pool[c * 8u + 82u], pool[c * 8u + 83u]);
        let q_4 = vec4<u32>(pool[c * 8u + 84u], pool[c * 8u + 85u], pool[c * 8u + 86u], pool[c * 8u + 87u]);
        score_2 = fma(key, bitcast<f32>(q_3.x), score_2);
        score_2 = fma(key_2, bitcast<f32>(q_3.y), score_2);
        score_2 = fma(key_3, bitcast<f32>(q_3.z), score_2);
        score_2 = fma(key_4, bitcast<f32>(q_3.w), score_2);
        score_2 = fma(key_5, bitcast<f32>(q_4.x), score_2);
        score_2 = fma(key_6, bitcast<f32>(q_4.y), score_2);
        score_2 = fma(key_7, bitcast<f32>(q_4.z), score_2);
        score_2 = fma(key_8, bitcast<f32>(q_4.w), score_2);
        let key_9 = unpack2x16float(eight_2.x).x;
        let key_10 = unpack2x16float(eight_2.x >> 16u).x;
        let key_11 = unpack2x16float(eight_2.y).x;
        let key_12 = unpack2x16float(eight_2.y >> 16u).x;
        let key_13 = unpack2x16float(eight_2.z).x;
        let key_14 = unpack2x16float(eight_2.z >> 16u).x;
        let key_15 = unpack2x16float(eight_2.w).x;
        let key_16 = unpack2x16float(eight_2.w >> 16u).x;
        let q_5 = vec4<u32>(pool[c_2 * 8u], pool[c_2 * 8u + 1u], pool[c_2 * 8u + 2u], pool[c_2 * 8u + 3u]);
        let q_6 = vec4<u32>(pool[c_2 * 8u + 4u], pool[c_2 * 8u + 5u], pool[c_2 * 8u + 6u], pool[c_2 * 8u + 7u]);
        score = fma(key_9, bitcast<f32>(q_5.x), score);
        score = fma(key_10, bitcast<f32>(q_5.y), score);
        score = fma(key_11, bitcast<f32>(q_5.z), score);
        score = fma(key_12, bitcast<f32>(q_5.w), score);
        score = fma(key_13, bitcast<f32>(q_6.x), score);
        score = fma(key_14, bitcast<f32>(q_6.y), score);
        score = fma(key_15, bitcast<f32>(q_6.z), score);
        score = fma(key_16, bitcast<f32>(q_6.w), score);
        let q_7 = vec4<u32>(pool[c_2 * 8u + 80u], pool[c_2 * 8u + 81u], pool[c_2 * 8u + 82u], pool[c_2 * 8u + 83u]);
        let q_8 = vec4<u32>(pool[c_2 * 8u + 84u], pool[c_2 * 8u + 85u], pool[c_2 * 8u + 86u], pool[c_2 * 8u + 87u]);
        score_2 = fma(key_9, bitcast<f32>(q_7.x), score_2);
        score_2 = fma(key_10, bitcast<f32>(q_7.y), score_2);
        score_2 = fma(key_11, bitcast<f32>(q_7.z), score_2);
        score_2 = fma(key_12, bitcast<f32>(q_7.w), score_2);
        score_2 = fma(key_13, bitcast<f32>(q_8.x), score_2);
        score_2 = fma(key_14, bitcast<f32>(q_8.y), score_2);
        score_2 = fma(key_15, bitcast<f32>(q_8.z), score_2);
        score_2 = fma(key_16, bitcast<f32>(q_8.w), score_2);
        let key_17 = unpack2x16float(eight_3.x).x;
        let key_18 = unpack2x16float(eight_3.x >> 16u).x;
        let key_19 = unpack2x16float(eight_3.y).x;
        let key_20 = unpack2x16float(eight_3.y >> 16u).x;
        let key_21 = unpack2x16float(eight_3.z).x;
        let key_22 = unpack2x16float(eight_3.z >> 16u).x;
        let key_23 = unpack2x16float(eight_3.w).x;
        let key_24 = unpack2x16float(eight_3.w >> 16u).x;
        let q_9 = vec4<u32>(pool[c_3 * 8u], pool[c_3 * 8u + 1u], pool[c_3 * 8u + 2u], pool[c_3 * 8u + 3u]);
        let q_10 = vec4<u32>(pool[c_3 * 8u + 4u], pool[c_3 * 8u + 5u], pool[c_3 * 8u + 6u], pool[c_3 * 8u + 7u]);
        score = fma(key_17, bitcast<f32>(q_9.x), score);
        score = fma(key_18, bitcast<f32>(q_9.y), score);
        score = fma(key_19, bitcast<f32>(q_9.z), score);
        score = fma(key_20, bitcast<f32>(q_9.w), score);
        score = fma(key_21, bitcast<f32>(q_10.x), score);
        score = fma(key_22, bitcast<f32>(q_10.y), score);
        score = fma(key_23, bitcast<f32>(q_10.z), score);
        score = fma(key_24, bitcast<f32>(q_10.w), score);
        let q_11 = vec4<u32>(pool[c_3 * 8u + 80u], pool[c_3 * 8u + 81u], pool[c_3 * 8u + 82u], pool[c_3 * 8u + 83u]);
        let q_12 = vec4<u32>(pool[c_3 * 8u + 84u], pool[c_3 * 8u + 85u], pool[c_3 * 8u + 86u], pool[c_3 * 8u + 87u]);
        score_2 = fma(key_17, bitcast<f32>(q_11.x), score_2);
        score_2 = fma(key_18, bitcast<f32>(q_11.y), score_2);
        score_2 = fma(key_19, bitcast<f32>(q_11.z), score_2);
        score_2 = fma(key_20, bitcast<f32>(q_11.w), score_2);
        score_2 = fma(key_21, bitcast<f32>(q_12.x), score_2);
        score_2 = fma(key_22, bitcast<f32>(q_12.y), score_2);
        score_2 = fma(key_23, bitcast<f32>(q_12.z), score_2);
        score_2 = fma(key_24, bitcast<f32>(q_12.w), score_2);
        let key_25 = unpack2x16float(eight_4.x).x;
        let key_26 = unpack2x16float(eight_4.x >> 16u).x;
        let key_27 = unpack2x16float(eight_4.y).x;
        let key_28 = unpack2x16float(eight_4.y >> 16u).x;
        let key_29 = unpack2x16float(eight_4.z).x;
        let key_30 = unpack2x16float(eight_4.z >> 16u).x;
        let key_31 = unpack2x16float(eight_4.w).x;
        let key_32 = unpack2x16float(eight_4.w >> 16u).x;
        let q_13 = vec4<u32>(pool[c_4 * 8u], pool[c_4 * 8u + 1u], pool[c_4 * 8u + 2u], pool[c_4 * 8u + 3u]);
        let q_14 = vec4<u32>(pool[c_4 * 8u + 4u], pool[c_4 * 8u + 5u], pool[c_4 * 8u + 6u], pool[c_4 * 8u + 7u]);
        score = fma(key_25, bitcast<f32>(q_13.x), score);
        score = fma(key_26, bitcast<f32>(q_13.y), score);
        score = fma(key_27, bitcast<f32>(q_13.z), score);
        score = fma(key_28, bitcast<f32>(q_13.w), score);
        score = fma(key_29, bitcast<f32>(q_14.x), score);
        score = fma(key_30, bitcast<f32>(q_14.y), score);
        score = fma(key_31, bitcast<f32>(q_14.z), score);
        score = fma(key_32, bitcast<f32>(q_14.w), score);
        let q_15 = vec4<u32>(pool[c_4 * 8u + 80u], pool[c_4 * 8u + 81u], pool[c_4 * 8u + 82u], pool[c_4 * 8u + 83u]);
        let q_16 = vec4<u32>(pool[c_4 * 8u + 84u], pool[c_4 * 8u + 85u], pool[c_4 * 8u + 86u], pool[c_4 * 8u + 87u]);
        score_2 = fma(key_25, bitcast<f32>(q_15.x), score_2);
        score_2 = fma(key_26, bitcast<f32>(q_15.y), score_2);
        score_2 = fma(key_27, bitcast<f32>(q_15.z), score_2);
        score_2 = fma(key_28, bitcast<f32>(q_15.w), score_2);
        score_2 = fma(key_29, bitcast<f32>(q_16.x), score_2);
        score_2 = fma(key_30, bitcast<f32>(q_16.y), score_2);
        score_2 = fma(key_31, bitcast<f32>(q_16.z), score_2);
        score_2 = fma(key_32, bitcast<f32>(q_16.w), score_2);
        let key_33 = unpack2x16float(eight_5.x).x;
        let key_34 = unpack2x16float(eight_5.x >> 16u).x;
        let key_35 = unpack2x16float(eight_5.y).x;
        let key_36 = unpack2x16float(eight_5.y >> 16u).x;
        let key_37 = unpack2x16float(eight_5.z).x;
        let key_38 = unpack2x16float(eight_5.z >> 16u).x;
        let key_39 = unpack2x16float(eight_5.w).x;
        let key_40 = unpack2x16float(eight_5.w >> 16u).x;
        let q_17 = vec4<u32>(pool[c_5 * 8u], pool[c_5 * 8u + 1u], pool[c_5 * 8u + 2u], pool[c_5 * 8u + 3u]);
        let q_18 = vec4<u32>(pool[c_5 * 8u + 4u], pool[c_5 * 8u + 5u], pool[c_5 * 8u + 6u], pool[c_5 * 8u + 7u]);
        score = fma(key_33, bitcast<f32>(q_17.x), score);
        score = fma(key_34, bitcast<f32>(q_17.y), score);
        score = fma(key_35, bitcast<f32>(q_17.z), score);
        score = fma(key_36, bitcast<f32>(q_17.w), score);
        score = fma(key_37, bitcast<f32>(q_18.x), score);
        score = fma(key_38, bitcast<f32>(q_18.y), score);
        score = fma(key_39, bitcast<f32>(q_18.z), score);
        score = fma(key_40, bitcast<f32>(q_18.w), score);
        let q_19 = vec4<u32>(pool[c_5 * 8u + 80u], pool[c_5 * 8u + 81u], pool[c_5 * 8u + 82u], pool[c_5 * 8u + 83u]);
        let q_20 = vec4<u32>(pool[c_5 * 8u + 84u], pool[c_5 * 8u + 85u], pool[c_5 * 8u + 86u], pool[c_5 * 8u + 87u]);
        score_2 = fma(key_33, bitcast<f32>(q_19.x), score_2);
        score_2 = fma(key_34, bitcast<f32>(q_19.y), score_2);
        score_2 = fma(key_35, bitcast<f32>(q_19.z), score_2);
        score_2 = fma(key_36, bitcast<f32>(q_19.w), score_2);
        score_2 = fma(key_37, bitcast<f32>(q_20.x), score_2);
        score_2 = fma(key_38, bitcast<f32>(q_20.y), score_2);
        score_2 = fma(key_39, bitcast<f32>(q_20.z), score_2);
        score_2 = fma(key_40, bitcast<f32>(q_20.w), score_2);
      }
      let exists = start + b < chunk_end;
      let other = subgroupShuffleXor(score, 1u);
      let both = score + other;
      if (share == 0u) {
        pool[b + 288u] = bitcast<u32>(select(-2e38f, both * 0.125f, exists));
      }
      let other_2 = subgroupShuffleXor(score_2, 1u);
      let both_2 = score_2 + other_2;
      if (share == 0u) {
        pool[b + 416u] = bitcast<u32>(select(-2e38f, both_2 * 0.125f, exists));
      }
      workgroupBarrier();
      let of_item = min(lane, 31u);
      let from_score = (of_item / 16u) * 128u + (of_item % 16u) + 288u;
      var total_3 = bitcast<f32>(pool[from_score]);
      for (var l = 1u; l < 8u; l += 1u) {
        total_3 = max(total_3, bitcast<f32>(pool[from_score + l * 16u]));
      }
      let other_3 = subgroupShuffleXor(total_3, 1u);
      let both_3 = max(total_3, other_3);
      let other_4 = subgroupShuffleXor(both_3, 2u);
      let both_4 = max(both_3, other_4);
      let other_5 = subgroupShuffleXor(both_4, 4u);
      let both_5 = max(both_4, other_5);
      let other_6 = subgroupShuffleXor(both_5, 8u);
      let both_6 = max(both_5, other_6);
      if (lane < 32u && (of_item % 16u) == 0u) {
        pool[(of_item / 16u) + 544u] = bitcast<u32>(both_6);
      }
      workgroupBarrier();
      var total_4 = bitcast<f32>(pool[544u]);
      let new_top = max(top, total_4);
      let shrink = exp(top - new_top);
      top = new_top;
      total = total * shrink;
      y = y * shrink;
      y_2 = y_2 * shrink;
      y_3 = y_3 * shrink;
      y_4 = y_4 * shrink;
      if (lane < 128u) {
        pool[lane + 288u] = bitcast<u32>(exp(bitcast<f32>(pool[lane + 288u]) - new_top));
      }
      var total_5 = bitcast<f32>(pool[545u]);
      let new_top_2 = max(top_2, total_5);
      let shrink_2 = exp(top_2 - new_top_2);
      top_2 = new_top_2;
      total_2 = total_2 * shrink_2;
      y_5 = y_5 * shrink_2;
      y_6 = y_6 * shrink_2;
      y_7 = y_7 * shrink_2;
      y_8 = y_8 * shrink_2;
      if (lane < 128u) {
        pool[lane + 416u] = bitcast<u32>(exp(bitcast<f32>(pool[lane + 416u]) - new_top_2));
      }
      workgroupBarrier();
      let column = lane % 16u;
      let team = lane / 16u;
      let item = min(column, 31u);
      let item_2 = min(column + 16u, 31u);
      let here = min(chunk_end - start, 128u);
      for (var b_2 = team * 8u; b_2 < here; b_2 += 128u) {
        let row_4 = pool[b_2 + 160u] * 80u + group_of * 64u;
        let pair = b1[(p1 + ((row_4 / 2u) + item)) / 4u][(p1 + ((row_4 / 2u) + item)) % 4u];
        let pair_2 = b1[(p1 + ((row_4 / 2u) + item_2)) / 4u][(p1 + ((row_4 / 2u) + item_2)) % 4u];
        let row_5 = pool[b_2 + 161u] * 80u + group_of * 64u;
        let pair_3 = b1[(p1 + ((row_5 / 2u) + item)) / 4u][(p1 + ((row_5 / 2u) + item)) % 4u];
        let pair_4 = b1[(p1 + ((row_5 / 2u) + item_2)) / 4u][(p1 + ((row_5 / 2u) + item_2)) % 4u];
        let row_6 = pool[b_2 + 162u] * 80u + group_of * 64u;
        let pair_5 = b1[(p1 + ((row_6 / 2u) + item)) / 4u][(p1 + ((row_6 / 2u) + item)) % 4u];
        let pair_6 = b1[(p1 + ((row_6 / 2u) + item_2)) / 4u][(p1 + ((row_6 / 2u) + item_2)) % 4u];
        let row_7 = pool[b_2 + 163u] * 80u + group_of * 64u;
        let pair_7 = b1[(p1 + ((row_7 / 2u) + item)) / 4u][(p1 + ((row_7 / 2u) + item)) % 4u];
        let pair_8 = b1[(p1 + ((row_7 / 2u) + item_2)) / 4u][(p1 + ((row_7 / 2u) + item_2)) % 4u];
        let row_8 = pool[b_2 + 164u] * 80u + group_of * 64u;
        let pair_9 = b1[(p1 + ((row_8 / 2u) + item)) / 4u][(p1 + ((row_8 / 2u) + item)) % 4u];
        let pair_10 = b1[(p1 + ((row_8 / 2u) + item_2)) / 4u][(p1 + ((row_8 / 2u) + item_2)) % 4u];
        let row_9 = pool[b_2 + 165u] * 80u + group_of * 64u;
        let pair_11 = b1[(p1 + ((row_9 / 2u) + item)) / 4u][(p1 + ((row_9 / 2u) + item)) % 4u];
        let pair_12 = b1[(p1 + ((row_9 / 2u) + item_2)) / 4u][(p1 + ((row_9 / 2u) + item_2)) % 4u];
        let row_10 = pool[b_2 + 166u] * 80u + group_of * 64u;
        let pair_13 = b1[(p1 + ((row_10 / 2u) + item)) / 4u][(p1 + ((row_10 / 2u) + item)) % 4u];
        let pair_14 = b1[(p1 + ((row_10 / 2u) + item_2)) / 4u][(p1 + ((row_10 / 2u) + item_2)) % 4u];
        let row_11 = pool[b_2 + 167u] * 80u + group_of * 64u;
        let pair_15 = b1[(p1 + ((row_11 / 2u) + item)) / 4u][(p1 + ((row_11 / 2u) + item)) % 4u];
        let pair_16 = b1[(p1 + ((row_11 / 2u) + item_2)) / 4u][(p1 + ((row_11 / 2u) + item_2)) % 4u];
        let value = unpack2x16float(pair).x;
        let value_2 = unpack2x16float(pair >> 16u).x;
        let value_3 = unpack2x16float(pair_2).x;
        let value_4 = unpack2x16float(pair_2 >> 16u).x;
        let weight = bitcast<f32>(pool[b_2 + 288u]);
        total = total + weight;
        y = fma(weight, value, y);
        y_2 = fma(weight, value_2, y_2);
        y_3 = fma(weight, value_3, y_3);
        y_4 = fma(weight, value_4, y_4);
        let weight_2 = bitcast<f32>(pool[b_2 + 416u]);
        total_2 = total_2 + weight_2;
        y_5 = fma(weight_2, value, y_5);
        y_6 = fma(weight_2, value_2, y_6);
        y_7 = fma(weight_2, value_3, y_7);
        y_8 = fma(weight_2, value_4, y_8);
        let value_5 = unpack2x16float(pair_3).x;
        let value_6 = unpack2x16float(pair_3 >> 16u).x;
        let value_7 = unpack2x16float(pair_4).x;
        let value_8 = unpack2x16float(pair_4 >> 16u).x;
        let weight_3 = bitcast<f32>(pool[b_2 + 289u]);
        total = total + weight_3;
        y = fma(weight_3, value_5, y);
        y_2 = fma(weight_3, value_6, y_2);
        y_3 = fma(weight_3, value_7, y_3);
        y_4 = fma(weight_3, value_8, y_4);
        let weight_4 = bitcast<f32>(pool[b_2 + 417u]);
        total_2 = total_2 + weight_4;
        y_5 = fma(weight_4, value_5, y_5);
        y_6 = fma(weight_4, value_6, y_6);
        y_7 = fma(weight_4, value_7, y_7);
        y_8 = fma(weight_4, value_8, y_8);
        let value_9 = unpack2x16float(pair_5).x;
        let value_10 = unpack2x16float(pair_5 >> 16u).x;
        let value_11 = unpack2x16float(pair_6).x;
        let value_12 = unpack2x16float(pair_6 >> 16u).x;
        let weight_5 = bitcast<f32>(pool[b_2 + 290u]);
        total = total + weight_5;
        y = fma(weight_5, value_9, y);
        y_2 = fma(weight_5, value_10, y_2);
        y_3 = fma(weight_5, value_11, y_3);
        y_4 = fma(weight_5, value_12, y_4);
        let weight_6 = bitcast<f32>(pool[b_2 + 418u]);
        total_2 = total_2 + weight_6;
        y_5 = fma(weight_6, value_9, y_5);
        y_6 = fma(weight_6, value_10, y_6);
        y_7 = fma(weight_6, value_11, y_7);
        y_8 = fma(weight_6, value_12, y_8);
        let value_13 = unpack2x16float(pair_7).x;
        let value_14 = unpack2x16float(pair_7 >> 16u).x;
        let value_15 = unpack2x16float(pair_8).x;
        let value_16 = unpack2x16float(pair_8 >> 16u).x;
        let weight_7 = bitcast<f32>(pool[b_2 + 291u]);
        total = total + weight_7;
        y = fma(weight_7, value_13, y);
        y_2 = fma(weight_7, value_14, y_2);
        y_3 = fma(weight_7, value_15, y_3);
        y_4 = fma(weight_7, value_16, y_4);
        let weight_8 = bitcast<f32>(pool[b_2 + 419u]);
        total_2 = total_2 + weight_8;
        y_5 = fma(weight_8, value_13, y_5);
        y_6 = fma(weight_8, value_14, y_6);
        y_7 = fma(weight_8, value_15, y_7);
        y_8 = fma(weight_8, value_16, y_8);
        let value_17 = unpack2x16float(pair_9).x;
        let value_18 = unpack2x16float(pair_9 >> 16u).x;
        let value_19 = unpack2x16float(pair_10).x;
        let value_20 = unpack2x16float(pair_10 >> 16u).x;
        let weight_9 = bitcast<f32>(pool[b_2 + 292u]);
        total = total + weight_9;
        y = fma(weight_9, value_17, y);
        y_2 = fma(weight_9, value_18, y_2);
        y_3 = fma(weight_9, value_19, y_3);
        y_4 = fma(weight_9, value_20, y_4);
        let weight_10 = bitcast<f32>(pool[b_2 + 420u]);
        total_2 = total_2 + weight_10;
        y_5 = fma(weight_10, value_17, y_5);
        y_6 = fma(weight_10, value_18, y_6);
        y_7 = fma(weight_10, value_19, y_7);
        y_8 = fma(weight_10, value_20, y_8);
        let value_21 = unpack2x16float(pair_11).x;
        let value_22 = unpack2x16float(pair_11 >> 16u).x;
        let value_23 = unpack2x16float(pair_12).x;
        let value_24 = unpack2x16float(pair_12 >> 16u).x;
        let weight_11 = bitcast<f32>(pool[b_2 + 293u]);
        total = total + weight_11;
        y = fma(weight_11, value_21, y);
        y_2 = fma(weight_11, value_22, y_2);
        y_3 = fma(weight_11, value_23, y_3);
        y_4 = fma(weight_11, value_24, y_4);
        let weight_12 = bitcast<f32>(pool[b_2 + 421u]);
        total_2 = total_2 + weight_12;
        y_5 = fma(weight_12, value_21, y_5);
        y_6 = fma(weight_12, value_22, y_6);
        y_7 = fma(weight_12, value_23, y_7);
        y_8 = fma(weight_12, value_24, y_8);
        let value_25 = unpack2x16float(pair_13).x;
        let value_26 = unpack2x16float(pair_13 >> 16u).x;
        let value_27 = unpack2x16float(pair_14).x;
        let value_28 = unpack2x16float(pair_14 >> 16u).x;
        let weight_13 = bitcast<f32>(pool[b_2 + 294u]);
        total = total + weight_13;
        y = fma(weight_13, value_25, y);
        y_2 = fma(weight_13, value_26, y_2);
        y_3 = fma(weight_13, value_27, y_3);
        y_4 = fma(weight_13, value_28, y_4);
        let weight_14 = bitcast<f32>(pool[b_2 + 422u]);
        total_2 = total_2 + weight_14;
        y_5 = fma(weight_14, value_25, y_5);
        y_6 = fma(weight_14, value_26, y_6);
        y_7 = fma(weight_14, value_27, y_7);
        y_8 = fma(weight_14, value_28, y_8);
        let value_29 = unpack2x16float(pair_15).x;
        let value_30 = unpack2x16float(pair_15 >> 16u).x;
        let value_31 = unpack2x16float(pair_16).x;
        let value_32 = unpack2x16float(pair_16 >> 16u).x;
        let weight_15 = bitcast<f32>(pool[b_2 + 295u]);
        total = total + weight_15;
        y = fma(weight_15, value_29, y);
        y_2 = fma(weight_15, value_30, y_2);
        y_3 = fma(weight_15, value_31, y_3);
        y_4 = fma(weight_15, value_32, y_4);
        let weight_16 = bitcast<f32>(pool[b_2 + 423u]);
        total_2 = total_2 + weight_16;
        y_5 = fma(weight_16, value_29, y_5);
        y_6 = fma(weight_16, value_30, y_6);
        y_7 = fma(weight_16, value_31, y_7);
        y_8 = fma(weight_16, value_32, y_8);
      }
      workgroupBarrier();
    }
    let column_2 = lane % 16u;
    let team_2 = lane / 16u;
    let at = team_2 * 136u + 576u;
    pool[at + 64u] = bitcast<u32>(total);
    pool[at + 65u] = bitcast<u32>(top);
    if (column_2 < 32u) {
      pool[at + column_2 * 2u] = bitcast<u32>(y);
      pool[at + column_2 * 2u + 1u] = bitcast<u32>(y_2);
    }
    let item_3 = column_2 + 16u;
    if (item_3 < 32u) {
      pool[at + item_3 * 2u] = bitcast<u32>(y_3);
      pool[at + item_3 * 2u + 1u] = bitcast<u32>(y_4);
    }
    let at_2 = team_2 * 136u + 644u;
    pool[at_2 + 64u] = bitcast<u32>(total_2);
    pool[at_2 + 65u] = bitcast<u32>(top_2);
    if (column_2 < 32u) {
      pool[at_2 + column_2 * 2u] = bitcast<u32>(y_5);
      pool[at_2 + column_2 * 2u + 1u] = bitcast<u32>(y_6);
    }
    let item_4 = column_2 + 16u;
    if (item_4 < 32u) {
      pool[at_2 + item_4 * 2u] = bitcast<u32>(y_7);
      pool[at_2 + item_4 * 2u + 1u] = bitcast<u32>(y_8);
    }
    workgroupBarrier();
    if (lane < 128u) {
      let h = lane / 64u;
      let column_3 = lane % 64u;
      let from_team = h * 68u + column_3 + 576u;
      var total_6 = bitcast<f32>(pool[from_team]);
      for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
        total_6 = total_6 + bitcast<f32>(pool[from_team + l_2 * 136u]);
      }
      b4[((rows_at * ((sizes.w * 32u + 63u) / 64u) + chunk) * 2u + h) * 68u + column_3] = bitcast<u32>(total_6);
    }
    if (lane < 2u) {
      let to = ((rows_at * ((sizes.w * 32u + 63u) / 64u) + chunk) * 2u + lane) * 68u + 64u;
      let from_team_2 = lane * 68u + 640u;
      var total_7 = bitcast<f32>(pool[from_team_2]);
      for (var l_3 = 1u; l_3 < 16u; l_3 += 1u) {
        total_7 = total_7 + bitcast<f32>(pool[from_team_2 + l_3 * 136u]);
      }
      let its_top = bitcast<f32>(pool[lane * 68u + 641u]);
      b4[to] = bitcast<u32>(total_7);
      b4[to + 1u] = bitcast<u32>(its_top);
    }
  }
}

// attend_4x80: lanes 256; attend.lanes rows 2 reduce 2 upcast 1 chunk 64 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<vec4<u32>>;
var<workgroup> pool: array<u32, 4672>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p5 = args[2].z;
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 4] × 64; attend.lanes rows 2 reduce 2 upcast 1 chunk 64 spread; together
  let own_group = group.x;
  let i = own_group / 4u;
  let i_2 = (own_group % 4u) % 4u;
  let i_3 = own_group / 4u;
  let i_4 = (own_group % 4u) % 4u;
  let i_5 = own_group / 4u;
  let i_6 = (own_group % 4u) % 4u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 80u, n1 / 80u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2 + i_5]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3 + i_5];
  let chunks = (seen + 63u) / 64u;
  var sum = 0.0f;
  var sum_2 = 0.0f;
  var carried = -2e38f;
  let put_at = ((own_group / 2u) * ((sizes.w * 32u + 63u) / 64u) * 2u + (own_group % 2u)) * 68u;
  for (var batch = 0u; batch < chunks; batch += 64u) {
    let column = (lane % 16u) * 4u;
    let own_chunk = lane / 16u;
    let values = b4[(min(batch + own_chunk, chunks - 1u) * 136u + put_at + column) / 4u];
    let chunk = own_chunk + 16u;
    let values_2 = b4[(min(batch + chunk, chunks - 1u) * 136u + put_at + column) / 4u];
    let chunk_2 = own_chunk + 32u;
    let values_3 = b4[(min(batch + chunk_2, chunks - 1u) * 136u + put_at + column) / 4u];
    let chunk_3 = own_chunk + 48u;
    let values_4 = b4[(min(batch + chunk_3, chunks - 1u) * 136u + put_at + column) / 4u];
    var weight = 0u;
    var weight_2 = 0u;
    var weight_3 = 0u;
    if (lane < 64u) {
      let chunk_4 = batch + lane;
      let put_down = min(chunk_4, chunks - 1u) * 136u + put_at + 64u;
      let put_down_2 = bitcast<f32>(b4[put_down / 4u][put_down % 4u]);
      let put_down_3 = bitcast<f32>(b4[(put_down + 1u) / 4u][(put_down + 1u) % 4u]);
      let its_top = select(-2e38f, put_down_3, chunk_4 < chunks);
      let chunk_5 = batch + (lane ^ 32u);
      let put_down_4 = min(chunk_5, chunks - 1u) * 136u + put_at + 64u;
      let put_down_5 = bitcast<f32>(b4[put_down_4 / 4u][put_down_4 % 4u]);
      let put_down_6 = bitcast<f32>(b4[(put_down_4 + 1u) / 4u][(put_down_4 + 1u) % 4u]);
      let its_top_2 = select(-2e38f, put_down_6, chunk_5 < chunks);
      let other = subgroupShuffleXor(its_top, 1u);
      let before = select(-2e38f, max(-2e38f, other), (lane & 1u) > 0u);
      let all = max(its_top, other);
      let other_2 = subgroupShuffleXor(all, 2u);
      let before_2 = select(before, max(before, other_2), (lane & 2u) > 0u);
      let all_2 = max(all, other_2);
      let other_3 = subgroupShuffleXor(all_2, 4u);
      let before_3 = select(before_2, max(before_2, other_3), (lane & 4u) > 0u);
      let all_3 = max(all_2, other_3);
      let other_4 = subgroupShuffleXor(all_3, 8u);
      let before_4 = select(before_3, max(before_3, other_4), (lane & 8u) > 0u);
      let all_4 = max(all_3, other_4);
      let other_5 = subgroupShuffleXor(all_4, 16u);
      let before_5 = select(before_4, max(before_4, other_5), (lane & 16u) > 0u);
      let all_5 = max(all_4, other_5);
      let other_6 = subgroupShuffleXor(its_top_2, 1u);
      let both = max(its_top_2, other_6);
      let other_7 = subgroupShuffleXor(both, 2u);
      let both_2 = max(both, other_7);
      let other_8 = subgroupShuffleXor(both_2, 4u);
      let both_3 = max(both_2, other_8);
      let other_9 = subgroupShuffleXor(both_3, 8u);
      let both_4 = max(both_3, other_9);
      let other_10 = subgroupShuffleXor(both_4, 16u);
      let both_5 = max(both_4, other_10);
      let new_top = max(max(before_5, select(carried, max(carried, both_5), lane > 31u)), its_top);
      let shrink = exp(max(before_5, select(carried, max(carried, both_5), lane > 31u)) - new_top);
      let shrink_2 = exp(its_top - new_top);
      weight = bitcast<u32>(shrink);
      weight_2 = bitcast<u32>(shrink_2);
      weight_3 = bitcast<u32>(put_down_2);
      carried = max(max(carried, all_5), both_5);
    }
    workgroupBarrier();
    pool[own_chunk * 68u + column] = values.x;
    pool[own_chunk * 68u + column + 1u] = values.y;
    pool[own_chunk * 68u + column + 2u] = values.z;
    pool[own_chunk * 68u + column + 3u] = values.w;
    pool[chunk * 68u + column] = values_2.x;
    pool[chunk * 68u + column + 1u] = values_2.y;
    pool[chunk * 68u + column + 2u] = values_2.z;
    pool[chunk * 68u + column + 3u] = values_2.w;
    pool[chunk_2 * 68u + column] = values_3.x;
    pool[chunk_2 * 68u + column + 1u] = values_3.y;
    pool[chunk_2 * 68u + column + 2u] = values_3.z;
    pool[chunk_2 * 68u + column + 3u] = values_3.w;
    pool[chunk_3 * 68u + column] = values_4.x;
    pool[chunk_3 * 68u + column + 1u] = values_4.y;
    pool[chunk_3 * 68u + column + 2u] = values_4.z;
    pool[chunk_3 * 68u + column + 3u] = values_4.w;
    if (lane < 64u) {
      pool[lane * 4u + 4352u] = weight;
      pool[lane * 4u + 4353u] = weight_2;
      pool[lane * 4u + 4354u] = weight_3;
      pool[lane * 4u + 4355u] = 0u;
    }
    workgroupBarrier();
    let here = min(chunks - batch, 64u);
    if (lane < 64u) {
      for (var c = 0u; c < here; c += 8u) {
        let by = vec4<u32>(pool[c * 4u + 4352u], pool[c * 4u + 4353u], pool[c * 4u + 4354u], pool[c * 4u + 4355u]);
        let value = bitcast<f32>(pool[c * 68u + lane]);
        let chunk_6 = c + 1u;
        let by_2 = vec4<u32>(pool[chunk_6 * 4u + 4352u], pool[chunk_6 * 4u + 4353u], pool[chunk_6 * 4u + 4354u], pool[chunk_6 * 4u + 4355u]);
        let value_2 = bitcast<f32>(pool[chunk_6 * 68u + lane]);
        let chunk_7 = c + 2u;
        let by_3 = vec4<u32>(pool[chunk_7 * 4u + 4352u], pool[chunk_7 * 4u + 4353u], pool[chunk_7 * 4u + 4354u], pool[chunk_7 * 4u + 4355u]);
        let value_3 = bitcast<f32>(pool[chunk_7 * 68u + lane]);
        let chunk_8 = c + 3u;
        let by_4 = vec4<u32>(pool[chunk_8 * 4u + 4352u], pool[chunk_8 * 4u + 4353u], pool[chunk_8 * 4u + 4354u], pool[chunk_8 * 4u + 4355u]);
        let value_4 = bitcast<f32>(pool[chunk_8 * 68u + lane]);
        let chunk_9 = c + 4u;
        let by_5 = vec4<u32>(pool[chunk_9 * 4u + 4352u], pool[chunk_9 * 4u + 4353u], pool[chunk_9 * 4u + 4354u], pool[chunk_9 * 4u + 4355u]);
        let value_5 = bitcast<f32>(pool[chunk_9 * 68u + lane]);
        let chunk_10 = c + 5u;
        let by_6 = vec4<u32>(pool[chunk_10 * 4u + 4352u], pool[chunk_10 * 4u + 4353u], pool[chunk_10 * 4u + 4354u], pool[chunk_10 * 4u + 4355u]);
        let value_6 = bitcast<f32>(pool[chunk_10 * 68u + lane]);
        let chunk_11 = c + 6u;
        let by_7 = vec4<u32>(pool[chunk_11 * 4u + 4352u], pool[chunk_11 * 4u + 4353u], pool[chunk_11 * 4u + 4354u], pool[chunk_11 * 4u + 4355u]);
        let value_7 = bitcast<f32>(pool[chunk_11 * 68u + lane]);
        let chunk_12 = c + 7u;
        let by_8 = vec4<u32>(pool[chunk_12 * 4u + 4352u], pool[chunk_12 * 4u + 4353u], pool[chunk_12 * 4u + 4354u], pool[chunk_12 * 4u + 4355u]);
        let value_8 = bitcast<f32>(pool[chunk_12 * 68u + lane]);
        sum = fma(value, bitcast<f32>(by.y), sum * bitcast<f32>(by.x));
        sum_2 = fma(bitcast<f32>(by.z), bitcast<f32>(by.y), sum_2 * bitcast<f32>(by.x));
        sum = fma(value_2, bitcast<f32>(by_2.y), sum * bitcast<f32>(by_2.x));
        sum_2 = fma(bitcast<f32>(by_2.z), bitcast<f32>(by_2.y), sum_2 * bitcast<f32>(by_2.x));
        sum = fma(value_3, bitcast<f32>(by_3.y), sum * bitcast<f32>(by_3.x));
        sum_2 = fma(bitcast<f32>(by_3.z), bitcast<f32>(by_3.y), sum_2 * bitcast<f32>(by_3.x));
        sum = fma(value_4, bitcast<f32>(by_4.y), sum * bitcast<f32>(by_4.x));
        sum_2 = fma(bitcast<f32>(by_4.z), bitcast<f32>(by_4.y), sum_2 * bitcast<f32>(by_4.x));
        sum = fma(value_5, bitcast<f32>(by_5.y), sum * bitcast<f32>(by_5.x));
        sum_2 = fma(bitcast<f32>(by_5.z), bitcast<f32>(by_5.y), sum_2 * bitcast<f32>(by_5.x));
        sum = fma(value_6, bitcast<f32>(by_6.y), sum * bitcast<f32>(by_6.x));
        sum_2 = fma(bitcast<f32>(by_6.z), bitcast<f32>(by_6.y), sum_2 * bitcast<f32>(by_6.x));
        sum = fma(value_7, bitcast<f32>(by_7.y), sum * bitcast<f32>(by_7.x));
        sum_2 = fma(bitcast<f32>(by_7.z), bitcast<f32>(by_7.y), sum_2 * bitcast<f32>(by_7.x));
        sum = fma(value_8, bitcast<f32>(by_8.y), sum * bitcast<f32>(by_8.x));
        sum_2 = fma(bitcast<f32>(by_8.z), bitcast<f32>(by_8.y), sum_2 * bitcast<f32>(by_8.x));
      }
    }
  }
  if (lane < 64u) {
    let inverse = (1.0f / sum_2);
    pool[lane + 4608u] = bitcast<u32>(sum * inverse);
  }
  workgroupBarrier();
  if (lane < 64u) {
    let v = bitcast<f32>(pool[lane + 4608u]);
    b3[p5 + (i_3 * 256u + i_4 * 64u + lane)] = bitcast<u32>(v);
  }
}

