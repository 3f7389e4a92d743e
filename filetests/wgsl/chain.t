test chain T=1
# Three kernels in one launch. The last one reads what both others wrote.
graph chain {
  %0 = input x : f32[T, 64]
  %1 = weight a : f32[32, 64]
  %2 = dot %0 %1 : f32[T, 32]
  %3 = weight b : f32[48, 32]
  %4 = dot %2 %3 : f32[T, 48]
  %5 = weight c : f32[32, 48]
  %6 = dot %4 %5 : f32[T, 32]
  %7 = mul %6 %2 : f32[T, 32]
  output y = %7
}
---
// 3 launches in one
@group(0) @binding(0) var<uniform> args: array<vec4<u32>, 7>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(4) @coherent var<storage, read_write> b2: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> b3: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> b4: array<vec4<u32>>;
@group(0) @binding(7) @coherent var<storage, read_write> b5: array<u32>;
@group(0) @binding(8) var<storage, read_write> counts: array<atomic<u32>>;
var<workgroup> pool: array<u32, 96>;
var<workgroup> agreed: vec4<u32>;

fn count(stage: u32) {
  atomicAdd(&counts[32u * (stage + 1u)], 1u);
}

fn meet(stage: u32, working: u32) -> u32 {
  for (var looks = 1u; looks < 0x100000u; looks += 1u) {
    let found = atomicLoad(&counts[32u * (stage + 1u)]);
    if (found >= working) { return found >> 31u; }
    if (looks % 1024u == 0u && atomicLoad(&counts[1u]) > 0u) { break; }
  }
  atomicStore(&counts[1u], 1u);
  return 0u;
}

fn leave(stages: u32, launched: u32) {
  if (atomicAdd(&counts[2u], 1u) + 1u == launched) {
    for (var stage = 0u; stage < stages; stage += 1u) { atomicStore(&counts[32u * (stage + 1u)], 0u); }
    atomicStore(&counts[2u], 0u);
  }
}

fn census() {
  if (atomicAdd(&counts[2u], 1u) < 0x80000000u) {
    for (var i = 0u; i < 100u; i += 1u) {
      if (atomicAdd(&counts[3u], 1u) == 0xffffffffu) { break; }
    }
    let begun = atomicOr(&counts[2u], 0x80000000u);
    if (begun < 0x80000000u) { atomicStore(&counts[32u], begun); }
  }
}

