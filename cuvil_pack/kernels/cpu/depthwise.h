// Depthwise convolution of NHWC images in f32: every channel has its own kernel, vectors run along the channels.
//
// Weights are [kernel_h][kernel_w][channels rounded up to 16], 64-byte aligned, zeros behind the last channel. A tile
// is mr consecutive pixels of one output row x nr channels; an input pixel is loaded once for all its taps in a kernel
// row.
// The kernel's size, strides and dilation must be literals. The epilogue is gemm.h's: rows are pixels of the batch.
//
// A unit is one output row x at most nb channels; consecutive units go down the rows of an image.
#pragma once

#include "conv.h"

typedef struct {
    int mr, nr; // pixels and channels of a register tile, at most 16 x 64, nr a multiple of 16
    int64_t nb; // channels of a unit, at most, in whole tiles
} cv_depthwise_schedule;

typedef struct {
    cv_conv_size size;
    cv_images images;
    const float *weights, *zeros;
    int64_t n, h, w, skip, c, nb;
} cv_depthwise_tile;

CV_INLINE int64_t cv_depthwise_channel_blocks(cv_depthwise_schedule s, int64_t channels)
{
    return cv_ceil_div(cv_ceil_div(channels, s.nr), cv_most(s.nb / s.nr, 1));
}

CV_INLINE int64_t cv_depthwise_units(cv_depthwise_schedule s, cv_conv_size size)
{
    return size.batch * size.out_height * cv_depthwise_channel_blocks(s, size.groups);
}

CV_INLINE cv_vec cv_depthwise_load(const float *p, int v, int part, int64_t count)
{
    return part ? cv_load_part(p + v * CV_LANES, count - v * CV_LANES) : cv_load(p + v * CV_LANES);
}

// One kernel row: `taps` of its taps from `first` on, over the pixels of one input row.
// `inside`: no tap leaves the image; `part`: fewer than nr channels are left.
CV_INLINE void cv_depthwise_taps(cv_tile *acc, cv_depthwise_tile t, const float *row, int64_t first,
                                 const float *weights, int taps, int mr, int nr, int inside, int part)
{
    const cv_conv_size s = t.size;
    const int64_t channels = cv_ceil_div(s.groups, CV_PANEL) * CV_PANEL;
    cv_vec weight[8][CV_TILE_VECTORS];
    CV_UNROLL
    for (int q = 0; q < taps; q++) {
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            weight[q][v] = cv_load(weights + q * channels + v * CV_LANES);
    }
    CV_UNROLL
    for (int64_t x = 0; x <= (mr - 1) * s.stride_w + (taps - 1) * s.dilation_w; x++) {
        const float *pixel = row + x * t.images.column_stride;
        if (!inside && (uint64_t)(first + x) >= (uint64_t)s.width)
            pixel = t.zeros;
        cv_vec input[CV_TILE_VECTORS];
        CV_UNROLL
        for (int v = 0; v < nr / CV_LANES; v++)
            input[v] = cv_depthwise_load(pixel, v, part, t.nb);
        CV_UNROLL
        for (int q = 0; q < taps; q++) {
            const int64_t from = x - q * s.dilation_w;
            if (from < 0 || from % s.stride_w != 0 || from / s.stride_w >= mr)
                continue;
            CV_UNROLL
            for (int v = 0; v < nr / CV_LANES; v++)
                acc->v[from / s.stride_w][v] += input[v] * weight[q][v];
        }
    }
}

