"""Run Python that a model wrote: in a process of its own, without network, files or other processes, and within limits.

A process starts `confined.py`, which shuts itself in and then *tries* what it should not be able to do: reach a network,
open a file, start a process, signal its parent. What succeeds is open, and unless the caller accepts it by name, nothing is
run. So a guard is not claimed for a platform, it is seen to hold; but a try is one of many ways, it finds a guard that is
missing and does not prove one that is there. What is guaranteed, and by what:

    Linux on x86-64 or ARM64    a seccomp filter lets some three dozen system calls pass (memory, clocks, the two pipes that
                                are open, the end) and refuses all others: no socket of any family, no file of any name,
                                no process or thread, no signal to anyone. It needs no privilege and works in containers.
                                Where the kernel permits it, empty network and IPC namespaces stand behind it. Memory is
                                bounded by the kernel (RLIMIT_AS), processor time as well (RLIMIT_CPU). Run on x86-64;
                                ARM64's list of calls is tested as a program, not yet on such a machine.
    Linux on other machines     at most the namespaces; files and sockets in files stay open: refused, unless accepted.
    macOS                       Apple's sandbox profile "pure-computation", called through an interface that Apple calls
                                deprecated, and RLIMIT_NPROC; both as far as the tries find them to hold. The kernel does
                                not bound memory there: the process is looked at every fifth of a second and ended when it
                                is beyond, so for a moment it may have more. Written by the manual, not yet run on a Mac.
    Windows                     refused: it has none of these limits.

Everywhere the parent bounds wall time and what comes out, takes nothing from the process but lines of JSON that it checks,
and gives it an environment without keys, an empty folder and no file handle but the pipes. Not guarded against: a fault of
the kernel itself, and what can be learnt from timing. The model's code may spoil its own results, and it may send anything
it was given to the model through a query; there is nothing else that it has been given.

Taught in notebook 32_long_reason.
"""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from mindscape.errors import MindscapeError, require
from mindscape.mindgraph.confined import KEPT

DOORS = ("network", "files", "processes", "signals")  # what a process is tried for, and may be accepted to have open
STARTING = 60.0  # seconds that a process may take to start and to read the text, on a busy machine
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
FRAME = 1 << 20  # bytes of a message without its texts
LOOK = 0.2  # seconds between two looks at the memory, where the kernel does not bound it
ENDING = 2.0  # seconds that a process may take to end, after its pipe has closed
BLOCK = 1 << 16
FORGED = "it wrote to its pipe by itself"
OWN = Path(__file__).with_name("confined.py")


@dataclass(frozen=True)
class Limits:
    """What code may take: `seconds` of wall time a run, the time of its queries left out; `cpu_seconds` over all runs of
    a process; `memory` in bytes, beside the interpreter's own; `output` in bytes, what a run prints and asks together;
    `queries` are a run's.

    Raises InputError for a limit that is not above 0.

    >>> Limits(seconds=5).cpu_seconds
    60
    """

    seconds: float = 20.0
    cpu_seconds: int = 60
    memory: int = 512 << 20
    output: int = 32 << 20
    queries: int = 1000

    def __post_init__(self):
        for name, value in asdict(self).items():
            require(value > 0, f"Limits({name}={value!r}): expected more than 0")


@dataclass(frozen=True)
class Ran:
    """What became of a piece of code.

    `output` is the beginning of what it printed, at most 100,000 characters; `length` how many there were. `error` names the
    line and the exception that ended it. `stopped` says which limit the process was ended for, or how it ended by itself: its
    variables are then gone, and the next run begins with fresh ones. `final` is what the code gave to `FINAL`.
    """

    output: str
    length: int = 0
    error: str = ""
    stopped: str = ""
    final: str | None = None


class _Stopped(Exception):
    """The process was ended, or ended."""