@compute @workgroup_size(256)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32, @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) launched: vec3<u32>) {
  let lane = subgroup * size + member;
  if (args[0].x > 0u) { if (lane == 0u) { census(); } workgroupBarrier(); return; }
  let hidden_zero = group.z;
  var met = 0u;
  var ended = 0u;
  var working = 0u;
  // stage 0: dot_32x64_f32: lanes 256; dot.lanes rows 1 width 16 reduce 16 upcast 1
  let groups_of_stage_0 = sizes.x * 2u;
  for (var group_of_stage_0 = group.x; group_of_stage_0 < groups_of_stage_0; group_of_stage_0 += launched.x) {
    let p0 = args[1].x;
    let p1 = args[1].z;
    let p2 = args[2].x;
    // part 0: dot [T] × 32; dot.lanes rows 1 width 16 reduce 16 upcast 1
    let first = group_of_stage_0 * 16u;
    let item = min(lane, 15u);
    let column = first + item;
    let share = lane % 16u;
    let own = lane / 16u;
    let column_2 = first + own;
    // times f32[32, 64]
    var sum = 0.0f;
    let row = column_2 * 64u;
    let four = b1[(p1 + (row + share * 4u)) / 4u];
    let xv = b0[(p0 + share * 4u) / 4u];
    sum = fma(bitcast<f32>(four.x), bitcast<f32>(xv.x), sum);
    sum = fma(bitcast<f32>(four.y), bitcast<f32>(xv.y), sum);
    sum = fma(bitcast<f32>(four.z), bitcast<f32>(xv.z), sum);
    sum = fma(bitcast<f32>(four.w), bitcast<f32>(xv.w), sum);
    let other = subgroupShuffleXor(sum, 1u);
    let both = sum + other;
    let other_2 = subgroupShuffleXor(both, 2u);
    let both_2 = both + other_2;
    let other_3 = subgroupShuffleXor(both_2, 4u);
    let both_3 = both_2 + other_3;
    let other_4 = subgroupShuffleXor(both_3, 8u);
    let both_4 = both_3 + other_4;
    let to = (share / 16u) * 16u + own;
    if ((share % 16u) == 0u) {
      pool[to] = bitcast<u32>(both_4);
    }
    workgroupBarrier();
    var result = 0.0f;
    if (lane < 16u) {
      var total = bitcast<f32>(pool[lane]);
      result = total;
    }
    if (lane < 32u) {
      if (lane < 16u) {
        b2[(p2 + column) / 4u][(p2 + column) % 4u] = bitcast<u32>(result);
      }
    }
    workgroupBarrier();
  }
  if (group.x < groups_of_stage_0) {
    storageBarrier();
    if (lane == 0u) { count(0u); }
  }
  if (groups_of_stage_0 > 0u) {
    ended = 0u;
    working = min(groups_of_stage_0, launched.x);
  }
  // stage 1: dot_48x32_f32: lanes 256; dot.lanes rows 1 width 32 reduce 8 upcast 1
  let groups_of_stage_1 = sizes.x * 2u;
  for (var group_of_stage_1 = group.x; group_of_stage_1 < groups_of_stage_1; group_of_stage_1 += launched.x) {
    let p0 = args[3].x;
    let p1 = args[3].z;
    let p2 = args[4].x;
    // part 0: dot [T] × 48; dot.lanes rows 1 width 32 reduce 8 upcast 1
    let first = group_of_stage_1 * 32u;
    let column = min(first + lane, 47u);
    if (group_of_stage_1 == group.x) {
      if (lane == 0u) { agreed.x = meet(ended, working); }
      met = workgroupUniformLoad(&agreed).x;
    }
    let share = lane % 8u;
    let own = lane / 8u;
    let column_2 = min(first + own, 47u);
    // times f32[48, 32]
    var sum = 0.0f;
    let row = column_2 * 32u;
    let four = b3[(p1 + (row + share * 4u)) / 4u];
    let xv = b2[(p0 + share * 4u + met) / 4u];
    sum = fma(bitcast<f32>(four.x), bitcast<f32>(xv.x), sum);
    sum = fma(bitcast<f32>(four.y), bitcast<f32>(xv.y), sum);
    sum = fma(bitcast<f32>(four.z), bitcast<f32>(xv.z), sum);
    sum = fma(bitcast<f32>(four.w), bitcast<f32>(xv.w), sum);
    let other = subgroupShuffleXor(sum, 1u);
    let both = sum + other;
    let other_2 = subgroupShuffleXor(both, 2u);
    let both_2 = both + other_2;
    let other_3 = subgroupShuffleXor(both_2, 4u);
    let both_3 = both_2 + other_3;
    let to = (share / 8u) * 32u + own;
    if ((share % 8u) == 0u) {
      pool[to] = bitcast<u32>(both_3);
    }
    workgroupBarrier();
    var result = 0.0f;
    if (lane < 32u) {
      var total = bitcast<f32>(pool[lane]);
      result = total;
    }
    if (lane < 32u) {
      if (first + lane < 48u) {
        b2[(p2 + column) / 4u][(p2 + column) % 4u] = bitcast<u32>(result);
      }
    }
    workgroupBarrier();
  }
  if (group.x < groups_of_stage_1) {
    storageBarrier();
    if (lane == 0u) { count(1u); }
  }
  if (groups_of_stage_1 > 0u) {
    ended = 1u;
    working = min(groups_of_stage_1, launched.x);
  }
  // stage 2: dot_32x48_f32: lanes 256; dot.lanes rows 1 width 32 reduce 4 upcast 1
  let groups_of_stage_2 = sizes.x;
  for (var group_of_stage_2 = group.x; group_of_stage_2 < groups_of_stage_2; group_of_stage_2 += launched.x) {
    let p0 = args[5].x;
    let p1 = args[5].z;
    let p2 = args[6].x;
    let p3 = args[6].z;
    // part 0: dot [T] × 32; dot.lanes rows 1 width 32 reduce 4 upcast 1
    if (group_of_stage_2 == group.x) {
      if (lane == 0u) { agreed.x = meet(ended, working); }
      met = workgroupUniformLoad(&agreed).x;
    }
    var kept = 0.0f;
    if (lane < 32u) {
      let at = group_of_stage_2 * 32u + lane;
      let v = bitcast<f32>(b2[(p2 + at + met) / 4u][(p2 + at + met) % 4u]);
      kept = v;
    }
    let share = lane % 4u;
    let own = lane / 4u;
    let column = min(own, 31u);
    // times f32[32, 48]
    var sum = 0.0f;
    let x = group_of_stage_2 * 48u;
    let x_2 = p0 + x;
    let row = column * 48u;
    let four = b4[(p1 + (row + share * 4u)) / 4u];
    let four_2 = b4[(p1 + (row + share * 4u) + 16u) / 4u];
    let four_3 = b4[(p1 + (row + share * 4u) + 32u) / 4u];
    let xv = b2[(x_2 + share * 4u + met) / 4u];
    sum = fma(bitcast<f32>(four.x), bitcast<f32>(xv.x), sum);
    sum = fma(bitcast<f32>(four.y), bitcast<f32>(xv.y), sum);
    sum = fma(bitcast<f32>(four.z), bitcast<f32>(xv.z), sum);
    sum = fma(bitcast<f32>(four.w), bitcast<f32>(xv.w), sum);
    let xv_2 = b2[(x_2 + share * 4u + met + 16u) / 4u];
    sum = fma(bitcast<f32>(four_2.x), bitcast<f32>(xv_2.x), sum);
    sum = fma(bitcast<f32>(four_2.y), bitcast<f32>(xv_2.y), sum);
    sum = fma(bitcast<f32>(four_2.z), bitcast<f32>(xv_2.z), sum);
    sum = fma(bitcast<f32>(four_2.w), bitcast<f32>(xv_2.w), sum);
    let xv_3 = b2[(x_2 + share * 4u + met + 32u) / 4u];
    sum = fma(bitcast<f32>(four_3.x), bitcast<f32>(xv_3.x), sum);
    sum = fma(bitcast<f32>(four_3.y), bitcast<f32>(xv_3.y), sum);
    sum = fma(bitcast<f32>(four_3.z), bitcast<f32>(xv_3.z), sum);
    sum = fma(bitcast<f32>(four_3.w), bitcast<f32>(xv_3.w), sum);
    let other = subgroupShuffleXor(sum, 1u);
    let both = sum + other;
    let other_2 = subgroupShuffleXor(both, 2u);
    let both_2 = both + other_2;
    let to = (share / 4u) * 64u + own;
    if ((share % 4u) == 0u) {
      pool[to] = bitcast<u32>(both_2);
    }
    workgroupBarrier();
    if (lane < 64u) {
      let own_2 = lane % 64u;
      if (own_2 < 32u) {
        var total = bitcast<f32>(pool[lane]);
        pool[(lane / 64u) * 32u + own_2 + 64u] = bitcast<u32>(total);
      }
    }
    workgroupBarrier();
    if (lane < 32u) {
      let v_2 = bitcast<f32>(pool[lane + 64u]);
      let v_3 = bitcast<f32>(bitcast<u32>(v_2 * kept) ^ hidden_zero);
      b5[p3 + (group_of_stage_2 * 32u + lane)] = bitcast<u32>(v_3);
    }
    workgroupBarrier();
  }
  if (lane == 0u) { leave(3u, launched.x); }
}

