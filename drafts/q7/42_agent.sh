echo -20 > /proc/self/autogroup
python -m mindscape.signature.evaluation agent --split test --series 2 --share 3 --pairs 1 --batch 16 --first data/adapters/sft_emb --second data/adapters/mia_emb --dtype float32 --out data/signature/agent
python -m mindscape.signature.evaluation agent --split test --series 3 --share 3 --pairs 1 --batch 16 --first data/adapters/sft_emb --second data/adapters/mia_emb --dtype float32 --out data/signature/agent
