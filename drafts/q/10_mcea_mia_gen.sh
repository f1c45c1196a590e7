while [ ! -f build/mia_gen/adapter/run.json ]; do sleep 3; done
mkdir -p data/adapters/mia_gen; cp build/mia_gen/adapter/* data/adapters/mia_gen/; cp build/mia_gen/log.jsonl data/adapters/mia_gen/
python -m mindscape.mia.mcea_evaluation --split test --out data/mcea/mia_gen.jsonl --adapter data/adapters/mia_gen
