"""Engines carry out jobs: on this machine, or on a cluster."""

from squentropy.study.engines.engine import Engine, Event, Events, Finished, Lost, Running, Work
from squentropy.study.engines.local import run_locally
from squentropy.study.engines.ray import run_on_ray

__all__ = ["ENGINES", "Engine", "Event", "Events", "Finished", "Lost", "Running", "Work", "run_locally", "run_on_ray"]

ENGINES: dict[str, Engine] = {"local": run_locally, "ray": run_on_ray}
"""All engines by name."""
