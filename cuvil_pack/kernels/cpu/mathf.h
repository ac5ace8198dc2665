// Single-precision functions, within about 2 ulp over the whole range; nan, infinities, subnormals and -0 as numpy has
// them. Without branches, so that loops over them become vector code; the frequent ones stay in single precision, the
// rare ones go through double. Polynomials are minimax fits of the relative error.
#pragma once

#include "mathd.h"

// ---- rounding, sign, order

CV_INLINE float cv_absf(float x) { return __builtin_fabsf(x); }
CV_INLINE float cv_copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
CV_INLINE float cv_floorf(float x) { return __builtin_floorf(x); }
CV_INLINE float cv_ceilf(float x) { return __builtin_ceilf(x); }
CV_INLINE float cv_truncf(float x) { return __builtin_truncf(x); }
CV_INLINE float cv_rintf(float x) { return __builtin_roundevenf(x); }
CV_INLINE float cv_sqrtf(float x) { return __builtin_sqrtf(x); }
CV_INLINE float cv_rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
CV_INLINE _Bool cv_isnanf(float x) { return x != x; }
CV_INLINE _Bool cv_isinff(float x) { return __builtin_fabsf(x) == CV_INFF; }
CV_INLINE float cv_signf(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? 0.0f : x; }
CV_INLINE float cv_maxf(float a, float b) { return a > b || a != a ? a : b; }
CV_INLINE float cv_minf(float a, float b) { return a < b || a != a ? a : b; }

// ---- exponentials

#define CV_LN2_HIGHF 0x1.62e4p-1f // 15 bits: a product with an exponent is exact
#define CV_LN2_LOWF 0x1.7f7d1cp-20f
#define CV_LOG2EF 0x1.715476p+0f
#define CV_ROUNDF 0x1.8p23f // x + CV_ROUNDF has the nearest integer of x in its low bits

CV_INLINE float cv_clamp_exponentf(float x, float low, float high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

CV_INLINE float cv_power_of_twof(int32_t n) { return cv_f32_of_bits((uint32_t)(n + 127) << 23); }

// x * 2^n for n from -250 to 250, rounded once where the result is subnormal.
CV_INLINE float cv_scalef(float x, int32_t n)
{
    int32_t half = n >> 1;
    return x * cv_power_of_twof(half) * cv_power_of_twof(n - half);
}

// x = n ln(2) + r with |r| <= ln(2) / 2
typedef struct { float r; int32_t n; } cv_exp_partsf;

CV_INLINE cv_exp_partsf cv_exp_splitf(float x)
{
    float shifted = x * CV_LOG2EF + CV_ROUNDF, n = shifted - CV_ROUNDF;
    int32_t whole = (int32_t)(cv_bits_f32(shifted) - cv_bits_f32(CV_ROUNDF));
    return (cv_exp_partsf){(x - n * CV_LN2_HIGHF) - n * CV_LN2_LOWF, whole};
}

// e^r for |r| <= ln(2) / 2
CV_INLINE float cv_exp_seriesf(float r)
{
    float q = 1.3814548e-03f;
    q = q * r + 8.368745e-03f;
    q = q * r + 4.166839e-02f;
    q = q * r + 1.6666521e-01f;
    q = q * r + 4.9999994e-01f;
    return r * r * q + r + 1.0f;
}

CV_INLINE float cv_expf(float x)
{
    cv_exp_partsf p = cv_exp_splitf(cv_clamp_exponentf(x, -105.0f, 90.0f));
    return cv_scalef(cv_exp_seriesf(p.r), p.n);
}

// e^x where the result is a normal number: -87 <= x <= 88
CV_INLINE float cv_exp_normalf(float x)
{
    cv_exp_partsf p = cv_exp_splitf(x);
    return cv_exp_seriesf(p.r) * cv_power_of_twof(p.n);
}

CV_INLINE float cv_exp2f(float x)
{
    x = cv_clamp_exponentf(x, -152.0f, 130.0f);
    float shifted = x + CV_ROUNDF, r = x - (shifted - CV_ROUNDF);
    float q = 1.5595111e-04f;
    q = q * r + 1.3406798e-03f;
    q = q * r + 9.617691e-03f;
    q = q * r + 5.55031e-02f;
    q = q * r + 2.4022652e-01f;
    q = q * r + 6.9314724e-01f;
    return cv_scalef(q * r + 1.0f, (int32_t)(cv_bits_f32(shifted) - cv_bits_f32(CV_ROUNDF)));
}

CV_INLINE float cv_expm1f(float x)
{
    cv_exp_partsf p = cv_exp_splitf(cv_clamp_exponentf(x, -30.0f, 89.0f));
    float r = p.r, q = 1.9962346e-04f;
    q = q * r + 1.3943255e-03f;
    q = q * r + 8.33322e-03f;
    q = q * r + 4.1666325e-02f;
    q = q * r + 1.6666667e-01f;
    q = q * r + 0.5f;
    float half = cv_power_of_twof(p.n - 1);
    float y = (half * (r * r * q + r) + (half - 0.5f)) * 2.0f;
    return x == 0 ? x : y;
}

CV_INLINE float cv_sigmoidf(float x)
{
    float e = cv_expf(-__builtin_fabsf(x));
    return (x >= 0 ? 1.0f : e) / (1.0f + e);
}

CV_INLINE float cv_tanhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x, p = -6.2742406e-03f;
    p = p * z + 2.107168e-02f;
    p = p * z - 5.385231e-02f;
    p = p * z + 1.3332586e-01f;
    p = p * z - 3.3333316e-01f;
    float near = x * z * p + x;
    float far = 1.0f - 2.0f / (cv_exp_normalf(2.0f * (a > 10.0f ? 10.0f : a)) + 1.0f);
    return __builtin_copysignf(a < 0.55f ? near : far, x);
}

