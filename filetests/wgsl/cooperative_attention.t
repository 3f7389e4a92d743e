test cooperative T=1 S=4096 P=128
# Latent attention of a reply by cooperative matrices: a workgroup has half of the heads and a chunk.
graph cooperative_attention {
  %0 = input q : f32[T, 20, 576]
  %1 = state kv : f16[S, 576]
  %2 = slice %1 axis=1 start=0 len=512 : f16[S, 512]
  %3 = input pos : i32[T]
  %4 = input first : i32[T]
  %5 = input pages : i32[P]
  %6 = attend %0 %1 %2 %3 %4 %5 scale=0.125 kv_heads=1 page=32 : f32[T, 20, 512]
  output y = %6
}
---
// attend_20x576: lanes 256; attend.cooperative rows 10 spread
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 144>;
var<workgroup> halves: array<vec4<f16>, 4736>;
var<workgroup> floats: array<f32, 2048>;
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
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 20] × 512; attend.cooperative rows 10 spread; chunks
  let own_group = group.x;
  let rows_at = own_group % 2u;
  let chunk = own_group / 2u;
  let row = rows_at * 10u;
  let i = row / 20u;
  let i_2 = (row % 20u) % 20u;
  let own_lane = lane % 32u;
  let own_warp = lane / 32u;
  let row_2 = rows_at * 10u;
  let i_3 = row_2 / 20u;
  let i_4 = (row_2 % 20u) % 20u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3];
  let chunk_start = chunk * 64u;
  if (chunk_start < seen) {
    if (lane < 64u) {
      let p = min(chunk_start + lane, seen - 1u);
      pool[lane] = min(b2[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
    }
    workgroupBarrier();
    let row_3 = rows_at * 10u;
    let i_5 = row_3 / 20u;
    let i_6 = (row_3 % 20u) % 20u;
    let state_at = p1 + (i_6 / 20u) * 288u;
    let b = lane / 8u;
    let key_from = pool[b] * 288u + (state_at + (lane % 8u) * 4u);
    let key_to = b * 18u + (lane % 8u) * 2u + 2624u;
    let b_2 = (lane / 8u) + 32u;
    let key_from_2 = pool[b_2] * 288u + (state_at + (lane % 8u) * 4u);
    let key_to_2 = b_2 * 18u + (lane % 8u) * 2u + 2624u;
    let piece = b1[key_from / 4u];
    let piece_2 = b1[key_from_2 / 4u];
    let piece_3 = b1[(key_from + 32u) / 4u];
    let piece_4 = b1[(key_from_2 + 32u) / 4u];
    let piece_5 = b1[(key_from + 64u) / 4u];
    let piece_6 = b1[(key_from_2 + 64u) / 4u];
    let piece_7 = b1[(key_from + 96u) / 4u];
    let piece_8 = b1[(key_from_2 + 96u) / 4u];
    let piece_9 = b1[(key_from + 128u) / 4u];
    let piece_10 = b1[(key_from_2 + 128u) / 4u];
    let piece_11 = b1[(key_from + 160u) / 4u];
    let piece_12 = b1[(key_from_2 + 160u) / 4u];
    let piece_13 = b1[(key_from + 192u) / 4u];
    let piece_14 = b1[(key_from_2 + 192u) / 4u];
    let piece_15 = b1[(key_from + 224u) / 4u];
    let piece_16 = b1[(key_from_2 + 224u) / 4u];
    let piece_17 = b1[(key_from + 256u) / 4u];
    let piece_18 = b1[(key_from_2 + 256u) / 4u];
    if (lane < 160u) {
      let row_4 = lane / 16u;
      let s = lane % 16u;
      let own_row = min(row_4, 9u);
      let row_5 = rows_at * 10u + own_row;
      let i_7 = row_5 / 20u;
      let i_8 = (row_5 % 20u) % 20u;
      let query = p0 + i_8 * 576u;
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
      let unit_at_2 = query + unit * 8u;
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
      let unit_2 = s + 32u;
      let unit_at_3 = query + unit_2 * 8u;
      let q_5 = b0[unit_at_3 / 4u];
      let q_6 = b0[(unit_at_3 + 4u) / 4u];
      largest = max(largest, q_5.x & 0x7fffffffu);
      largest = max(largest, q_5.y & 0x7fffffffu);
      largest = max(largest, q_5.z & 0x7fffffffu);
      largest = max(largest, q_5.w & 0x7fffffffu);
      largest = max(largest, q_6.x & 0x7fffffffu);
      largest = max(largest, q_6.y & 0x7fffffffu);
      largest = max(largest, q_6.z & 0x7fffffffu);
      largest = max(largest, q_6.w & 0x7fffffffu);
      let unit_3 = s + 48u;
      let unit_at_4 = query + unit_3 * 8u;
      let q_7 = b0[unit_at_4 / 4u];
      let q_8 = b0[(unit_at_4 + 4u) / 4u];
      largest = max(largest, q_7.x & 0x7fffffffu);
      largest = max(largest, q_7.y & 0x7fffffffu);
      largest = max(largest, q_7.z & 0x7fffffffu);
      largest = max(largest, q_7.w & 0x7fffffffu);
      largest = max(largest, q_8.x & 0x7fffffffu);
      largest = max(largest, q_8.y & 0x7fffffffu);
      largest = max(largest, q_8.z & 0x7fffffffu);
      largest = max(largest, q_8.w & 0x7fffffffu);
      let unit_4 = s + 64u;
      let unit_at_5 = query + min(unit_4, 71u) * 8u;
      let q_9 = b0[unit_at_5 / 4u];
      let q_10 = b0[(unit_at_5 + 4u) / 4u];
      largest = max(largest, q_9.x & 0x7fffffffu);
      largest = max(largest, q_9.y & 0x7fffffffu);
      largest = max(largest, q_9.z & 0x7fffffffu);
      largest = max(largest, q_9.w & 0x7fffffffu);
      largest = max(largest, q_10.x & 0x7fffffffu);
      largest = max(largest, q_10.y & 0x7fffffffu);
      largest = max(largest, q_10.z & 0x7fffffffu);
      largest = max(largest, q_10.w & 0x7fffffffu);
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
      let to = row_4 * 146u + s * 2u + 288u;
      halves[to] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x, x_2))), unpack2x16float(pack2x16float(vec2<f32>(x_3, x_4)))));
      halves[to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_5, x_6))), unpack2x16float(pack2x16float(vec2<f32>(x_7, x_8)))));
      let x_9 = bitcast<f32>(q_3.x) * shrink;
      let x_10 = bitcast<f32>(q_3.y) * shrink;
      let x_11 = bitcast<f32>(q_3.z) * shrink;
      let x_12 = bitcast<f32>(q_3.w) * shrink;
      let x_13 = bitcast<f32>(q_4.x) * shrink;
      let x_14 = bitcast<f32>(q_4.y) * shrink;
      let x_15 = bitcast<f32>(q_4.z) * shrink;
      let x_16 = bitcast<f32>(q_4.w) * shrink;
      let to_2 = row_4 * 146u + unit * 2u + 288u;
      halves[to_2] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_9, x_10))), unpack2x16float(pack2x16float(vec2<f32>(x_11, x_12)))));
      halves[to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_13, x_14))), unpack2x16float(pack2x16float(vec2<f32>(x_15, x_16)))));
      let x_17 = bitcast<f32>(q_5.x) * shrink;
      let x_18 = bitcast<f32>(q_5.y) * shrink;
      let x_19 = bitcast<f32>(q_5.z) * shrink;
      let x_20 = bitcast<f32>(q_5.w) * shrink;
      let x_21 = bitcast<f32>(q_6.x) * shrink;
      let x_22 = bitcast<f32>(q_6.y) * shrink;
      let x_23 = bitcast<f32>(q_6.z) * shrink;
      let x_24 = bitcast<f32>(q_6.w) * shrink;
      let to_3 = row_4 * 146u + unit_2 * 2u + 288u;
      halves[to_3] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_17, x_18))), unpack2x16float(pack2x16float(vec2<f32>(x_19, x_20)))));
      halves[to_3 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_21, x_22))), unpack2x16float(pack2x16float(vec2<f32>(x_23, x_24)))));
      let x_25 = bitcast<f32>(q_7.x) * shrink;
      let x_26 = bitcast<f32>(q_7.y) * shrink;
      let x_27 = bitcast<f32>(q_7.z) * shrink;
      let x_28 = bitcast<f32>(q_7.w) * shrink;
      let x_29 = bitcast<f32>(q_8.x) * shrink;
      let x_30 = bitcast<f32>(q_8.y) * shrink;
      let x_31 = bitcast<f32>(q_8.z) * shrink;
      let x_32 = bitcast<f32>(q_8.w) * shrink;
      let to_4 = row_4 * 146u + unit_3 * 2u + 288u;
      halves[to_4] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_25, x_26))), unpack2x16float(pack2x16float(vec2<f32>(x_27, x_28)))));
      halves[to_4 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_29, x_30))), unpack2x16float(pack2x16float(vec2<f32>(x_31, x_32)))));
      let x_33 = bitcast<f32>(q_9.x) * shrink;
      let x_34 = bitcast<f32>(q_9.y) * shrink;
      let x_35 = bitcast<f32>(q_9.z) * shrink;
      let x_36 = bitcast<f32>(q_9.w) * shrink;
      let x_37 = bitcast<f32>(q_10.x) * shrink;
      let x_38 = bitcast<f32>(q_10.y) * shrink;
      let x_39 = bitcast<f32>(q_10.z) * shrink;
      let x_40 = bitcast<f32>(q_10.w) * shrink;
      if (unit_4 < 72u) {
        let to_5 = row_4 * 146u + unit_4 * 2u + 288u;
        halves[to_5] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_33, x_34))), unpack2x16float(pack2x16float(vec2<f32>(x_35, x_36)))));
        halves[to_5 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(x_37, x_38))), unpack2x16float(pack2x16float(vec2<f32>(x_39, x_40)))));
      }
      if (s == 0u) {
        pool[row_4 + 64u] = bitcast<u32>(bitcast<f32>(exponent) * 0.125f);
      }
    }
    workgroupBarrier();
    let first_position = (own_warp % 4u) * 16u;
    let key_at = first_position * 18u + 2624u;
    var sums = coop_mat16x16<f32, C>();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece.x), unpack2x16float(piece.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece.z), unpack2x16float(piece.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_2.x), unpack2x16float(piece_2.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_2.z), unpack2x16float(piece_2.w)));
    workgroupBarrier();
    let k = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_11 = coopLoadT<coop_mat16x16<f16, A>>(&halves[288u], 146u);
    sums = coopMultiplyAdd(q_11, k, sums);
    let k_2 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_12 = coopLoadT<coop_mat16x16<f16, A>>(&halves[292u], 146u);
    sums = coopMultiplyAdd(q_12, k_2, sums);
    let k_3 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_13 = coopLoadT<coop_mat16x16<f16, A>>(&halves[296u], 146u);
    sums = coopMultiplyAdd(q_13, k_3, sums);
    let k_4 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_14 = coopLoadT<coop_mat16x16<f16, A>>(&halves[300u], 146u);
    sums = coopMultiplyAdd(q_14, k_4, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_3.x), unpack2x16float(piece_3.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_3.z), unpack2x16float(piece_3.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_4.x), unpack2x16float(piece_4.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_4.z), unpack2x16float(piece_4.w)));
    workgroupBarrier();
    let k_5 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_15 = coopLoadT<coop_mat16x16<f16, A>>(&halves[304u], 146u);
    sums = coopMultiplyAdd(q_15, k_5, sums);
    let k_6 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_16 = coopLoadT<coop_mat16x16<f16, A>>(&halves[308u], 146u);
    sums = coopMultiplyAdd(q_16, k_6, sums);
    let k_7 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_17 = coopLoadT<coop_mat16x16<f16, A>>(&halves[312u], 146u);
    sums = coopMultiplyAdd(q_17, k_7, sums);
    let k_8 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_18 = coopLoadT<coop_mat16x16<f16, A>>(&halves[316u], 146u);
    sums = coopMultiplyAdd(q_18, k_8, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_5.x), unpack2x16float(piece_5.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_5.z), unpack2x16float(piece_5.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_6.x), unpack2x16float(piece_6.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_6.z), unpack2x16float(piece_6.w)));
    workgroupBarrier();
    let k_9 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_19 = coopLoadT<coop_mat16x16<f16, A>>(&halves[320u], 146u);
    sums = coopMultiplyAdd(q_19, k_9, sums);
    let k_10 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_20 = coopLoadT<coop_mat16x16<f16, A>>(&halves[324u], 146u);
    sums = coopMultiplyAdd(q_20, k_10, sums);
    let k_11 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_21 = coopLoadT<coop_mat16x16<f16, A>>(&halves[328u], 146u);
    sums = coopMultiplyAdd(q_21, k_11, sums);
    let k_12 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_22 = coopLoadT<coop_mat16x16<f16, A>>(&halves[332u], 146u);
    sums = coopMultiplyAdd(q_22, k_12, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_7.x), unpack2x16float(piece_7.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_7.z), unpack2x16float(piece_7.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_8.x), unpack2x16float(piece_8.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_8.z), unpack2x16float(piece_8.w)));
    workgroupBarrier();
    let k_13 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_23 = coopLoadT<coop_mat16x16<f16, A>>(&halves[336u], 146u);
    sums = coopMultiplyAdd(q_23, k_13, sums);
    let k_14 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_24 = coopLoadT<coop_mat16x16<f16, A>>(&halves[340u], 146u);
    sums = coopMultiplyAdd(q_24, k_14, sums);
    let k_15 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_25 = coopLoadT<coop_mat16x16<f16, A>>(&halves[344u], 146u);
    sums = coopMultiplyAdd(q_25, k_15, sums);
    let k_16 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_26 = coopLoadT<coop_mat16x16<f16, A>>(&halves[348u], 146u);
    sums = coopMultiplyAdd(q_26, k_16, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_9.x), unpack2x16float(piece_9.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_9.z), unpack2x16float(piece_9.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_10.x), unpack2x16float(piece_10.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_10.z), unpack2x16float(piece_10.w)));
    workgroupBarrier();
    let k_17 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_27 = coopLoadT<coop_mat16x16<f16, A>>(&halves[352u], 146u);
    sums = coopMultiplyAdd(q_27, k_17, sums);
    let k_18 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_28 = coopLoadT<coop_mat16x16<f16, A>>(&halves[356u], 146u);
    sums = coopMultiplyAdd(q_28, k_18, sums);
    let k_19 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_29 = coopLoadT<coop_mat16x16<f16, A>>(&halves[360u], 146u);
    sums = coopMultiplyAdd(q_29, k_19, sums);
    let k_20 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_30 = coopLoadT<coop_mat16x16<f16, A>>(&halves[364u], 146u);
    sums = coopMultiplyAdd(q_30, k_20, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_11.x), unpack2x16float(piece_11.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_11.z), unpack2x16float(piece_11.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_12.x), unpack2x16float(piece_12.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_12.z), unpack2x16float(piece_12.w)));
    workgroupBarrier();
    let k_21 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_31 = coopLoadT<coop_mat16x16<f16, A>>(&halves[368u], 146u);
    sums = coopMultiplyAdd(q_31, k_21, sums);
    let k_22 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_32 = coopLoadT<coop_mat16x16<f16, A>>(&halves[372u], 146u);
    sums = coopMultiplyAdd(q_32, k_22, sums);
    let k_23 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_33 = coopLoadT<coop_mat16x16<f16, A>>(&halves[376u], 146u);
    sums = coopMultiplyAdd(q_33, k_23, sums);
    let k_24 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_34 = coopLoadT<coop_mat16x16<f16, A>>(&halves[380u], 146u);
    sums = coopMultiplyAdd(q_34, k_24, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_13.x), unpack2x16float(piece_13.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_13.z), unpack2x16float(piece_13.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_14.x), unpack2x16float(piece_14.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_14.z), unpack2x16float(piece_14.w)));
    workgroupBarrier();
    let k_25 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_35 = coopLoadT<coop_mat16x16<f16, A>>(&halves[384u], 146u);
    sums = coopMultiplyAdd(q_35, k_25, sums);
    let k_26 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_36 = coopLoadT<coop_mat16x16<f16, A>>(&halves[388u], 146u);
    sums = coopMultiplyAdd(q_36, k_26, sums);
    let k_27 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_37 = coopLoadT<coop_mat16x16<f16, A>>(&halves[392u], 146u);
    sums = coopMultiplyAdd(q_37, k_27, sums);
    let k_28 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_38 = coopLoadT<coop_mat16x16<f16, A>>(&halves[396u], 146u);
    sums = coopMultiplyAdd(q_38, k_28, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_15.x), unpack2x16float(piece_15.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_15.z), unpack2x16float(piece_15.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_16.x), unpack2x16float(piece_16.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_16.z), unpack2x16float(piece_16.w)));
    workgroupBarrier();
    let k_29 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_39 = coopLoadT<coop_mat16x16<f16, A>>(&halves[400u], 146u);
    sums = coopMultiplyAdd(q_39, k_29, sums);
    let k_30 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_40 = coopLoadT<coop_mat16x16<f16, A>>(&halves[404u], 146u);
    sums = coopMultiplyAdd(q_40, k_30, sums);
    let k_31 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_41 = coopLoadT<coop_mat16x16<f16, A>>(&halves[408u], 146u);
    sums = coopMultiplyAdd(q_41, k_31, sums);
    let k_32 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_42 = coopLoadT<coop_mat16x16<f16, A>>(&halves[412u], 146u);
    sums = coopMultiplyAdd(q_42, k_32, sums);
    workgroupBarrier();
    halves[key_to] = vec4<f16>(vec4<f32>(unpack2x16float(piece_17.x), unpack2x16float(piece_17.y)));
    halves[key_to + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_17.z), unpack2x16float(piece_17.w)));
    halves[key_to_2] = vec4<f16>(vec4<f32>(unpack2x16float(piece_18.x), unpack2x16float(piece_18.y)));
    halves[key_to_2 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(piece_18.z), unpack2x16float(piece_18.w)));
    workgroupBarrier();
    let k_33 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at], 18u);
    let q_43 = coopLoadT<coop_mat16x16<f16, A>>(&halves[416u], 146u);
    sums = coopMultiplyAdd(q_43, k_33, sums);
    let k_34 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 4u], 18u);
    let q_44 = coopLoadT<coop_mat16x16<f16, A>>(&halves[420u], 146u);
    sums = coopMultiplyAdd(q_44, k_34, sums);
    let k_35 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 8u], 18u);
    let q_45 = coopLoadT<coop_mat16x16<f16, A>>(&halves[424u], 146u);
    sums = coopMultiplyAdd(q_45, k_35, sums);
    let k_36 = coopLoad<coop_mat16x16<f16, B>>(&halves[key_at + 12u], 18u);
    let q_46 = coopLoadT<coop_mat16x16<f16, A>>(&halves[428u], 146u);
    sums = coopMultiplyAdd(q_46, k_36, sums);
    coopStoreT(sums, &floats[first_position], 68u);
    workgroupBarrier();
    let row_6 = rows_at * 10u;
    let i_9 = row_6 / 20u;
    let i_10 = (row_6 % 20u) % 20u;
    let state_at_2 = p1 + (i_10 / 20u) * 256u;
    let value_from = pool[lane / 32u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value = b1[value_from / 4u];
    let value_from_2 = pool[(lane / 32u) + 8u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_2 = b1[value_from_2 / 4u];
    let value_from_3 = pool[(lane / 32u) + 16u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_3 = b1[value_from_3 / 4u];
    let value_from_4 = pool[(lane / 32u) + 24u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_4 = b1[value_from_4 / 4u];
    let value_from_5 = pool[(lane / 32u) + 32u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_5 = b1[value_from_5 / 4u];
    let value_from_6 = pool[(lane / 32u) + 40u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_6 = b1[value_from_6 / 4u];
    let value_from_7 = pool[(lane / 32u) + 48u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_7 = b1[value_from_7 / 4u];
    let value_from_8 = pool[(lane / 32u) + 56u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u);
    let value_8 = b1[value_from_8 / 4u];
    let value_from_9 = pool[lane / 32u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_9 = b1[value_from_9 / 4u];
    let value_from_10 = pool[(lane / 32u) + 8u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_10 = b1[value_from_10 / 4u];
    let value_from_11 = pool[(lane / 32u) + 16u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_11 = b1[value_from_11 / 4u];
    let value_from_12 = pool[(lane / 32u) + 24u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_12 = b1[value_from_12 / 4u];
    let value_from_13 = pool[(lane / 32u) + 32u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_13 = b1[value_from_13 / 4u];
    let value_from_14 = pool[(lane / 32u) + 40u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_14 = b1[value_from_14 / 4u];
    let value_from_15 = pool[(lane / 32u) + 48u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_15 = b1[value_from_15 / 4u];
    let value_from_16 = pool[(lane / 32u) + 56u] * 288u + (state_at_2 + (((lane % 32u) / 4u) * 8u + ((lane % 32u) % 4u)) * 4u) + 16u;
    let value_16 = b1[value_from_16 / 4u];
    if (lane < 96u) {
      let row_7 = lane / 8u;
      let s_2 = lane % 8u;
      let factor = bitcast<f32>(pool[row_7 + 64u]);
      let from_score = row_7 * 68u + s_2 * 8u;
      let first = chunk_start + s_2 * 8u;
      let score = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score] * factor) ^ hidden_zero), first < seen);
      let score_2 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 1u] * factor) ^ hidden_zero), first + 1u < seen);
      let score_3 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 2u] * factor) ^ hidden_zero), first + 2u < seen);
      let score_4 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 3u] * factor) ^ hidden_zero), first + 3u < seen);
      let score_5 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 4u] * factor) ^ hidden_zero), first + 4u < seen);
      let score_6 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 5u] * factor) ^ hidden_zero), first + 5u < seen);
      let score_7 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 6u] * factor) ^ hidden_zero), first + 6u < seen);
      let score_8 = select(-2e38f, bitcast<f32>(bitcast<u32>(floats[from_score + 7u] * factor) ^ hidden_zero), first + 7u < seen);
      let top = max(max(max(max(max(max(max(score, score_2), score_3), score_4), score_5), score_6), score_7), score_8);
      let other_5 = subgroupShuffleXor(top, 1u);
      let both_5 = max(top, other_5);
      let other_6 = subgroupShuffleXor(both_5, 2u);
      let both_6 = max(both_5, other_6);
      let other_7 = subgroupShuffleXor(both_6, 4u);
      let both_7 = max(both_6, other_7);
      var total = 0.0f;
      let weight = exp(score - both_7);
      total = total + weight;
      let weight_2 = exp(score_2 - both_7);
      total = total + weight_2;
      let weight_3 = exp(score_3 - both_7);
      total = total + weight_3;
      let weight_4 = exp(score_4 - both_7);
      total = total + weight_4;
      let weight_5 = exp(score_5 - both_7);
      total = total + weight_5;
      let weight_6 = exp(score_6 - both_7);
      total = total + weight_6;
      let weight_7 = exp(score_7 - both_7);
      total = total + weight_7;
      let weight_8 = exp(score_8 - both_7);
      total = total + weight_8;
      let to_6 = row_7 * 18u + s_2 * 2u;
      halves[to_6] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(weight, weight_2))), unpack2x16float(pack2x16float(vec2<f32>(weight_3, weight_4)))));
      halves[to_6 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(pack2x16float(vec2<f32>(weight_5, weight_6))), unpack2x16float(pack2x16float(vec2<f32>(weight_7, weight_8)))));
      let other_8 = subgroupShuffleXor(total, 1u);
      let both_8 = total + other_8;
      let other_9 = subgroupShuffleXor(both_8, 2u);
      let both_9 = both_8 + other_9;
      let other_10 = subgroupShuffleXor(both_9, 4u);
      let both_10 = both_9 + other_10;
      if (s_2 == 0u) {
        pool[row_7 + 80u] = bitcast<u32>(both_7);
        pool[row_7 + 96u] = bitcast<u32>(both_10);
      }
    }
    let put_at = (rows_at * ((sizes.w * 32u + 63u) / 64u) + chunk) * 5160u;
    let exchanged = own_warp * 256u;
    let own_values = own_warp * 8u + 2624u;
    var sums_2 = coop_mat16x16<f32, C>();
    var sums_3 = coop_mat16x16<f32, C>();
    let to_7 = (lane / 32u) * 66u + (lane % 32u) * 2u + 2624u;
    halves[to_7] = vec4<f16>(vec4<f32>(unpack2x16float(value.x), unpack2x16float(value.y)));
    halves[to_7 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value.z), unpack2x16float(value.w)));
    let to_8 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3152u;
    halves[to_8] = vec4<f16>(vec4<f32>(unpack2x16float(value_2.x), unpack2x16float(value_2.y)));
    halves[to_8 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_2.z), unpack2x16float(value_2.w)));
    workgroupBarrier();
    let v = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 66u);
    let v_2 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 4u], 66u);
    let p_2 = coopLoadT<coop_mat16x16<f16, A>>(&halves[0u], 18u);
    sums_2 = coopMultiplyAdd(p_2, v, sums_2);
    sums_3 = coopMultiplyAdd(p_2, v_2, sums_3);
    let to_9 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3680u;
    halves[to_9] = vec4<f16>(vec4<f32>(unpack2x16float(value_3.x), unpack2x16float(value_3.y)));
    halves[to_9 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_3.z), unpack2x16float(value_3.w)));
    let to_10 = (lane / 32u) * 66u + (lane % 32u) * 2u + 4208u;
    halves[to_10] = vec4<f16>(vec4<f32>(unpack2x16float(value_4.x), unpack2x16float(value_4.y)));
    halves[to_10 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_4.z), unpack2x16float(value_4.w)));
    workgroupBarrier();
    let v_3 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1056u], 66u);
    let v_4 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1060u], 66u);
    let p_3 = coopLoadT<coop_mat16x16<f16, A>>(&halves[4u], 18u);
    sums_2 = coopMultiplyAdd(p_3, v_3, sums_2);
    sums_3 = coopMultiplyAdd(p_3, v_4, sums_3);
    let to_11 = (lane / 32u) * 66u + (lane % 32u) * 2u + 2624u;
    halves[to_11] = vec4<f16>(vec4<f32>(unpack2x16float(value_5.x), unpack2x16float(value_5.y)));
    halves[to_11 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_5.z), unpack2x16float(value_5.w)));
    let to_12 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3152u;
    halves[to_12] = vec4<f16>(vec4<f32>(unpack2x16float(value_6.x), unpack2x16float(value_6.y)));
    halves[to_12 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_6.z), unpack2x16float(value_6.w)));
    workgroupBarrier();
    let v_5 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 66u);
    let v_6 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 4u], 66u);
    let p_4 = coopLoadT<coop_mat16x16<f16, A>>(&halves[8u], 18u);
    sums_2 = coopMultiplyAdd(p_4, v_5, sums_2);
    sums_3 = coopMultiplyAdd(p_4, v_6, sums_3);
    let to_13 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3680u;
    halves[to_13] = vec4<f16>(vec4<f32>(unpack2x16float(value_7.x), unpack2x16float(value_7.y)));
    halves[to_13 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_7.z), unpack2x16float(value_7.w)));
    let to_14 = (lane / 32u) * 66u + (lane % 32u) * 2u + 4208u;
    halves[to_14] = vec4<f16>(vec4<f32>(unpack2x16float(value_8.x), unpack2x16float(value_8.y)));
    halves[to_14 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_8.z), unpack2x16float(value_8.w)));
    workgroupBarrier();
    let v_7 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1056u], 66u);
    let v_8 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1060u], 66u);
    let p_5 = coopLoadT<coop_mat16x16<f16, A>>(&halves[12u], 18u);
    sums_2 = coopMultiplyAdd(p_5, v_7, sums_2);
    sums_3 = coopMultiplyAdd(p_5, v_8, sums_3);
    subgroupBarrier();
    coopStoreT(sums_2, &floats[exchanged], 16u);
    subgroupBarrier();
    let own_row_2 = own_lane / 16u;
    let own_column = own_warp * 64u + (own_lane % 16u);
    let y = floats[exchanged + own_lane];
    if (own_row_2 < 10u) {
      b4[put_at + own_row_2 * 516u + own_column] = bitcast<u32>(y);
    }
    let own_row_3 = own_lane / 16u;
    let own_column_2 = own_warp * 64u + (own_lane % 16u);
    let y_2 = floats[exchanged + own_lane + 32u];
    if (own_row_3 + 2u < 10u) {
      b4[put_at + own_row_3 * 516u + own_column_2 + 1032u] = bitcast<u32>(y_2);
    }
    let own_row_4 = own_lane / 16u;
    let own_column_3 = own_warp * 64u + (own_lane % 16u);
    let y_3 = floats[exchanged + own_lane + 64u];
    if (own_row_4 + 4u < 10u) {
      b4[put_at + own_row_4 * 516u + own_column_3 + 2064u] = bitcast<u32>(y_3);
    }
    let own_row_5 = own_lane / 16u;
    let own_column_4 = own_warp * 64u + (own_lane % 16u);
    let y_4 = floats[exchanged + own_lane + 96u];
    if (own_row_5 + 6u < 10u) {
      b4[put_at + own_row_5 * 516u + own_column_4 + 3096u] = bitcast<u32>(y_4);
    }
    let own_row_6 = own_lane / 16u;
    let own_column_5 = own_warp * 64u + (own_lane % 16u);
    let y_5 = floats[exchanged + own_lane + 128u];
    if (own_row_6 + 8u < 10u) {
      b4[put_at + own_row_6 * 516u + own_column_5 + 4128u] = bitcast<u32>(y_5);
    }
    let own_row_7 = own_lane / 16u;
    let own_column_6 = own_warp * 64u + (own_lane % 16u);
    let y_6 = floats[exchanged + own_lane + 160u];
    if (own_row_7 + 10u < 10u) {
      b4[put_at + own_row_7 * 516u + own_column_6 + 5160u] = bitcast<u32>(y_6);
    }
    let own_row_8 = own_lane / 16u;
    let own_column_7 = own_warp * 64u + (own_lane % 16u);
    let y_7 = floats[exchanged + own_lane + 192u];
    if (own_row_8 + 12u < 10u) {
      b4[put_at + own_row_8 * 516u + own_column_7 + 6192u] = bitcast<u32>(y_7);
    }
    let own_row_9 = own_lane / 16u;
    let own_column_8 = own_warp * 64u + (own_lane % 16u);
    let y_8 = floats[exchanged + own_lane + 224u];
    if (own_row_9 + 14u < 10u) {
      b4[put_at + own_row_9 * 516u + own_column_8 + 7224u] = bitcast<u32>(y_8);
    }
    subgroupBarrier();
    coopStoreT(sums_3, &floats[exchanged], 16u);
    subgroupBarrier();
    let own_row_10 = own_lane / 16u;
    let own_column_9 = own_warp * 64u + (own_lane % 16u);
    let y_9 = floats[exchanged + own_lane];
    if (own_row_10 < 10u) {
      b4[put_at + own_row_10 * 516u + own_column_9 + 16u] = bitcast<u32>(y_9);
    }
    let own_row_11 = own_lane / 16u;
    let own_column_10 = own_warp * 64u + (own_lane % 16u);
    let y_10 = floats[exchanged + own_lane + 32u];
    if (own_row_11 + 2u < 10u) {
      b4[put_at + own_row_11 * 516u + own_column_10 + 1048u] = bitcast<u32>(y_10);
    }
    let own_row_12 = own_lane / 16u;
    let own_column_11 = own_warp * 64u + (own_lane % 16u);
    let y_11 = floats[exchanged + own_lane + 64u];
    if (own_row_12 + 4u < 10u) {
      b4[put_at + own_row_12 * 516u + own_column_11 + 2080u] = bitcast<u32>(y_11);
    }
    let own_row_13 = own_lane / 16u;
    let own_column_12 = own_warp * 64u + (own_lane % 16u);
    let y_12 = floats[exchanged + own_lane + 96u];
    if (own_row_13 + 6u < 10u) {
      b4[put_at + own_row_13 * 516u + own_column_12 + 3112u] = bitcast<u32>(y_12);
    }
    let own_row_14 = own_lane / 16u;
    let own_column_13 = own_warp * 64u + (own_lane % 16u);
    let y_13 = floats[exchanged + own_lane + 128u];
    if (own_row_14 + 8u < 10u) {
      b4[put_at + own_row_14 * 516u + own_column_13 + 4144u] = bitcast<u32>(y_13);
    }
    let own_row_15 = own_lane / 16u;
    let own_column_14 = own_warp * 64u + (own_lane % 16u);
    let y_14 = floats[exchanged + own_lane + 160u];
    if (own_row_15 + 10u < 10u) {
      b4[put_at + own_row_15 * 516u + own_column_14 + 5176u] = bitcast<u32>(y_14);
    }
    let own_row_16 = own_lane / 16u;
    let own_column_15 = own_warp * 64u + (own_lane % 16u);
    let y_15 = floats[exchanged + own_lane + 192u];
    if (own_row_16 + 12u < 10u) {
      b4[put_at + own_row_16 * 516u + own_column_15 + 6208u] = bitcast<u32>(y_15);
    }
    let own_row_17 = own_lane / 16u;
    let own_column_16 = own_warp * 64u + (own_lane % 16u);
    let y_16 = floats[exchanged + own_lane + 224u];
    if (own_row_17 + 14u < 10u) {
      b4[put_at + own_row_17 * 516u + own_column_16 + 7240u] = bitcast<u32>(y_16);
    }
    var sums_4 = coop_mat16x16<f32, C>();
    var sums_5 = coop_mat16x16<f32, C>();
    let to_15 = (lane / 32u) * 66u + (lane % 32u) * 2u + 2624u;
    halves[to_15] = vec4<f16>(vec4<f32>(unpack2x16float(value_9.x), unpack2x16float(value_9.y)));
    halves[to_15 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_9.z), unpack2x16float(value_9.w)));
    let to_16 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3152u;
    halves[to_16] = vec4<f16>(vec4<f32>(unpack2x16float(value_10.x), unpack2x16float(value_10.y)));
    halves[to_16 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_10.z), unpack2x16float(value_10.w)));
    workgroupBarrier();
    let v_9 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 66u);
    let v_10 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 4u], 66u);
    let p_6 = coopLoadT<coop_mat16x16<f16, A>>(&halves[0u], 18u);
    sums_4 = coopMultiplyAdd(p_6, v_9, sums_4);
    sums_5 = coopMultiplyAdd(p_6, v_10, sums_5);
    let to_17 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3680u;
    halves[to_17] = vec4<f16>(vec4<f32>(unpack2x16float(value_11.x), unpack2x16float(value_11.y)));
    halves[to_17 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_11.z), unpack2x16float(value_11.w)));
    let to_18 = (lane / 32u) * 66u + (lane % 32u) * 2u + 4208u;
    halves[to_18] = vec4<f16>(vec4<f32>(unpack2x16float(value_12.x), unpack2x16float(value_12.y)));
    halves[to_18 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_12.z), unpack2x16float(value_12.w)));
    workgroupBarrier();
    let v_11 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1056u], 66u);
    let v_12 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1060u], 66u);
    let p_7 = coopLoadT<coop_mat16x16<f16, A>>(&halves[4u], 18u);
    sums_4 = coopMultiplyAdd(p_7, v_11, sums_4);
    sums_5 = coopMultiplyAdd(p_7, v_12, sums_5);
    let to_19 = (lane / 32u) * 66u + (lane % 32u) * 2u + 2624u;
    halves[to_19] = vec4<f16>(vec4<f32>(unpack2x16float(value_13.x), unpack2x16float(value_13.y)));
    halves[to_19 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_13.z), unpack2x16float(value_13.w)));
    let to_20 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3152u;
    halves[to_20] = vec4<f16>(vec4<f32>(unpack2x16float(value_14.x), unpack2x16float(value_14.y)));
    halves[to_20 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_14.z), unpack2x16float(value_14.w)));
    workgroupBarrier();
    let v_13 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values], 66u);
    let v_14 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 4u], 66u);
    let p_8 = coopLoadT<coop_mat16x16<f16, A>>(&halves[8u], 18u);
    sums_4 = coopMultiplyAdd(p_8, v_13, sums_4);
    sums_5 = coopMultiplyAdd(p_8, v_14, sums_5);
    let to_21 = (lane / 32u) * 66u + (lane % 32u) * 2u + 3680u;
    halves[to_21] = vec4<f16>(vec4<f32>(unpack2x16float(value_15.x), unpack2x16float(value_15.y)));
    halves[to_21 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_15.z), unpack2x16float(value_15.w)));
    let to_22 = (lane / 32u) * 66u + (lane % 32u) * 2u + 4208u;
    halves[to_22] = vec4<f16>(vec4<f32>(unpack2x16float(value_16.x), unpack2x16float(value_16.y)));
    halves[to_22 + 1u] = vec4<f16>(vec4<f32>(unpack2x16float(value_16.z), unpack2x16float(value_16.w)));
    workgroupBarrier();
    let v_15 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1056u], 66u);
    let v_16 = coopLoadT<coop_mat16x16<f16, B>>(&halves[own_values + 1060u], 66u);
    let p_9 = coopLoadT<coop_mat16x16<f16, A>>(&halves[12u], 18u);
    sums_4 = coopMultiplyAdd(p_9, v_15, sums_4);
    sums_5 = coopMultiplyAdd(p_9, v_16, sums_5);
    subgroupBarrier();
    coopStoreT(sums_4, &floats[exchanged], 16u);
    subgroupBarrier();
    let own_row_18 = own_lane / 16u;
    let own_column_17 = own_warp * 64u + (own_lane % 16u);
    let y_17 = floats[exchanged + own_lane];
    if (own_row_18 < 10u) {
      b4[put_at + own_row_18 * 516u + own_column_17 + 32u] = bitcast<u32>(y_17);
    }
    let own_row_19 = own_lane / 16u;
    let own_column_18 = own_warp * 64u + (own_lane % 16u);
    let y_18 = floats[exchanged + own_lane + 32u];
    if (own_row_19 + 2u < 10u) {
      b4[put_at + own_row_19 * 516u + own_column_18 + 1064u] = bitcast<u32>(y_18);
    }
    let own_row_20 = own_lane / 16u;
    let own_column_19 = own_warp * 64u + (own_lane % 16u);
    let y_19 = floats[exchanged + own_lane + 64u];
    if (own_row_20 + 4u < 10u) {
      b4[put_at + own_row_20 * 516u + own_column_19 + 2096u] = bitcast<u32>(y_19);
    }
    let own_row_21 = own_lane / 16u;
    let own_column_20 = own_warp * 64u + (own_lane % 16u);
    let y_20 = floats[exchanged + own_lane + 96u];
    if (own_row_21 + 6u < 10u) {
      b4[put_at + own_row_21 * 516u + own_column_20 + 3128u] = bitcast<u32>(y_20);
    }
    let own_row_22 = own_lane / 16u;
    let own_column_21 = own_warp * 64u + (own_lane % 16u);
    let y_21 = floats[exchanged + own_lane + 128u];
    if (own_row_22 + 8u < 10u) {
      b4[put_at + own_row_22 * 516u + own_column_21 + 4160u] = bitcast<u32>(y_21);
    }
    let own_row_23 = own_lane / 16u;
    let own_column_22 = own_warp * 64u + (own_lane % 16u);
    let y_22 = floats[exchanged + own_lane + 160u];
    if (own_row_23 + 10u < 10u) {
      b4[put_at + own_row_23 * 516u + own_column_22 + 5192u] = bitcast<u32>(y_22);
    }
    let own_row_24 = own_lane / 16u;
    let own_column_23 = own_warp * 64u + (own_lane % 16u);
    let y_23 = floats[exchanged + own_lane + 192u];
    if (own_row_24 + 12u < 10u) {
      b4[put_at + own_row_24 * 516u + own_column_23 + 6224u] = bitcast<u32>(y_23);
    }
    let own_row_25 = own_lane / 16u;
    let own_column_24 = own_warp * 64u + (own_lane % 16u);
    let y_24 = floats[exchanged + own_lane + 224u];
    if (own_row_25 + 14u < 10u) {
      b4[put_at + own_row_25 * 516u + own_column_24 + 7256u] = bitcast<u32>(y_24);
    }
    subgroupBarrier();
    coopStoreT(sums_5, &floats[exchanged], 16u);
    subgroupBarrier();
    let own_row_26 = own_lane / 16u;
    let own_column_25 = own_warp * 64u + (own_lane % 16u);
    let y_25 = floats[exchanged + own_lane];
    if (own_row_26 < 10u) {
      b4[put_at + own_row_26 * 516u + own_column_25 + 48u] = bitcast<u32>(y_25);
    }
    let own_row_27 = own_lane / 16u;
    let own_column_26 = own_warp * 64u + (own_lane % 16u);
    let y_26 = floats[exchanged + own_lane + 32u];
    if (own_row_27 + 2u < 10u) {
      b4[put_at + own_row_27 * 516u + own_column_26 + 1080u] = bitcast<u32>(y_26);
    }
    let own_row_28 = own_lane / 16u;
    let own_column_27 = own_warp * 64u + (own_lane % 16u);
    let y_27 = floats[exchanged + own_lane + 64u];
    if (own_row_28 + 4u < 10u) {
      b4[put_at + own_row_28 * 516u + own_column_27 + 2112u] = bitcast<u32>(y_27);
    }
    let own_row_29 = own_lane / 16u;
    let own_column_28 = own_warp * 64u + (own_lane % 16u);
    let y_28 = floats[exchanged + own_lane + 96u];
    if (own_row_29 + 6u < 10u) {
      b4[put_at + own_row_29 * 516u + own_column_28 + 3144u] = bitcast<u32>(y_28);
    }
    let own_row_30 = own_lane / 16u;
    let own_column_29 = own_warp * 64u + (own_lane % 16u);
    let y_29 = floats[exchanged + own_lane + 128u];
    if (own_row_30 + 8u < 10u) {
      b4[put_at + own_row_30 * 516u + own_column_29 + 4176u] = bitcast<u32>(y_29);
    }
    let own_row_31 = own_lane / 16u;
    let own_column_30 = own_warp * 64u + (own_lane % 16u);
    let y_30 = floats[exchanged + own_lane + 160u];
    if (own_row_31 + 10u < 10u) {
      b4[put_at + own_row_31 * 516u + own_column_30 + 5208u] = bitcast<u32>(y_30);
    }
    let own_row_32 = own_lane / 16u;
    let own_column_31 = own_warp * 64u + (own_lane % 16u);
    let y_31 = floats[exchanged + own_lane + 192u];
    if (own_row_32 + 12u < 10u) {
      b4[put_at + own_row_32 * 516u + own_column_31 + 6240u] = bitcast<u32>(y_31);
    }
    let own_row_33 = own_lane / 16u;
    let own_column_32 = own_warp * 64u + (own_lane % 16u);
    let y_32 = floats[exchanged + own_lane + 224u];
    if (own_row_33 + 14u < 10u) {
      b4[put_at + own_row_33 * 516u + own_column_32 + 7272u] = bitcast<u32>(y_32);
    }
    if (lane < 10u) {
      let to_23 = lane * 516u + put_at + 512u;
      b4[to_23] = pool[lane + 96u];
      b4[to_23 + 1u] = pool[lane + 80u];
    }
  }
}

