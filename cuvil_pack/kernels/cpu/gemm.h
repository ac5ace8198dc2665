// C[batch, M, N] = A[batch, M, K] * B[(batch,) K, N] in f32.
//
// A is read in place. B is packed in panels [ceil(N / 16)][K][16], 64-byte aligned, zeros behind column N: weights by
// the packer (cv_gemm), activations block by block in here (cv_gemm_activations). Every element of C is one chain of
// multiply-adds over ascending k, so no schedule and no division of the units among threads changes a bit of it.
//
// The units of a product are blocks of about mb x nb, dealt evenly: cv_gemm_units counts them, a call does [begin, end).
// The epilogue sees rows counted through the batch: row r of matrix i is i * M + r.
#pragma once

#include "pack.h"
#include "tile.h"

typedef struct {
    int mr, nr;        // rows and columns of a register tile, at most 16 x 64, nr a multiple of 16
    int64_t mb, nb;    // rows and columns of a unit, at most
    int64_t kc;        // depth of one pass over a unit, its partial sums in scratch; 0: all of K in one pass
    int columns_outer; // consecutive units go down a column of blocks; 0: along a row of blocks
} cv_gemm_schedule;

typedef struct {
    int64_t batch, m, n, k;
} cv_gemm_size;

// Matrix i of a batch starts at data + i * batch_stride, its row r lies r * row_stride floats further.
typedef struct {
    const float *data;
    int64_t row_stride, batch_stride;
} cv_matrix;

typedef struct {
    int64_t batch, m0, m1, n0, n1;
} cv_gemm_block;

// A tile's place: its rows of A, its panels of B, what to bring into the cache meanwhile, the part of K, where its sums
// rest between passes, its part of C; its number down the column, and how far the next block's panels are, or 0.
typedef struct {
    cv_gemm_size size;
    const float *a, *b, *ahead;
    int64_t row_stride, k0, k1;
    float *partial;
    int64_t m0, mb, n0, nb, number, next;
} cv_gemm_tile;

CV_INLINE int64_t cv_gemm_row_blocks(cv_gemm_schedule s, int64_t m)
{
    return cv_ceil_div(cv_ceil_div(m, s.mr), cv_most(s.mb / s.mr, 1));
}

CV_INLINE int64_t cv_gemm_column_blocks(cv_gemm_schedule s, int64_t n)
{
    return cv_ceil_div(cv_ceil_div(n, s.nr), cv_most(s.nb / s.nr, 1));
}

CV_INLINE int64_t cv_gemm_units(cv_gemm_schedule s, cv_gemm_size size)
{
    return size.batch * cv_gemm_row_blocks(s, size.m) * cv_gemm_column_blocks(s, size.n);
}

// First row or column of part `index` when the tiles of `total` are dealt evenly to `parts`.
CV_INLINE int64_t cv_gemm_edge(int64_t total, int64_t tile, int64_t parts, int64_t index)
{
    return cv_least(cv_ceil_div(total, tile) * index / parts * tile, total);
}

CV_INLINE cv_gemm_block cv_gemm_unit(cv_gemm_schedule s, cv_gemm_size size, int64_t unit)
{
    const int64_t rows = cv_gemm_row_blocks(s, size.m), columns = cv_gemm_column_blocks(s, size.n);
    const int64_t block = unit % (rows * columns);
    const int64_t row = s.columns_outer ? block % rows : block / columns;
    const int64_t column = s.columns_outer ? block / rows : block % columns;
    return (cv_gemm_block){
        unit / (rows * columns),
        cv_gemm_edge(size.m, s.mr, rows, row),
        cv_gemm_edge(size.m, s.mr, rows, row + 1),
        cv_gemm_edge(size.n, s.nr, columns, column),
        cv_gemm_edge(size.n, s.nr, columns, column + 1),
    };
}

// How far behind a block's panels the next block's are, which its tiles ask for; 0 where units do not go down columns,
// or where two blocks' panels and the rows of A do not fit in the second cache.
CV_INLINE int64_t cv_gemm_next(cv_gemm_schedule s, cv_gemm_size size, cv_gemm_block block, int64_t rows)
{
    const int64_t wide = block.n1 - block.n0, floats = (2 * wide + cv_least(rows, size.m)) * size.k;
    return s.columns_outer && block.n1 < size.n && floats * 4 <= CV_AHEAD_BYTES ? wide * size.k : 0;
}

