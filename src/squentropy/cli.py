"""The command line: one program. Each command stands in the `command.py` of the package that it runs."""

import sys
from typing import TYPE_CHECKING

from squentropy import __version__

if TYPE_CHECKING:
    import typer

_WITHOUT_EXTRA = f"""squentropy {__version__}

The loss needs no command line: see help(squentropy.squentropy) in Python.
The commands need the extra "all": pip install 'squentropy[all]'"""


def main() -> None:
    """Run one command. What the user can mend is one line, not a traceback."""
    try:
        app = make_app()
    except ModuleNotFoundError:
        print(_WITHOUT_EXTRA)
        sys.exit(0 if set(sys.argv[1:]) <= {"--help", "--version"} else 2)
    try:
        app()
    except ModuleNotFoundError as error:
        sys.exit(f"squentropy: {error}; it comes with the extra: pip install 'squentropy[all]'")
    except (ValueError, OSError) as error:
        sys.exit(f"squentropy: {error}")


def make_app() -> "typer.Typer":
    """Return the program with all its commands, whose modules import what is heavy only when they run."""
    import typer

    from squentropy.bench.command import bench
    from squentropy.calibration.command import calibrate
    from squentropy.data.command import data_app
    from squentropy.own_data.command import compare, predict
    from squentropy.study.report.command import bundle, report
    from squentropy.tasks.command import reproduce, tasks

    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        help="Train classifiers with squentropy, compare losses fairly, and measure calibration.",
    )

    def show_version(is_asked: bool) -> None:
        if is_asked:
            print(f"squentropy {__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="Show the version."
        ),
    ) -> None:
        pass

    app.add_typer(data_app, name="data")
    for command in (reproduce, compare, predict, calibrate, report, bundle, tasks, bench):
        app.command()(command)
    return app
