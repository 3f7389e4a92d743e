test schedules T=1,64,512 R=1 S=4096 P=128 workers=132
# How kernels of a layer are cut into workgroups whose Q and K are rotated in the launch that multiplies them: in prompts of 512 tokens
# tiles have 128 tokens of a whole head.
graph gqa_dense_layer {
  %0 = input x : f32[T, 5120]
  %1 = weight attn_norm : f32[5120]
  %2 = mul %0 %0 : f32[T, 5120]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 5120.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 5120]
  %10 = mul %9 %1 : f32[T, 5120]
  %11 = weight attn_qkv : q6_k[7680, 5120]
  %12 = dot %10 %11 : f32[T, 7680]
  %13 = slice %12 axis=1 start=0 len=5120 : f32[T, 5120]
  %14 = slice %12 axis=1 start=5120 len=1280 : f32[T, 1280]
  %15 = slice %12 axis=1 start=6400 len=1280 : f32[T, 1280]
  %16 = reshape %13 : f32[T, 40, 128]
  %17 = input pos : i32[T]
  %18 = input tables.0 : f32[T, 64]
  %19 = input tables.1 : f32[T, 64]
  %20 = rope %16 %18 %19 style=halves : f32[T, 40, 128]
  %21 = reshape %14 : f32[T, 10, 128]
  %22 = rope %21 %18 %19 style=halves : f32[T, 10, 128]
  %23 = reshape %22 : f32[T, 1280]
  %24 = state k : f16[S, 1280]
  %25 = input slots : i32[T]
  %26 = store %24 %23 %25 : f16[S, 1280]
  %27 = state v : f16[S, 1280]
  %28 = store %27 %15 %25 : f16[S, 1280]
  %29 = input first : i32[T]
  %30 = input pages : i32[P]
  %31 = attend %20 %26 %28 %17 %29 %30 scale=0.088388346 kv_heads=10 page=32 : f32[T, 40, 128]
  %32 = reshape %31 : f32[T, 5120]
  %33 = weight attn_output : q4_k[5120, 5120]
  %34 = dot %32 %33 : f32[T, 5120]
  %35 = add %0 %34 : f32[T, 5120]
  %36 = weight ffn_norm : f32[5120]
  %37 = mul %35 %35 : f32[T, 5120]
  %38 = reduce_sum %37 axis=1 : f32[T, 1]
  %39 = div %38 %4 : f32[T, 1]
  %40 = add %39 %6 : f32[T, 1]
  %41 = rsqrt %40 : f32[T, 1]
  %42 = mul %35 %41 : f32[T, 5120]
  %43 = mul %42 %36 : f32[T, 5120]
  %44 = weight ffn_up : q4_k[35840, 5120]
  %45 = dot %43 %44 : f32[T, 35840]
  %46 = slice %45 axis=1 start=0 len=17920 : f32[T, 17920]
  %47 = slice %45 axis=1 start=17920 len=17920 : f32[T, 17920]
  %48 = silu %46 : f32[T, 17920]
  %49 = mul %48 %47 : f32[T, 17920]
  %50 = weight ffn_down : q6_k[5120, 17920]
  %51 = dot %49 %50 : f32[T, 5120]
  %52 = add %35 %51 : f32[T, 5120]
  output k = %26
  output v = %28
  output x = %52
}
---
steps of 1
  head_dot_128x5120_q6_k+2
    lanes 256
    dot.lanes rows 1 width 16 reduce 32 upcast 2
    dot.lanes rows 1 width 128 reduce 32 upcast 2
    dot.lanes rows 1 width 128 reduce 32 upcast 2
  attend_40x128
    lanes 256
    attend.units rows 4 reduce 4 chunk 64 spread
  dot_5120x5120_q4_k
    lanes 512
    dot.lanes rows 1 width 32 reduce 32 upcast 2
  dot_17920x5120_q4_k&dot_17920x5120_q4_k
    lanes 256
    dot.lanes rows 1 width 32 reduce 32 upcast 1
  dot_5120x17920_q6_k
    lanes 512
    dot.lanes rows 1 width 16 reduce 32 upcast 1
steps of 64
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  head_dot_128x5120_q6_k+2
    lanes 256
    dot.units rows 16 width 32 reduce 32 upcast 1
    dot.units rows 16 width 128 reduce 32 upcast 1 apart
    dot.units rows 16 width 128 reduce 32 upcast 1 apart
  attend_40x128
    lanes 256
    attend.units rows 4 reduce 4 chunk 64
  dot_5120x5120_q4_k
    lanes 256
    dot.units rows 16 width 128 reduce 32 upcast 1
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  dot_17920x5120_q4_k&dot_17920x5120_q4_k
    lanes 128
    dot.units rows 32 width 64 reduce 32 upcast 1
  dot_5120x17920_q6_k
    lanes 256
    dot.units rows 16 width 128 reduce 32 upcast 1
steps of 512
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  head_dot_128x5120_q6_k+2
    lanes 256
    dot.units rows 128 width 128 reduce 32 upcast 2
    dot.units rows 128 width 128 reduce 32 upcast 2 apart
    dot.units rows 128 width 128 reduce 32 upcast 2 apart
  attend_40x128
    lanes 256
    attend.warpgroups reduce 4 chunk 64 apart
  dot_5120x5120_q4_k
    lanes 256
    dot.units rows 128 width 64 reduce 32 upcast 1
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  dot_17920x5120_q4_k&dot_17920x5120_q4_k
    lanes 256
    dot.units rows 128 width 64 reduce 32 upcast 1
  dot_5120x17920_q6_k
    lanes 256
    dot.units rows 128 width 128 reduce 32 upcast 2
