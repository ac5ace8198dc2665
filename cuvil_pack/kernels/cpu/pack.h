// Packs the columns of a matrix into panels [ceil(N / 16)][K][16], zeros behind the last column.
#pragma once

#include "vector.h"

typedef float cv_vec4 __attribute__((vector_size(16), may_alias));
typedef float cv_vec4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

CV_INLINE int64_t cv_panel_floats(int64_t k, int64_t n) { return cv_ceil_div(n, CV_PANEL) * CV_PANEL * k; }

// From B[K, N] with rows `stride` floats apart.
CV_INLINE void cv_pack_rows(float *panels, const float *b, int64_t stride, int64_t k, int64_t n)
{
    for (int64_t n0 = 0; n0 < n; n0 += CV_PANEL, panels += CV_PANEL * k) {
        const int64_t nb = cv_least(CV_PANEL, n - n0);
        if (nb == CV_PANEL)
            for (int64_t p = 0; p < k; p++)
                for (int j = 0; j < CV_PANEL; j++)
                    panels[p * CV_PANEL + j] = b[p * stride + n0 + j];
        else
            for (int64_t p = 0; p < k; p++)
                for (int64_t j = 0; j < CV_PANEL; j++)
                    panels[p * CV_PANEL + j] = j < nb ? b[p * stride + n0 + j] : 0;
    }
}

// to[4][CV_PANEL-strided] = the transpose of from[4][stride].
CV_INLINE void cv_transpose_4x4(float *to, const float *from, int64_t stride)
{
    const cv_vec4 r0 = *(const cv_vec4_unaligned *)(from + 0 * stride);
    const cv_vec4 r1 = *(const cv_vec4_unaligned *)(from + 1 * stride);
    const cv_vec4 r2 = *(const cv_vec4_unaligned *)(from + 2 * stride);
    const cv_vec4 r3 = *(const cv_vec4_unaligned *)(from + 3 * stride);
    const cv_vec4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
    const cv_vec4 high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    const cv_vec4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    const cv_vec4 high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(cv_vec4 *)(to + 0 * CV_PANEL) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    *(cv_vec4 *)(to + 1 * CV_PANEL) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    *(cv_vec4 *)(to + 2 * CV_PANEL) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    *(cv_vec4 *)(to + 3 * CV_PANEL) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

// From the transpose: row j of b[N, K], rows `stride` floats apart, is column j.
CV_INLINE void cv_pack_columns(float *panels, const float *b, int64_t stride, int64_t k, int64_t n)
{
    for (int64_t n0 = 0; n0 < n; n0 += CV_PANEL, panels += CV_PANEL * k) {
        const int64_t nb = cv_least(CV_PANEL, n - n0);
        int64_t p = 0;
        for (; nb == CV_PANEL && p + 4 <= k; p += 4)
            for (int j = 0; j < CV_PANEL; j += 4)
                cv_transpose_4x4(panels + p * CV_PANEL + j, b + (n0 + j) * stride + p, stride);
        for (; p < k; p++)
            for (int64_t j = 0; j < CV_PANEL; j++)
                panels[p * CV_PANEL + j] = j < nb ? b[(n0 + j) * stride + p] : 0;
    }
}
