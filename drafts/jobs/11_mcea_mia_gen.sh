while [ ! -f /work/main/build/mia_gen/adapter/run.json ]; do sleep 3; done
mkdir -p /work/main/data/adapters/mia_gen; cp /work/main/build/mia_gen/adapter/* /work/main/data/adapters/mia_gen/; cp /work/main/build/mia_gen/log.jsonl /work/main/data/adapters/mia_gen/
python -m mindscape.mia.mcea_evaluation --split test --out data/mcea/mia_gen.jsonl --adapter data/adapters/mia_gen
