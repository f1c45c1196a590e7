[ -d build/reader_20 ] || python -m mindscape.mia.gen_sizes --adapter data/adapters/reader --layers 20 --out build/reader_20
python -m mindscape.mia.gen_training --start build/reader_20 --first 360 --books 60 --tokens 2048 --steps 270 --warmup 15 --learning-rate 7e-4 --compile --layers 20 --out build/layers_20
