"""Code that a model writes: what it can do, what it cannot, what ends it. Each attack is tried, and its effect looked at."""

import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape.errors import MindscapeError
from mindscape.mindgraph import confined, sandbox
from mindscape.mindgraph.sandbox import DOORS, Limits, Sandbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot shut a process in; see sandbox")
linux = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in confined.ALLOWED, reason="a filter of system calls"
)
TEXT = "A lamp, a boat, 一盏灯。"


@pytest.fixture
def box():
    with Sandbox(TEXT, Limits(seconds=20)) as opened:
        yield opened


def run(code, ask=None, **limits):
    """What becomes of a piece of code in a process of its own."""
    with Sandbox(TEXT, Limits(**limits)) as box:
        return box.run(code, ask)


# ---------------------------------------------------------------- what it can do


def test_variables_stay_and_the_text_is_there(box):
    assert box.run("things = context.split(', ')\nprint(len(things))").output == "3\n"
    assert box.run("print(things[2], context == ', '.join(things))").output == "一盏灯。 True\n"


def test_the_pure_standard_library_is_there(box):
    names = "re json math collections itertools functools statistics string textwrap unicodedata difflib datetime random"
    loaded = f"for name in {names.split()}:\n    __import__(name)\n"
    ran = box.run(loaded + "import re\nprint(re.findall('lamp|灯', context))")
    assert (ran.output, ran.error) == ("['lamp', '灯']\n", "")
    assert box.run("import datetime; print(datetime.datetime.strptime('2020', '%Y').year)").output == "2020\n"
    assert box.run("print('灯'.encode('gb18030').decode('gb18030'))").output == "灯\n"
    assert "ModuleNotFoundError" in box.run("import requests").error


def test_errors_say_where(box):
    assert box.run("x = 1\nprint('before')\nx / 0").error == "line 3: ZeroDivisionError: division by zero"
    assert box.run("def f():\n    return missing\n\nf()").error.startswith("line 2: NameError")
    assert box.run("for").error.startswith("line 1: SyntaxError")
    assert box.run("x = '\ud800'").error.startswith("UnicodeEncodeError")  # half of a surrogate pair is no source
    assert "SystemExit" in box.run("exit_code = 3\nraise SystemExit(exit_code)").error
    assert "EOFError" in box.run("input()").error
    assert box.run("class E(Exception):\n    def __str__(self): return 1/0\nraise E").error == "line 3: E"
    assert box.run("print(x)").output == "1\n"  # and none of it ended the process


def test_final(box):
    ran = box.run("print('so')\nFINAL('the lamp')\nprint('never')")
    assert (ran.output, ran.final, ran.error) == ("so\n", "the lamp", "")
    assert box.run("try:\n    FINAL(12)\nexcept:\n    pass").final == "12"
    assert box.run("print(1)").final is None


def test_queries_go_to_the_caller_in_batches(box):
    batches = []

    def ask(prompts):
        batches.append(list(prompts))
        return [prompt.upper() for prompt in prompts]

    ran = box.run("print(llm_query('lamp'), llm_query_batched([word for word in ('a', 'b')]), llm_query(3))", ask)
    assert ran.output == "LAMP ['A', 'B'] 3\n" and batches == [["lamp"], ["a", "b"], ["3"]]
    assert box.run("print(repr(llm_query('lamp')))").output == "''\n"
    ran = box.run("print([line for line in llm_query('\ud83d' + '\\ud800')])", ask)
    assert ran.error and not ran.stopped or ran.output  # whatever the code makes of it, we are whole
    box.run("llm_query(chr(0xd800))", ask)
    assert batches[-1] == ["\ufffd"]


def test_time_does_not_run_while_a_query_is_answered():
    ran = run("print([llm_query('a') for _ in range(3)])", lambda prompts: time.sleep(2) or prompts, seconds=5)
    assert ran.output == "['a', 'a', 'a']\n" and not ran.stopped


def test_what_answering_raises_ends_process_and_run(box):
    def ask(prompts):
        raise RuntimeError("the model is gone")

    refused(lambda: box.run("llm_query('a')", ask), "gone", RuntimeError)
    assert box._process is None
    assert box.run("print('again')").output == "again\n"


def test_the_same_code_prints_the_same():
    code = "import random\nprint(list({'a', 'b', 'c', '灯', 'boat'}), random.random(), hash('a'))"
    assert run(code) == run(code)


