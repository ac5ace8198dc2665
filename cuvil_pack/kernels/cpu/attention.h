// softmax(scale * Q K^T + mask) V in f32, block of keys by block of keys: the scores are never all there.
//
// A block's scores are computed transposed, [keys][queries]: keys are the rows that a register tile reads in place, and
// a unit's queries are packed once, [queries / 16][depth][16]. So maxima and sums run down the columns, one query a
// lane, and neither K nor V is ever copied. The sums are carried from block to block (Milakov, Gimelshein 2018; Dao
// 2022). A query that may see nothing gives 0, as torch has it.
//
// A unit is a block of at most `queries` queries of one head; blocks are dealt evenly in sixteens.
#pragma once

#include "mathf.h"
#include "pack.h"
#include "tile.h"

typedef struct {
    int queries;  // queries of a unit, at most: 16, 32, 48 or 64
    int64_t keys; // keys of a block, at most
} cv_attention_schedule;

// Query head h reads key head h * kv_heads / heads.
typedef struct {
    int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
} cv_attention_size;

// Row r of head h of batch b starts at data + b * batch_stride + h * head_stride + r * row_stride.
typedef struct {
    float *data;
    int64_t batch_stride, head_stride, row_stride;
} cv_heads;

enum cv_mask_kind { CV_MASK_NONE, CV_MASK_ADD, CV_MASK_ALLOW };

// float (CV_MASK_ADD) or uint8_t, not 0 where a key may be seen (CV_MASK_ALLOW); the stride of a repeated axis is 0.
typedef struct {
    enum cv_mask_kind kind;
    const void *data;
    int64_t batch_stride, head_stride, query_stride, key_stride;
} cv_attention_mask;

// causal: query i sees keys 0 .. i + offset.
typedef struct {
    cv_attention_schedule schedule;
    cv_attention_size size;
    cv_heads q, k, v, out;
    float scale;
    int causal;
    int64_t offset;
    cv_attention_mask mask;
} cv_attention_call;

// What a unit has at hand: its queries [q0, q1) of one head, and its part of scratch.
typedef struct {
    const float *k, *v;
    const char *mask;
    int64_t q0, q1;
    float *queries, *scores, *sums, *top, *total, *fade;
} cv_attention_unit;

#define CV_ATTENTION_ROWS (CV_LANES == 16 ? 8 : CV_LANES == 8 ? 6 : 2)
#define CV_ATTENTION_PAD 16 // keys behind the last one and queries behind the last one that a tile may write

CV_INLINE int64_t cv_attention_query_blocks(cv_attention_schedule s, int64_t queries)
{
    return cv_ceil_div(cv_ceil_div(queries, CV_PANEL), s.queries / CV_PANEL);
}

CV_INLINE int64_t cv_attention_units(cv_attention_schedule s, cv_attention_size size)
{
    return size.batch * size.heads * cv_attention_query_blocks(s, size.queries);
}

CV_INLINE int64_t cv_attention_value_stride(cv_attention_size size)
{
    return cv_ceil_div(size.value_depth, CV_PANEL) * CV_PANEL;
}

// Floats of scratch of one thread.
CV_INLINE int64_t cv_attention_floats(cv_attention_schedule s, cv_attention_size size)
{
    const int64_t queries = s.queries + CV_ATTENTION_PAD, keys = s.keys + CV_ATTENTION_PAD;
    return s.queries * (size.depth + keys) + queries * (cv_attention_value_stride(size) + 3);
}

// e^x for x <= 0 or nan; 0 where it would be subnormal.
CV_INLINE float cv_attention_exp(float x)
{
    const float y = cv_exp_normalf(x < -87.0f ? -87.0f : x);
    return x < -87.0f ? 0.0f : y;
}

