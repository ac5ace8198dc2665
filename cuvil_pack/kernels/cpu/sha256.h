// SHA-256 (FIPS 180-4) of the whole 1 MiB pieces of a buffer, sixteen pieces side by side: a lane of a vector each.
// One core of a machine with AVX-512 does 5 GB/s so, and 2 GB/s with the instructions made for SHA.
//
// Include program.h and vector.h before. Defines, where vectors have sixteen lanes,
//
//     int32_t cuvil_sha256(void *pool, const cuvil_call *call)
//         inputs[0]: bytes; sizes[0]: how many pieces; outputs[0]: 32 bytes for each
#pragma once

#if CV_LANES == 16

typedef uint32_t cv_words __attribute__((vector_size(64), may_alias));
typedef uint32_t cv_words_unaligned __attribute__((vector_size(64), aligned(1), may_alias));

enum { CV_PIECE = 1 << 20, CV_BLOCK = 64 };

static const uint32_t cv_sha256_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const uint32_t cv_sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

CV_INLINE cv_words cv_rotate(cv_words x, int right) { return x >> right | x << (32 - right); }

CV_INLINE cv_words cv_big_endian(cv_words x)
{
    return (cv_rotate(x, 8) & 0xff00ff00) | (cv_rotate(x, 24) & 0x00ff00ff);
}

// Swaps what lies off the diagonal of 2x2 blocks of `D` rows and columns; D = 8, 4, 2, 1 transposes.
#define CV_SWAP(D, LOW, HIGH)                                                                                          \
    CV_UNROLL                                                                                                          \
    for (int row = 0; row < 16; row++) {                                                                               \
        if (row & D) continue;                                                                                         \
        cv_words low = w[row], high = w[row | D];                                                                      \
        w[row] = __builtin_shufflevector(low, high, LOW);                                                              \
        w[row | D] = __builtin_shufflevector(low, high, HIGH);                                                         \
    }
#define CV_LOW_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define CV_HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define CV_LOW_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define CV_HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define CV_LOW_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define CV_HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define CV_LOW_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define CV_HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

CV_INLINE void cv_transpose_words(cv_words w[16])
{
    CV_SWAP(8, CV_LOW_8, CV_HIGH_8)
    CV_SWAP(4, CV_LOW_4, CV_HIGH_4)
    CV_SWAP(2, CV_LOW_2, CV_HIGH_2)
    CV_SWAP(1, CV_LOW_1, CV_HIGH_1)
}

// Sixteen rounds, beginning with number `first`; `w` becomes the words of the next sixteen.
CV_INLINE void cv_sha256_rounds(cv_words s[8], cv_words w[16], int first, int more)
{
    CV_UNROLL
    for (int t = 0; t < 16; t++) {
        cv_words *a = &s[(16 - t) & 7], b = s[(17 - t) & 7], c = s[(18 - t) & 7], *d = &s[(19 - t) & 7];
        cv_words e = s[(20 - t) & 7], f = s[(21 - t) & 7], g = s[(22 - t) & 7], *h = &s[(23 - t) & 7];

        cv_words sum = *h + (cv_rotate(e, 6) ^ cv_rotate(e, 11) ^ cv_rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                       cv_sha256_round[first + t] + w[t];
        *d += sum;
        *h = sum + (cv_rotate(*a, 2) ^ cv_rotate(*a, 13) ^ cv_rotate(*a, 22)) + ((*a & b) ^ (*a & c) ^ (b & c));
        if (!more) continue;
        cv_words near = w[(t + 1) & 15], far = w[(t + 14) & 15];
        w[t] += w[(t + 9) & 15] + (cv_rotate(near, 7) ^ cv_rotate(near, 18) ^ near >> 3) +
                (cv_rotate(far, 17) ^ cv_rotate(far, 19) ^ far >> 10);
    }
}

CV_INLINE void cv_sha256_block(cv_words state[8], cv_words w[16])
{
    cv_words s[8];
    CV_UNROLL
    for (int i = 0; i < 8; i++)
        s[i] = state[i];
    CV_NO_UNROLL
    for (int first = 0; first < 48; first += 16)
        cv_sha256_rounds(s, w, first, 1);
    cv_sha256_rounds(s, w, 48, 0);
    CV_UNROLL
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

// Up to sixteen pieces from `bytes` on; lanes without one do the first again.
static __attribute__((noinline)) void cv_sha256_pieces(const uint8_t *bytes, int64_t pieces, uint8_t *digests)
{
    cv_words state[8], w[16];
    CV_UNROLL
    for (int i = 0; i < 8; i++)
        state[i] = (cv_words){0} + cv_sha256_start[i];
    CV_NO_UNROLL
    for (int64_t at = 0; at < CV_PIECE; at += CV_BLOCK) {
        CV_UNROLL
        for (int lane = 0; lane < 16; lane++) {
            const uint8_t *block = bytes + (lane < pieces ? lane : 0) * (int64_t)CV_PIECE + at;
            __builtin_prefetch(block + 8 * CV_BLOCK);
            w[lane] = *(const cv_words_unaligned *)block;
        }
        CV_UNROLL
        for (int lane = 0; lane < 16; lane++)
            w[lane] = cv_big_endian(w[lane]);
        cv_transpose_words(w);
        cv_sha256_block(state, w);
    }
    CV_UNROLL
    for (int i = 0; i < 16; i++)
        w[i] = (cv_words){0};
    w[0] += 0x80000000u;
    w[15] += 8u * CV_PIECE;
    cv_sha256_block(state, w);
    CV_UNROLL
    for (int i = 0; i < 16; i++)
        w[i] = i < 8 ? cv_big_endian(state[i]) : (cv_words){0};
    cv_transpose_words(w);
    for (int64_t lane = 0; lane < pieces; lane++)
        __builtin_memcpy(digests + 32 * lane, &w[lane], 32);
}

// The threads take sixteen pieces at a time, because one of them may share its core with another program: libraries
// that a process has just loaded often leave a thread spinning.
static void cv_sha256_steps(const cv_job *job, int32_t thread)
{
    const cuvil_call *call = job->call;
    _Atomic int64_t *next = (_Atomic int64_t *)call->arena;
    for (int64_t piece; (piece = atomic_fetch_add(next, 16)) < call->sizes[0];) {
        const uint8_t *bytes = (const uint8_t *)call->inputs[0] + piece * CV_PIECE;
        cv_sha256_pieces(bytes, cv_least(16, call->sizes[0] - piece), (uint8_t *)call->outputs[0] + 32 * piece);
    }
    cv_step_end(job, thread, 0);
}

CV_EXPORT int32_t cuvil_sha256(void *pool, const cuvil_call *call)
{
    _Atomic int64_t next = 0;
    cuvil_call counted = *call;
    counted.arena = (void *)&next;
    return cv_launch(pool, &counted, cv_sha256_steps, 0);
}

#endif
