python -m mindscape.mia.gen_training --start data/adapters/reader --first 360 --books 60 --tokens 4096 --steps 120 --warmup 10 --learning-rate 5e-4 --compile --variant no_claims --out build/no_claims
