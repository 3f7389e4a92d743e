test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=1 R=1 S=4096 P=128 workers=64
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of GLM-4.7-Flash: a step of one token, the same on many cores, and a long prompt.
include glm_moe_layer
---
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 9
dot_768x2048_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %35
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+2
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %26, rope %30
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %32
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 39.33 MB of weights, 2477.5 µs with, 15 kernels, 39.33 MB of weights, 2480.8 µs without
fuse.router taken: 12 kernels, 39.33 MB of weights, 2476.5 µs with, 13 kernels, 39.33 MB of weights, 2477.5 µs without
fuse.norm_into_dot taken: 9 kernels, 39.34 MB of weights, 2473.9 µs with, 12 kernels, 39.33 MB of weights, 2476.5 µs without
# test kernels T=1 R=1 S=4096 P=128 workers=64
kernels 9
dot_768x2048_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %35
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+2
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %26, rope %30
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %32
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 39.33 MB of weights, 1982.8 µs with, 15 kernels, 39.33 MB of weights, 1984.8 µs without
fuse.router taken: 12 kernels, 39.33 MB of weights, 1981.7 µs with, 13 kernels, 39.33 MB of weights, 1982.8 µs without
fuse.norm_into_dot taken: 9 kernels, 39.34 MB of weights, 1978.7 µs with, 12 kernels, 39.33 MB of weights, 1981.7 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 12
reduce_2048
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %35: fuse.norm_into_dot is off or does not pay here
  not dot %46: fuse.norm_into_dot is off or does not pay here
dot_768x2048_q4_0+2
  dot %12
  dot %35
  dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
reduce_768+1
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %26: fuse.norm_into_dot is off or does not pay here
  not head_dot %32: fuse.norm_into_dot is off or does not pay here
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+1
  head_dot %26, rope %30
  head_dot %32
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
reduce_2048.2
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72
  not dot %74: fuse.norm_into_dot is off or does not pay here
  not select_dot %88: fuse.norm_into_dot is off or does not pay here
  not select_dot %89: fuse.norm_into_dot is off or does not pay here
  not dot %95: fuse.norm_into_dot is off or does not pay here
  not dot %97: fuse.norm_into_dot is off or does not pay here
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 357.83 MB of weights, 446412.9 µs with, 15 kernels, 357.83 MB of weights, 447070.4 µs without
fuse.router taken: 12 kernels, 357.83 MB of weights, 446409.2 µs with, 13 kernels, 357.83 MB of weights, 446412.9 µs without
fuse.norm_into_dot not taken: 9 kernels, 357.84 MB of weights, 447361.3 µs with, 12 kernels, 357.83 MB of weights, 446409.2 µs without
