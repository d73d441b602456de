"""Makes the rules file for Prometheus of the table of alerts: `python -m webapp.web.ops.prometheus_rules > FILE`."""

import json
import sys
from collections.abc import Iterator

from webapp.web.ops.alerts import ALERTS, Alert

PATH = "deploy/prometheus/docmill.rules.yml"


def rules() -> str:
    """The file. Texts are in JSON's quotes, which YAML reads as well."""
    return "\n".join(
        [
            f"# Made by: python -m {__spec__.name} > {PATH}",
            "# Each alert is also on the page Operations; docs/operations.md says more.",
            "groups:",
            "  - name: docmill",
            "    rules:",
            *(line for alert in ALERTS for line in _rule(alert)),
            "",
        ]
    )


def _rule(alert: Alert) -> Iterator[str]:
    yield f"      - alert: {alert.name}"
    yield f"        expr: {_quoted(alert.expression)}"
    if alert.minutes:
        yield f"        for: {alert.minutes}m"
    yield "        labels:"
    yield f"          severity: {alert.severity}"
    yield "        annotations:"
    yield f"          summary: {_quoted(alert.title)}"
    yield f"          description: {_quoted(alert.advice)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.write(rules())
