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
// reduce_2048: lanes 256; rows 1 width 2048 reduce 1 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 1>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read_write> b1: array<u32>;
var<workgroup> pool: array<u32, 2592>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  // part 0: reduce [T] × 2048; rows 1 width 2048 reduce 1 upcast 1
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
  pool[lane + 2048u] = bitcast<u32>(top);
  workgroupBarrier();
  if (lane < 16u) {
    var total = bitcast<f32>(pool[lane + 2048u]);
    for (var l = 1u; l < 16u; l += 1u) {
      total = max(total, bitcast<f32>(pool[lane + 2048u + l * 16u]));
    }
    pool[lane + 2304u] = bitcast<u32>(total);
  }
  workgroupBarrier();
  var total_2 = bitcast<f32>(pool[2304u]);
  for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
    total_2 = max(total_2, bitcast<f32>(pool[l_2 + 2304u]));
  }
  var total_3 = 0.0f;
  for (var time_3 = 0u; time_3 < 8u; time_3 += 1u) {
    let c_3 = time_3 * 256u + lane;
    let v_2 = bitcast<f32>(pool[c_3]) - total_2;
    let v_3 = exp(v_2);
    total_3 = total_3 + v_3;
  }
  pool[lane + 2320u] = bitcast<u32>(total_3);
  workgroupBarrier();
  if (lane < 16u) {
    var total_4 = bitcast<f32>(pool[lane + 2320u]);
    for (var l_3 = 1u; l_3 < 16u; l_3 += 1u) {
      total_4 = total_4 + bitcast<f32>(pool[lane + 2320u + l_3 * 16u]);
    }
    pool[lane + 2576u] = bitcast<u32>(total_4);
  }
  workgroupBarrier();
  var total_5 = bitcast<f32>(pool[2576u]);
  for (var l_4 = 1u; l_4 < 16u; l_4 += 1u) {
    total_5 = total_5 + bitcast<f32>(pool[l_4 + 2576u]);
  }
  for (var time_4 = 0u; time_4 < 8u; time_4 += 1u) {
    let c_4 = time_4 * 256u + lane;
    let v_4 = bitcast<f32>(pool[c_4]) - total_2;
    let v_5 = exp(v_4);
    let v_6 = v_5 / total_5;
    b1[p1 + (own_group * 2048u + c_4)] = bitcast<u32>(v_6);
  }
}

