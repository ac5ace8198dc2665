// Numbers as numpy has them: integer arithmetic, conversions between element types. Nothing here is undefined.
#pragma once

#include <stdint.h>

#define CV_INLINE static inline __attribute__((always_inline))

#define CV_INFF __builtin_inff()
#define CV_INF __builtin_inf()
#define CV_NANF __builtin_nanf("")
#define CV_NAN __builtin_nan("")

#define CV_MAX_I8 INT8_MAX
#define CV_MAX_I16 INT16_MAX
#define CV_MAX_I32 INT32_MAX
#define CV_MAX_I64 INT64_MAX
#define CV_MAX_U8 UINT8_MAX
#define CV_MAX_U16 UINT16_MAX
#define CV_MAX_U32 UINT32_MAX
#define CV_MAX_U64 UINT64_MAX

CV_INLINE uint32_t cv_bits_f32(float x) { return ((union { float x; uint32_t bits; }){x}).bits; }
CV_INLINE float cv_f32_of_bits(uint32_t bits) { return ((union { uint32_t bits; float x; }){bits}).x; }
CV_INLINE uint64_t cv_bits_f64(double x) { return ((union { double x; uint64_t bits; }){x}).bits; }
CV_INLINE double cv_f64_of_bits(uint64_t bits) { return ((union { uint64_t bits; double x; }){bits}).x; }

// ---- integers: wraparound, division towards minus infinity, x / 0 = 0, min / -1 wraps

#define CV_ANY_INTEGER(T, U, N)                                                                                        \
    CV_INLINE T cv_min_##N(T a, T b) { return a < b ? a : b; }                                                         \
    CV_INLINE T cv_max_##N(T a, T b) { return a > b ? a : b; }                                                         \
    CV_INLINE T cv_add_##N(T a, T b) { return (T)((U)a + (U)b); }                                                      \
    CV_INLINE T cv_sub_##N(T a, T b) { return (T)((U)a - (U)b); }                                                      \
    CV_INLINE T cv_mul_##N(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }                                        \
    CV_INLINE T cv_neg_##N(T a) { return (T)(0 - (U)a); }                                                              \
    CV_INLINE T cv_shl_##N(T a, T b) { return (U)b < 8 * sizeof(T) ? (T)((uint64_t)a << (U)b) : 0; }

#define CV_UNSIGNED(T, N)                                                                                              \
    CV_ANY_INTEGER(T, T, N)                                                                                            \
    CV_INLINE T cv_abs_##N(T a) { return a; }                                                                          \
    CV_INLINE T cv_sign_##N(T a) { return a != 0; }                                                                    \
    CV_INLINE T cv_shr_##N(T a, T b) { return b < 8 * sizeof(T) ? (T)(a >> b) : 0; }                                   \
    CV_INLINE T cv_floordiv_##N(T a, T b) { return b == 0 ? 0 : (T)(a / b); }                                          \
    CV_INLINE T cv_fmod_##N(T a, T b) { return b == 0 ? 0 : (T)(a % b); }                                              \
    CV_INLINE T cv_mod_##N(T a, T b) { return b == 0 ? 0 : (T)(a % b); }                                               \
    CV_INLINE T cv_pow_##N(T a, T b) { return (T)cv_power((uint64_t)a, (uint64_t)b); }

#define CV_SIGNED(T, U, N)                                                                                             \
    CV_ANY_INTEGER(T, U, N)                                                                                            \
    CV_INLINE T cv_abs_##N(T a) { return a < 0 ? cv_neg_##N(a) : a; }                                                  \
    CV_INLINE T cv_sign_##N(T a) { return (T)((a > 0) - (a < 0)); }                                                    \
    CV_INLINE T cv_shr_##N(T a, T b) { return (T)(a >> ((U)b < 8 * sizeof(T) ? (U)b : 8 * sizeof(T) - 1)); }           \
    CV_INLINE T cv_fmod_##N(T a, T b) { return b == 0 || b == -1 ? 0 : (T)(a % b); }                                   \
    CV_INLINE T cv_mod_##N(T a, T b)                                                                                   \
    {                                                                                                                  \
        T r = cv_fmod_##N(a, b);                                                                                       \
        return r != 0 && (r ^ b) < 0 ? (T)(r + b) : r;                                                                 \
    }                                                                                                                  \
    CV_INLINE T cv_floordiv_##N(T a, T b)                                                                              \
    {                                                                                                                  \
        if (b == 0) return 0;                                                                                          \
        if (b == -1) return cv_neg_##N(a);                                                                             \
        return (T)(a / b - ((a % b != 0) & ((a ^ b) < 0)));                                                            \
    }                                                                                                                  \
    CV_INLINE T cv_pow_##N(T a, T b)                                                                                   \
    {                                                                                                                  \
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;                                                 \
        return (T)cv_power((uint64_t)a, (uint64_t)b);                                                                  \
    }