CV_INLINE float cv_sinhf(float x) { return (float)cv_sinh((double)x); }
CV_INLINE float cv_coshf(float x) { return (float)cv_cosh((double)x); }

// ---- logarithms

// x = 2^exponent * m, sqrt(1/2) <= m < sqrt(2), unit = 2^-exponent; nonsense where x is not positive and finite
typedef struct { float exponent, m, unit; } cv_splitf;

CV_INLINE cv_splitf cv_split_exponentf(float x)
{
    _Bool subnormal = x < 0x1p-126f;
    uint32_t bits = cv_bits_f32(subnormal ? x * 0x1p23f : x) + (0x3f800000 - 0x3f3504f3);
    int32_t biased = (int32_t)(bits >> 23);
    float unit = cv_f32_of_bits((uint32_t)(biased > 253 ? 0 : 254 - biased) << 23);
    return (cv_splitf){(float)(biased - (subnormal ? 150 : 127)), cv_f32_of_bits((bits & 0x7fffff) + 0x3f3504f3), unit};
}

// log(1 + f) - f for sqrt(1/2) <= 1 + f < sqrt(2)
CV_INLINE float cv_log_tailf(float f)
{
    float z = f * f, p = -7.634456e-02f;
    p = p * f + 1.2761554e-01f;
    p = p * f - 1.3160186e-01f;
    p = p * f + 1.4201762e-01f;
    p = p * f - 1.6623357e-01f;
    p = p * f + 2.0001227e-01f;
    p = p * f - 2.500082e-01f;
    p = p * f + 3.333333e-01f;
    return z * (f * p) - 0.5f * z;
}

// What a logarithm of x is where it has no finite value; x itself for +inf and nan.
CV_INLINE float cv_log_specialf(float x) { return x == 0 ? -CV_INFF : x < 0 ? CV_NANF : x; }

CV_INLINE float cv_logf(float x)
{
    cv_splitf p = cv_split_exponentf(x);
    float f = p.m - 1.0f;
    float y = p.exponent * CV_LN2_HIGHF + (f + (cv_log_tailf(f) + p.exponent * CV_LN2_LOWF));
    return x > 0 && x < CV_INFF ? y : cv_log_specialf(x);
}

CV_INLINE float cv_log1pf(float x)
{
    float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    cv_splitf p = cv_split_exponentf(u);
    float f = (p.m - 1.0f) + lost * p.unit;
    float y = p.exponent * CV_LN2_HIGHF + (f + (cv_log_tailf(f) + p.exponent * CV_LN2_LOWF));
    float special = x == 0 ? x : cv_log_specialf(u);
    return x > -1.0f && x < CV_INFF && x != 0 ? y : special;
}

