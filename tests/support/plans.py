"""Plans of options by name, as `tennis rally` and `tennis drill` have them."""

from tennis.play.planning import drill_plan_for, plan_for
from tennis.rally.manifest import Drill
from tennis.rally.plan import Plan
from tennis.rally.request import requests_of


def plan_of(**options: object) -> Plan:
    """Return the plan of a rally. Raises UsageError, also for what is no option."""
    return plan_for(*requests_of(options))


def drill_plan(drill: Drill, repetitions: int, seed: int, **options: object) -> Plan:
    """Return the plan of a drill. Raises UsageError, also for what is no option."""
    request, _ = requests_of(options)
    return drill_plan_for(drill, repetitions, seed, request)
