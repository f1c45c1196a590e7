python -m mindscape.mia.graph_evaluation --split test --share 6 --out data/graphrag --retrievers vanilla=,sft_emb=data/adapters/sft_emb,mia_emb=data/adapters/mia_emb --system mia_emb --batch 32
