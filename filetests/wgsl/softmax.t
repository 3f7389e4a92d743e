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
var<workgroup> pool: array<u32, 544>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  // part 0: reduce [T] × 2048; rows 1 width 2048 reduce 1 upcast 1
  let own_group = group.x;
  let at = own_group * 2048u;
  let v = bitcast<f32>(b0[p0 + at]);
  var top = v;
  for (var c = lane; c < 2048u; c += 256u) {
    let at_2 = own_group * 2048u + c;
    let v_2 = bitcast<f32>(b0[p0 + at_2]);
    top = max(top, v_2);
  }
  pool[lane] = bitcast<u32>(top);
  workgroupBarrier();
  if (lane < 16u) {
    var total = bitcast<f32>(pool[lane]);
    for (var l = 1u; l < 16u; l += 1u) {
      total = max(total, bitcast<f32>(pool[lane + l * 16u]));
    }
    pool[lane + 256u] = bitcast<u32>(total);
  }
  workgroupBarrier();
  var total_2 = bitcast<f32>(pool[256u]);
  for (var l_2 = 1u; l_2 < 16u; l_2 += 1u) {
    total_2 = max(total_2, bitcast<f32>(pool[l_2 + 256u]));
  }
  var total_3 = 0.0f;
  for (var c_2 = lane; c_2 < 2048u; c_2 += 256u) {
    let at_3 = own_group * 2048u + c_2;
    let v_3 = bitcast<f32>(b0[p0 + at_3]);
    let v_4 = v_3 - total_2;
    let v_5 = exp(v_4);
    total_3 = total_3 + v_5;
  }
  pool[lane + 272u] = bitcast<u32>(total_3);
  workgroupBarrier();
  if (lane < 16u) {
    var total_4 = bitcast<f32>(pool[lane + 272u]);
    for (var l_3 = 1u; l_3 < 16u; l_3 += 1u) {
      total_4 = total_4 + bitcast<f32>(pool[lane + 272u + l_3 * 16u]);
    }
    pool[lane + 528u] = bitcast<u32>(total_4);
  }
  workgroupBarrier();
  var total_5 = bitcast<f32>(pool[528u]);
  for (var l_4 = 1u; l_4 < 16u; l_4 += 1u) {
    total_5 = total_5 + bitcast<f32>(pool[l_4 + 528u]);
  }
  for (var c_3 = lane; c_3 < 2048u; c_3 += 256u) {
    let at_4 = own_group * 2048u + c_3;
    let v_6 = bitcast<f32>(b0[p0 + at_4]);
    let v_7 = v_6 - total_2;
    let v_8 = exp(v_7);
    let v_9 = v_8 / total_5;
    b1[p1 + (own_group * 2048u + c_3)] = bitcast<u32>(v_9);
  }
}