class Sandbox:
    """A Python prompt over a text, for code that is not to be trusted: variables last from one run to the next.

    The code finds the text in `context`, and has `llm_query(prompt)`, `llm_query_batched(prompts)` and `FINAL(answer)`.
    The standard library's pure modules are there (re, json, collections, ...), no others. `accept` names the doors among
    `DOORS` that may stay open where this machine cannot shut them; none by default. Use it in a `with`, which starts the
    process; after one that was stopped the next run starts another.

    Raises InputError for an unknown door; MindscapeError where a door is open that was not accepted, and where no process can
    be started or hold the text.

    >>> with Sandbox("a lamp, a boat") as box:                                              # doctest: +SKIP
    ...     box.run("things = context.split(', '); print(len(things))").output
    '2\\n'
    """

    def __init__(self, text: str, limits: Limits | None = None, accept: Collection[str] = ()):
        unknown = set(accept) - set(DOORS)
        require(not (unknown or isinstance(accept, str)), f"accept={accept!r}: expected some of {', '.join(DOORS)}")
        self.text, self.limits, self.accept = text, limits or Limits(), frozenset(accept)
        self.layers: tuple[str, ...] = ()  # what shuts the process in, once it has started
        self.open: tuple[str, ...] = ()  # what was found open, and accepted
        self._process: subprocess.Popen | None = None
        self._folder: tempfile.TemporaryDirectory | None = None

    def __enter__(self) -> "Sandbox":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._end()

    def run(self, code: str, ask: Callable[[Sequence[str]], Sequence[str]] | None = None) -> Ran:
        """Run a piece of code; `ask` answers its queries, a batch at a time, and what it raises ends the run and the process.

        Without `ask` a query gets an empty reply.
        """
        self._start()
        try:
            return self._run(code, ask)
        except _Stopped as stop:
            return Ran("", stopped=str(stop))
        except BaseException:  # also an interrupt: nothing is left running
            self.close()
            raise

    def _run(self, code: str, ask: Callable[[Sequence[str]], Sequence[str]] | None) -> Ran:
        message: dict[str, Any] = {"code": code}
        left, taken, queries = self.limits.seconds, 0, 0
        while True:
            started = time.monotonic()
            reply, size = self._exchange(message, left, self.limits.output - taken)
            left -= time.monotonic() - started
            taken += size
            if "ask" not in reply:
                return self._result(reply)
            written = reply["ask"]  # by the code itself, it may be
            if not isinstance(written, list) or not all(isinstance(prompt, str) for prompt in written):
                self._stop(FORGED)
            prompts = [_plain(prompt) for prompt in written]
            queries += len(prompts)
            if queries > self.limits.queries:
                self._stop("queries")
            message = {"replies": [str(reply_text) for reply_text in ask(prompts)] if ask else [""] * len(prompts)}

    def _result(self, reply: dict[str, Any]) -> Ran:
        output, error, stopped = (reply.get(name) or "" for name in ("output", "error", "stopped"))
        final, length = reply.get("final"), reply.get("length")
        texts = [output, error, stopped, *([] if final is None else [final])]
        if not all(isinstance(text, str) for text in texts) or not isinstance(length, int):
            self._stop(FORGED)
        if stopped:
            self._end()
        # The process cuts them too, but what comes out of it may be written by the code itself.
        output, error = output[:KEPT], error[:KEPT]
        return Ran(_plain(output), length, _plain(error), _plain(stopped)[:200], final and _plain(final))

    # ---------------------------------------------------------------- the process

    def _start(self) -> None:
        """Start the process, if there is none, and give it the text."""
        if self._process is not None:
            return
        if sys.platform == "win32":
            raise MindscapeError("code that a model writes is not run on Windows, which cannot shut it in")
        self._folder = tempfile.TemporaryDirectory(prefix="confined-")
        settings = json.dumps(asdict(self.limits) | {"parent": os.getpid()})
        # Isolated by hand rather than by -I, which would let the order of sets change from run to run.
        command = [sys.executable, "-s", "-P", "-S", "-B", "-X", "utf8", str(OWN), settings]
        kept = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
        environment = {"PYTHONHASHSEED": "0"} | {name: os.environ[name] for name in kept if name in os.environ}
        try:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            place: dict[str, Any] = {"env": environment, "cwd": self._folder.name, "start_new_session": True}
            self._process, self._bounded = subprocess.Popen(command, bufsize=0, **pipes, **place), True
            os.set_blocking(self._process.stdin.fileno(), False)
            report, _ = self._exchange(None, STARTING, BLOCK)
            self.layers, self.open = tuple(report["layers"]), tuple(report["open"])
            self._bounded = report["bounded"]
            if refused := [door for door in self.open if door not in self.accept]:
                raise MindscapeError(
                    f"code that a model writes is not run: on this machine ({sys.platform}, {os.uname().machine}) its "
                    f"process would be open to {', '.join(refused)}; accept={tuple(refused)} runs it all the same"
                )
            ready, _ = self._exchange({"text": self.text}, STARTING, BLOCK)
            if "ready" not in ready:
                self._stop(str(ready.get("stopped")))
        except _Stopped as stop:
            raise MindscapeError(f"the process for the model's code did not start with the text: {stop}") from None
        except OSError as error:
            self.close()
            raise MindscapeError(f"cannot start a process for the model's code: {error}") from error
        except BaseException:
            self.close()
            raise

    def _exchange(self, message: dict[str, Any] | None, seconds: float, most: int) -> tuple[dict[str, Any], int]:
        """Send a message and wait for the next one; its size stands beside it.

        The other side may not read what it is sent, write what is no message, or never stop writing.
        """
        data = b"" if message is None else json.dumps(message).encode() + b"\n"
        ends, parts, size = time.monotonic() + seconds, [b""], 0
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            if data:
                ready.register(self._process.stdin, selectors.EVENT_WRITE)
            while b"\n" not in parts[-1]:
                left = ends - time.monotonic()
                if left <= 0:
                    self._stop("time")
                for key, _ in ready.select(min(left, LOOK)):
                    if key.fileobj is self._process.stdin:
                        data = self._sent(data)
                        if not data:
                            ready.unregister(key.fileobj)
                        continue
                    parts.append(os.read(key.fd, BLOCK))
                    size += len(parts[-1])
                    if not parts[-1]:
                        self._stop("")
                    if size > most:
                        self._stop("output")
                if not self._bounded and self._memory() > self.limits.memory:
                    self._stop("memory")
        line, _, more = b"".join(parts).partition(b"\n")
        # Code that writes a line by hand may fill the memory here with empty lists: outside of texts a message is short.
        if len(STRING.sub(b"", line)) > FRAME:
            self._stop(FORGED)
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if more or not isinstance(reply, dict):  # it says one thing at a time, and waits
            self._stop(FORGED)
        return reply, len(line)

    def _sent(self, data: bytes) -> bytes:
        """Send a part of the data; what is left of it."""
        try:
            return data[os.write(self._process.stdin.fileno(), data[:BLOCK]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:  # what it said before it ended is still to be read
            return b""

    def _memory(self) -> int:
        """Bytes of memory that the process has, as `ps` tells; 0 where it does not."""
        done = subprocess.run(["ps", "-o", "rss=", "-p", str(self._process.pid)], capture_output=True, text=True)
        return 1024 * int(done.stdout.strip() or 0)

    def _stop(self, why: str) -> NoReturn:
        """End the process and say why; without a reason it has ended by itself, and how is the reason."""
        how = self._end(0.0 if why else ENDING)
        raise _Stopped(why or how)

    def _end(self, patience: float = 0.0) -> str:
        """Take the process away, after so many seconds in which it may end by itself; in words, how it ended."""
        process, self._process = self._process, None
        process.stdin.close()
        process.stdout.close()
        ends, ours, ended = time.monotonic() + patience, False, 0
        while not ended:
            ended, status, used = os.wait4(process.pid, 0 if ours else os.WNOHANG)
            if not ended and time.monotonic() < ends:
                time.sleep(0.01)
            elif not ended:
                ours = True
                with suppress(ProcessLookupError, PermissionError):  # a Mac says either of a group that has just ended
                    os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
        code = process.returncode = os.waitstatus_to_exitcode(status)
        self._folder.cleanup()
        if code == -signal.SIGXCPU or used.ru_utime + used.ru_stime >= self.limits.cpu_seconds:
            return "cpu"
        if ours:
            return "it closed its pipe"
        return f"it ended itself with code {code}" if code >= 0 else f"it died of {signal.Signals(-code).name}"


def _plain(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which code can make and no file can hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
