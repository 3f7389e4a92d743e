test wgsl T=1
# Fewer columns than lanes: the lanes that have none read the last one's weights, and never beyond the matrix.
graph few_columns {
  %0 = input x : f32[T, 64]
  %1 = weight w : f32[5, 64]
  %2 = dot %0 %1 : f32[T, 5]
  output y = %2
}
---
// dot_5x64_f32: lanes 256; dot.lanes rows 1 width 5 reduce 16 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1: array<u32>;
@group(0) @binding(4) var<storage, read_write> b2: array<u32>;
var<workgroup> pool: array<u32, 261>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  // part 0: dot [T] × 5; dot.lanes rows 1 width 5 reduce 16 upcast 1
  let own_group = group.x;
  let share = lane % 16u;
  let own = lane / 16u;
  let column = min(own, 4u);
  // times f32[5, 64]
  var sum = 0.0f;
  let x = own_group * 64u;
  let x_2 = p0 + x;
  let row = column * 64u;
  let value = bitcast<f32>(b1[p1 + (row + share)]);
  let value_2 = bitcast<f32>(b1[p1 + (row + share) + 16u]);
  let value_3 = bitcast<f32>(b1[p1 + (row + share) + 32u]);
  let value_4 = bitcast<f32>(b1[p1 + (row + share) + 48u]);
  let xv = bitcast<f32>(b0[x_2 + share]);
  sum = fma(value, xv, sum);
  let xv_2 = bitcast<f32>(b0[x_2 + share + 16u]);
  sum = fma(value_2, xv_2, sum);
  let xv_3 = bitcast<f32>(b0[x_2 + share + 32u]);
  sum = fma(value_3, xv_3, sum);
  let xv_4 = bitcast<f32>(b0[x_2 + share + 48u]);
  sum = fma(value_4, xv_4, sum);
  let to = share * 16u + own;
  pool[to] = bitcast<u32>(sum);
  workgroupBarrier();
  if (lane < 16u) {
    let own_2 = lane % 16u;
    if (own_2 < 5u) {
      var total = bitcast<f32>(pool[lane]);
      for (var l = 1u; l < 16u; l += 1u) {
        total = total + bitcast<f32>(pool[lane + l * 16u]);
      }
      pool[(lane / 16u) * 5u + own_2 + 256u] = bitcast<u32>(total);
    }
  }
  workgroupBarrier();
  if (lane < 5u) {
    let v = bitcast<f32>(pool[lane + 256u]);
    b2[p2 + (own_group * 5u + lane)] = bitcast<u32>(v);
  }
}

