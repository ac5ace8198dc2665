// Functions of angles in f64: sin, cos, tan and their inverses. Part of mathd.h, which comes first.
#pragma once

#define CV_TWO_OVER_PI 0x1.45f306dc9c883p-1
#define CV_PI 0x1.921fb54442d18p+1
#define CV_PI_LOW 0x1.1a62633145c07p-53

// x - quadrant * pi/2 in two parts
typedef struct { double high, low; uint64_t quadrant; } cv_angle;

CV_INLINE cv_angle cv_reduce_moderate(double x)
{
    double shifted = x * CV_TWO_OVER_PI + CV_ROUND, n = shifted - CV_ROUND;
    double first = x - n * 0x1.921fb544p+0, second = first - n * 0x1.0b4611a6p-34;
    double rest = n * 0x1.3198a2e037073p-69 - ((first - second) - n * 0x1.0b4611a6p-34);
    double high = second - rest;
    return (cv_angle){high, (second - high) - rest, cv_bits_f64(shifted)};
}

// Payne and Hanek 1983: the product with those bits of 2/pi that decide the fraction of the quadrant.
static __attribute__((noinline, unused)) cv_angle cv_reduce_large(double x)
{
    static const uint64_t two_over_pi[] = {
        0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
        0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
        0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
    };
    uint64_t bits = cv_bits_f64(x);
    uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
    int32_t position = (int32_t)(bits >> 52 & 0x7ff) - 1075 + 64 - 2;
    // `position` is that of the first bit that matters: two before the point
    int32_t word = position >> 6, shift = position & 63;
    uint64_t window[3];
    for (int32_t i = 0; i < 3; ++i)
        window[i] = shift == 0 ? two_over_pi[word + i]
                               : two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> (64 - shift);
    unsigned __int128 low = (unsigned __int128)mantissa * window[2];
    unsigned __int128 middle = (unsigned __int128)mantissa * window[1] + (uint64_t)(low >> 64);
    uint64_t top = mantissa * window[0] + (uint64_t)(middle >> 64);
    uint64_t quadrant = (top >> 62) + (top >> 61 & 1);
    unsigned __int128 fraction = ((unsigned __int128)top << 64 | (uint64_t)middle) << 2;
    _Bool negative = fraction >> 127 != 0;
    if (negative) fraction = -fraction;
    double high = (double)(uint64_t)(fraction >> 64);
    double low_part = (double)(int64_t)((uint64_t)(fraction >> 64) - (uint64_t)high) * 0x1p-64 +
                      (double)(uint64_t)fraction * 0x1p-128;
    cv_pair turned = cv_product(high * 0x1p-64, 0x1.921fb54442d18p+0);
    double rest = turned.low + high * 0x1p-64 * 0x1.1a62633145c07p-54 + low_part * 0x1.921fb54442d18p+0;
    cv_pair angle = cv_sum_ordered(turned.high, rest);
    if (negative != (x < 0)) angle = (cv_pair){-angle.high, -angle.low};
    return (cv_angle){angle.high, angle.low, x < 0 ? -quadrant : quadrant};
}

CV_INLINE cv_angle cv_reduce(double x)
{
    if (__builtin_expect(__builtin_fabs(x) > 0x1p20 && __builtin_fabs(x) < CV_INF, 0)) return cv_reduce_large(x);
    return cv_reduce_moderate(x);
}

CV_INLINE double cv_sin_reduced(cv_angle a)
{
    double z = a.high * a.high, p = 1.589557836823896e-10;
    p = p * z - 2.505073682414915e-08;
    p = p * z + 2.7557313553592276e-06;
    p = p * z - 0.00019841269829400484;
    p = p * z + 0.008333333333321891;
    double cube = z * a.high;
    return a.high - ((z * (0.5 * a.low - cube * p) - a.low) + cube * 0.1666666666666663);
}

CV_INLINE double cv_cos_reduced(cv_angle a)
{
    double z = a.high * a.high, p = -1.135922700788845e-11;
    p = p * z + 2.087571541549525e-09;
    p = p * z - 2.755731429663509e-07;
    p = p * z + 2.4801587289297206e-05;
    p = p * z - 0.001388888888887384;
    p = p * z + 0.041666666666666595;
    double half = 0.5 * z, rest = 1.0 - half;
    return rest + (((1.0 - rest) - half) + (z * z * p - a.high * a.low));
}

CV_INLINE double cv_quarter_turns(cv_angle a, uint64_t quarters)
{
    double y = quarters & 1 ? cv_cos_reduced(a) : cv_sin_reduced(a);
    return quarters & 2 ? -y : y;
}

CV_INLINE double cv_sin(double x)
{
    cv_angle a = cv_reduce(x);
    double y = cv_quarter_turns(a, a.quadrant);
    return x == 0 ? x : y;
}

CV_INLINE double cv_cos(double x)
{
    cv_angle a = cv_reduce(x);
    return cv_quarter_turns(a, a.quadrant + 1);
}

CV_INLINE double cv_tan(double x)
{
    cv_angle a = cv_reduce(x);
    double s = cv_sin_reduced(a), c = cv_cos_reduced(a);
    double y = (a.quadrant & 1 ? -c : s) / (a.quadrant & 1 ? s : c);
    return x == 0 ? x : y;
}

CV_INLINE double cv_atan2(double y, double x)
{
    double ay = __builtin_fabs(y), ax = __builtin_fabs(x);
    _Bool steep = ay > ax, both = ay == CV_INF && ax == CV_INF;
    double small = both ? 1.0 : steep ? ax : ay, large = both ? 1.0 : steep ? ay : ax;
    double scale = large > 0x1p1000 ? 0x1p-10 : large < 0x1p-900 ? 0x1p100 : 1.0;
    small *= scale, large *= scale;
    _Bool turned = small > 0.41421356 * large;
    double above = turned ? small - large : small, below = turned ? small + large : large;
    double t = above / (below == 0 ? 1.0 : below), z = t * t;
    double p = 0.015180694572790641;
    p = p * z - 0.03345963820043266;
    p = p * z + 0.04502885455700571;
    p = p * z - 0.05218233662488937;
    p = p * z + 0.05876993999625851;
    p = p * z - 0.06666223774068958;
    p = p * z + 0.07692282545756952;
    p = p * z - 0.09090908134576406;
    p = p * z + 0.11111111087885363;
    p = p * z - 0.1428571428538302;
    p = p * z + 0.19999999999997628;
    p = p * z - 0.33333333333333326;
    double rest = t * z * p;
    // angle = base + sign * (t + rest): the quarter, eighth and half turns added once
    double eighths = turned ? 1.0 : 0.0, sign = 1.0;
    eighths = steep ? 2.0 - eighths : eighths, sign = steep ? -sign : sign;
    _Bool back = cv_bits_f64(x) >> 63;
    eighths = back ? 4.0 - eighths : eighths, sign = back ? -sign : sign;
    double base_low = eighths == 3.0 ? 0x1.a79394c9e8a0ap-54 : eighths * (0.25 * CV_PI_LOW);
    double angle = eighths * (0.25 * CV_PI) + (base_low + sign * rest + sign * t);
    angle = eighths == 0 ? t + rest : angle;
    return y != y || x != x ? y + x : __builtin_copysign(angle, y);
}

CV_INLINE double cv_atan(double x) { return cv_atan2(x, 1.0); }

CV_INLINE double cv_asin(double x) { return cv_atan2(x, __builtin_sqrt((1.0 - x) * (1.0 + x))); }

CV_INLINE double cv_acos(double x) { return cv_atan2(__builtin_sqrt((1.0 - x) * (1.0 + x)), x); }
