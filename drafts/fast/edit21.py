import nbformat
P="notebooks/21_submodular_signatures.ipynb"
nb=nbformat.read(P,4); C=nb.cells
def sub(i,*pairs):
    for a,b in pairs:
        assert a in C[i].source,(i,a)
        C[i].source=C[i].source.replace(a,b)
sub(20,("ratios = {name: np.array(of)",'''WORDS = {"pi": "π, a map", "windows": "overlapping windows", "nearest": "two nearest"}
WORDS |= {"three nearest": "three nearest", "all": "all summaries"}
WORDS |= {"line 20": "line 20, windows", "first_k": "First-K", "random": "five by lot"}
WORDS["query"] = "no signature"
ratios = {name: np.array(of)'''),("    rows[name] = [len(share)","    rows[WORDS[name]] = [len(share)"))
sub(23,("label=name, markersize=5","label=WORDS[name], markersize=5"),('told.append(f"{name} {share.min():.2f}")','told.append(f"{WORDS[name]} {share.min():.2f}")'),
 ('ylabel="share of pools", ylim=(0, 1.1))\nax.set_yscale("symlog", linthresh=0.01)','ylim=(0, 1.1))\nax.set_yscale("symlog", linthresh=0.01)\nax.axhline(0.01, color=plots.GREY, linewidth=1, linestyle=":", marker="")\nax.set_yticks([0, 0.01, 0.1, 1], ["0", "1 %", "10 %", "100 %"])\nax.set(ylabel="share of pools,\\nlogarithmic above the dots")'))
sub(24,("The upright scale is logarithmic above 0.01.","The upright scale is logarithmic above the dotted line, at 1 %, and linear below it."))
sub(43,("    rows[way] = [str(of)]","    row = rows[WORDS[way]] = [str(of)]"),('    rows[way].append("" if','    row.append("" if'),('        rows[way] += ["", ""]','        row += ["", ""]'),('        rows[way] += [str(there)','        row += [str(there)'),
 ('columns = ["recall@10", "less pi", "evidence in a session", "the same five as pi"]','columns = ["recall@10", "less π", "evidence in a session", "the same five as π"]'))
sub(44,("plots.dots(ax, labels, *edges","plots.dots(ax, [WORDS[way] for way in labels], *edges"),('f"{way} {less[way].value:+.3f}"','f"{WORDS[way]} {less[way].value:+.3f}"'))
nbformat.write(nb,P)
