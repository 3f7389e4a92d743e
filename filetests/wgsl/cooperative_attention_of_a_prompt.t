test cooperative T=512 S=4096 P=128
# Latent attention of a prompt by cooperative matrices: queries become halves first, and a workgroup has all heads of four tokens.
graph cooperative_attention_of_a_prompt {
  %0 = input q : f32[T, 20, 160]
  %1 = state kv : f16[S, 160]
  %2 = slice %1 axis=1 start=0 len=128 : f16[S, 128]
  %3 = input pos : i32[T]
  %4 = input first : i32[T]
  %5 = input pages : i32[P]
  %6 = attend %0 %1 %2 %3 %4 %5 scale=0.125 kv_heads=1 page=32 : f32[T, 20, 128]
  output y = %6
}
---
// attend_20x160: lanes 256; attend.cooperative rows 80
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p0 = args[0].x;
  // part 0: attend [T, 20] × 128; attend.cooperative rows 80; queries
  let own_group = group.x;
  let row = own_group * 16u;
  let i = row / 20u;
  let i_2 = (row % 20u) % 20u;
  let i_3 = min(i, sizes.x - 1u);
  let row_2 = lane / 16u;
  let s = lane % 16u;
  let own_row = min(row_2, 15u);
  let row_3 = own_group * 16u + own_row;
  let i_4 = row_3 / 20u;
  let i_5 = (row_3 % 20u) % 20u;
  let i_6 = min(i_4, sizes.x - 1u);
  let query = p0 + (i_6 * 3200u + i_5 * 160u);
  var largest = 0u;
  let unit_at = query + s * 8u;
  let q = b0[unit_at / 4u];
  let q_2 = b0[(unit_at + 4u) / 4u];
  largest = max(largest, q.x & 0x7fffffffu);
  largest = max(largest, q.y & 0x7fffffffu);
  largest = max(largest, q.z & 0x7fffffffu);
  largest = max(largest, q.w & 0x7fffffffu);
  largest = max(largest, q_2.x & 0x7fffffffu);
  largest = max(largest, q_2.y & 0x7fffffffu);
  largest = max(largest, q_2.z & 0x7fffffffu);
  largest = max(largest, q_2.w & 0x7fffffffu);
  let unit = s + 16u;
  let unit_at_2 = query + min(unit, 19u) * 8u;
  let q_3 = b0[unit_at_2 / 4u];
  let q_4 = b0[(unit_at_2 + 4u) / 4u];
  largest = max(largest, q_3.x & 0x7fffffffu);
  largest = max(largest, q_3.y & 0x7fffffffu);
  largest = max(largest, q_3.z & 0x7fffffffu);
  largest = max(largest, q_3.w & 0x7fffffffu);
  largest = max(largest, q_4.x & 0x7fffffffu);
  largest = max(largest, q_4.y & 0x7fffffffu);
  largest = max(largest, q_4.z & 0x7fffffffu);
  largest = max(largest, q_4.w & 0x7fffffffu);
  let other = subgroupShuffleXor(largest, 1u);
  let both = max(largest, other);
  let other_2 = subgroupShuffleXor(both, 2u);
  let both_2 = max(both, other_2);
  let other_3 = subgroupShuffleXor(both_2, 4u);
  let both_3 = max(both_2, other_3);
  let other_4 = subgroupShuffleXor(both_3, 8u);
  let both_4 = max(both_3, other_4);
  let exponent = min(max(both_4 & 0x7f800000u, 0x800000u), 0x7e800000u);
  let shrink = bitcast<f32>(0x7f000000u - exponent);
  let x = bitcast<f32>(q.x) * shrink;
  let x_2 = bitcast<f32>(q.y) * shrink;
  let x_3 = bitcast<f32>(q.z) * shrink;
  let x_4 = bitcast<f32>(q.w) * shrink;
  let x_5 = bitcast<f32>(q_2.x) * shrink;
  let x_6 = bitcast<f32>(q_2.y) * shrink;
  let x_7 = bitcast<f32>(q_2.z) * shrink;
  let x_8 = bitcast<f32>(q_2.w) * shrink;
  let own_row_2 = min(row_2, 15u);
  let row_4 = own_group * 16u + own_row_2;
  let i_7 = row_4 / 20u;
  let i_8 = (row_4 % 20u) % 20u;
  let i_9 = min(i_7, sizes.x - 1u);
  let to = (i_9 * 20u + i_8) * 80u + s * 4u + 0x14a000u;
  b4[to] = pack2x16float(vec2<f32>(x, x_2));
  b4[to + 1u] = pack2x16float(vec2<f32>(x_3, x_4));
  b4[to + 2u] = pack2x16float(vec2<f32>(x_5, x_6));
  b4[to + 3u] = pack2x16float(vec2<f32>(x_7, x_8));
  let x_9 = bitcast<f32>(q_3.x) * shrink;
  let x_10 = bitcast<f32>(q_3.y) * shrink;
  let x_11 = bitcast<f32>(q_3.z) * shrink;
  let x_12 = bitcast<f32>(q_3.w) * shrink;
  let x_13 = bitcast<f32>(q_4.x) * shrink;
  let x_14 = bitcast<f32>(q_4.y) * shrink;
  let x_15 = bitcast<f32>(q_4.z) * shrink;
  let x_16 = bitcast<f32>(q_4.w) * shrink;
  if (unit < 20u) {
    let own_row_3 = min(row_2, 15u);
    let row_5 = own_group * 16u + own_row_3;
    let i_10 = row_5 / 20u;
    let i_11 = (row_5 % 20u) % 20u;
    let i_12 = min(i_10, sizes.x - 1u);
    let to_2 = (i_12 * 20u + i_11) * 80u + unit * 4u + 0x14a000u;
    b4[to_2] = pack2x16float(vec2<f32>(x_9, x_10));
    b4[to_2 + 1u] = pack2x16float(vec2<f32>(x_11, x_12));
    b4[to_2 + 2u] = pack2x16float(vec2<f32>(x_13, x_14));
    b4[to_2 + 3u] = pack2x16float(vec2<f32>(x_15, x_16));
  }
  if (s == 0u) {
    let own_row_4 = min(row_2, 15u);
    let row_6 = own_group * 16u + own_row_4;
    let i_13 = row_6 / 20u;
    let i_14 = (row_6 % 20u) % 20u;
    let i_15 = min(i_13, sizes.x - 1u);
    b4[i_15 * 20u + i_14 + 0x212000u] = bitcast<u32>(bitcast<f32>(exponent) * 0.125f);
  }
}