CV_INLINE void cv_depthwise_do_tile(cv_depthwise_tile t, int mr, int nr, int inside, int part, cv_epilogue *epilogue,
                                    void *ctx)
{
    const cv_conv_size s = t.size;
    const int64_t channels = cv_ceil_div(s.groups, CV_PANEL) * CV_PANEL;
    const int taps = s.kernel_w <= 7 ? s.kernel_w : 1;
    cv_tile acc;
    cv_tile_zero(&acc, mr, nr);
    CV_NO_UNROLL
    for (int64_t r = 0; r < s.kernel_h; r++) {
        const int64_t h = t.h * s.stride_h - s.pad_top + r * s.dilation_h;
        if ((uint64_t)h >= (uint64_t)s.height)
            continue;
        const float *const row = t.images.data + t.n * t.images.batch_stride + h * t.images.row_stride + t.c;
        CV_NO_UNROLL
        for (int64_t q = 0; q < s.kernel_w; q += taps) {
            const int64_t first = t.w * s.stride_w - s.pad_left + q * s.dilation_w;
            cv_depthwise_taps(&acc, t, row + first * t.images.column_stride, first,
                              t.weights + (r * s.kernel_w + q) * channels + t.c, taps, mr, nr, inside, part);
        }
    }
    _Alignas(64) float tile[CV_TILE_ROWS * CV_TILE_COLUMNS];
    cv_tile_store(&acc, tile, mr, nr);
    const int64_t m0 = (t.n * s.out_height + t.h) * s.out_width + t.w + t.skip;
    epilogue(ctx, tile + t.skip * nr, nr, m0, mr - t.skip, t.c, t.nb);
}

// The channels [t.c, c1) of one tile of pixels.
CV_INLINE void cv_depthwise_do_channels(cv_depthwise_tile t, int64_t c1, int mr, int nr, int inside,
                                        cv_epilogue *epilogue, void *ctx)
{
    for (t.nb = nr; t.c + nr <= c1; t.c += nr)
        cv_depthwise_do_tile(t, mr, nr, inside, 0, epilogue, ctx);
    if (t.size.groups % nr == 0)
        return;
    for (t.nb = CV_PANEL; nr > CV_PANEL && t.c + CV_PANEL <= c1; t.c += CV_PANEL)
        cv_depthwise_do_tile(t, mr, CV_PANEL, inside, 0, epilogue, ctx);
    t.nb = c1 - t.c;
    if (t.size.groups % CV_PANEL != 0 && t.nb > 0)
        cv_depthwise_do_tile(t, mr, CV_PANEL, inside, 1, epilogue, ctx);
}

// One output row. The last tile moves back to stay in the row; the epilogue gets its new pixels only.
CV_INLINE void cv_depthwise_do_row(cv_depthwise_tile t, int64_t c1, int mr, int nr, cv_epilogue *epilogue, void *ctx)
{
    const cv_conv_size s = t.size;
    const int64_t reach = (mr - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w;
    for (int64_t w = 0; w < s.out_width; w += mr) {
        t.w = cv_least(w, s.out_width - mr);
        t.skip = w - t.w;
        const int64_t first = t.w * s.stride_w - s.pad_left;
        if (first >= 0 && first + reach < s.width)
            cv_depthwise_do_channels(t, c1, mr, nr, 1, epilogue, ctx);
        else
            cv_depthwise_do_channels(t, c1, mr, nr, 0, epilogue, ctx);
    }
}

// Units [begin, end) of size.groups channels (size.channels and size.out_channels are not read). zeros: 64 floats.
CV_INLINE void cv_depthwise(cv_depthwise_schedule schedule, cv_conv_size size, cv_images images, const float *weights,
                            const float *zeros, cv_epilogue *epilogue, void *ctx, int64_t begin, int64_t end)
{
    const int64_t blocks = cv_depthwise_channel_blocks(schedule, size.groups);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t block = unit / size.out_height % blocks;
        const int64_t c1 = cv_gemm_edge(size.groups, schedule.nr, blocks, block + 1);
        const cv_depthwise_tile t = {
            .size = size, .images = images, .weights = weights, .zeros = zeros,
            .n = unit / size.out_height / blocks, .h = unit % size.out_height,
            .c = cv_gemm_edge(size.groups, schedule.nr, blocks, block),
        };
        if (size.out_width >= schedule.mr)
            cv_depthwise_do_row(t, c1, schedule.mr, schedule.nr, epilogue, ctx);
        else
            cv_depthwise_do_row(t, c1, 1, schedule.nr, epilogue, ctx);
    }
}
