/* What this machine can do at most: fp32 multiply-adds, and bytes read from each level of memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES (BYTES / 4)
#define CHAINS 12
#define ROUNDS 8

typedef float vector __attribute__((vector_size(BYTES)));

typedef struct {
    pthread_barrier_t *gate;
    const vector *memory; /* NULL: multiply-adds */
    int64_t vectors, repeats;
    double seconds[ROUNDS];
    float sink;
} worker;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float total(vector v)
{
    float sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += v[i];
    return sum;
}

static float multiply_add(int64_t repeats, float factor, float term)
{
    vector sums[CHAINS], x = factor - (vector){0}, y = term - (vector){0};
    for (int c = 0; c < CHAINS; c++)
        sums[c] = (float)c - (vector){0};
    for (int64_t i = 0; i < repeats; i++)
#pragma clang loop unroll(full)
        for (int c = 0; c < CHAINS; c++)
            sums[c] = sums[c] * x + y;
    vector all = sums[0];
    for (int c = 1; c < CHAINS; c++)
        all += sums[c];
    return total(all);
}

static float read_all(const vector *memory, int64_t vectors, int64_t repeats)
{
    vector sums[8] = {0};
    for (int64_t r = 0; r < repeats; r++) {
        for (int64_t i = 0; i + 8 <= vectors; i += 8)
#pragma clang loop unroll(full)
            for (int c = 0; c < 8; c++)
                sums[c] += memory[i + c];
        __asm__ volatile("" ::: "memory");
    }
    vector all = sums[0];
    for (int c = 1; c < 8; c++)
        all += sums[c];
    return total(all);
}

static void *work(void *argument)
{
    worker *w = argument;
    volatile float factor = 0.999f, term = 1e-3f;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(w->gate);
        double start = now();
        w->sink += w->memory ? read_all(w->memory, w->vectors, w->repeats) : multiply_add(w->repeats, factor, term);
        pthread_barrier_wait(w->gate);
        w->seconds[round] = now() - start;
    }
    return NULL;
}

/* Seconds of the fastest round, all threads together. */
static double fastest(int threads, const char *memory, int64_t bytes_each, int64_t repeats)
{
    pthread_barrier_t gate;
    pthread_t handles[threads];
    worker *workers = calloc((size_t)threads, sizeof(worker));
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        const vector *part = memory ? (const vector *)(memory + t * bytes_each) : NULL;
        workers[t] = (worker){.gate = &gate, .memory = part, .vectors = bytes_each / BYTES, .repeats = repeats};
        pthread_create(&handles[t], NULL, work, &workers[t]);
    }
    for (int t = 0; t < threads; t++)
        pthread_join(handles[t], NULL);
    double least = workers[0].seconds[0];
    for (int round = 1; round < ROUNDS; round++)
        least = workers[0].seconds[round] < least ? workers[0].seconds[round] : least;
    volatile float kept = workers[0].sink;
    (void)kept;
    free(workers);
    return least;
}

static double read_gbs(int threads, const char *memory, int64_t bytes_each, int64_t bytes_moved)
{
    int64_t repeats = bytes_moved / bytes_each > 0 ? bytes_moved / bytes_each : 1;
    return 1e-9 * (double)(threads * bytes_each * repeats) / fastest(threads, memory, bytes_each, repeats);
}

int main(int count, char **words)
{
    if (count != 5)
        return fprintf(stderr, "usage: ceilings THREADS L1_BYTES L2_BYTES DRAM_BYTES\n"), 2;
    int threads = atoi(words[1]);
    int64_t l1 = atoll(words[2]), l2 = atoll(words[3]), dram = atoll(words[4]) / threads / 4096 * 4096;
    size_t size = (size_t)(threads * (dram > l2 ? dram : l2));
    char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    for (size_t i = 0; i < size; i += 4)
        *(float *)(memory + i) = 1e-6f;
    int64_t repeats = 4000000;
    double flops = 2.0 * LANES * CHAINS * (double)repeats * threads / fastest(threads, NULL, 0, repeats);
    printf("{\"fma_gflops\": %.1f, \"l1_gbs\": %.1f, \"l2_gbs\": %.1f, \"dram_gbs\": %.2f}\n", 1e-9 * flops,
           read_gbs(threads, memory, l1, 1 << 30), read_gbs(threads, memory, l2, 1 << 29),
           read_gbs(threads, memory, dram, dram));
    return 0;
}
