// Indices that are data: a wrong one is reported, and never read at.
#pragma once

#include <stdint.h>

// `i` where 0 <= i < n; else 0, and the step's fault is set.
static inline __attribute__((always_inline)) int64_t cv_index(int64_t i, int64_t n, int32_t *fault)
{
    if (__builtin_expect((uint64_t)i >= (uint64_t)n, 0)) {
        *fault = 1;
        return 0;
    }
    return i;
}
