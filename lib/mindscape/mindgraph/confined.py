"""What runs on the other side of `sandbox`: a process that shuts itself in, says what it could still do, and runs code.

A script of the standard library alone, never imported. It talks in lines of JSON: from standard input
it gets the text, then code and the replies to its queries; to standard output go its report, queries and results. Code that
it runs can write such lines as well. That gains it nothing: a line asks for no more than `FINAL` and `llm_query` do, and
`sandbox` bounds those. What keeps the code in is the kernel's refusal, not the names that Python leaves it.

Taught in notebook 32_long_reason.
"""

import ctypes
import io
import json
import mmap
import os
import platform
import random
import resource
import signal
import socket
import struct
import sys
from contextlib import suppress

# There are no files to import from later on: what the code may want is loaded now.
PRELOADED = (
    "abc bisect calendar collections collections.abc contextlib copy csv dataclasses datetime decimal difflib enum "
    "fractions functools heapq itertools math operator pprint re statistics string textwrap time traceback typing "
    "unicodedata _strptime"
)
ENCODINGS = "ascii latin-1 cp1252 utf-8 utf-8-sig utf-16 utf-32 gb18030 gbk big5 unicode-escape"
KEPT = 100_000  # characters of what code prints that are handed over, the first ones

# System calls that are left: memory, pipes that are open already, clocks, and the end. The numbers are the kernel's for
# each machine; what a machine does not have is left out there.
ALLOWED = {
    "x86_64": (0xC000003E, {
        *(0, 1, 3, 9, 10, 11, 12, 25, 28),  # read write close mmap mprotect munmap brk mremap madvise
        *(13, 14, 15, 131, 219),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall
        *(7, 23, 270, 271, 202, 24, 35, 230),  # poll select pselect6 ppoll futex sched_yield (clock_)nanosleep
        *(96, 98, 100, 201, 228, 229),  # gettimeofday getrusage times time clock_gettime clock_getres
        *(39, 110, 186, 318, 334, 60, 231),  # getpid getppid gettid getrandom rseq exit exit_group
    }),
    "aarch64": (0xC00000B7, {
        *(63, 64, 57, 222, 226, 215, 214, 216, 233, 134, 135, 139, 132, 128, 72, 73, 98, 124, 101, 115),
        *(169, 165, 153, 113, 114, 172, 173, 178, 278, 293, 93, 94),
    }),
}  # fmt: skip
REFUSED, KILLED, PASSED = 0x00050001, 0x80000000, 0x7FFF0000  # the filter's verdicts: EPERM, end of process, go on
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000


