"""The wire, by noun; `api.app` lists the routers. Only here and in the app is FastAPI known."""
