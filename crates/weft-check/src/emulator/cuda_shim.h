// CUDA C++ for an ordinary C++ compiler: what the rendered texts use, on the emulator of runtime.cpp.
//
// Only what CUDA defines is here. Helper functions that a text defines in PTX are at the end.

// One word buffer of the launch. Every access is checked.
struct Words {
  unsigned int* words;
  unsigned long long count;
  unsigned long long slot;

  const unsigned int& operator[](unsigned int at) const { return at < count ? words[at] : *outside(at); }
  unsigned int& operator[](unsigned int at) { return at < count ? words[at] : *outside(at); }
  const unsigned int* operator+(unsigned int at) const { return at < count ? words + at : outside(at); }
  unsigned int* operator+(unsigned int at) { return at < count ? words + at : outside(at); }

private:
  [[noreturn]] unsigned int* outside(unsigned int at) const;
};

// A kernel, and the shared memory that it declares.
struct Entry {
  void (*run)(const unsigned int* args, const unsigned int* sizes, const Words* slots);
  char *shared, *shared_end;
  // Whether blocks wait for those before them.
  bool in_order;
};
extern const Entry weft_entries[];

struct Index {
  unsigned int x, y, z;
};

// The lane that runs, and where it is.
extern unsigned int weft_lane;
extern Index weft_threads[1024], weft_block, weft_block_size, weft_grid;

void weft_barrier(int line);
// Waits for the lanes of a mask. Returns what the warp's lanes have brought along.
const unsigned int* weft_exchange(unsigned int mask, unsigned int value, int line);

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define threadIdx (weft_threads[weft_lane])
#define blockIdx weft_block
#define blockDim weft_block_size
#define gridDim weft_grid
#define __syncthreads() weft_barrier(__LINE__)
#define __syncwarp(...) weft_exchange(weft_mask(__VA_ARGS__), 0, __LINE__)
#define __shfl_xor_sync(mask, value, lanes) weft_shuffle(mask, value, (weft_lane ^ (lanes)) % 32u, __LINE__)
#define __shfl_sync(mask, value, lane) weft_shuffle(mask, value, (lane) % 32u, __LINE__)
#define __shfl_down_sync(mask, value, by) weft_shuffle(mask, value, weft_down(by), __LINE__)

// Threads see what others store at once, and only one runs at a time.
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline unsigned int atomicAdd(unsigned int* at, unsigned int value) {
  const unsigned int before = *at;
  *at += value;
  return before;
}

struct __attribute__((aligned(16))) uint4 {
  unsigned int x, y, z, w;
};

// Four words, which must lie together: `weft_quad << &b0[at]` for `*(const uint4*)&b0[at]`.
[[noreturn]] void weft_apart(int line);
struct Quad {
  int line;
  uint4 operator<<(const unsigned int* from) const {
    if ((unsigned long long)from % 16) weft_apart(line);
    return *(const uint4*)from;
  }
};
#define weft_quad Quad{__LINE__}

static inline unsigned int weft_mask(unsigned int mask = 0xffffffffu) { return mask; }

static inline unsigned int weft_down(unsigned int by) {
  const unsigned int own = weft_lane % 32u;
  return own + by < 32u ? own + by : own;
}

// The same bits as another type.
template <class To, class From>
static inline To weft_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "types of different sizes");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

template <class T>
static inline T weft_shuffle(unsigned int mask, T value, unsigned int from, int line) {
  return weft_bits<T>(weft_exchange(mask, weft_bits<unsigned int>(value), line)[from]);
}

static inline unsigned int __float_as_uint(float x) { return weft_bits<unsigned int>(x); }
static inline float __uint_as_float(unsigned int x) { return weft_bits<float>(x); }
static inline int __float_as_int(float x) { return weft_bits<int>(x); }
static inline float __int_as_float(int x) { return weft_bits<float>(x); }

// Conversions saturate, and NaN becomes 0.
static inline int __float2int_rz(float x) {
  return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int)x;
}
static inline unsigned int __float2uint_rz(float x) {
  return !(x > 0.0f) ? 0u : x >= 4294967296.0f ? 4294967295u : (unsigned int)x;
}

