for n in 10 20; do
[ -d /work/main/build/reader_$n ] || python -m mindscape.mia.gen_sizes --adapter data/adapters/reader --layers $n --out /work/main/build/reader_$n
python -m mindscape.mia.gen_training --layers $n --start /work/main/build/reader_$n --first 360 --books 60 --tokens 4096 --steps 120 --warmup 10 --learning-rate 5e-4 --compile --out /work/main/build/layers_$n
done
