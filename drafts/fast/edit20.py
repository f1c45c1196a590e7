import nbformat
P="notebooks/20_session_memory.ipynb"
nb=nbformat.read(P,4); C=nb.cells
def sub(i,*pairs):
    for a,b in pairs:
        assert a in C[i].source,(i,a)
        C[i].source=C[i].source.replace(a,b)
sub(44,('"as long as the text", "pi"]','"as long as the text", "π"]'))
sub(49,('pd.DataFrame.from_dict(rows, orient="index", columns=columns)','table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)\ntable.rename(index=lambda name: name.replace("first_k", "First-K"))'))
nbformat.write(nb,P)
