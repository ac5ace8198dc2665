// Double-precision functions, within about 2 ulp; nan and infinities as numpy has them. Without branches but for the
// remainder and for the sine and cosine of large numbers. Valid with and without fused multiply-add: a product that
// must be exact has a short factor. Polynomials are minimax fits of the relative error.
#pragma once

#include "number.h"

// ---- rounding, sign, order

CV_INLINE double cv_abs(double x) { return __builtin_fabs(x); }
CV_INLINE double cv_copysign(double x, double sign) { return __builtin_copysign(x, sign); }
CV_INLINE double cv_floor(double x) { return __builtin_floor(x); }
CV_INLINE double cv_ceil(double x) { return __builtin_ceil(x); }
CV_INLINE double cv_trunc(double x) { return __builtin_trunc(x); }
CV_INLINE double cv_rint(double x) { return __builtin_roundeven(x); }
CV_INLINE double cv_sqrt(double x) { return __builtin_sqrt(x); }
CV_INLINE double cv_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
CV_INLINE _Bool cv_isnan(double x) { return x != x; }
CV_INLINE _Bool cv_isinf(double x) { return __builtin_fabs(x) == CV_INF; }
CV_INLINE double cv_sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; }
CV_INLINE double cv_max(double a, double b) { return a > b || a != a ? a : b; }
CV_INLINE double cv_min(double a, double b) { return a < b || a != a ? a : b; }

// ---- exact pieces

typedef struct { double high, low; } cv_pair;

CV_INLINE cv_pair cv_sum_ordered(double large, double small)
{
    double high = large + small;
    return (cv_pair){high, small - (high - large)};
}

CV_INLINE cv_pair cv_product(double a, double b)
{
    double high = a * b;
#if defined(__FMA__) || defined(__aarch64__)
    return (cv_pair){high, __builtin_fma(a, b, -high)};
#else
    double ah = cv_f64_of_bits(cv_bits_f64(a) & ~(uint64_t)0x7ffffff), al = a - ah;
    double bh = cv_f64_of_bits(cv_bits_f64(b) & ~(uint64_t)0x7ffffff), bl = b - bh;
    return (cv_pair){high, ((ah * bh - high) + ah * bl + al * bh) + al * bl};
#endif
}

