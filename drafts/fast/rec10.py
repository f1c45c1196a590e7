import time
from mindscape import llm as models, assets, paths
from mindscape.mia import summaries
from mindscape.corpora import shakespeare, storyworld
from mindscape.text import split_tokens
from transformers import AutoTokenizer
t=AutoTokenizer.from_pretrained(assets.language_model())
play=shakespeare.play("macbeth")
chunks=split_tokens(play,t,size=1200,overlap=100)
w=models.load("smollm2",record=paths.data("summaries","smollm2.jsonl"))
c=time.process_time()
novel = storyworld.book(storyworld.TEST[0], tokens=15_000)
wide = split_tokens(novel.document, t, size=1200, overlap=0)
m=summaries.build(w, novel.document, wide[::4], chunk_tokens=64, tokens=64)
print("novel",time.process_time()-c,flush=True)
m=summaries.build(w, play, chunks, chunk_tokens=128, tokens=128)
print("all",time.process_time()-c,w.ledger,flush=True); print(m.text)
