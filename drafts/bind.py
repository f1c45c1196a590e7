"""reply loss of open questions by binding: adapter:summary(gold|none)"""
import sys, time, numpy as np, torch
from itertools import islice
from transformers import AutoTokenizer
from mindscape import assets
from mindscape.corpora.storyworld.chance import Chance
from mindscape.mia.generation import mixed, write, posed
from mindscape.mia.mcea_evaluation import load
from mindscape.reader.evaluation import books
from mindscape.roles import Example, ROLES
from mindscape.training.batches import encode, collate
from mindscape.training.sft import reply_loss
t=AutoTokenizer.from_pretrained(assets.language_model())
rows=[]
for b in books("develop")[:int(sys.argv[1])]:
    c=Chance("bind",b.document.id); k={True:0,False:0}
    for q,p,ch in mixed(b,t,c):
        if k[q.needs_binding]>=6: continue
        k[q.needs_binding]+=1
        for s,v in posed(b,q,p,"qa",c,t): rows.append((b,q,s,v,[b.document[x] for x in ch]))
for spec in sys.argv[2:]:
    a,sm=spec.split(":")
    m,_=load(assets.language_model(), None if a=="none" else a)
    out={True:[],False:[]}; t0=time.time()
    for b,q,s,v,ch in rows:
        e=Example("qa",write("qa",s,ch,b.summary if sm=="gold" else None).text,ROLES["qa"].render(v),"x")
        one=encode(e,t)
        with torch.no_grad(): l,n=reply_loss(m,collate([one],t.eos_token_id))
        out[q.needs_binding].append(l.item())
    print(spec,{"bound" if k else "plain":(round(float(np.mean(x)),3),round(float(np.median(x)),3),round(float(np.mean(np.array(x)<0.7)),2),len(x)) for k,x in out.items()}, round(time.time()-t0), flush=True)