// scores[key][query] of `keys` keys from `k` on: mr keys x nr queries a tile.
CV_INLINE void cv_attention_scores(const float *k, int64_t k_stride, int64_t keys, const float *queries, int64_t depth,
                                   float *scores, int64_t stride, int mr, int nr)
{
    for (int64_t key = 0; key < keys; key += mr) {
        const float *rows[CV_TILE_ROWS];
        CV_UNROLL
        for (int i = 0; i < mr; i++)
            rows[i] = k + cv_least(key + i, keys - 1) * k_stride;
        cv_tile_pin(rows, mr);
        cv_tile acc;
        cv_tile_zero(&acc, mr, nr);
        cv_tile_madd(&acc, rows, queries, depth * CV_PANEL, depth, queries, mr, nr);
        CV_UNROLL
        for (int i = 0; i < mr; i++) {
            CV_UNROLL
            for (int v = 0; v < nr / CV_LANES; v++)
                cv_store(scores + (key + i) * stride + v * CV_LANES, acc.v[i][v]);
        }
    }
}

// The scores of a block for all of a unit's `columns` queries, a multiple of 16.
CV_INLINE void cv_attention_score_block(const float *k, int64_t k_stride, int64_t keys, const float *queries,
                                        int64_t depth, float *scores, int64_t stride, int64_t columns)
{
    while (CV_LANES == 16 && columns > CV_PANEL) {
        const int64_t width = columns > 3 * CV_PANEL ? 64 : columns > 2 * CV_PANEL ? 48 : 32;
        if (width == 64)
            cv_attention_scores(k, k_stride, keys, queries, depth, scores, stride, 6, 64);
        else if (width == 48)
            cv_attention_scores(k, k_stride, keys, queries, depth, scores, stride, 8, 48);
        else
            cv_attention_scores(k, k_stride, keys, queries, depth, scores, stride, 12, 32);
        columns -= width;
        queries += width * depth;
        scores += width;
    }
    for (; columns > 0; columns -= CV_PANEL) {
        cv_attention_scores(k, k_stride, keys, queries, depth, scores, stride, CV_LANES > 4 ? 6 : 2, CV_PANEL);
        queries += CV_PANEL * depth;
        scores += CV_PANEL;
    }
}

// Adds the mask to the scores of keys [key, key + keys) and queries [q0, q0 + columns).
CV_INLINE void cv_attention_mask_block(cv_attention_call c, cv_attention_unit u, int64_t key, int64_t keys)
{
    const int64_t columns = u.q1 - u.q0, stride = c.schedule.queries;
    for (int64_t j = 0; c.mask.kind != CV_MASK_NONE && j < keys; j++) {
        float *row = u.scores + j * stride;
        const int64_t at = u.q0 * c.mask.query_stride + (key + j) * c.mask.key_stride;
        for (int64_t i = 0; i < columns; i++) {
            const int64_t place = at + i * c.mask.query_stride;
            if (c.mask.kind == CV_MASK_ADD)
                row[i] += ((const float *)u.mask)[place];
            else
                row[i] = ((const uint8_t *)u.mask)[place] ? row[i] : -CV_INFF;
        }
    }
    if (!c.causal || key + keys - 1 <= u.q0 + c.offset)
        return;
    for (int64_t j = 0; j < keys; j++) {
        float *row = u.scores + j * stride;
        const int32_t hidden = (int32_t)cv_least(cv_most(key + j - c.offset - u.q0, 0), columns);
        for (int32_t i = 0; i < hidden; i++)
            row[i] = -CV_INFF;
    }
}

CV_INLINE float cv_attention_most(float a, float b) { return a > b ? a : b; }

// Sixteen queries: the new maximum, how much of the old sums it leaves, e^(score - maximum) in place, their sum.
CV_INLINE void cv_attention_softmax(float *restrict scores, int64_t stride, int64_t keys, float *restrict top,
                                    float *restrict total, float *restrict fade)
{
    float high[CV_PANEL], sum[CV_PANEL];
    for (int j = 0; j < CV_PANEL; j++)
        high[j] = top[j];
    for (int64_t key = 0; key < keys; key += 2) {
        const float *row = scores + key * stride, *next = key + 1 < keys ? row + stride : row;
        CV_NO_UNROLL
        for (int j = 0; j < CV_PANEL; j++)
            high[j] = cv_attention_most(cv_attention_most(row[j], next[j]), high[j]);
    }
    for (int j = 0; j < CV_PANEL; j++) {
        const float base = high[j] == -CV_INFF ? 0.0f : high[j];
        fade[j] = cv_attention_exp(top[j] - base);
        top[j] = high[j];
        high[j] = base;
        sum[j] = total[j] * fade[j];
    }
    for (int64_t key = 0; key < keys; key++) {
        float *row = scores + key * stride;
        CV_NO_UNROLL
        for (int j = 0; j < CV_PANEL; j++) {
            row[j] = cv_attention_exp(row[j] - high[j]);
            sum[j] += row[j];
        }
    }
    for (int j = 0; j < CV_PANEL; j++)
        total[j] = sum[j];
}

