"""The entry point of the `ragkit` program.

It asks a running server for the output before it imports the command line, so that an answer by a
server comes at once.
"""

import signal
import sys
from collections.abc import Sequence


def main() -> None:
    """Run the command line; an expected error is one line on standard error."""
    from ragkit.errors import RagkitError

    signal.signal(signal.SIGTERM, _end)
    try:
        _run(sys.argv[1:])
    except RagkitError as error:
        from ragkit.cli.words import sentence

        sys.stderr.write(f"ragkit: {sentence(' '.join(str(error).split()))}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        from ragkit.cli.words import say

        sys.stderr.write(f"ragkit: {say('interrupted')}\n")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stdout = None
        sys.exit(1)


def _run(arguments: Sequence[str]) -> None:
    from ragkit.cli.local_server import COMMANDS, output_of_server
    from ragkit.cli.output_values import print_outputs

    if arguments and arguments[0] in COMMANDS:
        outputs = output_of_server(arguments)
        if outputs is not None:
            print_outputs(outputs)
            return
    from ragkit.cli.main import app

    app(prog_name="ragkit")


def _end(number: int, frame: object) -> None:
    """Exit in order on SIGTERM, so that the last client stops the embedded database."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
