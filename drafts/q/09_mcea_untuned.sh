python -m mindscape.mia.mcea_evaluation --split test --out data/mcea/untuned.jsonl
