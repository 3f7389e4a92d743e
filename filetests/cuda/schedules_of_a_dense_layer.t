test schedules T=64,128,512 R=1 S=4096 P=128 workers=132
# How kernels of a dense layer with grouped attention are cut into workgroups, in prompts of some lengths.
graph gqa_moe_layer {
  %0 = input x : f32[T, 2048]
  %1 = weight attn_norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-6 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  %11 = weight attn_q : q4_k[4096, 2048]
  %12 = dot %10 %11 : f32[T, 4096]
  %13 = weight attn_k : q4_k[512, 2048]
  %14 = dot %10 %13 : f32[T, 512]
  %15 = weight attn_v : q4_k[512, 2048]
  %16 = dot %10 %15 : f32[T, 512]
  %17 = reshape %12 : f32[T, 32, 128]
  %18 = weight attn_q_norm : f32[128]
  %19 = mul %17 %17 : f32[T, 32, 128]
  %20 = reduce_sum %19 axis=2 : f32[T, 32, 1]
  %21 = const 128.0 : f32[]
  %22 = div %20 %21 : f32[T, 32, 1]
  %23 = add %22 %6 : f32[T, 32, 1]
  %24 = rsqrt %23 : f32[T, 32, 1]
  %25 = mul %17 %24 : f32[T, 32, 128]
  %26 = mul %25 %18 : f32[T, 32, 128]
  %27 = input pos : i32[T]
  %28 = input tables.0 : f32[T, 64]
  %29 = input tables.1 : f32[T, 64]
  %30 = rope %26 %28 %29 style=halves : f32[T, 32, 128]
  %31 = reshape %14 : f32[T, 4, 128]
  %32 = weight attn_k_norm : f32[128]
  %33 = mul %31 %31 : f32[T, 4, 128]
  %34 = reduce_sum %33 axis=2 : f32[T, 4, 1]
  %35 = div %34 %21 : f32[T, 4, 1]
  %36 = add %35 %6 : f32[T, 4, 1]
  %37 = rsqrt %36 : f32[T, 4, 1]
  %38 = mul %31 %37 : f32[T, 4, 128]
  %39 = mul %38 %32 : f32[T, 4, 128]
  %40 = rope %39 %28 %29 style=halves : f32[T, 4, 128]
  %41 = reshape %40 : f32[T, 512]
  %42 = state k : f16[S, 512]
  %43 = input slots : i32[T]
  %44 = store %42 %41 %43 : f16[S, 512]
  %45 = state v : f16[S, 512]
  %46 = store %45 %16 %43 : f16[S, 512]
  %47 = input first : i32[T]
  %48 = input pages : i32[P]
  %49 = attend %30 %44 %46 %27 %47 %48 scale=0.088388346 kv_heads=4 page=32 : f32[T, 32, 128]
  %50 = reshape %49 : f32[T, 4096]
  %51 = weight attn_output : q4_k[2048, 4096]
  %52 = dot %50 %51 : f32[T, 2048]
  %53 = add %0 %52 : f32[T, 2048]
  %54 = weight ffn_norm : f32[2048]
  %55 = mul %53 %53 : f32[T, 2048]
  %56 = reduce_sum %55 axis=1 : f32[T, 1]
  %57 = div %56 %4 : f32[T, 1]
  %58 = add %57 %6 : f32[T, 1]
  %59 = rsqrt %58 : f32[T, 1]
  %60 = mul %53 %59 : f32[T, 2048]
  %61 = mul %60 %54 : f32[T, 2048]
  %62 = weight ffn_gate : q4_k[6144, 2048]
  %63 = weight ffn_up : q4_k[6144, 2048]
  %64 = dot %61 %62 : f32[T, 6144]
  %65 = dot %61 %63 : f32[T, 6144]
  %66 = silu %64 : f32[T, 6144]
  %67 = mul %66 %65 : f32[T, 6144]
  %68 = weight ffn_down : q6_k[2048, 6144]
  %69 = dot %67 %68 : f32[T, 2048]
  %70 = add %53 %69 : f32[T, 2048]
  output k = %44
  output v = %46
  output x = %70
}
---
steps of 64
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_4096x2048_q4_k+2
    lanes 256
    dot.units rows 16 width 128 reduce 16 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
  reduce_128+1
    lanes 256
    plain rows 1 width 128
    plain rows 1 width 128
  attend_32x128
    lanes 256
    attend.units rows 8 reduce 4 chunk 64
  dot_2048x4096_q4_k
    lanes 256
    dot.units rows 32 width 32 reduce 32 upcast 1
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_6144x2048_q4_k&dot_6144x2048_q4_k
    lanes 256
    dot.units rows 32 width 128 reduce 16 upcast 1
  dot_2048x6144_q6_k
    lanes 256
    dot.units rows 32 width 32 reduce 32 upcast 1
steps of 128
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_4096x2048_q4_k+2
    lanes 256
    dot.units rows 32 width 128 reduce 16 upcast 1
    dot.units rows 32 width 32 reduce 16 upcast 1
    dot.units rows 32 width 32 reduce 16 upcast 1
  reduce_128+1
    lanes 256
    plain rows 1 width 128
    plain rows 1 width 128
  attend_32x128
    lanes 256
    attend.warpgroups reduce 4 chunk 64 apart
  dot_2048x4096_q4_k
    lanes 256
    dot.units rows 32 width 16 reduce 32 upcast 1
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_6144x2048_q4_k&dot_6144x2048_q4_k
    lanes 128
    dot.units rows 32 width 64 reduce 16 upcast 1
  dot_2048x6144_q6_k
    lanes 256
    dot.units rows 32 width 16 reduce 32 upcast 1
steps of 512
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_4096x2048_q4_k+2
    lanes 256
    dot.units rows 128 width 64 reduce 16 upcast 1
    dot.units rows 128 width 64 reduce 16 upcast 1
    dot.units rows 128 width 64 reduce 16 upcast 1
  reduce_128+1
    lanes 256
    plain rows 1 width 128
    plain rows 1 width 128
  attend_32x128
    lanes 256
    attend.warpgroups reduce 4 chunk 64 apart
  dot_2048x4096_q4_k
    lanes 128
    dot.units rows 32 width 128 reduce 32 upcast 2
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_6144x2048_q4_k&dot_6144x2048_q4_k
    lanes 256
    dot.units rows 128 width 64 reduce 16 upcast 1
  dot_2048x6144_q6_k
    lanes 128
    dot.units rows 32 width 128 reduce 32 upcast 2