def test_bad_input():
    refused(lambda: Sandbox(TEXT, accept=["internet"]), "accept")
    refused(lambda: Sandbox(TEXT, accept="network"), "accept")
    for name in ("seconds", "cpu_seconds", "memory", "output", "queries"):
        refused(lambda name=name: Limits(**{name: 0}), name)
    refused(lambda: Sandbox("lamp " * 4_000_000, Limits(memory=4 << 20)).run("print(1)"), "memory", MindscapeError)


# ---------------------------------------------------------------- what it cannot: network


ATTEMPT = """
import os, ctypes
seen = []
def attempt(name, call):
    try:
        seen.append((name, call()))
    except Exception:
        pass
libc = ctypes.CDLL(None, use_errno=True)
"""
NETWORK = """
import socket
for family in range(0, 46):
    for kind in (1, 2, 3, 5):
        attempt(f"socket {{family}} {{kind}}", lambda: socket.socket(family, kind))
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {port}), timeout=2))
attempt("pair", socket.socketpair)
attempt("names", lambda: socket.gethostbyname("localhost"))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect({path!r}))
if libc.socket(2, 1, 0) >= 0: seen.append("libc socket")
print(seen)
"""


def test_no_network(box, tmp_path, monkeypatch):
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        monkeypatch.chdir(tmp_path)  # a path of a socket is at most about a hundred characters
        unix.bind("ear")
        for ear in (tcp, unix):
            ear.listen()
            ear.settimeout(0.2)
        ran = box.run(ATTEMPT + NETWORK.format(port=tcp.getsockname()[1], path=str(tmp_path / "ear")))
        assert (ran.output, ran.error) == ("[]\n", "")
        for ear in (tcp, unix):
            refused(ear.accept, "timed out", TimeoutError)


# ---------------------------------------------------------------- files

FILES = """
import importlib
secret, folder = {secret!r}, {folder!r}
for code in {attacks!r}:
    attempt(code, lambda: eval(code, globals()))
for fd in range(2, 200):
    attempt(f"read {{fd}}", lambda: os.pread(fd, 10, 0))
    if fd > 2: attempt(f"write {{fd}}", lambda: os.write(fd, b"spoilt"))
print(seen)
"""
ATTACKS = [
    "open(secret).read()", "open(secret, 'rb').read()", "os.open(secret, os.O_RDONLY)", "os.open(secret, os.O_PATH)",
    "open(secret, 'a').write('spoilt')", "open(folder + '/new', 'w').write('spoilt')", "open('new', 'w').write('spoilt')",
    "os.listdir(folder)", "list(os.scandir('/'))", "os.stat(secret)", "os.path.exists(secret) or 1 / 0", "os.remove(secret)",
    "os.rename(secret, secret + '2')", "os.chmod(secret, 0)", "os.truncate(secret, 0)", "os.mkdir(folder + '/new')",
    "os.symlink(secret, 'link')", "os.mkfifo('fifo')", "open('/proc/self/environ', 'rb').read()", "os.memfd_create('x')",
    "importlib._bootstrap_external.FileLoader('x', secret).get_data(secret)", "os.chdir(folder)", "os.getcwd()",
    "libc.open(secret.encode(), 0) if libc.open(secret.encode(), 0) >= 0 else 1 / 0",
    "libc.fopen(secret.encode(), b'r') or 1 / 0",
]  # fmt: skip


