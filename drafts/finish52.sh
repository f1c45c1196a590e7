#!/bin/bash
# What is left for notebook 52 once a core is free: bash drafts/finish52.sh {loop|real|full|make}
cd /work/main; export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false; P=.venv/bin/python
case $1 in
loop) MINDSCAPE_CACHE=/tmp/cache52b nice -n 5 $P /tmp/many52.py loop | tee /tmp/own52/loop.txt ;;  # md, epub, folder, zh, gb18030, caps against a loopback model of fixed habits; 1-2 core-minutes
real) MINDSCAPE_CACHE=/tmp/cache52 nice -n 5 $P /tmp/many52.py real | tee /tmp/own52/real.txt ;;   # the embedded reader on Macbeth, a storyworld novel, a Chinese file; 5 core-minutes
full) MINDSCAPE_CACHE=/tmp/cache52f nice -n 5 $P drafts/try.py 52 'scale="full"' | tee /tmp/own52/full.txt; grep -E '"(seconds|peak_mb)"' /tmp/try/52/figures/52_your_own_book/results.json ;;
make) $P drafts/nb.py 52 && .venv/bin/ruff check --fix notebooks/52*.ipynb && .venv/bin/ruff format notebooks/52*.ipynb
  rm -rf /tmp/cache52s; MINDSCAPE_CACHE=/tmp/cache52s nice -n 5 $P tools/stored.py 52
  MINDSCAPE_CACHE=/tmp/cache52s MINDSCAPE_FIGURES=/tmp/nbv_52 nice -n 5 $P -m pytest -q --nbval notebooks/52*.ipynb --nbval-sanitize-with tests/nbval.cfg --nbval-cell-timeout 600
  python3 ../shared/checks/notebooks.py .; python3 ../shared/checks/borrowed.py .; nice -n 5 $P -m pytest -q tests/test_house.py ;;
esac
