// The f32 register tile that matrix products and convolutions share: mr rows x nr columns of sums.
//
// mr (at most 16) and nr (16, 32, 48 or 64) are literals at every call: the loops unroll, the sums live in registers.
#pragma once

#include "vector.h"

#define CV_TILE_ROWS 16
#define CV_TILE_COLUMNS 64
#define CV_TILE_VECTORS (CV_TILE_COLUMNS / CV_LANES)

typedef struct {
    cv_vec v[CV_TILE_ROWS][CV_TILE_VECTORS];
} cv_tile;

// Takes rows [m0, m0 + mb) and columns [n0, n0 + nb) of a result: tile[i * stride + j], 64-byte aligned. A kernel calls
// it from several places: a long one had better be noinline, with its own fast path for nb == stride.
typedef void cv_epilogue(void *ctx, const float *tile, int64_t stride, int64_t m0, int64_t mb, int64_t n0, int64_t nb);

CV_INLINE void cv_tile_zero(cv_tile *acc, int mr, int nr)
{
    CV_UNROLL
    for (int i = 0; i < mr; i++) {
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            acc->v[i][v] = (cv_vec){0};
    }
}

CV_INLINE void cv_tile_load(cv_tile *acc, const float *from, int mr, int nr)
{
    CV_UNROLL
    for (int i = 0; i < mr; i++) {
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            acc->v[i][v] = cv_load(from + i * nr + v * CV_LANES);
    }
}

CV_INLINE void cv_tile_store(const cv_tile *acc, float *to, int mr, int nr)
{
    CV_UNROLL
    for (int i = 0; i < mr; i++) {
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            cv_store(to + i * nr + v * CV_LANES, acc->v[i][v]);
    }
}

// Makes addresses opaque, so that each is kept: clang would derive one from the other in every step.
CV_INLINE void cv_tile_pin(const float **rows, int mr)
{
    CV_UNROLL
    for (int i = 0; i < mr; i++)
        __asm__("" : "+r"(rows[i]));
}

CV_INLINE void cv_tile_step(cv_tile *acc, const float *const *rows, const float *b, int64_t panel, int64_t k,
                            int mr, int nr)
{
    cv_vec column[CV_TILE_VECTORS];
    CV_UNROLL
    for (int v = 0; v < nr / CV_LANES; v++)
        column[v] = cv_load(b + k * CV_PANEL + v * CV_LANES / CV_PANEL * panel + v * CV_LANES % CV_PANEL);
    CV_UNROLL
    for (int i = 0; i < mr; i++) {
        const cv_vec x = cv_splat(rows[i][k]);
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            acc->v[i][v] += x * column[v];
    }
}

// acc[mr][nr] += rows[mr][k] * b[k][nr]. `b` is the tile's first panel, the next one lies `panel` floats further.
// On the way it brings 8 * depth floats from `ahead` on into the second cache.
// The barrier keeps the loads of a step behind the one before: hoisted together they spill the sums.
CV_INLINE void cv_tile_madd(cv_tile *acc, const float *const *rows, const float *b, int64_t panel, int64_t depth,
                            const float *ahead, int mr, int nr)
{
    int64_t k = 0;
    CV_NO_UNROLL
    for (; k + 2 <= depth; k += 2) {
        cv_tile_step(acc, rows, b, panel, k, mr, nr);
        __builtin_prefetch(ahead + k * 8, 0, 2);
        __asm__ volatile("" ::: "memory");
        cv_tile_step(acc, rows, b, panel, k + 1, mr, nr);
    }
    if (k < depth)
        cv_tile_step(acc, rows, b, panel, k, mr, nr);
}