def test_no_files_and_no_handles_of_ours(box, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the miller did it")
    with secret.open("r+") as held:
        os.set_inheritable(held.fileno(), True)
        with Sandbox(TEXT) as another:  # started while the file is open
            for opened in (box, another):
                ran = opened.run(ATTEMPT + FILES.format(secret=str(secret), folder=str(tmp_path), attacks=ATTACKS))
                assert (ran.output, ran.error) == ("[]\n", "")
    assert secret.read_text() == "the miller did it" and list(tmp_path.iterdir()) == [secret]


def test_no_keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with Sandbox(TEXT) as box:
        assert "OPENAI_API_KEY" not in box.run("import os\nprint(dict(os.environ))").output
        # Not in the memory either, where the interpreter keeps the environment it was started with.
        code = "import ctypes\nget = ctypes.CDLL(None).getenv\nget.restype = ctypes.c_char_p\nprint(get(b'OPENAI_API_KEY'))"
        assert box.run(code).output == "None\n"


# ---------------------------------------------------------------- processes and signals

BOMB = """
import os, _thread, ctypes
born = 0
for _ in range(1000):
    try:
        if os.fork() == 0:
            while True: pass
        born += 1
    except OSError:
        pass
for call in (lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "true"], {}), lambda: os.system("true") and 1 / 0,
             lambda: os.execv("/bin/sh", ["sh"]), lambda: os.popen("true"), lambda: os.forkpty(),
             lambda: _thread.start_new_thread(print, ())):
    try:
        call()
        born += 1
    except (OSError, RuntimeError, ArithmeticError, ModuleNotFoundError):
        pass
libc = ctypes.CDLL(None)
born += libc.fork() >= 0
born += libc.vfork() >= 0
print(born)
"""


def test_no_fork_bomb(box):
    ran = box.run(BOMB)
    assert (ran.output, ran.error) == ("0\n", "")
    if shutil.which("ps"):
        listed = subprocess.run(["ps", "-A", "-o", "pgid="], capture_output=True, text=True).stdout.split()
        assert listed.count(str(box._process.pid)) == 1


SIGNALS = """
import signal
for target in ({parent}, os.getppid(), {other}, os.getpid()):
    attempt(f"kill {{target}}", lambda: os.kill(target, signal.SIGUSR1))
    attempt(f"group {{target}}", lambda: os.killpg(target, signal.SIGUSR1))
    attempt(f"handle {{target}}", lambda: os.pidfd_open(target))
    attempt(f"priority {{target}}", lambda: os.setpriority(os.PRIO_PROCESS, target, 19))
    attempt(f"limits {{target}}", lambda: __import__("resource").prlimit(target, 7))
if libc.kill({parent}, int(signal.SIGUSR1)) == 0: seen.append("libc")
if libc.ptrace(16, {parent}, 0, 0) == 0: seen.append("ptrace")
print(seen)
"""


def test_no_signals(box):
    caught = []
    before = signal.signal(signal.SIGUSR1, lambda *_: caught.append("a signal"))
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        ran = box.run(ATTEMPT + SIGNALS.format(parent=os.getpid(), other=other.pid))
        time.sleep(0.1)
        assert (ran.output, ran.error) == ("[]\n", "") and not caught and other.poll() is None
    finally:
        signal.signal(signal.SIGUSR1, before)
        other.kill()
        other.wait()


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "code",
    [
        *("while True: pass", "import time; time.sleep(1000)", "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')"),
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import os\nos.read(0, 1)",  # waits for what it will not be sent
        "def f():\n    while True: yield\nlist(zip(f(), f(), strict=True)) if 0 else [None for _ in f()]",
    ],
)
def test_time_is_up(code):
    with Sandbox(TEXT, Limits(seconds=1.5, memory=2 << 30)) as box:
        started = time.monotonic()
        box.run("x = 1")
        ran = box.run(code)
        assert ran.stopped in ("time", "memory") and time.monotonic() - started < 20
        assert box._process is None
        assert "NameError" in box.run("x").error  # a new process, and a new name space


def test_processor_time_is_up_though_each_run_is_short():
    ran = run("while True: pass", seconds=60, cpu_seconds=1)
    assert ran.stopped in ("cpu", "time")  # time, on a machine so busy that a second of work takes a minute


@pytest.mark.parametrize(
    "code",
    [
        *("hog = [0] * 10**10", "hog = 'x' * 10**10", "hog = []\nwhile True: hog.append(bytearray(1 << 24))"),
        "import mmap\nhog = [mmap.mmap(-1, 1 << 28) for _ in range(100)]\nraise MemoryError",
        "hog = []\ntry:\n    while True: hog.append(bytearray(1 << 20))\nexcept MemoryError: pass\nprint(len(hog) < 200)",
    ],
)
def test_memory_is_up(code):
    with Sandbox(TEXT, Limits(memory=128 << 20)) as box:
        ran = box.run(code)
        # mmap's own error, or caught in time
        assert ran.stopped == "memory" or "OSError" in ran.error or ran.output == "True\n"
        assert box.run("print('again')").output == "again\n"


@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 10_000)", "import os\nwhile True: os.write(1, b'x' * 10_000)",
        "import sys\nwhile True: sys.stderr.write('x' * 10_000)", "FINAL('x' * 10**7)", "llm_query('x' * 10**7)",
        "raise ValueError('x' * 10**7)",
    ],
)  # fmt: skip
def test_too_much_output(code):
    ran = run(code, output=1 << 20)
    assert ran.stopped == "output" or (len(ran.error) < 3000 and ran.error)
    assert len(ran.output) <= confined.KEPT