static inline int __dp4a(int a, int b, int c) {
  const unsigned int x = (unsigned int)a, y = (unsigned int)b;
  int sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (int)(signed char)(x >> i) * (int)(signed char)(y >> i);
  return (int)((unsigned int)c + (unsigned int)sum);
}

static inline unsigned int __byte_perm(unsigned int low, unsigned int high, unsigned int places) {
  const unsigned long long both = (unsigned long long)high << 32 | low;
  unsigned int picked = 0;
  for (int i = 0; i < 4; i++) picked |= (unsigned int)(both >> (places >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return picked;
}

static inline unsigned int min(unsigned int a, unsigned int b) { return a < b ? a : b; }
static inline unsigned int max(unsigned int a, unsigned int b) { return a > b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
// Of a NaN and a number, the number.
static inline float min(float a, float b) { return a < b || b != b ? a : b; }
static inline float max(float a, float b) { return a > b || b != b ? a : b; }
static inline float fminf(float a, float b) { return min(a, b); }
static inline float fmaxf(float a, float b) { return max(a, b); }

static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float rintf(float x) { return __builtin_rintf(x); }
static inline float expf(float x) { return __builtin_expf(x); }
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline float quotient(float a, float b) { return a * (1.0f / b); }
static inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }

// Helpers that the texts define in PTX.

// Launches run one after another.
static inline void launch_next() {}
static inline void wait_for_previous() {}

// All lanes of the warp must get there.
static inline void hold_loads() { weft_exchange(0xffffffffu, 0, __LINE__); }

static inline unsigned int count_arrival(unsigned int* arrived) { return atomicAdd(arrived, 1u); }

// Workgroups run one after another, so a signal that is not there never comes.
[[noreturn]] void weft_unsent();
static inline void set_signal(unsigned int* signal) { *signal = 1u; }
static inline bool has_signal(unsigned int* signal) {
  if (!*signal) weft_unsent();
  return true;
}
static inline void __nanosleep(unsigned int) {}

static inline void fetch(const unsigned int*) {}
static inline unsigned int load_early(const unsigned int* from) { return *from; }
#define load_early_4(from) (weft_quad << (from))
#define load_once_4(from) (weft_quad << (from))

// What the lanes of a warp bring to an instruction of all of them.
extern unsigned int weft_operands[1024][6];
#define weft_all() weft_exchange(0xffffffffu, 0, __LINE__)
#define weft_multiply_by(multiply, c0, c1, c2, c3, a0, a1, a2, a3, b0, b1)                                             \
  do {                                                                                                                 \
    const unsigned int m_own[6] = {a0, a1, a2, a3, b0, b1};                                                            \
    __builtin_memcpy(weft_operands[weft_lane], m_own, sizeof(m_own));                                                  \
    weft_all();                                                                                                        \
    multiply(c0, c1, c2, c3);                                                                                          \
    weft_all();                                                                                                        \
  } while (0)

// The layout of mma.m16n8k32 with signed bytes: lane 4g + t has, of row g, values 4t.. (a0) and 16 + 4t.. (a2), of row
// g + 8 the same (a1, a3), of column g the same (b0, b1), and the sums of columns 2t and 2t + 1 of rows g and g + 8,
// each added to 1.5 * 2^23.
#define multiply_matrices(c0, c1, c2, c3, a0, a1, a2, a3, b0, b1)                                                      \
  weft_multiply_by(weft_multiply_bytes, c0, c1, c2, c3, a0, a1, a2, a3, b0, b1)

static inline void weft_multiply_bytes(float& c0, float& c1, float& c2, float& c3) {
  const unsigned int warp = weft_lane / 32u * 32u, g = weft_lane % 32u / 4u, t = weft_lane % 4u;
  int c[4] = {0, 0, 0, 0};
  for (unsigned int of = 0; of < 4u; of++) {
    const unsigned int* row = weft_operands[warp + 4u * g + of];
    const unsigned int* left = weft_operands[warp + 8u * t + of];
    const unsigned int* right = weft_operands[warp + 8u * t + 4u + of];
    for (unsigned int half = 0; half < 2u; half++) {
      c[0] = __dp4a((int)row[2 * half], (int)left[4 + half], c[0]);
      c[1] = __dp4a((int)row[2 * half], (int)right[4 + half], c[1]);
      c[2] = __dp4a((int)row[2 * half + 1], (int)left[4 + half], c[2]);
      c[3] = __dp4a((int)row[2 * half + 1], (int)right[4 + half], c[3]);
    }
  }
  const float raised = 12582912.0f;
  c0 = raised + (float)c[0], c1 = raised + (float)c[1], c2 = raised + (float)c[2], c3 = raised + (float)c[3];
}

// The same with m16n8k16: the second halves of rows and columns are missing.
#define multiply_short_matrices(c0, c1, c2, c3, a0, a1, b0) multiply_matrices(c0, c1, c2, c3, a0, a1, 0, 0, b0, 0)

// The layout of mma.m16n8k16 with halves: lane 4g + t has, of row g, values 2t.. (a0) and 8 + 2t.. (a2), of row g + 8 the
// same (a1, a3), of column g the same (b0, b1), and the sums of columns 2t and 2t + 1 of rows g and g + 8. The order of
// the sum is the hardware's own: here it is rounded once.
#define multiply_halves(c0, c1, c2, c3, a0, a1, a2, a3, b0, b1)                                                        \
  weft_multiply_by(weft_multiply_halves, c0, c1, c2, c3, a0, a1, a2, a3, b0, b1)

static inline float half_to_float(unsigned int bits);
static inline void weft_multiply_halves(float& c0, float& c1, float& c2, float& c3) {
  const unsigned int warp = weft_lane / 32u * 32u, g = weft_lane % 32u / 4u, t = weft_lane % 4u;
  double c[4] = {c0, c1, c2, c3};
  for (unsigned int k = 0; k < 16u; k++) {
    // The lane that has value k of a row or column, and where.
    const unsigned int half = k / 8u, of = k % 8u / 2u, shift = k % 2u * 16u;
    const unsigned int* row = weft_operands[warp + 4u * g + of];
    const double upper = half_to_float(row[2 * half] >> shift), lower = half_to_float(row[2 * half + 1] >> shift);
    const double left = half_to_float(weft_operands[warp + 8u * t + of][4 + half] >> shift);
    const double right = half_to_float(weft_operands[warp + 8u * t + 4u + of][4 + half] >> shift);
    c[0] += upper * left, c[1] += upper * right, c[2] += lower * left, c[3] += lower * right;
  }
  c0 = (float)c[0], c1 = (float)c[1], c2 = (float)c[2], c3 = (float)c[3];
}

// The layout of ldmatrix: lane 8m + r says where row r of matrix m is; lane 4g + t gets values 2t.. of row g of each, or
// those of column g in rows 2t...
extern const unsigned int* weft_rows[1024];
#define load_matrices(a, b, c, d, from) weft_load(a, b, c, d, from, false)
#define load_turned(a, b, c, d, from) weft_load(a, b, c, d, from, true)
#define weft_load(a, b, c, d, from, turned)                                                                            \
  do {                                                                                                                 \
    weft_rows[weft_lane] = from;                                                                                       \
    if ((unsigned long long)weft_rows[weft_lane] % 16) weft_apart(__LINE__);                                           \
    weft_all();                                                                                                        \
    a = weft_matrix(0, turned), b = weft_matrix(1, turned), c = weft_matrix(2, turned), d = weft_matrix(3, turned);    \
    weft_all();                                                                                                        \
  } while (0)

static inline unsigned int weft_matrix(unsigned int m, bool turned) {
  const unsigned int g = weft_lane % 32u / 4u, t = weft_lane % 4u;
  const unsigned int* const* rows = weft_rows + weft_lane / 32u * 32u + 8u * m;
  if (!turned) return rows[g][t];
  const unsigned int shift = g % 2u * 16u;
  return (rows[2u * t][g / 2u] >> shift & 0xffffu) | (rows[2u * t + 1u][g / 2u] >> shift & 0xffffu) << 16;
}

#define store_two(to, a, b)                                                                                            \
  do {                                                                                                                 \
    unsigned int* const m_to = to;                                                                                     \
    if ((unsigned long long)m_to % 8) weft_apart(__LINE__);                                                            \
    m_to[0] = a, m_to[1] = b;                                                                                          \
  } while (0)

#define store_four(to, a, b, c, d)                                                                                     \
  do {                                                                                                                 \
    unsigned int* const m_to = to;                                                                                     \
    if ((unsigned long long)m_to % 16) weft_apart(__LINE__);                                                           \
    *(uint4*)m_to = uint4{a, b, c, d};                                                                                 \
  } while (0)

// A lane's copies arrive when it waits for them, and not before.
struct Copies {
  unsigned int* to[256];
  const unsigned int* from[256];
  unsigned int group[256];
  unsigned int count, groups;
};
static Copies weft_copies[1024];
[[noreturn]] void weft_too_many(int line);
static inline void weft_copy_4(unsigned int* to, const unsigned int* from, int line) {
  Copies& own = weft_copies[weft_lane];
  if ((unsigned long long)to % 16 || (unsigned long long)from % 16) weft_apart(line);
  if (own.count == 256) weft_too_many(line);
  own.to[own.count] = to, own.from[own.count] = from, own.group[own.count] = own.groups;
  own.count++;
}
#define copy_4(to, from) weft_copy_4(to, from, __LINE__)
static inline void end_copies() { weft_copies[weft_lane].groups++; }
template <int GROUPS>
static inline void wait_copies() {
  Copies& own = weft_copies[weft_lane];
  unsigned int left = 0;
  for (unsigned int i = 0; i < own.count; i++) {
    if (own.group[i] + GROUPS < own.groups) {
      for (int word = 0; word < 4; word++) own.to[i][word] = own.from[i][word];
    } else {
      own.to[left] = own.to[i], own.from[left] = own.from[i], own.group[left] = own.group[i];
      left++;
    }
  }
  own.count = left;
}
#define wait_copies_0() wait_copies<0>()
#define wait_copies_1() wait_copies<1>()
#define wait_copies_2() wait_copies<2>()
#define wait_copies_3() wait_copies<3>()

static inline float half_to_float(unsigned int bits) {
  const unsigned int sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  // As an exponent too small by 112; exact, also for subnormal numbers.
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest << 13) * 0x1p112f));
}

