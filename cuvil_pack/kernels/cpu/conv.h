// Two-dimensional convolution of NHWC images in f32, by indirection: no image is ever unfolded.
//
// It is the product of gemm.h with M = batch * out_height * out_width pixels, N = out_channels of a group, and
// K = kernel_h * kernel_w * channels of a group. Weights are packed like any B, group by group: panels
// [groups][ceil(N / 16)][K][16]. A tile is mr consecutive output pixels; every tap gives each of them the address of
// its input pixel, or of a row of zeros outside of the image. Where a whole tile is inside, a row of taps is one run.
//
// Units, schedule and results are as in gemm.h (kc is not used); the epilogue sees pixels and channels of all groups.
#pragma once

#include "gemm.h"

typedef struct {
    int64_t batch, height, width, out_height, out_width;
    int64_t groups, channels, out_channels; // channels of one group
    int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
} cv_conv_size;

// Pixel (h, w) of image n starts at data + n * batch_stride + h * row_stride + w * column_stride.
typedef struct {
    const float *data;
    int64_t batch_stride, row_stride, column_stride;
} cv_images;

// Where the kernel's first tap falls for each pixel of a tile: its row, its column, its offset in the images.
typedef struct {
    int64_t h[CV_TILE_ROWS], w[CV_TILE_ROWS], offset[CV_TILE_ROWS];
} cv_conv_pixels;

// A tile's place: mb pixels from m0 on, which is (n, h, w) of the output, and nb channels of a group from n0 on.
typedef struct {
    cv_conv_size size;
    cv_images images;
    const float *zeros;
    const float *b, *ahead;
    int64_t group, m0, mb, n0, nb, n, h, w, number, next;
} cv_conv_tile;

CV_INLINE cv_gemm_size cv_conv_product(cv_conv_size s)
{
    return (cv_gemm_size){s.groups, s.batch * s.out_height * s.out_width, s.out_channels,
                          s.kernel_h * s.kernel_w * s.channels};
}

CV_INLINE int64_t cv_conv_units(cv_gemm_schedule schedule, cv_conv_size size)
{
    return cv_gemm_units(schedule, cv_conv_product(size));
}

// The output pixel `count` pixels further.
CV_INLINE void cv_conv_advance(cv_conv_tile *t, int64_t count)
{
    for (t->w += count; t->w >= t->size.out_width; t->w -= t->size.out_width) {
        if (++t->h < t->size.out_height)
            continue;
        t->h = 0;
        t->n++;
    }
}

CV_INLINE int64_t cv_conv_offset(cv_conv_tile t, int64_t n, int64_t h, int64_t w)
{
    return n * t.images.batch_stride + h * t.images.row_stride + w * t.images.column_stride;
}

// Locates the pixels of a tile that lie in one row of the output; whether all taps of all of them are inside.
CV_INLINE int cv_conv_locate_row(cv_conv_pixels *at, cv_conv_tile t, int mr)
{
    const cv_conv_size s = t.size;
    const int64_t h = t.h * s.stride_h - s.pad_top, w = t.w * s.stride_w - s.pad_left;
    const int64_t offset = cv_conv_offset(t, t.n, h, w);
    for (int i = 0; i < mr; i++) {
        at->h[i] = h;
        at->w[i] = w + i * s.stride_w;
        at->offset[i] = offset + i * s.stride_w * t.images.column_stride;
    }
    const int64_t last_h = h + (s.kernel_h - 1) * s.dilation_h;
    const int64_t last_w = at->w[mr - 1] + (s.kernel_w - 1) * s.dilation_w;
    return h >= 0 && w >= 0 && last_h < s.height && last_w < s.width;
}

// Locates the pixels of a tile; those behind the last valid one repeat it.
CV_INLINE int cv_conv_locate(cv_conv_pixels *at, cv_conv_tile t, int mr)
{
    const cv_conv_size s = t.size;
    if (t.mb >= mr && t.w + mr <= s.out_width)
        return cv_conv_locate_row(at, t, mr);
    for (int i = 0; i < mr; i++) {
        at->h[i] = t.h * s.stride_h - s.pad_top;
        at->w[i] = t.w * s.stride_w - s.pad_left;
        at->offset[i] = cv_conv_offset(t, t.n, at->h[i], at->w[i]);
        if (i + 1 < t.mb)
            cv_conv_advance(&t, 1);
    }
    return 0;
}