// attend_20x576: lanes 256; attend.cooperative rows 10 spread
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
  // part 0: attend [T, 20] × 512; attend.cooperative rows 10 spread; together
  let own_group = group.x;
  let rows_at = own_group % 20u;
  let first = (own_group / 20u) * 64u;
  let i = rows_at / 20u;
  let i_2 = (rows_at % 20u) % 20u;
  let i_3 = rows_at / 20u;
  let i_4 = (rows_at % 20u) % 20u;
  let column = first + lane;
  let i_5 = rows_at / 20u;
  let i_6 = (rows_at % 20u) % 20u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2 + i_5]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3 + i_5];
  let chunks = (seen + 63u) / 64u;
  var sum = 0.0f;
  var sum_2 = 0.0f;
  var carried = -2e38f;
  let put_at = ((rows_at / 10u) * ((sizes.w * 32u + 63u) / 64u) * 10u + (rows_at % 10u)) * 516u;
  for (var batch = 0u; batch < chunks; batch += 64u) {
    let column_2 = (lane % 16u) * 4u;
    let own_chunk = lane / 16u;
    let values = b4[(min(batch + own_chunk, chunks - 1u) * 5160u + put_at + first + column_2) / 4u];
    let chunk = own_chunk + 16u;
    let values_2 = b4[(min(batch + chunk, chunks - 1u) * 5160u + put_at + first + column_2) / 4u];
    let chunk_2 = own_chunk + 32u;
    let values_3 = b4[(min(batch + chunk_2, chunks - 1u) * 5160u + put_at + first + column_2) / 4u];
    let chunk_3 = own_chunk + 48u;
    let values_4 = b4[(min(batch + chunk_3, chunks - 1u) * 5160u + put_at + first + column_2) / 4u];
    var weight = 0u;
    var weight_2 = 0u;
    var weight_3 = 0u;
    if (lane < 64u) {
      let chunk_4 = batch + lane;
      let put_down = min(chunk_4, chunks - 1u) * 5160u + put_at + 512u;
      let put_down_2 = bitcast<f32>(b4[put_down / 4u][put_down % 4u]);
      let put_down_3 = bitcast<f32>(b4[(put_down + 1u) / 4u][(put_down + 1u) % 4u]);
      let its_top = select(-2e38f, put_down_3, chunk_4 < chunks);
      let chunk_5 = batch + (lane ^ 32u);
      let put_down_4 = min(chunk_5, chunks - 1u) * 5160u + put_at + 512u;
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
    pool[own_chunk * 68u + column_2] = values.x;
    pool[own_chunk * 68u + column_2 + 1u] = values.y;
    pool[own_chunk * 68u + column_2 + 2u] = values.z;
    pool[own_chunk * 68u + column_2 + 3u] = values.w;
    pool[chunk * 68u + column_2] = values_2.x;
    pool[chunk * 68u + column_2 + 1u] = values_2.y;
    pool[chunk * 68u + column_2 + 2u] = values_2.z;
    pool[chunk * 68u + column_2 + 3u] = values_2.w;
    pool[chunk_2 * 68u + column_2] = values_3.x;
    pool[chunk_2 * 68u + column_2 + 1u] = values_3.y;
    pool[chunk_2 * 68u + column_2 + 2u] = values_3.z;
    pool[chunk_2 * 68u + column_2 + 3u] = values_3.w;
    pool[chunk_3 * 68u + column_2] = values_4.x;
    pool[chunk_3 * 68u + column_2 + 1u] = values_4.y;
    pool[chunk_3 * 68u + column_2 + 2u] = values_4.z;
    pool[chunk_3 * 68u + column_2 + 3u] = values_4.w;
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
    b3[p5 + (i_3 * 10240u + i_4 * 512u + column)] = bitcast<u32>(v);
  }
}