// Rounds to nearest, ties to even.
static inline unsigned int weft_half(float x) {
  const unsigned int bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return 0x7fffu;
  if (rest >= 0x477ff000u) return sign | 0x7c00u;
  // Below the normal numbers, an addition rounds at the last bit.
  if (rest < 0x38800000u) return sign | (__float_as_uint(__uint_as_float(rest) + 0.5f) - 0x3f000000u);
  return sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
}

static inline unsigned int pack_halves(float low, float high) { return weft_half(low) | weft_half(high) << 16; }

// A warpgroup's products of 64 rows of 16 halves (wgmma): by 32 columns where rows are in shared memory, by 64 where they are the
// lanes' own. They are computed when they are waited for, and not before. Rows, and columns that belong to rows of the lanes, lie in
// blocks of 128 bytes a row, swizzled over them.
#define __cvta_generic_to_shared(at) 0ull
struct WarpgroupProduct {
  float* sums[32];
  const unsigned int* pool;
  unsigned int rows[4], columns, left, right, group;
  bool of_lanes, more;
};
struct WarpgroupProducts {
  WarpgroupProduct all[48];
  unsigned int count, groups;
};
static WarpgroupProducts weft_products[1024];

static inline void weft_product(const unsigned int* pool, int line, unsigned int columns, float* const* sums,
  const unsigned int* rows, unsigned int left, unsigned int right, unsigned int more) {
  WarpgroupProducts& own = weft_products[weft_lane];
  if (own.count == 48) weft_too_many(line);
  WarpgroupProduct& product = own.all[own.count++];
  __builtin_memcpy(product.sums, sums, columns / 2u * sizeof(*sums));
  if (rows) __builtin_memcpy(product.rows, rows, sizeof(product.rows));
  product.pool = pool, product.columns = columns, product.of_lanes = rows != nullptr, product.more = more != 0u;
  product.left = left, product.right = right, product.group = own.groups;
}
static inline void weft_multiply_32(const unsigned int* pool, int line, float& c0, float& c1, float& c2, float& c3, float& c4, float& c5, float& c6, float& c7,
  float& c8, float& c9, float& c10, float& c11, float& c12, float& c13, float& c14, float& c15,
  unsigned int left, unsigned int right, unsigned int more) {
  float* const sums[16] = {&c0, &c1, &c2, &c3, &c4, &c5, &c6, &c7,
    &c8, &c9, &c10, &c11, &c12, &c13, &c14, &c15};
  weft_product(pool, line, 32, sums, nullptr, left, right, more);
}
static inline void weft_multiply_lanes_64(const unsigned int* pool, int line, float& c0, float& c1, float& c2, float& c3, float& c4, float& c5, float& c6, float& c7,
  float& c8, float& c9, float& c10, float& c11, float& c12, float& c13, float& c14, float& c15,
  float& c16, float& c17, float& c18, float& c19, float& c20, float& c21, float& c22, float& c23,
  float& c24, float& c25, float& c26, float& c27, float& c28, float& c29, float& c30, float& c31,
  unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int right, unsigned int more) {
  float* const sums[32] = {&c0, &c1, &c2, &c3, &c4, &c5, &c6, &c7,
    &c8, &c9, &c10, &c11, &c12, &c13, &c14, &c15,
    &c16, &c17, &c18, &c19, &c20, &c21, &c22, &c23,
    &c24, &c25, &c26, &c27, &c28, &c29, &c30, &c31};
  const unsigned int rows[4] = {a0, a1, a2, a3};
  weft_product(pool, line, 64, sums, rows, 0, right, more);
}
#define warpgroup_multiply_32(...) weft_multiply_32(pool, __LINE__, __VA_ARGS__)
#define warpgroup_multiply_lanes_64(...) weft_multiply_lanes_64(pool, __LINE__, __VA_ARGS__)
static inline void warpgroup_publish() {}
static inline void warpgroup_begin() {}
static inline void warpgroup_end() { weft_products[weft_lane].groups++; }
template <class... Sums>
static inline void warpgroup_hold_32(Sums&...) {}
template <class... Sums>
static inline void warpgroup_hold_64(Sums&...) {}

