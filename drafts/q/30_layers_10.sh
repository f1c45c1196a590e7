[ -d build/reader_10 ] || python -m mindscape.mia.gen_sizes --adapter data/adapters/reader --layers 10 --out build/reader_10
python -m mindscape.mia.gen_training --start build/reader_10 --first 360 --books 60 --tokens 2048 --steps 270 --warmup 15 --learning-rate 7e-4 --compile --layers 10 --out build/layers_10
