test schedules T=1,8,16,32,64 R=1 S=4096 P=128 workers=132
# How kernels of a layer are cut into workgroups, for replies decoded together.
include glm_moe_layer
---
steps of 1
  dot_768x2048_q4_0+2
    lanes 256
    dot.lanes rows 1 width 16 reduce 16 upcast 1
    dot.lanes rows 1 width 16 reduce 16 upcast 1
    dot.lanes rows 1 width 16 reduce 16 upcast 1
  head_dot_192x768_q4_0+2
    lanes 256
    dot.lanes rows 1 width 32 reduce 8 upcast 1
    dot.lanes rows 1 width 64 reduce 8 upcast 2
    plain rows 1 width 512
  head_dot_512x192_q4_0
    lanes 256
    dot.lanes rows 1 width 128 reduce 2 upcast 1
  attend_20x576
    lanes 256
    attend.units rows 10 reduce 4 chunk 64 spread
  head_dot_256x512_q4_0
    lanes 256
    dot.lanes rows 1 width 64 reduce 16 upcast 4
  dot_2048x5120_q4_0
    lanes 512
    dot.lanes rows 1 width 16 reduce 32 upcast 1
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    dot.gathered rows 1 width 4 reduce 64 upcast 1
    dot.lanes rows 1 width 32 reduce 16 upcast 2
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    dot.lanes rows 1 width 32 reduce 16 upcast 2
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    dot.lanes rows 1 width 16 reduce 16 upcast 1
steps of 8
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_768x2048_q4_0+2
    lanes 256
    dot.lanes rows 4 width 16 reduce 16 upcast 1
    dot.lanes rows 4 width 16 reduce 16 upcast 1
    dot.lanes rows 4 width 16 reduce 16 upcast 1
  reduce_768+1
    lanes 256
    plain rows 1 width 768
    plain rows 1 width 512
  head_dot_192x768_q4_0+1
    lanes 256
    dot.lanes rows 8 width 32 reduce 8 upcast 1 apart
    dot.lanes rows 8 width 64 reduce 8 upcast 2 apart
  head_dot_512x192_q4_0
    lanes 256
    dot.lanes rows 4 width 128 reduce 2 upcast 1 apart
  attend_20x576
    lanes 256
    attend.units rows 20 reduce 4 chunk 64 spread
  head_dot_256x512_q4_0
    lanes 256
    dot.lanes rows 4 width 64 reduce 16 upcast 4 apart
  dot_2048x5120_q4_0
    lanes 512
    dot.lanes rows 8 width 16 reduce 32 upcast 1
  reduce_2048.2
    lanes 256
    plain rows 1 width 2048
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    dot.gathered rows 2 width 4 reduce 64 upcast 1
    dot.lanes rows 4 width 32 reduce 16 upcast 2
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    dot.lanes rows 1 width 32 reduce 16 upcast 2
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    dot.lanes rows 1 width 16 reduce 16 upcast 1
steps of 16
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_768x2048_q4_0+2
    lanes 256
    dot.units rows 16 width 64 reduce 16 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
    dot.units rows 16 width 64 reduce 16 upcast 1
  reduce_768+1
    lanes 256
    plain rows 1 width 768
    plain rows 1 width 512
  head_dot_192x768_q4_0+1
    lanes 256
    dot.units rows 16 width 64 reduce 8 upcast 1 apart
    dot.units rows 16 width 64 reduce 8 upcast 1 apart
  head_dot_512x192_q4_0
    lanes 256
    dot.units rows 16 width 128 reduce 2 upcast 1 apart
  attend_20x576
    lanes 256
    attend.units rows 20 reduce 4 chunk 64 spread
  head_dot_256x512_q4_0
    lanes 256
    dot.units rows 16 width 128 reduce 16 upcast 1 apart
  dot_2048x5120_q4_0
    lanes 256
    dot.units rows 16 width 32 reduce 32 upcast 1
  reduce_2048.2
    lanes 256
    plain rows 1 width 2048
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    dot.gathered rows 8 width 4 reduce 64 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    dot.few_rows tile 4 rows 16 width 128 reduce 16 upcast 1
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    dot.few_rows tile 8 rows 16 width 128 reduce 16 upcast 1
steps of 32
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_768x2048_q4_0+2
    lanes 256
    dot.units rows 16 width 64 reduce 16 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
    dot.units rows 16 width 64 reduce 16 upcast 1
  reduce_768+1
    lanes 256
    plain rows 1 width 768
    plain rows 1 width 512
  head_dot_192x768_q4_0+1
    lanes 256
    dot.units rows 16 width 64 reduce 8 upcast 1 apart
    dot.units rows 16 width 64 reduce 8 upcast 1 apart
  head_dot_512x192_q4_0
    lanes 256
    dot.units rows 16 width 128 reduce 2 upcast 1 apart
  attend_20x576
    lanes 256
    attend.units rows 20 reduce 4 chunk 64 spread
  head_dot_256x512_q4_0
    lanes 256
    dot.units rows 16 width 128 reduce 16 upcast 1 apart
  dot_2048x5120_q4_0
    lanes 256
    dot.units rows 16 width 32 reduce 32 upcast 1
  reduce_2048.2
    lanes 256
    plain rows 1 width 2048
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    dot.gathered rows 8 width 4 reduce 64 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    dot.few_rows tile 4 rows 16 width 128 reduce 16 upcast 1
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    dot.few_rows tile 8 rows 16 width 128 reduce 16 upcast 1
steps of 64
  reduce_2048
    lanes 256
    plain rows 1 width 2048
  dot_768x2048_q4_0+2
    lanes 256
    dot.units rows 16 width 64 reduce 16 upcast 1
    dot.units rows 16 width 32 reduce 16 upcast 1
    dot.units rows 16 width 64 reduce 16 upcast 1
  reduce_768+1
    lanes 256
    plain rows 1 width 768
    plain rows 1 width 512
  head_dot_192x768_q4_0+1
    lanes 256
    dot.units rows 16 width 64 reduce 8 upcast 1 apart
    dot.units rows 32 width 64 reduce 8 upcast 1 apart
  head_dot_512x192_q4_0
    lanes 256
    dot.units rows 32 width 128 reduce 2 upcast 1 apart
  attend_20x576
    lanes 256
    attend.units rows 10 reduce 4 chunk 64
  head_dot_256x512_q4_0
    lanes 256
    dot.units rows 16 width 128 reduce 16 upcast 1 apart
  dot_2048x5120_q4_0
    lanes 256
    dot.units rows 32 width 32 reduce 32 upcast 1
  reduce_2048.2
    lanes 256
    plain rows 1 width 2048
  dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
    lanes 256
    dot.gathered rows 8 width 4 reduce 64 upcast 1
    dot.units rows 32 width 32 reduce 16 upcast 1
  select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
    lanes 256
    dot.few_rows tile 4 rows 16 width 128 reduce 16 upcast 1
  select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
    lanes 256
    dot.few_rows tile 8 rows 16 width 128 reduce 16 upcast 1