def seccomp_program(machine: str) -> bytes:
    """The filter as the kernel reads it: another machine's calls end the process, calls not listed fail with EPERM.

    Instructions of 8 bytes (code, jump if true, jump if false, operand) over `struct seccomp_data`: number at 0, machine at
    4. The 32-bit numbers of x86-64 (bit 30) are not in the list, so they are refused as well.
    """
    load, equal, give = 0x20, 0x15, 0x06
    arch, numbers = ALLOWED[machine]
    steps = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, KILLED), (load, 0, 0, 0)]
    steps += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(sorted(numbers))]
    steps += [(give, 0, 0, REFUSED), (give, 0, 0, PASSED)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def confine(limits: dict) -> list[str]:
    """Shut this process in, as far as this machine lets it; the names of the layers that took hold."""
    os.closerange(3, 65536)
    layers = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]  # as wide as the kernel reads them
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0:
            layers.append("namespaces")
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != limits["parent"]:  # it ended before it could take us with it
            os._exit(0)
    # The memory that the interpreter has now comes on top, so that a limit means the same everywhere.
    for name, value in {"CORE": 0, "FSIZE": 0, "NPROC": 0, "AS": limits["memory"] + _mapped()}.items():
        with suppress(ValueError, OSError, AttributeError):  # macOS has not all; what that leaves open, the tries tell
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    seconds = limits["cpu_seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if sys.platform == "linux" and platform.machine() in ALLOWED:
        layers += _seccomp(libc, platform.machine())
    elif sys.platform == "darwin":
        layers += _seatbelt()
    return layers


def _mapped() -> int:
    """Bytes of address space in use; 0 where the kernel does not say."""
    with suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def _seccomp(libc: ctypes.CDLL, machine: str) -> list[str]:
    code = seccomp_program(machine)
    held = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    program = Program(len(code) // 8, ctypes.addressof(held))
    refused = libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    refused = refused or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0)
    return [] if refused else ["seccomp"]


def _seatbelt() -> list[str]:
    """Apple's profile for pure computation: deprecated, still there, undocumented in what it denies; so it is probed."""
    with suppress(OSError, AttributeError):
        libc, problem = ctypes.CDLL("/usr/lib/libSystem.dylib"), ctypes.c_char_p()
        if libc.sandbox_init(b"pure-computation", ctypes.c_uint64(1), ctypes.byref(problem)) == 0:
            return ["seatbelt"]
    return []


def still_open(parent: int) -> list[str]:
    """What this process can do that it should not: it tries a thing or two of each sort."""
    signals = _works(os.kill, parent, 0)  # asks whether it could, and sends nothing
    doors = {"network": _reaches(), "files": _opens(), "processes": _forks(), "signals": signals}
    return [name for name, is_open in doors.items() if is_open]


def _works(tried, *arguments) -> bool:
    with suppress(OSError):
        tried(*arguments)  # a file that it opens is closed at once
        return True
    return False


def _reaches() -> bool:
    """A datagram socket that is connected sends nothing, it only needs a way. A socket in a file is no network to the
    kernel's namespaces, and as good as one."""
    ways = [(socket.AF_INET, ("127.0.0.1", 9)), (socket.AF_INET, ("192.0.2.1", 9)), (socket.AF_INET6, ("::1", 9))]
    for family, address in ways:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as tried:
            tried.connect(address)
            return True
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tried:
            tried.connect("/nonexistent/socket")
    except PermissionError:
        return False
    except OSError:
        pass
    return True


def _opens() -> bool:
    return _works(open, sys.executable, "rb") or _works(open, "written", "wb") or _works(os.listdir, ".")


def _forks() -> bool:
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def bounded(memory: int) -> bool:
    """Whether the kernel refuses more memory than the limit."""
    with suppress(OSError, ValueError, MemoryError):
        mmap.mmap(-1, memory + (64 << 20)).close()
        return False
    return True


def send(**message) -> None:
    """Write a line of JSON to the other side."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


class Printed(io.TextIOBase):
    """What code prints: the first `KEPT` characters are kept; at the limit the process ends."""

    def __init__(self, most: int):
        self.most, self.length, self.parts = most, 0, []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.length < KEPT:
            self.parts.append(text[: KEPT - self.length])
        self.length += len(text)
        if self.length > self.most:
            finish(self, stopped="output")
        return len(text)

    def take(self) -> dict:
        """What was printed since the last time, and how many characters in all."""
        taken = {"output": "".join(self.parts), "length": self.length}
        self.parts, self.length = [], 0
        return taken


class Finished(BaseException):
    """Raised by `FINAL`, so that nothing of the code runs after it."""


def finish(printed: Printed, stopped: str) -> None:
    """Report that a limit ended this process, and end it."""
    send(**printed.take(), stopped=stopped)
    os._exit(0)


def run(code: str, space: dict, finals: list, printed: Printed) -> None:
    """Run code among the names of `space` and report what it printed, raised or gave to `FINAL`."""
    error, out_of_memory = "", False
    finals.clear()
    reserve = bytearray(1 << 20)
    try:
        exec(compile(code, "<code>", "exec"), space)
    except Finished:
        pass
    except MemoryError:
        out_of_memory = True
    except BaseException as raised:  # also exit(), which is not to end the process
        error = described(raised)
    del reserve
    if out_of_memory:
        space.clear()
        finish(printed, stopped="memory")
    send(**printed.take(), error=error, final=finals[0] if finals else None)


def described(raised: BaseException) -> str:
    """An exception in a line, with the line of the code that raised it."""
    line, at = getattr(raised, "lineno", None) if isinstance(raised, SyntaxError) else None, raised.__traceback__
    while at is not None:
        line = at.tb_lineno if at.tb_frame.f_code.co_filename == "<code>" else line
        at = at.tb_next
    try:
        words = str(raised)
    except BaseException:
        words = ""
    return f"{f'line {line}: ' if line else ''}{type(raised).__name__}: {words:.2000}".removesuffix(": ")


def main() -> None:
    """Shut in, report, take the text, and then run what comes until the other side is gone."""
    limits = json.loads(sys.argv[1])
    for name in PRELOADED.split():
        __import__(name)
    for name in ENCODINGS.split():
        "".encode(name)
    layers = confine(limits)
    sys.path.clear()
    assert isinstance(sys.stdin, io.TextIOWrapper)
    source = sys.stdin.detach()
    send(layers=layers, open=still_open(limits["parent"]), bounded=bounded(limits["memory"]))

    def receive() -> dict:
        line = source.readline()
        if not line.endswith(b"\n"):
            os._exit(0)  # the other side is gone
        return json.loads(line)

    def llm_query_batched(prompts):
        send(ask=[str(prompt) for prompt in prompts])
        return receive()["replies"]

    def llm_query(prompt):
        return llm_query_batched([prompt])[0]

    def FINAL(answer):
        finals.append(str(answer))  # kept here: a bare `except` around the call may catch what follows
        raise Finished

    finals, printed = [], Printed(limits["output"])
    sys.stdout, sys.stderr, sys.stdin = printed, printed, io.StringIO("")
    vars(sys).update(__stdout__=printed, __stderr__=printed, __stdin__=sys.stdin)  # typed as final
    random.seed(0)
    space = {"__name__": "__main__", "llm_query": llm_query, "llm_query_batched": llm_query_batched, "FINAL": FINAL}
    try:
        space["context"] = receive()["text"]
        send(ready=True)
        while True:
            run(receive()["code"], space, finals, printed)
    except MemoryError:
        space.clear()
        finish(printed, stopped="memory")


if __name__ == "__main__":
    main()
