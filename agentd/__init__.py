"""The daemon beside a sandbox: listens, numbers, keeps and ships. Never imports api."""
