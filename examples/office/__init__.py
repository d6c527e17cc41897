"""A small office site of ours: six families of desktop work, each with a page, a task and two runs of a scripted agent. E-mail also in Thunderbird."""