CV_INLINE cv_pair cv_pair_product(cv_pair a, cv_pair b)
{
    cv_pair p = cv_product(a.high, b.high);
    return cv_sum_ordered(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// ---- exponentials

#define CV_LN2_HIGH 0x1.62e42feep-1 // 32 bits: a product with an exponent is exact
#define CV_LN2_LOW 0x1.a39ef35793c76p-33
#define CV_LOG2E 0x1.71547652b82fep+0
#define CV_ROUND 0x1.8p52 // x + CV_ROUND has the nearest integer of x in its low bits

CV_INLINE double cv_clamp_exponent(double x, double low, double high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

// x * 2^n for n from -2000 to 2000, rounded once where the result is subnormal.
CV_INLINE double cv_scale(double x, int64_t n)
{
    int64_t half = n >> 1;
    return x * cv_f64_of_bits((uint64_t)(half + 1023) << 52) * cv_f64_of_bits((uint64_t)(n - half + 1023) << 52);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2
CV_INLINE double cv_exp_tail(double r)
{
    double q = 1.7687707760053184e-09;
    q = q * r + 2.5105236308237706e-08;
    q = q * r + 2.756793573159594e-07;
    q = q * r + 2.755725536080119e-06;
    q = q * r + 2.4801574517674644e-05;
    q = q * r + 0.00019841269874844617;
    q = q * r + 0.0013888888895613161;
    q = q * r + 0.00833333333332613;
    q = q * r + 0.041666666666652245;
    q = q * r + 0.1666666666666667;
    return q * r + 0.5;
}

// e^(x + rest), where rest is a correction of x
CV_INLINE double cv_exp_corrected(double x, double rest)
{
    x = cv_clamp_exponent(x, -800.0, 720.0);
    double shifted = x * CV_LOG2E + CV_ROUND, n = shifted - CV_ROUND;
    double r = ((x - n * CV_LN2_HIGH) - n * CV_LN2_LOW) + rest;
    double y = r * r * cv_exp_tail(r) + r + 1.0;
    return cv_scale(y, (int64_t)(cv_bits_f64(shifted) - cv_bits_f64(CV_ROUND)));
}

CV_INLINE double cv_exp(double x) { return cv_exp_corrected(x, 0.0); }

CV_INLINE double cv_exp2(double x)
{
    x = cv_clamp_exponent(x, -1076.0, 1025.0);
    double shifted = x + CV_ROUND, r = x - (shifted - CV_ROUND);
    double q = 2.585549657887089e-11;
    q = q * r + 4.4572633132339024e-10;
    q = q * r + 7.054814517048227e-09;
    q = q * r + 1.0178047373231885e-07;
    q = q * r + 1.3215487004510046e-06;
    q = q * r + 1.5252733865219642e-05;
    q = q * r + 0.00015403530393170368;
    q = q * r + 0.0013333558146381354;
    q = q * r + 0.009618129107628562;
    q = q * r + 0.055504108664821736;
    q = q * r + 0.24022650695910072;
    q = q * r + 0.6931471805599453;
    return cv_scale(q * r + 1.0, (int64_t)(cv_bits_f64(shifted) - cv_bits_f64(CV_ROUND)));
}

CV_INLINE double cv_expm1(double x)
{
    double bounded = cv_clamp_exponent(x, -60.0, 710.0);
    double shifted = bounded * CV_LOG2E + CV_ROUND, n = shifted - CV_ROUND;
    double r = (bounded - n * CV_LN2_HIGH) - n * CV_LN2_LOW;
    double p = r * r * cv_exp_tail(r) + r;
    int64_t exponent = (int64_t)(cv_bits_f64(shifted) - cv_bits_f64(CV_ROUND));
    double half = cv_f64_of_bits((uint64_t)(exponent + 1022) << 52);
    double y = (half * p + (half - 0.5)) * 2.0;
    return x == 0 ? x : y;
}

CV_INLINE double cv_sigmoid(double x)
{
    double e = cv_exp(-__builtin_fabs(x));
    return (x >= 0 ? 1.0 : e) / (1.0 + e);
}

CV_INLINE double cv_tanh(double x)
{
    double a = __builtin_fabs(x), e = cv_expm1(2.0 * (a > 30.0 ? 30.0 : a));
    double q = (a < 0.5 ? e : 2.0) / (e + 2.0);
    return __builtin_copysign(a < 0.5 ? q : 1.0 - q, x);
}

// e^x / 2 for x >= 0, finite wherever the quotient is
CV_INLINE double cv_half_exp(double x) { return cv_exp_corrected(x - CV_LN2_HIGH, -CV_LN2_LOW); }

CV_INLINE double cv_sinh(double x)
{
    double a = __builtin_fabs(x), e = cv_expm1(a > 1.0 ? 1.0 : a), half = cv_half_exp(a);
    double near = 0.5 * (e + e / (e + 1.0)), far = half - 0.25 / half;
    return __builtin_copysign(a < 1.0 ? near : far, x);
}

CV_INLINE double cv_cosh(double x)
{
    double half = cv_half_exp(__builtin_fabs(x));
    return half + 0.25 / half;
}

// ---- logarithms

// x = 2^exponent * m, sqrt(1/2) <= m < sqrt(2); nonsense where x is not positive and finite
typedef struct { double exponent, m, unit; } cv_split;

CV_INLINE cv_split cv_split_exponent(double x)
{
    _Bool subnormal = x < 0x1p-1022;
    uint64_t bits = cv_bits_f64(subnormal ? x * 0x1p54 : x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    int32_t biased = (int32_t)(bits >> 52);
    double m = cv_f64_of_bits((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
    double unit = cv_f64_of_bits((uint64_t)(biased > 2045 ? 0 : 2046 - biased) << 52);
    return (cv_split){(double)(biased - (subnormal ? 1077 : 1023)), m, unit};
}

// log(1 + f) = f - square + tail
typedef struct { double square, tail; } cv_log_parts;

CV_INLINE cv_log_parts cv_log_series(double f)
{
    double s = f / (2.0 + f), z = s * s, square = 0.5 * f * f;
    double r = 0.1479626229421983;
    r = r * z + 0.15314021025180244;
    r = r * z + 0.1818356540993316;
    r = r * z + 0.22222198553761713;
    r = r * z + 0.28571428742561916;
    r = r * z + 0.3999999999941397;
    r = r * z + 0.6666666666666734;
    return (cv_log_parts){square, s * (square + z * r)};
}

CV_INLINE double cv_log_sum(double exponent, double f)
{
    cv_log_parts p = cv_log_series(f);
    return exponent * CV_LN2_HIGH - ((p.square - (p.tail + exponent * CV_LN2_LOW)) - f);
}

// What a logarithm of x is where it has no finite value; x itself for +inf and nan.
CV_INLINE double cv_log_special(double x) { return x == 0 ? -CV_INF : x < 0 ? CV_NAN : x; }

CV_INLINE double cv_log(double x)
{
    cv_split p = cv_split_exponent(x);
    double y = cv_log_sum(p.exponent, p.m - 1.0);
    return x > 0 && x < CV_INF ? y : cv_log_special(x);
}

CV_INLINE double cv_log1p(double x)
{
    double u = 1.0 + x, lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    cv_split p = cv_split_exponent(u);
    double y = cv_log_sum(p.exponent, (p.m - 1.0) + lost * p.unit);
    double special = x == 0 ? x : cv_log_special(u);
    return x > -1.0 && x < CV_INF && x != 0 ? y : special;
}

// exponent * log(2) + log(1 + f), in another base: constants in two parts, the first one short
CV_INLINE double cv_log_scaled(double x, double ln2_high, double ln2_low, double scale_high, double scale_low)
{
    cv_split p = cv_split_exponent(x);
    double f = p.m - 1.0;
    cv_log_parts parts = cv_log_series(f);
    double high = cv_f64_of_bits(cv_bits_f64(f - parts.square) & ~(uint64_t)0xffffffff);
    double low = ((f - high) - parts.square) + parts.tail;
    cv_pair sum = cv_sum_ordered(p.exponent * ln2_high, high * scale_high);
    double rest = (low + high) * scale_low + low * scale_high + p.exponent * ln2_low;
    double y = sum.high + (sum.low + rest);
    return x > 0 && x < CV_INF ? y : cv_log_special(x);
}

CV_INLINE double cv_log2(double x) { return cv_log_scaled(x, 1.0, 0.0, 0x1.71547p+0, 0x1.94ae0bf85ddf4p-22); }

CV_INLINE double cv_log10(double x)
{
    return cv_log_scaled(x, 0x1.34413508p-2, 0x1.f79fef311f12bp-34, 0x1.bcb7bp-2, 0x1.526e50e32a6abp-26);
}

CV_INLINE double cv_asinh(double x)
{
    double a = __builtin_fabs(x), root = __builtin_sqrt(a * a + 1.0);
    double y = a > 0x1p28 ? cv_log(a) + 0x1.62e42fefa39efp-1 : cv_log1p(a + a * a / (1.0 + root));
    return __builtin_copysign(y, x);
}

CV_INLINE double cv_acosh(double x)
{
    double t = x - 1.0;
    double y = x > 0x1p28 ? cv_log(x) + 0x1.62e42fefa39efp-1 : cv_log1p(t + __builtin_sqrt(2.0 * t + t * t));
    return x < 1.0 ? CV_NAN : y;
}

CV_INLINE double cv_atanh(double x)
{
    double a = __builtin_fabs(x);
    return __builtin_copysign(0.5 * cv_log1p(2.0 * a / (1.0 - a)), x);
}

// ---- power

// log(x) of a positive finite x to about 70 bits
CV_INLINE cv_pair cv_log_pair(double x)
{
    cv_split p = cv_split_exponent(x);
    double exponent = p.exponent, m = p.m, f = m - 1.0, d = m + 1.0;
    double d_low = m > 1.0 ? 1.0 - (d - m) : (1.0 - d) + m;
    double sh = f / d;
    cv_pair back = cv_product(sh, d);
    cv_pair s = cv_sum_ordered(sh, (((f - back.high) - back.low) - sh * d_low) / d);
    cv_pair z = cv_pair_product(s, s);
    double t = 0.055068080259704104;
    t = t * z.high + 0.05211431341863744;
    t = t * z.high + 0.05884338084287546;
    t = t * z.high + 0.06666620180844827;
    t = t * z.high + 0.07692308377293568;
    t = t * z.high + 0.09090909084618835;
    t = t * z.high + 0.11111111111145339;
    t = t * z.high + 0.14285714285714188;
    t = t * z.high + 0.2;
    // atanh(s) = s + s z (1/3 + z t)
    cv_pair third = cv_sum_ordered(0x1.5555555555555p-2, 0x1.5555555555555p-56 + z.high * t);
    cv_pair cubic = cv_pair_product(cv_pair_product(s, z), third);
    cv_pair sum = cv_sum_ordered(s.high, cubic.high);
    cv_pair series = cv_sum_ordered(sum.high, sum.low + (cubic.low + s.low));
    cv_pair whole = cv_sum_ordered(exponent * CV_LN2_HIGH, 2.0 * series.high);
    return cv_sum_ordered(whole.high, whole.low + (2.0 * series.low + exponent * CV_LN2_LOW));
}

CV_INLINE double cv_pow(double x, double y)
{
    double a = __builtin_fabs(x);
    cv_pair log = cv_log_pair(a);
    double bounded = y > 0x1p66 ? 0x1p66 : y < -0x1p66 ? -0x1p66 : y;
    cv_pair t = cv_product(log.high, bounded);
    double magnitude = cv_exp_corrected(t.high, cv_clamp_exponent(t.low + log.low * bounded, -1.0, 1.0));
    double extreme = (a == 0) == (y > 0) ? 0.0 : CV_INF;
    magnitude = a == 0 || a == CV_INF ? extreme : magnitude;
    magnitude = a == 1.0 && y == y ? 1.0 : magnitude;
    double half = 0.5 * y;
    _Bool whole = y == __builtin_trunc(y), odd = whole && half != __builtin_trunc(half);
    double result = odd ? __builtin_copysign(magnitude, x) : magnitude;
    result = x < 0 && x > -CV_INF && !whole ? CV_NAN : result;
    result = x != x || y != y ? x + y : result;
    return x == 1.0 || y == 0 ? 1.0 : result;
}

// ---- circles

#include "circled.h"

// ---- error function

// erf(x) / x - 1 for z = x^2 <= 1
CV_INLINE double cv_erf_tail(double z)
{
    double p = 5.945261196686509e-11;
    p = p * z - 1.1365665742317495e-09;
    p = p * z + 1.4657879817443645e-08;
    p = p * z - 1.6350025224659058e-07;
    p = p * z + 1.646097281787736e-06;
    p = p * z - 1.4925593506996244e-05;
    p = p * z + 0.00012055331036906967;
    p = p * z - 0.000854832697874252;
    p = p * z + 0.005223977624780875;
    p = p * z - 0.026866170645072896;
    p = p * z + 0.11283791670954857;
    p = p * z - 0.3761263890318375;
    return p * z + 0.1283791670955126;
}

// erfc(x) for x >= 0.49: e^(-x^2) p((x - 4) / (x + 4)) / (1 + 2x), after Shepherd and Laframboise 1981
CV_INLINE double cv_erfc_positive(double x)
{
    x = x > 27.5 ? 27.5 : x;
    double t = (x - 4.0) / (x + 4.0);
    double p = -1.0185404696696919e-08;
    p = p * t - 1.218112271153231e-08;
    p = p * t + 1.0476346822163154e-07;
    p = p * t + 6.690305164850842e-08;
    p = p * t - 8.213239057056215e-07;
    p = p * t + 2.9970278003129145e-07;
    p = p * t + 5.70771120229315e-06;
    p = p * t - 1.1224827014477315e-05;
    p = p * t - 2.4398553361312673e-05;
    p = p * t + 0.00015062253219019542;
    p = p * t - 0.00019925683899572842;
    p = p * t - 0.0007577734575398776;
    p = p * t + 0.005031969998559119;
    p = p * t - 0.016197734036994607;
    p = p * t + 0.03716751553566858;
    p = p * t - 0.06633036581370995;
    p = p * t + 0.09373283499843965;
    p = p * t - 0.10103906603624963;
    p = p * t + 0.06809705425469059;
    p = p * t + 0.015379652102618964;
    p = p * t - 0.1396211168405625;
    p = p * t + 1.2329951186255526;
    double high = (double)(float)x;
    return cv_exp_corrected(-high * high, -(x - high) * (x + high)) * (p / (1.0 + 2.0 * x));
}

CV_INLINE double cv_erf(double x)
{
    double a = __builtin_fabs(x);
    double near = x + x * cv_erf_tail(x * x), far = __builtin_copysign(1.0 - cv_erfc_positive(a), x);
    return a < 1.0 ? near : far;
}

CV_INLINE double cv_erfc(double x)
{
    double a = __builtin_fabs(x), tail = cv_erfc_positive(a);
    double near = 1.0 - (x + x * cv_erf_tail(x * x)), far = x < 0 ? 2.0 - tail : tail;
    return a < 0.5 ? near : far;
}

// ---- remainders

// The remainder with the sign of x; exact. Eleven bits of the quotient a step, in integers.
static __attribute__((noinline, unused)) double cv_fmod(double x, double y)
{
    uint64_t a = cv_bits_f64(x) & ~((uint64_t)1 << 63), b = cv_bits_f64(y) & ~((uint64_t)1 << 63);
    if (a >= 0x7ff0000000000000 || b > 0x7ff0000000000000 || b == 0) return CV_NAN;
    if (a < b) return x;
    int64_t ea = (int64_t)(a >> 52), eb = (int64_t)(b >> 52);
    uint64_t ma = (a & 0xfffffffffffff) | (uint64_t)(ea != 0) << 52;
    uint64_t mb = (b & 0xfffffffffffff) | (uint64_t)(eb != 0) << 52;
    ea += ea == 0, eb += eb == 0;
    ma %= mb;
    for (int64_t left = ea - eb; left > 0 && ma != 0; left -= 11) ma = (ma << (left < 11 ? left : 11)) % mb;
    return __builtin_copysign(cv_scale((double)ma, eb - 1075), x);
}

// The remainder with the sign of y, as Python's %.
CV_INLINE double cv_mod(double x, double y)
{
    double r = cv_fmod(x, y);
    double same = r != 0 && (r < 0) != (y < 0) ? r + y : r;
    return r == 0 ? __builtin_copysign(0.0, y) : same;
}

// The quotient rounded to minus infinity, as Python's //; x / 0 is x / 0.
CV_INLINE double cv_floordiv(double x, double y)
{
    double r = cv_fmod(x, y), quotient = (x - r) / y;
    quotient = r != 0 && (r < 0) != (y < 0) ? quotient - 1.0 : quotient;
    double below = __builtin_floor(quotient), nearest = quotient - below > 0.5 ? below + 1.0 : below;
    double result = quotient != 0 ? nearest : __builtin_copysign(0.0, x / y);
    return y == 0 ? x / y : result;
}
