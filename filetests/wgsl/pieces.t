test wgsl T=1 pieces=2
# A weight that is larger than a binding is two of them; each word is in one or the other.
graph pieces {
  %0 = input x : f32[T, 64]
  %1 = weight w : f16[8, 64]
  %2 = dot %0 %1 : f32[T, 8]
  output y = %2
}
---
// dot_8x64_f16: lanes 256; dot.lanes rows 1 width 8 reduce 16 upcast 1
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 2>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<u32>;
@group(0) @binding(3) var<storage, read> b1_0: array<u32>;
@group(0) @binding(4) var<storage, read> b1_1: array<u32>;
@group(0) @binding(5) var<storage, read_write> b2: array<u32>;
var<workgroup> pool: array<u32, 264>;

fn b1(at: u32) -> u32 {
  if (at < 0x40000000u) { return b1_0[at]; }
  return b1_1[at - 0x40000000u];
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let p0 = args[0].x;
  let p1 = args[0].z;
  let p2 = args[1].x;
  // part 0: dot [T] × 8; dot.lanes rows 1 width 8 reduce 16 upcast 1
  let own_group = group.x;
  let share = lane % 16u;
  let own = lane / 16u;
  let column = min(own, 7u);
  // times f16[8, 64]
  var sum = 0.0f;
  let x = own_group * 64u;
  let x_2 = p0 + x;
  let row = column * 64u;
  let pair = b1(p1 + ((row / 2u) + share));
  let pair_2 = b1(p1 + ((row / 2u) + share) + 16u);
  let value = unpack2x16float(pair).x;
  let xv = bitcast<f32>(b0[x_2 + share * 2u]);
  sum = fma(value, xv, sum);
  let value_2 = unpack2x16float(pair >> 16u).x;
  let xv_2 = bitcast<f32>(b0[x_2 + share * 2u + 1u]);
  sum = fma(value_2, xv_2, sum);
  let value_3 = unpack2x16float(pair_2).x;
  let xv_3 = bitcast<f32>(b0[x_2 + share * 2u + 32u]);
  sum = fma(value_3, xv_3, sum);
  let value_4 = unpack2x16float(pair_2 >> 16u).x;
  let xv_4 = bitcast<f32>(b0[x_2 + share * 2u + 33u]);
  sum = fma(value_4, xv_4, sum);
  let to = share * 16u + own;
  pool[to] = bitcast<u32>(sum);
  workgroupBarrier();
  if (lane < 16u) {
    let own_2 = lane % 16u;
    if (own_2 < 8u) {
      var total = bitcast<f32>(pool[lane]);
      for (var l = 1u; l < 16u; l += 1u) {
        total = total + bitcast<f32>(pool[lane + l * 16u]);
      }
      pool[(lane / 16u) * 8u + own_2 + 256u] = bitcast<u32>(total);
    }
  }
  workgroupBarrier();
  if (lane < 8u) {
    let v = bitcast<f32>(pool[lane + 256u]);
    b2[p2 + (own_group * 8u + lane)] = bitcast<u32>(v);
  }
}

