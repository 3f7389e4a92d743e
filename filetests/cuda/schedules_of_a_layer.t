test schedules T=1,8,16,32,64 R=1 S=4096 P=128 workers=132
# How kernels of a layer are cut into workgroups, for replies decoded together.
graph mla_moe_layer {
  %0 = input x : f32[T, 2048]
  %1 = weight attn_norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  %11 = weight attn_q_a : q4_0[768, 2048]
  %12 = dot %10 %11 : f32[T, 768]
  %13 = weight attn_q_a_norm : f32[768]
  %14 = mul %12 %12 : f32[T, 768]
  %15 = reduce_sum %14 axis=1 : f32[T, 1]
  %16 = const 768.0 : f32[]
  %17 = div %15 %16 : f32[T, 1]
  %18 = add %17 %6 : f32[T, 1]
  %19 = rsqrt %18 : f32[T, 1]
  %20 = mul %12 %19 : f32[T, 768]
  %21 = mul %20 %13 : f32[T, 768]
  %22 = weight attn_q_b : q4_0[5120, 768]
  %23 = dot %21 %22 : f32[T, 5120]
  %24 = reshape %23 : f32[T, 20, 256]
  %25 = slice %24 axis=2 start=192 len=64 : f32[T, 20, 64]
  %26 = input pos : i32[T]
  %27 = input tables.0 : f32[T, 32]
  %28 = input tables.1 : f32[T, 32]
  %29 = rope %25 %27 %28 style=pairs : f32[T, 20, 64]
  %30 = slice %24 axis=2 start=0 len=192 : f32[T, 20, 192]
  %31 = weight attn_kv_a_mqa : q4_0[576, 2048]
  %32 = dot %10 %31 : f32[T, 576]
  %33 = slice %32 axis=1 start=0 len=512 : f32[T, 512]
  %34 = weight attn_kv_a_norm : f32[512]
  %35 = mul %33 %33 : f32[T, 512]
  %36 = reduce_sum %35 axis=1 : f32[T, 1]
  %37 = const 512.0 : f32[]
  %38 = div %36 %37 : f32[T, 1]
  %39 = add %38 %6 : f32[T, 1]
  %40 = rsqrt %39 : f32[T, 1]
  %41 = mul %33 %40 : f32[T, 512]
  %42 = mul %41 %34 : f32[T, 512]
  %43 = slice %32 axis=1 start=512 len=64 : f32[T, 64]
  %44 = rope %43 %27 %28 style=pairs : f32[T, 64]
  %45 = concat %42 %44 axis=1 : f32[T, 576]
  %46 = state kv : f16[S, 576]
  %47 = input slots : i32[T]
  %48 = store %46 %45 %47 : f16[S, 576]
  %49 = weight attn_k_b : q4_0[20, 512, 192]
  %50 = weight attn_v_b : q4_0[20, 256, 512]
  %51 = head_dot %30 %49 transposed=false : f32[T, 20, 512]
  %52 = concat %51 %29 axis=2 : f32[T, 20, 576]
  %53 = slice %48 axis=1 start=0 len=512 : f16[S, 512]
  %54 = input first : i32[T]
  %55 = input pages : i32[P]
  %56 = attend %52 %48 %53 %26 %54 %55 scale=0.0625 kv_heads=1 page=32 : f32[T, 20, 512]
  %57 = head_dot %56 %50 transposed=false : f32[T, 20, 256]
  %58 = reshape %57 : f32[T, 5120]
  %59 = weight attn_output : q4_0[2048, 5120]
  %60 = dot %58 %59 : f32[T, 2048]
  %61 = add %0 %60 : f32[T, 2048]
  %62 = weight ffn_norm : f32[2048]
  %63 = mul %61 %61 : f32[T, 2048]
  %64 = reduce_sum %63 axis=1 : f32[T, 1]
  %65 = div %64 %4 : f32[T, 1]
  %66 = add %65 %6 : f32[T, 1]
  %67 = rsqrt %66 : f32[T, 1]
  %68 = mul %61 %67 : f32[T, 2048]
  %69 = mul %68 %62 : f32[T, 2048]
  %70 = weight ffn_gate_inp : f32[64, 2048]
  %71 = dot %69 %70 : f32[T, 64]
  %72 = sigmoid %71 : f32[T, 64]
  %73 = weight exp_probs_b.bias : f32[64]
  %74 = add %72 %73 : f32[T, 64]
  %75 = topk %74 k=4 : i32[T, 4]
  %76 = take %72 %75 : f32[T, 4]
  %77 = reduce_sum %76 axis=1 : f32[T, 1]
  %78 = const 6.1035156e-5 : f32[]
  %79 = max %77 %78 : f32[T, 1]
  %80 = div %76 %79 : f32[T, 4]
  %81 = const 1.8 : f32[]
  %82 = mul %80 %81 : f32[T, 4]
  %83 = weight ffn_gate_exps : q4_0[64, 1536, 2048]
  %84 = weight ffn_up_exps : q4_0[64, 1536, 2048]
  %85 = select_dot %69 %83 %75 : f32[T, 4, 1536]
  %86 = select_dot %69 %84 %75 : f32[T, 4, 1536]
  %87 = weight ffn_down_exps : q4_0[64, 2048, 1536]
  %88 = silu %85 : f32[T, 4, 1536]
  %89 = mul %88 %86 : f32[T, 4, 1536]
  %90 = select_dot %89 %87 %75 : f32[T, 4, 2048]
  %91 = reshape %82 : f32[T, 4, 1]
  %92 = mul %90 %91 : f32[T, 4, 2048]
  %93 = reduce_sum %92 axis=1 : f32[T, 1, 2048]
  %94 = reshape %93 : f32[T, 2048]
  %95 = weight ffn_gate_shexp : q4_0[1536, 2048]
  %96 = dot %69 %95 : f32[T, 1536]
  %97 = weight ffn_up_shexp : q4_0[1536, 2048]
  %98 = dot %69 %97 : f32[T, 1536]
  %99 = silu %96 : f32[T, 1536]
  %100 = mul %99 %98 : f32[T, 1536]
  %101 = weight ffn_down_shexp : q4_0[2048, 1536]
  %102 = dot %100 %101 : f32[T, 2048]
  %103 = add %94 %102 : f32[T, 2048]
  %104 = add %61 %103 : f32[T, 2048]
  output kv = %48
  output x = %104
}
---
steps of 1
  dot_768x2048_q4_0+2
    lanes 256
    rows 1 width 16 reduce 16 upcast 1
    rows 1 width 16 reduce 16 upcast 1
    rows 1 width 16 reduce 16 upcast 1
  head_dot_192x768_q4_0+2
    lanes 256
    rows 1 width 32 reduce 8 upcast 1
    rows 1 width 64 reduce 8 upcast 2
    rows 1 width 512 reduce 1 upcast 1
  head_dot_512x192_q4_0
    lanes 256
    rows 1 width 128 reduce 2 upcast 1
  attend_20x576
    lanes 256
    rows 10 width 512 reduce 4 upcast 1 chunk 64 spread matrix
  head_dot_256x512_q4_0
    lanes 256
    rows 1 width 64 reduce 16 upcast 4
  dot_2048x5120_q4_0
    lanes 512
    rows 1 width 16 reduce 32 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    rows 1 width 4 reduce 64 upcast 1 spread
    rows 1 width 32 reduce 16 upcast 2
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    rows 1 width 32 reduce 16 upcast 2
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    rows 1 width 16 reduce 16 upcast 1
steps of 8
  reduce_2048
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_768x2048_q4_0+2
    lanes 256
    rows 4 width 16 reduce 16 upcast 1
    rows 4 width 16 reduce 16 upcast 1
    rows 4 width 16 reduce 16 upcast 1
  reduce_768+1
    lanes 256
    rows 1 width 768 reduce 1 upcast 1
    rows 1 width 512 reduce 1 upcast 1
  head_dot_192x768_q4_0+1
    lanes 256
    rows 8 apart width 32 reduce 8 upcast 1
    rows 8 apart width 64 reduce 8 upcast 2
  head_dot_512x192_q4_0
    lanes 256
    rows 4 apart width 128 reduce 2 upcast 1
  attend_20x576
    lanes 256
    rows 20 width 512 reduce 4 upcast 1 chunk 64 spread matrix
  head_dot_256x512_q4_0
    lanes 256
    rows 4 apart width 64 reduce 16 upcast 4
  dot_2048x5120_q4_0
    lanes 512
    rows 8 width 16 reduce 32 upcast 1
  reduce_2048.2
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    rows 2 width 4 reduce 64 upcast 1 spread
    rows 4 width 32 reduce 16 upcast 2
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    rows 1 width 32 reduce 16 upcast 2
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    rows 1 width 16 reduce 16 upcast 1
steps of 16
  reduce_2048
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_768x2048_q4_0+2
    lanes 256
    rows 16 width 64 reduce 16 upcast 1 matrix
    rows 16 width 32 reduce 16 upcast 1 matrix
    rows 16 width 64 reduce 16 upcast 1 matrix
  reduce_768+1
    lanes 256
    rows 1 width 768 reduce 1 upcast 1
    rows 1 width 512 reduce 1 upcast 1
  head_dot_192x768_q4_0+1
    lanes 256
    rows 16 apart width 64 reduce 8 upcast 1 matrix
    rows 16 apart width 64 reduce 8 upcast 1 matrix
  head_dot_512x192_q4_0
    lanes 256
    rows 16 apart width 128 reduce 2 upcast 1 matrix
  attend_20x576
    lanes 256
    rows 20 width 512 reduce 4 upcast 1 chunk 64 spread matrix
  head_dot_256x512_q4_0
    lanes 256
    rows 16 apart width 128 reduce 16 upcast 1 matrix
  dot_2048x5120_q4_0
    lanes 256
    rows 16 width 32 reduce 32 upcast 1 matrix
  reduce_2048.2
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    rows 8 width 4 reduce 64 upcast 1 spread
    rows 16 width 32 reduce 16 upcast 1 matrix
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 4
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 8
steps of 32
  reduce_2048
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_768x2048_q4_0+2
    lanes 256
    rows 16 width 64 reduce 16 upcast 1 matrix
    rows 16 width 32 reduce 16 upcast 1 matrix
    rows 16 width 64 reduce 16 upcast 1 matrix
  reduce_768+1
    lanes 256
    rows 1 width 768 reduce 1 upcast 1
    rows 1 width 512 reduce 1 upcast 1
  head_dot_192x768_q4_0+1
    lanes 256
    rows 16 apart width 64 reduce 8 upcast 1 matrix
    rows 16 apart width 64 reduce 8 upcast 1 matrix
  head_dot_512x192_q4_0
    lanes 256
    rows 16 apart width 128 reduce 2 upcast 1 matrix
  attend_20x576
    lanes 256
    rows 20 width 512 reduce 4 upcast 1 chunk 64 spread matrix
  head_dot_256x512_q4_0
    lanes 256
    rows 16 apart width 128 reduce 16 upcast 1 matrix
  dot_2048x5120_q4_0
    lanes 256
    rows 16 width 32 reduce 32 upcast 1 matrix
  reduce_2048.2
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    rows 8 width 4 reduce 64 upcast 1 spread
    rows 16 width 32 reduce 16 upcast 1 matrix
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 4
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 8
steps of 64
  reduce_2048
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_768x2048_q4_0+2
    lanes 256
    rows 16 width 64 reduce 16 upcast 1 matrix
    rows 16 width 32 reduce 16 upcast 1 matrix
    rows 16 width 64 reduce 16 upcast 1 matrix
  reduce_768+1
    lanes 256
    rows 1 width 768 reduce 1 upcast 1
    rows 1 width 512 reduce 1 upcast 1
  head_dot_192x768_q4_0+1
    lanes 256
    rows 16 apart width 64 reduce 8 upcast 1 matrix
    rows 32 apart width 64 reduce 8 upcast 1 matrix
  head_dot_512x192_q4_0
    lanes 256
    rows 32 apart width 128 reduce 2 upcast 1 matrix
  attend_20x576
    lanes 256
    rows 10 width 512 reduce 4 upcast 1 chunk 64 matrix
  head_dot_256x512_q4_0
    lanes 256
    rows 16 apart width 128 reduce 16 upcast 1 matrix
  dot_2048x5120_q4_0
    lanes 256
    rows 32 width 32 reduce 32 upcast 1 matrix
  reduce_2048.2
    lanes 256
    rows 1 width 2048 reduce 1 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    rows 8 width 4 reduce 64 upcast 1 spread
    rows 32 width 32 reduce 16 upcast 1 matrix
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 4
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    rows 16 width 128 reduce 16 upcast 1 matrix picked 8
