test wgsl T=1
# The chosen experts' gates and ups, by the numbers that a router wrote.
graph experts {
  %0 = input x : f32[T, 2048]
  %1 = input ids : i32[T, 4]
  %2 = weight gate : q4_k[64, 1536, 2048]
  %3 = weight up : q4_k[64, 1536, 2048]
  %4 = select_dot %0 %2 %1 : f32[T, 4, 1536]
  %5 = select_dot %0 %3 %1 : f32[T, 4, 1536]
  %6 = silu %4 : f32[T, 4, 1536]
  %7 = mul %6 %5 : f32[T, 4, 1536]
  output y = %7
}
---
// map_2048: lanes 256; plain rows 1 width 256
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 1>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read_write> b1: array<u32>;
var<workgroup> pool: array<u32, 88>;

fn reciprocal(x: f32) -> f32 {
  let minus_x = -(x);
  let inverse = bitcast<f32>(0x7ef311c7u - bitcast<u32>(x));
  let error = fma(minus_x, inverse, 1.0f);
  let both = fma(error, error, error);
  let inverse_2 = fma(inverse, both, inverse);
  let error_2 = fma(minus_x, inverse_2, 1.0f);
  let both_2 = fma(error_2, error_2, error_2);
  let inverse_3 = fma(inverse_2, both_2, inverse_2);
  return inverse_3;
}

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let n1 = args[0].w;
  // part 0: map [T] × 2048; plain rows 1 width 256
  let own_group = group.x;
  let first = own_group * 256u;
  let word = min(lane, 63u);
  let column = first + word * 4u;
  let v = bitcast<f32>(b0[p0 + column]);
  let column_2 = first + word * 4u + 1u;
  let v_2 = bitcast<f32>(b0[p0 + column_2]);
  let column_3 = first + word * 4u + 2u;
  let v_3 = bitcast<f32>(b0[p0 + column_3]);
  let column_4 = first + word * 4u + 3u;
  let v_4 = bitcast<f32>(b0[p0 + column_4]);
  let mine = max(max(max(bitcast<u32>(v) & 0x7fffffffu, bitcast<u32>(v_2) & 0x7fffffffu), bitcast<u32>(v_3) & 0x7fffffffu), bitcast<u32>(v_4) & 0x7fffffffu);
  let other = subgroupShuffleXor(mine, 1u);
  let both = max(mine, other);
  let other_2 = subgroupShuffleXor(both, 2u);
  let both_2 = max(both, other_2);
  let other_3 = subgroupShuffleXor(both_2, 4u);
  let both_3 = max(both_2, other_3);
  let largest = bitcast<f32>(both_3);
  let factor = largest * 0.007874016f;
  let scale = select(0x7fc00000u, bitcast<u32>(factor), both_3 < 0x7f800000u);
  let inverse = select(0.0f, reciprocal(factor), largest > 1.5046328e-36f && both_3 < 0x7f800000u);
  let packed = (bitcast<u32>(i32(min(max(round(v * inverse), -127.0f), 127.0f))) & 255u) | ((bitcast<u32>(i32(min(max(round(v_2 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | ((bitcast<u32>(i32(min(max(round(v_3 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | ((bitcast<u32>(i32(min(max(round(v_4 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  let mine_2 = dot4I8Packed(packed, 0x1010101u);
  let other_4 = subgroupShuffleXor(mine_2, 1u);
  let both_4 = mine_2 + other_4;
  let other_5 = subgroupShuffleXor(both_4, 2u);
  let both_5 = both_4 + other_5;
  if (lane < 64u) {
    pool[lane] = packed;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 72u] = bitcast<u32>(f32(both_5) * bitcast<f32>(scale));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 64u] = scale;
    }
  }
  workgroupBarrier();
  if (lane < 64u) {
    let column_5 = first + lane * 4u;
    b1[p1 + (column_5 / 4u)] = pool[(lane * 4u) / 4u];
  }
  if (lane < 8u) {
    let column_6 = first + lane * 32u;
    b1[p1 + (n1 / 4u) + (column_6 / 32u)] = pool[((lane * 32u) / 32u) + 64u];
  }
  if (lane < 16u) {
    let column_7 = first + lane * 16u;
    b1[p1 + ((n1 / 4u) + (n1 / 32u)) + (column_7 / 16u)] = pool[((lane * 16u) / 16u) + 72u];
  }
}

// select_dot_1536x2048_q4_k&select_dot_1536x2048_q4_k: lanes 256; dot.lanes rows 1 width 16 reduce 16 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 512>;

fn sigmoid(x: f32) -> f32 {
  let power = max(min(-(x), 80.0f), -80.0f);
  let n = round(power * 1.442695f);
  let minus = -(n);
  let r = fma(minus, 0.6931472f, power);
  let r_2 = fma(minus, -1.9046542e-9f, r);
  let q = fma(0.0001984127f, r_2, 0.0013888889f);
  let q_2 = fma(q, r_2, 0.008333334f);
  let q_3 = fma(q_2, r_2, 0.041666668f);
  let q_4 = fma(q_3, r_2, 0.16666667f);
  let q_5 = fma(q_4, r_2, 0.5f);
  let square = r_2 * r_2;
  let e = fma(q_5, square, r_2) + 1.0f;
  let two_to_n = bitcast<f32>((bitcast<u32>(i32(n)) + 127u) << 23u);
  let grown = fma(e, two_to_n, 1.0f);
  let minus_x = -(grown);
  let inverse = bitcast<f32>(0x7ef311c7u - bitcast<u32>(grown));
  let error = fma(minus_x, inverse, 1.0f);
  let both = fma(error, error, error);
  let inverse_2 = fma(inverse, both, inverse);
  let error_2 = fma(minus_x, inverse_2, 1.0f);
  let both_2 = fma(error_2, error_2, error_2);
  let inverse_3 = fma(inverse_2, both_2, inverse_2);
  return inverse_3;
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let hidden_zero = group.z;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let n0 = args[0].y;
  // part 0: dot [T, 4] × 1536; dot.lanes rows 1 width 16 reduce 16 upcast 1
  let own_group = group.x;
  let rows_at = own_group % 4u;
  let first = (own_group / 4u) * 16u;
  let i = rows_at / 4u;
  let i_2 = (rows_at % 4u) % 4u;
  let share = lane / 16u;
  let own = lane % 16u;
  let column = first + own;
  // times q4_k[1536, 2048]
  let index = min(b1[p1 + (i * 4u + i_2)], 63u);
  var sum = 0.0f;
  let x = i * 2048u;
  let x_2 = p0 + (x / 4u);
  let xd = p0 + (n0 / 4u) + (x / 32u);
  let xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
  let tile = p2 + ((index * 1536u + column) / 16u) * 4736u;
  let lane_row = (index * 1536u + column) % 16u;
  let b = share * 4u;
  let at = tile + lane_row + b * 64u;
  let w = b2[at];
  let w_2 = b2[at + 16u];
  let w_3 = b2[at + 32u];
  let w_4 = b2[at + 48u];
  let scale = unpack2x16float(b2[tile + (((b / 8u) * 32u + lane_row) / 2u) + 4096u] >> ((((b / 8u) * 32u + lane_row) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row) / 4u) + 4224u] >> (((b * 32u + lane_row) % 4u) * 8u)) & 255u);
  let least = -(unpack2x16float(b2[tile + (((b / 8u) * 32u + lane_row + 16u) / 2u) + 4096u] >> ((((b / 8u) * 32u + lane_row + 16u) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 16u) / 4u) + 4224u] >> (((b * 32u + lane_row + 16u) % 4u) * 8u)) & 255u));
  let at_2 = tile + lane_row + b * 64u;
  let w_5 = b2[at_2 + 64u];
  let w_6 = b2[at_2 + 80u];
  let w_7 = b2[at_2 + 96u];
  let w_8 = b2[at_2 + 112u];
  let scale_2 = unpack2x16float(b2[tile + ((((b + 1u) / 8u) * 32u + lane_row) / 2u) + 4096u] >> (((((b + 1u) / 8u) * 32u + lane_row) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 32u) / 4u) + 4224u] >> (((b * 32u + lane_row + 32u) % 4u) * 8u)) & 255u);
  let least_2 = -(unpack2x16float(b2[tile + ((((b + 1u) / 8u) * 32u + lane_row + 16u) / 2u) + 4096u] >> (((((b + 1u) / 8u) * 32u + lane_row + 16u) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 48u) / 4u) + 4224u] >> (((b * 32u + lane_row + 48u) % 4u) * 8u)) & 255u));
  let at_3 = tile + lane_row + b * 64u;
  let w_9 = b2[at_3 + 128u];
  let w_10 = b2[at_3 + 144u];
  let w_11 = b2[at_3 + 160u];
  let w_12 = b2[at_3 + 176u];
  let scale_3 = unpack2x16float(b2[tile + ((((b + 2u) / 8u) * 32u + lane_row) / 2u) + 4096u] >> (((((b + 2u) / 8u) * 32u + lane_row) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 64u) / 4u) + 4224u] >> (((b * 32u + lane_row + 64u) % 4u) * 8u)) & 255u);
  let least_3 = -(unpack2x16float(b2[tile + ((((b + 2u) / 8u) * 32u + lane_row + 16u) / 2u) + 4096u] >> (((((b + 2u) / 8u) * 32u + lane_row + 16u) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 80u) / 4u) + 4224u] >> (((b * 32u + lane_row + 80u) % 4u) * 8u)) & 255u));
  let at_4 = tile + lane_row + b * 64u;
  let w_13 = b2[at_4 + 192u];
  let w_14 = b2[at_4 + 208u];
  let w_15 = b2[at_4 + 224u];
  let w_16 = b2[at_4 + 240u];
  let scale_4 = unpack2x16float(b2[tile + ((((b + 3u) / 8u) * 32u + lane_row) / 2u) + 4096u] >> (((((b + 3u) / 8u) * 32u + lane_row) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 96u) / 4u) + 4224u] >> (((b * 32u + lane_row + 96u) % 4u) * 8u)) & 255u);
  let least_4 = -(unpack2x16float(b2[tile + ((((b + 3u) / 8u) * 32u + lane_row + 16u) / 2u) + 4096u] >> (((((b + 3u) / 8u) * 32u + lane_row + 16u) % 2u) * 16u)).x * f32((b2[tile + ((b * 32u + lane_row + 112u) / 4u) + 4224u] >> (((b * 32u + lane_row + 112u) % 4u) * 8u)) & 255u));
  let xw = x_2 + b * 8u;
  let xq = b0[xw];
  let xq_2 = b0[xw + 1u];
  let xq_3 = b0[xw + 2u];
  let xq_4 = b0[xw + 3u];
  let xq_5 = b0[xw + 4u];
  let xq_6 = b0[xw + 5u];
  let xq_7 = b0[xw + 6u];
  let xq_8 = b0[xw + 7u];
  let d = bitcast<f32>(b0[xd + b]);
  let s = bitcast<f32>(b0[xs + b * 2u]);
  let s_2 = bitcast<f32>(b0[xs + b * 2u + 1u]);
  sum = fma(d, f32(dot4I8Packed(w & 0xf0f0f0fu, xq) + dot4I8Packed(w_2 & 0xf0f0f0fu, xq_2) + dot4I8Packed(w_3 & 0xf0f0f0fu, xq_3) + dot4I8Packed(w_4 & 0xf0f0f0fu, xq_4) + dot4I8Packed((w >> 4u) & 0xf0f0f0fu, xq_5) + dot4I8Packed((w_2 >> 4u) & 0xf0f0f0fu, xq_6) + dot4I8Packed((w_3 >> 4u) & 0xf0f0f0fu, xq_7) + dot4I8Packed((w_4 >> 4u) & 0xf0f0f0fu, xq_8)) * scale, sum);
  sum = fma(least, s + s_2, sum);
  let xw_2 = x_2 + b * 8u;
  let xq_9 = b0[xw_2 + 8u];
  let xq_10 = b0[xw_2 + 9u];
  let xq_11 = b0[xw_2 + 10u];
  let xq_12 = b0[xw_2 + 11u];
  let xq_13 = b0[xw_2 + 12u];
  let xq_14 = b0[xw_2 + 13u];
  let xq_15 = b0[xw_2 + 14u];
  let xq_16 = b0[xw_2 + 15u];
  let d_2 = bitcast<f32>(b0[xd + b + 1u]);
  let s_3 = bitcast<f32>(b0[xs + b * 2u + 2u]);
  let s_4 = bitcast<f32>(b0[xs + b * 2u + 3u]);
  sum = fma(d_2, f32(dot4I8Packed(w_5 & 0xf0f0f0fu, xq_9) + dot4I8Packed(w_6 & 0xf0f0f0fu, xq_10) + dot4I8Packed(w_7 & 0xf0f0f0fu, xq_11) + dot4I8Packed(w_8 & 0xf0f0f0fu, xq_12) + dot4I8Packed((w_5 >> 4u) & 0xf0f0f0fu, xq_13) + dot4I8Packed((w_6 >> 4u) & 0xf0f0f0fu, xq_14) + dot4I8Packed((w_7 >> 4u) & 0xf0f0f0fu, xq_15) + dot4I8Packed((w_8 >> 4u) & 0xf0f0f0fu, xq_16)) * scale_2, sum);
  sum = fma(least_2, s_3 + s_4, sum);
  let xw_3 = x_2 + b * 8u;
  let xq_17 = b0[xw_3 + 16u];
  let xq_18 = b0[xw_3 + 17u];
  let xq_19 = b0[xw_3 + 18u];
  let xq_20 = b0[xw_3 + 19u];
  let xq_21 = b0[xw_3 + 20u];
  let xq_22 = b0[xw_3 + 21u];
  let xq_23 = b0[xw_3 + 22u];
  let xq_24 = b0[xw_3 + 23u];
  let d_3 = bitcast<f32>(b0[xd + b + 2u]);
  let s_5 = bitcast<f32>(b0[xs + b * 2u + 4u]);
  let s_6 = bitcast<f32>(b0[xs + b * 2u + 5u]);
  sum = fma(d_3, f32(dot4I8Packed(w_9 & 0xf0f0f0fu, xq_17) + dot4I8Packed(w_10 & 0xf0f0f0fu, xq_18) + dot4I8Packed(w_11 & 0xf0f0f0fu, xq_19) + dot4I8Packed(w_12 & 0xf0f0f0fu, xq_20) + dot4I8Packed((w_9 >> 4u) & 0xf0f0f0fu, xq_21) + dot4I8Packed((w_10 >> 4u) & 0xf0f0f0fu, xq_22) + dot4I8Packed((w_11 >> 4u) & 0xf0f0f0fu, xq_23) + dot4I8Packed((w_12 >> 4u) & 0xf0f0f0fu, xq_24)) * scale_3, sum);
  sum = fma(least_3, s_5 + s_6, sum);
  let xw_4 = x_2 + b * 8u;
  let xq_25 = b0[xw_4 + 24u];
  let xq_26 = b0[xw_4 + 25u];
  let xq_27 = b0[xw_4 + 26u];
  let xq_28 = b0[xw_4 + 27u];
  let xq_29 = b0[xw_4 + 28u];
  let xq_30 = b0[xw_4 + 29u];
  let xq_31 = b0[xw_4 + 30u];
  let xq_32 = b0[xw_4 + 31u];
  let d_4 = bitcast<f32>(b0[xd + b + 3u]);
  let s_7 = bitcast<f32>(b0[xs + b * 2u + 6u]);
  let s_8 = bitcast<f32>(b0[xs + b * 2u + 7u]);
  sum = fma(d_4, f32(dot4I8Packed(w_13 & 0xf0f0f0fu, xq_25) + dot4I8Packed(w_14 & 0xf0f0f0fu, xq_26) + dot4I8Packed(w_15 & 0xf0f0f0fu, xq_27) + dot4I8Packed(w_16 & 0xf0f0f0fu, xq_28) + dot4I8Packed((w_13 >> 4u) & 0xf0f0f0fu, xq_29) + dot4I8Packed((w_14 >> 4u) & 0xf0f0f0fu, xq_30) + dot4I8Packed((w_15 >> 4u) & 0xf0f0f0fu, xq_31) + dot4I8Packed((w_16 >> 4u) & 0xf0f0f0fu, xq_32)) * scale_4, sum);
  sum = fma(least_4, s_7 + s_8, sum);
  let to = share * 16u + own;
  pool[to] = bitcast<u32>(sum);
  let share_2 = lane / 16u;
  let own_2 = lane % 16u;
  let column_2 = first + own_2;
  // times q4_k[1536, 2048]
  let index_2 = min(b1[p1 + (i * 4u + i_2)], 63u);
  var sum_2 = 0.0f;
  let x_3 = i * 2048u;
  let x_4 = p0 + (x_3 / 4u);
  let xd_2 = p0 + (n0 / 4u) + (x_3 / 32u);
  let xs_2 = p0 + (n0 / 4u) + (n0 / 32u) + (x_3 / 16u);
  let tile_2 = p3 + ((index_2 * 1536u + column_2) / 16u) * 4736u;
  let lane_row_2 = (index_2 * 1536u + column_2) % 16u;
  let b_2 = share_2 * 4u;
  let at_5 = tile_2 + lane_row_2 + b_2 * 64u;
  let w_17 = b3[at_5];
  let w_18 = b3[at_5 + 16u];
  let w_19 = b3[at_5 + 32u];
  let w_20 = b3[at_5 + 48u];
  let scale_5 = unpack2x16float(b3[tile_2 + (((b_2 / 8u) * 32u + lane_row_2) / 2u) + 4096u] >> ((((b_2 / 8u) * 32u + lane_row_2) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2) % 4u) * 8u)) & 255u);
  let least_5 = -(unpack2x16float(b3[tile_2 + (((b_2 / 8u) * 32u + lane_row_2 + 16u) / 2u) + 4096u] >> ((((b_2 / 8u) * 32u + lane_row_2 + 16u) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 16u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 16u) % 4u) * 8u)) & 255u));
  let at_6 = tile_2 + lane_row_2 + b_2 * 64u;
  let w_21 = b3[at_6 + 64u];
  let w_22 = b3[at_6 + 80u];
  let w_23 = b3[at_6 + 96u];
  let w_24 = b3[at_6 + 112u];
  let scale_6 = unpack2x16float(b3[tile_2 + ((((b_2 + 1u) / 8u) * 32u + lane_row_2) / 2u) + 4096u] >> (((((b_2 + 1u) / 8u) * 32u + lane_row_2) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 32u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 32u) % 4u) * 8u)) & 255u);
  let least_6 = -(unpack2x16float(b3[tile_2 + ((((b_2 + 1u) / 8u) * 32u + lane_row_2 + 16u) / 2u) + 4096u] >> (((((b_2 + 1u) / 8u) * 32u + lane_row_2 + 16u) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 48u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 48u) % 4u) * 8u)) & 255u));
  let at_7 = tile_2 + lane_row_2 + b_2 * 64u;
  let w_25 = b3[at_7 + 128u];
  let w_26 = b3[at_7 + 144u];
  let w_27 = b3[at_7 + 160u];
  let w_28 = b3[at_7 + 176u];
  let scale_7 = unpack2x16float(b3[tile_2 + ((((b_2 + 2u) / 8u) * 32u + lane_row_2) / 2u) + 4096u] >> (((((b_2 + 2u) / 8u) * 32u + lane_row_2) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 64u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 64u) % 4u) * 8u)) & 255u);
  let least_7 = -(unpack2x16float(b3[tile_2 + ((((b_2 + 2u) / 8u) * 32u + lane_row_2 + 16u) / 2u) + 4096u] >> (((((b_2 + 2u) / 8u) * 32u + lane_row_2 + 16u) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 80u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 80u) % 4u) * 8u)) & 255u));
  let at_8 = tile_2 + lane_row_2 + b_2 * 64u;
  let w_29 = b3[at_8 + 192u];
  let w_30 = b3[at_8 + 208u];
  let w_31 = b3[at_8 + 224u];
  let w_32 = b3[at_8 + 240u];
  let scale_8 = unpack2x16float(b3[tile_2 + ((((b_2 + 3u) / 8u) * 32u + lane_row_2) / 2u) + 4096u] >> (((((b_2 + 3u) / 8u) * 32u + lane_row_2) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 96u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 96u) % 4u) * 8u)) & 255u);
  let least_8 = -(unpack2x16float(b3[tile_2 + ((((b_2 + 3u) / 8u) * 32u + lane_row_2 + 16u) / 2u) + 4096u] >> (((((b_2 + 3u) / 8u) * 32u + lane_row_2 + 16u) % 2u) * 16u)).x * f32((b3[tile_2 + ((b_2 * 32u + lane_row_2 + 112u) / 4u) + 4224u] >> (((b_2 * 32u + lane_row_2 + 112u) % 4u) * 8u)) & 255u));
  let xw_5 = x_4 + b_2 * 8u;
  let xq_33 = b0[xw_5];
  let xq_34 = b0[xw_5 + 1u];
  let xq_35 = b0[xw_5 + 2u];
  let xq_36 = b0[xw_5 + 3u];
  let xq_37 = b0[xw_5 + 4u];
  let xq_38 = b0[xw_5 + 5u];
  let xq_39 = b0[xw_5 + 6u];
  let xq_40 = b0[xw_5 + 7u];
  let d_5 = bitcast<f32>(b0[xd_2 + b_2]);
  let s_9 = bitcast<f32>(b0[xs_2 + b_2 * 2u]);
  let s_10 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 1u]);
  sum_2 = fma(d_5, f32(dot4I8Packed(w_17 & 0xf0f0f0fu, xq_33) + dot4I8Packed(w_18 & 0xf0f0f0fu, xq_34) + dot4I8Packed(w_19 & 0xf0f0f0fu, xq_35) + dot4I8Packed(w_20 & 0xf0f0f0fu, xq_36) + dot4I8Packed((w_17 >> 4u) & 0xf0f0f0fu, xq_37) + dot4I8Packed((w_18 >> 4u) & 0xf0f0f0fu, xq_38) + dot4I8Packed((w_19 >> 4u) & 0xf0f0f0fu, xq_39) + dot4I8Packed((w_20 >> 4u) & 0xf0f0f0fu, xq_40)) * scale_5, sum_2);
  sum_2 = fma(least_5, s_9 + s_10, sum_2);
  let xw_6 = x_4 + b_2 * 8u;
  let xq_41 = b0[xw_6 + 8u];
  let xq_42 = b0[xw_6 + 9u];
  let xq_43 = b0[xw_6 + 10u];
  let xq_44 = b0[xw_6 + 11u];
  let xq_45 = b0[xw_6 + 12u];
  let xq_46 = b0[xw_6 + 13u];
  let xq_47 = b0[xw_6 + 14u];
  let xq_48 = b0[xw_6 + 15u];
  let d_6 = bitcast<f32>(b0[xd_2 + b_2 + 1u]);
  let s_11 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 2u]);
  let s_12 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 3u]);
  sum_2 = fma(d_6, f32(dot4I8Packed(w_21 & 0xf0f0f0fu, xq_41) + dot4I8Packed(w_22 & 0xf0f0f0fu, xq_42) + dot4I8Packed(w_23 & 0xf0f0f0fu, xq_43) + dot4I8Packed(w_24 & 0xf0f0f0fu, xq_44) + dot4I8Packed((w_21 >> 4u) & 0xf0f0f0fu, xq_45) + dot4I8Packed((w_22 >> 4u) & 0xf0f0f0fu, xq_46) + dot4I8Packed((w_23 >> 4u) & 0xf0f0f0fu, xq_47) + dot4I8Packed((w_24 >> 4u) & 0xf0f0f0fu, xq_48)) * scale_6, sum_2);
  sum_2 = fma(least_6, s_11 + s_12, sum_2);
  let xw_7 = x_4 + b_2 * 8u;
  let xq_49 = b0[xw_7 + 16u];
  let xq_50 = b0[xw_7 + 17u];
  let xq_51 = b0[xw_7 + 18u];
  let xq_52 = b0[xw_7 + 19u];
  let xq_53 = b0[xw_7 + 20u];
  let xq_54 = b0[xw_7 + 21u];
  let xq_55 = b0[xw_7 + 22u];
  let xq_56 = b0[xw_7 + 23u];
  let d_7 = bitcast<f32>(b0[xd_2 + b_2 + 2u]);
  let s_13 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 4u]);
  let s_14 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 5u]);
  sum_2 = fma(d_7, f32(dot4I8Packed(w_25 & 0xf0f0f0fu, xq_49) + dot4I8Packed(w_26 & 0xf0f0f0fu, xq_50) + dot4I8Packed(w_27 & 0xf0f0f0fu, xq_51) + dot4I8Packed(w_28 & 0xf0f0f0fu, xq_52) + dot4I8Packed((w_25 >> 4u) & 0xf0f0f0fu, xq_53) + dot4I8Packed((w_26 >> 4u) & 0xf0f0f0fu, xq_54) + dot4I8Packed((w_27 >> 4u) & 0xf0f0f0fu, xq_55) + dot4I8Packed((w_28 >> 4u) & 0xf0f0f0fu, xq_56)) * scale_7, sum_2);
  sum_2 = fma(least_7, s_13 + s_14, sum_2);
  let xw_8 = x_4 + b_2 * 8u;
  let xq_57 = b0[xw_8 + 24u];
  let xq_58 = b0[xw_8 + 25u];
  let xq_59 = b0[xw_8 + 26u];
  let xq_60 = b0[xw_8 + 27u];
  let xq_61 = b0[xw_8 + 28u];
  let xq_62 = b0[xw_8 + 29u];
  let xq_63 = b0[xw_8 + 30u];
  let xq_64 = b0[xw_8 + 31u];
  let d_8 = bitcast<f32>(b0[xd_2 + b_2 + 3u]);
  let s_15 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 6u]);
  let s_16 = bitcast<f32>(b0[xs_2 + b_2 * 2u + 7u]);
  sum_2 = fma(d_8, f32(dot4I8Packed(w_29 & 0xf0f0f0fu, xq_57) + dot4I8Packed(w_30 & 0xf0f0f0fu, xq_58) + dot4I8Packed(w_31 & 0xf0f0f0fu, xq_59) + dot4I8Packed(w_32 & 0xf0f0f0fu, xq_60) + dot4I8Packed((w_29 >> 4u) & 0xf0f0f0fu, xq_61) + dot4I8Packed((w_30 >> 4u) & 0xf0f0f0fu, xq_62) + dot4I8Packed((w_31 >> 4u) & 0xf0f0f0fu, xq_63) + dot4I8Packed((w_32 >> 4u) & 0xf0f0f0fu, xq_64)) * scale_8, sum_2);
  sum_2 = fma(least_8, s_15 + s_16, sum_2);
  let to_2 = share_2 * 16u + own_2 + 256u;
  pool[to_2] = bitcast<u32>(sum_2);
  workgroupBarrier();
  if (lane < 16u) {
    let own_3 = lane % 16u;
    var total = bitcast<f32>(pool[lane]);
    for (var l = 1u; l < 16u; l += 1u) {
      total = total + bitcast<f32>(pool[lane + l * 16u]);
    }
    pool[(lane / 16u) * 16u + own_3] = bitcast<u32>(total);
    var total_2 = bitcast<f32>(pool[lane + 256u]);
    for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
      total_2 = total_2 + bitcast<f32>(pool[lane + l_2 * 16u + 256u]);
    }
    pool[(lane / 16u) * 16u + own_3 + 256u] = bitcast<u32>(total_2);
  }
  workgroupBarrier();
  if (lane < 16u) {
    let i_3 = rows_at / 4u;
    let i_4 = (rows_at % 4u) % 4u;
    let column_3 = first + lane;
    let v = bitcast<f32>(pool[lane]);
    let v_2 = bitcast<f32>(bitcast<u32>(v * sigmoid(v)) ^ hidden_zero);
    let v_3 = bitcast<f32>(pool[lane + 256u]);
    let v_4 = bitcast<f32>(bitcast<u32>(v_2 * v_3) ^ hidden_zero);
    b4[p4 + (i_3 * 6144u + i_4 * 1536u + column_3)] = bitcast<u32>(v_4);
  }
}

