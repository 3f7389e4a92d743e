test error
graph g {
  %0 = weight w : q4_0[8, 64]
  %1 = slice %0 axis=1 start=0 len=32 : q4_0[8, 32]
}
---
graph `g`, %1 (slice): cannot slice within the rows of q4_0[8, 64]: they are quantised