// The share of it that a tile asks for: together the first nr / 8 tiles of a column ask for nr columns.
CV_INLINE const float *cv_gemm_ahead(const float *b, int64_t k, int64_t next, int64_t number, int nr)
{
    return next != 0 && number < nr / 8 ? b + next + number * k * 8 : b;
}

// Floats of one unit's partial sums.
CV_INLINE int64_t cv_gemm_partial_floats(cv_gemm_schedule s)
{
    return s.kc == 0 ? 0 : cv_most(s.mb / s.mr, 1) * s.mr * cv_most(s.nb / s.nr, 1) * s.nr;
}

// The sums of a tile over [k0, k1). Rows behind the last valid one repeat it.
CV_INLINE void cv_gemm_sum_tile(cv_gemm_tile t, float *tile, int mr, int nr)
{
    const float *rows[CV_TILE_ROWS];
    CV_UNROLL
    for (int i = 0; i < mr; i++)
        rows[i] = t.a + cv_least(i, t.mb - 1) * t.row_stride + t.k0;
    cv_tile_pin(rows, mr);
    cv_tile acc;
    if (t.k0 == 0)
        cv_tile_zero(&acc, mr, nr);
    else
        cv_tile_load(&acc, t.partial, mr, nr);
    cv_tile_madd(&acc, rows, t.b + t.k0 * CV_PANEL, t.size.k * CV_PANEL, t.k1 - t.k0, t.ahead, mr, nr);
    cv_tile_store(&acc, tile, mr, nr);
}

// The sums of one tile as a function: the kernels of a program share it, and it has all registers to itself.
typedef void cv_gemm_sum(const cv_gemm_tile *t, float *tile);

#define CV_GEMM_SUM(MR, NR)                                                                                             \
    static __attribute__((noinline)) void cv_gemm_sum_##MR##x##NR(const cv_gemm_tile *t, float *tile)                   \
    {                                                                                                                   \
        cv_gemm_sum_tile(*t, tile, MR, NR);                                                                             \
    }

// The functions of a schedule: tiles nr, 32 and 16 columns wide, of mr rows and of half as many. `one` and `four` are for
// products of at most four rows, which are bound by the reading of B: 64 and CV_GEMM_FOUR columns wide, 32 and 16.
typedef struct {
    cv_gemm_sum *full[3], *half[3], *one[3], *four[3];
} cv_gemm_sums;

#define CV_GEMM_FOUR (CV_LANES < 16 ? 16 : 64)

// Hands the sums of a tile on, or puts them aside when more of K is to come; the epilogue gets valid rows only.
CV_INLINE void cv_gemm_do_tile(cv_gemm_tile t, cv_gemm_sum *sum, int mr, int nr, cv_epilogue *epilogue, void *ctx)
{
    if (t.k1 < t.size.k) {
        sum(&t, t.partial);
        return;
    }
    _Alignas(64) float tile[CV_TILE_ROWS * CV_TILE_COLUMNS];
    sum(&t, tile);
    epilogue(ctx, tile, nr, t.m0, cv_least(t.mb, mr), t.n0, t.nb);
}

// A column of tiles: `t` is its first one, with mb all rows of the column. Returns where the next column's sums rest.
CV_INLINE float *cv_gemm_do_column(cv_gemm_tile t, cv_gemm_sum *full, cv_gemm_sum *half, int mr, int nr,
                                   cv_epilogue *epilogue, void *ctx)
{
    int64_t left = t.mb;
    for (; left > 0; left -= mr) {
        t.mb = cv_least(left, mr);
        t.ahead = cv_gemm_ahead(t.b, t.size.k, t.next, t.number++, nr);
        cv_gemm_do_tile(t, left <= mr / 2 ? half : full, mr, nr, epilogue, ctx);
        t.a += mr * t.row_stride;
        t.partial += mr * nr;
        t.m0 += mr;
    }
    return t.partial;
}

// A pass over K of a block. No tile reaches behind the block's last panel: the last columns take narrower ones, unless
// the block is known to be made of whole tiles.
CV_INLINE void cv_gemm_do_pass(cv_gemm_tile t, cv_gemm_sum *const *full, cv_gemm_sum *const *half, int64_t n1, int whole,
                               int mr, int nr, cv_epilogue *epilogue, void *ctx)
{
    while (t.n0 < n1) {
        const int64_t left = n1 - t.n0;
        const int width = whole || left > nr - CV_PANEL ? 0 : nr > 32 && left > CV_PANEL ? 1 : 2;
        const int columns = width == 0 ? nr : width == 1 ? 32 : CV_PANEL;
        t.nb = cv_least(columns, left);
        t.partial = cv_gemm_do_column(t, full[width], half[width], mr, columns, epilogue, ctx);
        t.n0 += columns;
        t.b += columns * t.size.k;
    }
}