CV_INLINE void cv_conv_sum_tile(cv_conv_tile t, float *tile, int mr, int nr)
{
    const cv_conv_size s = t.size;
    const float *const data = t.images.data + t.group * s.channels;
    cv_conv_pixels at;
    const int inside = cv_conv_locate(&at, t, mr);
    const int flat = inside && s.dilation_w == 1 && t.images.column_stride == s.channels;
    const int64_t runs = flat ? s.kernel_h : s.kernel_h * s.kernel_w;
    const int64_t run = flat ? s.kernel_w * s.channels : s.channels;
    const int64_t panel = s.kernel_h * s.kernel_w * s.channels * CV_PANEL;
    int64_t r = 0, q = 0;
    cv_tile acc;
    cv_tile_zero(&acc, mr, nr);
    for (int64_t i = 0; i < runs; i++) {
        const int64_t dh = r * s.dilation_h, dw = q * s.dilation_w;
        const float *const tap = data + dh * t.images.row_stride + dw * t.images.column_stride;
        const float *rows[CV_TILE_ROWS];
        CV_UNROLL
        for (int p = 0; p < mr; p++)
            rows[p] = tap + at.offset[p];
        CV_UNROLL
        for (int p = 0; p < mr && !inside; p++) {
            const int out_h = (uint64_t)(at.h[p] + dh) >= (uint64_t)s.height;
            const int out_w = (uint64_t)(at.w[p] + dw) >= (uint64_t)s.width;
            rows[p] = out_h || out_w ? t.zeros : rows[p];
        }
        cv_tile_pin(rows, mr);
        cv_tile_madd(&acc, rows, t.b + i * run * CV_PANEL, panel, run, t.ahead + i * run * 8, mr, nr);
        q = flat || q + 1 == s.kernel_w ? 0 : q + 1;
        r += q == 0;
    }
    cv_tile_store(&acc, tile, mr, nr);
}

// The sums of one tile as a function: the kernels of a program share it, and it has all registers to itself.
typedef void cv_conv_sum(const cv_conv_tile *t, float *tile);

#define CV_CONV_SUM(MR, NR)                                                                                             \
    static __attribute__((noinline)) void cv_conv_sum_##MR##x##NR(const cv_conv_tile *t, float *tile)                   \
    {                                                                                                                   \
        cv_conv_sum_tile(*t, tile, MR, NR);                                                                             \
    }

// The functions of a schedule: tiles nr, 32 and 16 columns wide, of mr rows and of half as many.
typedef struct {
    cv_conv_sum *full[3], *half[3];
} cv_conv_sums;

CV_INLINE void cv_conv_do_tile(cv_conv_tile t, cv_conv_sum *sum, int mr, int nr, cv_epilogue *epilogue, void *ctx)
{
    _Alignas(64) float tile[CV_TILE_ROWS * CV_TILE_COLUMNS];
    const int64_t depth = t.size.kernel_h * t.size.kernel_w * t.size.channels;
    t.ahead = cv_gemm_ahead(t.b, depth, t.next, t.number, nr);
    sum(&t, tile);
    epilogue(ctx, tile, nr, t.m0, cv_least(t.mb, mr), t.n0 + t.group * t.size.out_channels, t.nb);
}

// All pixels of a block for the tile's columns, tiles of width `nr`, which is number `width` of the schedule's widths.
CV_INLINE void cv_conv_do_column(cv_conv_tile t, const cv_conv_sums *sums, int width, int64_t m1, int mr, int nr,
                                 cv_epilogue *epilogue, void *ctx)
{
    t.w = t.m0 % t.size.out_width;
    t.h = t.m0 / t.size.out_width % t.size.out_height;
    t.n = t.m0 / t.size.out_width / t.size.out_height;
    for (t.mb = mr; t.m0 + mr <= m1; t.m0 += mr) {
        cv_conv_do_tile(t, sums->full[width], mr, nr, epilogue, ctx);
        cv_conv_advance(&t, mr);
        t.number++;
    }
    t.mb = m1 - t.m0;
    if (t.mb == 0)
        return;
    cv_conv_do_tile(t, mr > 1 && t.mb <= mr / 2 ? sums->half[width] : sums->full[width], mr, nr, epilogue, ctx);
}

CV_INLINE void cv_conv_do_block(cv_conv_tile t, const cv_conv_sums *sums, cv_gemm_block block, int64_t depth, int mr,
                                int nr, cv_epilogue *epilogue, void *ctx)
{
    while (t.n0 < block.n1) {
        const int64_t left = block.n1 - t.n0;
        const int full = t.size.out_channels % nr == 0 || left > nr - CV_PANEL;
        const int width = full ? 0 : nr > 32 && left > CV_PANEL ? 1 : 2;
        const int columns = width == 0 ? nr : width == 1 ? 32 : CV_PANEL;
        t.nb = cv_least(columns, left);
        cv_conv_do_column(t, sums, width, block.m1, mr, columns, epilogue, ctx);
        t.n0 += columns;
        t.b += columns * depth;
    }
}

// Units [begin, end). zeros: `channels` floats of zero.
CV_INLINE void cv_conv(cv_gemm_schedule schedule, cv_conv_sums sums, cv_conv_size size, cv_images images,
                       const float *weights, const float *zeros, cv_epilogue *epilogue, void *ctx, int64_t begin,
                       int64_t end)
{
    const cv_gemm_size product = cv_conv_product(size);
    const int64_t group = cv_panel_floats(product.k, product.n);
    for (int64_t unit = begin; unit < end; unit++) {
        const cv_gemm_block block = cv_gemm_unit(schedule, product, unit);
        const cv_conv_tile t = {
            .size = size, .images = images, .zeros = zeros,
            .b = weights + block.batch * group + block.n0 * product.k,
            .group = block.batch, .m0 = block.m0, .n0 = block.n0,
            .number = block.m0 / schedule.mr, .next = cv_gemm_next(schedule, product, block, 0),
        };
        cv_conv_do_block(t, &sums, block, product.k, schedule.mr, schedule.nr, epilogue, ctx);
    }
}
