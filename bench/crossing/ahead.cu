// What work of the card that waits for the host, submitted ahead, saves over a graph for each stage.
//
// nvcc -O3 -std=c++17 -arch=native -Xcompiler -O3,-march=native -o ahead ahead.cu -lcuda && ./ahead
//
// Prints medians of microseconds a round.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <vector>
#include <cuda.h>
#include <cuda_runtime.h>
static const int ROUNDS = 46;
static const size_t DOWN = 2832, UP = 32768;
#define CHECK(call) do { auto err_ = (call); if (err_) { printf("%s: %d (line %d)\n", #call, (int)err_, __LINE__); exit(1); } } while (0)
static double now() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static double median(std::vector<double> a) { std::sort(a.begin(), a.end()); return a[a.size() / 2]; }
// Work of about 2 us.
__global__ void work(float *x, int n) { float v = x[threadIdx.x]; for (int i = 0; i < n; i++) v = v * 1.0001f + 1.0f; x[threadIdx.x] = v; }
__global__ void poll(volatile uint32_t *flag, uint32_t wanted) { if (threadIdx.x == 0) while (*flag < wanted) {} __threadfence_system(); }
__global__ void poll_copy(volatile uint32_t *flag, uint32_t wanted, const float4 *from, float4 *to) {
    if (threadIdx.x == 0) while (*flag < wanted) {}
    __syncthreads(); __threadfence_system();
    int i = blockIdx.x * blockDim.x + threadIdx.x; to[i] = __ldcv(from + i);
}
__global__ void publish(const float4 *from, float4 *to, volatile uint32_t *flag, uint32_t epoch) {
    if (threadIdx.x < DOWN / 16) to[threadIdx.x] = from[threadIdx.x];
    __threadfence_system(); __syncthreads();
    if (threadIdx.x == 0) *flag = epoch;
}
int main() {
    CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
    cudaStream_t s; CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    float *d, *e; CHECK(cudaMalloc(&d, 1 << 20)); CHECK(cudaMalloc(&e, 1 << 20));
    CHECK(cudaMemset(d, 0, 1 << 20)); CHECK(cudaMemset(e, 0, 1 << 20));
    uint8_t *m; CHECK(cudaHostAlloc(&m, 1 << 20, cudaHostAllocMapped)); memset(m, 0, 1 << 20);
    volatile uint32_t *to_host = (uint32_t *)(m + 262144), *to_card = (uint32_t *)(m + 262144 + 4096);
    uint8_t *down = m, *up = m + 65536;
    std::vector<uint8_t> own(65536);
    cudaEvent_t ev[2]; for (auto &x : ev) CHECK(cudaEventCreateWithFlags(&x, cudaEventDisableTiming));
    auto graph = [&](int n) { cudaGraph_t g; cudaGraphExec_t x; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < n; i++) work<<<64, 256, 0, s>>>(d, 200);
        CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphInstantiate(&x, g, 0)); return x; };
    std::vector<cudaGraphExec_t> main_(ROUNDS), near_(ROUNDS);
    for (int i = 0; i < ROUNDS; i++) { main_[i] = graph(10); near_[i] = graph(3); }
    cudaGraphExec_t both = graph(13 * ROUNDS);
    double cpu = 0;
    auto compute = [&] { memcpy(own.data(), down, DOWN); double b = now(); while (now() - b < cpu) _mm_pause(); memcpy(up, own.data(), UP); };
    auto timed = [&](const char *name, auto once) { std::vector<double> all; for (int i = 0; i < 60; i++) { double b = now(); once(); if (i >= 10) all.push_back((now() - b) / ROUNDS); } printf("%-60s cpu %3.0f us: %7.2f us a round\n", name, cpu, median(all)); };
    CUdeviceptr card_word, host_word; cuMemHostGetDevicePointer(&card_word, (void *)to_card, 0); cuMemHostGetDevicePointer(&host_word, (void *)to_host, 0);
    uint32_t epoch = 0;
    for (double c : {0.0, 20.0, 60.0}) {
        cpu = c;
        timed("one graph, no crossing", [&] { CHECK(cudaGraphLaunch(both, s)); CHECK(cudaStreamSynchronize(s)); });
        timed("stages, all before the copy down", [&] { for (int i = 0; i < ROUNDS; i++) {
            CHECK(cudaGraphLaunch(main_[i], s)); CHECK(cudaGraphLaunch(near_[i], s)); CHECK(cudaMemcpyAsync(down, d, DOWN - 16, cudaMemcpyDeviceToHost, s)); CHECK(cudaMemcpyAsync(down + DOWN - 16, e, 16, cudaMemcpyDeviceToHost, s));
            CHECK(cudaStreamSynchronize(s)); compute(); CHECK(cudaMemcpyAsync(d, up, UP, cudaMemcpyHostToDevice, s)); } CHECK(cudaStreamSynchronize(s)); });
        for (int copies = 2; copies > 0; copies--)
        timed(copies == 2 ? "stages, near after the copies down, event" : "the same, one copy down", [&] { for (int i = 0; i < ROUNDS; i++) {
            CHECK(cudaGraphLaunch(main_[i], s)); CHECK(cudaMemcpyAsync(down, d, DOWN - 16, cudaMemcpyDeviceToHost, s)); if (copies == 2) CHECK(cudaMemcpyAsync(down + DOWN - 16, e, 16, cudaMemcpyDeviceToHost, s));
            CHECK(cudaEventRecord(ev[0], s)); CHECK(cudaGraphLaunch(near_[i], s)); CHECK(cudaEventSynchronize(ev[0])); compute(); CHECK(cudaMemcpyAsync(d, up, UP, cudaMemcpyHostToDevice, s)); } CHECK(cudaStreamSynchronize(s)); });
        // Ahead: everything up to the next round's near part is submitted before the host computes.
        for (int way = 0; way < 6; way++) {
            const char *names[] = {"ahead: stream waits for value, copy; event", "ahead: stream waits for value, copy; stream writes value", "ahead: kernel polls, copy; event", "ahead: kernel polls, copy; stream writes value", "ahead: kernel polls and copies; stream writes value", "ahead: kernel polls and copies; kernel publishes"};
            timed(names[way], [&] {
                uint32_t first = epoch; epoch += ROUNDS;
                auto submit = [&](int i) {
                    if (i > 0) {
                        uint32_t w = first + i;
                        if (way < 2) { CHECK(cuStreamWaitValue32(s, card_word, w, CU_STREAM_WAIT_VALUE_GEQ)); CHECK(cudaMemcpyAsync(d, up, UP, cudaMemcpyHostToDevice, s)); }
                        else if (way < 4) { poll<<<1, 32, 0, s>>>(to_card, w); CHECK(cudaMemcpyAsync(d, up, UP, cudaMemcpyHostToDevice, s)); }
                        else poll_copy<<<UP / 16 / 128, 128, 0, s>>>(to_card, w, (float4 *)up, (float4 *)d);
                    }
                    if (i == ROUNDS) return;
                    CHECK(cudaGraphLaunch(main_[i], s));
                    if (way == 5) publish<<<1, 256, 0, s>>>((float4 *)d, (float4 *)down, to_host, first + i + 1);
                    else { CHECK(cudaMemcpyAsync(down, d, DOWN, cudaMemcpyDeviceToHost, s));
                        if (way % 2 == 0 && way < 4) CHECK(cudaEventRecord(ev[i % 2], s)); else CHECK(cuStreamWriteValue32(s, host_word, first + i + 1, 0)); }
                    CHECK(cudaGraphLaunch(near_[i], s));
                };
                submit(0);
                for (int i = 0; i < ROUNDS; i++) {
                    submit(i + 1);
                    if (way % 2 == 0 && way < 4) CHECK(cudaEventSynchronize(ev[i % 2]));
                    else { double b = now(); while (*to_host < first + i + 1) { _mm_pause(); if (now() - b > 2e6) { printf("no flag\n"); exit(1); } } }
                    std::atomic_thread_fence(std::memory_order_seq_cst);
                    compute();
                    std::atomic_thread_fence(std::memory_order_seq_cst);
                    *to_card = first + i + 1;
                }
                CHECK(cudaStreamSynchronize(s));
            });
        }
    }
}
