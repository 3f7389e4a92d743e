test large T=1
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
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
var<workgroup> pool: array<u32, 968>;

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
  let top_bits = group.z ^ 0x80808080u;
  // part 0: dot [T] × 1536; dot.lanes rows 1 width 16 reduce 16 upcast 1
  let own_group = group.x;
  let first = own_group * 16u;
  let item = min(lane, 15u);
  let column = first + item;
  let word = lane + 256u;
  // what is multiplied
  let x = b0[(p0 + lane * 4u) / 4u];
  let x_2 = b0[(p0 + word * 4u) / 4u];
  let x_3 = b1[(p1 + lane * 4u) / 4u];
  let x_4 = b1[(p1 + word * 4u) / 4u];
  var total = 0.0f;
  let v = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.x) * bitcast<f32>(x.x)) ^ hidden_zero);
  total = total + v;
  let v_2 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.y) * bitcast<f32>(x.y)) ^ hidden_zero);
  total = total + v_2;
  let v_3 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.z) * bitcast<f32>(x.z)) ^ hidden_zero);
  total = total + v_3;
  let v_4 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.w) * bitcast<f32>(x.w)) ^ hidden_zero);
  total = total + v_4;
  let v_5 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.x) * bitcast<f32>(x_2.x)) ^ hidden_zero);
  total = total + v_5;
  let v_6 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.y) * bitcast<f32>(x_2.y)) ^ hidden_zero);
  total = total + v_6;
  let v_7 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.z) * bitcast<f32>(x_2.z)) ^ hidden_zero);
  total = total + v_7;
  let v_8 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.w) * bitcast<f32>(x_2.w)) ^ hidden_zero);
  total = total + v_8;
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
    pool[(lane / 32u) + 704u] = bitcast<u32>(both_5);
  }
  workgroupBarrier();
  var total_2 = bitcast<f32>(pool[704u]);
  for (var l = 1u; l < 8u; l += 1u) {
    total_2 = total_2 + bitcast<f32>(pool[l + 704u]);
  }
  let v_9 = total_2 / 2048.0f;
  let v_10 = v_9 + 1e-5f;
  let v_11 = inverseSqrt(v_10);
  let v_12 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.x) * v_11) ^ hidden_zero);
  let v_13 = bitcast<f32>(bitcast<u32>(v_12 * bitcast<f32>(x_3.x)) ^ hidden_zero);
  let v_14 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.y) * v_11) ^ hidden_zero);
  let v_15 = bitcast<f32>(bitcast<u32>(v_14 * bitcast<f32>(x_3.y)) ^ hidden_zero);
  let v_16 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.z) * v_11) ^ hidden_zero);
  let v_17 = bitcast<f32>(bitcast<u32>(v_16 * bitcast<f32>(x_3.z)) ^ hidden_zero);
  let v_18 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x.w) * v_11) ^ hidden_zero);
  let v_19 = bitcast<f32>(bitcast<u32>(v_18 * bitcast<f32>(x_3.w)) ^ hidden_zero);
  let v_20 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.x) * v_11) ^ hidden_zero);
  let v_21 = bitcast<f32>(bitcast<u32>(v_20 * bitcast<f32>(x_4.x)) ^ hidden_zero);
  let v_22 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.y) * v_11) ^ hidden_zero);
  let v_23 = bitcast<f32>(bitcast<u32>(v_22 * bitcast<f32>(x_4.y)) ^ hidden_zero);
  let v_24 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.z) * v_11) ^ hidden_zero);
  let v_25 = bitcast<f32>(bitcast<u32>(v_24 * bitcast<f32>(x_4.z)) ^ hidden_zero);
  let v_26 = bitcast<f32>(bitcast<u32>(bitcast<f32>(x_2.w) * v_11) ^ hidden_zero);
  let v_27 = bitcast<f32>(bitcast<u32>(v_26 * bitcast<f32>(x_4.w)) ^ hidden_zero);
  let mine = max(max(max(bitcast<u32>(v_13) & 0x7fffffffu, bitcast<u32>(v_15) & 0x7fffffffu), bitcast<u32>(v_17) & 0x7fffffffu), bitcast<u32>(v_19) & 0x7fffffffu);
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
  let packed = (bitcast<u32>(i32(min(max(round(v_13 * inverse), -127.0f), 127.0f))) & 255u) | ((bitcast<u32>(i32(min(max(round(v_15 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | ((bitcast<u32>(i32(min(max(round(v_17 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | ((bitcast<u32>(i32(min(max(round(v_19 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  pool[lane] = packed;
  if ((lane % 8u) == 0u) {
    pool[(lane / 8u) + 512u] = scale;
  }
  let mine_2 = max(max(max(bitcast<u32>(v_21) & 0x7fffffffu, bitcast<u32>(v_23) & 0x7fffffffu), bitcast<u32>(v_25) & 0x7fffffffu), bitcast<u32>(v_27) & 0x7fffffffu);
  let other_9 = subgroupShuffleXor(mine_2, 1u);
  let both_9 = max(mine_2, other_9);
  let other_10 = subgroupShuffleXor(both_9, 2u);
  let both_10 = max(both_9, other_10);
  let other_11 = subgroupShuffleXor(both_10, 4u);
  let both_11 = max(both_10, other_11);
  let largest_2 = bitcast<f32>(both_11);
  let factor_2 = largest_2 * 0.007874016f;
  let scale_2 = select(0x7fc00000u, bitcast<u32>(factor_2), both_11 < 0x7f800000u);
  let inverse_2 = select(0.0f, reciprocal(factor_2), largest_2 > 1.5046328e-36f && both_11 < 0x7f800000u);
  let packed_2 = (bitcast<u32>(i32(min(max(round(v_21 * inverse_2), -127.0f), 127.0f))) & 255u) | ((bitcast<u32>(i32(min(max(round(v_23 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | ((bitcast<u32>(i32(min(max(round(v_25 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | ((bitcast<u32>(i32(min(max(round(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
  pool[word] = packed_2;
  if ((word % 8u) == 0u) {
    pool[(word / 8u) + 512u] = scale_2;
  }
  workgroupBarrier();
  let share = lane / 16u;
  let own = lane % 16u;
  let column_2 = first + own;
  // times q4_0[1536, 2048]
  var sum = 0.0f;
  let tile = p2 + (column_2 / 16u) * 4608u;
  let lane_row = column_2 % 16u;
  let b = share * 4u;
  let at = tile + lane_row + b * 64u;
  let w = b2[at];
  let w_2 = b2[at + 16u];
  let w_3 = b2[at + 32u];
  let w_4 = b2[at + 48u];
  let word_2 = b2[tile + (b * 8u + (lane_row / 2u)) + 4096u];
  let at_2 = tile + lane_row + b * 64u;
  let w_5 = b2[at_2 + 64u];
  let w_6 = b2[at_2 + 80u];
  let w_7 = b2[at_2 + 96u];
  let w_8 = b2[at_2 + 112u];
  let word_3 = b2[tile + (b * 8u + (lane_row / 2u)) + 4104u];
  let at_3 = tile + lane_row + b * 64u;
  let w_9 = b2[at_3 + 128u];
  let w_10 = b2[at_3 + 144u];
  let w_11 = b2[at_3 + 160u];
  let w_12 = b2[at_3 + 176u];
  let word_4 = b2[tile + (b * 8u + (lane_row / 2u)) + 4112u];
  let at_4 = tile + lane_row + b * 64u;
  let w_13 = b2[at_4 + 192u];
  let w_14 = b2[at_4 + 208u];
  let w_15 = b2[at_4 + 224u];
  let w_16 = b2[at_4 + 240u];
  let word_5 = b2[tile + (b * 8u + (lane_row / 2u)) + 4120u];
  let xw = b * 8u;
  let xq = vec4<u32>(pool[xw], pool[xw + 1u], pool[xw + 2u], pool[xw + 3u]);
  let xq_2 = vec4<u32>(pool[xw + 4u], pool[xw + 5u], pool[xw + 6u], pool[xw + 7u]);
  let d = bitcast<f32>(pool[b + 512u]) * 0.0625f;
  sum = fma(d, f32(dot4I8Packed(((w << 4u) & 0xf0f0f0f0u) ^ top_bits, xq.x) + dot4I8Packed(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq.y) + dot4I8Packed(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq.z) + dot4I8Packed(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq.w) + dot4I8Packed((w & 0xf0f0f0f0u) ^ top_bits, xq_2.x) + dot4I8Packed((w_2 & 0xf0f0f0f0u) ^ top_bits, xq_2.y) + dot4I8Packed((w_3 & 0xf0f0f0f0u) ^ top_bits, xq_2.z) + dot4I8Packed((w_4 & 0xf0f0f0f0u) ^ top_bits, xq_2.w)) * unpack2x16float(word_2 >> ((lane_row % 2u) * 16u)).x, sum);
  let xw_2 = b * 8u;
  let xq_3 = vec4<u32>(pool[xw_2 + 8u], pool[xw_2 + 9u], pool[xw_2 + 10u], pool[xw_2 + 11u]);
  let xq_4 = vec4<u32>(pool[xw_2 + 12u], pool[xw_2 + 13u], pool[xw_2 + 14u], pool[xw_2 + 15u]);
  let d_2 = bitcast<f32>(pool[b + 513u]) * 0.0625f;
  sum = fma(d_2, f32(dot4I8Packed(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_3.x) + dot4I8Packed(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_3.y) + dot4I8Packed(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_3.z) + dot4I8Packed(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_3.w) + dot4I8Packed((w_5 & 0xf0f0f0f0u) ^ top_bits, xq_4.x) + dot4I8Packed((w_6 & 0xf0f0f0f0u) ^ top_bits, xq_4.y) + dot4I8Packed((w_7 & 0xf0f0f0f0u) ^ top_bits, xq_4.z) + dot4I8Packed((w_8 & 0xf0f0f0f0u) ^ top_bits, xq_4.w)) * unpack2x16float(word_3 >> ((lane_row % 2u) * 16u)).x, sum);
  let xw_3 = b * 8u;
  let xq_5 = vec4<u32>(pool[xw_3 + 16u], pool[xw_3 + 17u], pool[xw_3 + 18u], pool[xw_3 + 19u]);
  let xq_6 = vec4<u32>(pool[xw_3 + 20u], pool[xw_3 + 21u], pool[xw_3 + 22u], pool[xw_3 + 23u]);
  let d_3 = bitcast<f32>(pool[b + 514u]) * 0.0625f;
  sum = fma(d_3, f32(dot4I8Packed(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_5.x) + dot4I8Packed(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_5.y) + dot4I8Packed(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_5.z) + dot4I8Packed(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_5.w) + dot4I8Packed((w_9 & 0xf0f0f0f0u) ^ top_bits, xq_6.x) + dot4I8Packed((w_10 & 0xf0f0f0f0u) ^ top_bits, xq_6.y) + dot4I8Packed((w_11 & 0xf0f0f0f0u) ^ top_bits, xq_6.z) + dot4I8Packed((w_12 & 0xf0f0f0f0u) ^ top_bits, xq_6.w)) * unpack2x16float(word_4 >> ((lane_row % 2u) * 16u)).x, sum);
  let xw_4 = b * 8u;
  let xq_7 = vec4<u32>(pool[xw_4 + 24u], pool[xw_4 + 25u], pool[xw_4 + 26u], pool[xw_4 + 27u]);
  let xq_8 = vec4<u32>(pool[xw_4 + 28u], pool[xw_4 + 29u], pool[xw_4 + 30u], pool[xw_4 + 31u]);
  let d_4 = bitcast<f32>(pool[b + 515u]) * 0.0625f;
  sum = fma(d_4, f32(dot4I8Packed(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_7.x) + dot4I8Packed(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_7.y) + dot4I8Packed(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_7.z) + dot4I8Packed(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits, xq_7.w) + dot4I8Packed((w_13 & 0xf0f0f0f0u) ^ top_bits, xq_8.x) + dot4I8Packed((w_14 & 0xf0f0f0f0u) ^ top_bits, xq_8.y) + dot4I8Packed((w_15 & 0xf0f0f0f0u) ^ top_bits, xq_8.z) + dot4I8Packed((w_16 & 0xf0f0f0f0u) ^ top_bits, xq_8.w)) * unpack2x16float(word_5 >> ((lane_row % 2u) * 16u)).x, sum);
  let to = share * 16u + own + 712u;
  pool[to] = bitcast<u32>(sum);
  workgroupBarrier();
  var result = 0.0f;
  if (lane < 16u) {
    var total_3 = bitcast<f32>(pool[lane + 712u]);
    for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
      total_3 = total_3 + bitcast<f32>(pool[lane + l_2 * 16u + 712u]);
    }
    result = total_3;
  }
  if (lane < 32u) {
    if (lane < 16u) {
      b3[p3 + column] = bitcast<u32>(result);
    }
  }
}

