test apple T=1
# On Apple's GPUs subgroups have 32 lanes, and dot products of bytes are floats throughout.
graph apple {
  %0 = input x : f32[T, 256]
  %1 = weight norm : f32[256]
  %2 = mul %0 %0 : f32[T, 256]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 256.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 256]
  %10 = mul %9 %1 : f32[T, 256]
  %11 = weight q : q4_0[1536, 256]
  %12 = dot %10 %11 : f32[T, 1536]
  output y = %12
}
---
// dot_1536x256_q4_0: lanes 256; dot.lanes rows 1 width 32 reduce 8 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
var<workgroup> pool: array<u32, 864>;

fn dot4(a: u32, b: u32) -> f32 {
  return dot(vec4<f32>(unpack4xI8(a)), vec4<f32>(unpack4xI8(b)));
}

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
  // part 0: dot [T] × 1536; dot.lanes rows 1 width 32 reduce 8 upcast 1
  let own_group = group.x;
  let first = own_group * 32u;
  // what is multiplied
  let v = bitcast<f32>(b0[p0 + lane]);
  let v_2 = bitcast<f32>(b1[p1 + lane]);
  pool[lane + 88u] = bitcast<u32>(v);
  pool[lane + 344u] = bitcast<u32>(v_2);
  workgroupBarrier();
  var total = 0.0f;
  let v_3 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[lane + 88u]) * bitcast<f32>(pool[lane + 88u])) ^ hidden_zero);
  total = total + v_3;
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
    pool[(lane / 32u) + 600u] = bitcast<u32>(both_5);
  }
  workgroupBarrier();
  var total_2 = bitcast<f32>(pool[600u]);
  for (var l = 1u; l < 8u; l += 1u) {
    total_2 = total_2 + bitcast<f32>(pool[l + 600u]);
  }
  let v_4 = total_2 / 256.0f;
  let v_5 = v_4 + 1e-5f;
  let v_6 = inverseSqrt(v_5);
  let word = min(lane, 63u);
  let v_7 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 88u]) * v_6) ^ hidden_zero);
  let v_8 = bitcast<f32>(bitcast<u32>(v_7 * bitcast<f32>(pool[word * 4u + 344u])) ^ hidden_zero);
  let v_9 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 89u]) * v_6) ^ hidden_zero);
  let v_10 = bitcast<f32>(bitcast<u32>(v_9 * bitcast<f32>(pool[word * 4u + 345u])) ^ hidden_zero);
  let v_11 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 90u]) * v_6) ^ hidden_zero);
  let v_12 = bitcast<f32>(bitcast<u32>(v_11 * bitcast<f32>(pool[word * 4u + 346u])) ^ hidden_zero);
  let v_13 = bitcast<f32>(bitcast<u32>(bitcast<f32>(pool[word * 4u + 91u]) * v_6) ^ hidden_zero);
  let v_14 = bitcast<f32>(bitcast<u32>(v_13 * bitcast<f32>(pool[word * 4u + 347u])) ^ hidden_zero);
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
  let mine_2 = dot4(packed, 0x1010101u);
  let other_9 = subgroupShuffleXor(mine_2, 1u);
  let both_9 = mine_2 + other_9;
  let other_10 = subgroupShuffleXor(both_9, 2u);
  let both_10 = both_9 + other_10;
  if (lane < 64u) {
    pool[lane] = packed;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 72u] = bitcast<u32>(both_10 * bitcast<f32>(scale));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 64u] = scale;
    }
  }
  workgroupBarrier();
  let share = lane / 32u;
  let own = lane % 32u;
  let column = first + own;
  // times q4_0[1536, 256]
  var sum = 0.0f;
  let tile = p2 + (column / 16u) * 576u;
  let lane_row = column % 16u;
  let at = tile + lane_row + share * 64u;
  let w = b2[at];
  let w_2 = b2[at + 16u];
  let w_3 = b2[at + 32u];
  let w_4 = b2[at + 48u];
  let scale_2 = unpack2x16float(b2[tile + ((share * 16u + lane_row) / 2u) + 512u] >> (((share * 16u + lane_row) % 2u) * 16u)).x;
  let xw = share * 8u;
  let xq = pool[xw];
  let xq_2 = pool[xw + 1u];
  let xq_3 = pool[xw + 2u];
  let xq_4 = pool[xw + 3u];
  let xq_5 = pool[xw + 4u];
  let xq_6 = pool[xw + 5u];
  let xq_7 = pool[xw + 6u];
  let xq_8 = pool[xw + 7u];
  let d = bitcast<f32>(pool[share + 64u]);
  sum = fma(d, (dot4((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq) + dot4((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_2) + dot4((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_3) + dot4((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_4) + dot4(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_5) + dot4(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_6) + dot4(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_7) + dot4(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u, xq_8)) * scale_2, sum);
  let to = share * 32u + own + 608u;
  pool[to] = bitcast<u32>(sum);
  workgroupBarrier();
  if (lane < 32u) {
    let own_2 = lane % 32u;
    var total_3 = bitcast<f32>(pool[lane + 608u]);
    for (var l_2 = 1u; l_2 < 8u; l_2 += 1u) {
      total_3 = total_3 + bitcast<f32>(pool[lane + l_2 * 32u + 608u]);
    }
    pool[(lane / 32u) * 32u + own_2 + 608u] = bitcast<u32>(total_3);
  }
  workgroupBarrier();
  if (lane < 32u) {
    let column_2 = first + lane;
    let v_15 = bitcast<f32>(pool[lane + 608u]);
    b3[p3 + column_2] = bitcast<u32>(v_15);
  }
}

