// One Bayesian update over packed reports, by the tensor cores' product of bits.
//
// A report is a row of words; bit x says whether it supports value x. An update needs, at h,
//     s_i = sum of h over the bits of row i,   d_i = 1 + c s_i,   w_i = 1 / d_i^power,
//     t_x = sum of w_i over the rows that have bit x,
// and the sums of w_i and of log d_i. Both products are of a matrix of bits with numbers. So the
// numbers become integers of 32 bits, and these 32 planes of bits: a product of bits with bits
// is counting (AND, then population count), which tensor cores do for 16 rows, 8 columns and
// 256 places at once, without the bits ever being unpacked. All sums are of integers, hence the
// same in any order: results repeat to the last bit on any card.
//
// A block takes 512 rows (a tile) at a time, the next tile being copied meanwhile. Each of its 16
// warps multiplies 32 rows with the planes of h, one lane turns a sum into a weight, a ballot
// turns 32 weights into planes; then each warp turns its own 64 columns of the tile around, 32 by
// 32 bits in a lane's registers, and counts them against the planes of all 512 weights.
//
// Rows of more than 32 words go through in slabs of 32: first FORWARD over all slabs, which
// writes the weights, then ADJOINT slab by slab, which reads them.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum { FUSED = 0, FORWARD = 1, ADJOINT = 2 };
enum { WARPS = 16, ROWS = 32 * WARPS, SLAB = 32, PLANES = 32 };
// Rows of odd multiples of four words: neighbouring rows never meet in a bank.
enum { PITCH = SLAB + 4, WEIGHTS = WARPS + 4 };
enum { TILE_WORDS = ROWS * PITCH + WARPS * 4, H_WORDS = PLANES * PITCH };

#ifndef RUMOR_TWIN  // what tests/engines/card_twin.h does on any processor
#define BLOCK_MEMORY extern __shared__ __align__(16) u32 shared[]

// c (16 rows, 8 columns) += how many of 256 places both a row of a and a column of b have.
__device__ __forceinline__ void count256(int c[4], const u32 a[4], const u32 b[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 16 bytes into shared memory, some time until `copied`; zeros where there is nothing.
__device__ __forceinline__ void copy16(u32* to, const u32* from, bool there) {
    u32 place = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(there ? 16 : 0));
}

__device__ __forceinline__ void copied() {
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
}
#endif

// Where a word of a tile lies: groups of 32 rows are moved on by four words, so that the lanes
// that turn blocks of different groups around do not meet either.
__device__ __forceinline__ int place(int row, int word) {
    return row * PITCH + (row >> 5) * 4 + word;
}

// The words [slab * 32, slab * 32 + 32) of the rows of a tile; absent words and rows are zero.
__device__ __forceinline__ void fetch(
    u32* tile, const u32* reports, i64 first, i64 rows, int words, int slab) {
    const int left = words - slab * SLAB, shift = left > 16 ? 3 : left > 8 ? 2 : 1;
    for (int i = threadIdx.x; i < ROWS << shift; i += 32 * WARPS) {
        int row = i >> shift, chunk = i & ((1 << shift) - 1), word = slab * SLAB + chunk * 4;
        bool there = first + row < rows && word < words;
        const u32* from = reports + (there ? (first + row) * words + word : 0);
        copy16(tile + place(row, chunk * 4), from, there);
    }
}

// The matrix of 32 rows by 32 bits, turned around: bit j of row i becomes bit i of row j. Rows
// that are 16, 8, 4, 2 and 1 apart exchange halves, bytes, and so on.
template <int J>
__device__ __forceinline__ void exchange(u32& x, u32& y) {
    u32 low, high;
    if (J == 16) {
        low = __byte_perm(x, y, 0x5410), high = __byte_perm(x, y, 0x7632);
    } else if (J == 8) {
        low = __byte_perm(x, y, 0x6240), high = __byte_perm(x, y, 0x7351);
    } else {
        const u32 mask = J == 4 ? 0x0f0f0f0f : J == 2 ? 0x33333333 : 0x55555555;
        low = (x & mask) | (y << J & ~mask), high = (x >> J & mask) | (y & ~mask);
    }
    x = low, y = high;
}

template <int J>
__device__ __forceinline__ void turn(u32 (&x)[32]) {
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const int row = (k & ~(J - 1)) * 2 + (k & (J - 1));
        exchange<J>(x[row], x[row + J]);
    }
    if constexpr (J > 1) turn<J / 2>(x);
}

