"""Two OpenAI-compatible servers on loopback: a real one, and one that misbehaves as it is told."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mindscape.llm import LanguageModel
from mindscape.llm.endpoint import Endpoint

KEY = "sk-very/secret+key=="  # the fixture `key` puts it into the environment
HELLO = [{"role": "user", "content": "Who's there?"}]

LLAMA = """
import signal, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.verbosity = sys.argv[1], 4096, 2, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
"""


@contextmanager
def llama_server(gguf: Path) -> Iterator[str]:
    """llama.cpp's server with a model, on a free port, in a process of its own; yields its base URL."""
    with subprocess.Popen([sys.executable, "-c", LLAMA, str(gguf)], stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://"), f"the server did not start: {address!r}"
            yield f"{address}/v1"
        finally:
            process.kill()


Handler = BaseHTTPRequestHandler
Behaviour = Callable[[Handler, dict], None]


def send(handler: Handler, body: bytes, status: int = 200, kind: str = "application/json", length: int = 0, **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(length or len(body)))
    handler.end_headers()
    handler.wfile.write(body)


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def completion(text: object, usage: object = USAGE, **message) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "text": text}
    choice["message"] = {"role": "assistant", "content": text, **message}
    return json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def says(text: object, usage: object = USAGE, **message) -> Behaviour:
    return lambda handler, _: send(handler, completion(text, usage, **message))


def status(code: int, message: str = "out of order", error_code: str | None = None, **headers) -> Behaviour:
    body = json.dumps({"error": {"message": message, "code": error_code}}).encode()
    return lambda handler, _: send(handler, body, code, **headers)


def answers(body: bytes) -> Behaviour:
    return lambda handler, _: send(handler, body)


def page(code: int = 200, html: str = "<!doctype html><html><title>Sign in</title></html>") -> Behaviour:
    """What a proxy or a login puts in the server's place."""
    return lambda handler, _: send(handler, html.encode(), code, "text/html; charset=utf-8")


def truncated(handler: Handler, _: dict) -> None:
    """JSON that stops in the middle, sent as if it were whole."""
    send(handler, completion("Elsinore")[:60])


def cut(handler: Handler, _: dict) -> None:
    """A connection that is closed before the promised length."""
    send(handler, completion("Elsinore")[:60], length=500)
    handler.close_connection = True


def hang(seconds: float) -> Behaviour:
    return lambda handler, _: time.sleep(seconds)


def drip(seconds: float) -> Behaviour:
    """A byte now and then: no single read ever times out."""

    def behave(handler: Handler, _: dict) -> None:
        send(handler, b" ", length=10_000)
        for _ in range(round(20 * seconds)):
            time.sleep(0.05)
            handler.wfile.write(b" ")

    return behave


class Scripted:
    """A server that plays its script, a behaviour a request, the last one again and again; `asked` is what it got."""

    def __init__(self, *script: Behaviour):
        self.script = list(script)
        self.requests: list[dict] = []
        self.headers: list[Message] = []
        self.paths: list[str] = []
        self.together = self.most_together = 0
        lock = threading.Lock()
        scripted = self

        class Handling(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    scripted.requests.append(body)
                    scripted.headers.append(self.headers)
                    scripted.paths.append(self.path)
                    behave = scripted.script.pop(0) if len(scripted.script) > 1 else scripted.script[0]
                    scripted.together += 1
                    scripted.most_together = max(scripted.most_together, scripted.together)
                try:
                    behave(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has given up
                finally:
                    with lock:
                        scripted.together -= 1

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handling)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> "Scripted":
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()


def at(server: Scripted, store=None, record=None, **options) -> LanguageModel:
    """A model behind a server, with options of the endpoint."""
    return LanguageModel(Endpoint("some-model", base_url=server.url, **options), store=store, record=record)