def test_the_beginning_of_a_long_output_is_kept(box):
    ran = box.run("print('a' * 150_000)")
    assert ran.output == "a" * confined.KEPT and ran.length == 150_001 and not ran.stopped


def test_too_many_queries():
    with Sandbox(TEXT, Limits(queries=10)) as box:
        queries = []
        ran = box.run("while True: llm_query('a')", lambda prompts: queries.extend(prompts) or prompts)
        assert ran.stopped == "queries" and len(queries) == 10
        assert box.run("llm_query_batched(['a'] * 11)", lambda prompts: prompts).stopped == "queries"


@pytest.mark.parametrize(
    "code, why",
    [
        ("import os; os._exit(3)", "it ended itself with code 3"),
        ("import ctypes; ctypes.string_at(0)", "it died of SIG"),
        ("import os; os.abort()", "it died of SIG"),
        ("import os; os.close(1)\nwhile True: pass", "it closed its pipe"),
    ],
)
def test_ends_of_its_own_are_told(box, code, why):
    assert box.run(code).stopped.startswith(why)
    assert box.run("print('again')").output == "again\n"


# ---------------------------------------------------------------- what comes over the pipe is not trusted


@pytest.mark.parametrize(
    "line",
    [
        "no JSON", "7", "[]", '{"ask": 7}', '{"ask": [7]}', '{"output": 7, "length": 1}', '{"output": "", "length": "x"}',
        '{"final": [], "output": "", "length": 0}', "{}", "[" * 100_000, '{"output": "\\ud800", "length": NaN}',
        '{"output": "a", "length": 1}\\n{"output": "b", "length": 1}',
    ],
)  # fmt: skip
def test_forged_lines_end_it(box, line):
    ran = box.run(f"import os\nos.write(1, b'''{line}''' + b'\\n')\nwhile True: pass")
    assert ran.stopped == sandbox.FORGED


def test_a_forged_line_does_not_fill_the_memory(box):
    tracemalloc.start()
    lists = "for _ in range(200): os.write(1, b'[[' + b'[],' * 20_000)"
    ran = box.run(f"import os\n{lists}\nos.write(1, b'\\n')\nwhile True: pass")
    assert ran.stopped == sandbox.FORGED and tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


def test_a_forged_answer_is_no_more_than_an_answer(box):
    line = r'{"output": "", "length": 0, "final": "mine"}'
    assert box.run(f"import os\nos.write(1, b'''{line}\\n''')\nwhile True: pass").final == "mine"


def test_a_forged_output_is_no_longer_than_a_true_one(box):
    forged = "json.dumps({'output': 'z' * 5_000_000, 'error': 'e' * 5_000_000, 'length': 3})"
    ran = box.run(f"import os, json\nos.write(1, {forged}.encode() + b'\\n')\nwhile True: pass")
    assert (len(ran.output), len(ran.error)) == (sandbox.KEPT, sandbox.KEPT)


def test_whoever_does_not_read_is_not_waited_for():
    code = 'import os\nos.write(1, b\'{"ask": ["a"]}\\n\')\nwhile True: pass'
    assert run(code, lambda prompts: ["x" * 10_000_000], seconds=1.5).stopped == "time"


def test_halves_of_surrogate_pairs_do_not_come_through(box):
    ran = box.run("print('\\ud800lamp')\nFINAL('\\udfff')")
    assert ran.output == "\ufffdlamp\n" and ran.final == "\ufffd"


# ---------------------------------------------------------------- guards that are missing are seen


def weakened(tmp_path, monkeypatch, *changes):
    source = Path(confined.__file__).read_text()
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    path = tmp_path / "weakened.py"
    path.write_text(source)
    monkeypatch.setattr(sandbox, "OWN", path)


NO_FILTER = ("layers += _seccomp(libc, platform.machine())", "pass")
NO_NAMESPACES = ("libc.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC)", "1")


@linux
def test_without_the_filter_nothing_runs(tmp_path, monkeypatch):
    weakened(tmp_path, monkeypatch, NO_FILTER, NO_NAMESPACES)
    refused(lambda: Sandbox(TEXT).run("print(1)"), "network, files.*signals; accept=", MindscapeError)
    refused(lambda: Sandbox(TEXT, accept=["files", "processes", "signals"]).run("print(1)"), "network", MindscapeError)
    with Sandbox(TEXT, accept=DOORS) as box:
        assert box.run("print(context)").output == TEXT + "\n"
        assert "files" in box.open and not box.layers
        assert box.run("while True: print('x' * 10_000)").stopped == "output"  # limits hold without guards


