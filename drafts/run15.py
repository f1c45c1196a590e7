import sys,nbformat
from nbclient import NotebookClient
name,params,out=sys.argv[1],sys.argv[2],sys.argv[3]
nb=nbformat.read(f"/work/main/notebooks/{name}.ipynb",4)
for c in nb.cells:
    if "parameters" in c.metadata.get("tags",[]): c.source+="\n"+params
try: NotebookClient(nb,kernel_name="python3",resources={"metadata":{"path":"/work/main/notebooks"}},timeout=1200).execute()
finally: nbformat.write(nb,out)
