test cooperative T=512
# Products of a prompt by cooperative matrices of bytes: a warp has matrices side by side, whose exact sums are scaled value by value.
graph cooperative_products {
  %0 = input x : f32[T, 128]
  %1 = weight w : q4_0[256, 128]
  %2 = dot %0 %1 : f32[T, 256]
  output y = %2
}
---
// map_128: lanes 256; plain rows 2 width 128
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
  // part 0: map [T] × 128; plain rows 2 width 128
  let own_group = group.x;
  let word = min(lane, 63u);
  let r = (word * 4u) / 128u;
  let own = (word * 4u) % 128u;
  let row = own_group * 2u + r;
  let i = min(row, sizes.x - 1u);
  let at = i * 128u + own;
  let v = bitcast<f32>(b0[p0 + at]);
  let r_2 = (word * 4u + 1u) / 128u;
  let own_2 = (word * 4u + 1u) % 128u;
  let row_2 = own_group * 2u + r_2;
  let i_2 = min(row_2, sizes.x - 1u);
  let at_2 = i_2 * 128u + own_2;
  let v_2 = bitcast<f32>(b0[p0 + at_2]);
  let r_3 = (word * 4u + 2u) / 128u;
  let own_3 = (word * 4u + 2u) % 128u;
  let row_3 = own_group * 2u + r_3;
  let i_3 = min(row_3, sizes.x - 1u);
  let at_3 = i_3 * 128u + own_3;
  let v_3 = bitcast<f32>(b0[p0 + at_3]);
  let r_4 = (word * 4u + 3u) / 128u;
  let own_4 = (word * 4u + 3u) % 128u;
  let row_4 = own_group * 2u + r_4;
  let i_4 = min(row_4, sizes.x - 1u);
  let at_4 = i_4 * 128u + own_4;
  let v_4 = bitcast<f32>(b0[p0 + at_4]);
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
    let r_5 = lane / 32u;
    let own_5 = (lane % 32u) * 4u;
    let row_5 = own_group * 2u + r_5;
    if (row_5 < sizes.x) {
      b1[p1 + ((row_5 * 128u + own_5) / 4u)] = pool[(r_5 * 128u + own_5) / 4u];
    }
  }
  if (lane < 8u) {
    let r_6 = lane / 4u;
    let own_6 = (lane % 4u) * 32u;
    let row_6 = own_group * 2u + r_6;
    if (row_6 < sizes.x) {
      b1[p1 + (n1 / 4u) + ((row_6 * 128u + own_6) / 32u)] = pool[((r_6 * 128u + own_6) / 32u) + 64u];
    }
  }
  if (lane < 16u) {
    let r_7 = lane / 8u;
    let own_7 = (lane % 8u) * 16u;
    let row_7 = own_group * 2u + r_7;
    if (row_7 < sizes.x) {
      b1[p1 + ((n1 / 4u) + (n1 / 32u)) + ((row_7 * 128u + own_7) / 16u)] = pool[((r_7 * 128u + own_7) / 16u) + 72u];
    }
  }
}