// The same for a matrix whose rows are the lanes of a warp.
__device__ __forceinline__ u32 turn_lanes(u32 x) {
    const int lane = threadIdx.x & 31;
    u32 y = __shfl_xor_sync(~0u, x, 16);
    x = __byte_perm(x, y, lane & 16 ? 0x3276 : 0x5410);
    y = __shfl_xor_sync(~0u, x, 8);
    x = __byte_perm(x, y, lane & 8 ? 0x3715 : 0x6240);
#pragma unroll
    for (int j = 4; j; j >>= 1) {
        const u32 mask = j == 4 ? 0x0f0f0f0f : j == 2 ? 0x33333333 : 0x55555555;
        y = __shfl_xor_sync(~0u, x, j);
        x = lane & j ? (y >> j & mask) | (x & ~mask) : (x & mask) | (y << j & ~mask);
    }
    return x;
}

// Where the word of a value lies: lanes that read four groups of eight values never meet.
__device__ __forceinline__ int turned_place(int column, int rows, int value) {
    return (column * WARPS + rows) * 32 + (value ^ (rows & 3) * 8);
}

// Counts the columns of this warp against the planes of the weights.
__device__ __forceinline__ void collect(int found[2][4][2][4], const u32* kept, const u32* turned) {
    const int lane = threadIdx.x & 31, group = lane >> 2, quarter = lane & 3;
    u32 a[2][2][4];
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                a[k][m][r] = kept[(m * 16 + (r & 1) * 8 + group) * WEIGHTS
                                  + k * 8 + (r >> 1) * 4 + quarter];
#pragma unroll
    for (int column = 0; column < 2; column++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int value = n * 8 + group;
                u32 b[2] = {turned[turned_place(column, k * 8 + quarter, value)],
                            turned[turned_place(column, k * 8 + 4 + quarter, value)]};
                count256(found[column][n][0], a[k][0], b);
                count256(found[column][n][1], a[k][1], b);
            }
}

// Adds the products of this warp's 32 rows with the planes of h.
__device__ __forceinline__ void multiply(int sum[2][4][4], const u32* tile, const u32* h, int width) {
    const int lane = threadIdx.x & 31, group = lane >> 2, quarter = lane & 3;
    const int first = threadIdx.x & ~31;
#pragma unroll
    for (int k = 0; k < SLAB; k += 8) {
        if (k >= width) break;
        u32 a[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                a[m][r] = tile[place(first + m * 16 + (r & 1) * 8 + group, k + (r >> 1) * 4 + quarter)];
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const u32* at = h + (n * 8 + group) * PITCH + k + quarter;
            u32 b[2] = {at[0], at[4]};
            count256(sum[0][n], a[0], b);
            count256(sum[1][n], a[1], b);
        }
    }
}

// The sum of each lane's own row, from counts that lie as the product left them: planes
// 8 n + 2 quarter and the next, of rows `group` and 8 further on.
__device__ __forceinline__ u64 summed(int sum[2][4][4]) {
    const int lane = threadIdx.x & 31, quarter = lane & 3;
    u64 part[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 s = 0;
#pragma unroll
        for (int n = 0; n < 4; n++) {
            u32 two = sum[i >> 1][n][(i & 1) * 2] + 2 * sum[i >> 1][n][(i & 1) * 2 + 1];
            s += (u64)two << n * 8;
            sum[i >> 1][n][(i & 1) * 2] = sum[i >> 1][n][(i & 1) * 2 + 1] = 0;
        }
        s <<= quarter * 2;
        s += __shfl_xor_sync(~0u, s, 1);
        s += __shfl_xor_sync(~0u, s, 2);
        part[i] = s;
    }
    u64 mine = quarter & 2 ? (quarter & 1 ? part[3] : part[2]) : (quarter & 1 ? part[1] : part[0]);
    // Lane 4 group + quarter has row 8 quarter + group: every lane gets its own.
    return __shfl_sync(~0u, mine, (lane & 7) * 4 + (lane >> 3));
}

