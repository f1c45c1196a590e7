python -m mindscape.mia.gen_training --start data/adapters/reader --first 360 --books 60 --tokens 2048 --steps 270 --warmup 15 --learning-rate 7e-4 --compile --variant no_qa --out build/no_qa
