"""What the Makefile and the Snakefile call: `plan` says what will be done, `execute` runs a notebook, `stored` stores its
outputs, `report` writes the pages under figures/, `compare` holds a fresh run to what is stored."""