@linux
def test_namespaces_alone_are_not_enough(tmp_path, monkeypatch):
    weakened(tmp_path, monkeypatch, NO_FILTER)
    refused(lambda: Sandbox(TEXT).run("print(1)"), "files", MindscapeError)


@linux
def test_the_filter_alone_is_enough(tmp_path, monkeypatch):
    weakened(tmp_path, monkeypatch, NO_NAMESPACES)
    with Sandbox(TEXT) as box:
        assert box.layers == ("seccomp",) and not box.open
        assert box.run("print(1)").output == "1\n"


@linux
@pytest.mark.skipif(not shutil.which("ps"), reason="memory is looked at with ps")
def test_memory_is_looked_at_where_the_kernel_does_not_bound_it(tmp_path, monkeypatch):
    weakened(tmp_path, monkeypatch, ('"AS": limits["memory"] + _mapped()', '"AS": -1'))
    with Sandbox(TEXT, Limits(memory=100 << 20)) as box:
        assert box.run("print(1)").output == "1\n" and not box._bounded
        assert box.run("import time\nhog = b'x' * (300 << 20)\ntime.sleep(15)").stopped == "memory"


def test_a_process_that_does_not_start_is_told(tmp_path, monkeypatch):
    weakened(tmp_path, monkeypatch, ("    limits = json.loads(sys.argv[1])\n", "    os._exit(7)\n"))
    refused(lambda: Sandbox(TEXT).run("print(1)"), "did not start.*code 7", MindscapeError)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    refused(lambda: Sandbox(TEXT).run("print(1)"), "cannot start", MindscapeError)


# ---------------------------------------------------------------- the filter itself


def verdict(program, arch, number):
    """What the kernel would make of a system call: an interpreter of the three instructions that the filter uses."""
    steps, at, held = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            held = {0: number, 4: arch}[operand]
        elif code == 0x15:
            at += yes if held == operand else no
        else:
            assert code == 0x06
            return operand


numbers = st.one_of(st.integers(0, 500), st.integers(0, 2**32 - 1), st.integers(0, 500).map(lambda n: n | 1 << 30))


@given(st.sampled_from(sorted(confined.ALLOWED)), st.sampled_from([0xC000003E, 0xC00000B7, 0x40000003]), numbers)
def test_the_filter_passes_what_is_listed_and_nothing_else(machine, arch, number):
    ours, allowed = confined.ALLOWED[machine]
    of_ours = confined.PASSED if number in allowed else confined.REFUSED
    assert verdict(confined.seccomp_program(machine), arch, number) == (of_ours if arch == ours else confined.KILLED)


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64")
def test_the_other_doors_of_x86_64_are_shut(box):
    x32 = "import ctypes\nlibc = ctypes.CDLL(None)\nprint([libc.syscall(0x40000000 + n) for n in (39, 41, 57)])"
    assert box.run(x32).output == "[-1, -1, -1]\n"
    # getpid of 32-bit Linux: mov eax, 20; int 0x80; ret
    old = (
        "import ctypes, mmap\nroom = mmap.mmap(-1, 4096, prot=7)\nroom.write(bytes.fromhex('b814000000cd80c3'))\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(room))\nprint(ctypes.CFUNCTYPE(ctypes.c_int)(at)())"
    )
    assert box.run(old).stopped in ("it died of SIGSYS", "it died of SIGSEGV")


# ---------------------------------------------------------------- nothing is left behind

ORPHAN = """
from mindscape.mindgraph.sandbox import Limits, Sandbox
with Sandbox("a lamp", Limits(seconds=300, cpu_seconds=300)) as box:
    print(box._process.pid, flush=True)
    box.run("while True: pass")
"""


def gone(pid, seconds=20.0):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            os.kill(pid, 0)
            status = Path(f"/proc/{pid}/stat")  # one that nobody waited for is dead all the same
            if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@linux
def test_it_dies_with_the_process_that_started_it(tmp_path):
    about = {"stdout": subprocess.PIPE, "text": True, "env": {**os.environ, "TMPDIR": str(tmp_path)}}
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], **about)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(child)


def test_close_ends_it_and_takes_its_folder():
    box = Sandbox(TEXT)
    with box:
        pid, folder = box._process.pid, Path(box._folder.name)
        assert folder.is_dir()
    assert gone(pid) and not folder.exists()
    box.close()  # a second time is no error
