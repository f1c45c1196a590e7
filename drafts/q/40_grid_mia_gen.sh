python -m mindscape.mia.gen_evaluation --split test --share 4 --dtype float32 --out data/grid --generator mia_gen --adapter data/adapters/mia_gen --retrievers vanilla=,mia_emb=data/adapters/mia_emb
