#include "card_twin.h"

using std::log;
#include "update.cu"

extern "C" void run(
    int mode, int across, int down, int shared_bytes, const u32* reports, i64 rows, int words,
    int slabs, const u32* planes, double unit, double c, int power, u32* weights, u64* totals,
    u64* sums) {
    on_every_thread(across, down, 32 * WARPS, shared_bytes, [=] {
        if (mode == FUSED)
            update<FUSED>(reports, rows, words, slabs, planes, unit, c, power, weights, totals, sums);
        if (mode == FORWARD)
            update<FORWARD>(reports, rows, words, slabs, planes, unit, c, power, weights, totals, sums);
        if (mode == ADJOINT)
            update<ADJOINT>(reports, rows, words, slabs, planes, unit, c, power, weights, totals, sums);
    });
}
