echo -20 > /proc/self/autogroup
python -m mindscape.signature.evaluation rank --split test --series 6 --share 8 --pairs 2 --first data/adapters/sft_emb --second data/adapters/mia_emb --dtype float32 --out data/signature/ranks.jsonl
python -m mindscape.signature.evaluation rank --split test --series 6 --share 8 --pairs 2 --out data/signature/ranks_minilm.jsonl
python -m mindscape.signature.evaluation answer --ranks data/signature/ranks.jsonl --share 3 --pairs 2 --batch 16 --out data/signature/answers.jsonl