CV_INLINE float cv_log2f(float x)
{
    cv_splitf p = cv_split_exponentf(x);
    float f = p.m - 1.0f, tail = cv_log_tailf(f);
    float y = p.exponent + (f * 0x1.715p+0f + (f * 0x1.1d94aep-14f + tail * CV_LOG2EF));
    return x > 0 && x < CV_INFF ? y : cv_log_specialf(x);
}

CV_INLINE float cv_log10f(float x)
{
    cv_splitf p = cv_split_exponentf(x);
    float f = p.m - 1.0f, tail = cv_log_tailf(f);
    float low = p.exponent * 0x1.3509f8p-18f + (f * 0x1.7b152600p-14f + tail * 0x1.bcb7b2p-2f);
    float y = p.exponent * 0x1.344p-2f + (f * 0x1.bcap-2f + low);
    return x > 0 && x < CV_INFF ? y : cv_log_specialf(x);
}

CV_INLINE float cv_asinhf(float x) { return (float)cv_asinh((double)x); }
CV_INLINE float cv_acoshf(float x) { return (float)cv_acosh((double)x); }
CV_INLINE float cv_atanhf(float x) { return (float)cv_atanh((double)x); }

// ---- power

// |x|^y in double, of a base that a float holds
CV_INLINE double cv_power_magnitude(double a, double y)
{
    cv_split p = cv_split_exponent(a);
    double s = (p.m - 1.0) / (p.m + 1.0), z = s * s;
    double q = 0.28290361463523894;
    q = q * z + 0.3199054681523872;
    q = q * z + 0.41220925762537625;
    q = q * z + 0.5770779423162675;
    q = q * z + 0.9617966941134977;
    q = q * z + 2.88539008177785;
    double t = cv_clamp_exponent(y * (p.exponent + s * q), -200.0, 200.0);
    double shifted = t + CV_ROUND, r = t - (shifted - CV_ROUND);
    q = 1.3344372168420465e-06;
    q = q * r + 1.531433489838068e-05;
    q = q * r + 0.00015403096861513543;
    q = q * r + 0.001333343365029638;
    q = q * r + 0.009618129561129429;
    q = q * r + 0.05550410959798322;
    q = q * r + 0.2402265069473507;
    q = q * r + 0.6931471805410795;
    uint64_t n = cv_bits_f64(shifted) - cv_bits_f64(CV_ROUND);
    return (q * r + 1.0) * cv_f64_of_bits((n + 1023) << 52);
}

CV_INLINE float cv_powf(float x, float y)
{
    float a = __builtin_fabsf(x), magnitude = (float)cv_power_magnitude((double)a, (double)y);
    float extreme = (a == 0) == (y > 0) ? 0.0f : CV_INFF;
    magnitude = a == 0 || a == CV_INFF ? extreme : magnitude;
    magnitude = a == 1.0f && y == y ? 1.0f : magnitude;
    float half = 0.5f * y;
    _Bool whole = y == __builtin_truncf(y), odd = whole & (half != __builtin_truncf(half));
    float result = odd ? __builtin_copysignf(magnitude, x) : magnitude;
    result = x < 0 && x > -CV_INFF && !whole ? CV_NANF : result;
    result = x != x || y != y ? x + y : result;
    return x == 1.0f || y == 0 ? 1.0f : result;
}

// ---- circles

// x / (pi/2) = quadrant + turn, |turn| <= 1/2. Of a large x, a multiple of a power of two 2^i, the factor 2^i is taken
// into 2 / pi modulo 4: row i of the table, in two parts of which the first is short.
typedef struct { double turn; uint64_t quadrant; } cv_anglef;

