// Vectors of the target's width in GCC vector extensions, and the panels that weights are packed in.
#pragma once

#include <stdint.h>

#define CV_INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define CV_UNROLL _Pragma("clang loop unroll(full)")
#define CV_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define CV_UNROLL
#define CV_NO_UNROLL
#endif

#if defined(__AVX512F__)
#define CV_LANES 16
#elif defined(__AVX2__)
#define CV_LANES 8
#else
#define CV_LANES 4
#endif

// What a kernel counts on in the second cache.
#define CV_AHEAD_BYTES (CV_LANES == 16 ? 5 << 18 : 1 << 19)

// Columns of one panel of packed weights, the same for every lane width.
#define CV_PANEL 16

typedef float cv_vec __attribute__((vector_size(CV_LANES * 4), may_alias));
typedef float cv_vec_unaligned __attribute__((vector_size(CV_LANES * 4), aligned(4), may_alias));
typedef int32_t cv_ivec __attribute__((vector_size(CV_LANES * 4), may_alias));

CV_INLINE int64_t cv_least(int64_t a, int64_t b) { return a < b ? a : b; }
CV_INLINE int64_t cv_most(int64_t a, int64_t b) { return a > b ? a : b; }
CV_INLINE int64_t cv_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// x - 0 is x for every x, which x + 0 is not.
CV_INLINE cv_vec cv_splat(float x) { return x - (cv_vec){0}; }
CV_INLINE cv_vec cv_load(const float *p) { return *(const cv_vec_unaligned *)p; }
CV_INLINE void cv_store(float *p, cv_vec x) { *(cv_vec_unaligned *)p = x; }

#if __has_builtin(__builtin_masked_load)

typedef _Bool cv_mask __attribute__((ext_vector_type(CV_LANES)));
typedef float cv_masked __attribute__((ext_vector_type(CV_LANES)));

CV_INLINE cv_mask cv_first_lanes(int64_t count)
{
    cv_ivec lane;
    CV_UNROLL
    for (int i = 0; i < CV_LANES; i++)
        lane[i] = i;
    return __builtin_convertvector(lane < (int32_t)count, cv_mask);
}

// The first `count` lanes, the others zero; reads nothing behind them.
CV_INLINE cv_vec cv_load_part(const float *p, int64_t count)
{
    return (cv_vec)__builtin_masked_load(cv_first_lanes(count), p, (cv_masked)0);
}

CV_INLINE void cv_store_part(float *p, cv_vec x, int64_t count)
{
    __builtin_masked_store(cv_first_lanes(count), (cv_masked)x, p);
}

#else

CV_INLINE cv_vec cv_load_part(const float *p, int64_t count)
{
    cv_vec x = {0};
    for (int64_t i = 0; i < count && i < CV_LANES; i++)
        x[i] = p[i];
    return x;
}

CV_INLINE void cv_store_part(float *p, cv_vec x, int64_t count)
{
    for (int64_t i = 0; i < count && i < CV_LANES; i++)
        p[i] = x[i];
}

#endif
