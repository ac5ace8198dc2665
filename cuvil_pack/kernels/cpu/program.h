// The skeleton of a generated program: its ABI, its thread pool, its steps.
//
// A program includes this file once. It then defines, per entry,
//
//     static void cv_main_steps(const cv_job *job, int32_t thread) {
//         { k0(..., cv_share(n, thread, job->threads), cv_share(n, thread + 1, job->threads), cv_fault(job, thread)); }
//         cv_step_end(job, thread, 0);
//         ...
//         cv_step_end(job, thread, last);      // the last line: a call is over when every thread has passed it
//     }
//     CV_EXPORT int32_t cuvil_run_main(void *pool, const cuvil_call *call) {
//         return cv_launch(pool, call, cv_main_steps, serial);
//     }
//
// One call at a time on a pool. Every thread runs every step function; `serial` calls run on the caller alone, wake
// nobody and meet no barrier. Workers spin through the gaps between calls, then sleep on a futex. They block all
// asynchronous signals, keep the affinity they inherit, and compute in the default floating-point environment; so does
// the caller during a call, whatever the host has set, and it gets its own environment back.
//
// After fork the child owns no workers: its copy of the pool reads as zeros (MADV_WIPEONFORK), a call runs on the
// calling thread alone, and cuvil_close only unmaps.
//
// Symbols taken from the process: pthread_create, pthread_join, pthread_sigmask, pthread_attr_init,
// pthread_attr_setstacksize, pthread_attr_destroy, clock_gettime. Memory and sleep are raw system calls.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CV_EXPORT __attribute__((visibility("default")))
#define CV_INLINE static inline __attribute__((always_inline))

typedef struct {
    const void *const *inputs;
    void *const *outputs;
    int64_t *sizes;
    const uint8_t *weights;
    uint8_t *arena;
    uint64_t *times;
} cuvil_call;

enum {
    CV_ABI = 1,
    CV_MAX_THREADS = 256,
    CV_STACK_BYTES = 1 << 20,
    CV_IDLE_SPIN_NS = 100000,
    CV_BARRIER_SPINS = 4000,
};

typedef struct cv_pool cv_pool;

typedef struct {
    const cuvil_call *call;
    cv_pool *pool;
    int32_t threads;
} cv_job;

typedef void (*cv_steps)(const cv_job *job, int32_t thread);

// What one thread writes: two cache lines, because the prefetcher pairs them.
typedef struct {
    _Alignas(128) int32_t fault;
    uint64_t stamp;
    uint64_t handle;
    cv_pool *pool;
    int32_t thread;
} cv_slot;

// The job and its call live here, on lines that nobody writes during a call: the caller's stack would share one.
struct cv_pool {
    _Alignas(128) _Atomic uint32_t launches;
    uint32_t spins;
    uint64_t idle_ns;
    int32_t threads;
    int32_t process;
    cv_steps steps;
    cv_job job;
    cuvil_call call;
    _Alignas(128) _Atomic uint32_t sleepers;
    _Alignas(128) _Atomic int32_t fault;
    _Alignas(128) _Atomic uint32_t arrived[CV_MAX_THREADS];
    cv_slot slots[CV_MAX_THREADS];
};

// ---- system calls

#if defined(__x86_64__)

enum { CV_SYS_MMAP = 9, CV_SYS_MUNMAP = 11, CV_SYS_SCHED_YIELD = 24, CV_SYS_MADVISE = 28, CV_SYS_GETPID = 39,
       CV_SYS_FUTEX = 202, CV_SYS_SCHED_GETAFFINITY = 204 };

CV_INLINE long cv_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

CV_INLINE void cv_pause(void) { __asm__ volatile("pause" ::: "memory"); }

typedef uint32_t cv_float_environment;

CV_INLINE cv_float_environment cv_float_environment_get(void)
{
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr)::"memory");
    return mxcsr;
}

CV_INLINE void cv_float_environment_set(cv_float_environment mxcsr)
{
    __asm__ volatile("ldmxcsr %0" ::"m"(mxcsr) : "memory");
}