// dot_256x128_q4_0: lanes 128; dot.panels rows 32 width 64 reduce 4 upcast 4
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> b2: array<u32>;
var<workgroup> pool: array<u32, 3904>;
// `pool_of_floats` is `pool`. Intrinsics: products value by value, and such a product that is rounded by itself.
fn weft_mul_values(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
fn weft_mul_rounded(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
// `pool_of_bytes` is `pool`, too: matrices loaded from it have 32 signed bytes where this says 16 halves. An intrinsic: their exact product.
fn weft_mul_bytes(a: coop_mat16x16<f16, A>, b: coop_mat16x16<f16, B>) -> coop_mat16x16<f32, C> { return coop_mat16x16<f32, C>(); }
var<workgroup> pool_of_bytes: array<vec4<f16>, 3904>;
var<workgroup> pool_of_floats: array<f32, 3904>;

@compute @workgroup_size(128)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let n0 = args[0].y;
  let top_bits = group.z ^ 0x80808080u;
  // part 0: dot [T] × 256; dot.panels rows 32 width 64 reduce 4 upcast 4
  let own_group = group.x;
  let tiles = (sizes.x + 31u) / 32u;
  let rows_at = own_group % tiles;
  let first = (own_group / tiles) * 64u;
  let row = rows_at * 32u;
  let i = min(row, sizes.x - 1u);
  if (lane < 32u) {
    let row_2 = rows_at * 32u + lane;
    let i_2 = min(row_2, sizes.x - 1u);
    pool[lane] = i_2 * 128u;
  }
  workgroupBarrier();
  // times q4_0[256, 128]
  let own_warp = lane / 32u;
  let first_row = (own_warp / 2u) * 16u;
  let first_column = (own_warp % 2u) * 32u;
  if (lane < 32u) {
    pool[lane + 32u] = select(0x80000000u, 0u, lane < 16u);
  }
  workgroupBarrier();
  let zero = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[32u], 0u);
  let zero_2 = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[48u], 0u);
  var sums = zero;
  var sums_2 = zero;
  var totals = zero_2;
  var totals_2 = zero_2;
  let c = lane + 128u;
  let row_3 = lane / 8u;
  let four = lane % 8u;
  let x = pool[row_3];
  let x_2 = p0 + (x / 4u);
  let xd = p0 + (n0 / 4u) + (x / 32u);
  let xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
  let start = x_2 + four * 4u;
  let to = row_3 * 9u + four;
  let row_4 = c / 8u;
  let four_2 = c % 8u;
  let x_3 = pool[row_4];
  let x_4 = p0 + (x_3 / 4u);
  let xd_2 = p0 + (n0 / 4u) + (x_3 / 32u);
  let xs_2 = p0 + (n0 / 4u) + (n0 / 32u) + (x_3 / 16u);
  let start_2 = x_4 + four_2 * 4u;
  let to_2 = row_4 * 9u + four_2;
  let row_5 = lane / 4u;
  let block = lane % 4u;
  let x_5 = pool[row_5];
  let x_6 = p0 + (x_5 / 4u);
  let xd_3 = p0 + (n0 / 4u) + (x_5 / 32u);
  let xs_3 = p0 + (n0 / 4u) + (n0 / 32u) + (x_5 / 16u);
  let to_3 = block * 32u + row_5 + 3776u;
  let c_2 = min(lane, 63u);
  let four_3 = c_2 / 4u;
  let block_2 = c_2 % 4u;
  let tile = p1 + ((first + four_3 * 4u) / 16u) * 288u;
  let lane_row = (first + four_3 * 4u) % 16u;
  let to_4 = four_3 * 36u + block_2 * 2u + 288u;
  let to_5 = block_2 * 16u + four_3 + 864u;
  let x_7 = b0[start / 4u];
  let x_8 = b0[start_2 / 4u];
  let kept = b0[(xd_3 + block) / 4u][(xd_3 + block) % 4u];
  let at = tile + lane_row + block_2 * 64u;
  let w = b1[at / 4u];
  let w_2 = b1[(at + 16u) / 4u];
  let w_3 = b1[(at + 32u) / 4u];
  let w_4 = b1[(at + 48u) / 4u];
  let word = b1[(tile + block_2 * 8u + (lane_row / 2u) + 256u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 256u) % 4u];
  let word_2 = b1[(tile + block_2 * 8u + (lane_row / 2u) + 257u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 257u) % 4u];
  workgroupBarrier();
  pool[to * 4u + 64u] = x_7.x;
  pool[to * 4u + 65u] = x_7.y;
  pool[to * 4u + 66u] = x_7.z;
  pool[to * 4u + 67u] = x_7.w;
  pool[to_2 * 4u + 64u] = x_8.x;
  pool[to_2 * 4u + 65u] = x_8.y;
  pool[to_2 * 4u + 66u] = x_8.z;
  pool[to_2 * 4u + 67u] = x_8.w;
  pool[to_3] = bitcast<u32>(bitcast<f32>(kept) * 0.0625f);
  if (lane < 64u) {
    pool[to_4 * 4u + 64u] = ((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 65u] = ((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 66u] = ((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 67u] = ((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 68u] = (w.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 69u] = (w_2.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 70u] = (w_3.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 71u] = (w_4.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 100u] = ((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 101u] = ((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 102u] = ((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 103u] = ((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 104u] = (w.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 105u] = (w_2.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 106u] = (w_3.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 107u] = (w_4.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 136u] = ((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 137u] = ((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 138u] = ((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 139u] = ((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 140u] = (w.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 141u] = (w_2.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 142u] = (w_3.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 143u] = (w_4.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 172u] = ((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 173u] = ((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 174u] = ((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 175u] = ((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 176u] = (w.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 177u] = (w_2.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 178u] = (w_3.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 179u] = (w_4.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_5 * 4u + 64u] = bitcast<u32>(unpack2x16float(word).x);
    pool[to_5 * 4u + 65u] = bitcast<u32>(unpack2x16float(word >> 16u).x);
    pool[to_5 * 4u + 66u] = bitcast<u32>(unpack2x16float(word_2).x);
    pool[to_5 * 4u + 67u] = bitcast<u32>(unpack2x16float(word_2 >> 16u).x);
  }
  workgroupBarrier();
  let x_9 = b0[start / 4u];
  let x_10 = b0[start_2 / 4u];
  let kept_2 = b0[(xd_3 + block) / 4u][(xd_3 + block) % 4u];
  let at_2 = tile + lane_row + block_2 * 64u;
  let w_5 = b1[at_2 / 4u];
  let w_6 = b1[(at_2 + 16u) / 4u];
  let w_7 = b1[(at_2 + 32u) / 4u];
  let w_8 = b1[(at_2 + 48u) / 4u];
  let word_3 = b1[(tile + block_2 * 8u + (lane_row / 2u) + 256u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 256u) % 4u];
  let word_4 = b1[(tile + block_2 * 8u + (lane_row / 2u) + 257u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 257u) % 4u];
  for (var share = 0u; share < 4u; share += 1u) {
    for (var b = share; b < share + 1u; b += 1u) {
      let column = first_column * 9u + b * 2u + 288u;
      let scale_at = b * 64u + first_column;
      let wq = coopLoad<coop_mat16x16<f16, B>>(&pool_of_bytes[column * 4u + 64u], 36u);
      let scale = coopLoadT<coop_mat16x16<f32, C>>(&pool_of_floats[scale_at + 3520u], 0u);
      let wq_2 = coopLoad<coop_mat16x16<f16, B>>(&pool_of_bytes[column * 4u + 640u], 36u);
      let scale_2 = coopLoadT<coop_mat16x16<f32, C>>(&pool_of_floats[scale_at + 3536u], 0u);
      let row_6 = first_row * 9u + b * 2u;
      let kept_at = b * 32u + first_row + 3776u;
      let xq = coopLoadT<coop_mat16x16<f16, A>>(&pool_of_bytes[row_6 * 4u + 64u], 36u);
      let d = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[kept_at], 0u);
      let dots = weft_mul_bytes(xq, wq);
      sums = sums + weft_mul_values(d, weft_mul_values(dots, scale));
      let dots_2 = weft_mul_bytes(xq, wq_2);
      sums_2 = sums_2 + weft_mul_values(d, weft_mul_values(dots_2, scale_2));
    }
    totals = totals + sums;
    sums = zero;
    totals_2 = totals_2 + sums_2;
    sums_2 = zero;
  }
  workgroupBarrier();
  pool[to * 4u + 64u] = x_9.x;
  pool[to * 4u + 65u] = x_9.y;
  pool[to * 4u + 66u] = x_9.z;
  pool[to * 4u + 67u] = x_9.w;
  pool[to_2 * 4u + 64u] = x_10.x;
  pool[to_2 * 4u + 65u] = x_10.y;
  pool[to_2 * 4u + 66u] = x_10.z;
  pool[to_2 * 4u + 67u] = x_10.w;
  pool[to_3] = bitcast<u32>(bitcast<f32>(kept_2) * 0.0625f);
  if (lane < 64u) {
    pool[to_4 * 4u + 64u] = ((w_5.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 65u] = ((w_6.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 66u] = ((w_7.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 67u] = ((w_8.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 68u] = (w_5.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 69u] = (w_6.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 70u] = (w_7.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 71u] = (w_8.x & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 100u] = ((w_5.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 101u] = ((w_6.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 102u] = ((w_7.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 103u] = ((w_8.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 104u] = (w_5.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 105u] = (w_6.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 106u] = (w_7.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 107u] = (w_8.y & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 136u] = ((w_5.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 137u] = ((w_6.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 138u] = ((w_7.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 139u] = ((w_8.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 140u] = (w_5.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 141u] = (w_6.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 142u] = (w_7.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 143u] = (w_8.z & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 172u] = ((w_5.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 173u] = ((w_6.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 174u] = ((w_7.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 175u] = ((w_8.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 176u] = (w_5.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 177u] = (w_6.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 178u] = (w_7.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_4 * 4u + 179u] = (w_8.w & 0xf0f0f0f0u) ^ top_bits;
    pool[to_5 * 4u + 64u] = bitcast<u32>(unpack2x16float(word_3).x);
    pool[to_5 * 4u + 65u] = bitcast<u32>(unpack2x16float(word_3 >> 16u).x);
    pool[to_5 * 4u + 66u] = bitcast<u32>(unpack2x16float(word_4).x);
    pool[to_5 * 4u + 67u] = bitcast<u32>(unpack2x16float(word_4 >> 16u).x);
  }
  workgroupBarrier();
  workgroupBarrier();
  let to_6 = (first_column / 64u) * 2048u + (first_column % 64u) + first_row * 64u + 32u;
  coopStoreT(totals, &pool_of_floats[to_6], 64u);
  let column_2 = first_column + 16u;
  let to_7 = (column_2 / 64u) * 2048u + (column_2 % 64u) + first_row * 64u + 32u;
  coopStoreT(totals_2, &pool_of_floats[to_7], 64u);
  workgroupBarrier();
  for (var time = 0u; time < 16u; time += 1u) {
    let c_3 = time * 128u + lane;
    let r = c_3 / 64u;
    let own = c_3 % 64u;
    let row_7 = rows_at * 32u + r;
    let column_3 = first + own;
    if (row_7 < sizes.x) {
      let v = bitcast<f32>(pool[r * 64u + own + 32u]);
      b2[p2 + (row_7 * 256u + column_3)] = bitcast<u32>(v);
    }
  }
}

