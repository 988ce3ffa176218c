"""The report of an evaluation: outcomes to JSON values and to Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aicli.content.run_result import RunResult
from aicli.late import dataclass

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Outcome:
    """How one run of one task by one model ended. `why` is empty for a pass; `result` None when it never began."""

    task: str
    model: str
    passed: bool
    why: str = ""
    result: RunResult | None = None

    @property
    def seconds(self) -> float:
        return self.result.seconds if self.result else 0.0


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The whole report: totals, a row a model, a row a run."""
    return {
        "schema_version": SCHEMA_VERSION,
        "pass_rate": _rate(outcomes),
        "models": [_model(name, rows) for name, rows in _by_model(outcomes).items()],
        "runs": [_run(outcome) for outcome in outcomes],
    }


def _rate(outcomes: Sequence[Outcome]) -> float:
    return round(sum(o.passed for o in outcomes) / len(outcomes), 4) if outcomes else 0.0


def _by_model(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    rows: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        rows.setdefault(outcome.model, []).append(outcome)
    return rows


def _model(name: str, rows: Sequence[Outcome]) -> dict[str, Any]:
    results = [o.result for o in rows if o.result]
    costs = [r.cost_usd for r in results]
    return {
        "model": name,
        "runs": len(rows),
        "passed": sum(o.passed for o in rows),
        "pass_rate": _rate(rows),
        "input_tokens": sum(r.usage.input_tokens for r in results),
        "output_tokens": sum(r.usage.output_tokens for r in results),
        "seconds": round(sum(r.seconds for r in results), 1),
        "cost_usd": sum(c for c in costs if c is not None) if costs and None not in costs else None,
    }


def _run(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {
        "task": outcome.task,
        "model": outcome.model,
        "passed": outcome.passed,
        "why": outcome.why,
    }
    result = outcome.result
    if result is None:
        return row
    return row | {
        "status": result.status,
        "subtype": result.reason,
        "turns": result.turns,
        "tool_calls": result.tool_calls,
        "failed_calls": result.failed_calls,
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens,
        "seconds": round(result.seconds, 2),
        "cost_usd": result.cost_usd,
        "answer": result.text,
    }


def markdown(outcomes: Sequence[Outcome], said: Callable[[str], str] = str) -> str:
    """Two tables: a row a model, then a row a task with a column a model. `said` puts its words into a language."""
    models = _by_model(outcomes)
    lines = [said("| model | passed | tokens in | tokens out | seconds |"), "|---|---|---|---|---|"]
    for name, rows in models.items():
        row = _model(name, rows)
        passed = said(f"{row['passed']} of {row['runs']} passed ({row['pass_rate']:.0%})")
        seconds = f"{row['seconds']:.0f}"
        lines.append(f"| {_cell(name)} | {passed} | {row['input_tokens']:,} | {row['output_tokens']:,} | {seconds} |")
    lines += ["", f"| {said('task')} | {' | '.join(_cell(m) for m in models)} |", "|---" * (len(models) + 1) + "|"]
    for task in dict.fromkeys(o.task for o in outcomes):
        cells = [_marks([o for o in rows if o.task == task], said) for rows in models.values()]
        lines.append(f"| {_cell(task)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _marks(rows: Sequence[Outcome], said: Callable[[str], str]) -> str:
    if len(rows) == 1:
        return said(f"pass, {rows[0].seconds:.1f} s" if rows[0].passed else f"fail: {_cell(rows[0].why)}")
    return said(f"{sum(o.passed for o in rows)} of {len(rows)} passed")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
