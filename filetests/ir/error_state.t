test error
# A stored state has no other reader: what it held before is gone.
graph g {
  %0 = state kv : f16[S, 8]
  %1 = input x : f32[T, 8]
  %2 = input slots : i32[T]
  %3 = store %0 %1 %2 : f16[S, 8]
  %4 = slice %0 axis=1 start=0 len=4 : f16[S, 4]
  output kv = %3
}
---
graph `g`, %0: state `kv` is stored and has another user
