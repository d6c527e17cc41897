"""The subcommands of `milestoned` that live in the lab, which `api.cli.main` finds by their entry
point."""

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("lab.cli.demo:run", "watch a scripted agent earn its rewards, on a shop of ours"),
    "watch": ("lab.cli.watch:run", "watch your own browser and see its events as milestones"),
    "convert": ("lab.cli.convert:run", "make a recording of what another program recorded"),
    "coverage": ("lab.cli.coverage:run", "how much of others' benchmarks our tasks say, as tables"),
    "rm": ("lab.cli.rm:app", "train, measure and promote the learned reward model"),
    "cascade": (
        "lab.cli.cascade:app",
        "measure the tiers beyond the rules against labelled trajectories",
    ),
    "weights": ("lab.cli.weights:app", "fit a task's weights to people's preferences"),
    "task propose": (
        "lab.cli.task_propose:run",
        "make a task file of what recorded successes share and failures lack",
    ),
    "task refine": (
        "lab.cli.task_refine:run",
        "say what a service's stored episodes tell of a task's milestones",
    ),
    "task import": ("lab.cli.task_import:run", "make task files of another benchmark's tasks"),
}
"""name → (what is imported, help), as in `api.cli.main.COMMANDS`. A name of two words is a
subcommand of the first."""
