test wgsl T=1 S=4096 P=128
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
// attend_4x80: lanes 256; rows 1 width 64 reduce 16 upcast 4
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read> b3: array<u32>;
@group(0) @binding(6) var<storage, read> b4: array<u32>;
@group(0) @binding(7) var<storage, read_write> b5: array<u32>;
var<workgroup> pool: array<u32, 1312>;
var<workgroup> agreed: u32;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let p5 = args[2].z;
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 4] × 64; rows 1 width 64 reduce 16 upcast 4
  let own_group = group.x;
  let i = own_group / 4u;
  let i_2 = (own_group % 4u) % 4u;
  let group_of = i_2 / 4u;
  if (lane < 80u) {
    let i_3 = (own_group + (lane / 80u)) / 4u;
    let i_4 = ((own_group + (lane / 80u)) % 4u) % 4u;
    pool[lane] = b0[p0 + (i_3 * 320u + i_4 * 80u + (lane % 80u))];
  }
  let last_page = max(n4, 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  if (lane == 0u) { agreed = b2[p2 + i]; }
  let position = workgroupUniformLoad(&agreed);
  let seen = min(position, last_position) + 1u;
  let last_row = max(min(n1 / 80u, n1 / 80u), 1u) - 1u;
  let pages_at = b3[p3 + i];
  var top = -3e38f;
  var total = 0.0f;
  var y = 0.0f;
  var y_2 = 0.0f;
  workgroupBarrier();
  for (var start = 0u; start < seen; start += 64u) {
    if (lane < 64u) {
      let p = min(start + lane, seen - 1u);
      pool[lane + 80u] = min(b4[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
    }
    workgroupBarrier();
    let share = lane % 16u;
    let b = lane / 16u;
    let row = pool[b + 80u] * 80u + group_of * 80u;
    let b_2 = (lane / 16u) + 16u;
    let row_2 = pool[b_2 + 80u] * 80u + group_of * 80u;
    let b_3 = (lane / 16u) + 32u;
    let row_3 = pool[b_3 + 80u] * 80u + group_of * 80u;
    let b_4 = (lane / 16u) + 48u;
    let row_4 = pool[b_4 + 80u] * 80u + group_of * 80u;
    var score = 0.0f;
    var score_2 = 0.0f;
    var score_3 = 0.0f;
    var score_4 = 0.0f;
    for (var c = share; c < 40u; c += 16u) {
      let pair = b1[p1 + ((row / 2u) + c)];
      let pair_2 = b1[p1 + ((row_2 / 2u) + c)];
      let pair_3 = b1[p1 + ((row_3 / 2u) + c)];
      let pair_4 = b1[p1 + ((row_4 / 2u) + c)];
      let key = unpack2x16float(pair).x;
      let key_2 = unpack2x16float(pair >> 16u).x;
      let key_3 = unpack2x16float(pair_2).x;
      let key_4 = unpack2x16float(pair_2 >> 16u).x;
      let key_5 = unpack2x16float(pair_3).x;
      let key_6 = unpack2x16float(pair_3 >> 16u).x;
      let key_7 = unpack2x16float(pair_4).x;
      let key_8 = unpack2x16float(pair_4 >> 16u).x;
      let q = bitcast<f32>(pool[c * 2u]);
      score = fma(key, q, score);
      score_2 = fma(key_3, q, score_2);
      score_3 = fma(key_5, q, score_3);
      score_4 = fma(key_7, q, score_4);
      let q_2 = bitcast<f32>(pool[c * 2u + 1u]);
      score = fma(key_2, q_2, score);
      score_2 = fma(key_4, q_2, score_2);
      score_3 = fma(key_6, q_2, score_3);
      score_4 = fma(key_8, q_2, score_4);
    }
    pool[share * 64u + b + 224u] = bitcast<u32>(score);
    pool[share * 64u + b_2 + 224u] = bitcast<u32>(score_2);
    pool[share * 64u + b_3 + 224u] = bitcast<u32>(score_3);
    pool[share * 64u + b_4 + 224u] = bitcast<u32>(score_4);
    workgroupBarrier();
    if (lane < 64u) {
      var total_2 = bitcast<f32>(pool[lane + 224u]);
      for (var l = 1u; l < 16u; l += 1u) {
        total_2 = total_2 + bitcast<f32>(pool[lane + 224u + l * 64u]);
      }
      pool[lane + 144u] = bitcast<u32>(select(-3e38f, total_2 * 0.125f, start + (lane % 64u) < seen));
    }
    workgroupBarrier();
    if (lane < 16u) {
      let from_score = (lane / 16u) * 64u + (lane % 16u) + 144u;
      var total_3 = bitcast<f32>(pool[from_score]);
      for (var l_2 = 1u; l_2 < 4u; l_2 += 1u) {
        total_3 = max(total_3, bitcast<f32>(pool[from_score + l_2 * 16u]));
      }
      pool[lane + 208u] = bitcast<u32>(total_3);
    }
    workgroupBarrier();
    var total_4 = bitcast<f32>(pool[208u]);
    for (var l_3 = 1u; l_3 < 16u; l_3 += 1u) {
      total_4 = max(total_4, bitcast<f32>(pool[l_3 + 208u]));
    }
    let new_top = max(top, total_4);
    let shrink = exp(top - new_top);
    top = new_top;
    total = total * shrink;
    y = y * shrink;
    y_2 = y_2 * shrink;
    if (lane < 64u) {
      pool[lane + 144u] = bitcast<u32>(exp(bitcast<f32>(pool[lane + 144u]) - new_top));
    }
    workgroupBarrier();
    let column = lane % 32u;
    let team = lane / 32u;
    let item = min(column, 31u);
    let here = min(seen - start, 64u);
    for (var b_5 = team * 4u; b_5 < here; b_5 += 32u) {
      let row_5 = pool[b_5 + 80u] * 80u + group_of * 64u;
      let pair_5 = b1[p1 + ((row_5 / 2u) + item)];
      let row_6 = pool[b_5 + 81u] * 80u + group_of * 64u;
      let pair_6 = b1[p1 + ((row_6 / 2u) + item)];
      let row_7 = pool[b_5 + 82u] * 80u + group_of * 64u;
      let pair_7 = b1[p1 + ((row_7 / 2u) + item)];
      let row_8 = pool[b_5 + 83u] * 80u + group_of * 64u;
      let pair_8 = b1[p1 + ((row_8 / 2u) + item)];
      let value = unpack2x16float(pair_5).x;
      let value_2 = unpack2x16float(pair_5 >> 16u).x;
      let weight = bitcast<f32>(pool[b_5 + 144u]);
      total = total + weight;
      y = fma(weight, value, y);
      y_2 = fma(weight, value_2, y_2);
      let value_3 = unpack2x16float(pair_6).x;
      let value_4 = unpack2x16float(pair_6 >> 16u).x;
      let weight_2 = bitcast<f32>(pool[b_5 + 145u]);
      total = total + weight_2;
      y = fma(weight_2, value_3, y);
      y_2 = fma(weight_2, value_4, y_2);
      let value_5 = unpack2x16float(pair_7).x;
      let value_6 = unpack2x16float(pair_7 >> 16u).x;
      let weight_3 = bitcast<f32>(pool[b_5 + 146u]);
      total = total + weight_3;
      y = fma(weight_3, value_5, y);
      y_2 = fma(weight_3, value_6, y_2);
      let value_7 = unpack2x16float(pair_8).x;
      let value_8 = unpack2x16float(pair_8 >> 16u).x;
      let weight_4 = bitcast<f32>(pool[b_5 + 147u]);
      total = total + weight_4;
      y = fma(weight_4, value_7, y);
      y_2 = fma(weight_4, value_8, y_2);
    }
    workgroupBarrier();
  }
  let column_2 = lane % 32u;
  let team_2 = lane / 32u;
  let at = team_2 * 65u + 224u;
  pool[at + 64u] = bitcast<u32>(total);
  if (column_2 < 32u) {
    pool[at + column_2 * 2u] = bitcast<u32>(y);
    pool[at + column_2 * 2u + 1u] = bitcast<u32>(y_2);
  }
  workgroupBarrier();
  if (lane < 64u) {
    let h = lane / 64u;
    let from_team = h * 65u + 224u;
    var total_5 = bitcast<f32>(pool[from_team + (lane % 64u)]);
    for (var l_4 = 1u; l_4 < 8u; l_4 += 1u) {
      total_5 = total_5 + bitcast<f32>(pool[from_team + (lane % 64u) + l_4 * 65u]);
    }
    var total_6 = bitcast<f32>(pool[from_team + 64u]);
    for (var l_5 = 1u; l_5 < 8u; l_5 += 1u) {
      total_6 = total_6 + bitcast<f32>(pool[from_team + 64u + l_5 * 65u]);
    }
    pool[lane + 1248u] = bitcast<u32>(total_5 / total_6);
  }
  workgroupBarrier();
  if (lane < 64u) {
    let i_5 = own_group / 4u;
    let i_6 = (own_group % 4u) % 4u;
    let v = bitcast<f32>(pool[lane + 1248u]);
    b5[p5 + (i_5 * 256u + i_6 * 64u + lane)] = bitcast<u32>(v);
  }
}