// attend_20x160: lanes 256; attend.cooperative rows 80
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<vec4<u32>>;
var<workgroup> pool: array<u32, 648>;
// `pool_of_floats` is `pool`. Intrinsics: products value by value, and such a product that is rounded by itself.
fn weft_mul_values(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
fn weft_mul_rounded(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
var<workgroup> pool_of_floats: array<f32, 648>;
var<workgroup> halves: array<vec4<f16>, 2528>;
var<workgroup> floats: array<f32, 5440>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let hidden_zero = group.z;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let n1 = args[0].w;
  let n3 = args[1].w;
  let n4 = args[2].y;
  // part 0: attend [T, 20] × 128; attend.cooperative rows 80; chunks joined
  let own_group = group.x;
  let count = (sizes.x * 20u + 79u) / 80u;
  let row = (count - 1u - own_group) * 80u;
  let i = row / 20u;
  let i_2 = (row % 20u) % 20u;
  let i_3 = min(i, sizes.x - 1u);
  let own_lane = lane % 32u;
  let own_warp = lane / 32u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 160u, n1 / 160u), 1u) - 1u;
  let row_2 = (count - 1u - own_group) * 80u;
  let i_4 = row_2 / 20u;
  let i_5 = (row_2 % 20u) % 20u;
  let i_6 = min(i_4, sizes.x - 1u);
  let row_3 = (count - 1u - own_group) * 80u + 79u;
  let i_7 = row_3 / 20u;
  let i_8 = (row_3 % 20u) % 20u;
  let i_9 = min(i_7, sizes.x - 1u);
  if (lane < 5u) {
    let token = i_6 + lane;
    pool[lane + 464u] = b2[p3 + min(token, max(n3, 1u) - 1u)];
    pool[lane + 472u] = select(min(b2[p2 + min(token, i_9)], last_position) + 1u, 0u, i_9 < token);
  }
  workgroupBarrier();
  if (lane < 80u) {
    let own_row = min(lane, 79u);
    let row_4 = (count - 1u - own_group) * 80u + own_row;
    let i_10 = row_4 / 20u;
    let i_11 = (row_4 % 20u) % 20u;
    let i_12 = min(i_10, sizes.x - 1u);
    pool[lane + 488u] = min(b2[p2 + i_12], last_position) + 1u;
    let own_token = i_12 - i_6;
    var run_begins = 0u;
    run_begins = select(select(1u, run_begins, pool[464u] == pool[465u]), run_begins, own_token < 1u);
    run_begins = select(select(2u, run_begins, pool[465u] == pool[466u]), run_begins, own_token < 2u);
    run_begins = select(select(3u, run_begins, pool[466u] == pool[467u]), run_begins, own_token < 3u);
    run_begins = select(select(4u, run_begins, pool[467u] == pool[468u]), run_begins, own_token < 4u);
    pool[lane + 568u] = run_begins;
    pool[own_token + 480u] = run_begins;
  }
  if (lane < 80u) {
    let own_row_2 = min(lane, 79u);
    let row_5 = (count - 1u - own_group) * 80u + own_row_2;
    let i_13 = row_5 / 20u;
    let i_14 = (row_5 % 20u) % 20u;
    let i_15 = min(i_13, sizes.x - 1u);
    pool[lane + 64u] = b4[(i_15 * 20u + i_14 + 0x212000u) / 4u][(i_15 * 20u + i_14 + 0x212000u) % 4u];
  }
  if (lane < 80u) {
    pool[lane + 224u] = 0u;
    pool[lane + 144u] = 0xff167699u;
  }
  let put_at = (count - 1u - own_group) * 10560u;
  let own_row_3 = min(lane / 4u, 79u);
  let row_6 = (count - 1u - own_group) * 80u + own_row_3;
  let i_16 = row_6 / 20u;
  let i_17 = (row_6 % 20u) % 20u;
  let i_18 = min(i_16, sizes.x - 1u);
  let query_from = (i_18 * 20u + i_17) * 80u + (lane % 4u) * 4u + 0x14a000u;
  let own_row_4 = min((lane / 4u) + 64u, 79u);
  let row_7 = (count - 1u - own_group) * 80u + own_row_4;
  let i_19 = row_7 / 20u;
  let i_20 = (row_7 % 20u) % 20u;
  let i_21 = min(i_19, sizes.x - 1u);
  let query_from_2 = (i_21 * 20u + i_20) * 80u + (lane % 4u) * 4u + 0x14a000u;
  workgroupBarrier();
  for (var run = 0u; run < 5u; run += 1u) {
    var sums = coop_mat16x16<f32, C>();
    var sums_2 = coop_mat16x16<f32, C>();
    var sums_3 = coop_mat16x16<f32, C>();
    var sums_4 = coop_mat16x16<f32, C>();
    var sums_5 = coop_mat16x16<f32, C>();
    var seen_by_run = 0u;
    seen_by_run = max(seen_by_run, select(0u, pool[472u], pool[480u] == run && 0u < pool[472u]));
    seen_by_run = max(seen_by_run, select(0u, pool[473u], pool[481u] == run && 0u < pool[473u]));
    seen_by_run = max(seen_by_run, select(0u, pool[474u], pool[482u] == run && 0u < pool[474u]));
    seen_by_run = max(seen_by_run, select(0u, pool[475u], pool[483u] == run && 0u < pool[475u]));
    seen_by_run = max(seen_by_run, select(0u, pool[476u], pool[484u] == run && 0u < pool[476u]));
    if (lane == 0u) { agreed.x = seen_by_run; }
    let most_seen = workgroupUniformLoad(&agreed).x;
    let pages_at = pool[run + 464u];
    for (var chunk_start = 0u; chunk_start < most_seen; chunk_start += 64u) {
      if (lane < 64u) {
        let p = min(chunk_start + lane, most_seen - 1u);
        pool[lane] = min(b2[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
      }
      workgroupBarrier();
      let row_8 = (count - 1u - own_group) * 80u;
      let i_22 = row_8 / 20u;
      let i_23 = (row_8 % 20u) % 20u;
      let i_24 = min(i_22, sizes.x - 1u);
      let state_at = p1 + (i_23 / 20u) * 80u;
      let b = lane / 4u;
      let key_from = pool[b] * 80u + (state_at + (lane % 4u) * 4u);
      let key_to = b * 10u + (lane % 4u) * 2u + 800u;
      let piece = b1[key_from / 4u];
      let piece_2 = b4[query_from / 4u];
      let piece_3 = b4[query_from_2 / 4u];
      let piece_4 = b1[(key_from + 16u) / 4u];
      let piece_5 = b4[(query_from + 16u) / 4u];
      let piece_6 = b4[(query_from_2 + 16u) / 4u];
      let piece_7 = b1[(key_from + 32u) / 4u];
      let piece_8 = b4[(query_from + 32u) / 4u];
      let piece_9 = b4[(query_from_2 + 32u) / 4u];
      let first_row = min(((own_warp / 4u) % 2u) * 48u, 32u);
      let first_position = (own_warp % 4u) * 16u;
      let key_at = first_position * 10u + 800u;
      let query_at = first_row * 10u;
      var sums_6 = coop_mat16x16<f32, C>();
      var sums_7 = coop_mat16x16<f32, C>();
      var sums_8 = coop_mat16x16<f32, C>();
      halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece.x), unpack2x16float(piece.y)));
      halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece.z), unpack2x16float(piece.w)));
      let to = (lane / 4u) * 10u + (lane % 4u) * 2u;
      halves[to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_2.x), unpack2x16float(piece_2.y)));
      halves[to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_2.z), unpack2x16float(piece_2.w)));
      if ((lane / 4u) + 64u < 80u) {
        let to_2 = (lane / 4u) * 10u + (lane % 4u) * 2u + 640u;
        halves[to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_3.x), unpack2x16float(piece_3.y)));
        halves[to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_3.z), unpack2x16float(piece_3.w)));
      }
      workgroupBarrier();
      let piece_10 = b1[(key_from + 48u) / 4u];
      let piece_11 = b4[(query_from + 48u) / 4u];
      let piece_12 = b4[(query_from_2 + 48u) / 4u];
      let k = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 10u);
      let q = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at], 10u);
      sums_6 = coopMultiplyAdd(q, k, sums_6);
      let q_2 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 160u], 10u);
      sums_7 = coopMultiplyAdd(q_2, k, sums_7);
      let q_3 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 320u], 10u);
      sums_8 = coopMultiplyAdd(q_3, k, sums_8);
      let k_2 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 10u);
      let q_4 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 4u], 10u);
      sums_6 = coopMultiplyAdd(q_4, k_2, sums_6);
      let q_5 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 164u], 10u);
      sums_7 = coopMultiplyAdd(q_5, k_2, sums_7);
      let q_6 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 324u], 10u);
      sums_8 = coopMultiplyAdd(q_6, k_2, sums_8);
      workgroupBarrier();
      halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_4.x), unpack2x16float(piece_4.y)));
      halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_4.z), unpack2x16float(piece_4.w)));
      let to_3 = (lane / 4u) * 10u + (lane % 4u) * 2u;
      halves[to_3] = vec4<f16>(vec4<f32>(unpack2x16float(piece_5.x), unpack2x16float(piece_5.y)));
      halves[to_3 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_5.z), unpack2x16float(piece_5.w)));
      if ((lane / 4u) + 64u < 80u) {
        let to_4 = (lane / 4u) * 10u + (lane % 4u) * 2u + 640u;
        halves[to_4] = vec4<f16>(vec4<f32>(unpack2x16float(piece_6.x), unpack2x16float(piece_6.y)));
        halves[to_4 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_6.z), unpack2x16float(piece_6.w)));
      }
      workgroupBarrier();
      let piece_13 = b1[(key_from + 64u) / 4u];
      let piece_14 = b4[(query_from + 64u) / 4u];
      let piece_15 = b4[(query_from_2 + 64u) / 4u];
      let k_3 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 10u);
      let q_7 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at], 10u);
      sums_6 = coopMultiplyAdd(q_7, k_3, sums_6);
      let q_8 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 160u], 10u);
      sums_7 = coopMultiplyAdd(q_8, k_3, sums_7);
      let q_9 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 320u], 10u);
      sums_8 = coopMultiplyAdd(q_9, k_3, sums_8);
      let k_4 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 10u);
      let q_10 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 4u], 10u);
      sums_6 = coopMultiplyAdd(q_10, k_4, sums_6);
      let q_11 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 164u], 10u);
      sums_7 = coopMultiplyAdd(q_11, k_4, sums_7);
      let q_12 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 324u], 10u);
      sums_8 = coopMultiplyAdd(q_12, k_4, sums_8);
      workgroupBarrier();
      halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_7.x), unpack2x16float(piece_7.y)));
      halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_7.z), unpack2x16float(piece_7.w)));
      let to_5 = (lane / 4u) * 10u + (lane % 4u) * 2u;
      halves[to_5] = vec4<f16>(vec4<f32>(unpack2x16float(piece_8.x), unpack2x16float(piece_8.y)));
      halves[to_5 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_8.z), unpack2x16float(piece_8.w)));
      if ((lane / 4u) + 64u < 80u) {
        let to_6 = (lane / 4u) * 10u + (lane % 4u) * 2u + 640u;
        halves[to_6] = vec4<f16>(vec4<f32>(unpack2x16float(piece_9.x), unpack2x16float(piece_9.y)));
        halves[to_6 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_9.z), unpack2x16float(piece_9.w)));
      }
      workgroupBarrier();
      let k_5 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 10u);
      let q_13 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at], 10u);
      sums_6 = coopMultiplyAdd(q_13, k_5, sums_6);
      let q_14 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 160u], 10u);
      sums_7 = coopMultiplyAdd(q_14, k_5, sums_7);
      let q_15 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 320u], 10u);
      sums_8 = coopMultiplyAdd(q_15, k_5, sums_8);
      let k_6 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 10u);
      let q_16 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 4u], 10u);
      sums_6 = coopMultiplyAdd(q_16, k_6, sums_6);
      let q_17 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 164u], 10u);
      sums_7 = coopMultiplyAdd(q_17, k_6, sums_7);
      let q_18 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 324u], 10u);
      sums_8 = coopMultiplyAdd(q_18, k_6, sums_8);
      workgroupBarrier();
      halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_10.x), unpack2x16float(piece_10.y)));
      halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_10.z), unpack2x16float(piece_10.w)));
      let to_7 = (lane / 4u) * 10u + (lane % 4u) * 2u;
      halves[to_7] = vec4<f16>(vec4<f32>(unpack2x16float(piece_11.x), unpack2x16float(piece_11.y)));
      halves[to_7 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_11.z), unpack2x16float(piece_11.w)));
      if ((lane / 4u) + 64u < 80u) {
        let to_8 = (lane / 4u) * 10u + (lane % 4u) * 2u + 640u;
        halves[to_8] = vec4<f16>(vec4<f32>(unpack2x16float(piece_12.x), unpack2x16float(piece_12.y)));
        halves[to_8 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_12.z), unpack2x16float(piece_12.w)));
      }
      workgroupBarrier();
      let k_7 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 10u);
      let q_19 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at], 10u);
      sums_6 = coopMultiplyAdd(q_19, k_7, sums_6);
      let q_20 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 160u], 10u);
      sums_7 = coopMultiplyAdd(q_20, k_7, sums_7);
      let q_21 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 320u], 10u);
      sums_8 = coopMultiplyAdd(q_21, k_7, sums_8);
      let k_8 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 10u);
      let q_22 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 4u], 10u);
      sums_6 = coopMultiplyAdd(q_22, k_8, sums_6);
      let q_23 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 164u], 10u);
      sums_7 = coopMultiplyAdd(q_23, k_8, sums_7);
      let q_24 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 324u], 10u);
      sums_8 = coopMultiplyAdd(q_24, k_8, sums_8);
      workgroupBarrier();
      halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_13.x), unpack2x16float(piece_13.y)));
      halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_13.z), unpack2x16float(piece_13.w)));
      let to_9 = (lane / 4u) * 10u + (lane % 4u) * 2u;
      halves[to_9] = vec4<f16>(vec4<f32>(unpack2x16float(piece_14.x), unpack2x16float(piece_14.y)));
      halves[to_9 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_14.z), unpack2x16float(piece_14.w)));
      if ((lane / 4u) + 64u < 80u) {
        let to_10 = (lane / 4u) * 10u + (lane % 4u) * 2u + 640u;
        halves[to_10] = vec4<f16>(vec4<f32>(unpack2x16float(piece_15.x), unpack2x16float(piece_15.y)));
        halves[to_10 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_15.z), unpack2x16float(piece_15.w)));
      }
      workgroupBarrier();
      let k_9 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 10u);
      let q_25 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at], 10u);
      sums_6 = coopMultiplyAdd(q_25, k_9, sums_6);
      let q_26 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 160u], 10u);
      sums_7 = coopMultiplyAdd(q_26, k_9, sums_7);
      let q_27 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 320u], 10u);
      sums_8 = coopMultiplyAdd(q_27, k_9, sums_8);
      let k_10 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 10u);
      let q_28 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 4u], 10u);
      sums_6 = coopMultiplyAdd(q_28, k_10, sums_6);
      let q_29 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 164u], 10u);
      sums_7 = coopMultiplyAdd(q_29, k_10, sums_7);
      let q_30 = coopLoadT<coop_mat16x16<f16, A>>(&halves[query_at + 324u], 10u);
      sums_8 = coopMultiplyAdd(q_30, k_10, sums_8);
      let score_at = first_row * 68u + first_position;
      coopStoreT(sums_6, &floats[score_at], 68u);
      coopStoreT(sums_7, &floats[score_at + 1088u], 68u);
      coopStoreT(sums_8, &floats[score_at + 2176u], 68u);
      workgroupBarrier();
      let row_9 = (count - 1u - own_group) * 80u;
      let i_25 = row_9 / 20u;
      let i_26 = (row_9 % 20u) % 20u;
      let i_27 = min(i_25, sizes.x - 1u);
      let state_at_2 = p1 + (i_26 / 20u) * 64u;
      let value_from = pool[lane / 16u] * 80u + (state_at_2 + (((lane % 16u) / 2u) * 2u + ((lane % 16u) % 2u)) * 4u);
      let value = b1[value_from / 4u];
      let value_from_2 = pool[(lane / 16u) + 16u] * 80u + (state_at_2 + (((lane % 16u) / 2u) * 2u + ((lane % 16u) % 2u)) * 4u);
      let value_2 = b1[value_from_2 / 4u];
      for (var time = 0u; time < 3u; time += 1u) {
        let c = time * 256u + lane;
        if (c < 640u) {
          let row_10 = c / 8u;
          let s = c % 8u;
          let seen = pool[row_10 + 488u];
          let factor = bitcast<f32>(pool[row_10 + 64u]);
          let from_score = row_10 * 68u + s * 8u;
          let first = chunk_start + s * 8u;
          let score = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score] * factor) ^ hidden_zero), first < seen);
          let score_2 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 1u] * factor) ^ hidden_zero), first + 1u < seen);
          let score_3 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 2u] * factor) ^ hidden_zero), first + 2u < seen);
          let score_4 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 3u] * factor) ^ hidden_zero), first + 3u < seen);
          let score_5 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 4u] * factor) ^ hidden_zero), first + 4u < seen);
          let score_6 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 5u] * factor) ^ hidden_zero), first + 5u < seen);
          let score_7 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 6u] * factor) ^ hidden_zero), first + 6u < seen);
          let score_8 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 7u] * factor) ^ hidden_zero), first + 7u < seen);
          let top = max(max(max(max(max(max(max(score, score_2), score_3), score_4), score_5), score_6), score_7), score_8);
          let other = subgroupShuffleXor(top, 1u);
          let both = max(top, other);
          let other_2 = subgroupShuffleXor(both, 2u);
          let both_2 = max(both, other_2);
          let other_3 = subgroupShuffleXor(both_2, 4u);
          let both_3 = max(both_2, other_3);
          var total = 0.0f;
          let weight = exp(score - both_3);
          total = total + weight;
          let weight_2 = exp(score_2 - both_3);
          total = total + weight_2;
          let weight_3 = exp(score_3 - both_3);
          total = total + weight_3;
          let weight_4 = exp(score_4 - both_3);
          total = total + weight_4;
          let weight_5 = exp(score_5 - both_3);
          total = total + weight_5;
          let weight_6 = exp(score_6 - both_3);
          total = total + weight_6;
          let weight_7 = exp(score_7 - both_3);
          total = total + weight_7;
          let weight_8 = exp(score_8 - both_3);
          total = total + weight_8;
          let to_11 = row_10 * 18u + s * 2u;
          halves[to_11] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(weight, weight_2))), unpack2x16float(pack2x16float(vec2<f32>(weight_3, weight_4)))));
          halves[to_11 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(weight_5, weight_6))), unpack2x16float(pack2x16float(vec2<f32>(weight_7, weight_8)))));
          let other_4 = subgroupShuffleXor(total, 1u);
          let both_4 = total + other_4;
          let other_5 = subgroupShuffleXor(both_4, 2u);
          let both_5 = both_4 + other_5;
          let other_6 = subgroupShuffleXor(both_5, 4u);
          let both_6 = both_5 + other_6;
          if (s == 0u) {
            let joins = pool[row_10 + 568u] == run && chunk_start < seen;
            let old_top = bitcast<f32>(pool[row_10 + 144u]);
            let old_total = bitcast<f32>(pool[row_10 + 224u]);
            let new_top = max(old_top, both_3);
            let shrink = exp(old_top - new_top);
            let shrink_2 = exp(both_3 - new_top);
            pool[row_10 + 224u] = bitcast<u32>(select(old_total, fma(both_6, shrink_2, old_total * shrink), joins));
            pool[row_10 + 144u] = bitcast<u32>(select(old_top, new_top, joins));
            pool[row_10 + 304u] = bitcast<u32>(select(1.0f, shrink, joins));
            pool[row_10 + 384u] = bitcast<u32>(select(0.0f, shrink_2, joins));
          }
        }
      }
      let own_values = own_warp * 4u + 1440u;
      var sums_9 = coop_mat16x16<f32, C>();
      var sums_10 = coop_mat16x16<f32, C>();
      var sums_11 = coop_mat16x16<f32, C>();
      var sums_12 = coop_mat16x16<f32, C>();
      var sums_13 = coop_mat16x16<f32, C>();
      let to_12 = (lane / 16u) * 34u + (lane % 16u) * 2u + 1440u;
      halves[to_12] = vec4<f16>(vec4<f32>(unpack2x16float(value.x), unpack2x16float(value.y)));
      halves[to_12 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value.z), unpack2x16float(value.w)));
      workgroupBarrier();
      let value_from_3 = pool[(lane / 16u) + 32u] * 80u + (state_at_2 + (((lane % 16u) / 2u) * 2u + ((lane % 16u) % 2u)) * 4u);
      let value_3 = b1[value_from_3 / 4u];
      let v = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 34u);
      let p_2 = coopLoadT<coop_mat16x16<f16, A>>(&halves[0u], 18u);
      sums_9 = coopMultiplyAdd(p_2, v, sums_9);
      let p_3 = coopLoadT<coop_mat16x16<f16, A>>(&halves[288u], 18u);
      sums_10 = coopMultiplyAdd(p_3, v, sums_10);
      let p_4 = coopLoadT<coop_mat16x16<f16, A>>(&halves[576u], 18u);
      sums_11 = coopMultiplyAdd(p_4, v, sums_11);
      let p_5 = coopLoadT<coop_mat16x16<f16, A>>(&halves[864u], 18u);
      sums_12 = coopMultiplyAdd(p_5, v, sums_12);
      let p_6 = coopLoadT<coop_mat16x16<f16, A>>(&halves[1152u], 18u);
      sums_13 = coopMultiplyAdd(p_6, v, sums_13);
      let to_13 = (lane / 16u) * 34u + (lane % 16u) * 2u + 1984u;
      halves[to_13] = vec4<f16>(vec4<f32>(unpack2x16float(value_2.x), unpack2x16float(value_2.y)));
      halves[to_13 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_2.z), unpack2x16float(value_2.w)));
      workgroupBarrier();
      let value_from_4 = pool[(lane / 16u) + 48u] * 80u + (state_at_2 + (((lane % 16u) / 2u) * 2u + ((lane % 16u) % 2u)) * 4u);
      let value_4 = b1[value_from_4 / 4u];
      let v_2 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 544u], 34u);
      let p_7 = coopLoadT<coop_mat16x16<f16, A>>(&halves[4u], 18u);
      sums_9 = coopMultiplyAdd(p_7, v_2, sums_9);
      let p_8 = coopLoadT<coop_mat16x16<f16, A>>(&halves[292u], 18u);
      sums_10 = coopMultiplyAdd(p_8, v_2, sums_10);
      let p_9 = coopLoadT<coop_mat16x16<f16, A>>(&halves[580u], 18u);
      sums_11 = coopMultiplyAdd(p_9, v_2, sums_11);
      let p_10 = coopLoadT<coop_mat16x16<f16, A>>(&halves[868u], 18u);
      sums_12 = coopMultiplyAdd(p_10, v_2, sums_12);
      let p_11 = coopLoadT<coop_mat16x16<f16, A>>(&halves[1156u], 18u);
      sums_13 = coopMultiplyAdd(p_11, v_2, sums_13);
      let to_14 = (lane / 16u) * 34u + (lane % 16u) * 2u + 1440u;
      halves[to_14] = vec4<f16>(vec4<f32>(unpack2x16float(value_3.x), unpack2x16float(value_3.y)));
      halves[to_14 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_3.z), unpack2x16float(value_3.w)));
      workgroupBarrier();
      let v_3 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 34u);
      let p_12 = coopLoadT<coop_mat16x16<f16, A>>(&halves[8u], 18u);
      sums_9 = coopMultiplyAdd(p_12, v_3, sums_9);
      let p_13 = coopLoadT<coop_mat16x16<f16, A>>(&halves[296u], 18u);
      sums_10 = coopMultiplyAdd(p_13, v_3, sums_10);
      let p_14 = coopLoadT<coop_mat16x16<f16, A>>(&halves[584u], 18u);
      sums_11 = coopMultiplyAdd(p_14, v_3, sums_11);
      let p_15 = coopLoadT<coop_mat16x16<f16, A>>(&halves[872u], 18u);
      sums_12 = coopMultiplyAdd(p_15, v_3, sums_12);
      let p_16 = coopLoadT<coop_mat16x16<f16, A>>(&halves[1160u], 18u);
      sums_13 = coopMultiplyAdd(p_16, v_3, sums_13);
      let to_15 = (lane / 16u) * 34u + (lane % 16u) * 2u + 1984u;
      halves[to_15] = vec4<f16>(vec4<f32>(unpack2x16float(value_4.x), unpack2x16float(value_4.y)));
      halves[to_15 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_4.z), unpack2x16float(value_4.w)));
      workgroupBarrier();
      let v_4 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 544u], 34u);
      let p_17 = coopLoadT<coop_mat16x16<f16, A>>(&halves[12u], 18u);
      sums_9 = coopMultiplyAdd(p_17, v_4, sums_9);
      let p_18 = coopLoadT<coop_mat16x16<f16, A>>(&halves[300u], 18u);
      sums_10 = coopMultiplyAdd(p_18, v_4, sums_10);
      let p_19 = coopLoadT<coop_mat16x16<f16, A>>(&halves[588u], 18u);
      sums_11 = coopMultiplyAdd(p_19, v_4, sums_11);
      let p_20 = coopLoadT<coop_mat16x16<f16, A>>(&halves[876u], 18u);
      sums_12 = coopMultiplyAdd(p_20, v_4, sums_12);
      let p_21 = coopLoadT<coop_mat16x16<f16, A>>(&halves[1164u], 18u);
      sums_13 = coopMultiplyAdd(p_21, v_4, sums_13);
      let by = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[304u], 0u);
      let by_2 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[384u], 0u);
      sums = weft_mul_rounded(sums, by) + weft_mul_values(sums_9, by_2);
      let by_3 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[320u], 0u);
      let by_4 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[400u], 0u);
      sums_2 = weft_mul_rounded(sums_2, by_3) + weft_mul_values(sums_10, by_4);
      let by_5 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[336u], 0u);
      let by_6 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[416u], 0u);
      sums_3 = weft_mul_rounded(sums_3, by_5) + weft_mul_values(sums_11, by_6);
      let by_7 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[352u], 0u);
      let by_8 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[432u], 0u);
      sums_4 = weft_mul_rounded(sums_4, by_7) + weft_mul_values(sums_12, by_8);
      let by_9 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[368u], 0u);
      let by_10 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[448u], 0u);
      sums_5 = weft_mul_rounded(sums_5, by_9) + weft_mul_values(sums_13, by_10);
    }
    let exchanged = own_warp * 512u;
    subgroupBarrier();
    coopStoreT(sums, &floats[exchanged], 16u);
    coopStoreT(sums_2, &floats[exchanged + 256u], 16u);
    subgroupBarrier();
    let own_row_5 = own_lane / 16u;
    let own_column = own_warp * 16u + (own_lane % 16u);
    let y = floats[exchanged + own_lane];
    if (pool[own_row_5 + 568u] == run) {
      b4[(put_at + own_row_5 * 132u + own_column) / 4u][(put_at + own_row_5 * 132u + own_column) % 4u] = bitcast<u32>(y);
    }
    let own_row_6 = own_lane / 16u;
    let own_column_2 = own_warp * 16u + (own_lane % 16u);
    let y_2 = floats[exchanged + own_lane + 32u];
    if (pool[own_row_6 + 570u] == run) {
      b4[(put_at + own_row_6 * 132u + own_column_2 + 264u) / 4u][(put_at + own_row_6 * 132u + own_column_2 + 264u) % 4u] = bitcast<u32>(y_2);
    }
    let own_row_7 = own_lane / 16u;
    let own_column_3 = own_warp * 16u + (own_lane % 16u);
    let y_3 = floats[exchanged + own_lane + 64u];
    if (pool[own_row_7 + 572u] == run) {
      b4[(put_at + own_row_7 * 132u + own_column_3 + 528u) / 4u][(put_at + own_row_7 * 132u + own_column_3 + 528u) % 4u] = bitcast<u32>(y_3);
    }
    let own_row_8 = own_lane / 16u;
    let own_column_4 = own_warp * 16u + (own_lane % 16u);
    let y_4 = floats[exchanged + own_lane + 96u];
    if (pool[own_row_8 + 574u] == run) {
      b4[(put_at + own_row_8 * 132u + own_column_4 + 792u) / 4u][(put_at + own_row_8 * 132u + own_column_4 + 792u) % 4u] = bitcast<u32>(y_4);
    }
    let own_row_9 = own_lane / 16u;
    let own_column_5 = own_warp * 16u + (own_lane % 16u);
    let y_5 = floats[exchanged + own_lane + 128u];
    if (pool[own_row_9 + 576u] == run) {
      b4[(put_at + own_row_9 * 132u + own_column_5 + 1056u) / 4u][(put_at + own_row_9 * 132u + own_column_5 + 1056u) % 4u] = bitcast<u32>(y_5);
    }
    let own_row_10 = own_lane / 16u;
    let own_column_6 = own_warp * 16u + (own_lane % 16u);
    let y_6 = floats[exchanged + own_lane + 160u];
    if (pool[own_row_10 + 578u] == run) {
      b4[(put_at + own_row_10 * 132u + own_column_6 + 1320u) / 4u][(put_at + own_row_10 * 132u + own_column_6 + 1320u) % 4u] = bitcast<u32>(y_6);
    }
    let own_row_11 = own_lane / 16u;
    let own_column_7 = own_warp * 16u + (own_lane % 16u);
    let y_7 = floats[exchanged + own_lane + 192u];
    if (pool[own_row_11 + 580u] == run) {
      b4[(put_at + own_row_11 * 132u + own_column_7 + 1584u) / 4u][(put_at + own_row_11 * 132u + own_column_7 + 1584u) % 4u] = bitcast<u32>(y_7);
    }
    let own_row_12 = own_lane / 16u;
    let own_column_8 = own_warp * 16u + (own_lane % 16u);
    let y_8 = floats[exchanged + own_lane + 224u];
    if (pool[own_row_12 + 582u] == run) {
      b4[(put_at + own_row_12 * 132u + own_column_8 + 1848u) / 4u][(put_at + own_row_12 * 132u + own_column_8 + 1848u) % 4u] = bitcast<u32>(y_8);
    }
    let own_row_13 = own_lane / 16u;
    let own_column_9 = own_warp * 16u + (own_lane % 16u);
    let y_9 = floats[exchanged + own_lane + 256u];
    if (pool[own_row_13 + 584u] == run) {
      b4[(put_at + own_row_13 * 132u + own_column_9 + 2112u) / 4u][(put_at + own_row_13 * 132u + own_column_9 + 2112u) % 4u] = bitcast<u32>(y_9);
    }
    let own_row_14 = own_lane / 16u;
    let own_column_10 = own_warp * 16u + (own_lane % 16u);
    let y_10 = floats[exchanged + own_lane + 288u];
    if (pool[own_row_14 + 586u] == run) {
      b4[(put_at + own_row_14 * 132u + own_column_10 + 2376u) / 4u][(put_at + own_row_14 * 132u + own_column_10 + 2376u) % 4u] = bitcast<u32>(y_10);
    }
    let own_row_15 = own_lane / 16u;
    let own_column_11 = own_warp * 16u + (own_lane % 16u);
    let y_11 = floats[exchanged + own_lane + 320u];
    if (pool[own_row_15 + 588u] == run) {
      b4[(put_at + own_row_15 * 132u + own_column_11 + 2640u) / 4u][(put_at + own_row_15 * 132u + own_column_11 + 2640u) % 4u] = bitcast<u32>(y_11);
    }
    let own_row_16 = own_lane / 16u;
    let own_column_12 = own_warp * 16u + (own_lane % 16u);
    let y_12 = floats[exchanged + own_lane + 352u];
    if (pool[own_row_16 + 590u] == run) {
      b4[(put_at + own_row_16 * 132u + own_column_12 + 2904u) / 4u][(put_at + own_row_16 * 132u + own_column_12 + 2904u) % 4u] = bitcast<u32>(y_12);
    }
    let own_row_17 = own_lane / 16u;
    let own_column_13 = own_warp * 16u + (own_lane % 16u);
    let y_13 = floats[exchanged + own_lane + 384u];
    if (pool[own_row_17 + 592u] == run) {
      b4[(put_at + own_row_17 * 132u + own_column_13 + 3168u) / 4u][(put_at + own_row_17 * 132u + own_column_13 + 3168u) % 4u] = bitcast<u32>(y_13);
    }
    let own_row_18 = own_lane / 16u;
    let own_column_14 = own_warp * 16u + (own_lane % 16u);
    let y_14 = floats[exchanged + own_lane + 416u];
    if (pool[own_row_18 + 594u] == run) {
      b4[(put_at + own_row_18 * 132u + own_column_14 + 3432u) / 4u][(put_at + own_row_18 * 132u + own_column_14 + 3432u) % 4u] = bitcast<u32>(y_14);
    }
    let own_row_19 = own_lane / 16u;
    let own_column_15 = own_warp * 16u + (own_lane % 16u);
    let y_15 = floats[exchanged + own_lane + 448u];
    if (pool[own_row_19 + 596u] == run) {
      b4[(put_at + own_row_19 * 132u + own_column_15 + 3696u) / 4u][(put_at + own_row_19 * 132u + own_column_15 + 3696u) % 4u] = bitcast<u32>(y_15);
    }
    let own_row_20 = own_lane / 16u;
    let own_column_16 = own_warp * 16u + (own_lane % 16u);
    let y_16 = floats[exchanged + own_lane + 480u];
    if (pool[own_row_20 + 598u] == run) {
      b4[(put_at + own_row_20 * 132u + own_column_16 + 3960u) / 4u][(put_at + own_row_20 * 132u + own_column_16 + 3960u) % 4u] = bitcast<u32>(y_16);
    }
    subgroupBarrier();
    coopStoreT(sums_3, &floats[exchanged], 16u);
    coopStoreT(sums_4, &floats[exchanged + 256u], 16u);
    subgroupBarrier();
    let own_row_21 = own_lane / 16u;
    let own_column_17 = own_warp * 16u + (own_lane % 16u);
    let y_17 = floats[exchanged + own_lane];
    if (pool[own_row_21 + 600u] == run) {
      b4[(put_at + own_row_21 * 132u + own_column_17 + 4224u) / 4u][(put_at + own_row_21 * 132u + own_column_17 + 4224u) % 4u] = bitcast<u32>(y_17);
    }
    let own_row_22 = own_lane / 16u;
    let own_column_18 = own_warp * 16u + (own_lane % 16u);
    let y_18 = floats[exchanged + own_lane + 32u];
    if (pool[own_row_22 + 602u] == run) {
      b4[(put_at + own_row_22 * 132u + own_column_18 + 4488u) / 4u][(put_at + own_row_22 * 132u + own_column_18 + 4488u) % 4u] = bitcast<u32>(y_18);
    }
    let own_row_23 = own_lane / 16u;
    let own_column_19 = own_warp * 16u + (own_lane % 16u);
    let y_19 = floats[exchanged + own_lane + 64u];
    if (pool[own_row_23 + 604u] == run) {
      b4[(put_at + own_row_23 * 132u + own_column_19 + 4752u) / 4u][(put_at + own_row_23 * 132u + own_column_19 + 4752u) % 4u] = bitcast<u32>(y_19);
    }
    let own_row_24 = own_lane / 16u;
    let own_column_20 = own_warp * 16u + (own_lane % 16u);
    let y_20 = floats[exchanged + own_lane + 96u];
    if (pool[own_row_24 + 606u] == run) {
      b4[(put_at + own_row_24 * 132u + own_column_20 + 5016u) / 4u][(put_at + own_row_24 * 132u + own_column_20 + 5016u) % 4u] = bitcast<u32>(y_20);
    }
    let own_row_25 = own_lane / 16u;
    let own_column_21 = own_warp * 16u + (own_lane % 16u);
    let y_21 = floats[exchanged + own_lane + 128u];
    if (pool[own_row_25 + 608u] == run) {
      b4[(put_at + own_row_25 * 132u + own_column_21 + 5280u) / 4u][(put_at + own_row_25 * 132u + own_column_21 + 5280u) % 4u] = bitcast<u32>(y_21);
    }
    let own_row_26 = own_lane / 16u;
    let own_column_22 = own_warp * 16u + (own_lane % 16u);
    let y_22 = floats[exchanged + own_lane + 160u];
    if (pool[own_row_26 + 610u] == run) {
      b4[(put_at + own_row_26 * 132u + own_column_22 + 5544u) / 4u][(put_at + own_row_26 * 132u + own_column_22 + 5544u) % 4u] = bitcast<u32>(y_22);
    }
    let own_row_27 = own_lane / 16u;
    let own_column_23 = own_warp * 16u + (own_lane % 16u);
    let y_23 = floats[exchanged + own_lane + 192u];
    if (pool[own_row_27 + 612u] == run) {
      b4[(put_at + own_row_27 * 132u + own_column_23 + 5808u) / 4u][(put_at + own_row_27 * 132u + own_column_23 + 5808u) % 4u] = bitcast<u32>(y_23);
    }
    let own_row_28 = own_lane / 16u;
    let own_column_24 = own_warp * 16u + (own_lane % 16u);
    let y_24 = floats[exchanged + own_lane + 224u];
    if (pool[own_row_28 + 614u] == run) {
      b4[(put_at + own_row_28 * 132u + own_column_24 + 6072u) / 4u][(put_at + own_row_28 * 132u + own_column_24 + 6072u) % 4u] = bitcast<u32>(y_24);
    }
    let own_row_29 = own_lane / 16u;
    let own_column_25 = own_warp * 16u + (own_lane % 16u);
    let y_25 = floats[exchanged + own_lane + 256u];
    if (pool[own_row_29 + 616u] == run) {
      b4[(put_at + own_row_29 * 132u + own_column_25 + 6336u) / 4u][(put_at + own_row_29 * 132u + own_column_25 + 6336u) % 4u] = bitcast<u32>(y_25);
    }
    let own_row_30 = own_lane / 16u;
    let own_column_26 = own_warp * 16u + (own_lane % 16u);
    let y_26 = floats[exchanged + own_lane + 288u];
    if (pool[own_row_30 + 618u] == run) {
      b4[(put_at + own_row_30 * 132u + own_column_26 + 6600u) / 4u][(put_at + own_row_30 * 132u + own_column_26 + 6600u) % 4u] = bitcast<u32>(y_26);
    }
    let own_row_31 = own_lane / 16u;
    let own_column_27 = own_warp * 16u + (own_lane % 16u);
    let y_27 = floats[exchanged + own_lane + 320u];
    if (pool[own_row_31 + 620u] == run) {
      b4[(put_at + own_row_31 * 132u + own_column_27 + 6864u) / 4u][(put_at + own_row_31 * 132u + own_column_27 + 6864u) % 4u] = bitcast<u32>(y_27);
    }
    let own_row_32 = own_lane / 16u;
    let own_column_28 = own_warp * 16u + (own_lane % 16u);
    let y_28 = floats[exchanged + own_lane + 352u];
    if (pool[own_row_32 + 622u] == run) {
      b4[(put_at + own_row_32 * 132u + own_column_28 + 7128u) / 4u][(put_at + own_row_32 * 132u + own_column_28 + 7128u) % 4u] = bitcast<u32>(y_28);
    }
    let own_row_33 = own_lane / 16u;
    let own_column_29 = own_warp * 16u + (own_lane % 16u);
    let y_29 = floats[exchanged + own_lane + 384u];
    if (pool[own_row_33 + 624u] == run) {
      b4[(put_at + own_row_33 * 132u + own_column_29 + 7392u) / 4u][(put_at + own_row_33 * 132u + own_column_29 + 7392u) % 4u] = bitcast<u32>(y_29);
    }
    let own_row_34 = own_lane / 16u;
    let own_column_30 = own_warp * 16u + (own_lane % 16u);
    let y_30 = floats[exchanged + own_lane + 416u];
    if (pool[own_row_34 + 626u] == run) {
      b4[(put_at + own_row_34 * 132u + own_column_30 + 7656u) / 4u][(put_at + own_row_34 * 132u + own_column_30 + 7656u) % 4u] = bitcast<u32>(y_30);
    }
    let own_row_35 = own_lane / 16u;
    let own_column_31 = own_warp * 16u + (own_lane % 16u);
    let y_31 = floats[exchanged + own_lane + 448u];
    if (pool[own_row_35 + 628u] == run) {
      b4[(put_at + own_row_35 * 132u + own_column_31 + 7920u) / 4u][(put_at + own_row_35 * 132u + own_column_31 + 7920u) % 4u] = bitcast<u32>(y_31);
    }
    let own_row_36 = own_lane / 16u;
    let own_column_32 = own_warp * 16u + (own_lane % 16u);
    let y_32 = floats[exchanged + own_lane + 480u];
    if (pool[own_row_36 + 630u] == run) {
      b4[(put_at + own_row_36 * 132u + own_column_32 + 8184u) / 4u][(put_at + own_row_36 * 132u + own_column_32 + 8184u) % 4u] = bitcast<u32>(y_32);
    }
    subgroupBarrier();
    coopStoreT(sums_5, &floats[exchanged], 16u);
    subgroupBarrier();
    let own_row_37 = own_lane / 16u;
    let own_column_33 = own_warp * 16u + (own_lane % 16u);
    let y_33 = floats[exchanged + own_lane];
    if (pool[own_row_37 + 632u] == run) {
      b4[(put_at + own_row_37 * 132u + own_column_33 + 8448u) / 4u][(put_at + own_row_37 * 132u + own_column_33 + 8448u) % 4u] = bitcast<u32>(y_33);
    }
    let own_row_38 = own_lane / 16u;
    let own_column_34 = own_warp * 16u + (own_lane % 16u);
    let y_34 = floats[exchanged + own_lane + 32u];
    if (pool[own_row_38 + 634u] == run) {
      b4[(put_at + own_row_38 * 132u + own_column_34 + 8712u) / 4u][(put_at + own_row_38 * 132u + own_column_34 + 8712u) % 4u] = bitcast<u32>(y_34);
    }
    let own_row_39 = own_lane / 16u;
    let own_column_35 = own_warp * 16u + (own_lane % 16u);
    let y_35 = floats[exchanged + own_lane + 64u];
    if (pool[own_row_39 + 636u] == run) {
      b4[(put_at + own_row_39 * 132u + own_column_35 + 8976u) / 4u][(put_at + own_row_39 * 132u + own_column_35 + 8976u) % 4u] = bitcast<u32>(y_35);
    }
    let own_row_40 = own_lane / 16u;
    let own_column_36 = own_warp * 16u + (own_lane % 16u);
    let y_36 = floats[exchanged + own_lane + 96u];
    if (pool[own_row_40 + 638u] == run) {
      b4[(put_at + own_row_40 * 132u + own_column_36 + 9240u) / 4u][(put_at + own_row_40 * 132u + own_column_36 + 9240u) % 4u] = bitcast<u32>(y_36);
    }
    let own_row_41 = own_lane / 16u;
    let own_column_37 = own_warp * 16u + (own_lane % 16u);
    let y_37 = floats[exchanged + own_lane + 128u];
    if (pool[own_row_41 + 640u] == run) {
      b4[(put_at + own_row_41 * 132u + own_column_37 + 9504u) / 4u][(put_at + own_row_41 * 132u + own_column_37 + 9504u) % 4u] = bitcast<u32>(y_37);
    }
    let own_row_42 = own_lane / 16u;
    let own_column_38 = own_warp * 16u + (own_lane % 16u);
    let y_38 = floats[exchanged + own_lane + 160u];
    if (pool[own_row_42 + 642u] == run) {
      b4[(put_at + own_row_42 * 132u + own_column_38 + 9768u) / 4u][(put_at + own_row_42 * 132u + own_column_38 + 9768u) % 4u] = bitcast<u32>(y_38);
    }
    let own_row_43 = own_lane / 16u;
    let own_column_39 = own_warp * 16u + (own_lane % 16u);
    let y_39 = floats[exchanged + own_lane + 192u];
    if (pool[own_row_43 + 644u] == run) {
      b4[(put_at + own_row_43 * 132u + own_column_39 + 10032u) / 4u][(put_at + own_row_43 * 132u + own_column_39 + 10032u) % 4u] = bitcast<u32>(y_39);
    }
    let own_row_44 = own_lane / 16u;
    let own_column_40 = own_warp * 16u + (own_lane % 16u);
    let y_40 = floats[exchanged + own_lane + 224u];
    if (pool[own_row_44 + 646u] == run) {
      b4[(put_at + own_row_44 * 132u + own_column_40 + 10296u) / 4u][(put_at + own_row_44 * 132u + own_column_40 + 10296u) % 4u] = bitcast<u32>(y_40);
    }
  }
  workgroupBarrier();
  if (lane < 80u) {
    let to_16 = lane * 132u + put_at + 128u;
    b4[to_16 / 4u][to_16 % 4u] = pool[lane + 224u];
    b4[(to_16 + 1u) / 4u][(to_16 + 1u) % 4u] = pool[lane + 144u];
  }
}

