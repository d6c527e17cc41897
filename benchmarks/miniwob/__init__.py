"""Episodes of a scripted noisy policy on MiniWoB++ pages, recorded by the daemon: what a reward
model is trained on."""
