"""A model of fixed habits on loopback, then try.py with it: python loop52.py param=value ..."""
import json, os, re, subprocess, sys
sys.path[:0] = ["/work/main/tests"]
from servers import Scripted, send, completion
from mindscape.roles import ROLES
seen = {}
def which(prompt):
    for name in ("chunk_summary","global_summary","session_summary","edits","graph_answer","memory","qa"):
        for lang, text in ROLES[name].prompts.items():
            head = text.split("{")[0][:60]
            if head and prompt.startswith(head): return name, lang
    return "other", "en"
def words(text, n=6): return " ".join(text.split()[:n]) if " " in text else text.strip()[:8]
def behave(handler, body):
    messages = body["messages"] if "messages" in body else [{"content": body["prompt"]}]
    prompt = messages[0]["content"] if messages[0].get("role") != "system" else messages[1]["content"]
    name, lang = which(prompt); seen[name] = seen.get(name, 0) + 1
    if name == "edits":
        block = prompt.rsplit("\n", 1)[0] and re.split(r"Block \d+ of \d+:\n|第\d+块，共\d+块：\n", prompt)[-1]
        q = words(block)
        text = json.dumps({"operations": [{"op": "add_node", "id": "n%d" % seen[name], "type": "event", "content": q, "src": q}]}, ensure_ascii=False)
    elif name == "graph_answer":
        tools = [m for m in messages if m.get("role") == "tool"]
        if body.get("tools") and not tools:
            node = (re.findall(r"\bn\d+\b", prompt) or ["n1"])[0]
            call = {"id": "c1", "type": "function", "function": {"name": "lookup_source", "arguments": json.dumps({"node_id": node})}}
            return send(handler, completion(None, {"prompt_tokens": len(prompt)//4, "completion_tokens": 9, "total_tokens": 0}, tool_calls=[call]))
        node = re.findall(r"\bn\d+\b", prompt)[:1]
        text = json.dumps({"answer": "Colmekill", "cited_nodes": node, "confidence": "high"})
    elif name == "memory":
        doc = prompt.split("Document:\n")[-1].split("文档：\n")[-1].strip()
        a = " ".join(doc.split()[:5]) if " " in doc else doc[:8]
        z = " ".join(doc.split()[-5:]) if " " in doc else doc[-8:]
        text = f"<think>One part.</think>\n<outline>\n- all of it\n</outline>\n<scenario>\n<chunk>{a} [MASK] {z}</chunk>\nIt goes on.\n</scenario>"
    elif name in ("chunk_summary","global_summary","session_summary"): text = "Somebody came to the town and left it."
    else: text = "Colmekill"
    send(handler, completion(text, {"prompt_tokens": len(prompt)//4, "completion_tokens": max(1, len(text)//4), "total_tokens": 0}))
with Scripted(behave) as server:
    env = dict(os.environ, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
    subprocess.run([sys.executable, "/tmp/try52.py", "52", *sys.argv[1:]], env=env)
print(seen)
