test large T=512
# Products of experts of many rows: rows are sorted by expert, and multiplied from panels.
graph experts_of_a_prompt {
  %0 = input x : f32[T, 128]
  %1 = input ids : i32[T, 2]
  %2 = weight up : q4_0[8, 64, 128]
  %3 = select_dot %0 %2 %1 : f32[T, 2, 64]
  output y = %3
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

// select_dot_64x128_q4_0: lanes 128; dot.panels rows 32 width 64 reduce 4 upcast 4
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 1024>;

@compute @workgroup_size(512)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p1 = args[0].z;
  // part 0: dot [T, 2] × 64; dot.panels rows 32 width 64 reduce 4 upcast 4; rows sorted
  let own_group = group.x;
  let own = lane % 8u;
  let segment = lane / 8u;
  let matrix = own_group * 8u + own;
  let rows = sizes.x * 2u;
  let each = (rows + 63u) / 64u;
  let start = min(segment * each, rows);
  let to = min(start + each, rows);
  var below = 0u;
  var equal = 0u;
  for (var n = start; n < to; n += 1u) {
    let i = n / 2u;
    let i_2 = (n % 2u) % 2u;
    let index = min(b1[p1 + (i * 2u + i_2)], 7u);
    below = select(below, below + 1u, index < matrix);
    equal = select(equal, equal + 1u, index == matrix);
  }
  pool[lane] = below;
  pool[lane + 512u] = equal;
  workgroupBarrier();
  var begin = 0u;
  var before = 0u;
  var has = 0u;
  for (var s = 0u; s < 64u; s += 1u) {
    let at = s * 8u + own;
    begin = begin + pool[at];
    let here = pool[at + 512u];
    before = select(before, before + here, s < segment);
    has = has + here;
  }
  if (matrix < 8u) {
    var place = begin + before;
    for (var n_2 = start; n_2 < to; n_2 += 1u) {
      let i_3 = n_2 / 2u;
      let i_4 = (n_2 % 2u) % 2u;
      let index_2 = min(b1[p1 + (i_3 * 2u + i_4)], 7u);
      if (index_2 == matrix) {
        b4[place] = n_2;
        place = place + 1u;
      }
    }
    let end = begin + has;
    let first_tile = (begin / 32u) + matrix;
    let next = select((end / 32u) + matrix + 1u, ((rows + 31u) / 32u) + 8u, matrix == 7u);
    for (var t = first_tile + segment; t < next; t += 64u) {
      let start_2 = begin + (t - first_tile) * 32u;
      let to_2 = min(start_2 + 32u, end);
      let at_2 = t * 3u + 1024u;
      b4[at_2] = matrix;
      b4[at_2 + 1u] = start_2;
      b4[at_2 + 2u] = to_2;
    }
  }
}