static const cv_float_environment cv_default_float_environment = 0x1F80;

#elif defined(__aarch64__)

enum { CV_SYS_FUTEX = 98, CV_SYS_SCHED_GETAFFINITY = 123, CV_SYS_SCHED_YIELD = 124, CV_SYS_GETPID = 172,
       CV_SYS_MUNMAP = 215, CV_SYS_MMAP = 222, CV_SYS_MADVISE = 233 };

CV_INLINE long cv_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

CV_INLINE void cv_pause(void) { __asm__ volatile("isb" ::: "memory"); }

typedef struct { uint64_t control, status; } cv_float_environment;

CV_INLINE cv_float_environment cv_float_environment_get(void)
{
    cv_float_environment now;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(now.control), "=r"(now.status)::"memory");
    return now;
}

CV_INLINE void cv_float_environment_set(cv_float_environment to)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(to.control), "r"(to.status) : "memory");
}

static const cv_float_environment cv_default_float_environment = {0, 0};

#else
#error "program.h knows x86_64 and aarch64 Linux"
#endif

CV_INLINE void cv_yield(void) { cv_syscall(CV_SYS_SCHED_YIELD, 0, 0, 0, 0, 0, 0); }

CV_INLINE void cv_futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    cv_syscall(CV_SYS_FUTEX, (long)word, 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */, seen, 0, 0, 0);
}

CV_INLINE void cv_futex_wake_all(_Atomic uint32_t *word)
{
    cv_syscall(CV_SYS_FUTEX, (long)word, 129 /* FUTEX_WAKE | FUTEX_PRIVATE_FLAG */, INT32_MAX, 0, 0, 0);
}

// ---- the process

typedef struct { int64_t seconds, nanoseconds; } cv_timespec;
typedef struct { uint64_t words[16]; } cv_signal_set;        // sigset_t of glibc and musl: 128 bytes
typedef struct { uint64_t words[16]; } cv_thread_attributes; // pthread_attr_t: at most 64 bytes

int cv_clock_gettime(int clock, cv_timespec *now) __asm__("clock_gettime");
int cv_pthread_create(uint64_t *handle, const cv_thread_attributes *attributes, void *(*start)(void *), void *argument)
    __asm__("pthread_create");
int cv_pthread_join(uint64_t handle, void **result) __asm__("pthread_join");
int cv_pthread_sigmask(int how, const cv_signal_set *set, cv_signal_set *old) __asm__("pthread_sigmask");
int cv_pthread_attr_init(cv_thread_attributes *attributes) __asm__("pthread_attr_init");
int cv_pthread_attr_setstacksize(cv_thread_attributes *attributes, size_t bytes) __asm__("pthread_attr_setstacksize");
int cv_pthread_attr_destroy(cv_thread_attributes *attributes) __asm__("pthread_attr_destroy");