// sums[query][value] = fade[query] * sums + scores[key][query] * v[key][value], for mr queries and nb <= nr values.
CV_INLINE void cv_attention_values(const float *scores, int64_t stride, const float *v, int64_t v_stride, int64_t keys,
                                   float *sums, int64_t sums_stride, const float *fade, int first,
                                   int mr, int nr, int part, int64_t nb)
{
    cv_tile acc;
    cv_tile_zero(&acc, mr, nr);
    CV_UNROLL
    for (int i = 0; i < mr && !first; i++) {
        CV_UNROLL
        for (int j = 0; j < nr / CV_LANES; j++)
            acc.v[i][j] = cv_load(sums + i * sums_stride + j * CV_LANES) * cv_splat(fade[i]);
    }
    CV_NO_UNROLL
    for (int64_t key = 0; key < keys; key++) {
        cv_vec value[CV_TILE_VECTORS];
        CV_UNROLL
        for (int j = 0; j < nr / CV_LANES; j++) {
            const float *p = v + key * v_stride + j * CV_LANES;
            value[j] = part ? cv_load_part(p, nb - j * CV_LANES) : cv_load(p);
        }
        CV_UNROLL
        for (int i = 0; i < mr; i++) {
            const cv_vec x = cv_splat(scores[key * stride + i]);
            CV_UNROLL
            for (int j = 0; j < nr / CV_LANES; j++)
                acc.v[i][j] += x * value[j];
        }
    }
    CV_UNROLL
    for (int i = 0; i < mr; i++) {
        CV_UNROLL
        for (int j = 0; j < nr / CV_LANES; j++)
            cv_store(sums + i * sums_stride + j * CV_LANES, acc.v[i][j]);
    }
}

// The values [d, d + nr) of a block for all of a unit's queries; the last tile may write rows behind the last one.
CV_INLINE void cv_attention_value_columns(cv_attention_call c, cv_attention_unit u, int64_t key, int64_t keys,
                                          int64_t d, int mr, int nr, int part)
{
    const int64_t stride = cv_attention_value_stride(c.size), left = c.size.value_depth - d;
    for (int64_t i = 0; i < u.q1 - u.q0; i += mr)
        cv_attention_values(u.scores + i, c.schedule.queries, u.v + key * c.v.row_stride + d, c.v.row_stride, keys,
                            u.sums + i * stride + d, stride, u.fade + i, key == 0, mr, nr, part, left);
}

CV_INLINE void cv_attention_value_block(cv_attention_call c, cv_attention_unit u, int64_t key, int64_t keys)
{
    const int64_t depth = c.size.value_depth;
    int64_t d = 0;
    for (; CV_LANES == 16 && d + 64 <= depth; d += 64)
        cv_attention_value_columns(c, u, key, keys, d, 6, 64, 0);
    for (; CV_LANES == 16 && d + 32 <= depth; d += 32)
        cv_attention_value_columns(c, u, key, keys, d, 8, 32, 0);
    for (; d + 16 <= depth; d += 16)
        cv_attention_value_columns(c, u, key, keys, d, CV_ATTENTION_ROWS, 16, 0);
    if (depth % 16 != 0)
        cv_attention_value_columns(c, u, key, keys, d, CV_ATTENTION_ROWS, 16, 1);
}

// Packs scale * queries, nothing behind the last one.
CV_INLINE void cv_attention_take_queries(cv_attention_call c, const float *q, cv_attention_unit u)
{
    const int64_t rows = u.q1 - u.q0;
    cv_pack_columns(u.queries, q + u.q0 * c.q.row_stride, c.q.row_stride, c.size.depth, rows);
    for (int64_t i = 0; i < cv_panel_floats(c.size.depth, rows); i += CV_LANES)
        cv_store(u.queries + i, cv_load(u.queries + i) * cv_splat(c.scale));
    for (int64_t i = 0; i < c.schedule.queries; i++) {
        u.top[i] = -CV_INFF;
        u.total[i] = 0;
    }
}