static const double cv_two_over_pi[104][2] = {
    {0x1.45f3070000000p-1, -0x1.1b1bbead603d9p-28}, {0x1.45f3070000000p+0, -0x1.1b1bbead603d9p-27},
    {-0x1.7419f28000000p+0, 0x1.c9c882a53f84fp-27}, {0x1.17cc1b8000000p+0, -0x1.b1bbead603d8bp-29},
    {-0x1.d067c90000000p+0, -0x1.b1bbead603d8bp-28}, {0x1.7cc1b80000000p-2, -0x1.b1bbead603d8bp-27},
    {0x1.7cc1b70000000p-1, 0x1.391054a7f09d6p-28}, {0x1.7cc1b70000000p+0, 0x1.391054a7f09d6p-27},
    {-0x1.067c918000000p+0, -0x1.8ddf56b01ec54p-27}, {0x1.f306dc8000000p+0, 0x1.c882a53f84eb0p-28},
    {-0x1.9f24700000000p-4, 0x1.c882a53f84eb0p-27}, {-0x1.9f246c0000000p-3, -0x1.bbead603d8a83p-29},
    {-0x1.9f246c0000000p-2, -0x1.bbead603d8a83p-28}, {-0x1.9f246c0000000p-1, -0x1.bbead603d8a83p-27},
    {-0x1.9f246c8000000p+0, 0x1.1054a7f09d5f4p-28}, {0x1.836e4e0000000p-1, 0x1.1054a7f09d5f4p-27},
    {0x1.836e4e8000000p+0, -0x1.df56b01ec5417p-27}, {-0x1.f246c70000000p-1, 0x1.054a7f09d5f48p-29},
    {-0x1.f246c70000000p+0, 0x1.054a7f09d5f48p-28}, {0x1.b727200000000p-4, 0x1.054a7f09d5f48p-27},
    {0x1.b727240000000p-3, -0x1.f56b01ec54170p-27}, {0x1.b727220000000p-2, 0x1.529fc2757d1f5p-31},
    {0x1.b727220000000p-1, 0x1.529fc2757d1f5p-30}, {0x1.b727220000000p+0, 0x1.529fc2757d1f5p-29},
    {-0x1.2363780000000p-1, 0x1.529fc2757d1f5p-28}, {-0x1.2363780000000p+0, 0x1.529fc2757d1f5p-27},
    {0x1.b939108000000p+0, -0x1.5ac07b1505c16p-27}, {-0x1.1b1bbf0000000p-1, 0x1.4a7f09d5f47d5p-27},
    {-0x1.1b1bbe8000000p+0, -0x1.6b01ec5417056p-27}, {0x1.c9c8828000000p+0, 0x1.29fc2757d1f53p-27},
    {-0x1.b1bbea0000000p-2, -0x1.ac07b1505c159p-27}, {-0x1.b1bbeb0000000p-1, 0x1.4fe13abe8fa9ap-28},
    {-0x1.b1bbeb0000000p+0, 0x1.4fe13abe8fa9ap-27}, {0x1.3910550000000p-1, -0x1.603d8a82e0acbp-27},
    {0x1.3910548000000p+0, 0x1.3f84eafa3ea6ap-27}, {-0x1.8ddf568000000p+0, -0x1.80f62a0b82b2dp-27},
    {0x1.c882a50000000p-1, 0x1.fc2757d1f534ep-28}, {0x1.c882a50000000p+0, 0x1.fc2757d1f534ep-27},
    {-0x1.bbead60000000p-2, -0x1.ec54170565912p-33}, {-0x1.bbead60000000p-1, -0x1.ec54170565912p-32},
    {-0x1.bbead60000000p+0, -0x1.ec54170565912p-31}, {0x1.1054a80000000p-1, -0x1.ec54170565912p-30},
    {0x1.1054a80000000p+0, -0x1.ec54170565912p-29}, {-0x1.df56b00000000p+0, -0x1.ec54170565912p-28},
    {0x1.054a800000000p-2, -0x1.ec54170565912p-27}, {0x1.054a7f0000000p-1, 0x1.3abe8fa9a6ee0p-30},
    {0x1.054a7f0000000p+0, 0x1.3abe8fa9a6ee0p-29}, {-0x1.f56b020000000p+0, 0x1.3abe8fa9a6ee0p-28},
    {0x1.529fc00000000p-4, 0x1.3abe8fa9a6ee0p-27}, {0x1.529fc40000000p-3, -0x1.8a82e0acb223fp-27},
    {0x1.529fc20000000p-2, 0x1.d5f47d4d37703p-28}, {0x1.529fc20000000p-1, 0x1.d5f47d4d37703p-27},
    {0x1.529fc28000000p+0, -0x1.505c1596447e5p-29}, {-0x1.5ac07b0000000p+0, -0x1.505c1596447e5p-28},
    {0x1.4a7f0a0000000p+0, -0x1.505c1596447e5p-27}, {-0x1.6b01ec8000000p+0, 0x1.5f47d4d377037p-27},
    {0x1.29fc278000000p+0, -0x1.4170565911f92p-27}, {-0x1.ac07b18000000p+0, 0x1.7d1f534ddc0dbp-27},
    {0x1.4fe13b0000000p-1, -0x1.05c1596447e49p-27}, {0x1.4fe13a8000000p+0, 0x1.f47d4d377036ep-27},
    {-0x1.603d8a8000000p+0, -0x1.70565911f924fp-31}, {0x1.3f84eb0000000p+0, -0x1.70565911f924fp-30},
    {-0x1.80f62a0000000p+0, -0x1.70565911f924fp-29}, {0x1.fc27580000000p-1, -0x1.70565911f924fp-28},
    {0x1.fc27580000000p+0, -0x1.70565911f924fp-27}, {-0x1.ec54200000000p-6, 0x1.1f534ddc0db63p-27},
    {-0x1.ec54100000000p-5, -0x1.c1596447e493bp-27}, {-0x1.ec54180000000p-4, 0x1.f534ddc0db629p-29},
    {-0x1.ec54180000000p-3, 0x1.f534ddc0db629p-28}, {-0x1.ec54180000000p-2, 0x1.f534ddc0db629p-27},
    {-0x1.ec54170000000p-1, -0x1.596447e493ad5p-31}, {-0x1.ec54170000000p+0, -0x1.596447e493ad5p-30},
    {0x1.3abe900000000p-3, -0x1.596447e493ad5p-29}, {0x1.3abe900000000p-2, -0x1.596447e493ad5p-28},
    {0x1.3abe900000000p-1, -0x1.596447e493ad5p-27}, {0x1.3abe8f8000000p+0, 0x1.4d377036d8a56p-27},
    {-0x1.8a82e08000000p+0, -0x1.65911f924eb53p-27}, {0x1.d5f47d0000000p-1, 0x1.34ddc0db6295ap-27},
    {0x1.d5f47d8000000p+0, -0x1.96447e493ad4dp-27}, {-0x1.505c160000000p-2, 0x1.a6ee06db14acdp-28},
    {-0x1.505c160000000p-1, 0x1.a6ee06db14acdp-27}, {-0x1.505c158000000p+0, -0x1.6447e493ad4cep-28},
    {0x1.5f47d50000000p+0, -0x1.6447e493ad4cep-27}, {-0x1.4170568000000p+0, 0x1.377036d8a5665p-27},
    {0x1.7d1f538000000p+0, -0x1.911f924eb5336p-27}, {-0x1.05c1598000000p+0, 0x1.bb81b6c52b328p-28},
    {0x1.f47d4d0000000p+0, 0x1.bb81b6c52b328p-27}, {-0x1.7056580000000p-4, -0x1.11f924eb53362p-28},
    {-0x1.7056580000000p-3, -0x1.11f924eb53362p-27}, {-0x1.70565a0000000p-2, 0x1.dc0db6295993cp-27},
    {-0x1.7056590000000p-1, -0x1.1f924eb53361ep-29}, {-0x1.7056590000000p+0, -0x1.1f924eb53361ep-28},
    {0x1.1f534e0000000p+0, -0x1.1f924eb53361ep-27}, {-0x1.c159648000000p+0, 0x1.c0db6295993c4p-27},
    {0x1.f534de0000000p-2, -0x1.f924eb53361dep-29}, {0x1.f534de0000000p-1, -0x1.f924eb53361dep-28},
    {0x1.f534de0000000p+0, -0x1.f924eb53361dep-27}, {-0x1.5964480000000p-4, 0x1.b6c52b3278872p-32},
    {-0x1.5964480000000p-3, 0x1.b6c52b3278872p-31}, {-0x1.5964480000000p-2, 0x1.b6c52b3278872p-30},
    {-0x1.5964480000000p-1, 0x1.b6c52b3278872p-29}, {-0x1.5964480000000p+0, 0x1.b6c52b3278872p-28},
    {0x1.4d37700000000p+0, 0x1.b6c52b3278872p-27}, {-0x1.65911f8000000p+0, -0x1.24eb53361de38p-28},
};