CV_INLINE uint64_t cv_now_ns(void)
{
    cv_timespec now;
    cv_clock_gettime(1 /* CLOCK_MONOTONIC */, &now);
    return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

// ---- inside a step

// First of the `units` that `thread` of `threads` computes; the next thread's first is where it ends.
CV_INLINE int64_t cv_share(int64_t units, int32_t thread, int32_t threads) { return units * thread / threads; }

// Where a kernel of this thread writes 1 when the step's data is not what it must be (an index out of range).
CV_INLINE int32_t *cv_fault(const cv_job *job, int32_t thread) { return &job->pool->slots[thread].fault; }

static __attribute__((noinline)) void cv_await(cv_pool *pool, const _Atomic uint32_t *arrived, uint32_t target)
{
    for (uint32_t spins = 0; (int32_t)(atomic_load_explicit(arrived, memory_order_acquire) - target) < 0; ++spins) {
        cv_pause();
        if (spins >= pool->spins && spins % 16 == 0) cv_yield();
    }
}

// Each flag has one writer and only grows (modulo 2^32). Sixteen flags share a cache line: one transfer both claims the
// line to write and shows the others (two threads: 100 ns, against 220 with a line each).
CV_INLINE void cv_barrier(cv_pool *pool, int32_t thread, int32_t threads)
{
    if (threads == 1) return;
    uint32_t target = atomic_load_explicit(&pool->arrived[thread], memory_order_relaxed) + 1;
    atomic_store_explicit(&pool->arrived[thread], target, memory_order_release);
    for (int32_t other = 0; other < threads; ++other) cv_await(pool, &pool->arrived[other], target);
}

static __attribute__((noinline, cold)) void cv_record_fault(cv_pool *pool, int32_t thread, int32_t step)
{
    pool->slots[thread].fault = 0;
    int32_t first = atomic_load_explicit(&pool->fault, memory_order_relaxed);
    while ((first == 0 || step + 1 < first) && !atomic_compare_exchange_weak(&pool->fault, &first, step + 1)) {
    }
}

static __attribute__((noinline, cold)) void cv_record_time(cv_pool *pool, uint64_t *times, int32_t step)
{
    uint64_t now = cv_now_ns();
    times[step] = now - pool->slots[0].stamp;
    pool->slots[0].stamp = now;
}

// Ends a step whose results this thread alone reads in the next one.
CV_INLINE void cv_step_pass(const cv_job *job, int32_t thread, int32_t step)
{
    if (__builtin_expect(job->pool->slots[thread].fault != 0, 0)) cv_record_fault(job->pool, thread, step);
    if (thread == 0 && __builtin_expect(job->call->times != NULL, 0)) cv_record_time(job->pool, job->call->times, step);
}

// Ends a step: every thread's results are visible to every thread. After the last one the job may be the next call's.
CV_INLINE void cv_step_end(const cv_job *job, int32_t thread, int32_t step)
{
    if (__builtin_expect(job->pool->slots[thread].fault != 0, 0)) cv_record_fault(job->pool, thread, step);
    cv_barrier(job->pool, thread, job->threads);
    if (thread == 0 && __builtin_expect(job->call->times != NULL, 0)) cv_record_time(job->pool, job->call->times, step);
}

// ---- a call

static uint32_t cv_await_launch(cv_pool *pool, uint32_t seen)
{
    uint64_t deadline = 0;
    for (uint32_t spins = 1;; ++spins) {
        uint32_t launches = atomic_load_explicit(&pool->launches, memory_order_acquire);
        if (launches != seen) return launches;
        cv_pause();
        if (spins % 64 != 0) continue;
        uint64_t now = cv_now_ns();
        if (deadline == 0) deadline = now + pool->idle_ns;
        if (now < deadline) continue;
        atomic_fetch_add(&pool->sleepers, 1);
        cv_futex_wait(&pool->launches, seen);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
}

static void cv_announce(cv_pool *pool, cv_steps steps)
{
    pool->steps = steps;
    atomic_fetch_add(&pool->launches, 1);
    if (atomic_load(&pool->sleepers) != 0) cv_futex_wake_all(&pool->launches);
}

static void *cv_work(void *argument)
{
    const cv_slot *slot = argument;
    cv_pool *pool = slot->pool;
    cv_float_environment_set(cv_default_float_environment);
    for (uint32_t seen = 0;;) {
        seen = cv_await_launch(pool, seen);
        cv_steps steps = pool->steps;
        if (steps == NULL) return NULL;
        steps(&pool->job, slot->thread);
    }
}

// Runs `steps` on every thread of the pool, or on the caller alone when the call is `serial`.
// Returns 0, or 1 + the smallest index of the steps in which a kernel reported a fault.
CV_INLINE int32_t cv_launch(void *handle, const cuvil_call *call, cv_steps steps, int serial)
{
    cv_pool *pool = handle;
    int32_t threads = serial || pool->threads == 0 ? 1 : pool->threads;
    pool->call = *call;
    pool->job = (cv_job){&pool->call, pool, threads};
    cv_float_environment host = cv_float_environment_get();
    cv_float_environment_set(cv_default_float_environment);
    if (__builtin_expect(call->times != NULL, 0)) pool->slots[0].stamp = cv_now_ns();
    if (threads > 1) cv_announce(pool, steps);
    steps(&pool->job, 0);
    cv_float_environment_set(host);
    int32_t fault = atomic_load_explicit(&pool->fault, memory_order_relaxed);
    if (__builtin_expect(fault != 0, 0)) atomic_store_explicit(&pool->fault, 0, memory_order_relaxed);
    return fault;
}

// ---- the life of a pool

static int32_t cv_usable_cpus(void)
{
    uint64_t mask[128];
    long bytes = cv_syscall(CV_SYS_SCHED_GETAFFINITY, 0, sizeof mask, (long)mask, 0, 0, 0);
    int32_t cpus = 0;
    for (long word = 0; word < bytes / 8; ++word) cpus += __builtin_popcountll(mask[word]);
    return cpus;
}

static int cv_start_worker(cv_slot *slot)
{
    cv_thread_attributes attributes;
    if (cv_pthread_attr_init(&attributes) != 0) return 0;
    int started = cv_pthread_attr_setstacksize(&attributes, CV_STACK_BYTES) == 0 &&
                  cv_pthread_create(&slot->handle, &attributes, cv_work, slot) == 0;
    cv_pthread_attr_destroy(&attributes);
    return started;
}

// Every signal but SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV, whose handlers report a crash.
static cv_signal_set cv_asynchronous_signals(void)
{
    cv_signal_set set;
    for (int word = 0; word < 16; ++word) set.words[word] = ~(uint64_t)0;
    set.words[0] &= ~((uint64_t)1 << 3 | (uint64_t)1 << 4 | (uint64_t)1 << 6 | (uint64_t)1 << 7 | (uint64_t)1 << 10);
    return set;
}

static int32_t cv_start_workers(cv_pool *pool, int32_t threads)
{
    cv_signal_set asynchronous = cv_asynchronous_signals(), host;
    if (cv_pthread_sigmask(0 /* SIG_BLOCK */, &asynchronous, &host) != 0) return 1;
    int32_t started = 1;
    for (; started < threads; ++started) {
        pool->slots[started].pool = pool;
        pool->slots[started].thread = started;
        if (!cv_start_worker(&pool->slots[started])) break;
    }
    cv_pthread_sigmask(2 /* SIG_SETMASK */, &host, NULL);
    return started;
}

CV_EXPORT uint32_t cuvil_abi(void) { return CV_ABI; }

static void cv_stop(cv_pool *pool)
{
    if (pool->threads > 1 && pool->process == (int32_t)cv_syscall(CV_SYS_GETPID, 0, 0, 0, 0, 0, 0)) {
        cv_announce(pool, NULL);
        for (int32_t thread = 1; thread < pool->threads; ++thread) cv_pthread_join(pool->slots[thread].handle, NULL);
    }
    cv_syscall(CV_SYS_MUNMAP, (long)pool, sizeof(cv_pool), 0, 0, 0, 0);
}

CV_EXPORT void cuvil_close(void *pool)
{
    if (pool != NULL) cv_stop(pool);
}

// A pool of `threads` threads, the caller among them; NULL when it cannot be made.
CV_EXPORT void *cuvil_open(int32_t threads)
{
    if (threads < 1 || threads > CV_MAX_THREADS) return NULL;
    const long read_write = 3, private_anonymous = 0x22;
    long memory = cv_syscall(CV_SYS_MMAP, 0, sizeof(cv_pool), read_write, private_anonymous, -1, 0);
    if (memory < 0 && memory > -4096) return NULL;
    cv_pool *pool = (cv_pool *)memory;
    cv_syscall(CV_SYS_MADVISE, memory, sizeof(cv_pool), 18 /* WIPEONFORK */, 0, 0, 0);
    int crowded = threads > cv_usable_cpus();
    pool->spins = crowded ? 0 : CV_BARRIER_SPINS;
    pool->idle_ns = crowded ? 0 : CV_IDLE_SPIN_NS;
    pool->process = (int32_t)cv_syscall(CV_SYS_GETPID, 0, 0, 0, 0, 0, 0);
    pool->threads = cv_start_workers(pool, threads);
    if (pool->threads == threads) return pool;
    cv_stop(pool);
    return NULL;
}
