for n in 10 20; do
[ -d build/reader_$n ] || python -m mindscape.mia.gen_sizes --adapter data/adapters/reader --layers $n --out build/reader_$n
python -m mindscape.mia.gen_training --layers $n --start build/reader_$n --first 360 --books 60 --tokens 4096 --steps 120 --warmup 10 --learning-rate 5e-4 --compile --out build/layers_$n
done
