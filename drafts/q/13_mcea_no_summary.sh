while [ ! -f build/no_summary/adapter/run.json ]; do sleep 3; done
python -m mindscape.mia.mcea_evaluation --split test --conditions true,unrelated --out data/mcea/no_summary.jsonl --adapter build/no_summary/adapter