CV_INLINE uint64_t cv_power(uint64_t a, uint64_t b)
{
    uint64_t result = 1;
    for (; b != 0; b >>= 1, a *= a)
        if (b & 1) result *= a;
    return result;
}

CV_SIGNED(int8_t, uint8_t, i8)
CV_SIGNED(int16_t, uint16_t, i16)
CV_SIGNED(int32_t, uint32_t, i32)
CV_SIGNED(int64_t, uint64_t, i64)
CV_UNSIGNED(uint8_t, u8)
CV_UNSIGNED(uint16_t, u16)
CV_UNSIGNED(uint32_t, u32)
CV_UNSIGNED(uint64_t, u64)

// ---- floats to integers: towards zero; out of range gives the nearest end, nan gives 0

// `ABOVE` is the first power of two that the type cannot hold, `LOWEST` its least value: exact in both float types.
#define CV_FROM_FLOAT(F, FN, T, TN, LOWEST, ABOVE)                                                                     \
    CV_INLINE T cv_##FN##_to_##TN(F x)                                                                                 \
    {                                                                                                                  \
        return x >= (F)ABOVE ? (T)((uint64_t)(ABOVE / 2) * 2 - 1) : x <= (F)LOWEST ? (T)LOWEST : x == x ? (T)x : 0;    \
    }
#define CV_FROM_FLOATS(T, TN, LOWEST, ABOVE)                                                                           \
    CV_FROM_FLOAT(float, f32, T, TN, LOWEST, ABOVE)                                                                    \
    CV_FROM_FLOAT(double, f64, T, TN, LOWEST, ABOVE)

CV_FROM_FLOATS(int8_t, i8, -0x1p7, 0x1p7)
CV_FROM_FLOATS(int16_t, i16, -0x1p15, 0x1p15)
CV_FROM_FLOATS(int32_t, i32, -0x1p31, 0x1p31)
CV_FROM_FLOATS(int64_t, i64, -0x1p63, 0x1p63)
CV_FROM_FLOATS(uint8_t, u8, 0.0, 0x1p8)
CV_FROM_FLOATS(uint16_t, u16, 0.0, 0x1p16)
CV_FROM_FLOATS(uint32_t, u32, 0.0, 0x1p32)
CV_FROM_FLOATS(uint64_t, u64, 0.0, 0x1p64)

// ---- half floats, as their bits; rounding to nearest, ties to even

#if defined(__F16C__) || defined(__aarch64__)

CV_INLINE float cv_f16_to_f32(uint16_t half) { return (float)((union { uint16_t bits; _Float16 x; }){half}).x; }
CV_INLINE uint16_t cv_f32_to_f16(float x) { return ((union { _Float16 x; uint16_t bits; }){(_Float16)x}).bits; }

#else

CV_INLINE float cv_f16_to_f32(uint16_t half)
{
    uint32_t shifted = (uint32_t)(half & 0x7fff) << 13;
    float scaled = cv_f32_of_bits(shifted) * 0x1p112f;
    uint32_t special = (shifted | 0x7f800000) | (shifted & 0x7fffff ? 0x400000 : 0);
    uint32_t magnitude = shifted >= 0x0f800000 ? special : cv_bits_f32(scaled);
    return cv_f32_of_bits(magnitude | (uint32_t)(half & 0x8000) << 16);
}

CV_INLINE uint16_t cv_f32_to_f16(float x)
{
    uint32_t bits = cv_bits_f32(x), magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal = cv_bits_f32(cv_f32_of_bits(magnitude) + 0.5f) - 0x3f000000;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t half = magnitude >= 0x47800000 ? special : magnitude < 0x38800000 ? subnormal : normal;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

#endif

CV_INLINE float cv_round_f16(float x) { return cv_f16_to_f32(cv_f32_to_f16(x)); }

CV_INLINE float cv_bf16_to_f32(uint16_t half) { return cv_f32_of_bits((uint32_t)half << 16); }

CV_INLINE uint16_t cv_f32_to_bf16(float x)
{
    uint32_t bits = cv_bits_f32(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : (bits >> 16 | 0x40));
}

CV_INLINE float cv_round_bf16(float x) { return cv_bf16_to_f32(cv_f32_to_bf16(x)); }
