// The words of cards that update.cu uses, on any processor: a thread for each of a block's
// threads, and what a warp does together done by the last of its lanes to arrive.
#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#define RUMOR_TWIN
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define BLOCK_MEMORY u32* const shared = block_memory

struct Three { int x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

class Barrier {
  public:
    explicit Barrier(int count) : count_(count) {}
    template <class Last>
    void wait(Last last) {
        std::unique_lock<std::mutex> lock(mutex_);
        const long now = generation_;
        if (++arrived_ == count_) {
            last();
            arrived_ = 0, generation_++;
            all_.notify_all();
        } else {
            all_.wait(lock, [&] { return generation_ != now; });
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable all_;
    const int count_;
    int arrived_ = 0;
    long generation_ = 0;
};

struct Warp {
    Barrier barrier{32};
    u64 given[32], got[32];
    const u32* a[32];
    const u32* b[32];
    int* c[32];
};

static thread_local Three threadIdx, blockIdx, gridDim;
static thread_local Warp* warp_of;
static thread_local Barrier* block_of;
static thread_local u32* block_memory;

inline void __syncthreads() { block_of->wait([] {}); }
inline void __syncwarp() { warp_of->barrier.wait([] {}); }

template <class T>
T __shfl_sync(u32, T value, int from) {
    const int lane = threadIdx.x & 31;
    Warp& warp = *warp_of;
    warp.given[lane] = (u64)value, warp.got[lane] = (u64)from;
    warp.barrier.wait([&] {
        for (int i = 0; i < 32; i++) warp.got[i] = warp.given[warp.got[i] & 31];
    });
    return (T)warp.got[lane];
}

template <class T>
T __shfl_xor_sync(u32 mask, T value, int other) {
    return __shfl_sync(mask, value, (threadIdx.x & 31) ^ other);
}

inline u32 __byte_perm(u32 x, u32 y, u32 selected) {
    const u64 both = (u64)y << 32 | x;
    u32 out = 0;
    for (int i = 0; i < 4; i++) out |= (u32)(both >> (selected >> 4 * i & 7) * 8 & 255) << 8 * i;
    return out;
}

inline u32 __double2uint_rn(double x) { return (u32)std::nearbyint(x); }
inline i64 __double2ll_rn(double x) { return (i64)std::nearbyint(x); }
inline void atomicAdd(u64* to, u64 value) { __atomic_fetch_add(to, value, __ATOMIC_RELAXED); }

inline void copy16(u32* to, const u32* from, bool there) {
    if (there) std::memcpy(to, from, 16); else std::memset(to, 0, 16);
}
inline void copied() {}

// As the manual of PTX says where the elements of m16n8k256 lie.
inline void count256(int c[4], const u32 a[4], const u32 b[2]) {
    const int lane = threadIdx.x & 31;
    Warp& warp = *warp_of;
    warp.a[lane] = a, warp.b[lane] = b, warp.c[lane] = c;
    warp.barrier.wait([&] {
        for (int row = 0; row < 16; row++)
            for (int column = 0; column < 8; column++) {
                int seen = 0;
                for (int k = 0; k < 8; k++)
                    seen += __builtin_popcount(
                        warp.a[(row & 7) * 4 + (k & 3)][(row >> 3) + (k >> 2) * 2]
                        & warp.b[column * 4 + (k & 3)][k >> 2]);
                warp.c[(row & 7) * 4 + (column >> 1)][(row >> 3) * 2 + (column & 1)] += seen;
            }
    });
    warp.barrier.wait([] {});
}

template <class Kernel>
void on_every_thread(int across, int down, int threads, int shared_bytes, Kernel kernel) {
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++) {
            // Whatever was there before: a card does not clear its memory either.
            std::vector<uint4> memory(shared_bytes / 16, uint4{0xdeadbeef, 0x5eed, 0xffffffff, 7});
            std::vector<Warp> warps(threads / 32);
            Barrier block(threads);
            std::vector<std::thread> all;
            for (int i = 0; i < threads; i++)
                all.emplace_back([&, i] {
                    threadIdx = {i, 0}, blockIdx = {x, y}, gridDim = {across, down};
                    warp_of = &warps[i / 32], block_of = &block;
                    block_memory = (u32*)memory.data();
                    kernel();
                });
            for (std::thread& one : all) one.join();
        }
}