template <int MODE>
__global__ void __launch_bounds__(32 * WARPS, 1) update(
    const u32* __restrict__ reports, i64 rows, int words, int slabs,
    const u32* __restrict__ planes,  // of h: 32 for every slab, of 32 words each
    double unit, double c, int power,
    u32* __restrict__ weights,       // of all rows, between FORWARD and ADJOINT
    u64* __restrict__ totals,        // for every value
    u64* __restrict__ sums)          // of the weights, and of the logarithms
{
    BLOCK_MEMORY;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32* const tiles = shared;                     // two: one is worked on, one is copied
    u32* const h = tiles + 2 * TILE_WORDS;         // of the tile's slab: two, where they change
    u32* const kept = h + (MODE == FORWARD ? 2 : 1) * H_WORDS;  // planes of weights, two in turn
    u32* const turned = kept + 2 * PLANES * WEIGHTS + warp * 2 * WARPS * 32;
    const int slab0 = MODE == ADJOINT ? blockIdx.y : 0;
    const i64 count = (rows + ROWS - 1) / ROWS;
    const bool busy = warp * 2 < words - slab0 * SLAB;

    int found[2][4][2][4] = {};  // columns, eighths of a column, halves of the planes
    int sum[2][4][4] = {};
    u64 weight = 0;
    i64 logs = 0;
    double product = 1.0;

    if (MODE == FUSED)
        for (int i = threadIdx.x; i < PLANES * SLAB; i += 32 * WARPS)
            h[(i >> 5) * PITCH + (i & 31)] = planes[i];
    auto begin = [&](i64 tile, int slab, int to) {
        if (MODE == FORWARD)
            for (int i = threadIdx.x; i < PLANES * SLAB / 4; i += 32 * WARPS)
                copy16(h + to * H_WORDS + (i >> 3) * PITCH + (i & 7) * 4,
                       planes + slab * PLANES * SLAB + i * 4, true);
        fetch(tiles + to * TILE_WORDS, reports, tile * ROWS, rows, words, slab);
    };
    i64 tile = blockIdx.x;
    int slab = slab0, parity = 0, step = 0;
    if (tile < count) begin(tile, slab, 0);
    for (; tile < count; parity ^= 1, step++) {
        copied();
        __syncthreads();
        // What was turned and weighed before the barrier; the copy may overwrite its tile.
        if (MODE != FORWARD && step && busy)
            collect(found, kept + (parity ^ 1) * PLANES * WEIGHTS, turned);
        const bool last = MODE != FORWARD || slab + 1 == slabs;
        const i64 next = last ? tile + gridDim.x : tile;
        const int next_slab = last ? slab0 : slab + 1;
        if (next < count) begin(next, next_slab, parity ^ 1);

        const u32* here = tiles + parity * TILE_WORDS;
        const i64 row = tile * ROWS + threadIdx.x;
        u32 w = 0;
        if (MODE == ADJOINT) {
            if (row < rows) w = weights[row];
        } else {
            multiply(sum, here, h + (MODE == FORWARD ? parity * H_WORDS : 0), words - slab * SLAB);
            if (last) {
                double d = 1.0 + c * ((double)summed(sum) * unit);
                // One step of Newton's from a reciprocal in single precision.
                double share = (double)(1.0f / (float)d);
                share = share + share * (1.0 - d * share);
                share = share + share * (1.0 - d * share);
                if (power == 2) share *= share;
                if (row < rows) {
                    w = __double2uint_rn(share * 4294967295.0);
                    weight += w;
                    product *= d;
                    if (MODE == FORWARD) weights[row] = w;
                }
                // A logarithm now and then: that of a product of at most 2^30 each.
                if ((step & 31) == 31 || MODE == FORWARD) {
                    logs += __double2ll_rn(log(product) * 268435456.0);
                    product = 1.0;
                }
            }
        }
        if (MODE != FORWARD) {
            kept[parity * PLANES * WEIGHTS + lane * WEIGHTS + warp] = turn_lanes(w);
            if (busy) {
                // Lane l turns the block of group l % 16 in column l / 16 of this warp's two.
                u32 x[32];
                const int mine = lane & 15, column = lane >> 4;
#pragma unroll
                for (int r = 0; r < 32; r++) x[r] = here[place(mine * 32 + r, warp * 2 + column)];
                turn<16>(x);
                __syncwarp();
#pragma unroll
                for (int r = 0; r < 32; r += 4)
                    *(uint4*)(turned + turned_place(column, mine, r)) =
                        make_uint4(x[r], x[r + 1], x[r + 2], x[r + 3]);
            }
        }
        tile = next;
        slab = next_slab;
    }
    if (MODE != FORWARD) {
        __syncthreads();
        if (step && busy) collect(found, kept + (parity ^ 1) * PLANES * WEIGHTS, turned);
        const int group = lane >> 2, quarter = lane & 3;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int column = i >> 3, n = i >> 1 & 3, side = i & 1;
            u64 t = 0;
#pragma unroll
            for (int m = 0; m < 2; m++) {
                t += (u64)(u32)found[column][n][m][side] << m * 16;
                t += (u64)(u32)found[column][n][m][2 + side] << (m * 16 + 8);
            }
            t <<= group;
            t += __shfl_xor_sync(~0u, t, 4);
            t += __shfl_xor_sync(~0u, t, 8);
            t += __shfl_xor_sync(~0u, t, 16);
            const int value = (slab0 * SLAB + warp * 2 + column) * 32 + n * 8 + quarter * 2 + side;
            if (group == 0 && t) atomicAdd(totals + value, t);
        }
    }
    if (MODE != ADJOINT) {
        logs += __double2ll_rn(log(product) * 268435456.0);
        for (int i = 16; i; i >>= 1) {
            weight += __shfl_xor_sync(~0u, weight, i);
            logs += __shfl_xor_sync(~0u, logs, i);
        }
        if (lane == 0) {
            atomicAdd(sums, weight);
            atomicAdd(sums + 1, (u64)logs);
        }
    }
}
