import nbformat
P="notebooks/10_hierarchical_summaries.ipynb"
nb=nbformat.read(P,4); C=nb.cells
def sub(i,*pairs):
    for a,b in pairs:
        assert a in C[i].source,(i,a)
        C[i].source=C[i].source.replace(a,b)
sub(0,("**It takes** three to four minutes and 2 GB of memory on one core; most of it is the small language model writing.","**It takes** one to two minutes and 2 GB of memory on one core. What the small language model wrote is kept; writing it anew takes three minutes more."))
sub(1,('scale = "small"  # "full": longer replies, every chunk in every measurement','scale = "small"  # "full": longer replies, every chunk in every measurement, all written anew'))
sub(9,("from mindscape import assets, encoders\n","from mindscape import assets, encoders, paths\n"),
('''quick = {"dtype": "auto"} if llm in ("embedded", "smollm2") else {}  # bf16 where it is quick
writer = models.load(llm, **quick)
''','''quick = {"dtype": "auto"} if llm in ("embedded", "smollm2") else {}  # bf16 where it is quick
writer = live = models.load(llm, **quick)
kept = (scale, seed, corpus, llm) == ("small", 0, "macbeth", "smollm2")
if kept:  # its replies were recorded, word by word
    writer = models.load(f"replay:{paths.data('summaries', 'smollm2.jsonl')}")
'''))
sub(10,("(Replies that are in the cache already cost nothing, as below.)","(Replies that are in the cache already cost nothing.)"))
sub(11,("print(writer.estimate(asked, max_new_tokens=length))","print(live.estimate(asked, max_new_tokens=length))"))
sub(12,("What it writes is shown as it comes; nothing was picked. (On another processor the words may differ, since the last bits of its arithmetic do. With another `llm` these cells show that model; the text speaks of the default.)","What it writes is shown as it comes; nothing was picked. Writing takes minutes, so the replies were recorded (`data/summaries/smollm2.jsonl`, in float32) and are read from there; the beginning of one is written again below. (On another processor the words may differ, since the last bits of its arithmetic do. With another `llm` these cells show that model; the text speaks of the default.)"))
C[14].source=C[14].source.rstrip()+'''
if kept:
    again = models.load("smollm2", cache=False).chat(asked[:1], max_new_tokens=16)[0].text
    print(f"\\nwritten again, the beginning is the same: {written.levels[0][0].startswith(again)}")'''
sub(23,('''arithmetic = {
    who: "what the model writes depends on the processor"
}  # else a rerun gives the same''','''arithmetic = {
    who: "what the model writes depends on the processor"
}  # unless it is replayed'''))
sub(45,('f"{writer.name}, untuned" if who == "untuned" else writer.name','f"{live.name}, untuned" if who == "untuned" else model.name'))
nbformat.write(nb,P)
