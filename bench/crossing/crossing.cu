// What it costs to go from a card to the host's processors and back, and what a copy to the card takes from them.
//
// nvcc -O3 -arch=native -Xcompiler -O3,-march=native,-pthread -o crossing crossing.cu && ./crossing
//
// Prints medians. A round: the card has DOWN bytes for the host, the host answers with UP bytes, the card reads them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static const int ROUNDS = 46;
static const size_t DOWN = 2304, UP = 32768;

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error = (call);                                                                  \
        if (error != cudaSuccess) {                                                                  \
            printf("%s: %s (line %d)\n", #call, cudaGetErrorString(error), __LINE__);                \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

// Some work of the card, of about a microsecond.
__global__ void work(float *x) { x[threadIdx.x] = x[threadIdx.x] * 1.0001f + 1.0f; }

// Writes what the host needs to mapped memory, then the number of the round.
__global__ void publish(const float *from, float *to, volatile uint32_t *flag, const uint32_t *epoch, uint32_t round) {
    for (int i = threadIdx.x; i < DOWN / 4; i += blockDim.x) to[i] = from[i];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *flag = *epoch * ROUNDS + round + 1;
}

// Waits for the host's number of the round, then reads what it wrote.
__global__ void await(float *to, const float4 *from, volatile uint32_t *flag, const uint32_t *epoch, uint32_t round) {
    uint32_t wanted = *epoch * ROUNDS + round + 1;
    if (threadIdx.x == 0)
        while (*flag != wanted) {}
    __syncthreads();
    __threadfence_system();
    float sum = 0;
    for (int i = threadIdx.x; i < UP / 16; i += blockDim.x) {
        float4 v = __ldcv(from + i);
        sum += v.x + v.y + v.z + v.w;
    }
    to[threadIdx.x] = sum;
}

__global__ void advance(uint32_t *epoch) { *epoch += 1; }

static cudaGraphExec_t capture(cudaStream_t stream, auto body) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static std::atomic<uint32_t> called;
static void host(void *) { called.fetch_add(1); }

// Bytes a second that `threads` threads read of `bytes` bytes.
static double read_rate(const uint8_t *from, size_t bytes, int threads, double seconds) {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> total{0};
    std::vector<std::thread> all;
    double begin = now();
    for (int t = 0; t < threads; t++)
        all.emplace_back([&, t] {
            size_t each = bytes / threads / 4096 * 4096;
            const uint8_t *own = from + each * t;
            __m256i sum = _mm256_setzero_si256();
            while (!stop.load(std::memory_order_relaxed)) {
                for (size_t at = 0; at < each && !stop.load(std::memory_order_relaxed); at += 1 << 20) {
                    size_t end = std::min(each, at + (1 << 20));
                    for (size_t i = at; i < end; i += 256)
                        for (int j = 0; j < 8; j++)
                            sum = _mm256_add_epi64(sum, _mm256_load_si256((const __m256i *)(own + i + 32 * j)));
                    total.fetch_add(end - at, std::memory_order_relaxed);
                }
            }
            volatile uint64_t sink = _mm256_extract_epi64(sum, 0);
            (void)sink;
        });
    usleep(seconds * 1e6);
    stop = true;
    for (auto &thread : all) thread.join();
    return total.load() / ((now() - begin) * 1e-6);
}

int main() {
    CHECK(cudaSetDeviceFlags(cudaDeviceMapHost | cudaDeviceScheduleSpin));
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    int cores = std::thread::hardware_concurrency();
    printf("%s, %d processors\n", prop.name, cores);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    float *device, *scratch;
    uint32_t *epoch;
    CHECK(cudaMalloc(&device, 1 << 20));
    CHECK(cudaMalloc(&scratch, 1 << 20));
    CHECK(cudaMalloc(&epoch, 4));
    CHECK(cudaMemset(epoch, 0, 4));
    uint8_t *mapped;
    CHECK(cudaHostAlloc(&mapped, 1 << 20, cudaHostAllocMapped));
    memset(mapped, 0, 1 << 20);
    float *down = (float *)mapped, *up = (float *)(mapped + 65536);
    volatile uint32_t *to_host = (uint32_t *)(mapped + 262144), *to_card = (uint32_t *)(mapped + 262144 + 4096);
    std::vector<uint8_t> pageable(1 << 20);

    // Nothing but the card's work: what a round costs without a crossing.
    cudaGraphExec_t plain = capture(stream, [&] {
        for (int i = 0; i < ROUNDS; i++) {
            work<<<1, 256, 0, stream>>>(scratch);
            work<<<1, 256, 0, stream>>>(scratch);
        }
    });
    auto timed = [&](auto once) {
        std::vector<double> all;
        for (int i = 0; i < 60; i++) {
            double begin = now();
            once();
            if (i >= 10) all.push_back((now() - begin) / ROUNDS);
        }
        return median(all);
    };
    double base = timed([&] {
        CHECK(cudaGraphLaunch(plain, stream));
        CHECK(cudaStreamSynchronize(stream));
    });
    printf("two kernels in a graph           %7.2f us a round\n", base);

    // Host functions in a graph.
    cudaGraphExec_t callbacks = capture(stream, [&] {
        for (int i = 0; i < ROUNDS; i++) {
            work<<<1, 256, 0, stream>>>(scratch);
            CHECK(cudaMemcpyAsync(down, device, DOWN, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaLaunchHostFunc(stream, host, nullptr));
            CHECK(cudaMemcpyAsync(device, up, UP, cudaMemcpyHostToDevice, stream));
            work<<<1, 256, 0, stream>>>(scratch);
        }
    });
    printf("host functions in a graph        %7.2f us a round\n", timed([&] {
        CHECK(cudaGraphLaunch(callbacks, stream));
        CHECK(cudaStreamSynchronize(stream));
    }));

    // A graph a stage, a copy that waits, a copy back.
    cudaGraphExec_t stage = capture(stream, [&] { work<<<1, 256, 0, stream>>>(scratch); });
    for (int pinned = 0; pinned < 2; pinned++) {
        uint8_t *a = pinned ? (uint8_t *)down : pageable.data(), *b = pinned ? (uint8_t *)up : pageable.data();
        printf("%s            %7.2f us a round\n", pinned ? "stages, pinned copies" : "stages, copies       ", timed([&] {
            for (int i = 0; i < ROUNDS; i++) {
                CHECK(cudaGraphLaunch(stage, stream));
                CHECK(cudaMemcpyAsync(a, device, DOWN, cudaMemcpyDeviceToHost, stream));
                CHECK(cudaStreamSynchronize(stream));
                CHECK(cudaMemcpyAsync(device, b, UP, cudaMemcpyHostToDevice, stream));
                CHECK(cudaGraphLaunch(stage, stream));
            }
            CHECK(cudaStreamSynchronize(stream));
        }));
    }

    // Stages whose last kernel raises a flag in mapped memory: no wait of the driver.
    uint32_t steps = 0;
    auto answered = [&](bool in_graph, auto launch) {
        return timed([&] {
            launch();
            for (int i = 0; i < ROUNDS; i++) {
                uint32_t wanted = steps * ROUNDS + i + 1;
                double begin = now();
                while (*to_host != wanted) {
                    _mm_pause();
                    if (now() - begin > 2e6) { printf("no flag: round %d\n", i); exit(1); }
                }
                std::atomic_thread_fence(std::memory_order_seq_cst);
                *to_card = wanted;
            }
            CHECK(cudaStreamSynchronize(stream));
            steps++;
        });
    };
    cudaGraphExec_t flags = capture(stream, [&] {
        for (int i = 0; i < ROUNDS; i++) {
            work<<<1, 256, 0, stream>>>(scratch);
            publish<<<1, 256, 0, stream>>>(device, down, to_host, epoch, i);
            await<<<1, 256, 0, stream>>>(scratch, (float4 *)up, to_card, epoch, i);
            work<<<1, 256, 0, stream>>>(scratch);
        }
        advance<<<1, 1, 0, stream>>>(epoch);
    });
    printf("flags, kernels that poll         %7.2f us a round\n",
           answered(true, [&] { CHECK(cudaGraphLaunch(flags, stream)); }));

    // The same, but the driver's own wait in the stream.
    CUdeviceptr word;
    cuMemHostGetDevicePointer(&word, (void *)to_card, 0);
    bool can_wait = true;
    CHECK(cudaMemset(epoch, 0, 4));
    steps = 0;
    *to_host = 0;
    *to_card = 0;
    double waited = answered(false, [&] {
        for (int i = 0; i < ROUNDS && can_wait; i++) {
            work<<<1, 256, 0, stream>>>(scratch);
            publish<<<1, 256, 0, stream>>>(device, down, to_host, epoch, i);
            can_wait = cuStreamWaitValue32((CUstream)stream, word, steps * ROUNDS + i + 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS;
            await<<<1, 256, 0, stream>>>(scratch, (float4 *)up, to_card, epoch, i);
            work<<<1, 256, 0, stream>>>(scratch);
        }
        advance<<<1, 1, 0, stream>>>(epoch);
        if (!can_wait) { printf("no waits in streams here\n"); exit(0); }
    });
    printf("flags, waits of the stream       %7.2f us a round (launches without a graph)\n", waited);

    // The host's memory.
    size_t bytes = 6ull << 30;
    uint8_t *buffer = (uint8_t *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(buffer, bytes, MADV_HUGEPAGE);
    {
        std::vector<std::thread> all;
        for (int t = 0; t < cores; t++) all.emplace_back([&, t] { memset(buffer + bytes / cores * t, t, bytes / cores); });
        for (auto &thread : all) thread.join();
    }
    for (int threads : {1, 2, 4, 8, cores - 2, cores})
        printf("host reads, %2d threads           %7.1f GB/s\n", threads, read_rate(buffer, bytes, threads, 1.0) * 1e-9);

    uint8_t *card;
    size_t moved = 1ull << 30;
    CHECK(cudaMalloc(&card, moved));
    uint8_t *pinned;
    CHECK(cudaHostAlloc(&pinned, moved, 0));
    auto copy_rate = [&](const uint8_t *from, size_t piece) {
        std::vector<double> all;
        for (int i = 0; i < 5; i++) {
            double begin = now();
            for (size_t at = 0; at < moved; at += piece) CHECK(cudaMemcpyAsync(card + at, from + at, piece, cudaMemcpyHostToDevice, stream));
            CHECK(cudaStreamSynchronize(stream));
            all.push_back(moved / (now() - begin) * 1e-3);
        }
        return median(all);
    };
    printf("copy to the card, pinned         %7.1f GB/s (pieces of 5 MB: %.1f)\n", copy_rate(pinned, moved), copy_rate(pinned, 1 << 22));
    printf("copy to the card, pageable       %7.1f GB/s\n", copy_rate(buffer, moved));
    cudaError_t registered = cudaHostRegister(buffer, moved, cudaHostRegisterDefault);
    printf("registering 1 GB: %s\n", cudaGetErrorString(registered));
    if (registered == cudaSuccess) printf("copy to the card, registered     %7.1f GB/s\n", copy_rate(buffer, moved));
    cudaGetLastError();
    // A mapped file, as packed weights are.
    char name[] = "crossing-XXXXXX";
    int file = mkstemp(name);
    std::vector<uint8_t> part(16 << 20, 7);
    for (int i = 0; i < 64; i++)
        if (write(file, part.data(), part.size()) < 0) return 1;
    uint8_t *view = (uint8_t *)mmap(nullptr, moved, PROT_READ, MAP_SHARED, file, 0);
    printf("copy to the card, mapped file    %7.1f GB/s\n", copy_rate(view, moved));
    for (unsigned flags : {cudaHostRegisterDefault, cudaHostRegisterReadOnly}) {
        double begin = now();
        cudaError_t error = cudaHostRegister(view, moved, flags);
        printf("registering a mapped file, flags %u: %s, %.0f ms\n", flags, cudaGetErrorString(error), (now() - begin) * 1e-3);
        cudaGetLastError();
        if (error != cudaSuccess) continue;
        printf("copy to the card, registered file%7.1f GB/s\n", copy_rate(view, moved));
        CHECK(cudaHostUnregister(view));
        break;
    }
    unlink(name);

    // Both at once.
    for (int threads : {4, 8, cores - 2}) {
        std::atomic<bool> stop{false};
        std::atomic<uint64_t> sent{0};
        double begin = now();
        std::thread copier([&] {
            cudaStream_t own;
            CHECK(cudaStreamCreate(&own));
            while (!stop.load()) {
                for (int i = 0; i < 8; i++) CHECK(cudaMemcpyAsync(card + i * (4 << 20), pinned + i * (4 << 20), 4 << 20, cudaMemcpyHostToDevice, own));
                CHECK(cudaStreamSynchronize(own));
                sent += 32 << 20;
            }
        });
        double rate = read_rate(buffer, bytes, threads, 1.0);
        double copied = sent.load() / (now() - begin) * 1e-3;
        stop = true;
        copier.join();
        printf("host reads, %2d threads, beside a copy of %.1f GB/s: %.1f GB/s\n", threads, copied, rate * 1e-9);
    }
    return 0;
}
