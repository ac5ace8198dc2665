/* Two entries by hand, in the ABI of a code section: enough to see what a runtime passes and keeps. */
#include <stdint.h>

typedef struct {
    const void *const *inputs;
    void *const *outputs;
    int64_t *sizes;
    const uint8_t *weights;
    uint8_t *arena;
    uint64_t *times;
} cuvil_call;

static int64_t pools[4096];
static int64_t opened;

uint32_t cuvil_abi(void) { return TOY_ABI; }

void *cuvil_open(int32_t threads) {
    if (TOY_TRAPS)
        __builtin_trap();
    if (threads > 512 || opened == 4096)
        return 0;
    pools[opened] = opened + 1;
    return &pools[opened++];
}

void cuvil_close(void *pool) { *(int64_t *)pool = 0; }

/* main(x: f32[batch, 3], ids: i64[batch], tail: u8[2*batch + 1])
   -> sum: f32[batch, 3] = x + bias + ids, ramp: f32[2*batch + 1] = tail, pool: i64[] = serial number of the pool */
int64_t cuvil_arena_main(const int64_t *sizes, int32_t threads) { return 12 * sizes[0] + 64 * threads; }

int32_t cuvil_run_main(void *pool, const cuvil_call *call) {
    const float *x = call->inputs[0], *bias = (const float *)call->weights;
    const int64_t *ids = call->inputs[1], batch = call->sizes[0];
    const uint8_t *tail = call->inputs[2];
    float *sum = call->outputs[0], *ramp = call->outputs[1];
    volatile float *staged = (volatile float *)call->arena;
    if (call->times)
        call->times[0] = 7, call->times[1] = 11;
    for (int64_t row = 0; row < batch; row++)
        if (ids[row] < 0 || ids[row] > 9)
            return 1;
    for (int64_t at = 0; at < 3 * batch; at++)
        staged[at] = x[at] + bias[at % 3];
    for (int64_t at = 0; at < 3 * batch; at++)
        sum[at] = staged[at] + (float)ids[at / 3];
    for (int64_t at = 0; at < 2 * batch + 1; at++)
        ramp[at] = tail[at];
    *(int64_t *)call->outputs[2] = *(int64_t *)pool;
    return 0;
}

/* add(x: f32[n]) -> y: f32[n] = x + bias[0] */
int64_t cuvil_arena_add(const int64_t *sizes, int32_t threads) { return 0; }

int32_t cuvil_run_add(void *pool, const cuvil_call *call) {
    const float *x = call->inputs[0], *bias = (const float *)call->weights;
    float *y = call->outputs[0];
    for (int64_t at = 0; at < call->sizes[1]; at++)
        y[at] = x[at] + bias[0];
    return 0;
}
