"""Tests against mutants: one warm process that has collected the tests, and a forked child for each test or mutant.

`Recorder` runs every test alone in a child and keeps which lines of the modules it reached, and how long it took.
`Killer` runs the tests that reach a mutant's line in a child that has the mutant, until one fails.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutant_loading import clear_caches

PATIENCE = 12
"""How many times longer than its seconds of a processor a test may take: the machine does other work too."""

MEMORY = 6 << 30
"""Bytes that a child may use: a mutant that asks for more fails."""


class Child:
    """What became of a forked child: its exit code, the seconds of a processor that it used, and what it sent."""

    def __init__(self, work: Callable[[Callable[[bytes], None]], int], most: float) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                os.close(reading)
                os.setpgid(0, 0)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                code = work(lambda data: _send(writing, data))
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            self.sent, self.late = _read(pipe.fileno(), time.monotonic() + most)
        if self.late:
            os.kill(self.pid, signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.late |= -self.code in (signal.SIGALRM, signal.SIGPROF)
        self.seconds = round(used.ru_utime + used.ru_stime, 4)
        try:  # what the child started and left behind
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _send(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _read(pipe: int, until: float) -> tuple[bytes, bool]:
    """All that is sent until the other end is closed, and whether that took too long."""
    data = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return data, True
        got = os.read(pipe, 1 << 16)
        if not got:
            return data, False
        data += got


class _Failures:
    """Counts the reports of failed tests in this process."""

    def __init__(self) -> None:
        self.count = self.passed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.count += report.failed
        self.passed += report.passed and report.when == "call"


def settle_hypothesis(items: Iterable[Any]) -> None:
    """The same examples for every mutant, not kept, not shrunk: whether a test fails is all that is asked."""
    from hypothesis import Phase, settings

    for item in items:
        held = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
        if held is not None:
            function = getattr(item.obj, "__func__", item.obj)
            function._hypothesis_internal_use_settings = settings(
                held, database=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
            )


def refuse_pools() -> None:
    """Refuse test files that start Polars when they are collected: its threads are not in a child, which would wait."""
    tasks = Path("/proc/self/task")
    names = [(each / "comm").read_text() for each in tasks.iterdir()] if tasks.exists() else []
    assert not any(name.startswith(("polars-0", "tokio")) for name in names), "a test file starts Polars"


def run_one(item: Any, failures: _Failures, most: float) -> bool:
    """Whether one test fails; the process ends by an alarm if it takes too long."""
    before = failures.count
    allow(most)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    allow(0)
    return failures.count > before


def allow(most: float) -> None:
    """End this process by an alarm when it has used a processor for so long, or waited many times as long."""
    signal.setitimer(signal.ITIMER_PROF, most)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * most)


class _Plugin:
    """A run of pytest that collects, and then does something else with the tests."""

    def __init__(self) -> None:
        self.failures = _Failures()

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self.failures)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert not session.testsfailed, "the tests cannot be collected"
        refuse_pools()
        settle_hypothesis(session.items)
        clear_caches()
        gc.collect()
        gc.freeze()  # so that children share the memory
        self.work(session.items)
        return True

    def work(self, items: list[Any]) -> None:
        raise NotImplementedError


class Recorder(_Plugin):
    """Which lines each test reaches, one JSON object for each test; tests recorded already are passed over."""

    def __init__(self, file: Path, probes: bytearray, most: float, share: slice) -> None:
        super().__init__()
        self.file, self.probes, self.most, self.share = file, probes, most, share

    def work(self, items: list[Any]) -> None:
        done = {each["test"] for each in read_lines(self.file)}
        with self.file.open("a", encoding="utf-8") as file:
            for item in items[self.share]:
                if item.nodeid not in done:
                    file.write(json.dumps(self.record(item), ensure_ascii=False) + "\n")
                    file.flush()

    def record(self, item: Any) -> dict[str, Any]:
        def work(send: Callable[[bytes], None]) -> int:
            self.probes[:] = bytes(len(self.probes))
            failed = run_one(item, self.failures, self.most)
            send(bytes(self.probes))
            return 1 if failed else 0 if self.failures.passed else 2

        child = Child(work, PATIENCE * self.most + 10)
        reached = "" if child.code else _bits(child.sent)
        return {"test": item.nodeid, "code": child.code, "seconds": child.seconds, "reached": reached}


def _bits(marks: bytes) -> str:
    """Ones and zeros, eight to a byte, in hexadecimal digits."""
    return f"{int(marks[::-1].translate(bytes([48, 49]) + bytes(254)) or b'0', 2):x}" if any(marks) else "0"


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


class Killer(_Plugin):
    """The fate of each mutant that is put in place by `plant`: killed by which test, or survived how many.

    `jobs` yields a mutant's key, what puts it in place, and the tests to run with their usual seconds.
    """

    def __init__(self, jobs: Iterator[tuple[str, Callable[[], None], list[tuple[str, float]]]], tell: Any) -> None:
        super().__init__()
        self.jobs, self.tell = jobs, tell

    def work(self, items: list[Any]) -> None:
        named = {item.nodeid: item for item in items}
        for key, plant, tests in self.jobs:
            self.tell(
                key, judge(plant, [(named[name], usual) for name, usual in tests if name in named], self.failures)
            )


def judge(plant: Callable[[], None], tests: list[tuple[Any, float]], failures: _Failures) -> dict[str, Any]:
    """Run the tests in a child that has the mutant, until one fails."""

    def work(send: Callable[[bytes], None]) -> int:
        plant()
        for i, (item, usual) in enumerate(tests):
            send(b"%d\n" % i)
            if run_one(item, failures, limit(usual)):
                return 1
        return 0

    child = Child(work, PATIENCE * sum(limit(usual) for _, usual in tests) + 30)
    started = child.sent.split()
    last = tests[int(started[-1])][0].nodeid if started else "import"
    return {"fate": fate(child), "by": last if child.code else "", "tests": len(started), "seconds": child.seconds}


class Chosen:
    """Runs only the tests named, in their order, each with a limit, in a process that imports the library anew."""

    def __init__(self, tests: list[tuple[str, float]], send: Callable[[bytes], None]) -> None:
        self.tests, self.send = dict(tests), send

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        named = {item.nodeid: item for item in items}
        items[:] = [named[name] for name in self.tests if name in named]
        settle_hypothesis(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.send(nodeid.encode() + b"\n")
        allow(limit(self.tests[nodeid]))


def judge_afresh(install: Callable[[], None], tests: list[tuple[str, float]], options: list[str]) -> dict[str, Any]:
    """Run the tests in a child that imports the library with the mutant in it, until one fails."""

    def work(send: Callable[[bytes], None]) -> int:
        allow(60)  # to import and to collect
        install()
        files = list(dict.fromkeys(name.split("::")[0] for name, _ in tests))
        return int(pytest.main([*files, "-x", *options], plugins=[Chosen(tests, send)]))

    child = Child(work, PATIENCE * (sum(limit(usual) for _, usual in tests) + 60))
    started = child.sent.decode().splitlines()
    last = started[-1] if started else "import"
    return {"fate": fate(child), "by": last if child.code else "", "tests": len(started), "seconds": child.seconds}


def limit(usual: float) -> float:
    """Seconds of a processor that a test may use before the mutant counts as one that hangs."""
    return 2 + 10 * usual


def fate(child: Child) -> str:
    if child.late:
        return "timed out"
    return "killed" if child.code else "survived"
