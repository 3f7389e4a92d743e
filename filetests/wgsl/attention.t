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
// attend_4x80: lanes 256; attend.lanes rows 1 reduce 16 upcast 4 chunk 128 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 1312>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p4 = args[2].x;
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 4] × 64; attend.lanes rows 1 reduce 16 upcast 4 chunk 128 spread; chunks
  let own_group = group.x;
  let rows_at = own_group % 4u;
  let chunk = own_group / 4u;
  let i = rows_at / 4u;
  let i_2 = (rows_at % 4u) % 4u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 80u, n1 / 80u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2 + i]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3 + i];
  let group_of = i_2 / 4u;
  let chunk_start = chunk * 128u;
  if (chunk_start < seen) {
    if (lane < 80u) {
      let i_3 = (rows_at + (lane / 80u)) / 4u;
      let i_4 = ((rows_at + (lane / 80u)) % 4u) % 4u;
      pool[lane] = b0[p0 + (i_3 * 320u + i_4 * 80u + (lane % 80u))];
    }
    let chunk_end = min(chunk_start + 128u, seen);
    var top = -2e38f;
    var total = 0.0f;
    var y = 0.0f;
    var y_2 = 0.0f;
    var y_3 = 0.0f;
    var y_4 = 0.0f;
    workgroupBarrier();
    for (var start = chunk_start; start < chunk_end; start += 64u) {
      if (lane < 64u) {
        let p = min(start + lane, chunk_end - 1u);
        pool[lane + 80u] = min(b2[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
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
          total_2 = total_2 + bitcast<f32>(pool[lane + l * 64u + 224u]);
        }
        pool[lane + 144u] = bitcast<u32>(select(-2e38f, total_2 * 0.125f, start + (lane % 64u) < chunk_end));
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
      y_3 = y_3 * shrink;
      y_4 = y_4 * shrink;
      if (lane < 64u) {
        pool[lane + 144u] = bitcast<u32>(exp(bitcast<f32>(pool[lane + 144u]) - new_top));
      }
      workgroupBarrier();
      let column = lane % 16u;
      let team = lane / 16u;
      let item = min(column, 31u);
      let item_2 = min(column + 16u, 31u);
      let here = min(chunk_end - start, 64u);
      for (var b_5 = team * 4u; b_5 < here; b_5 += 64u) {
        let row_5 = pool[b_5 + 80u] * 80u + group_of * 64u;
        let pair_5 = b1[p1 + ((row_5 / 2u) + item)];
        let pair_6 = b1[p1 + ((row_5 / 2u) + item_2)];
        let row_6 = pool[b_5 + 81u] * 80u + group_of * 64u;
        let pair_7 = b1[p1 + ((row_6 / 2u) + item)];
        let pair_8 = b1[p1 + ((row_6 / 2u) + item_2)];
        let row_7 = pool[b_5 + 82u] * 80u + group_of * 64u;
        let pair_9 = b1[p1 + ((row_7 / 2u) + item)];
        let pair_10 = b1[p1 + ((row_7 / 2u) + item_2)];
        let row_8 = pool[b_5 + 83u] * 80u + group_of * 64u;
        let pair_11 = b1[p1 + ((row_8 / 2u) + item)];
        let pair_12 = b1[p1 + ((row_8 / 2u) + item_2)];
        let value = unpack2x16float(pair_5).x;
        let value_2 = unpack2x16float(pair_5 >> 16u).x;
        let value_3 = unpack2x16float(pair_6).x;
        let value_4 = unpack2x16float(pair_6 >> 16u).x;
        let weight = bitcast<f32>(pool[b_5 + 144u]);
        total = total + weight;
        y = fma(weight, value, y);
        y_2 = fma(weight, value_2, y_2);
        y_3 = fma(weight, value_3, y_3);
        y_4 = fma(weight, value_4, y_4);
        let value_5 = unpack2x16float(pair_7).x;
        let value_6 = unpack2x16float(pair_7 >> 16u).x;
        let value_7 = unpack2x16float(pair_8).x;
        let value_8 = unpack2x16float(pair_8 >> 16u).x;
        let weight_2 = bitcast<f32>(pool[b_5 + 145u]);
        total = total + weight_2;
        y = fma(weight_2, value_5, y);
        y_2 = fma(weight_2, value_6, y_2);
        y_3 = fma(weight_2, value_7, y_3);
        y_4 = fma(weight_2, value_8, y_4);
        let value_9 = unpack2x16float(pair_9).x;
        let value_10 = unpack2x16float(pair_9 >> 16u).x;
        let value_11 = unpack2x16float(pair_10).x;
        let value_12 = unpack2x16float(pair_10 >> 16u).x;
        let weight_3 = bitcast<f32>(pool[b_5 + 146u]);
        total = total + weight_3;
        y = fma(weight_3, value_9, y);
        y_2 = fma(weight_3, value_10, y_2);
        y_3 = fma(weight_3, value_11, y_3);
        y_4 = fma(weight_3, value_12, y_4);
        let value_13 = unpack2x16float(pair_11).x;
        let value_14 = unpack2x16float(pair_11 >> 16u).x;
        let value_15 = unpack2x16float(pair_12).x;
        let value_16 = unpack2x16float(pair_12 >> 16u).x;
        let weight_4 = bitcast<f32>(pool[b_5 + 147u]);
        total = total + weight_4;
        y = fma(weight_4, value_13, y);
        y_2 = fma(weight_4, value_14, y_2);
        y_3 = fma(weight_4, value_15, y_3);
        y_4 = fma(weight_4, value_16, y_4);
      }
      workgroupBarrier();
    }
    let column_2 = lane % 16u;
    let team_2 = lane / 16u;
    let at = team_2 * 68u + 224u;
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
    workgroupBarrier();
    if (lane < 64u) {
      let h = lane / 64u;
      let column_3 = lane % 64u;
      let from_team = h * 68u + column_3 + 224u;
      var total_5 = bitcast<f32>(pool[from_team]);
      for (var l_4 = 1u; l_4 < 16u; l_4 += 1u) {
        total_5 = total_5 + bitcast<f32>(pool[from_team + l_4 * 68u]);
      }
      b4[(rows_at * ((sizes.w * 32u + 127u) / 128u) + chunk + h) * 68u + column_3] = bitcast<u32>(total_5);
    }
    if (lane < 1u) {
      let to = (rows_at * ((sizes.w * 32u + 127u) / 128u) + chunk + lane) * 68u + 64u;
      let from_team_2 = lane * 68u + 288u;
      var total_6 = bitcast<f32>(pool[from_team_2]);
      for (var l_5 = 1u; l_5 < 16u; l_5 += 1u) {
        total_6 = total_6 + bitcast<f32>(pool[from_team_2 + l_5 * 68u]);
      }
      let its_top = bitcast<f32>(pool[lane * 68u + 289u]);
      b4[to] = bitcast<u32>(total_6);
      b4[to + 1u] = bitcast<u32>(its_top);
    }
  }
}

// attend_4x80: lanes 256; attend.lanes rows 1 reduce 16 upcast 4 chunk 128 spread
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 3>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read> b2: array<u32>;
@group(0) @binding(5) var<storage, read_write> b3: array<u32>;
@group(0) @binding(6) var<storage, read_write> b4: array<u32>;
var<workgroup> pool: array<u32, 64>;
var<workgroup> agreed: vec4<u32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p2 = args[1].x;
  let p3 = args[1].z;
  let p5 = args[2].z;
  let n1 = args[0].w;
  let n4 = args[2].y;
  // part 0: attend [T, 4] × 64; attend.lanes rows 1 reduce 16 upcast 4 chunk 128 spread; together
  let own_group = group.x;
  let i = own_group / 4u;
  let i_2 = (own_group % 4u) % 4u;
  let last_page = max(min(n4, sizes.w), 1u) - 1u;
  let last_position = last_page * 32u + 31u;
  let last_row = max(min(n1 / 80u, n1 / 80u), 1u) - 1u;
  if (lane == 0u) { agreed.x = b2[p2 + i]; }
  let position = workgroupUniformLoad(&agreed).x;
  let seen = min(position, last_position) + 1u;
  let pages_at = b2[p3 + i];
  let chunks = (seen + 127u) / 128u;
  if (lane < 64u) {
    let h = lane / 64u;
    let column = lane % 64u;
    var sum = 0.0f;
    var sum_2 = 0.0f;
    var top = -2e38f;
    for (var chunk = 0u; chunk < chunks; chunk += 8u) {
      let put_at = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk, chunks - 1u) + h) * 68u;
      let put_down = bitcast<f32>(b4[column + put_at]);
      let put_down_2 = bitcast<f32>(b4[put_at + 64u]);
      let put_down_3 = bitcast<f32>(b4[put_at + 65u]);
      let its_top = select(-2e38f, put_down_3, chunk < chunks);
      let chunk_2 = chunk + 1u;
      let put_at_2 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_2, chunks - 1u) + h) * 68u;
      let put_down_4 = bitcast<f32>(b4[column + put_at_2]);
      let put_down_5 = bitcast<f32>(b4[put_at_2 + 64u]);
      let put_down_6 = bitcast<f32>(b4[put_at_2 + 65u]);
      let its_top_2 = select(-2e38f, put_down_6, chunk_2 < chunks);
      let chunk_3 = chunk + 2u;
      let put_at_3 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_3, chunks - 1u) + h) * 68u;
      let put_down_7 = bitcast<f32>(b4[column + put_at_3]);
      let put_down_8 = bitcast<f32>(b4[put_at_3 + 64u]);
      let put_down_9 = bitcast<f32>(b4[put_at_3 + 65u]);
      let its_top_3 = select(-2e38f, put_down_9, chunk_3 < chunks);
      let chunk_4 = chunk + 3u;
      let put_at_4 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_4, chunks - 1u) + h) * 68u;
      let put_down_10 = bitcast<f32>(b4[column + put_at_4]);
      let put_down_11 = bitcast<f32>(b4[put_at_4 + 64u]);
      let put_down_12 = bitcast<f32>(b4[put_at_4 + 65u]);
      let its_top_4 = select(-2e38f, put_down_12, chunk_4 < chunks);
      let chunk_5 = chunk + 4u;
      let put_at_5 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_5, chunks - 1u) + h) * 68u;
      let put_down_13 = bitcast<f32>(b4[column + put_at_5]);
      let put_down_14 = bitcast<f32>(b4[put_at_5 + 64u]);
      let put_down_15 = bitcast<f32>(b4[put_at_5 + 65u]);
      let its_top_5 = select(-2e38f, put_down_15, chunk_5 < chunks);
      let chunk_6 = chunk + 5u;
      let put_at_6 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_6, chunks - 1u) + h) * 68u;
      let put_down_16 = bitcast<f32>(b4[column + put_at_6]);
      let put_down_17 = bitcast<f32>(b4[put_at_6 + 64u]);
      let put_down_18 = bitcast<f32>(b4[put_at_6 + 65u]);
      let its_top_6 = select(-2e38f, put_down_18, chunk_6 < chunks);
      let chunk_7 = chunk + 6u;
      let put_at_7 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_7, chunks - 1u) + h) * 68u;
      let put_down_19 = bitcast<f32>(b4[column + put_at_7]);
      let put_down_20 = bitcast<f32>(b4[put_at_7 + 64u]);
      let put_down_21 = bitcast<f32>(b4[put_at_7 + 65u]);
      let its_top_7 = select(-2e38f, put_down_21, chunk_7 < chunks);
      let chunk_8 = chunk + 7u;
      let put_at_8 = (own_group * ((sizes.w * 32u + 127u) / 128u) + min(chunk_8, chunks - 1u) + h) * 68u;
      let put_down_22 = bitcast<f32>(b4[column + put_at_8]);
      let put_down_23 = bitcast<f32>(b4[put_at_8 + 64u]);
      let put_down_24 = bitcast<f32>(b4[put_at_8 + 65u]);
      let its_top_8 = select(-2e38f, put_down_24, chunk_8 < chunks);
      let new_top = max(top, its_top);
      let shrink = exp(top - new_top);
      let shrink_2 = exp(its_top - new_top);
      sum = fma(put_down, shrink_2, sum * shrink);
      sum_2 = fma(put_down_2, shrink_2, sum_2 * shrink);
      top = new_top;
      let new_top_2 = max(top, its_top_2);
      let shrink_3 = exp(top - new_top_2);
      let shrink_4 = exp(its_top_2 - new_top_2);
      sum = fma(put_down_4, shrink_4, sum * shrink_3);
      sum_2 = fma(put_down_5, shrink_4, sum_2 * shrink_3);
      top = new_top_2;
      let new_top_3 = max(top, its_top_3);
      let shrink_5 = exp(top - new_top_3);
      let shrink_6 = exp(its_top_3 - new_top_3);
      sum = fma(put_down_7, shrink_6, sum * shrink_5);
      sum_2 = fma(put_down_8, shrink_6, sum_2 * shrink_5);
      top = new_top_3;
      let new_top_4 = max(top, its_top_4);
      let shrink_7 = exp(top - new_top_4);
      let shrink_8 = exp(its_top_4 - new_top_4);
      sum = fma(put_down_10, shrink_8, sum * shrink_7);
      sum_2 = fma(put_down_11, shrink_8, sum_2 * shrink_7);
      top = new_top_4;
      let new_top_5 = max(top, its_top_5);
      let shrink_9 = exp(top - new_top_5);
      let shrink_10 = exp(its_top_5 - new_top_5);
      sum = fma(put_down_13, shrink_10, sum * shrink_9);
      sum_2 = fma(put_down_14, shrink_10, sum_2 * shrink_9);
      top = new_top_5;
      let new_top_6 = max(top, its_top_6);
      let shrink_11 = exp(top - new_top_6);
      let shrink_12 = exp(its_top_6 - new_top_6);
      sum = fma(put_down_16, shrink_12, sum * shrink_11);
      sum_2 = fma(put_down_17, shrink_12, sum_2 * shrink_11);
      top = new_top_6;
      let new_top_7 = max(top, its_top_7);
      let shrink_13 = exp(top - new_top_7);
      let shrink_14 = exp(its_top_7 - new_top_7);
      sum = fma(put_down_19, shrink_14, sum * shrink_13);
      sum_2 = fma(put_down_20, shrink_14, sum_2 * shrink_13);
      top = new_top_7;
      let new_top_8 = max(top, its_top_8);
      let shrink_15 = exp(top - new_top_8);
      let shrink_16 = exp(its_top_8 - new_top_8);
      sum = fma(put_down_22, shrink_16, sum * shrink_15);
      sum_2 = fma(put_down_23, shrink_16, sum_2 * shrink_15);
      top = new_top_8;
    }
    let inverse = (1.0f / sum_2);
    pool[lane] = bitcast<u32>(sum * inverse);
  }
  workgroupBarrier();
  if (lane < 64u) {
    let i_3 = own_group / 4u;
    let i_4 = (own_group % 4u) % 4u;
    let v = bitcast<f32>(pool[lane]);
    b3[p5 + (i_3 * 256u + i_4 * 64u + lane)] = bitcast<u32>(v);
  }
}