// A half of a block that begins at a unit of 16 bytes.
static inline double weft_of_block(const unsigned int* pool, unsigned int unit, unsigned int row, unsigned int at) {
  unsigned int byte = unit * 16u + row / 8u * 1024u + row % 8u * 128u + at * 2u;
  byte ^= (byte >> 7 & 7u) << 4;
  return half_to_float(pool[byte / 4u] >> byte % 4u * 8u);
}

static inline void weft_compute(const WarpgroupProduct& product) {
  const unsigned int own = weft_lane % 128u, warp = weft_lane / 32u * 32u, g = own % 32u / 4u, t = own % 4u;
  if (product.of_lanes) {
    __builtin_memcpy(weft_operands[weft_lane], product.rows, sizeof(product.rows));
    weft_all();
  }
  double left[2][16];
  for (unsigned int below = 0; below < 2u; below++) {
    for (unsigned int k = 0; k < 16u; k++) {
      const unsigned int word = k / 8u * 2u + below, shift = k % 2u * 16u;
      left[below][k] = product.of_lanes
        ? half_to_float(weft_operands[warp + 4u * g + k % 8u / 2u][word] >> shift)
        : weft_of_block(product.pool, product.left, own / 32u * 16u + g + 8u * below, k);
    }
  }
  if (product.of_lanes) weft_all();
  for (unsigned int j = 0; j < product.columns / 8u; j++) {
    for (unsigned int beside = 0; beside < 2u; beside++) {
      const unsigned int column = 8u * j + 2u * t + beside;
      double right[16];
      for (unsigned int k = 0; k < 16u; k++) {
        right[k] = product.of_lanes ? weft_of_block(product.pool, product.right, k, column)
                                    : weft_of_block(product.pool, product.right, column, k);
      }
      for (unsigned int below = 0; below < 2u; below++) {
        float& sum = *product.sums[4u * j + 2u * below + beside];
        double c = product.more ? sum : 0.0;
        for (unsigned int k = 0; k < 16u; k++) c += left[below][k] * right[k];
        sum = (float)c;
      }
    }
  }
}

static inline void weft_wait_products(unsigned int groups) {
  WarpgroupProducts& own = weft_products[weft_lane];
  unsigned int left = 0;
  for (unsigned int i = 0; i < own.count; i++) {
    if (own.all[i].group + groups < own.groups) weft_compute(own.all[i]);
    else own.all[left++] = own.all[i];
  }
  own.count = left;
}
#define warpgroup_wait_0() weft_wait_products(0)
#define warpgroup_wait_1() weft_wait_products(1)
