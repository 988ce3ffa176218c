"""The agents that come with aicli: one Markdown file each."""
