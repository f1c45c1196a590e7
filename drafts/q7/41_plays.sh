echo -20 > /proc/self/autogroup
python -m mindscape.signature.evaluation rank --corpus shakespeare --split test --series 2 --share 8 --pairs 1 --first data/adapters/sft_emb --second data/adapters/mia_emb --dtype float32 --out data/signature/plays.jsonl
python -m mindscape.signature.evaluation rank --corpus shakespeare --split test --series 2 --share 8 --pairs 1 --out data/signature/plays_minilm.jsonl
python -m mindscape.signature.evaluation answer --ranks data/signature/plays.jsonl --share 3 --pairs 1 --batch 16 --out data/signature/plays_answers.jsonl
