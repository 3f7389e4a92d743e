test wgsl T=4
# A workgroup has a whole row.
graph softmax {
  %0 = input x : f32[T, 2048]
  %1 = reduce_max %0 axis=1 : f32[T, 1]
  %2 = sub %0 %1 : f32[T, 2048]
  %3 = exp %2 : f32[T, 2048]
  %4 = reduce_sum %3 axis=1 : f32[T, 1]
  %5 = div %3 %4 : f32[T, 2048]
  output y = %5
}
---
// reduce_2048: lanes 256; plain rows 1 width 2048
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 1>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read_write> b1: array<u32>;
var<workgroup> pool: array<u32, 2064>;

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let lane = subgroup * size + member;
  let p0 = args[0].x;
  let p1 = args[0].z;
  // part 0: reduce [T] × 2048; plain rows 1 width 2048
  let own_group = group.x;
  for (var time = 0u; time < 8u; time += 1u) {
    let c = time * 256u + lane;
    let at = own_group * 2048u + c;
    let v = bitcast<f32>(b0[p0 + at]);
    pool[c] = bitcast<u32>(v);
  }
  workgroupBarrier();
  var top = bitcast<f32>(pool[0u]);
  for (var time_2 = 0u; time_2 < 8u; time_2 += 1u) {
    let c_2 = time_2 * 256u + lane;
    top = max(top, bitcast<f32>(pool[c_2]));
  }
  let other = subgroupShuffleXor(top, 1u);
  let both = max(top, other);
  let other_2 = subgroupShuffleXor(both, 2u);
  let both_2 = max(both, other_2);
  let other_3 = subgroupShuffleXor(both_2, 4u);
  let both_3 = max(both_2, other_3);
  let other_4 = subgroupShuffleXor(both_3, 8u);
  let both_4 = max(both_3, other_4);
  let other_5 = subgroupShuffleXor(both_4, 16u);
  let both_5 = max(both_4, other_5);
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 2048u] = bitcast<u32>(both_5);
  }
  workgroupBarrier();
  var total = bitcast<f32>(pool[2048u]);
  for (var l = 1u; l < 8u; l += 1u) {
    total = max(total, bitcast<f32>(pool[l + 2048u]));
  }
  var total_2 = 0.0f;
  for (var time_3 = 0u; time_3 < 8u; time_3 += 1u) {
    let c_3 = time_3 * 256u + lane;
    let v_2 = bitcast<f32>(pool[c_3]) - total;
    let v_3 = exp(v_2);
    total_2 = total_2 + v_3;
  }
  let other_6 = subgroupShuffleXor(total_2, 1u);
  let both_6 = total_2 + other_6;
  let other_7 = subgroupShuffleXor(both_6, 2u);
  let both_7 = both_6 + other_7;
  let other_8 = subgroupShuffleXor(both_7, 4u);
  let both_8 = both_7 + other_8;
  let other_9 = subgroupShuffleXor(both_8, 8u);
  let both_9 = both_8 + other_9;
  let other_10 = subgroupShuffleXor(both_9, 16u);
  let both_10 = both_9 + other_10;
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 2056u] = bitcast<u32>(both_10);
  }
  workgroupBarrier();
  var total_3 = bitcast<f32>(pool[2056u]);
  for (var l_2 = 1u; l_2 < 8u; l_2 += 1u) {
    total_3 = total_3 + bitcast<f32>(pool[l_2 + 2056u]);
  }
  for (var time_4 = 0u; time_4 < 8u; time_4 += 1u) {
    let c_4 = time_4 * 256u + lane;
    let v_4 = bitcast<f32>(pool[c_4]) - total;
    let v_5 = exp(v_4);
    let v_6 = (v_5 / total_3);
    b1[p1 + (own_group * 2048u + c_4)] = bitcast<u32>(v_6);
  }
}

