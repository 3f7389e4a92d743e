test error
graph g {
  %0 = weight a : q8_0[2, 4, 32]
  %1 = weight b : f32[2, 32, 48]
  %2 = product %0 %1 joined=false : q8_0[2, 4, 48]
}
---
graph `g`, %2 (product): rows of [2, 4, 48] cannot be stored as q8_0