// attend_20x160: lanes 256; attend.cooperative rows 80
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 512>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p5 = args[2].z;
  // part 0: attend [T, 20] × 128; attend.cooperative rows 80; finished
  let own_group = group.x;
  let row = own_group * 4u;
  let i = row / 20u;
  let i_2 = (row % 20u) % 20u;
  let i_3 = min(i, sizes.x - 1u);
  for (var time = 0u; time < 2u; time += 1u) {
    let c = time * 256u + lane;
    let h = c / 128u;
    let put_at = (own_group * 4u + h) * 132u;
    let put_down = bitcast<f32>(b4[(c % 128u) + put_at]);
    let put_down_2 = bitcast<f32>(b4[put_at + 128u]);
    let inverse = (1.0f / put_down_2);
    pool[c] = bitcast<u32>(put_down * inverse);
  }
  workgroupBarrier();
  for (var time_2 = 0u; time_2 < 2u; time_2 += 1u) {
    let c_2 = time_2 * 256u + lane;
    let r = c_2 / 128u;
    let own = c_2 % 128u;
    let row_2 = own_group * 4u + r;
    let i_4 = row_2 / 20u;
    let i_5 = (row_2 % 20u) % 20u;
    if (row_2 < sizes.x * 20u) {
      let v = bitcast<f32>(pool[r * 128u + own]);
      b3[p5 + (i_4 * 2560u + i_5 * 128u + own)] = bitcast<u32>(v);
    }
  }
}

