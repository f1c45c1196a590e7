import nbformat
P="notebooks/16_mia_graphrag.ipynb"
nb=nbformat.read(P,4); C=nb.cells
def sub(i,*pairs):
    for a,b in pairs:
        assert a in C[i].source,(i,a)
        C[i].source=C[i].source.replace(a,b)
sub(20,("ranked = {}\n",'LABELS = {"vanilla": "vanilla", "sft_emb": "SFT-Emb", "mia_emb": "MiA-Emb"}\nranked = {}\n'))
sub(22,("rows[sort, name] = mine",'rows[f"{sort}\'s graph", LABELS[name]] = mine'))
sub(23,('print(f"{sort:6} MiA-Emb less {other:8} asked by {way:5}: {of} of the facts")','asked_so = f"MiA-Emb less {LABELS[other]:8} asked by {way:5}"\n            print(f"{sort:6} {asked_so}: {of} of the facts")'))
sub(24,('LABELS = {"vanilla": "vanilla", "sft_emb": "SFT-Emb", "mia_emb": "MiA-Emb"}\n',''))
sub(27,('f"{name}: {np.mean(overlap):.0%} of the first five','f"{LABELS[name]}: {np.mean(overlap):.0%} of the first five'))
sub(36,("*Agreement* is the share of pairs that the better answer wins, a tie counting half.","*Agreement* is the share of pairs that the better answer wins, a tie counting half. The judge gives a verdict by each of the four criteria; where all four agree in every number, one row stands for them."))
new=nbformat.v4.new_code_cell('''def folded(rows):
    """Rows by (..., criterion): one for all criteria where they agree in every number."""
    by_rest = {}
    for (*rest, criterion), cells in rows.items():
        by_rest.setdefault(tuple(rest), {})[criterion] = cells
    found = {}
    for rest, some in by_rest.items():
        first = next(iter(some.values()))
        alike = len(some) > 1 and all(cells == first for cells in some.values())
        for criterion, cells in {"all four": first}.items() if alike else some.items():
            found[*rest, criterion] = cells
    return found''')
new.id="folded-rows"
sub(37,("    rows[criterion] = {kind: str(of) for kind, of in trust[criterion].items()}","    rows[\"gold pairs\", criterion] = {kind: str(of) for kind, of in trust[criterion].items()}"),
 ('    rows[criterion] |= {"first shown wins": str(rate.first), "ties": f"{rate.tie:.0%}"}','    shown = {"first shown wins": str(rate.first), "ties": f"{rate.tie:.0%}"}\n    rows["gold pairs", criterion] |= shown'),
 ('pd.DataFrame.from_dict(rows, orient="index")','pd.DataFrame.from_dict(folded(rows), orient="index")'))
sub(40,('pd.DataFrame.from_dict(rows, orient="index", columns=columns)','pd.DataFrame.from_dict(folded(rows), orient="index", columns=columns)'))
sub(41,('''        for criterion in CRITERIA:
            labels.append(f"{criterion}, {kind}")
            found.append(scores_of[kind, other, criterion])
''','''        mine = {(criterion,): scores_of[kind, other, criterion] for criterion in CRITERIA}
        for (criterion,), score in folded(mine).items():
            labels.append(f"{criterion}, {kind}")
            found.append(score)
'''),("height=2.8","height=1.2 + 0.2 * len(folded(rows)) / 2"))
C.insert(37,new)
nbformat.write(nb,P)
