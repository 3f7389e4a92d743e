test error
# A product is made when the model is loaded, of whole rows of weights.
graph g {
  %0 = input a : f32[2, 4, 32]
  %1 = weight b : q8_0[2, 32, 64]
  %2 = product %0 %1 joined=false : q8_0[2, 4, 64]
}
---
graph `g`, %2 (product): factor %0 is not rows of a weight