// select_dot_64x128_q4_0: lanes 128; dot.panels rows 32 width 64 reduce 4 upcast 4
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 3648>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let n0 = args[0].y;
  let top_bits = group.z ^ 0x80808080u;
  // part 0: dot [T, 2] × 64; dot.panels rows 32 width 64 reduce 4 upcast 4; of sorted rows
  let own_group = group.x;
  let tile_at = own_group * 3u;
  let number = b4[tile_at + 1024u];
  if (lane == 0u) { agreed.x = b4[tile_at + 1025u]; }
  let first_row = workgroupUniformLoad(&agreed).x;
  if (lane == 0u) { agreed.x = b4[tile_at + 1026u]; }
  let end_row = workgroupUniformLoad(&agreed).x;
  if (first_row < end_row) {
    let rows_here = end_row - first_row;
    if (lane < 32u) {
      pool[lane] = b4[min(first_row + lane, end_row - 1u)];
    }
    workgroupBarrier();
    if (lane < 32u) {
      let row = pool[lane];
      let i = row / 2u;
      let i_2 = (row % 2u) % 2u;
      pool[lane + 32u] = i * 128u;
    }
    workgroupBarrier();
    // times q4_0[64, 128]
    let c = lane + 128u;
    let row_2 = lane / 8u;
    let four = lane % 8u;
    let x = pool[row_2 + 32u];
    let x_2 = p0 + (x / 4u);
    let xd = p0 + (n0 / 4u) + (x / 32u);
    let xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
    let start = x_2 + four * 4u;
    let to = row_2 * 9u + four;
    let row_3 = c / 8u;
    let four_2 = c % 8u;
    let x_3 = pool[row_3 + 32u];
    let x_4 = p0 + (x_3 / 4u);
    let xd_2 = p0 + (n0 / 4u) + (x_3 / 32u);
    let xs_2 = p0 + (n0 / 4u) + (n0 / 32u) + (x_3 / 16u);
    let start_2 = x_4 + four_2 * 4u;
    let to_2 = row_3 * 9u + four_2;
    let row_4 = lane / 4u;
    let block = lane % 4u;
    let x_5 = pool[row_4 + 32u];
    let x_6 = p0 + (x_5 / 4u);
    let xd_3 = p0 + (n0 / 4u) + (x_5 / 32u);
    let xs_3 = p0 + (n0 / 4u) + (n0 / 32u) + (x_5 / 16u);
    let to_3 = block * 32u + row_4 + 3520u;
    let c_2 = min(lane, 63u);
    let four_3 = c_2 % 16u;
    let block_2 = c_2 / 16u;
    let tile = p2 + ((number * 64u + four_3 * 4u) / 16u) * 288u;
    let lane_row = (number * 64u + four_3 * 4u) % 16u;
    let to_4 = block_2 * 128u + four_3 + 288u;
    let to_5 = block_2 * 16u + four_3 + 800u;
    let beside = (lane / 2u) % 16u;
    let below = (lane % 2u) + (lane / 32u) * 2u;
    let zero = bitcast<f32>(group.z);
    var sum = zero;
    var sum_2 = zero;
    var sum_3 = zero;
    var sum_4 = zero;
    var sum_5 = zero;
    var sum_6 = zero;
    var sum_7 = zero;
    var sum_8 = zero;
    var sum_9 = zero;
    var sum_10 = zero;
    var sum_11 = zero;
    var sum_12 = zero;
    var sum_13 = zero;
    var sum_14 = zero;
    var sum_15 = zero;
    var sum_16 = zero;
    var total = -0.0f;
    var total_2 = -0.0f;
    var total_3 = -0.0f;
    var total_4 = -0.0f;
    var total_5 = -0.0f;
    var total_6 = -0.0f;
    var total_7 = -0.0f;
    var total_8 = -0.0f;
    var total_9 = -0.0f;
    var total_10 = -0.0f;
    var total_11 = -0.0f;
    var total_12 = -0.0f;
    var total_13 = -0.0f;
    var total_14 = -0.0f;
    var total_15 = -0.0f;
    var total_16 = -0.0f;
    let x_7 = b0[start / 4u];
    let x_8 = b0[start_2 / 4u];
    let kept = b0[(xd_3 + block) / 4u][(xd_3 + block) % 4u];
    let at = tile + lane_row + block_2 * 64u;
    let w = b2[at / 4u];
    let w_2 = b2[(at + 16u) / 4u];
    let w_3 = b2[(at + 32u) / 4u];
    let w_4 = b2[(at + 48u) / 4u];
    let word = b2[(tile + block_2 * 8u + (lane_row / 2u) + 256u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 256u) % 4u];
    let word_2 = b2[(tile + block_2 * 8u + (lane_row / 2u) + 257u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 257u) % 4u];
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
      pool[to_4 * 4u + 65u] = ((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 66u] = ((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 67u] = ((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 128u] = ((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 129u] = ((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 130u] = ((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 131u] = ((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 192u] = ((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 193u] = ((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 194u] = ((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 195u] = ((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 256u] = ((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 257u] = ((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 258u] = ((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 259u] = ((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 320u] = (w.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 321u] = (w.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 322u] = (w.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 323u] = (w.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 384u] = (w_2.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 385u] = (w_2.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 386u] = (w_2.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 387u] = (w_2.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 448u] = (w_3.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 449u] = (w_3.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 450u] = (w_3.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 451u] = (w_3.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 512u] = (w_4.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 513u] = (w_4.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 514u] = (w_4.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 515u] = (w_4.w & 0xf0f0f0f0u) ^ top_bits;
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
    let w_5 = b2[at_2 / 4u];
    let w_6 = b2[(at_2 + 16u) / 4u];
    let w_7 = b2[(at_2 + 32u) / 4u];
    let w_8 = b2[(at_2 + 48u) / 4u];
    let word_3 = b2[(tile + block_2 * 8u + (lane_row / 2u) + 256u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 256u) % 4u];
    let word_4 = b2[(tile + block_2 * 8u + (lane_row / 2u) + 257u) / 4u][(tile + block_2 * 8u + (lane_row / 2u) + 257u) % 4u];
    if (rows_here > below * 4u) {
      for (var share = 0u; share < 4u; share += 1u) {
        for (var b = share; b < share + 1u; b += 1u) {
          let left = below * 36u + b * 2u;
          let xq = vec4<u32>(pool[left * 4u + 64u], pool[left * 4u + 65u], pool[left * 4u + 66u], pool[left * 4u + 67u]);
          let xq_2 = vec4<u32>(pool[left * 4u + 68u], pool[left * 4u + 69u], pool[left * 4u + 70u], pool[left * 4u + 71u]);
          let xq_3 = vec4<u32>(pool[left * 4u + 100u], pool[left * 4u + 101u], pool[left * 4u + 102u], pool[left * 4u + 103u]);
          let xq_4 = vec4<u32>(pool[left * 4u + 104u], pool[left * 4u + 105u], pool[left * 4u + 106u], pool[left * 4u + 107u]);
          let xq_5 = vec4<u32>(pool[left * 4u + 136u], pool[left * 4u + 137u], pool[left * 4u + 138u], pool[left * 4u + 139u]);
          let xq_6 = vec4<u32>(pool[left * 4u + 140u], pool[left * 4u + 141u], pool[left * 4u + 142u], pool[left * 4u + 143u]);
          let xq_7 = vec4<u32>(pool[left * 4u + 172u], pool[left * 4u + 173u], pool[left * 4u + 174u], pool[left * 4u + 175u]);
          let xq_8 = vec4<u32>(pool[left * 4u + 176u], pool[left * 4u + 177u], pool[left * 4u + 178u], pool[left * 4u + 179u]);
          let scales = b * 32u + below * 4u + 3520u;
          let d = vec4<u32>(pool[scales], pool[scales + 1u], pool[scales + 2u], pool[scales + 3u]);
          let right = b * 128u + beside;
          let right_scales = b * 16u + beside;
          let wq = vec4<u32>(pool[right * 4u + 1216u], pool[right * 4u + 1217u], pool[right * 4u + 1218u], pool[right * 4u + 1219u]);
          let wq_2 = vec4<u32>(pool[right * 4u + 1280u], pool[right * 4u + 1281u], pool[right * 4u + 1282u], pool[right * 4u + 1283u]);
          let wq_3 = vec4<u32>(pool[right * 4u + 1344u], pool[right * 4u + 1345u], pool[right * 4u + 1346u], pool[right * 4u + 1347u]);
          let wq_4 = vec4<u32>(pool[right * 4u + 1408u], pool[right * 4u + 1409u], pool[right * 4u + 1410u], pool[right * 4u + 1411u]);
          let wq_5 = vec4<u32>(pool[right * 4u + 1472u], pool[right * 4u + 1473u], pool[right * 4u + 1474u], pool[right * 4u + 1475u]);
          let wq_6 = vec4<u32>(pool[right * 4u + 1536u], pool[right * 4u + 1537u], pool[right * 4u + 1538u], pool[right * 4u + 1539u]);
          let wq_7 = vec4<u32>(pool[right * 4u + 1600u], pool[right * 4u + 1601u], pool[right * 4u + 1602u], pool[right * 4u + 1603u]);
          let wq_8 = vec4<u32>(pool[right * 4u + 1664u], pool[right * 4u + 1665u], pool[right * 4u + 1666u], pool[right * 4u + 1667u]);
          let scale = vec4<u32>(pool[right_scales * 4u + 3264u], pool[right_scales * 4u + 3265u], pool[right_scales * 4u + 3266u], pool[right_scales * 4u + 3267u]);
          sum = fma(bitcast<f32>(d.x), f32(dot4I8Packed(wq.x, xq.x) + dot4I8Packed(wq_2.x, xq.y) + dot4I8Packed(wq_3.x, xq.z) + dot4I8Packed(wq_4.x, xq.w) + dot4I8Packed(wq_5.x, xq_2.x) + dot4I8Packed(wq_6.x, xq_2.y) + dot4I8Packed(wq_7.x, xq_2.z) + dot4I8Packed(wq_8.x, xq_2.w)) * bitcast<f32>(scale.x), sum);
          sum_2 = fma(bitcast<f32>(d.x), f32(dot4I8Packed(wq.y, xq.x) + dot4I8Packed(wq_2.y, xq.y) + dot4I8Packed(wq_3.y, xq.z) + dot4I8Packed(wq_4.y, xq.w) + dot4I8Packed(wq_5.y, xq_2.x) + dot4I8Packed(wq_6.y, xq_2.y) + dot4I8Packed(wq_7.y, xq_2.z) + dot4I8Packed(wq_8.y, xq_2.w)) * bitcast<f32>(scale.y), sum_2);
          sum_3 = fma(bitcast<f32>(d.x), f32(dot4I8Packed(wq.z, xq.x) + dot4I8Packed(wq_2.z, xq.y) + dot4I8Packed(wq_3.z, xq.z) + dot4I8Packed(wq_4.z, xq.w) + dot4I8Packed(wq_5.z, xq_2.x) + dot4I8Packed(wq_6.z, xq_2.y) + dot4I8Packed(wq_7.z, xq_2.z) + dot4I8Packed(wq_8.z, xq_2.w)) * bitcast<f32>(scale.z), sum_3);
          sum_4 = fma(bitcast<f32>(d.x), f32(dot4I8Packed(wq.w, xq.x) + dot4I8Packed(wq_2.w, xq.y) + dot4I8Packed(wq_3.w, xq.z) + dot4I8Packed(wq_4.w, xq.w) + dot4I8Packed(wq_5.w, xq_2.x) + dot4I8Packed(wq_6.w, xq_2.y) + dot4I8Packed(wq_7.w, xq_2.z) + dot4I8Packed(wq_8.w, xq_2.w)) * bitcast<f32>(scale.w), sum_4);
          sum_5 = fma(bitcast<f32>(d.y), f32(dot4I8Packed(wq.x, xq_3.x) + dot4I8Packed(wq_2.x, xq_3.y) + dot4I8Packed(wq_3.x, xq_3.z) + dot4I8Packed(wq_4.x, xq_3.w) + dot4I8Packed(wq_5.x, xq_4.x) + dot4I8Packed(wq_6.x, xq_4.y) + dot4I8Packed(wq_7.x, xq_4.z) + dot4I8Packed(wq_8.x, xq_4.w)) * bitcast<f32>(scale.x), sum_5);
          sum_6 = fma(bitcast<f32>(d.y), f32(dot4I8Packed(wq.y, xq_3.x) + dot4I8Packed(wq_2.y, xq_3.y) + dot4I8Packed(wq_3.y, xq_3.z) + dot4I8Packed(wq_4.y, xq_3.w) + dot4I8Packed(wq_5.y, xq_4.x) + dot4I8Packed(wq_6.y, xq_4.y) + dot4I8Packed(wq_7.y, xq_4.z) + dot4I8Packed(wq_8.y, xq_4.w)) * bitcast<f32>(scale.y), sum_6);
          sum_7 = fma(bitcast<f32>(d.y), f32(dot4I8Packed(wq.z, xq_3.x) + dot4I8Packed(wq_2.z, xq_3.y) + dot4I8Packed(wq_3.z, xq_3.z) + dot4I8Packed(wq_4.z, xq_3.w) + dot4I8Packed(wq_5.z, xq_4.x) + dot4I8Packed(wq_6.z, xq_4.y) + dot4I8Packed(wq_7.z, xq_4.z) + dot4I8Packed(wq_8.z, xq_4.w)) * bitcast<f32>(scale.z), sum_7);
          sum_8 = fma(bitcast<f32>(d.y), f32(dot4I8Packed(wq.w, xq_3.x) + dot4I8Packed(wq_2.w, xq_3.y) + dot4I8Packed(wq_3.w, xq_3.z) + dot4I8Packed(wq_4.w, xq_3.w) + dot4I8Packed(wq_5.w, xq_4.x) + dot4I8Packed(wq_6.w, xq_4.y) + dot4I8Packed(wq_7.w, xq_4.z) + dot4I8Packed(wq_8.w, xq_4.w)) * bitcast<f32>(scale.w), sum_8);
          sum_9 = fma(bitcast<f32>(d.z), f32(dot4I8Packed(wq.x, xq_5.x) + dot4I8Packed(wq_2.x, xq_5.y) + dot4I8Packed(wq_3.x, xq_5.z) + dot4I8Packed(wq_4.x, xq_5.w) + dot4I8Packed(wq_5.x, xq_6.x) + dot4I8Packed(wq_6.x, xq_6.y) + dot4I8Packed(wq_7.x, xq_6.z) + dot4I8Packed(wq_8.x, xq_6.w)) * bitcast<f32>(scale.x), sum_9);
          sum_10 = fma(bitcast<f32>(d.z), f32(dot4I8Packed(wq.y, xq_5.x) + dot4I8Packed(wq_2.y, xq_5.y) + dot4I8Packed(wq_3.y, xq_5.z) + dot4I8Packed(wq_4.y, xq_5.w) + dot4I8Packed(wq_5.y, xq_6.x) + dot4I8Packed(wq_6.y, xq_6.y) + dot4I8Packed(wq_7.y, xq_6.z) + dot4I8Packed(wq_8.y, xq_6.w)) * bitcast<f32>(scale.y), sum_10);
          sum_11 = fma(bitcast<f32>(d.z), f32(dot4I8Packed(wq.z, xq_5.x) + dot4I8Packed(wq_2.z, xq_5.y) + dot4I8Packed(wq_3.z, xq_5.z) + dot4I8Packed(wq_4.z, xq_5.w) + dot4I8Packed(wq_5.z, xq_6.x) + dot4I8Packed(wq_6.z, xq_6.y) + dot4I8Packed(wq_7.z, xq_6.z) + dot4I8Packed(wq_8.z, xq_6.w)) * bitcast<f32>(scale.z), sum_11);
          sum_12 = fma(bitcast<f32>(d.z), f32(dot4I8Packed(wq.w, xq_5.x) + dot4I8Packed(wq_2.w, xq_5.y) + dot4I8Packed(wq_3.w, xq_5.z) + dot4I8Packed(wq_4.w, xq_5.w) + dot4I8Packed(wq_5.w, xq_6.x) + dot4I8Packed(wq_6.w, xq_6.y) + dot4I8Packed(wq_7.w, xq_6.z) + dot4I8Packed(wq_8.w, xq_6.w)) * bitcast<f32>(scale.w), sum_12);
          sum_13 = fma(bitcast<f32>(d.w), f32(dot4I8Packed(wq.x, xq_7.x) + dot4I8Packed(wq_2.x, xq_7.y) + dot4I8Packed(wq_3.x, xq_7.z) + dot4I8Packed(wq_4.x, xq_7.w) + dot4I8Packed(wq_5.x, xq_8.x) + dot4I8Packed(wq_6.x, xq_8.y) + dot4I8Packed(wq_7.x, xq_8.z) + dot4I8Packed(wq_8.x, xq_8.w)) * bitcast<f32>(scale.x), sum_13);
          sum_14 = fma(bitcast<f32>(d.w), f32(dot4I8Packed(wq.y, xq_7.x) + dot4I8Packed(wq_2.y, xq_7.y) + dot4I8Packed(wq_3.y, xq_7.z) + dot4I8Packed(wq_4.y, xq_7.w) + dot4I8Packed(wq_5.y, xq_8.x) + dot4I8Packed(wq_6.y, xq_8.y) + dot4I8Packed(wq_7.y, xq_8.z) + dot4I8Packed(wq_8.y, xq_8.w)) * bitcast<f32>(scale.y), sum_14);
          sum_15 = fma(bitcast<f32>(d.w), f32(dot4I8Packed(wq.z, xq_7.x) + dot4I8Packed(wq_2.z, xq_7.y) + dot4I8Packed(wq_3.z, xq_7.z) + dot4I8Packed(wq_4.z, xq_7.w) + dot4I8Packed(wq_5.z, xq_8.x) + dot4I8Packed(wq_6.z, xq_8.y) + dot4I8Packed(wq_7.z, xq_8.z) + dot4I8Packed(wq_8.z, xq_8.w)) * bitcast<f32>(scale.z), sum_15);
          sum_16 = fma(bitcast<f32>(d.w), f32(dot4I8Packed(wq.w, xq_7.x) + dot4I8Packed(wq_2.w, xq_7.y) + dot4I8Packed(wq_3.w, xq_7.z) + dot4I8Packed(wq_4.w, xq_7.w) + dot4I8Packed(wq_5.w, xq_8.x) + dot4I8Packed(wq_6.w, xq_8.y) + dot4I8Packed(wq_7.w, xq_8.z) + dot4I8Packed(wq_8.w, xq_8.w)) * bitcast<f32>(scale.w), sum_16);
        }
        total = total + sum;
        sum = zero;
        total_2 = total_2 + sum_2;
        sum_2 = zero;
        total_3 = total_3 + sum_3;
        sum_3 = zero;
        total_4 = total_4 + sum_4;
        sum_4 = zero;
        total_5 = total_5 + sum_5;
        sum_5 = zero;
        total_6 = total_6 + sum_6;
        sum_6 = zero;
        total_7 = total_7 + sum_7;
        sum_7 = zero;
        total_8 = total_8 + sum_8;
        sum_8 = zero;
        total_9 = total_9 + sum_9;
        sum_9 = zero;
        total_10 = total_10 + sum_10;
        sum_10 = zero;
        total_11 = total_11 + sum_11;
        sum_11 = zero;
        total_12 = total_12 + sum_12;
        sum_12 = zero;
        total_13 = total_13 + sum_13;
        sum_13 = zero;
        total_14 = total_14 + sum_14;
        sum_14 = zero;
        total_15 = total_15 + sum_15;
        sum_15 = zero;
        total_16 = total_16 + sum_16;
        sum_16 = zero;
      }
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
      pool[to_4 * 4u + 65u] = ((w_5.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 66u] = ((w_5.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 67u] = ((w_5.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 128u] = ((w_6.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 129u] = ((w_6.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 130u] = ((w_6.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 131u] = ((w_6.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 192u] = ((w_7.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 193u] = ((w_7.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 194u] = ((w_7.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 195u] = ((w_7.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 256u] = ((w_8.x << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 257u] = ((w_8.y << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 258u] = ((w_8.z << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 259u] = ((w_8.w << 4u) & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 320u] = (w_5.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 321u] = (w_5.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 322u] = (w_5.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 323u] = (w_5.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 384u] = (w_6.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 385u] = (w_6.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 386u] = (w_6.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 387u] = (w_6.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 448u] = (w_7.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 449u] = (w_7.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 450u] = (w_7.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 451u] = (w_7.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 512u] = (w_8.x & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 513u] = (w_8.y & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 514u] = (w_8.z & 0xf0f0f0f0u) ^ top_bits;
      pool[to_4 * 4u + 515u] = (w_8.w & 0xf0f0f0f0u) ^ top_bits;
      pool[to_5 * 4u + 64u] = bitcast<u32>(unpack2x16float(word_3).x);
      pool[to_5 * 4u + 65u] = bitcast<u32>(unpack2x16float(word_3 >> 16u).x);
      pool[to_5 * 4u + 66u] = bitcast<u32>(unpack2x16float(word_4).x);
      pool[to_5 * 4u + 67u] = bitcast<u32>(unpack2x16float(word_4 >> 16u).x);
    }
    workgroupBarrier();
    workgroupBarrier();
    pool[below * 256u + beside * 4u + 64u] = bitcast<u32>(total);
    pool[below * 256u + beside * 4u + 65u] = bitcast<u32>(total_2);
    pool[below * 256u + beside * 4u + 66u] = bitcast<u32>(total_3);
    pool[below * 256u + beside * 4u + 67u] = bitcast<u32>(total_4);
    pool[below * 256u + beside * 4u + 128u] = bitcast<u32>(total_5);
    pool[below * 256u + beside * 4u + 129u] = bitcast<u32>(total_6);
    pool[below * 256u + beside * 4u + 130u] = bitcast<u32>(total_7);
    pool[below * 256u + beside * 4u + 131u] = bitcast<u32>(total_8);
    pool[below * 256u + beside * 4u + 192u] = bitcast<u32>(total_9);
    pool[below * 256u + beside * 4u + 193u] = bitcast<u32>(total_10);
    pool[below * 256u + beside * 4u + 194u] = bitcast<u32>(total_11);
    pool[below * 256u + beside * 4u + 195u] = bitcast<u32>(total_12);
    pool[below * 256u + beside * 4u + 256u] = bitcast<u32>(total_13);
    pool[below * 256u + beside * 4u + 257u] = bitcast<u32>(total_14);
    pool[below * 256u + beside * 4u + 258u] = bitcast<u32>(total_15);
    pool[below * 256u + beside * 4u + 259u] = bitcast<u32>(total_16);
    workgroupBarrier();
    for (var time = 0u; time < 16u; time += 1u) {
      let c_3 = time * 128u + lane;
      let r = c_3 / 64u;
      let own = c_3 % 64u;
      let row_5 = pool[r];
      let i_3 = row_5 / 2u;
      let i_4 = (row_5 % 2u) % 2u;
      if (r < rows_here) {
        let v = bitcast<f32>(pool[r * 64u + own + 64u]);
        b3[p3 + (i_3 * 128u + i_4 * 64u + own)] = bitcast<u32>(v);
      }
    }
  }
}