CV_INLINE void cv_attention_give(cv_attention_call c, cv_attention_unit u, float *out)
{
    const int64_t columns = cv_attention_value_stride(c.size), depth = c.size.value_depth, rest = depth % CV_LANES;
    for (int64_t i = 0; i < u.q1 - u.q0; i++) {
        float *row = out + (u.q0 + i) * c.out.row_stride;
        const float *sums = u.sums + i * columns;
        const int nothing = u.total[i] == 0;
        const cv_vec factor = cv_splat(nothing ? 0 : 1 / u.total[i]);
        int64_t d = 0;
        for (; d < depth - rest; d += CV_LANES)
            cv_store(row + d, nothing ? factor : cv_load(sums + d) * factor);
        if (rest)
            cv_store_part(row + d, nothing ? factor : cv_load(sums + d) * factor, rest);
    }
}

CV_INLINE void cv_attention_do_unit(cv_attention_call c, cv_attention_unit u, const float *q, float *out)
{
    const cv_attention_size s = c.size;
    const int64_t columns = cv_ceil_div(u.q1 - u.q0, CV_PANEL) * CV_PANEL;
    const int64_t seen = c.causal ? cv_most(cv_least(s.keys, u.q1 + c.offset), 0) : s.keys;
    const int64_t blocks = cv_ceil_div(seen, c.schedule.keys);
    cv_attention_take_queries(c, q, u);
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t key = seen * block / blocks, keys = seen * (block + 1) / blocks - key;
        cv_attention_score_block(u.k + key * c.k.row_stride, c.k.row_stride, keys, u.queries, s.depth, u.scores,
                                 c.schedule.queries, columns);
        cv_attention_mask_block(c, u, key, keys);
        for (int64_t i = 0; i < columns; i += CV_PANEL)
            cv_attention_softmax(u.scores + i, c.schedule.queries, keys, u.top + i, u.total + i, u.fade + i);
        cv_attention_value_block(c, u, key, keys);
    }
    cv_attention_give(c, u, out);
}

// Units [begin, end). scratch: cv_attention_floats(schedule, size) floats of this thread, 64-byte aligned.
CV_INLINE void cv_attention(cv_attention_call c, float *scratch, int64_t begin, int64_t end)
{
    const cv_attention_size s = c.size;
    const int64_t blocks = cv_attention_query_blocks(c.schedule, s.queries), wide = c.schedule.queries;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t block = unit % blocks, head = unit / blocks % s.heads, batch = unit / blocks / s.heads;
        const int64_t kv = head * s.kv_heads / s.heads, panels = cv_ceil_div(s.queries, CV_PANEL);
        const int64_t mask = batch * c.mask.batch_stride + head * c.mask.head_stride;
        cv_attention_unit u = {
            .k = c.k.data + batch * c.k.batch_stride + kv * c.k.head_stride,
            .v = c.v.data + batch * c.v.batch_stride + kv * c.v.head_stride,
            .mask = (const char *)c.mask.data + mask * (c.mask.kind == CV_MASK_ADD ? 4 : 1),
            .q0 = panels * block / blocks * CV_PANEL,
            .q1 = cv_least(panels * (block + 1) / blocks * CV_PANEL, s.queries),
            .queries = scratch,
        };
        u.scores = u.queries + wide * s.depth;
        u.sums = u.scores + wide * (c.schedule.keys + CV_ATTENTION_PAD);
        u.top = u.sums + (wide + CV_ATTENTION_PAD) * cv_attention_value_stride(s);
        u.total = u.top + wide + CV_ATTENTION_PAD;
        u.fade = u.total + wide + CV_ATTENTION_PAD;
        cv_attention_do_unit(c, u, c.q.data + batch * c.q.batch_stride + head * c.q.head_stride,
                             c.out.data + batch * c.out.batch_stride + head * c.out.head_stride);
    }
}
