"""The C program of a variant: its kernels, and the function that calls them step by step."""

from __future__ import annotations

from ..ir.size import Dim
from ..kernels.blocks import c_dim
from ..kernels.functions import STORED
from .plan import Place, Plan, Step, flops, traffic

SERIAL_CYCLES = 25_000
HEADERS = ("program.h", "mathf.h", "index.h")
HASHED_BYTES = 16 << 20


def program(plans: dict[str, Plan]) -> str:
    """The source of the shared object that runs every entry of a bundle on one kind of machine."""
    first = next(iter(plans.values()))
    headers = (*HEADERS, "vector.h", "sha256.h") if _weights(plans) >= HASHED_BYTES else HEADERS
    includes = dict.fromkeys([*headers, *(h for p in plans.values() for k in p.kernels for h in k.source.includes)])
    sizes = [f"enum {{ {', '.join(f'CV_SIZE_{s.name}' for s in first.sizes)} }};"] if first.sizes else []
    shared = dict.fromkeys(line for p in plans.values() for k in p.kernels for line in k.source.shared)
    kernels = {k.name: k.source.text for p in plans.values() for k in p.kernels}
    parts = [
        "\n".join(f'#include "{h}"' for h in includes),
        *sizes,
        *(["\n".join(shared)] if shared else []),
        *kernels.values(),
        *(_entry(name, p) for name, p in plans.items()),
    ]
    return "\n\n".join(parts)


def _weights(plans: dict[str, Plan]) -> int:
    return sum({n: w.data.nbytes for p in plans.values() for n, w in p.graph.weights().items()}.values())


def _entry(name: str, plan: Plan) -> str:
    constants = [f"    const int64_t size_{s.name} = sizes[CV_SIZE_{s.name}]; (void)size_{s.name};" for s in plan.sizes]
    scratch = (
        f"    uint8_t *scratch = call->arena + {c_dim(plan.activations)} + thread * (int64_t)({c_dim(plan.scratch)});"
    )
    steps = [line for n, s in enumerate(plan.steps) for line in _step(n, s)]
    return "\n".join(
        [
            f"CV_EXPORT int64_t cuvil_arena_{name}(const int64_t *sizes, int32_t threads)",
            "{",
            *constants,
            f"    return {c_dim(plan.activations)} + threads * (int64_t)({c_dim(plan.scratch)});",
            "}",
            "",
            f"static void cv_{name}_steps(const cv_job *job, int32_t thread)",
            "{",
            "    const cuvil_call *call = job->call;",
            "    const int64_t *sizes = call->sizes;",
            "    const int32_t threads = job->threads;",
            "    int32_t *fault = cv_fault(job, thread);",
            *constants,
            scratch,
            *steps,
            "}",
            "",
            f"CV_EXPORT int32_t cuvil_run_{name}(void *pool, const cuvil_call *call)",
            "{",
            "    const int64_t *sizes = call->sizes; (void)sizes;",
            *constants,
            f"    const int64_t cycles = {c_dim(_cycles(plan))};",
            f"    return cv_launch(pool, call, cv_{name}_steps, cycles < {SERIAL_CYCLES});",
            "}",
            "",
        ]
    )


def _cycles(plan: Plan) -> Dim:
    """About how long a call takes on one core; short calls run on the caller alone."""
    total: Dim = 0
    for s in plan.steps:
        total = total + 32 * flops(s.node) + 64 * traffic(s)
    return total // 1024 if total != 0 else 0


def _step(number: int, step: Step) -> list[str]:
    arguments = [*(_pointer(p, True) for p in step.reads), *(_pointer(p, False) for p in step.writes)]
    share = "cv_share(units, thread, threads), cv_share(units, thread + 1, threads)"
    return [
        f"    {{   // {number}: {step.node.where}".rstrip(": "),
        f"        const int64_t units = {c_dim(step.kernel.source.units)};",
        f"        {step.kernel.name}({', '.join(arguments)}, sizes, {share}, scratch, fault);",
        f"        cv_step_end(job, thread, {number});",
        "    }",
    ]


def _pointer(p: Place, read: bool) -> str:
    kind = f"{'const ' if read else ''}{STORED[p.type.dtype]} *"
    match p.kind:
        case "input":
            return f"({kind})call->inputs[{p.offset}]"
        case "output":
            return f"({kind})call->outputs[{p.offset}]"
        case "weight":
            return f"({kind})(call->weights + {p.offset})"
    return f"({kind})(call->arena + {c_dim(p.offset)})"
