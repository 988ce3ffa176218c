"""Marks and styles: what each kind of line looks like, and the words that stand for marks in plain mode."""

from __future__ import annotations

RUNNING, DONE, FAILED, STOPPED, THINKING, WAITING, YOU, ASKS, NOTE = "⠋", "✓", "✗", "⊘", "◆", "◌", "›", "?", "!"
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN = {RUNNING: "run", DONE: "ok", FAILED: "FAIL", STOPPED: "stop", THINKING: "think", WAITING: "wait"}

DIM, BOLD = "2", "1"
GREEN, RED, YELLOW, CYAN, MAGENTA = "32", "31", "33", "36", "35"
USER = "1;36"
STYLE_OF = {
    DONE: GREEN,
    FAILED: "1;31",
    STOPPED: YELLOW,
    THINKING: DIM,
    WAITING: DIM,
    YOU: USER,
    ASKS: "1;33",
    NOTE: YELLOW,
}
