test wgsl T=1
# Each workgroup computes the norm for itself, rounds it, and multiplies some rows of the weight by it.
graph rms_norm_into_dot {
  %0 = input x : f32[T, 2048]
  %1 = weight norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  %11 = weight q : q4_0[1536, 2048]
  %12 = dot %10 %11 : f32[T, 1536]
  output y = %12
}
---
// dot_1536x2048_q4_0: lanes 256; dot.lanes rows 1 width 16 reduce 16 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
var<workgroup> pool: array<u32, 5064>;

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
  let hidden_zero = group.z;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  // part 0: dot [T] × 1536; dot.lanes rows 1 width 16 reduce 16 upcast 1
  let own_group = group.x;
  let first = own_group * 16u;
  // what is multiplied
  for (var time = 0u; time < 8u; time += 1u) {
    let c = time * 256u + lane;
    let v = bitcast<f32>(b0[p0 + c]);
    let v_2 = bitcast<f32>(b1[p1 + c]);
    pool[c + 704u] = bitcast<u32>(v);
    pool[c + 2752u] = bitcast<u32>(v_2);
  }
  workgroupBarrier();
  var total = 0.0f;
  for (var time_2 = 0u; time_2 < 8u; time_2 += 1u) {
    let c_2 = time_2 * 256u + lane;
    let v_3 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[c_2 + 704u]) * bitcast<f32>(pool[c_2 + 704u])) ^ hidden_zero);
    total = total + v_3;
  }
  let other = subgroupShuffleXor(total, 1u);
  let both = total + other;
  let other_2 = subgroupShuffleXor(both, 2u);
  let both_2 = both + other_2;
  let other_3 = subgroupShuffleXor(both_2, 4u);
  let both_3 = both_2 + other_3;
  let other_4 = subgroupShuffleXor(both_3, 8u);
  let both_4 = both_3 + other_4;
  let other_5 = subgroupShuffleXor(both_4, 16u);
  let both_5 = both_4 + other_5;
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 4800u] = bitcast<u32>(both_5);
  }
  workgroupBarrier();
  var total_2 = bitcast<f32>(pool[4800u]);
  for (var l = 1u; l < 8u; l += 1u) {
    total_2 = total_2 + bitcast<f32>(pool[l + 4800u]);
  }
  let v_4 = total_2 / 2048.0f;
  let v_5 = v_4 + 1e-5f;
  let v_6 = inverseSqrt(v_5);
  for (var time_3 = 0u; time_3 < 2u; time_3 += 1u) {
    let word = time_3 * 256u + lane;
    let v_7 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 704u]) * v_6) ^ hidden_zero);
    let v_8 = bitcast<f32>(bitcast<u32>(v_7 * bitcast<f32>(pool[word * 4u + 2752u])) ^ hidden_zero);
    let v_9 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 705u]) * v_6) ^ hidden_zero);
    let v_10 = bitcast<f32>(bitcast<u32>(v_9 * bitcast<f32>(pool[word * 4u + 2753u])) ^ hidden_zero);
    let v_11 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 706u]) * v_6) ^ hidden_zero);
    let v_12 = bitcast<f32>(bitcast<u32>(v_11 * bitcast<f32>(pool[word * 4u + 2754u])) ^ hidden_zero);
    let v_13 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 707u]) * v_6) ^ hidden_zero);
    let v_14 = bitcast<f32>(bitcast<u32>(v_13 * bitcast<f32>(pool[word * 4u + 2755u])) ^ hidden_zero);
    let mine = max(max(max(bitcast<u32>(v_8) & 0x7fffffffu, bitcast<u32>(v_10) & 0x7fffffffu), bitcast<u32>(v_12) & 0x7fffffffu), bitcast<u32>(v_14) & 0x7fffffffu);
    let other_6 = subgroupShuffleXor(mine, 1u);
    let both_6 = max(mine, other_6);
    let other_7 = subgroupShuffleXor(both_6, 2u);
    let both_7 = max(both_6, other_7);
    let other_8 = subgroupShuffleXor(both_7, 4u);
    let both_8 = max(both_7, other_8);
    let largest = bitcast<f32>(both_8);
    let factor = largest * 0.007874016f;
    let scale = select(0x7fc00000u, bitcast<u32>(factor), both_8 < 0x7f800000u);
    let inverse = select(0.0f, reciprocal(factor), largest > 1.5046328e-36f && both_8 < 0x7f800000u);
    let packed = (bitcast<u32>(i32(min(max(round(v_8 * inverse), -127.0f), 127.0f))) & 255u) | ((bitcast<u32>(i32(min(max(round(v_10 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | ((bitcast<u32>(i32(min(max(round(v_12 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | ((bitcast<u32>(i32(min(max(round(v_14 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    let mine_2 = dot4I8Packed(packed, 0x1010101u);
    let other_9 = subgroupShuffleXor(mine_2, 1u);
    let both_9 = mine_2 + other_9;
    let other_10 = subgroupShuffleXor(both_9, 2u);
    let both_10 = both_9 + other_10;
    pool[word] = packed;
    if ((word % 4u) == 0u) {
      pool[(word / 4u) + 576u] = bitcast<u32>(f32(both_10) * bitcast<f32>(scale));
    }
    if ((word % 8u) == 0u) {
      pool[(word / 8u) + 512u] = scale;
    }
  }
  workgroupBarrier();
  let share = lane / 16u;
  let own = lane % 16u;
  let column = first + own;
  // times q4_0[1536, 2048]
  var sum = 0.0f;
  let tile = p2 + (column / 16u) * 4608u;
  let lane_row = column % 16u;
  let b = share * 4u;
  let at = tile + lane_row + b * 64u;
  let w = b2[at];
  let w_2 = b2[at + 16u];
  let w_3 = b2[at + 32u];
  let w_4 = b2[at + 48u];
  let scale_2 = unpack2x16float(b2[tile + ((b * 16u + lane_row) / 2u) + 4096u] >> (((b * 16u + lane_row) % 2u) * 16u)).x;
  let at_2 = tile + lane_row + b * 64u;
  let w_5 = b2[at_2 + 64u];
  let w_6 = b2[at_2 + 80u];
  let w_7 = b2[at_2 + 96u];
  let w_8 = b2[at_2 + 112u];
  let scale_3 = unpack2x16float(b2[tile + ((b * 16u + lane_row + 16u) / 2u) + 4096u] >> (((b * 16u + lane_row + 16u) % 2u) * 16u)).x;
  let at_3 = tile + lane_row + b * 64u;
  let w_9 = b2[at_3 + 128u];
  let w_10 = b2[at_3 + 144u];
  let w_11 = b2[at_3 + 160u];
  let w_12 = b2[at_3 + 176u];
  let scale_4 = unpack2x16float(b2[tile + ((b * 16u + lane_row + 32u) / 2u) + 4096u] >> (((b * 16u + lane_row + 32u) % 2u) * 16u)).x;
  let at_4 = tile + lane_row + b * 64u;
  let w_13 = b2[at_4 + 192u];
  let w_14 = b2[at_4 + 208u];
  let w_15 = b2[at_4 + 224u];
  let w_16 = b2[at_4 + 240u];
  let scale_5 = unpack2x16float(b2[tile + ((b * 16u + lane_row + 48u) / 2u) + 4096u] >> (((b * 16u + lane_row + 48u) % 2u) * 16u)).x;
  let xw = b * 8u;
  let xq = pool[xw];
  let xq_2 = pool[xw + 1u];
  let xq_3 = pool[xw + 2u];
  let xq_4 = pool[xw + 3u];
  let xq_5 = pool[xw + 4u];
  let xq_6 = pool[xw + 5u];
  let xq_7 = pool[xw + 6u];
  let xq_8 = pool[xw + 7u];
  let d = bitcast<f32>(pool[b + 512u]);
  sum = fma(d, f32(dot4I8Packed((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq) + dot4I8Packed((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_2) + dot4I8Packed((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_3) + dot4I8Packed((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_4) + dot4I8Packed(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_5) + dot4I8Packed(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_6) + dot4I8Packed(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_7) + dot4I8Packed(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_8)) * scale_2, sum);
  let xw_2 = b * 8u;
  let xq_9 = pool[xw_2 + 8u];
  let xq_10 = pool[xw_2 + 9u];
  let xq_11 = pool[xw_2 + 10u];
  let xq_12 = pool[xw_2 + 11u];
  let xq_13 = pool[xw_2 + 12u];
  let xq_14 = pool[xw_2 + 13u];
  let xq_15 = pool[xw_2 + 14u];
  let xq_16 = pool[xw_2 + 15u];
  let d_2 = bitcast<f32>(pool[b + 513u]);
  sum = fma(d_2, f32(dot4I8Packed((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_9) + dot4I8Packed((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_10) + dot4I8Packed((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_11) + dot4I8Packed((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_12) + dot4I8Packed(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_13) + dot4I8Packed(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_14) + dot4I8Packed(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_15) + dot4I8Packed(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_16)) * scale_3, sum);
  let xw_3 = b * 8u;
  let xq_17 = pool[xw_3 + 16u];
  let xq_18 = pool[xw_3 + 17u];
  let xq_19 = pool[xw_3 + 18u];
  let xq_20 = pool[xw_3 + 19u];
  let xq_21 = pool[xw_3 + 20u];
  let xq_22 = pool[xw_3 + 21u];
  let xq_23 = pool[xw_3 + 22u];
  let xq_24 = pool[xw_3 + 23u];
  let d_3 = bitcast<f32>(pool[b + 514u]);
  sum = fma(d_3, f32(dot4I8Packed((((w_9 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_17) + dot4I8Packed((((w_10 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_18) + dot4I8Packed((((w_11 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_19) + dot4I8Packed((((w_12 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_20) + dot4I8Packed(((((w_9 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_21) + dot4I8Packed(((((w_10 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_22) + dot4I8Packed(((((w_11 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_23) + dot4I8Packed(((((w_12 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_24)) * scale_4, sum);
  let xw_4 = b * 8u;
  let xq_25 = pool[xw_4 + 24u];
  let xq_26 = pool[xw_4 + 25u];
  let xq_27 = pool[xw_4 + 26u];
  let xq_28 = pool[xw_4 + 27u];
  let xq_29 = pool[xw_4 + 28u];
  let xq_30 = pool[xw_4 + 29u];
  let xq_31 = pool[xw_4 + 30u];
  let xq_32 = pool[xw_4 + 31u];
  let d_4 = bitcast<f32>(pool[b + 515u]);
  sum = fma(d_4, f32(dot4I8Packed((((w_13 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_25) + dot4I8Packed((((w_14 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_26) + dot4I8Packed((((w_15 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_27) + dot4I8Packed((((w_16 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_28) + dot4I8Packed(((((w_13 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_29) + dot4I8Packed(((((w_14 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_30) + dot4I8Packed(((((w_15 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_31) + dot4I8Packed(((((w_16 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_32)) * scale_5, sum);
  let to = share * 16u + own + 4808u;
  pool[to] = bitcast<u32>(sum);
  workgroupBarrier();
  if (lane < 16u) {
    let own_2 = lane % 16u;
    var total_3 = bitcast<f32>(pool[lane + 4808u]);
    for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
      total_3 = total_3 + bitcast<f32>(pool[lane + l_2 * 16u + 4808u]);
    }
    pool[(lane / 16u) * 16u + own_2 + 4808u] = bitcast<u32>(total_3);
  }
  workgroupBarrier();
  if (lane < 16u) {
    let column_2 = first + lane;
    let v_15 = bitcast<f32>(pool[lane + 4808u]);
    b3[p3 + column_2] = bitcast<u32>(v_15);
  }
}

