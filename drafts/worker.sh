#!/bin/bash
# worker ID [PID to wait for]
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONPATH=/tmp/wt1/lib MINDSCAPE_CACHE=build/cache PATH=.venv/bin:$PATH
cd /tmp/wt1
[ -n "$2" ] && while kill -0 $2 2>/dev/null; do sleep 3; done
while true; do
  job=$(flock /tmp/q/lock bash -c 'f=$(ls /tmp/q/todo | sort | head -1); [ -n "$f" ] && mv /tmp/q/todo/$f /tmp/q/done/$f && echo $f')
  if [ -z "$job" ]; then sleep 3; continue; fi
  echo "$(date +%T) start $job" >> /tmp/q/log
  bash /tmp/q/done/$job > build/${job%.sh}.log 2>&1; echo "$(date +%T) end $job rc $?" >> /tmp/q/log
done