// A block: `b` are its own panels.
CV_INLINE void cv_gemm_do_block(cv_gemm_schedule s, const cv_gemm_sums *sums, cv_gemm_size size, cv_matrix a,
                                const float *b, int64_t next, cv_gemm_block block, float *partial,
                                cv_epilogue *epilogue, void *ctx)
{
    const int64_t rows = block.m1 - block.m0;
    cv_gemm_tile t = {
        .a = a.data + block.batch * a.batch_stride + block.m0 * a.row_stride, .b = b,
        .size = size, .row_stride = a.row_stride, .k1 = size.k, .partial = partial,
        .m0 = block.batch * size.m + block.m0, .mb = rows, .n0 = block.n0,
        .number = block.m0 / s.mr, .next = next,
    };
    if (size.m == 1) {
        cv_gemm_do_pass(t, sums->one, sums->one, block.n1, 0, 1, 64, epilogue, ctx);
        return;
    }
    if (size.m <= 4 && s.mr >= 4) {
        cv_gemm_do_pass(t, sums->four, sums->four, block.n1, 0, 4, CV_GEMM_FOUR, epilogue, ctx);
        return;
    }
    do {
        t.k1 = s.kc == 0 ? size.k : cv_least(t.k0 + s.kc, size.k);
        cv_gemm_do_pass(t, sums->full, sums->half, block.n1, size.n % s.nr == 0, s.mr, s.nr, epilogue, ctx);
        t.k0 = t.k1;
    } while (t.k0 < size.k);
}

// Units [begin, end) of a product with packed weights, one B for the whole batch.
// partial: cv_gemm_partial_floats(s) floats of this thread, 64-byte aligned.
CV_INLINE void cv_gemm(cv_gemm_schedule s, cv_gemm_sums sums, cv_gemm_size size, cv_matrix a, const float *b,
                       float *partial, cv_epilogue *epilogue, void *ctx, int64_t begin, int64_t end)
{
    for (int64_t unit = begin; unit < end; unit++) {
        const cv_gemm_block block = cv_gemm_unit(s, size, unit);
        const int64_t next = cv_gemm_next(s, size, block, s.mb);
        cv_gemm_do_block(s, &sums, size, a, b + block.n0 * size.k, next, block, partial, epilogue, ctx);
    }
}

// B of batch i starts at data + i * batch_stride; `transposed`: it is stored as [N, K], rows row_stride apart.
typedef struct {
    cv_matrix matrix;
    int transposed;
} cv_gemm_operand;

// Floats of scratch a thread needs for cv_gemm_activations: partial sums, then the panels of one block.
CV_INLINE int64_t cv_gemm_activations_floats(cv_gemm_schedule s, cv_gemm_size size)
{
    const int64_t columns = cv_most(s.nb / s.nr, 1) * s.nr;
    return cv_gemm_partial_floats(s) + cv_panel_floats(size.k, cv_least(columns, size.n));
}

// Units [begin, end) of a product of two activations. B is packed once for consecutive units of one column of blocks.
// scratch: cv_gemm_activations_floats(s, size) floats of this thread, 64-byte aligned.
CV_INLINE void cv_gemm_activations(cv_gemm_schedule s, cv_gemm_sums sums, cv_gemm_size size, cv_matrix a,
                                   cv_gemm_operand b, float *scratch, cv_epilogue *epilogue, void *ctx, int64_t begin,
                                   int64_t end)
{
    float *const panels = scratch + cv_gemm_partial_floats(s);
    int64_t batch = -1, column = -1;
    for (int64_t unit = begin; unit < end; unit++) {
        const cv_gemm_block block = cv_gemm_unit(s, size, unit);
        if (block.batch != batch || block.n0 != column) {
            const float *data = b.matrix.data + block.batch * b.matrix.batch_stride;
            const int64_t stride = b.matrix.row_stride, width = block.n1 - block.n0;
            if (b.transposed)
                cv_pack_columns(panels, data + block.n0 * stride, stride, size.k, width);
            else
                cv_pack_rows(panels, data + block.n0, stride, size.k, width);
            batch = block.batch;
            column = block.n0;
        }
        cv_gemm_do_block(s, &sums, size, a, panels, 0, block, scratch, epilogue, ctx);
    }
}
