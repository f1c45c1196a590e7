"""md()/code() helpers: python make.py writes the notebook."""
import nbformat, subprocess, textwrap
from nbformat.v4 import new_notebook, new_markdown_cell, new_code_cell
class Book:
    def __init__(self, name): self.name, self.cells = name, []
    def md(self, text): self.cells.append(new_markdown_cell(text.strip("\n")))
    def code(self, text, *tags):
        c=new_code_cell(text.strip("\n")); 
        if tags: c.metadata["tags"]=list(tags)
        self.cells.append(c)
    def varies(self, text): self.code(text, "nbval-ignore-output")
    def save(self):
        for i,c in enumerate(self.cells): c["id"]=f"c{i:03d}"
        nb=new_notebook(cells=self.cells, metadata={"kernelspec":{"display_name":"Python 3","language":"python","name":"python3"},"language_info":{"name":"python"}})
        path=f"/work/main/build/drafts/{self.name}.ipynb"
        nbformat.write(nb,path)
        ruff="/work/main/.venv/bin/ruff"
        subprocess.run([ruff,"format","-q","--config","/work/main/notebooks/ruff.toml",path])
        subprocess.run([ruff,"check","--config","/work/main/notebooks/ruff.toml",path])
        nb=nbformat.read(path,4)
        for i,c in enumerate(nb.cells):
            if c.cell_type=="code":
                n=len([l for l in c.source.split("\n") if l.strip()]); 
                if n>25: print(f"cell {i}: {n} lines", c.source[:60].replace("\n"," / "))
