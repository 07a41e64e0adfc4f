"""Commands in this process: what they say and raise, and what they would play."""

import shlex
from typing import Any

from click.testing import CliRunner, Result

from tennis.cli import cli
from tennis.cli.drill import drill as drill_command
from tennis.cli.rally import rally as rally_command
from tennis.rally.manifest import Drill
from tennis.rally.plan import Plan
from tests.support.plans import drill_plan, plan_of

# the place where it is kept
ASIDE = ("out",)


def invoke(*words: object, **how: Any) -> Result:
    """Run ``tennis`` with these words; what it raises is in the result."""
    return CliRunner().invoke(cli, [str(word) for word in words], **how)


def planned(command: str) -> Plan:
    """Return the plan of a `tennis rally` or `tennis drill` command, which is not played.

    It is parsed as the shell and the command itself do. Raises what that raises.
    """
    program, name, *words = shlex.split(command)
    assert (program, name in {"rally", "drill"}) == ("tennis", True)
    click_command = rally_command if name == "rally" else drill_command
    params = click_command.make_context(name, [*words, "--out", "a"]).params
    asked = {name: value for name, value in params.items() if value is not None}
    options = dict(one.split("=") for one in asked.pop("load_options"))
    asked["load_options"] = {option: int(value) for option, value in options.items()}
    for word in ASIDE:
        asked.pop(word, None)
    if name == "rally":
        return plan_of(**{name: value for name, value in asked.items() if value is not None})
    drill = Drill(
        name=asked.pop("name"),
        context=asked.pop("context"),
        period_ns=round(asked.pop("period_us") * 1000),
    )
    return drill_plan(drill, asked.pop("repetitions"), **asked)
