"""Which variant of a bundle runs here and why: the answer before anybody has to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cuvil_schema.bundle import Bundle

from cuvil_runtime.cpu import Cpu, lack, missing, read_cpu
from cuvil_runtime.threads import allowed, quota, resolve

if TYPE_CHECKING:
    from os import PathLike


class Fit(NamedTuple):
    """A variant beside this machine: `missing` is empty when it may run, `reason` then is too."""

    variant: str
    arch: str
    needs: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str


class Explanation(NamedTuple):
    """`fits` stand best first; `chosen` is the first that may run, None when none may."""

    bundle: str
    cpu: Cpu
    processors: int
    paid: float | None
    threads: int
    fits: tuple[Fit, ...]
    chosen: str | None

    @property
    def good(self) -> bool:
        return self.chosen is not None

    def data(self) -> dict[str, object]:
        """The same for `--json`."""
        features = {"features": sorted(self.cpu.features), "hidden": sorted(self.cpu.hidden)}
        variants = [fit._asdict() for fit in self.fits]
        return self._asdict() | {"cpu": self.cpu._asdict() | features, "fits": variants}

    def __str__(self) -> str:
        paid = "" if self.paid is None else f", cgroups pay for {self.paid:g}"
        lines = [
            f"machine    {self.cpu.arch}, {self.cpu.model}",
            f"threads    {self.threads} ({self.processors} processors allowed{paid})",
        ]
        if self.cpu.hidden:
            lines.append(f"hidden     {' '.join(sorted(self.cpu.hidden))} (CUVIL_CPU_DISABLE)")
        for fit in self.fits:
            verdict = "runs here" if not fit.missing else f"lacks {' '.join(fit.missing)}"
            chosen = ", chosen: the best that runs here" if fit.variant == self.chosen else ""
            lines += [f"variant    {fit.variant}: {verdict}{chosen}", f"    needs  {' '.join(fit.needs) or 'nothing'}"]
        if self.chosen is None:
            lines.append(f"nothing in {self.bundle} runs on this machine")
        return "\n".join(lines)


def explain(path: str | PathLike[str]) -> Explanation:
    """Reads the manifest only; a BundleError when there is none."""
    cpu = read_cpu()
    with Bundle(path) as bundle:
        fits = tuple(
            Fit(variant.name, variant.arch, variant.features, missing(variant, cpu), lack(variant, cpu))
            for variant in bundle.manifest.variants
        )
        chosen = next((fit.variant for fit in fits if not fit.missing), None)
        return Explanation(bundle.name, cpu, allowed(), quota(), resolve(None), fits, chosen)