CV_INLINE cv_anglef cv_reducef(float x)
{
    int32_t i = (int32_t)(cv_bits_f32(x) >> 23 & 0xff) - (127 + 24);
    i = i < 0 ? 0 : i > 103 ? 103 : i;
    double scaled = (double)x * cv_f64_of_bits((uint64_t)(1023 - i) << 52);
    double product = scaled * cv_two_over_pi[i][0], rest = scaled * cv_two_over_pi[i][1];
    double shifted = (product + rest) + CV_ROUND;
    return (cv_anglef){(product - (shifted - CV_ROUND)) + rest, cv_bits_f64(shifted)};
}

CV_INLINE double cv_sin_turn(double q)
{
    double z = q * q, p = 0.00015819327995127892;
    p = p * z - 0.004681259837439501;
    p = p * z + 0.07969258173622476;
    p = p * z - 0.6459640960979288;
    return (p * z + 1.5707963267877214) * q;
}

CV_INLINE double cv_cos_turn(double q)
{
    double z = q * q, p = -2.485073374183312e-05;
    p = p * z + 0.0009191616108355632;
    p = p * z - 0.020863467978465236;
    p = p * z + 0.25366950715192216;
    p = p * z - 1.2337005501201144;
    return p * z + 1.0;
}

CV_INLINE float cv_quarter_turnsf(double turn, uint64_t quarters)
{
    double s = cv_sin_turn(turn), c = cv_cos_turn(turn);
    float y = (float)(quarters & 1 ? c : s);
    return cv_f32_of_bits(cv_bits_f32(y) ^ (uint32_t)(quarters & 2) << 30);
}

