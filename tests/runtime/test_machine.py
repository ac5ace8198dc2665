"""Which variant runs, on how many threads, and what is said about it."""

import re
from pathlib import Path

import cuvil_runtime
import pytest
from cuvil_runtime import Incompatible, SessionError
from cuvil_runtime.cpu import Cpu, choose, lack, missing, read_cpu
from cuvil_runtime.threads import allowed, quota, resolve
from cuvil_schema import Variant

from tests.runtime import toy as hand

GOLDEN_CPUINFO = "processor : 0\nmodel name : Abacus 2\nflags : sse4_2 avx2 fma\n\nprocessor : 1\nflags : sse4_2\n"


@pytest.fixture
def cpu() -> Cpu:
    return Cpu(hand.ARCH, "Abacus 2", frozenset({"avx2", "fma"}), frozenset({"avx512f"}))


def test_the_first_processor_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "cpuinfo"
    listed.write_text(GOLDEN_CPUINFO)
    monkeypatch.setenv("CUVIL_CPU_DISABLE", "AVX2, amx_tile")
    cpu = read_cpu(str(listed))
    assert (cpu.model, cpu.features, cpu.hidden) == ("Abacus 2", {"sse4_2", "fma"}, {"avx2"})


def test_a_machine_without_a_list_has_no_features(tmp_path: Path) -> None:
    assert read_cpu(str(tmp_path / "absent")).features == frozenset()


def test_features_of_this_machine() -> None:
    listed = set(Path("/proc/cpuinfo").read_text().split())
    assert read_cpu().features <= listed and len(read_cpu().features) > 5


def test_what_is_missing(cpu: Cpu) -> None:
    assert missing(hand.variant("v", "avx2", "fma"), cpu) == ()
    other = hand.variant("v4", "avx2", "avx512f", "avx512bw")
    assert missing(other, cpu) == ("avx512f", "avx512bw")
    assert lack(hand.variant("v4", "avx512bw"), cpu) == (
        "variant v4 needs avx512bw, which this cpu (Abacus 2) does not have"
    )
    assert lack(other, cpu) == "variant v4 needs avx512f, avx512bw; CUVIL_CPU_DISABLE hides avx512f"
    foreign = "aarch64" if hand.ARCH == "x86-64" else "x86-64"
    assert lack(Variant("f", foreign, (), "code/f", "plan/f"), cpu) == (
        f"variant f is for {foreign}, this machine is {hand.ARCH}"
    )


def test_the_first_that_runs_is_chosen(cpu: Cpu) -> None:
    manifest = hand.TOY
    assert choose(manifest, cpu, None).name == "plain"
    with pytest.raises(Incompatible, match="has no variant 'best'; it has imaginary, plain"):
        choose(manifest, cpu, "best")


def test_a_variant_that_the_cpu_lacks_is_never_opened(toy_file: Path) -> None:
    sentence = r"toy\.cuvil: variant imaginary needs imaginary_isa, imaginary_fma, which this cpu \(.*\) does not have"
    with pytest.raises(Incompatible, match=sentence):
        cuvil_runtime.load(toy_file, variant="imaginary")


def test_hidden_features_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feature = min(read_cpu().features)
    parts = hand.add()
    parts.manifest = parts.manifest._replace(variants=(hand.variant("plain", feature),))
    file = parts.write(tmp_path / "add.cuvil")
    with cuvil_runtime.load(file) as session:
        assert session.variant == "plain"
    monkeypatch.setenv("CUVIL_CPU_DISABLE", feature)
    for name in (None, "plain"):
        sentence = f"add.cuvil: variant plain needs {feature}; CUVIL_CPU_DISABLE hides {feature}"
        with pytest.raises(Incompatible, match=re.escape(sentence)):
            cuvil_runtime.load(file, variant=name)
    assert cuvil_runtime.verify(file).skipped == {"plain": sentence.removeprefix("add.cuvil: ")}
    assert cuvil_runtime.explain(file).chosen is None
    assert "nothing in add.cuvil runs on this machine" in str(cuvil_runtime.explain(file))


def test_explain(toy_file: Path) -> None:
    explanation = cuvil_runtime.explain(toy_file)
    lines = str(explanation).splitlines()
    assert "variant    imaginary: lacks imaginary_isa imaginary_fma" in lines
    assert "variant    plain: runs here, chosen: the best that runs here" in lines
    assert lines[0].startswith(f"machine    {hand.ARCH}, ")
    assert explanation.data()["chosen"] == "plain"


@pytest.mark.parametrize(
    ("asked", "told", "sentence"),
    [
        (0, "", "threads is 0: a session has 1..1024 threads"),
        (2000, "", "threads is 2000: a session has 1..1024 threads"),
        ("two", "", "threads is 'two': a session has 1..1024 threads"),
        (None, "many", "CUVIL_THREADS is 'many', not a number of threads"),
        (None, "0", "CUVIL_THREADS is 0: a session has 1..1024 threads"),
    ],
)
def test_threads_are_refused(asked: int | None, told: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUVIL_THREADS", told)
    with pytest.raises(SessionError, match=re.escape(sentence)):
        resolve(asked)


def test_threads(monkeypatch: pytest.MonkeyPatch, toy_file: Path) -> None:
    monkeypatch.setenv("CUVIL_THREADS", "3")
    assert resolve(None) == 3 and resolve(2) == 2
    with cuvil_runtime.load(toy_file) as session:
        assert session.threads == 3
    monkeypatch.delenv("CUVIL_THREADS")
    assert resolve(None) == allowed() >= 1


@pytest.mark.parametrize(
    ("listed", "files", "paid"),
    [
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3.0),
        ("0::/a/b\n", {"unified/a/b/cpu.max": "50000 100000"}, 0.5),
        ("0::/of/the/host\n", {"cpu.max": "200000 100000"}, 2.0),
        (
            "4:cpu,cpuacct:/a\n0::/\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1", "cpu,cpuacct/a/cpu.cfs_period_us": "9"},
            None,
        ),
        ("4:cpu,cpuacct:/a\n", {"cpu,cpuacct/a/cpu.cfs_quota_us": "25", "cpu,cpuacct/a/cpu.cfs_period_us": "10"}, 2.5),
        ("4:cpuset:/a\n", {"cpu/a/cpu.cfs_quota_us": "25", "cpu/a/cpu.cfs_period_us": "10"}, None),
        ("0::/\n", {"cpu.max": "garbage"}, None),
        ("0::/\n", {}, None),
    ],
)
def test_cgroups(listed: str, files: dict[str, str], paid: float | None, tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text(listed)
    for name, content in files.items():
        (tmp_path / "mounted" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mounted" / name).write_text(content)
    assert quota(str(tmp_path / "cgroup"), str(tmp_path / "mounted")) == paid
