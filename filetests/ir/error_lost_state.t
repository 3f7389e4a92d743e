test error
graph g {
  %0 = state kv : f16[S, 8]
  %1 = input x : f32[T, 8]
  %2 = input slots : i32[T]
  %3 = store %0 %1 %2 : f16[S, 8]
}
---
graph `g`, %3: the stored state is not output `kv`