CV_INLINE float cv_sinf(float x)
{
    cv_anglef a = cv_reducef(x);
    float y = cv_quarter_turnsf(a.turn, a.quadrant);
    return x == 0 ? x : y;
}

CV_INLINE float cv_cosf(float x)
{
    cv_anglef a = cv_reducef(x);
    return cv_quarter_turnsf(a.turn, a.quadrant + 1);
}

CV_INLINE float cv_tanf(float x)
{
    cv_anglef a = cv_reducef(x);
    double s = cv_sin_turn(a.turn), c = cv_cos_turn(a.turn);
    _Bool odd = a.quadrant & 1;
    float y = (float)((odd ? -c : s) / (odd ? s : c));
    return x == 0 ? x : y;
}

CV_INLINE float cv_atan2f(float y, float x) { return (float)cv_atan2((double)y, (double)x); }
CV_INLINE float cv_atanf(float x) { return (float)cv_atan((double)x); }
CV_INLINE float cv_asinf(float x) { return (float)cv_asin((double)x); }
CV_INLINE float cv_acosf(float x) { return (float)cv_acos((double)x); }

// ---- error function

CV_INLINE float cv_erff(float x)
{
    float a = __builtin_fabsf(x), z = x * x, p = 8.2674684e-05f;
    p = p * z - 8.1180775e-04f;
    p = p * z + 5.1988303e-03f;
    p = p * z - 2.6858497e-02f;
    p = p * z + 1.1283679e-01f;
    p = p * z - 3.7612632e-01f;
    p = p * z + 1.2837917e-01f;
    float near = x * p + x, b = a > 3.95f ? 3.95f : a;
    float g = -1.9494466e-04f;
    g = g * b + 3.033673e-03f;
    g = g * b - 2.2189703e-02f;
    g = g * b + 1.0385623e-01f;
    g = g * b + 6.372659e-01f;
    g = g * b + 1.1276274e+00f;
    g = g * b + 2.0702848e-04f;
    float far = 1.0f - cv_exp_normalf(-g);
    return a < 0.9375f ? near : __builtin_copysignf(far, x);
}

CV_INLINE float cv_erfcf(float x) { return (float)cv_erfc((double)x); }

// ---- remainders: exact in double for any two floats

CV_INLINE float cv_fmodf(float x, float y) { return (float)cv_fmod((double)x, (double)y); }
CV_INLINE float cv_modf(float x, float y)
{
    float r = cv_fmodf(x, y);
    float same = r != 0 && (r < 0) != (y < 0) ? r + y : r;
    return r == 0 ? __builtin_copysignf(0.0f, y) : same;
}

CV_INLINE float cv_floordivf(float x, float y)
{
    float r = cv_fmodf(x, y), quotient = (x - r) / y;
    quotient = r != 0 && (r < 0) != (y < 0) ? quotient - 1.0f : quotient;
    float below = __builtin_floorf(quotient), nearest = quotient - below > 0.5f ? below + 1.0f : below;
    float result = quotient != 0 ? nearest : __builtin_copysignf(0.0f, x / y);
    return y == 0 ? x / y : result;
}
